package policy

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/match"
)

// Explanation says how a request would be decided now, and why. Its JSON form is
// what `weir explain --json` and /v1/explain give. It holds no value of the
// request but method, host, path and the caller's address.
type Explanation struct {
	Method    string `json:"method"`              // as it was sent
	Host      string `json:"host,omitempty"`      // likewise
	Path      string `json:"path"`                // in its canonical form
	Ambiguous string `json:"ambiguous,omitempty"` // how the path can be read in two ways

	Address       string `json:"address,omitempty"`        // "" for a peer without one
	AddressFrom   string `json:"address_from"`             // given, peer or header
	AddressSure   bool   `json:"address_sure"`             // false: got by falling back
	AddressReason string `json:"address_reason,omitempty"` // why it is not taken from the header
	Network       string `json:"network,omitempty"`        // what the address counts under

	Enforce Enforce `json:"enforce"`         // the switch
	Exempt  *int    `json:"exempt"`          // the entry of Config.Exempt that fits, null for none
	Token   string  `json:"token,omitempty"` // verified, or why not; "" where no rule asks for one

	Reason  string            `json:"reason"`             // what decided: see Reason
	Allowed bool              `json:"allowed"`            // the request would pass
	DelayMS int64             `json:"delay_ms,omitempty"` // after so long, rounded up: a leaky bucket's
	Binding string            `json:"binding,omitempty"`  // the limit or the rule that refused
	Error   string            `json:"error,omitempty"`    // what is wrong with the request, or failed
	Rules   []RuleExplanation `json:"rules"`              // all of them, in the order of the file

	Outcome *weir.Outcome `json:"-"` // for the surface, which tells status and fields
}

// RuleExplanation is one rule's part in an Explanation.
type RuleExplanation struct {
	Rule    string `json:"rule"`              // its name
	Matched bool   `json:"matched"`           // it applies to the request
	Why     string `json:"why"`               // which pattern fits, or what does not
	Shadow  bool   `json:"shadow,omitempty"`  // it cannot refuse
	Verdict string `json:"verdict,omitempty"` // allowed, refused, denied, unlimited, skipped, not asked

	Key     string `json:"key,omitempty"`      // the kinds of its parts
	KeyHash string `json:"key_hash,omitempty"` // the first 8 digits of what was counted under
	Missing string `json:"missing,omitempty"`  // the part of the key that the request lacks
	Plan    string `json:"plan,omitempty"`     // the caller's
	PlanWhy string `json:"plan_why,omitempty"` // who says so

	Limits []LimitExplanation `json:"limits,omitempty"` // each one's verdict
}

// LimitExplanation is the verdict of one limit. Spans are in milliseconds,
// rounded up.
type LimitExplanation struct {
	Limit        string `json:"limit"`              // its name
	Text         string `json:"text"`               // as it is written
	Cost         int64  `json:"cost"`               // what the request would take
	Allowed      bool   `json:"allowed"`            // that fits
	Never        bool   `json:"never,omitempty"`    // it never will
	Blocked      bool   `json:"blocked,omitempty"`  // a block of the limit is running: nothing fits
	Capacity     int64  `json:"capacity"`           // the most that fits
	Remaining    int64  `json:"remaining"`          // what is left now
	RetryAfterMS int64  `json:"retry_after_ms"`     // when it fits, where it does not
	DelayMS      int64  `json:"delay_ms,omitempty"` // how long it would wait, where it fits
	ResetAfterMS int64  `json:"reset_after_ms"`     // when nothing is used any more
	Mode         string `json:"mode"`               // how it was decided
}

func (e *Engine) explain(ctx context.Context, p *Policy, r *weir.Request) *Explanation {
	c := &call{peek: true}
	c.begin(e, p, r, new(weir.Outcome))
	c.decide(ctx)
	return c.explain()
}

func (c *call) explain() *Explanation {
	r, o := c.found.Request, c.outcome()
	c.path.Parse(r.Path, c.found.Policy.path) // what was decided may have been decided before it was read
	x := &Explanation{
		Method: r.Method, Host: r.Host, Path: c.path.String(),
		Enforce: c.found.Enforce, Reason: c.found.Reason.String(),
		Allowed: o.Allowed, DelayMS: o.Delay.Ceil(time.Millisecond), Outcome: o,
	}
	if c.path.Ambiguous() != match.None {
		x.Ambiguous = c.path.Ambiguous().String()
	}
	if l := o.Limit(); !o.Allowed && l != nil {
		x.Binding = l.Name()
	} else if !o.Allowed {
		x.Binding = o.Rule
	}
	if o.Err != nil {
		x.Error = o.Err.Error()
	}
	if c.exempt != nil {
		x.Exempt = &c.exempt.index
	}
	if !c.found.Caller.Addr.IsValid() {
		c.resolveCaller() // a path that is refused is refused before that
	}
	c.explainCaller(x)
	c.explainToken(x)
	for _, l := range c.found.Policy.rules {
		x.Rules = append(x.Rules, c.explainRule(l))
	}
	return x
}

