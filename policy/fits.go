package policy

import "github.com/weirhq/weir"

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

// fits asks the store and notes what it says at the fields that it is about.
func (c *compiler) fits() {
	for _, m := range c.inputs.fits(c.policy) {
		if path := c.placeOf(m.Limit); m.Severity == Warning {
			c.warn("little-room", path, m.Message, m.Hint)
		} else {
			c.refuse("no-room", path, Span{}, m.Message, m.Hint)
		}
	}
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
