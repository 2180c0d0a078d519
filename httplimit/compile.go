package httplimit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
)

// A compiler turns Rules into rules and collects what is wrong with them.
type compiler struct {
	name  string // of the rule at work, for its limits
	label string // of the rule at work, for errors
	errs  []error
}

// wrong notes one thing that is wrong with a field of the rule at work.
func (c *compiler) wrong(field string, value any, problem, remedy string) {
	c.errs = append(c.errs, weir.Invalid("rule "+c.label+": "+field, value, problem, remedy))
}

// compile checks all rules. The error joins one for each thing that is wrong.
func compile(list []Rule) ([]*rule, error) {
	c := &compiler{}
	var made []*rule
	names := map[string]bool{}
	for i := range list {
		r := &list[i]
		c.begin(r.Name)
		if names[r.Name] {
			c.wrong("Name", "", "another rule has the same", "limits under one name share their states: choose another")
		}
		names[r.Name] = true
		made = append(made, c.compile(r))
	}
	if takes := most(made); takes > weir.MaxTakes {
		c.errs = append(c.errs, weir.Invalid("Rules", takes, "so many limits could apply to one request",
			fmt.Sprintf("at most %d, over all rules: use fewer, or two Middlewares", weir.MaxTakes)))
	}
	return made, errors.Join(c.errs...)
}

// begin starts a rule. One whose name is refused goes on under another, so that
// its limits are checked all the same.
func (c *compiler) begin(name string) {
	c.name, c.label = name, name
	if _, err := weir.NewLimit(name, weir.Spec{Algorithm: weir.Unlimited}); err != nil || strings.Contains(name, "/") {
		c.name, c.label = "unnamed", quote(name)
		c.wrong("Name", "", "a name is 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit", "")
	}
}

func (c *compiler) compile(r *Rule) *rule {
	l := &rule{name: r.Name, key: slices.Clone(r.Key), plan: r.Plan, cost: r.Cost, missing: r.Missing, shadow: r.Shadow}
	if len(l.key) == 0 {
		l.key = []Key{ByIP()}
	}
	c.checkKey(l.key)
	c.checkMissing(r)
	l.absent = absences(l.key, r.Challenge)
	l.closed = r.OnError != weir.Open
	if r.OnError != weir.Exact && r.OnError != weir.Open && r.OnError != weir.Closed {
		c.wrong("OnError", r.OnError, "no choice for a store that fails", "use weir.Closed or weir.Open")
	}
	c.plans(r, l)
	return l
}

func (c *compiler) checkKey(key []Key) {
	for i, k := range key {
		field := "Key[" + strconv.Itoa(i) + "]"
		switch {
		case k.part == nil:
			c.wrong(field, "", "it is empty", "make it with ByIP, ByHeader, ByPathValue, By or Everyone")
		case k.err != nil:
			c.wrong(field+": "+k.err.Field, k.err.Value, k.err.Problem, k.err.Remedy)
		}
	}
}

func (c *compiler) checkMissing(r *Rule) {
	if r.Missing > Reject {
		c.wrong("Missing", uint8(r.Missing), "no such choice", "use ByAddress, Skip or Reject")
	}
	if r.Challenge != "" && r.Missing != Reject {
		c.wrong("Challenge", quote(r.Challenge), "only a refusal carries one", "set Missing to Reject, or leave it out")
	}
	if strings.ContainsFunc(r.Challenge, func(c rune) bool { return c < ' ' || c > '~' }) {
		c.wrong("Challenge", quote(r.Challenge), "a field holds printable ASCII", `write it like Basic realm="api"`)
	}
}

// absences are what Reject says of each part of a key: its kind, never a value.
func absences(key []Key, challenge string) []error {
	errs := make([]error, len(key))
	for i, k := range key {
		errs[i] = weir.Invalid(k.kind, "", "it is missing, or there is more than one", "send it once")
		if challenge != "" {
			errs[i] = header.Unauthorized(challenge, errs[i])
		}
	}
	return errs
}

// plans compiles the limits of the rule, or of its plans.
func (c *compiler) plans(r *Rule, l *rule) {
	l.fallback = &plan{}
	switch {
	case r.Plan == nil && (len(r.Plans) > 0 || r.DefaultPlan != ""):
		c.wrong("Plan", "nil", "there are plans, and nothing says whose they are", "set Plan")
	case r.Plan == nil && len(r.Limits) == 0:
		c.wrong("Limits", "", "there are none", `write a limit such as "10/min", or "unlimited", or set Plan`)
	case r.Plan == nil:
		lists := map[string][]entry{"": c.parse("Limits", r.Limits)}
		l.fallback = c.build(lists)[""]
	case len(r.Limits) > 0:
		c.wrong("Limits", "", "with Plan, each plan has its own", "leave one of the two out")
	default:
		lists := map[string][]entry{}
		for _, name := range slices.Sorted(maps.Keys(r.Plans)) {
			lists[name] = c.parse("Plans["+quote(name)+"]", r.Plans[name])
		}
		l.plans = c.build(lists)
		c.fallback(r, l)
	}
}

// fallback finds the plan of those whose plan is unknown.
func (c *compiler) fallback(r *Rule, l *rule) {
	p := l.plans[r.DefaultPlan]
	switch {
	case p == nil:
		c.wrong("DefaultPlan", quote(r.DefaultPlan), "it is not among Plans", "name the plan of callers whose plan is not")
		return
	case p.unlimited:
		c.wrong("DefaultPlan", quote(r.DefaultPlan), "whoever names a plan that does not exist would be unlimited",
			`name one that has limits, or one that is "deny"`)
	}
	l.fallback = p
}
