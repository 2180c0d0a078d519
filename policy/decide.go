package policy

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/policy/internal/match"
)

// decide is the way of a request. Each step either ends it, and then reports
// false, or leaves it to the next.
func (c *call) decide(ctx context.Context) {
	if c.switchedOn() && c.readMethod() && c.readPath() && c.findCaller() && c.notExempt() &&
		c.findRules() && c.readOnce() && c.askEarly(ctx) && c.resolveAll(everyRule) {
		c.ask(ctx)
	}
	c.settle(ctx)
	c.conclude()
}

// pass ends a request that no limit applies to.
func (c *call) pass(why Reason) (goOn bool) {
	c.outcome().Pass()
	c.found.Reason = why
	return false
}

func (c *call) switchedOn() bool {
	return c.found.Enforce != Off || c.pass(ReasonOff)
}

// readPath finds the canonical path. One that can be read in two ways is refused
// before anything is matched by it.
func (c *call) readPath() bool {
	p := c.found.Policy
	ambiguity := c.path.Parse(c.found.Request.Path, p.path)
	if ambiguity == match.None || c.shadow() {
		return true
	}
	return c.bad(weir.Invalid("path", "", "it can be read in two ways ("+ambiguity.String()+")", "send it in its plain form"))
}

// bad refuses a request that cannot be judged as it stands.
func (c *call) bad(err error) (goOn bool) {
	c.outcome().Refuse(weir.ByRequest, err)
	return false
}

// findCaller finds whose address the request is counted under.
func (c *call) findCaller() bool {
	c.resolveCaller()
	return c.found.Caller.Addr.IsValid() || c.shadow() || c.bad(noAddress())
}

func (c *call) resolveCaller() {
	r := c.found.Request
	if r.Addr.IsValid() {
		c.found.Caller = clientip.Answer{Addr: r.Addr.Unmap(), Sure: !r.AddrUnsure}
		return
	}
	c.found.Caller = c.found.Policy.resolver.Resolve(r.RemoteAddr, r.Header)
}

// notExempt looks for an exemption. A caller who is not known for sure has none.
func (c *call) notExempt() bool {
	if !c.found.Caller.Sure {
		return true
	}
	for _, e := range c.found.Policy.exempt {
		if fits(e.patterns, c) && e.hold(c) {
			c.exempt = e
			return c.pass(ReasonExempt)
		}
	}
	return true
}

// findRules finds the rules that the request matches.
func (c *call) findRules() bool {
	p, r := c.found.Policy, c.found.Request
	c.matched = p.set.Match(r.Method, r.Host, &c.path, c.matched[:0])
	for _, i := range c.matched {
		l := p.rules[i]
		if !l.hold(c) {
			continue
		}
		c.work = append(c.work, work{rule: l})
		c.found.Applied = append(c.found.Applied, Applied{Rule: &l.RuleInfo, Shadow: l.Shadow || c.shadow()})
	}
	return len(c.work) > 0 || c.pass(ReasonUnmatched)
}

// askEarly asks the limits that need no token first, and charges nothing: who is
// over one of them is refused before a signature is computed for him.
func (c *call) askEarly(ctx context.Context) bool {
	if !c.awaitsToken() || c.shadow() {
		return true
	}
	if !c.resolveAll(withoutToken) {
		return false
	}
	o := c.outcome()
	if err := c.put(ctx, c.lookEarly()); err != nil {
		if choice, _ := c.choice(); choice == weir.Closed {
			return c.fault(ctx, err)
		}
		o.Reset() // whoever lets faults pass meets this one again with the others
		return true
	}
	if !o.Allowed {
		return false
	}
	o.Reset()
	return true
}

// everyRule and withoutToken choose rules to be resolved.
func everyRule(*rule) bool      { return true }
func withoutToken(r *rule) bool { return !r.needsToken }

// awaitsToken reports whether a token would have to be verified.
func (c *call) awaitsToken() bool {
	needs := false
	for i := range c.work {
		needs = needs || c.work[i].rule.needsToken
	}
	if !needs {
		return false
	}
	_, ok := c.tokenText()
	return ok
}

