package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/match"
)

// lint looks for what is valid and may do harm. It sees only a policy that
// compiles; what is certain to do harm is an error even so.
func (c *compiler) lint() {
	c.lintKeys()
	c.lintStrangers()
	c.lintPlans()
	c.lintExemptions()
	c.lintNames()
	c.lintReach()
	c.lintRoutes()
	c.lintNumber()
	c.lintSlots()
	c.lintRoom()
	c.lintUnused()
	if c.config.ClientIP.IPv6Prefix > 64 {
		c.warn("long-ipv6-prefix", "client_ip.ipv6_prefix", fmt.Sprintf("ipv6_prefix %d: whoever has an IPv6 connection has at least a /64, and could be another caller with each request", c.config.ClientIP.IPv6Prefix),
			"write 64 or less, or leave it out")
	}
}

// everything is the pattern of all requests.
func everything() []*match.Pattern {
	p, err := match.ParsePattern("/")
	if err != nil {
		return nil
	}
	return []*match.Pattern{p}
}

// reach is the patterns of a rule, or that of every request.
func (r *rule) reach() []*match.Pattern {
	if len(r.patterns) == 0 {
		return everything()
	}
	return r.patterns
}

// always reports whether a rule's patterns are all that it demands.
func (k *conditions) always() bool { return len(k.networks) == 0 && len(k.headers) == 0 }

// covers reports whether each request that fits inner fits outer, as far as one
// pattern covers another. No outer patterns fit everything.
func (c *compiler) covers(outer, inner []*match.Pattern) bool {
	return len(outer) == 0 || !slices.ContainsFunc(inner, func(in *match.Pattern) bool {
		return !slices.ContainsFunc(outer, func(out *match.Pattern) bool { return match.Covers(out, in, c.policy.path) })
	})
}

// lintNames looks at rules that would share states with another.
func (c *compiler) lintNames() {
	before := map[string]string{}
	for _, r := range c.policy.rules {
		before[r.Name] = r.field
	}
	for _, r := range c.policy.rules {
		was := r.config.Was
		if was == "" {
			continue
		}
		if other := before[was]; other != "" {
			c.refuse("shared-was", r.field+".was", Span{}, fmt.Sprintf("was %s: the states of %s are those of %s already", was, was, other), "leave it out, or rename only one rule")
		}
		before[was] = r.field
	}
}

// lintReach looks for rules that decide nothing.
func (c *compiler) lintReach() {
	var free []*match.Pattern
	for _, e := range c.policy.exempt {
		if e.always() {
			free = append(free, e.patterns...)
		}
	}
	for _, r := range c.policy.rules {
		switch {
		case len(free) > 0 && c.covers(free, r.reach()):
			c.warn("unreachable-rule", r.field+".match", "every request that rule "+r.Name+" matches is exempt", "leave the rule out, or exempt less")
		case c.onlyProxies(r):
			c.warn("unreachable-rule", r.field+".ip", "rule "+r.Name+" is for addresses of trusted proxies alone, which no caller has", "write the callers' networks")
		}
		for _, other := range c.policy.rules {
			if c.never(r, other) {
				c.warn("redundant-rule", r.field, fmt.Sprintf("rule %s never decides: %s has the same key and limits, and applies to all its requests", r.Name, other.Name), "leave it out, or make it stricter")
				break
			}
		}
	}
}

// onlyProxies reports whether a rule is for addresses that a walk never ends at.
func (c *compiler) onlyProxies(r *rule) bool {
	if len(r.networks) == 0 || c.config.ClientIP.Hops > 0 {
		return false
	}
	for _, n := range r.networks {
		if !slices.ContainsFunc(c.config.ClientIP.TrustedProxies, holding(n)) {
			return false
		}
	}
	return true
}

// never reports whether another rule counts all that r counts, by the same
// numbers, so that it is exhausted first.
func (c *compiler) never(r, other *rule) bool {
	same := r != other && r.plan == nil && other.plan == nil && len(r.Limits) > 0 &&
		r.kinds == other.kinds && r.config.Missing == other.config.Missing && r.config.Normalize == other.config.Normalize &&
		r.cost == other.cost && r.Shadow == other.Shadow &&
		slices.EqualFunc(r.Limits, other.Limits, func(a, b *weir.Limit) bool { return a.String() == b.String() })
	if !same || !other.always() && !r.sameConditions(other) || !c.covers(other.patterns, r.reach()) {
		return false
	}
	mutual := c.covers(r.patterns, other.reach()) && (r.always() || r.sameConditions(other))
	return !mutual || other.Index < r.Index // of two that are alike the first may stay
}

// sameConditions reports whether two rules demand the same beside patterns.
func (k *conditions) sameConditions(other *rule) bool {
	return slices.Equal(k.networks, other.networks) &&
		slices.EqualFunc(k.headers, other.headers, func(a, b headerCondition) bool {
			return a.name == b.name && slices.Equal(a.values, b.values)
		})
}

