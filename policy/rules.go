package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/suggest"
	"github.com/weirhq/weir/policy/internal/match"
)

// ruleName is what a rule may be called: it stands in headers, metrics and store
// keys.
var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`)

// guests are the names under which limits stand that callers bring themselves:
// /v1/take's, and those of protocols.
var guests = [...]string{"take", "envoy", "pace"}

// rules compiles plans, exemptions and rules, and what finds the rules of a
// request.
func (c *compiler) rules() {
	lists := c.planLists()
	c.exemptions()
	names := map[string]int{}
	patterns := make([][]*match.Pattern, len(c.config.Rules))
	for i := range c.config.Rules {
		r := &rule{config: &c.config.Rules[i], field: element("rules", i), onFault: weir.Closed}
		r.Index, r.Name, r.Shadow = i, r.config.Name, r.config.Shadow
		c.name(r, names)
		c.rule(r, lists)
		c.singles(r)
		c.policy.rules = append(c.policy.rules, r)
		patterns[i] = r.patterns
	}
	c.secrets()
	c.policy.set = match.NewSet(patterns, c.policy.path)
}

// name checks what a rule is called, and was.
func (c *compiler) name(r *rule, names map[string]int) {
	field := r.field + ".name"
	switch other, taken := names[r.Name]; {
	case r.Name == "":
		c.refuse("no-name", r.field, Span{}, "the rule has no name", "headers, metrics and logs call it by one: write name")
		r.Name = "unnamed" // so that the rest of it is checked
	case !ruleName.MatchString(r.Name):
		c.refuse("bad-name", field, Span{}, fmt.Sprintf("name %q: a name is 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit", r.Name), meantName(r.Name))
		r.Name = "unnamed"
	case slices.Contains(guests[:], r.Name):
		c.refuse("bad-name", field, Span{}, fmt.Sprintf("name %s: limits that callers bring themselves are called that", r.Name), "choose another")
	case taken:
		c.refuse("duplicate-name", field, Span{}, fmt.Sprintf("name %s stands here twice, first in rules[%d].name", r.Name, other), "limits of one name share their states: choose another")
	default:
		names[r.Name] = r.Index
	}
	r.was = r.config.Was
	switch was := r.config.Was; {
	case was == "":
	case !ruleName.MatchString(was):
		c.refuse("bad-name", r.field+".was", Span{}, fmt.Sprintf("was %q: no rule was called that", was), "")
		r.was = ""
	case was == r.Name:
		c.refuse("bad-name", r.field+".was", Span{}, "was "+was+": that is the rule's name still", "leave it out")
	}
}

// rule compiles everything else of a rule.
func (c *compiler) rule(r *rule, lists map[string][]wording) {
	r.patterns = c.patterns(r.field+".match", r.config.Match)
	r.conditions = c.conditions(r.field, r.config.IP, r.config.Headers)
	c.key(r)
	r.missing = r.config.Missing
	r.cost = max(1, r.config.Cost)
	if f := r.config.Refuse; f != nil {
		r.refusal = &weir.Refusal{Status: f.Status, Detail: f.Detail}
		if f.Status == 0 && f.Detail == "" {
			c.refuse("bad-refuse", r.field+".refuse", Span{}, "refuse: it changes nothing", "write status, detail or both, or leave it out")
		}
	}
	r.fallback = &quota{}
	c.limit(r, lists)
	c.checkCost(r)
}

// limit compiles the one of limit, limits and plan that a rule has.
func (c *compiler) limit(r *rule, lists map[string][]wording) {
	var has []string
	if r.config.Limit != "" {
		has = append(has, "limit")
	}
	if r.config.Limits != nil {
		has = append(has, "limits")
	}
	if r.config.Plan != nil {
		has = append(has, "plan")
	}
	switch {
	case len(has) == 0:
		c.refuse("no-limit", r.field, Span{}, "rule "+r.Name+" has no limit", "write limit, limits, or plan and default_plan")
		return
	case len(has) > 1:
		c.refuse("two-limits", r.field+"."+has[1], Span{}, fmt.Sprintf("rule %s has both %s and %s", r.Name, has[0], has[1]), "write one of them")
		return
	}
	if has[0] == "plan" {
		c.planned(r, lists)
		return
	}
	if r.config.DefaultPlan != "" {
		c.refuse("bad-plan", r.field+".default_plan", Span{}, "default_plan without plan", "write plan, which says where a caller's plan is named")
	}
	if has[0] == "limits" {
		list := c.wordings(r.field+".limits", r.config.Limits)
		r.fallback = c.quota(r, list, slotted(list))
		return
	}
	spec, err := specOf(r.config.Limit)
	if err != nil {
		before := len(c.found)
		c.refuseFields("bad-limit", r.field+".limit", err)
		for i := before; i < len(c.found); i++ {
			c.found[i].Hint = c.meantPlan(r.config.Limit, severalHint(c.found[i].Hint, "limits"))
		}
		return
	}
	r.fallback = c.quota(r, []wording{{path: r.field + ".limit", text: r.config.Limit, spec: spec}}, false)
}

// checkCost refuses a cost that could never pass.
func (c *compiler) checkCost(r *rule) {
	for _, l := range r.Limits {
		if r.cost > l.Capacity() && !inFlight(l) { // which is one slot, whatever the cost
			c.refuse("cost-never-passes", r.field+".cost", Span{}, fmt.Sprintf("cost %d: %s holds %d at most, so that no request could ever pass", r.cost, l, l.Capacity()),
				"write a lower cost, or "+larger(l.Spec(), r.cost))
			return
		}
	}
}

// larger says what of a limit is to be more so that it holds a cost.
func larger(s weir.Spec, cost int64) string {
	queue, wait := "a larger queue", "a longer wait"
	switch {
	case s.Algorithm == weir.TokenBucket:
		return "a larger burst"
	case s.Algorithm != weir.LeakyBucket:
		return "a larger count"
	case s.Wait == 0:
		return queue
	case s.Queue == 0 || s.Queue >= cost-1: // what is not held stands in no queue
		return wait
	}
	if l, err := weir.NewLimit("cost", weir.Spec{Algorithm: s.Algorithm, Count: s.Count, Period: s.Period, Wait: s.Wait}); err == nil && l.Capacity() >= cost {
		return queue
	}
	return queue + " and " + wait
}

// claims are the claims of tokens that rules ask for, each once.
func (c *compiler) claims() []string {
	var names []string
	add := func(text string) {
		if claim, ok := strings.CutPrefix(text, "jwt:"); ok && claim != "" && !slices.Contains(names, claim) {
			names = append(names, claim)
		}
	}
	for i := range c.config.Rules {
		r := &c.config.Rules[i]
		for _, text := range r.Key {
			add(text)
		}
		if r.Plan != nil {
			add(r.Plan.From)
		}
	}
	return names
}

// meant asks for the name that was probably meant.
func meant(name string, names []string) string { return suggest.DidYouMean(name, names...) }
