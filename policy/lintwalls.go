package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhq/weir/policy/internal/match"
)

// This file looks at rules beside each other: which of them holds whom another
// lets by, and who is counted by one and a stranger to the next.

// wall reports whether a rule limits everybody who sends the requests of another,
// whatever he writes into them.
func (c *compiler) wall(wall, r *rule) bool {
	return wall.mayBeWall(r) && len(c.notWall(wall, r)) == 0
}

// mayBeWall reports whether a rule limits by what callers do not choose, so that
// it is another's wall but for what notWall says.
func (r *rule) mayBeWall(other *rule) bool {
	_, invents := r.invents()
	return r != other && !invents && (len(r.fallback.limits) > 0 || r.fallback.deny)
}

// onlyInFlight reports a rule that bounds how many requests are served at once, and
// not how many there are.
func (r *rule) onlyInFlight() bool {
	return len(r.fallback.limits) > 0 && len(r.fallback.rates) == 0
}

// notWall says why a rule that may be a wall is none for r.
func (c *compiler) notWall(wall, r *rule) (why []string) {
	if wall.Shadow && !r.Shadow {
		why = append(why, "it is in shadow and refuses nobody")
	}
	if i := slices.IndexFunc(wall.key, part.mayLack); i >= 0 && wall.missing == MissingSkip {
		why = append(why, "it skips requests without "+wall.key[i].kind)
	}
	if !wall.always() && !r.sameConditions(wall) {
		why = append(why, "its ip or headers leave callers out")
	}
	if !c.covers(wall.patterns, r.reach()) {
		why = append(why, "its match leaves requests out")
	}
	if wall.onlyInFlight() && !r.onlyInFlight() {
		why = append(why, "it counts requests in flight, and lets any number pass one after the other")
	}
	return why
}

// mayLack reports a part that a request may be without.
func (p part) mayLack() bool { return p.origin != fromIP && p.origin != fromConst }

// nearWall says which rule looks like the wall of another, and why it does not
// count: of those that meet it the one that lacks least. "" where there is none.
func (c *compiler) nearWall(r *rule) string {
	var near *rule
	var least []string
	for _, other := range c.policy.rules {
		if !other.mayBeWall(r) || !c.meet(other, r) {
			continue
		}
		if why := c.notWall(other, r); near == nil || len(why) < len(least) {
			near, least = other, why
		}
	}
	if near == nil {
		return ""
	}
	return fmt.Sprintf("rule %s looks like the wall and does not count: %s", near.Name, strings.Join(least, ", and "))
}

// meet reports whether the patterns of two rules fit a common request.
func (c *compiler) meet(a, b *rule) bool {
	return slices.ContainsFunc(a.reach(), func(p *match.Pattern) bool {
		return slices.ContainsFunc(b.reach(), func(q *match.Pattern) bool { return match.Overlaps(p, q, c.policy.path) })
	})
}

// credentialName is how headers, cookies and parameters are called that hold what
// a caller shows, and not only a name.
var credentialName = regexp.MustCompile(`(?i)key|token|secret|passw|auth|session|\bsid\b|credential`)

// shows is the credential by which a rule knows its callers: the part of its key,
// or of its plan, that is a verified claim or a text of theirs. Of two kinds
// together none counts: such a rule is for callers who have both.
func (c *compiler) shows(r *rule) (shown part, ok bool) {
	parts := slices.Clone(r.key)
	if r.plan != nil {
		parts = append(parts, r.plan.from)
	}
	for i, p := range parts {
		table := i == len(r.key) && r.plan.secrets
		named := p.origin == fromHeader || p.origin == fromCookie || p.origin == fromQuery
		credential := p.origin == fromJWT || p.origin == fromBasic || named && (table || credentialName.MatchString(p.name)) && !c.tokenIn(p)
		switch {
		case !credential || slices.Contains(c.policy.trustedHeaders, p.name):
		case !ok:
			shown, ok = p, true
		case shown.kind != p.kind && (shown.origin != fromJWT || p.origin != fromJWT):
			return part{}, false
		}
	}
	return shown, ok
}

// tokenIn reports whether a part is where tokens are: no other credential.
func (c *compiler) tokenIn(p part) bool {
	from := c.policy.tokenFrom
	return p.origin == from.origin && p.name == from.name
}

// lintStrangers looks for rules that count whoever has no credential of theirs by
// address, beside rules for the same requests that know him by another: he is
// counted by both, and is a stranger to one.
func (c *compiler) lintStrangers() {
	type knower struct {
		*rule
		by part
	}
	var all []knower
	for _, r := range c.policy.rules {
		if by, ok := c.shows(r); ok && r.always() {
			all = append(all, knower{r, by})
		}
	}
	for _, r := range all {
		defaults := r.missing == "" || r.missing == MissingIP
		if !defaults || !slices.ContainsFunc(r.key, part.mayLack) {
			continue
		}
		i := slices.IndexFunc(all, func(other knower) bool {
			return (other.by.origin == fromJWT) != (r.by.origin == fromJWT) && c.meet(r.rule, other.rule)
		})
		if i < 0 {
			continue
		}
		c.warn("counted-as-stranger", r.field+".key", fmt.Sprintf("rule %s counts requests without %s by address, and so also those that %s knows by %s", r.Name, r.by.kind, all[i].Name, all[i].by.kind),
			"write `missing: skip`, beside a rule with `key: ip` that is the wall for everybody")
	}
}