// resolveAll asks the chosen rules that have not been asked yet.
func (c *call) resolveAll(chosen func(*rule) bool) bool {
	for i := range c.work {
		if w := &c.work[i]; !w.ready && chosen(w.rule) && !c.resolve(w, &c.found.Applied[i]) {
			return false
		}
	}
	return true
}

// takes writes the takes of all rules that have been resolved, in their order.
// Those that may refuse come as All, the others as Advise; a peek asks only the
// former.
func (c *call) takes(how weir.How) {
	o := c.outcome()
	o.Reset()
	for i := range c.work {
		w, a := &c.work[i], &c.found.Applied[i]
		a.Takes = 0
		if w.quota == nil || how&weir.Peek != 0 && !c.peek && a.Shadow {
			continue
		}
		limits := c.limits(w.quota)
		a.Take, a.Takes = len(o.Takes), len(limits)
		o.Takes = appendTakes(o.Takes, limits, c.take(i, how))
	}
}

// take is what a matching rule asks of each of its limits.
func (c *call) take(i int, how weir.How) weir.Take {
	w := &c.work[i]
	t := weir.Take{Key: w.key, Tag: w.tag, Cost: w.rule.cost, How: how}
	if c.found.Request.Cost > 0 {
		t.Cost = c.found.Request.Cost
	}
	if c.found.Applied[i].Shadow {
		t.Join = weir.Advise
	}
	return t
}

// limits are those of a quota that this surface can keep to.
func (c *call) limits(q *quota) []*weir.Limit {
	if c.slotless {
		return q.rates
	}
	return q.limits
}

// appendTakes appends a take under each limit.
func appendTakes(list []weir.Take, limits []*weir.Limit, t weir.Take) []weir.Take {
	for _, t.Limit = range limits {
		list = append(list, t)
	}
	return list
}

// ask decides all limits in one call of the store, and charges them.
func (c *call) ask(ctx context.Context) {
	how := weir.How(0)
	if c.peek {
		how = weir.Peek
	}
	if err := c.put(ctx, how); err != nil {
		c.fault(ctx, err)
	}
}

// put asks the store for the takes of all rules that have been resolved. Of more
// limits than one call may hold, those of rules that only advise are left out.
func (c *call) put(ctx context.Context, how weir.How) error {
	o := c.outcome()
	c.takes(how)
	if len(o.Takes) > weir.MaxTakes {
		err := weir.Invalid("limits", len(o.Takes), "too many apply to this request", "at most 16: see weir check")
		for i := range c.work {
			if c.found.Applied[i].Shadow && c.work[i].quota != nil {
				c.leaveOut(i)
			}
		}
		if c.takes(how); len(o.Takes) > weir.MaxTakes {
			return err
		}
		c.note(err)
	}
	return c.store(ctx)
}

// store asks the store for the takes of the outcome.
func (c *call) store(ctx context.Context) error { return c.decideIn(ctx, c.outcome()) }

// decideIn asks the store for the takes of an outcome.
func (c *call) decideIn(ctx context.Context, o *weir.Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("store", v, weir.ErrUnknown)
		}
	}()
	return weir.Decide(ctx, c.engine.store, o)
}

// refuse makes the outcome a refusal by a rule, unless that rule may not refuse.
func (c *call) refuse(r *rule, a *Applied, cause weir.Cause, err error) (goOn bool) {
	a.Cause = cause
	if a.Shadow {
		return true
	}
	o := c.outcome()
	o.Refuse(cause, err)
	o.Rule, o.Refusal = r.Name, r.refusal
	return false
}

// failed applies what a rule chose for faults, and reports whether the other
// rules decide.
func (c *call) failed(r *rule, a *Applied, err error) (goOn bool) {
	a.Cause = weir.ByFault
	if r.onFault == weir.Closed && !a.Shadow {
		c.outcome().Fail(weir.Closed, err)
		c.outcome().Rule = r.Name
		return false
	}
	c.note(err)
	return true
}

