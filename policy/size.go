package policy

import "fmt"

// The most that a policy holds. Some of it is compared with all the rest when it
// is compiled, so that these bound the time that a reload takes; a table of a
// million callers has room for 1,953 limits.
const (
	mostRules    = 2000
	mostPatterns = 5000
	mostNetworks = 10_000
	mostLimits   = 20_000
)

// size refuses more than is meant to be written by rules, and leaves nothing of
// it to be looked at.
func (c *compiler) size() {
	patterns, networks := len(c.config.Routes), len(c.config.ClientIP.TrustedProxies)
	for i := range c.config.Exempt {
		patterns += len(c.config.Exempt[i].Match)
		networks += len(c.config.Exempt[i].IP)
	}
	planned := 0
	for _, list := range c.config.Plans {
		planned += len(list)
	}
	limits := planned
	for i := range c.config.Rules {
		r := &c.config.Rules[i]
		patterns += len(r.Match)
		networks += len(r.IP)
		limits += len(r.Limits)
		if r.Plan != nil {
			networks += len(r.Plan.Table)
			limits += planned
		}
	}
	const hint = "rules differ by what they match; callers belong into keys and plans"
	for _, s := range [...]struct {
		what       string
		has, holds int
	}{
		{"rules", len(c.config.Rules), mostRules},
		{"patterns", patterns, mostPatterns},
		{"networks and keys of plan tables", networks, mostNetworks},
		{"limits, with those of each plan for each rule,", limits, mostLimits},
	} {
		if s.has > s.holds {
			c.refuse("too-much", "rules", Span{}, fmt.Sprintf("there are %d %s and %d is the most", s.has, s.what, s.holds), hint)
		}
	}
	if c.found.Err() != nil {
		c.config.Rules, c.config.Plans, c.config.Routes, c.config.Exempt = nil, nil, nil, nil
	}
}
