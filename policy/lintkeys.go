package policy

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
)

// This file looks at who is counted, who is not, and by whose word.

// invents reports whether callers may choose a part of a rule's key anew with each
// request. A host is theirs to choose only where the patterns name none.
func (r *rule) invents() (part, bool) {
	for _, p := range r.key {
		fixed := p.origin == fromHost && len(r.patterns) > 0
		for _, pattern := range r.patterns {
			fixed = fixed && pattern.Host() != ""
		}
		if p.origin.invented() && !fixed {
			return p, true
		}
	}
	return part{}, false
}

// lintKeys looks at keys that callers choose themselves.
func (c *compiler) lintKeys() {
	for _, r := range c.policy.rules {
		p, ok := r.invents()
		if !ok {
			continue
		}
		path := c.keyPath(r, p)
		if !slices.ContainsFunc(c.policy.rules, func(wall *rule) bool { return c.wall(wall, r) }) {
			c.refuse("no-wall", path, Span{}, fmt.Sprintf("%s is the caller's to choose: with another value in each request rule %s limits nobody", p.kind, r.Name),
				cmp.Or(c.nearWall(r), "add a rule over the same requests with `key: ip` and a wider limit"))
		}
		c.lintVictims(r, path)
	}
}

// keyPath is where a part of a rule's key stands.
func (c *compiler) keyPath(r *rule, p part) string {
	for i, text := range r.config.Key {
		if text == p.kind || len(r.key) > i && r.key[i] == p {
			return element(r.field+".key", i)
		}
	}
	return r.field + ".key"
}

// lintVictims looks for keys by which a stranger uses up what a user has: a name
// that others know, with nothing beside it that is the caller's own.
func (c *compiler) lintVictims(r *rule, path string) {
	for _, p := range r.key {
		named := p.origin == fromBasic || p.origin != fromHost && p.origin.invented() && looksShared(p.name)
		if !named && p.origin != fromConst {
			return
		}
	}
	c.warn("victim-key", path, fmt.Sprintf("rule %s counts by a name alone: a stranger who knows it can use up what its owner has", r.Name),
		"add ip to the key, or count by a verified claim such as jwt:sub")
}

// lintPlans looks at who says which plan a caller has.
func (c *compiler) lintPlans() {
	for _, r := range c.policy.rules {
		if r.plan == nil {
			continue
		}
		from, path := r.plan.from, r.field+".plan"
		if from.origin == fromHeader && r.config.Plan.Table == nil && !slices.Contains(c.policy.trustedHeaders, from.name) {
			c.refuse("untrusted-plan", path, Span{}, fmt.Sprintf("header %s names the plan, and any caller may send it", from.name),
				"list it under client_ip.trusted_headers, so that it counts only from trusted proxies; or give a table of secrets")
		}
		if from.origin != fromHeader && from.origin != fromCookie && from.origin != fromQuery {
			continue
		}
		if r.plan.secrets && !slices.Contains(c.policy.trustedHeaders, from.name) && guessable(slices.Collect(maps.Keys(r.config.Plan.Table))) {
			c.warn("guessable-plan", path, fmt.Sprintf("a value of %s gives a plan, and is short enough to be guessed", from.kind), randomHint)
		}
		for q := range r.quotas() {
			if q.unlimited {
				c.refuse("unlimited-by-header", path, Span{}, fmt.Sprintf("plan %s is unlimited, and %s would be enough to have it", q.plan, from.kind),
					"give the plan a limit, or take plans from jwt:CLAIM or ip")
				break
			}
		}
	}
}

// quotas are what a rule may give by plan, in the order of their names.
func (r *rule) quotas() iter.Seq[*quota] {
	return func(yield func(*quota) bool) {
		if r.plan == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(r.plan.byName)) {
			if !yield(r.plan.byName[name]) {
				return
			}
		}
		for _, n := range r.plan.byNet {
			if !yield(n.quota) {
				return
			}
		}
	}
}

// holding finds the networks that hold another.
func holding(inner netip.Prefix) func(netip.Prefix) bool {
	return func(outer netip.Prefix) bool { return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr()) }
}

// lintExemptions looks for exemptions that callers may give themselves.
func (c *compiler) lintExemptions() {
	for i, e := range c.policy.exempt {
		field := element("exempt", i)
		for k, n := range e.networks {
			overlaps := slices.ContainsFunc(c.config.ClientIP.TrustedProxies, n.Overlaps)
			if overlaps {
				c.warn("exempt-proxy", element(field+".ip", k), fmt.Sprintf("%s overlaps trusted_proxies: a proxy's address is no caller's, and one that is fallen back to is never exempt", n),
					"write the callers' networks")
			}
		}
		if len(e.networks) > 0 {
			continue
		}
		written := map[string]string{}
		for name := range c.config.Exempt[i].Headers {
			written[canonicalHeader(name)] = name
		}
		for _, h := range e.headers {
			c.lintSecret(member(field+".headers", written[h.name]), h)
		}
	}
}

// guessable reports whether one of some secrets is short.
func guessable(values []string) bool {
	const enough = 16 // characters at random are not guessed
	return slices.ContainsFunc(values, func(v string) bool { return len(v) < enough })
}

const randomHint = "use 16 random characters or more, as `openssl rand -hex 16` gives"

// lintSecret looks at a header that makes requests exempt.
func (c *compiler) lintSecret(path string, h headerCondition) {
	if slices.Contains(c.policy.trustedHeaders, h.name) {
		return
	}
	switch {
	case len(h.values) == 0:
		c.refuse("exempt-by-anybody", path, Span{}, "header "+h.name+" makes a request exempt, and any caller may send it",
			"list secret values, or list the header under client_ip.trusted_headers")
	case guessable(h.values):
		c.warn("guessable-exemption", path, fmt.Sprintf("a value of header %s makes a request exempt, and is short enough to be guessed", h.name), randomHint)
	}
}
