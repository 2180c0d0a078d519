package policy

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/token"
)

// This file looks at refusals once more. A refusal costs nothing, and tells what
// refused: so anybody could have signatures computed, and keys looked up, as much
// as he likes. Against that stand the limits of blind rules, which no token and no
// secret has a say in: they are charged for what is presented in vain, and where
// they are used up they answer for all others. Whoever is let in, and then not served,
// has presented in vain as well what was in vain.

// blind reports a rule that decides alike whatever token or key is presented.
func (r *rule) blind() bool { return !r.needsToken && !r.secret }

// settle charges a refused request for what it presented in vain, and sees to it
// that nobody learns from a refusal which keys there are, once a blind rule
// refuses him.
func (c *call) settle(ctx context.Context) {
	o := c.outcome()
	switch {
	case o.Allowed:
		c.foresee()
		return
	case o.Cause == weir.ByFault, o.Cause == weir.ByRequest:
		return
	}
	limits := o.Cause == weir.ByLimits
	switch shown, vain := c.presented(); {
	case limits && c.blindRefuses():
		if shown {
			c.tellBlind()
		}
	case vain && !c.peek:
		c.askBlind(ctx, 0)
	case vain, shown && !limits:
		c.askBlind(ctx, c.lookEarly()) // who is told of a block is blocked, whatever he presented
	}
}

// foresee prepares the outcome of a request that is let in for what may come: it does
// not go on, gives its charge back, and is refused for a delay, or is not served.
func (c *call) foresee() {
	if c.outcome().Cause != weir.ByLimits {
		return
	}
	shown, vain := c.presented()
	if vain {
		c.keepCharges()
	}
	if shown && c.blindDelays() {
		c.keepUntold()
	}
}

// keepCharges leaves the limits that need no token charged, whatever becomes of the
// request: there is no receipt for what they were charged. A slot is no charge, and
// is free when the request is over.
func (c *call) keepCharges() {
	o := c.outcome()
	for i := range c.work {
		if c.work[i].rule.needsToken {
			continue
		}
		a := &c.found.Applied[i]
		for k := a.Take; k < a.Take+a.Takes; k++ {
			if !inFlight(o.Takes[k].Limit) {
				o.Decisions[k].Receipt = weir.Receipt{}
			}
		}
	}
}

// blindDelays reports whether a limit of a blind rule is among those that delay.
func (c *call) blindDelays() bool {
	return c.outcome().Delay > 0 && c.anyBlind(func(d *weir.Decision) bool { return d.Delay > 0 })
}

// keepUntold says that a refusal for a delay is to tell of blind rules alone, as
// tellBlind does.
func (c *call) keepUntold() {
	o := c.outcome()
	for i := range c.work {
		a := &c.found.Applied[i]
		for k := a.Take; k < a.Take+a.Takes && !c.work[i].rule.blind(); k++ {
			o.Untold |= 1 << k
		}
	}
}

// presented reports whether a secret was shown, and whether a token or a secret
// was in vain: one that does not verify, one that its table does not have. What is
// shown to a rule in shadow makes no difference to anybody.
func (c *call) presented() (shown, vain bool) {
	vain = c.token == tokenRefused && c.why != token.Missing
	for i := range c.work {
		if w := &c.work[i]; w.shown && !c.found.Applied[i].Shadow {
			shown, vain = true, vain || w.guessed
		}
	}
	return shown, vain
}

// blindRefuses reports whether a limit of a blind rule is among those that refuse.
func (c *call) blindRefuses() bool {
	return c.anyBlind(func(d *weir.Decision) bool { return !d.Allowed })
}

// anyBlind reports whether something holds of a limit of a blind rule that is not in
// shadow.
func (c *call) anyBlind(holds func(*weir.Decision) bool) bool {
	o := c.outcome()
	for i := range c.work {
		a := &c.found.Applied[i]
		if !c.work[i].rule.blind() || a.Shadow {
			continue
		}
		for k := a.Take; k < a.Take+a.Takes; k++ {
			if holds(&o.Decisions[k]) {
				return true
			}
		}
	}
	return false
}

// tellBlind leaves blind rules in a refusal, as if no others had been asked: what
// is told of those would be something else for a key that is right.
func (c *call) tellBlind() {
	o, n := c.outcome(), 0
	for i := range c.work {
		a := &c.found.Applied[i]
		from, to := a.Take, a.Take+a.Takes
		if !c.work[i].rule.blind() {
			to = from
		}
		a.Take, a.Takes = n, to-from
		copy(o.Takes[n:], o.Takes[from:to])
		n += copy(o.Decisions[n:], o.Decisions[from:to])
	}
	clear(o.Takes[n:])
	o.Takes, o.Decisions = o.Takes[:n], o.Decisions[:n]
	bind(o)
}