// lintRoutes compares the rules with the list of the API's routes.
func (c *compiler) lintRoutes() {
	routes := c.patterns("routes", c.config.Routes)
	if len(routes) == 0 || len(routes) < len(c.config.Routes) {
		return
	}
	for i, route := range routes {
		one := []*match.Pattern{route}
		ruled := slices.ContainsFunc(c.policy.rules, func(r *rule) bool { return r.always() && c.covers(r.patterns, one) })
		exempt := slices.ContainsFunc(c.policy.exempt, func(e *exemption) bool { return e.always() && c.covers(e.patterns, one) })
		if !ruled && !exempt {
			c.warn("uncovered-route", element("routes", i), "no rule applies to every request of "+route.String(), "write a rule for it, or exempt it")
		}
	}
	for _, r := range c.policy.rules {
		fits := func(route *match.Pattern) bool {
			return slices.ContainsFunc(r.reach(), func(p *match.Pattern) bool { return match.Overlaps(p, route, c.policy.path) })
		}
		if !slices.ContainsFunc(routes, fits) {
			c.warn("rule-without-route", r.field+".match", "rule "+r.Name+" applies to none of the routes", "correct its match, or add the route")
		}
	}
}

// lintNumber counts the limits that meet on one request. Only rules that apply to
// all of another's requests are counted: what may meet, but need not, is left to
// the count at run time.
func (c *compiler) lintNumber() {
	numbers := make([]struct{ few, many int }, len(c.policy.rules))
	for i, r := range c.policy.rules {
		numbers[i].few, numbers[i].many = r.number()
		if !r.always() || r.missing == MissingSkip {
			numbers[i].few = 0
		}
	}
	for _, r := range c.policy.rules {
		for _, p := range r.reach() {
			least, most := 0, 0
			for i, other := range c.policy.rules {
				if c.covers(other.patterns, []*match.Pattern{p}) {
					least += numbers[i].few
					most += numbers[i].many
				}
			}
			where := "a request of " + p.String()
			const hint = "put limits of one key into one rule, or narrow a rule's match"
			switch {
			case least > weir.MaxTakes:
				c.refuse("too-many-limits", r.field, Span{}, fmt.Sprintf("%s is under %d limits, and %d can be decided at once", where, least, weir.MaxTakes), hint)
				return
			case most > weir.MaxTakes:
				c.warn("too-many-limits", r.field, fmt.Sprintf("%s may be under %d limits, and %d can be decided at once: beyond that it is refused", where, most, weir.MaxTakes), hint)
				return
			}
		}
	}
}

// lintListeners looks for rules that a daemon never asks. Of a file that is refused it
// says nothing: that is not finished. Of an upstream without a proxy is told elsewhere.
func (c *compiler) lintListeners() {
	l := c.config.Listeners()
	if !c.daemon || c.found.Err() != nil || len(c.policy.rules) == 0 || c.config.Upstream != "" || l.HTTP != nil {
		return
	}
	proxy := "upstream"
	if c.config.Listen != (Listen{}) {
		proxy = "listen.proxy and upstream"
	}
	c.warn("no-listener", "rules", "there is no listener whose callers the rules are for, so that nobody is limited",
		"write "+proxy+" for the proxy, or listen.http for services that ask; a file for a middleware alone needs neither")
}

// lintSlots looks for limits on requests in flight that no listener can keep to. A
// policy without any listener may stand behind a middleware, which can.
func (c *compiler) lintSlots() {
	l := c.config.Listeners()
	if l.HTTP == nil || l.Proxy != nil {
		return
	}
	for _, r := range c.policy.rules {
		if r.InFlight() {
			c.warn("slots-without-proxy", r.field, "rule "+r.Name+" counts requests in flight: only the proxy does that, and there is none", "write listen.proxy and upstream, or a rate such as 10/min")
		}
	}
}

// number is how many limits a rule brings, under the plan that has fewest and
// under the one that has most.
func (r *rule) number() (few, many int) {
	few = len(r.fallback.limits)
	many = few
	for q := range r.quotas() {
		few, many = min(few, len(q.limits)), max(many, len(q.limits))
	}
	return few, many
}

// lintUnused looks for what is written and has no effect.
func (c *compiler) lintUnused() {
	if c.config.JWT != nil && len(c.claims()) == 0 {
		c.warn("unused-jwt", "jwt", "no rule counts by a claim or takes a plan from one, so that no token is ever looked at", "use jwt:CLAIM in a rule's key or plan, or leave jwt out")
	}
	used := map[string]bool{}
	for _, r := range c.policy.rules {
		if r.config.MaxKeys > 0 && len(r.Limits) == 0 {
			c.warn("unused-max-keys", r.field+".max_keys", fmt.Sprintf("max_keys %d: rule %s counts nobody, so that nothing is kept for it", r.config.MaxKeys, r.Name), "leave it out, or write a limit that counts, such as 10/min")
		}
		used[r.fallback.plan] = true
		for q := range r.quotas() {
			used[q.plan] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Plans)) {
		if !used[name] {
			c.warn("unused-plan", member("plans", name), "no rule gives anybody the plan "+name, "leave it out, or name it in a rule's plan")
		}
	}
}

// looksShared reports whether a name is that of people or tenants, who are known
// to others.
func looksShared(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"user", "email", "account", "customer", "tenant"}, func(word string) bool { return strings.Contains(name, word) })
}
