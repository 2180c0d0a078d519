package metrics

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/policy"
)

// Observe counts a decision: it is what policy.EngineConfig.Observe wants. It
// takes no lock and allocates nothing.
func (m *Metrics) Observe(_ context.Context, f *policy.Finding) {
	switch f.Reason {
	case policy.ReasonUnmatched:
		m.unmatched.Add(1)
	case policy.ReasonExempt:
		m.exempt.Add(1)
	default:
	}
	m.fallback(&f.Caller)
	t, told := m.table.Load(), false
	for i := range f.Applied {
		a := &f.Applied[i]
		m.apply(t, f, a)
		told = told || a.Cause != weir.ByLimits && !a.Shadow
	}
	if o, ok := withoutTake(f.Outcome.Cause); ok && !told {
		t.countDecider(o, f.Outcome)
	}
}

// fallback counts an address that is not the caller's for sure. A decision that
// looked for none has none to count.
func (m *Metrics) fallback(a *clientip.Answer) {
	switch {
	case a.Sure:
	case a.Reason != clientip.None:
		m.fallbacks[min(int(a.Reason), reasons-1)].Add(1)
	case a.Addr.IsValid():
		m.fallbacks[reasons-1].Add(1)
	}
}

// apply counts one rule's part: that it matched, each of its takes, and what it
// said without them.
func (m *Metrics) apply(t *table, f *policy.Finding, a *policy.Applied) {
	r := t.rule(a.Rule)
	if r == nil {
		return // of a policy that is gone
	}
	at := f.Outcome.Stamp.Now
	if at == 0 { // no store was asked
		at = weir.Micros(m.config.Now().UnixMicro())
	}
	r.matched(at)
	for i := a.Take; i < a.Take+a.Takes && i < len(f.Outcome.Decisions); i++ {
		r.decided(f.Outcome.Takes[i].Limit.Name(), &f.Outcome.Decisions[i], a.Shadow)
	}
	if o, ok := withoutTake(a.Cause); ok {
		r.others.add(o, modeOf(a, f.Outcome), a.Shadow)
	}
}

// modeOf is what a rule made of its own failure; exact for all else.
func modeOf(a *policy.Applied, o *weir.Outcome) weir.Mode {
	switch {
	case a.Cause != weir.ByFault:
		return weir.Exact
	case !o.Allowed && o.Cause == weir.ByFault && o.Rule == a.Rule.Name:
		return weir.Closed
	}
	return weir.Open
}

// withoutTake is the outcome of a decision that no take tells of.
func withoutTake(c weir.Cause) (outcome, bool) {
	switch c {
	case weir.ByDeny:
		return denied, true
	case weir.ByMissing:
		return missing, true
	case weir.ByRequest:
		return invalid, true
	case weir.ByFault:
		return faulted, true
	default:
		return 0, false
	}
}

// Took counts a take under a limit that the caller brought. They are all counted
// under one name, take: how many there are is for callers to say.
func (m *Metrics) Took(o *weir.Outcome) {
	t := m.table.Load()
	for i := range o.Decisions {
		t.brought.decided(brought, &o.Decisions[i], false)
	}
	switch o.Cause {
	case weir.ByDeny:
		t.brought.others.add(denied, weir.Exact, false)
	case weir.ByFault:
		t.brought.others.add(faulted, o.Mode(), false)
	default:
	}
}
