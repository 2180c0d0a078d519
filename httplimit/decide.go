package httplimit

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir"
)

// An engine decides requests: the middleware's own rules, or a weir.Decider.
type engine interface {
	// decide judges and charges the request of c, filling in o, which is
	// empty. In shadow, o is allowed whatever was found.
	decide(ctx context.Context, c *call, o *weir.Outcome, shadow bool)
	giveBack(ctx context.Context, o *weir.Outcome) error
	keep(o *weir.Outcome) *weir.Slots
}

// rules is the engine of a Middleware's own rules.
type rules struct {
	store weir.Store
	keyer weir.Keyer
	list  []*rule
}

// decide collects the takes of all rules and asks the store once.
func (s *rules) decide(ctx context.Context, c *call, o *weir.Outcome, shadow bool) {
	for _, l := range s.list {
		if !s.join(l, c, o, shadow) {
			return
		}
	}
	err := s.ask(ctx, o)
	for err != nil && c.drop(o, err) {
		err = s.ask(ctx, o)
	}
	switch {
	case err != nil:
		choice, rule := c.choice(o)
		o.Fail(choice, err)
		o.Rule = rule
	case c.open && o.Allowed:
		o.Cause, o.Err = weir.ByFault, c.fault
	default:
		o.Err = c.fault
	}
}

// join adds the takes of a rule to o. It reports false when the rule refuses
// the request without asking the store; o says so then.
func (s *rules) join(l *rule, c *call, o *weir.Outcome, shadow bool) (goOn bool) {
	shadow = shadow || l.shadow
	defer func() {
		if v := recover(); v != nil {
			goOn = l.fail(c, o, newPanicError("rule "+l.name, v, weir.ErrNotApplied), shadow)
		}
	}()
	p := l.planOf(c.request)
	switch {
	case p.unlimited:
		return true
	case p.deny:
		return l.refuse(o, weir.ByDeny, nil, shadow)
	}
	applies, err := l.parts(c)
	if err != nil {
		return l.refuse(o, weir.ByMissing, err, shadow)
	}
	if !applies {
		return true
	}
	cost, err := l.price(c)
	if err != nil {
		return l.refuse(o, weir.ByRequest, err, shadow)
	}
	key, tag := s.keyer.Key(c.parts...)
	t := weir.Take{Key: key, Tag: tag, Cost: cost}
	if shadow {
		t.Join = weir.Advise
	}
	for _, t.Limit = range p.limits {
		o.Takes = append(o.Takes, t)
		c.owners = append(c.owners, l)
	}
	return true
}

// refuse makes o a refusal, unless in shadow.
func (l *rule) refuse(o *weir.Outcome, cause weir.Cause, err error, shadow bool) (goOn bool) {
	if !shadow {
		o.Refuse(cause, err)
		o.Rule = l.name
	}
	return shadow
}

// fail applies what the rule chose for faults, and reports whether the other
// rules decide.
func (l *rule) fail(c *call, o *weir.Outcome, err error, shadow bool) (goOn bool) {
	if l.closed && !shadow {
		o.Fail(weir.Closed, err)
		o.Rule = l.name
		return false
	}
	c.note(err, shadow)
	return true
}

// note remembers the first fault that is let pass.
func (c *call) note(err error, shadow bool) {
	if c.fault == nil {
		c.fault = err
	}
	c.open = c.open || !shadow
}

// parts collects the parts of the request's key. It reports false when the rule
// does not apply to a request without them.
func (l *rule) parts(c *call) (applies bool, err error) {
	clear(c.parts)
	c.parts = c.parts[:0]
	for i := range l.key {
		p, ok := l.key[i].part(c)
		if !ok {
			return l.without(c, i)
		}
		c.parts = append(c.parts, p)
	}
	return true, nil
}

// without is the key of a request that lacks part i.
func (l *rule) without(c *call, i int) (applies bool, err error) {
	switch {
	case l.key[i].kind == addressKind:
		return false, noAddress()
	case l.missing == Skip:
		return false, nil
	case l.missing == Reject:
		return false, l.absent[i]
	}
	p, ok := c.addressPart()
	if !ok {
		return false, noAddress()
	}
	clear(c.parts)
	c.parts = append(c.parts[:0], p) // alone, a key that no request with its parts has
	return true, nil
}

// price is how many units the request costs.
func (l *rule) price(c *call) (int64, error) {
	if l.cost == nil {
		return 1, nil
	}
	n, err := l.cost(c.request)
	switch {
	case err != nil:
		return 0, fmt.Errorf("httplimit: rule %s: cost: %w", l.name, err)
	case n < 1:
		return 0, weir.Invalid("cost", "", "a request costs at least 1 unit", "")
	}
	return n, nil
}

func (s *rules) giveBack(ctx context.Context, o *weir.Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("store", v, weir.ErrUnknown)
		}
	}()
	return weir.GiveBack(ctx, s.store, o)
}

func (s *rules) keep(o *weir.Outcome) *weir.Slots { return weir.Keep(s.store, o) }

// ask decides the takes of o in the store.
func (s *rules) ask(ctx context.Context, o *weir.Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("store", v, weir.ErrUnknown)
		}
	}()
	return weir.Decide(ctx, s.store, o)
}

// choice is what a failure of the store means for the takes of o, and the rule
// that refuses where it means that.
func (c *call) choice(o *weir.Outcome) (choice weir.Mode, rule string) {
	for i, l := range c.owners {
		if l.closed && o.Takes[i].Join == weir.All {
			return weir.Closed, l.name
		}
	}
	return weir.Open, ""
}

// drop leaves the rule out whose state cannot be read, if it lets faults pass,
// so that the other rules still decide. It reports whether there was one.
func (c *call) drop(o *weir.Outcome, err error) bool {
	var state *weir.StateError
	if !errors.As(err, &state) || state.Take < 0 || state.Take >= len(c.owners) {
		return false
	}
	l, shadow := c.owners[state.Take], o.Takes[state.Take].Join == weir.Advise
	if l.closed && !shadow {
		return false
	}
	c.note(err, shadow)
	kept := 0
	for i, owner := range c.owners {
		if owner != l {
			o.Takes[kept], c.owners[kept] = o.Takes[i], owner
			kept++
		}
	}
	o.Takes, c.owners = o.Takes[:kept], c.owners[:kept]
	return true
}