// bind finds which limit of a refusal decides, as weir.Decide does.
func bind(o *weir.Outcome) {
	o.Binding = -1
	for i := range o.Takes {
		d, most := &o.Decisions[i], o.Decision()
		switch {
		case o.Takes[i].Join != weir.All || d.Allowed:
		case o.Binding < 0, d.Never && !most.Never, d.Never == most.Never && d.RetryAfter > most.RetryAfter:
			o.Binding = i
		}
	}
	d := o.Decision()
	o.Never, o.RetryAfter = d.Never, d.RetryAfter
}

// askBlind asks the limits that need no token, and charges them unless it peeks.
// Those of blind rules decide: who is over one is refused by it, whatever has
// refused him before. The others are charged if there is room for it; one that has
// just refused has none.
func (c *call) askBlind(ctx context.Context, how weir.How) {
	c.resolveRest()
	o, v := c.outcome(), &c.vain
	v.Reset()
	c.addTakes(v, how, decides)
	deciding := len(v.Takes)
	c.addTakes(v, how, counts)
	c.addTakes(v, how, tries)
	switch {
	case c.decideIn(ctx, v) != nil: // the request is refused as it was
	case !v.Allowed:
		c.refuseBlind(deciding)
	case how == 0 && o.Cause == weir.ByLimits:
		c.askAgain(ctx)
	}
}

// say is what a rule that needs no token has to say when blind rules are asked.
type say uint8

const (
	decides say = iota // it is blind
	counts             // a secret has a say in it
	tries              // it is in shadow
)

func (c *call) sayOf(i int) say {
	switch {
	case c.found.Applied[i].Shadow:
		return tries
	case c.work[i].rule.secret:
		return counts
	}
	return decides
}

// addTakes adds the takes of the rules that have so much to say, or none of them
// where they are too many for one call: those in shadow come last.
func (c *call) addTakes(v *weir.Outcome, how weir.How, s say) {
	n := len(v.Takes)
	for i := range c.work {
		w := &c.work[i]
		if w.quota == nil || w.rule.needsToken || c.sayOf(i) != s {
			continue
		}
		t := c.take(i, how)
		if s != decides {
			t.Join = weir.Advise
		}
		v.Takes = appendTakes(v.Takes, c.limits(w.quota), t)
	}
	for i := range v.Takes[n:] { // of a request that is refused nobody would give slots back
		if t := &v.Takes[n+i]; inFlight(t.Limit) {
			t.How = weir.Peek
		}
	}
	if len(v.Takes) > weir.MaxTakes {
		clear(v.Takes[n:])
		v.Takes = v.Takes[:n]
	}
}

// resolveRest asks the rules that need no token and were not reached, since one
// before them refused. Whether they refuse as well makes no difference.
func (c *call) resolveRest() {
	o := c.outcome()
	cause, err, rule, refusal := o.Cause, o.Err, o.Rule, o.Refusal
	for i := range c.work {
		if w := &c.work[i]; !w.ready && withoutToken(w.rule) && !c.resolve(w, &c.found.Applied[i]) {
			o.Refuse(cause, err)
			o.Rule, o.Refusal = rule, refusal
		}
	}
}

// refuseBlind makes the outcome the refusal that blind rules gave: their takes are
// the first n.
func (c *call) refuseBlind(n int) {
	v := &c.vain
	clear(v.Takes[n:])
	v.Takes, v.Decisions = v.Takes[:n], v.Decisions[:n]
	n = 0
	for i := range c.work {
		a := &c.found.Applied[i]
		a.Take, a.Takes = n, 0
		if w := &c.work[i]; w.quota != nil && w.rule.blind() && !a.Shadow {
			a.Takes = len(c.limits(w.quota))
		}
		n += a.Takes
	}
	c.tell(v)
}

// askAgain finds how long the wait of a refusal is now that something was charged:
// the same request would have to fit under that as well.
func (c *call) askAgain(ctx context.Context) {
	o, v := c.outcome(), &c.vain
	v.Reset()
	v.Takes = append(v.Takes, o.Takes...)
	for i := range v.Takes {
		v.Takes[i].How, v.Takes[i].Slot = weir.Peek, weir.SlotID{}
	}
	if c.decideIn(ctx, v) == nil && !v.Allowed {
		c.tell(v)
	}
}

// tell makes the outcome say what another found. It copies, for the slices of an
// outcome are its owner's.
func (c *call) tell(v *weir.Outcome) {
	o := c.outcome()
	o.Reset()
	o.Takes, o.Decisions = append(o.Takes, v.Takes...), append(o.Decisions, v.Decisions...)
	o.Allowed, o.Cause, o.Err = v.Allowed, v.Cause, v.Err
	o.Binding, o.RetryAfter, o.Never, o.Delay, o.Stamp = v.Binding, v.RetryAfter, v.Never, v.Delay, v.Stamp
}
