package metrics

import (
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// outcome is what is counted of a take, or of a rule that made none.
type outcome uint8

const (
	allowed outcome = iota
	refused
	denied  // by a limit of `deny`
	missing // a part of the key
	invalid // the request cannot be judged
	faulted // the store or the rule's own code failed
	outcomes
)

func (o outcome) String() string {
	return [outcomes]string{"allowed", "refused", "denied", "missing", "invalid", "fault"}[o]
}

const modes = int(weir.Closed) + 1

// A tally counts by outcome, mode and shadow. Most of its cells stay 0 for ever;
// those have no series.
type tally [outcomes][modes][2]atomic.Uint64

func (t *tally) add(o outcome, m weir.Mode, shadow bool) {
	if t == nil || int(m) >= modes {
		return // of a limit that is gone
	}
	i := 0
	if shadow {
		i = 1
	}
	t[o][m][i].Add(1)
}

// blocks are what a limit's block has refused, or has begun by refusing: of rules that
// may refuse, and of those in shadow.
type blocks [2]atomic.Uint64

func (b *blocks) add(shadow bool) {
	switch {
	case b == nil: // of a limit that is gone, or had none
	case shadow:
		b[1].Add(1)
	default:
		b[0].Add(1)
	}
}

// brought is the rule and the limit that callers' own limits are counted under.
const brought = "take"

// A table is what is counted by rule, under one policy. It is immutable but for
// its counters, which it shares with the table that takes its place.
type table struct {
	digest  string
	order   []*rule // as in the policy
	byName  map[string]*rule
	brought *rule // of takes under callers' own limits
	nobody  *rule // of what is no rule's doing
}

// A rule is what is counted of one.
type rule struct {
	name   string
	shadow bool               // its own, as configured
	limits map[string]*tally  // by the name of the limit
	blocks map[string]*blocks // of those that have one, by the name as well
	others *tally             // decisions without a take
	last   *atomic.Int64      // when it matched last, in microseconds; 0: never
}

// newTable makes the table of the rules, with the counters that before, which may
// be nil, has of them.
func newTable(before *table, rules []*policy.RuleInfo, digest string) *table {
	t := &table{digest: digest, byName: make(map[string]*rule, len(rules))}
	old := func(name string) *rule {
		if before == nil {
			return nil
		}
		return before.byName[name]
	}
	for _, info := range rules {
		r := newRule(old(info.Name), info.Name, info.Shadow)
		for _, l := range info.Limits {
			if l.Algorithm() != nil { // `unlimited` and `deny` make no takes
				r.keep(old(info.Name), l)
			}
		}
		t.order = append(t.order, r)
		t.byName[info.Name] = r
	}
	t.brought, t.nobody = newRule(nil, brought, false), newRule(nil, "", false)
	t.brought.limits[brought], t.brought.blocks[brought] = &tally{}, &blocks{}
	if before != nil {
		t.brought, t.nobody = before.brought, before.nobody
	}
	return t
}

func newRule(before *rule, name string, shadow bool) *rule {
	r := &rule{name: name, shadow: shadow, limits: map[string]*tally{}, blocks: map[string]*blocks{}, others: &tally{}, last: &atomic.Int64{}}
	if before != nil {
		r.others, r.last = before.others, before.last
	}
	return r
}

// keep makes a limit known, with the counters that before has of it.
func (r *rule) keep(before *rule, l *weir.Limit) {
	if before == nil {
		before = &rule{}
	}
	keep(r.limits, before.limits, l.Name())
	if l.Penalty() != nil {
		keep(r.blocks, before.blocks, l.Name())
	}
}

// keep gives a name its counters: of plans, which give a limit several versions, all
// have the same.
func keep[T any](in, before map[string]*T, name string) {
	switch {
	case in[name] != nil:
	case before[name] != nil:
		in[name] = before[name]
	default:
		in[name] = new(T)
	}
}

// rule finds what is counted of a rule, nil where it is none of this table. A
// request that began under the policy before finds it by its name.
func (t *table) rule(info *policy.RuleInfo) *rule {
	if i := info.Index; i >= 0 && i < len(t.order) && t.order[i].name == info.Name {
		return t.order[i]
	}
	return t.byName[info.Name]
}

// decided counts what a limit said.
func (r *rule) decided(limit string, d *weir.Decision, shadow bool) {
	o := refused
	if d.Allowed {
		o = allowed
	}
	r.limits[limit].add(o, d.Mode, shadow)
	if d.Blocked {
		r.blocks[limit].add(shadow)
	}
}

// matched notes when the rule matched, to the second: a busy rule writes once in
// one.
func (r *rule) matched(at weir.Micros) {
	const second = 1_000_000
	if last := r.last.Load(); int64(at)-last >= second {
		r.last.CompareAndSwap(last, int64(at))
	}
}

// countDecider counts a decision that neither a take nor a rule's own part tells
// of: the store failed, or the request cannot be judged.
func (t *table) countDecider(o outcome, from *weir.Outcome) {
	r := t.nobody
	if from.Rule != "" {
		if r = t.byName[from.Rule]; r == nil {
			return // of a policy that is gone
		}
	}
	r.others.add(o, from.Mode(), false)
}
