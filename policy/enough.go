package policy

import (
	"fmt"
	"slices"
)

// This file answers one question: with which sizes has everything of a file enough room?
// They are found by trying, and named in all warnings alike; what is refused is told the
// least that lifts it.

// A trial is what came of a policy with some sizes.
type trial struct {
	policy  *Policy
	misfits []Misfit
	tight   map[*rule]*tightness // by the rules of the policy that was compiled
}

// good reports that nothing of the policy has too little room.
func (t *trial) good() bool { return len(t.misfits) == 0 && len(t.tight) == 0 }

// taken reports that the store does not refuse it.
func (t *trial) taken() bool {
	return !slices.ContainsFunc(t.misfits, func(m Misfit) bool { return m.Severity == Error })
}

// try asks the store about a policy. Without a store it sees itself whether the rules ask
// for more than can be kept.
func (c *compiler) try(p *Policy) trial {
	q := *p
	t := trial{policy: &q, tight: map[*rule]*tightness{}}
	if c.inputs.fits != nil {
		fit := c.inputs.fits(p)
		q.kept, t.misfits = fit.Shares, fit.Misfits
	} else if p.asks() > roomFor(p.config.Memory.Keys()) {
		t.misfits = []Misfit{{}}
	}
	for r, w := range q.tight() {
		t.tight[c.policy.rules[r.Index]] = w
	}
	return t
}

// asks is how much the rules ask to be kept for them together.
func (p *Policy) asks() (n int) {
	for _, r := range p.rules {
		n += r.asks()
	}
	return n
}

// sizes are those with which everything of a file has enough room.
type sizes struct {
	wants map[*rule]int64 // what each of the tight rules would keep for itself

	// table is a memory.max_keys that is enough; 0 where none is. The tight rules that
	// keep something for themselves keep what they want beside it, and with all the
	// others do.
	table int
	all   bool

	// taken is the least memory.max_keys with which the store refuses nothing, though
	// rules may have room for few callers; 0 where none is.
	taken int

	rules bool // it is enough in the table that there is, if all of them do
	own   bool // it is enough in it for those that keep something, if they do
}

// sizes finds them, if a policy has too little room.
func (c *compiler) sizes(now trial) sizes {
	s := sizes{wants: map[*rule]int64{}}
	if now.good() {
		return s
	}
	for r := range now.tight {
		s.wants[r] = r.wants()
	}
	present := c.config.Memory.Keys()
	try := func(table int, all bool) trial { return c.try(c.policy.keeping(s.wants, all).withMaxKeys(table)) }
	if len(now.tight) > 0 {
		with, own := try(present, true), try(present, false)
		s.rules, s.own = with.good(), own.keepsOwn(s.wants, now.misfits)
	}
	for n := range largerTables(present) {
		if t := c.try(c.policy.withMaxKeys(n)); t.taken() {
			s.taken = n
			break
		}
	}
	for _, s.all = range [...]bool{false, true} {
		for s.table = range largerTables(present) {
			if t := try(s.table, s.all); t.good() {
				return s
			}
		}
	}
	s.table = 0
	return s
}

// keepsOwn reports that the tight rules that keep something may keep what they want, in
// the table that there is, and nothing else has too little room by it that had enough.
func (t *trial) keepsOwn(wants map[*rule]int64, before []Misfit) bool {
	for r := range t.tight {
		if wants[r] == 0 || r.asks() > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(t.misfits, func(m Misfit) bool {
		return m.Severity == Error || !slices.ContainsFunc(before, func(had Misfit) bool { return had.Limit == m.Limit })
	})
}

// keeping is the policy as if rules kept so much for themselves: all of them, or those
// that keep something.
func (p *Policy) keeping(wants map[*rule]int64, all bool) *Policy {
	q := *p
	q.rules = slices.Clone(p.rules)
	for i, r := range q.rules {
		if n := wants[r]; n > 0 && (all || r.asks() > 0) {
			changed, config := *r, *r.config
			config.MaxKeys = int(n)
			changed.config = &config
			q.rules[i] = &changed
		}
	}
	return &q
}

// lifts says with which table nothing is refused; "" where none is.
func (s *sizes) lifts() string {
	if s.taken == 0 {
		return ""
	}
	return s.tableIs(s.taken)
}

// remedy says what to write where a rule has too little room that the store takes all the
// same; "" where no table helps.
func (s *sizes) remedy(r *rule) string {
	switch {
	case s.table == 0:
		return ""
	case s.wants[r] > 0 && (s.all || r.asks() > 0):
		return fmt.Sprintf("%s and %s", s.tableIs(s.table), s.ownIs(r))
	}
	return s.tableIs(s.table)
}

// hint says what to write for one of the tight rules.
func (s *sizes) hint(r *rule) string {
	switch alone := s.table > 0 && !s.all && r.asks() == 0; {
	case alone && s.rules:
		return s.tableIs(s.table) + ", or " + s.ownIs(r)
	case alone:
		return s.tableIs(s.table)
	case s.rules, s.own && r.asks() > 0:
		return "set " + s.ownIs(r)
	case s.table > 0:
		return s.tableIs(s.table) + " and " + s.ownIs(r)
	}
	return fmt.Sprintf("no table has so much room, the largest is memory.max_keys %d: lower the limit's count, or accept that", mostKeys)
}

func (*sizes) tableIs(n int) string { return fmt.Sprintf("set memory.max_keys to %d", n) }

func (s *sizes) ownIs(r *rule) string {
	whose := "the rule's"
	if r.plan != nil { // it may be said at a plan that other rules have as well
		whose = "rule " + r.Name + "'s"
	}
	return fmt.Sprintf("%s max_keys to %d", whose, s.wants[r])
}