// note remembers the first fault that is let pass.
func (c *call) note(err error) {
	if c.passed == nil {
		c.passed = err
	}
}

// fault decides what a failure of the store means. A state that cannot be read
// concerns its own rule: where that lets faults pass, the others are asked once
// more without it.
func (c *call) fault(ctx context.Context, err error) (goOn bool) {
	for err != nil {
		i := c.owner(err)
		if i < 0 || c.refuses(i) {
			break
		}
		c.note(err)
		c.leaveOut(i)
		how := c.outcome().Takes[0].How
		c.takes(how)
		err = c.store(ctx)
	}
	if err == nil {
		return c.outcome().Allowed
	}
	o := c.outcome()
	choice, rule := c.choice()
	o.Fail(choice, err)
	o.Rule = rule
	return false
}

// leaveOut takes a rule out of what is asked.
func (c *call) leaveOut(i int) {
	c.work[i].quota = nil
	c.found.Applied[i].Takes, c.found.Applied[i].Cause = 0, weir.ByFault
}

// owner is the rule whose state an error is about, -1 for none.
func (c *call) owner(err error) int {
	var state *weir.StateError
	if !errors.As(err, &state) {
		return -1
	}
	for i := range c.found.Applied {
		if a := &c.found.Applied[i]; state.Take >= a.Take && state.Take < a.Take+a.Takes {
			return i
		}
	}
	return -1
}

// refuses reports whether a fault of a matching rule refuses the request.
func (c *call) refuses(i int) bool {
	return c.work[i].rule.onFault == weir.Closed && !c.found.Applied[i].Shadow
}

// choice is what a failure of the store means for all rules that asked it, and
// the rule that says so.
func (c *call) choice() (weir.Mode, string) {
	for i := range c.work {
		if c.work[i].quota != nil && c.refuses(i) {
			return weir.Closed, c.work[i].rule.Name
		}
	}
	return weir.Open, ""
}

// conclude says what the outcome came to.
func (c *call) conclude() {
	o := c.outcome()
	if len(o.Takes) == 0 {
		for i := range c.found.Applied {
			c.found.Applied[i].Takes = 0
		}
	}
	switch o.Cause {
	case weir.ByLimits:
		c.found.Reason = ReasonLimits
		c.concludeLimits()
	case weir.ByDeny:
		c.found.Reason = ReasonDeny
	case weir.ByFault:
		c.found.Reason = ReasonFault
	case weir.ByMissing:
		c.found.Reason = ReasonMissing
	case weir.ByRequest:
		c.found.Reason = ReasonRequest
	case weir.ByNothing:
		if c.found.Reason == ReasonLimits {
			c.found.Reason = ReasonUnlimited
		}
	}
}

// concludeLimits names the rule that decided. A fault that was let pass is part
// of the outcome, and so is what a caller would be told who cannot be kept waiting.
func (c *call) concludeLimits() {
	o := c.outcome()
	if o.Err == nil {
		o.Err = c.passed
	}
	for i := range c.found.Applied {
		a := &c.found.Applied[i]
		if o.Binding >= a.Take && o.Binding < a.Take+a.Takes {
			o.Rule = a.Rule.Name
			if !o.Allowed {
				o.Refusal = c.work[i].rule.refusal
			}
		}
		if o.Delay > 0 && !a.Shadow && c.delays(a, c.toldDelay()) {
			o.Refusal = c.work[i].rule.refusal
		}
	}
}

// toldDelay is the longest delay that a refusal would tell.
func (c *call) toldDelay() (longest weir.Micros) {
	o := c.outcome()
	for i := range o.Takes {
		if o.Takes[i].Join == weir.All && o.Untold&(1<<i) == 0 {
			longest = max(longest, o.Decisions[i].Delay)
		}
	}
	return longest
}

// delays reports whether it is a rule that tells of such a delay.
func (c *call) delays(a *Applied, delay weir.Micros) bool {
	o := c.outcome()
	for i := a.Take; i < a.Take+a.Takes; i++ {
		if o.Decisions[i].Delay == delay && o.Untold&(1<<i) == 0 {
			return true
		}
	}
	return false
}
