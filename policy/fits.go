package policy

import (
	"slices"

	"github.com/weirhq/weir"
)

// Misfit is something of a policy that a store has no room for: see [Source].Fits.
type Misfit struct {
	// Severity is Error where the store refuses the policy, and Warning where it
	// takes it and callers may find less room than the file says.
	Severity Severity

	// Limit is the one of which no key fits, or with which they are too many: one of
	// [Policy.Limits]. It is nil where what the rules keep for themselves is too much.
	Limit *weir.Limit

	// Message says what does not fit, and Hint what helps.
	Message, Hint string
}

// fits asks the store about a policy that is right in all else, and notes what it says
// at the fields that it is about. A rule hears of its room once: of what is refused, else
// of how many callers it has room for, else of how large they are.
func (c *compiler) fits() {
	var misfits []Misfit
	if c.found.Err() == nil && c.inputs.fits != nil {
		misfits = c.inputs.fits(c.policy)
	}
	refused := map[*rule]bool{}
	for _, m := range misfits {
		if m.Severity == Error {
			c.refuse("no-room", c.placeOf(m.Limit), Span{}, m.Message, m.Hint)
			refused[c.policy.ruleOf(m.Limit)] = true
		}
	}
	warned := c.littleRoom(refused)
	for _, m := range misfits {
		if r := c.policy.ruleOf(m.Limit); m.Severity == Warning && !refused[r] && !warned[r] {
			c.warn("little-room", c.placeOf(m.Limit), m.Message, m.Hint)
		}
	}
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
	for i := range c.config.Rules {
		if c.config.Rules[i].MaxKeys > 0 {
			path = element("rules", i) + ".max_keys"
		}
	}
	return path
}
