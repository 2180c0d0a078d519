package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/duration"
)

// This file answers one question: for which rules is the table too small, and which
// sizes would do?

// The lints of room.
const (
	// newKeysPerSecond is what a limit's share should hold out against.
	newKeysPerSecond = 1000
	// enoughKeys is enough for any limit: to hold out against a flood of new
	// callers for a day would take a table of 86 million.
	enoughKeys = 10_000
)

// littleRoom warns of rules that have room for few callers, but for those whose limits
// the store refuses. It gives the rules it warned of.
func (c *compiler) littleRoom(refused map[*rule]bool) map[*rule]bool {
	warned := map[*rule]bool{}
	tight := c.policy.tight()
	if len(tight) == 0 {
		return warned
	}
	sizes := c.policy.sizes(tight, c.inputs.fits)
	for _, r := range c.policy.rules {
		w, ok := tight[r]
		if !ok || refused[r] {
			continue
		}
		path := r.field
		if r.config.Limit != "" {
			path += ".limit"
		}
		warned[r] = true
		c.warn("little-room", path, fmt.Sprintf("limit %s has %s %s", w.Text, w.holds(), c.withoutRoom()), sizes.hint(r))
	}
	return warned
}

// holds says how many callers there is room for, and how many are too many: the
// beginning of what becomes of them.
func (w *WorstCase) holds() string {
	if w.Keys == 0 {
		return "room for no caller: those who come may"
	}
	beyond := "new ones come in that time"
	switch count, unit := w.pace(); count {
	case 0:
	case 1:
		beyond = "than 1 new one " + unit + " comes"
	default:
		beyond = fmt.Sprintf("than %s new ones %s come", grouped(count), unit)
	}
	return fmt.Sprintf("room for %s, each for %s or longer: if more %s, those without room may", callers(w.Keys), duration.Format(w.PinnedOne), beyond)
}

// tight are the rules that have too little room, each with the limit that is farthest
// from what it needs.
func (p *Policy) tight() map[*rule]WorstCase {
	found := map[*rule]WorstCase{}
	byName := map[string]*rule{}
	for _, r := range p.rules {
		byName[r.Name] = r
	}
	for _, w := range p.Worst() {
		r := byName[w.Rule]
		if had := found[r]; r.counts() && w.lacks() > had.lacks() {
			found[r] = w
		}
	}
	return found
}

// wants is the max_keys with which the rule has room for as many callers as it needs,
// whatever plan they have.
func (r *rule) wants() (n int64) {
	add := func(q *quota) {
		for _, l := range q.limits {
			w := worst(r, q.plan, l, 0)
			n = max(n, w.needs()*places(q.limits))
		}
	}
	add(r.fallback)
	for q := range r.quotas() {
		add(q)
	}
	return n
}

// sizes are those with which no rule of a file has too little room.
type sizes struct {
	wants map[*rule]int64 // what each of the tight rules would keep for itself

	// table is a memory.max_keys that is enough; 0 where none is. The tight rules that
	// keep something for themselves keep what they want beside it, and with all the
	// others do.
	table int
	all   bool

	rules bool // it is enough in the table that there is, if all of them do
	own   bool // it is enough in it for those that keep something, if they do
}

// sizes finds them by trying: with one, the store takes the policy and no rule is tight.
func (p *Policy) sizes(tight map[*rule]WorstCase, fits func(*Policy) []Misfit) sizes {
	s := sizes{wants: map[*rule]int64{}}
	for r := range tight {
		s.wants[r] = r.wants()
	}
	good := func(table int, all bool) bool {
		q := p.keeping(s.wants, all).WithMaxKeys(table)
		return q.kept() <= int64(roomFor(table)) && len(q.tight()) == 0 && (fits == nil || len(fits(q)) == 0)
	}
	present := p.config.Memory.Keys()
	s.rules, s.own = good(present, true), p.keepsOwn(s.wants, fits)
	for _, s.all = range [...]bool{false, true} {
		for n := range LargerTables(present) {
			if good(n, s.all) {
				s.table = n
				return s
			}
		}
	}
	return s
}

// keepsOwn reports that the tight rules that keep something may keep what they want, in
// the table that there is, and no other rule becomes tight by it.
func (p *Policy) keepsOwn(wants map[*rule]int64, fits func(*Policy) []Misfit) bool {
	q := p.keeping(wants, false)
	if q.kept() > int64(roomFor(p.config.Memory.Keys())) {
		return false
	}
	for r := range q.tight() {
		if wants[r] == 0 { // a rule that keeps more is another, and tight all the same
			return false
		}
	}
	return fits == nil || !slices.ContainsFunc(fits(q), func(m Misfit) bool { return m.Severity == Error })
}

// keeping is the policy as if rules kept so much for themselves: all of them, or those
// that keep something.
func (p *Policy) keeping(wants map[*rule]int64, all bool) *Policy {
	q := *p
	q.rules = slices.Clone(p.rules)
	for i, r := range q.rules {
		if n := wants[r]; n > 0 && (all || r.config.MaxKeys > 0) {
			changed, config := *r, *r.config
			config.MaxKeys = int(n)
			changed.config = &config
			q.rules[i] = &changed
		}
	}
	return &q
}

// kept is how much the rules keep for themselves.
func (p *Policy) kept() (n int64) {
	for _, r := range p.rules {
		n += int64(r.config.MaxKeys)
	}
	return n
}

// hint says what to write for one of the tight rules.
func (s *sizes) hint(r *rule) string {
	table, own := fmt.Sprintf("set memory.max_keys to %d", s.table), fmt.Sprintf("the rule's max_keys to %d", s.wants[r])
	switch alone := s.table > 0 && !s.all && r.config.MaxKeys == 0; {
	case alone && s.rules:
		return table + ", or " + own
	case alone:
		return table
	case s.rules, s.own && r.config.MaxKeys > 0:
		return "set " + own
	case s.table > 0:
		return table + " and " + own
	}
	return fmt.Sprintf("no table has so much room, the largest is memory.max_keys %d: lower the limit's count, or accept that", mostKeys)
}

// withoutRoom says what happens to a caller for whom there is no room.
func (c *compiler) withoutRoom() string {
	switch c.config.Memory.OnFull {
	case OnFullRefuse:
		return "be refused"
	case OnFullAdmit:
		return "pass uncounted"
	case OnFullOverflow:
	}
	return "share counts, and are refused too early"
}

// needs is how many callers the limit should have room for; lacks is how many more
// that is than it has. Of slots nobody knows: a caller has his for as long as his
// requests last.
func (w *WorstCase) needs() int64 {
	if w.AtOnce > 0 {
		return 0
	}
	const each = time.Second / newKeysPerSecond // one place for each of so many
	return min(int64(w.PinnedOne/each), enoughKeys)
}
func (w *WorstCase) lacks() int64 { return w.needs() - w.Keys }

// counts reports whether a rule has more than one caller.
func (r *rule) counts() bool {
	for _, p := range r.key {
		if p.origin != fromConst {
			return true
		}
	}
	return false
}
