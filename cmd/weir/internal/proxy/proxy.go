package proxy

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/internal/hold"
)

// Proxy is the handler. It comes from [New] and is safe for concurrent use. It
// expects a server that leaves deadlines to it (listen.Config.Streams).
type Proxy struct {
	settings  func() *Settings
	timeouts  Timeouts
	transport *http.Transport
	fresh     *http.Transport // each request has a connection of its own
	logger    *slog.Logger
	waiting   *hold.Room
	calls     sync.Pool // *call
	buffers   sync.Pool // *[copyBuffer]byte

	down atomic.Bool // the last connection to the upstream could not be made

	unreachable, slowUpstream, badUpstream, slowClients, badClients, gone, malformed, crowded, drained, slotsLost atomic.Int64
}

// Stats counts the requests that were let in and then not served, or without their
// slot, and those that could not be decided, since the Proxy was made.
type Stats struct {
	Unreachable  int64 // no connection to the upstream could be made; the charge was given back
	SlowUpstream int64 // the upstream did not answer in time
	BadUpstream  int64 // the upstream broke off before its answer, or answered what is no HTTP
	SlowClients  int64 // the client stopped sending its body
	BadClients   int64 // the client's body broke off or is no HTTP
	Gone         int64 // the client left before the upstream answered
	Malformed    int64 // answered 400, 431 or 501 before anything was decided
	Crowded      int64 // refused because as many waited as may; the charge was given back
	Drained      int64 // sent away while they waited, by Drain, or refused after it; likewise
	SlotsLost    int64 // served, and a slot of theirs was lost meanwhile: others may have been at work in its place
}

// New makes a Proxy. The error joins a [*weir.FieldError] for each thing that is
// wrong with c.
func New(c Config) (*Proxy, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		settings:  c.Settings,
		timeouts:  c.Timeouts,
		transport: newTransport(c),
		fresh:     newFresh(c),
		logger:    c.Logger,
		waiting:   hold.New(c.MaxWaiting),
	}
	p.calls.New = func() any { return newCall(p) }
	p.buffers.New = func() any { return new([copyBuffer]byte) }
	return p, nil
}

// ServeHTTP decides r and answers it, or lets the upstream answer.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _ := p.calls.Get().(*call)
	defer c.end()
	c.begin(w, r)
	c.serve()
}

// Drain sends away the requests that wait for their turn, and keeps none waiting from
// now on: they are refused, and get back what they were charged. All others are
// served. Call it before the server is shut down, which would wait for them.
func (p *Proxy) Drain() { p.waiting.End() }

// Close closes the idle connections to the upstream. Call it when the server has
// stopped.
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }

// Stats gives the counters as they stand.
func (p *Proxy) Stats() Stats {
	return Stats{
		Unreachable:  p.unreachable.Load(),
		SlowUpstream: p.slowUpstream.Load(),
		BadUpstream:  p.badUpstream.Load(),
		SlowClients:  p.slowClients.Load(),
		BadClients:   p.badClients.Load(),
		Gone:         p.gone.Load(),
		Malformed:    p.malformed.Load(),
		Crowded:      p.crowded.Load(),
		Drained:      p.drained.Load(),
		SlotsLost:    p.slotsLost.Load(),
	}
}

// Waiting is how many requests wait now for their turn under leaky buckets, and how
// many may.
func (p *Proxy) Waiting() (now, most int) { return p.waiting.Waiting(), p.waiting.Most() }
