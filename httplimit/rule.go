package httplimit

import (
	"net/http"
	"slices"

	"github.com/weirhq/weir"
)

// Rule says what a request is counted by, and how much of it may pass. Its
// functions are called on the request's goroutine, must be safe for concurrent
// use, and neither change nor keep the request. If one panics, OnError applies.
type Rule struct {
	// Name is the identity of the rule's limits in headers, metrics, logs and
	// store keys: `<rule>`, or `<rule>/<slot>` where any of its lists has
	// several limits. Two rules of one store with the same name share what
	// their callers have used. It matches [a-z0-9][a-z0-9._-]{0,31}.
	Name string

	// Limits are texts that weir.ParseSpec reads, such as "5/s burst 5"; all of
	// them must fit. "unlimited" and "deny" stand alone. Among several, each is
	// named by its period (1s, 1m, 1d), or "slots", and two alike are refused until they
	// have names of their own, in front of a colon:
	//
	//	Limits: []string{"burst: 20/s", "steady: 5/s burst 100"}
	//
	// The numbers may change from one start to the next, the names should not:
	// the state goes with the name.
	Limits []string

	// Key is what to count by, all parts together; none is ByIP.
	Key []Key

	// Plan names the caller's plan, instead of Limits. All plans are one rule
	// under the same names, so that a caller whose plan changes keeps what was
	// used, as long as the algorithm, and of windows the period, is the same; where one plan has several
	// limits, all are named by slots.
	//
	// Plan may return what the caller sends only if no plan is worth lying for.
	Plan func(*http.Request) string

	// Plans are the limits of each plan, in the form of Limits.
	Plans map[string][]string

	// DefaultPlan is the plan of callers whose plan is not among Plans. It is
	// required with Plan, and may not be an unlimited one: whoever names a plan
	// that does not exist would have it.
	DefaultPlan string

	// Cost is how many units of rates the request takes; nil is 1. An error, and a cost
	// below 1, refuses the request with 400: what should cost nothing belongs
	// to an unlimited plan. Of a *weir.FieldError the caller is told field and
	// problem; other errors are for the observer alone. A cost above a limit's
	// capacity can never pass, and is refused with 422.
	Cost func(*http.Request) (int64, error)

	// Missing is what to do with a request that lacks a part of the key.
	Missing Missing

	// Challenge, with Missing: Reject, makes the refusal 401 with this
	// WWW-Authenticate, such as `Bearer` or `Basic realm="api"`.
	Challenge string

	// Shadow decides and charges the rule without ever refusing: its limits
	// join as weir.Advise and appear in no header, only in the outcome that
	// the observer sees. What such a rule would refuse without asking a limit
	// (deny, a missing key, a bad cost) it lets pass uncounted.
	Shadow bool

	// OnError is what to do when the store fails or one of the functions
	// panics: weir.Closed, which the zero value stands for, refuses with 503;
	// weir.Open lets pass, as far as this rule goes. Where a store fails for
	// several rules at once, one that is closed refuses.
	OnError weir.Mode
}

// Missing says what becomes of a request that lacks a part of a rule's key.
type Missing uint8

// The choices of Rule.Missing.
const (
	// ByAddress counts it by the caller's address, apart from all keys that
	// have their parts. To leave the header out is then no way around the rule.
	ByAddress Missing = iota

	// Skip does not apply the rule. It is for a rule beside another that
	// applies: leaving the part out is otherwise a way around both.
	Skip

	// Reject refuses it with 400, or 401 if the rule has a Challenge.
	Reject
)

// maxPlanLimits bounds what one plan may hold; a call holds no more.
const maxPlanLimits = weir.MaxTakes

// rule is a compiled Rule.
type rule struct {
	name     string
	key      []Key
	plan     func(*http.Request) string // nil: always fallback
	plans    map[string]*plan
	fallback *plan
	cost     func(*http.Request) (int64, error)
	missing  Missing
	absent   []error // for Reject: what to say of each part of the key
	shadow   bool
	closed   bool // what a fault means
}

// plan is a compiled list of limits.
type plan struct {
	limits    []*weir.Limit
	unlimited bool
	deny      bool
}

// planOf is the plan that applies to a request.
func (l *rule) planOf(r *http.Request) *plan {
	if l.plan == nil {
		return l.fallback
	}
	if p := l.plans[l.plan(r)]; p != nil {
		return p
	}
	return l.fallback
}

// most is how many takes a request under the rule may need.
func (l *rule) most() int {
	n := len(l.fallback.limits)
	for _, p := range l.plans {
		n = max(n, len(p.limits))
	}
	return n
}

// most is how many takes a request may need under all rules.
func most(list []*rule) int {
	n := 0
	for _, l := range list {
		n += l.most()
	}
	return n
}

// limits are all versions of the rule's limits.
func (l *rule) limits() []*weir.Limit {
	all := slices.Clone(l.fallback.limits)
	for _, p := range l.plans {
		all = append(all, p.limits...)
	}
	return all
}
