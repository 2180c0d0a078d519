package metrics

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// scrapes is how many may run at once: one that takes long is not helped by more
// of them.
const scrapes = 4

// Config is what Metrics work with.
type Config struct {
	// Now is the wall clock. It is required.
	Now func() time.Time

	// Elapsed is a monotonic clock, since any instant: time.Since of one is
	// twice as fast as time.Now, and every decision is timed by it. nil is Now.
	Elapsed func() time.Duration

	// Stats tells of the table of keys when it is asked for; nil leaves its
	// series out.
	Stats func() memstore.Stats

	// Enforce is the position of the switch; nil leaves its series out.
	Enforce func() policy.Enforce

	// Version and Revision name the build.
	Version, Revision string

	// Runtime adds what the Go runtime and the operating system know of this
	// process.
	Runtime bool
}

// Metrics counts. It comes from [New] and is safe for concurrent use.
type Metrics struct {
	config   Config
	series   series
	registry *prometheus.Registry

	table                     atomic.Pointer[table] // what is counted by rule
	unmatched, exempt         atomic.Uint64
	fallbacks                 [reasons]atomic.Uint64 // addresses that are not sure, by reason
	storeErrors               [fault.Kinds]atomic.Uint64
	decisionTimes, storeTimes prometheus.Histogram
	reloadFailed              atomic.Bool
	loadedAt                  atomic.Int64 // nanoseconds since 1970; 0: never
	sampled                   func() bool  // whether this call of a store is timed
	mu                        sync.Mutex   // guards listeners, proxy, and changes of table
	listeners                 []listener
	proxy                     func() proxy.Stats // nil without a proxy
	waiting                   func() (now, most int)
}

// reasons is how many there are for an address that is not sure: those of
// package clientip, and the last for a surface's own word.
const reasons = int(clientip.NoPeer) + 2

type listener struct {
	name   string
	counts func() listen.Counts
}

// New makes Metrics with a registry of their own. The error is a
// [*weir.FieldError], or the registry's.
func New(c Config) (*Metrics, error) {
	if c.Now == nil {
		return nil, weir.Invalid("metrics Now", "nil", "loads of the rules are dated by it", "use time.Now")
	}
	if c.Elapsed == nil {
		start := c.Now()
		c.Elapsed = func() time.Duration { return c.Now().Sub(start) }
	}
	m := &Metrics{
		config:        c,
		series:        newSeries(),
		registry:      prometheus.NewRegistry(),
		decisionTimes: newTimes("weir_decision_seconds", "How long decisions took, the store included."),
		storeTimes:    newTimes("weir_store_seconds", "How long calls of the store took; a sample of one in 16."),
		sampled:       oneInSixteen,
	}
	m.table.Store(newTable(nil, nil, ""))
	errs := []error{m.registry.Register(m), m.registry.Register(m.decisionTimes), m.registry.Register(m.storeTimes)}
	if c.Runtime {
		errs = append(errs,
			m.registry.Register(collectors.NewGoCollector()),
			m.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	}
	return m, errors.Join(errs...)
}

// Loaded tells that a policy is in force: its rules are counted from now on. What
// rules of the one before have counted stays with those that are in both, and is
// dropped with the others. It is told before the policy decides, so that its first
// decisions are counted.
func (m *Metrics) Loaded(p *policy.Policy) { m.loaded(p.Rules(), p.Digest()) }

func (m *Metrics) loaded(rules []*policy.RuleInfo, digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.table.Store(newTable(m.table.Load(), rules, digest))
	m.LoadSucceeded()
}

// LoadSucceeded tells that the rules as they stand in the file are those in force,
// whether they have changed or not. Loaded tells it too.
func (m *Metrics) LoadSucceeded() {
	m.reloadFailed.Store(false)
	m.loadedAt.Store(m.config.Now().UnixNano())
}

// LoadFailed tells that a policy could not be loaded, and the old one goes on.
func (m *Metrics) LoadFailed() { m.reloadFailed.Store(true) }

// Listener adds the counters of a listener, by the name that the configuration
// has for it: proxy, http, ops.
func (m *Metrics) Listener(name string, counts func() listen.Counts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners, listener{name, counts})
}

// Proxy adds the counters of the reverse proxy, and how many requests wait in it.
func (m *Metrics) Proxy(stats func() proxy.Stats, waiting func() (now, most int)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.proxy, m.waiting = stats, waiting
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes})
}
