package httplimit

import (
	"context"

	"github.com/weirhq/weir"
)

// consulted is the engine that leaves it to a weir.Decider.
type consulted struct{ decider weir.Decider }

func (d consulted) decide(ctx context.Context, c *call, o *weir.Outcome, shadow bool) {
	defer func() {
		if v := recover(); v != nil {
			err := newPanicError("decider", v, weir.ErrUnknown)
			_ = d.giveBack(context.WithoutCancel(ctx), o) // the panic is the news; what a store kept, time gives back
			o.Fail(weir.Closed, err)
		}
		if shadow {
			advise(o)
		}
	}()
	d.decider.Decide(ctx, c.plainRequest(), o)
}

func (d consulted) giveBack(ctx context.Context, o *weir.Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("decider", v, weir.ErrUnknown)
		}
	}()
	return d.decider.GiveBack(ctx, o)
}

func (d consulted) keep(o *weir.Outcome) *weir.Slots { return d.decider.Keep(o) }

// advise makes of an outcome what it would be if all its limits only advised.
func advise(o *weir.Outcome) {
	for i := range o.Takes {
		if o.Takes[i].Join == weir.All {
			o.Takes[i].Join = weir.Advise
		}
	}
	o.Allowed, o.Binding, o.RetryAfter, o.Never, o.Delay = true, -1, 0, false, 0
}