func (c *call) explainCaller(x *Explanation) {
	a := c.found.Caller
	x.AddressSure = a.Sure
	if a.Addr.IsValid() {
		x.Address, x.Network = a.Addr.String(), c.network().String()
	}
	switch {
	case c.found.Request.Addr.IsValid():
		x.AddressFrom = "given"
	case a.Sure && a.Reason == 0 && c.found.Policy.config.ClientIP.Header != "":
		x.AddressFrom = "header"
	default:
		x.AddressFrom = "peer"
	}
	if a.Reason != 0 {
		x.AddressReason = a.Reason.String()
	}
}

func (c *call) explainToken(x *Explanation) {
	switch {
	case c.token == tokenVerified:
		x.Token = "verified"
	case c.token == tokenRefused:
		x.Token = c.why.String()
	case c.needsToken():
		x.Token = "not asked"
	}
}

// needsToken reports whether a matching rule asks for a token.
func (c *call) needsToken() bool {
	for i := range c.work {
		if c.work[i].rule.needsToken {
			return true
		}
	}
	return false
}

func (c *call) explainRule(r *rule) RuleExplanation {
	x := RuleExplanation{Rule: r.Name, Shadow: r.Shadow || c.shadow()}
	if x.Why = c.unmatched(); x.Why != "" {
		x.Verdict = notAsked
		return x
	}
	if x.Why = r.misfit(c); x.Why != "" {
		return x
	}
	x.Matched, x.Why = true, r.fit(c)
	for i := range c.work {
		if c.work[i].rule == r {
			c.explainWork(&x, &c.work[i], &c.found.Applied[i])
			return x
		}
	}
	x.Verdict = notAsked // decided before rules were looked at
	return x
}

// unmatched is why a request was refused before rules were looked for; "" where it was
// not.
func (c *call) unmatched() string {
	switch {
	case c.found.Reason != ReasonRequest || len(c.work) > 0:
		return ""
	case small(c.found.Request.Method):
		return "the method is not in capitals"
	case c.path.Ambiguous() != match.None:
		return "the path can be read in two ways"
	}
	return "the caller has no address"
}

// notAsked is the verdict of a rule that was not needed to decide.
const notAsked = "not asked"

// explainWork says what a matching rule came to.
func (c *call) explainWork(x *RuleExplanation, w *work, a *Applied) {
	x.Plan, x.Missing = a.Plan, a.Missing
	x.Key = w.rule.kinds
	if a.Kinds != "" {
		x.Key = a.Kinds
	}
	if w.rule.plan != nil && w.ready {
		x.PlanWhy = w.rule.plan.why(c, w.rule.config.Plan.From)
	}
	if w.quota != nil {
		x.KeyHash = KeyHash(w.key)
	}
	c.explainLimits(x, a)
	x.Verdict = c.verdict(w, a, x)
}

// why says what a caller's plan is taken from.
func (p *plan) why(c *call, from string) string {
	q, named := p.quotaOf(c)
	switch {
	case q != nil:
		return from + " says so"
	case named:
		return "default_plan: " + from + " names one that the file does not have"
	case p.from.origin != fromIP:
		return "default_plan: " + from + " names none"
	case !c.found.Caller.Sure:
		return "default_plan: the address is not sure"
	}
	return "default_plan: the address is in none of the networks"
}

func (c *call) explainLimits(x *RuleExplanation, a *Applied) {
	o := c.outcome()
	for i := a.Take; i < a.Take+a.Takes && i < len(o.Decisions); i++ {
		l, d := o.Takes[i].Limit, &o.Decisions[i]
		x.Limits = append(x.Limits, LimitExplanation{
			Limit: l.Name(), Text: l.String(), Cost: o.Takes[i].Cost,
			Allowed: d.Allowed, Never: d.Never, Blocked: d.Blocked,
			Capacity: l.Capacity(), Remaining: d.Remaining,
			RetryAfterMS: d.RetryAfter.Ceil(time.Millisecond), DelayMS: d.Delay.Ceil(time.Millisecond), ResetAfterMS: d.ResetAfter.Ceil(time.Millisecond),
			Mode: d.Mode.String(),
		})
	}
}

// verdict is a rule's own, whatever the others say.
func (c *call) verdict(w *work, a *Applied, x *RuleExplanation) string {
	switch {
	case !w.ready:
		return notAsked
	case a.Cause == weir.ByDeny:
		return "denied"
	case a.Cause != weir.ByLimits:
		return "refused"
	case w.quota == nil && a.Missing != "":
		return "skipped"
	case w.quota == nil:
		return "unlimited"
	case len(x.Limits) == 0:
		return notAsked
	}
	for i := range x.Limits {
		if !x.Limits[i].Allowed {
			return "refused"
		}
	}
	return "allowed"
}

// fit says by what a request matches a rule.
func (r *rule) fit(c *call) string {
	q := c.found.Request
	for _, p := range r.patterns {
		if p.Fits(q.Method, q.Host, &c.path) {
			return fmt.Sprintf("the request fits %s", p)
		}
	}
	return "it applies to every request"
}

// KeyHash is the part of a key's hash that logs and explanations show: enough to
// tell callers apart, and too little to be one of them.
func KeyHash(k weir.Key) string { return hex.EncodeToString(k[:4]) }
