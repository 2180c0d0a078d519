package policy

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/duration"
)

// This file answers one question: for which rules is the table too small? Which sizes
// would do stands in enough.go.

// The lints of room.
const (
	// newKeysPerSecond is what a limit's share should hold out against.
	newKeysPerSecond = 1000
	// enoughKeys is enough for any limit: to hold out against a flood of new
	// callers for a day would take a table of 86 million.
	enoughKeys = 10_000
)

// tightness is why a rule has too little room.
type tightness struct {
	WorstCase             // of a limit with room for too few
	widest    *weir.Limit // the limit of the same plan that takes most of the room
	plan      bool        // they are a plan's
}

// littleRoom warns of rules that have room for few callers, but for those whose limits
// the store refuses.
func (c *compiler) littleRoom(tight map[*rule]*tightness, enough sizes, refused map[*rule]bool) {
	for _, r := range c.policy.rules {
		w := tight[r]
		if w == nil || refused[r] {
			continue
		}
		path := r.field // a plan is that of many rules, and the room that of one
		if !w.plan {
			path = c.places[w.widest]
		}
		c.warn("little-room", path, fmt.Sprintf("limit %s %s %s", w.widest, w.holds(), c.withoutRoom()), enough.hint(r))
	}
}

// holds says how many callers there is room for, and how many are too many: the
// beginning of what becomes of them.
func (w *tightness) holds() string {
	has := "has "
	if w.widest.String() != w.Text {
		has = "leaves " + w.Text + " "
	}
	if w.Keys == 0 {
		return has + "room for no caller: those who come may"
	}
	beyond := "new ones come in that time"
	if count, unit := w.pace(); count > 0 {
		beyond = "than " + newOnes(count) + " " + unit + " come"
		if count == 1 {
			beyond += "s"
		}
	}
	return fmt.Sprintf("%sroom for %s, each for %s or longer: if more %s, those without room may", has, callers(w.Keys), duration.Format(w.PinnedOne), beyond)
}

// tight are the rules that have too little room, each with what it lacks most for.
func (p *Policy) tight() map[*rule]*tightness {
	found := map[*rule]*tightness{}
	p.quotas(func(r *rule, q *quota, keys int64) {
		if !r.counts() {
			return
		}
		w := narrowest(r, q, keys)
		if had := found[r]; w != nil && (had == nil || w.lacks() > had.lacks()) {
			found[r] = w
		}
	})
	return found
}

// narrowest is the limit of a quota that is farthest from the room that it needs, or the
// one that takes most of it, if that has too little as well; nil where none has.
func narrowest(r *rule, q *quota, keys int64) *tightness {
	var found *tightness
	for _, l := range q.limits {
		if w := worst(r, q.plan, l, keys); w.lacks() > 0 && (found == nil || w.lacks() > found.lacks()) {
			found = &tightness{WorstCase: w, widest: l, plan: r.plan != nil}
		}
	}
	if found == nil {
		return nil
	}
	most := slices.MaxFunc(q.limits, func(a, b *weir.Limit) int { return cmp.Compare(a.Memory(), b.Memory()) })
	if most.Memory() > found.widest.Memory() {
		found.widest = most
		if w := worst(r, q.plan, most, keys); w.lacks() > 0 {
			found.WorstCase = w
		}
	}
	return found
}

// wants is the max_keys with which the rule has room for as many callers as it needs,
// whatever plan they have.
func (r *rule) wants() (n int64) {
	r.eachQuota(func(q *quota) {
		for _, l := range q.limits {
			w := worst(r, q.plan, l, 0)
			n = max(n, w.needs()*places(q.limits))
		}
	})
	return n
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
