package policy

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// plan says which quota a caller has.
type plan struct {
	from    part
	secrets bool              // from's values are keys that callers present, and may guess
	byName  map[string]*quota // by the value that from gives: the plan's name, or the table's
	byNet   []network         // of a table of networks, longest prefix first
}

// network is one line of a table by address.
type network struct {
	prefix netip.Prefix
	quota  *quota
}

// quotaOf is the caller's quota, nil where he has none here. named says that the
// request has a text that was looked up.
func (p *plan) quotaOf(c *call) (q *quota, named bool) {
	if p.from.origin == fromIP {
		return p.quotaAt(c), false
	}
	value, named := c.value(p.from)
	if !named {
		return nil, false
	}
	return p.byName[value], true
}

// quotaAt looks the caller's address up. One that is not sure has no plan.
func (p *plan) quotaAt(c *call) *quota {
	a := c.found.Caller
	if !a.Sure {
		return nil
	}
	for i := range p.byNet {
		if p.byNet[i].prefix.Contains(a.Addr) {
			return p.byNet[i].quota
		}
	}
	return nil
}

// planLists reads Config.Plans, once for all rules.
func (c *compiler) planLists() map[string][]wording {
	lists := map[string][]wording{}
	for _, name := range slices.Sorted(maps.Keys(c.config.Plans)) {
		path := member("plans", name)
		if strings.TrimSpace(name) != name || name == "" {
			c.refuse("bad-name", path, Span{}, fmt.Sprintf("plan %q: it has no name", name), "name it as tokens and tables do")
		}
		lists[name] = c.wordings(path, c.config.Plans[name])
	}
	return lists
}

// planned compiles the plans of a rule.
func (c *compiler) planned(r *rule, lists map[string][]wording) {
	field := r.field + ".plan"
	from, ok := c.parsePart(field, r.config.Plan.From, c.planOrigins(r)...)
	if ok {
		r.plan = &plan{from: from, byName: map[string]*quota{}}
		r.plan.secrets = r.config.Plan.Table != nil && from.origin.invented() && !c.onlyTrusted(from)
		r.needsToken = r.needsToken || from.origin == fromJWT
	}
	if len(lists) == 0 {
		c.refuse("unknown-plan", field, Span{}, "there are no plans", "write them under plans")
		return
	}
	all := slices.Collect(maps.Values(lists))
	quotas := map[string]*quota{}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		q := c.quota(r, lists[name], slotted(all...))
		q.plan = name
		quotas[name] = q
	}
	c.defaultPlan(r, quotas)
	if r.plan == nil {
		return
	}
	if r.config.Plan.Table == nil {
		r.plan.byName = quotas
		return
	}
	c.table(r, quotas)
}

// onlyTrusted reports a header that nobody but trusted proxies may send.
func (c *compiler) onlyTrusted(p part) bool {
	return p.origin == fromHeader && slices.Contains(c.policy.trustedHeaders, p.name)
}

// secrets marks the rules in which a secret has a say: whose plan is looked up by
// it, or who count by a text that another's plan is looked up by, unless that one
// is in shadow.
func (c *compiler) secrets() {
	var kinds []string
	for _, r := range c.policy.rules {
		if r.plan != nil && r.plan.secrets && !r.Shadow {
			kinds = append(kinds, r.plan.from.kind)
		}
	}
	for _, r := range c.policy.rules {
		r.secretKey = slices.ContainsFunc(r.key, func(p part) bool { return slices.Contains(kinds, p.kind) })
		r.secret = r.secretKey || r.plan != nil && r.plan.secrets
	}
}

// planOrigins are what may name a plan: what is verified, or, in a table, what
// is a secret.
func (c *compiler) planOrigins(r *rule) []origin {
	if r.config.Plan.Table != nil {
		return []origin{fromIP, fromJWT, fromHeader, fromCookie, fromQuery}
	}
	return []origin{fromJWT, fromHeader}
}

// defaultPlan finds the quota of those whose plan is unknown.
func (c *compiler) defaultPlan(r *rule, quotas map[string]*quota) {
	field, name := r.field+".default_plan", r.config.DefaultPlan
	q := quotas[name]
	switch {
	case name == "":
		c.refuse("no-default-plan", r.field+".plan", Span{}, "rule "+r.Name+": there is no plan for callers who have none", "write default_plan beside plan")
		return
	case q == nil:
		c.refuseUnknownPlan(field, name)
		return
	case q.unlimited:
		c.refuse("unlimited-default", field, Span{}, "default_plan "+name+" is unlimited: whoever has no plan would not be limited",
			`name a plan that has limits, or one that is "deny"`)
	}
	r.fallback = q
}

// refuseUnknownPlan notes a plan that is not among Config.Plans.
func (c *compiler) refuseUnknownPlan(path, name string) {
	names := slices.Sorted(maps.Keys(c.config.Plans))
	c.refuse("unknown-plan", path, Span{}, fmt.Sprintf("there is no plan %q", name),
		cmp.Or(meant(name, names), "the plans are "+strings.Join(names, ", ")))
}

// table compiles plans by value.
func (c *compiler) table(r *rule, quotas map[string]*quota) {
	field := r.field + ".plan"
	if len(r.config.Plan.Table) == 0 {
		c.refuse("bad-plan", field, Span{}, "the table is empty", "write value: plan, or "+r.config.Plan.From+" alone")
	}
	for _, value := range slices.Sorted(maps.Keys(r.config.Plan.Table)) {
		path, name := member(field, value), r.config.Plan.Table[value]
		q := quotas[name]
		if q == nil {
			c.refuseUnknownPlan(path, name)
			continue
		}
		if r.plan.from.origin != fromIP {
			r.plan.byName[value] = q
			continue
		}
		prefix, wrong := readPrefix("network", value)
		twice := slices.ContainsFunc(r.plan.byNet, func(n network) bool { return n.prefix == prefix })
		switch {
		case wrong != (complaint{}):
			c.refuse(wrong.code, path, Span{}, wrong.message, wrong.hint)
		case twice:
			c.refuse("duplicate-value", path, Span{}, prefix.String()+" is listed twice", "leave one of them out")
		case q.unlimited && prefix.Bits() == 0:
			c.refuse("unlimited-default", path, Span{}, "network "+value+" is everybody: nobody would be limited", "list the networks that are meant")
		default:
			r.plan.byNet = append(r.plan.byNet, network{prefix, q})
		}
	}
	slices.SortStableFunc(r.plan.byNet, func(a, b network) int { return b.prefix.Bits() - a.prefix.Bits() })
}
