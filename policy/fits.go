package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
)

// Fit is what a store says of a policy: see [Source].Fits.
type Fit struct {
	// Shares is how much of the table is kept for each rule, by its name, in places of
	// 32 bytes. It is nil where the store refuses the policy.
	Shares map[string]int

	// Misfits are what the store has no room for.
	Misfits []Misfit
}

// Misfit is something of a policy that a store has no room for.
type Misfit struct {
	// Severity is Error where the store refuses the policy, and Warning where it
	// takes it and callers may find less room than the file says.
	Severity Severity

	// Limit is the one of which no key fits, or with which they are too many: one of
	// [Policy.Limits]. It is nil where what the rules keep for themselves is too much.
	Limit *weir.Limit

	// Message says what does not fit, and Hint what helps beside a larger table.
	Message, Hint string
}

// fits asks the store about a policy that is right in all else, and notes what it says
// at the fields that it is about. A rule hears of its room once: of what is refused, else
// of how many callers it has room for, else of how large they are.
func (c *compiler) fits() {
	if c.found.Err() != nil {
		return
	}
	now := c.try(c.policy)
	c.policy.kept = now.policy.kept
	enough := c.sizes(now)
	refused := map[*rule]bool{}
	over := c.keepsTooMuch(enough)
	for _, m := range now.misfits {
		if r := c.policy.ruleOf(m.Limit); m.Severity == Error && (m.Limit != nil || !over) {
			c.refuse("no-room", c.placeOf(m.Limit), Span{}, m.Message, either(enough.lifts(), m.Hint))
			refused[r] = true
		}
	}
	c.littleRoom(now.tight, enough, refused)
	for _, m := range now.misfits {
		if r := c.policy.ruleOf(m.Limit); m.Severity == Warning && !refused[r] && now.tight[r] == nil {
			c.warn("little-room", c.placeOf(m.Limit), m.Message, either(enough.remedy(r), m.Hint))
		}
	}
}

// either offers what there is of two remedies.
func either(table, other string) string {
	if table == "" || other == "" {
		return table + other
	}
	return table + ", or " + other
}

// keepsTooMuch refuses rules that ask for more of the table than can be kept, and reports
// whether they do.
func (c *compiler) keepsTooMuch(enough sizes) bool {
	table, total := c.config.Memory.Keys(), 0
	for _, r := range c.policy.rules {
		if total += r.asks(); r.asks() > 0 && total > roomFor(table) {
			c.refuse("no-room", r.field+".max_keys", Span{}, fmt.Sprintf("the rules up to here keep room for %d callers, and %d of memory.max_keys %d can be kept", total, roomFor(table), table),
				cmp.Or(enough.lifts(), fmt.Sprintf("no table has so much room: let the rules keep %d together, and set memory.max_keys to %d", roomFor(mostKeys)/2, mostKeys)))
			return true
		}
	}
	return false
}

// ruleOf is the rule that has a limit; nil without one.
func (p *Policy) ruleOf(l *weir.Limit) *rule {
	for _, r := range p.rules {
		if l != nil && slices.Contains(r.Limits, l) {
			return r
		}
	}
	return nil
}

// placeOf is the path of the text of a limit. Without a limit it is that of the last
// rule's room: with it they ask for too much.
func (c *compiler) placeOf(l *weir.Limit) string {
	if l == nil {
		return c.lastRoom()
	}
	return c.places[l]
}

// lastRoom is the path of the last max_keys of a rule, or of the table's.
func (c *compiler) lastRoom() string {
	path := "memory.max_keys"
	for _, r := range c.policy.rules {
		if r.asks() > 0 {
			path = r.field + ".max_keys"
		}
	}
	return path
}
