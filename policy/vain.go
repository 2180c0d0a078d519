package policy

import (
	"context"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/token"
)

// This file charges what is refused. A refusal costs nothing; a guess, and a
// signature that was computed for nothing, must cost something.

// countVain charges a request that a limit refuses, and whose token was verified
// in vain, under the limits that were asked early: as countBogus does. The limit
// that a token's rule has for those without one refuses it for nothing.
func (c *call) countVain(ctx context.Context) {
	o := c.outcome()
	if o.Cause != weir.ByLimits || o.Allowed || c.peek || c.token != tokenRefused || c.why == token.Missing {
		return
	}
	c.vain.Reset()
	for i := range c.work {
		w, a := &c.work[i], &c.found.Applied[i]
		if w.quota == nil || a.Shadow || w.rule.needsToken || a.Take >= len(o.Takes) {
			continue
		}
		c.vain.Takes = append(c.vain.Takes, o.Takes[a.Take:a.Take+a.Takes]...)
	}
	_ = c.decideIn(ctx, &c.vain) // the request is refused whatever comes of it
}

// countBogus charges a request that is refused for what it brought in vain: a
// token that does not verify, a key that no table has. A refusal costs nothing,
// so that anybody could otherwise guess keys, or make us compute signatures, as
// much as he likes. The limits of the chosen rules are charged, and who is over
// one of them is refused by it.
func (c *call) countBogus(ctx context.Context, chosen func(*rule) bool) {
	o := c.outcome()
	badToken := c.token == tokenRefused && c.why != token.Missing && (o.Cause == weir.ByMissing || o.Cause == weir.ByDeny)
	badKey := c.guessed && o.Cause == weir.ByDeny
	if !badToken && !badKey || c.peek {
		return
	}
	cause, err, rule, refusal := o.Cause, o.Err, o.Rule, o.Refusal
	for i := range c.work {
		if w := &c.work[i]; !w.ready && chosen(w.rule) {
			c.resolve(w, &c.found.Applied[i]) // whether it refuses as well makes no difference
		}
	}
	c.takes(0)
	if len(o.Takes) == 0 || len(o.Takes) > weir.MaxTakes || c.store(ctx) != nil || o.Allowed {
		o.Refuse(cause, err)
		o.Rule, o.Refusal = rule, refusal
	}
}
