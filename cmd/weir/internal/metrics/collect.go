package metrics

import (
	"runtime"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/cmd/weir/internal/fault"
	"github.com/weirhq/weir/policy"
)

// Describe describes nothing: which series there are depends on the rules.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// Collect makes the series of a scrape.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	e := emitter(ch)
	m.mu.Lock()
	t, listeners := m.table.Load(), slices.Clone(m.listeners)
	m.mu.Unlock()
	m.collectRules(e, t)
	m.collectRequests(e)
	m.collectStore(e)
	m.collectConfig(e, t)
	m.collectProxy(e)
	for _, l := range listeners {
		n := l.counts()
		e.gauge(m.series.connections, float64(n.Open), l.name)
		e.counter(m.series.accepted, uint64(max(0, n.Accepted)), l.name)
		e.counter(m.series.closed, uint64(max(0, n.RefusedFull)), l.name, "max_conns")
		e.counter(m.series.closed, uint64(max(0, n.RefusedPeer)), l.name, "max_conns_per_ip")
	}
}

// collectProxy tells of requests that were decided and not served, or not yet, or
// without their slot.
func (m *Metrics) collectProxy(e emitter) {
	m.mu.Lock()
	stats, waiting := m.proxy, m.waiting
	m.mu.Unlock()
	if stats == nil {
		return
	}
	n := stats()
	for kind, count := range map[string]int64{
		"unreachable": n.Unreachable, "slow_upstream": n.SlowUpstream, "bad_upstream": n.BadUpstream,
		"slow_client": n.SlowClients, "bad_client": n.BadClients, "client_gone": n.Gone, "malformed": n.Malformed,
		"crowded": n.Crowded, "drained": n.Drained,
	} {
		e.counter(m.series.proxyFailures, uint64(max(0, count)), kind)
	}
	now, most := waiting()
	e.counter(m.series.slotsLost, uint64(max(0, n.SlotsLost)))
	e.gauge(m.series.waiting, float64(now))
	e.gauge(m.series.waitingMax, float64(most))
}

// emitter hands series over.
type emitter chan<- prometheus.Metric

func (e emitter) counter(d *prometheus.Desc, v uint64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (m *Metrics) collectRules(e emitter, t *table) {
	for _, r := range t.order {
		for name, n := range r.limits {
			m.collectTally(e, n, r.name, name, r)
		}
		for name, n := range r.blocks {
			m.collectBlocks(e, n, r.name, name, r)
		}
		m.collectTally(e, r.others, r.name, "", nil)
		e.gauge(m.series.lastMatch, float64(r.last.Load()/1e6), r.name)
	}
	m.collectTally(e, t.nobody.others, "", "", nil)
	if t.byName[brought] != nil {
		return // a rule has the name: series may not come twice
	}
	m.collectTally(e, t.brought.limits[brought], brought, brought, nil)
	m.collectBlocks(e, t.brought.blocks[brought], brought, brought, nil)
	m.collectTally(e, t.brought.others, brought, "", nil)
}

// collectBlocks makes the series of a limit's block. That of its rule begins with 0, as
// those of its decisions do.
func (m *Metrics) collectBlocks(e emitter, n *blocks, name, limit string, first *rule) {
	for i := range n {
		v, shadow := n[i].Load(), i == 1
		if v > 0 || first != nil && shadow == first.shadow {
			e.counter(m.series.blocked, v, name, limit, strconv.FormatBool(shadow))
		}
	}
}

// collectTally makes the series of the cells that have counted. Those that every
// limit will have begin with 0, where its rule is given: of a series that appears
// with its first count, rate() never sees that one.
func (m *Metrics) collectTally(e emitter, n *tally, name, limit string, first *rule) {
	for o := range outcomes {
		for mode := range modes {
			for i := range 2 {
				v, shadow := n[o][mode][i].Load(), i == 1
				begins := first != nil && o <= refused && weir.Mode(mode) == weir.Exact && shadow == first.shadow
				if v > 0 || begins {
					e.counter(m.series.decisions, v, name, limit, o.String(), weir.Mode(mode).String(), strconv.FormatBool(shadow))
				}
			}
		}
	}
}

func (m *Metrics) collectRequests(e emitter) {
	e.counter(m.series.unmatched, m.unmatched.Load())
	e.counter(m.series.exempt, m.exempt.Load())
	for i := 1; i < reasons; i++ { // 0 is no reason
		word := "given"
		if i < reasons-1 {
			word = clientip.Reason(i).String()
		}
		e.counter(m.series.fallback, m.fallbacks[i].Load(), word)
	}
}

func (m *Metrics) collectStore(e emitter) {
	for k := fault.Invalid; int(k) < fault.Kinds; k++ { // stale edges are no failure, and a panic is no store's answer
		if k != fault.Lost { // a true answer, whose requests the proxy counts
			e.counter(m.series.storeErrors, m.storeErrors[k].Load(), k.String())
		}
	}
	if m.config.Stats == nil {
		return
	}
	s := m.config.Stats()
	for name, r := range s.Rules {
		e.gauge(m.series.keys, float64(r.Keys), name)
		e.gauge(m.series.keysUsed, float64(r.Used), name)
		if r.HasSlots {
			e.gauge(m.series.slotsHeld, float64(r.Slots), name)
		}
		e.counter(m.series.overflow, r.Overflow, name)
	}
	e.gauge(m.series.keysMax, float64(s.MaxKeys))
	e.counter(m.series.evictions, s.Evicted)
	e.counter(m.series.clockSteps, s.ClockSteps)
}

func (m *Metrics) collectConfig(e emitter, t *table) {
	e.gauge(m.series.reload, truth(m.loadedAt.Load() > 0 && !m.reloadFailed.Load()))
	e.gauge(m.series.reloadTime, float64(m.loadedAt.Load()/1e6)/1e3)
	if t.digest != "" {
		e.gauge(m.series.configInfo, 1, t.digest)
	}
	e.gauge(m.series.build, 1, m.config.Version, m.config.Revision, runtime.Version())
	if m.config.Enforce == nil {
		return
	}
	now := m.config.Enforce()
	for _, state := range [...]policy.Enforce{policy.On, policy.Shadow, policy.Off} {
		e.gauge(m.series.enforce, truth(now == state || now == "" && state == policy.On), string(state))
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
