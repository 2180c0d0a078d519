package weir

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/duration"
)

// WaitError says why Wait did not wait: what it was asked for passes never, or not
// before the context's deadline.
type WaitError struct {
	// Limit is the one that has no room for the longest; nil where a limit of deny
	// refuses.
	Limit *Limit

	// Wait is how long it would have taken, without other traffic; 0 for never.
	Wait time.Duration

	cost int64
	err  error // context.DeadlineExceeded, where that is why
}

// Error names the limit and the time that would be needed, where there are such.
func (e *WaitError) Error() string {
	switch {
	case e.Limit == nil:
		return "weir: a limit of deny lets nothing pass"
	case e.err == nil:
		return fmt.Sprintf("weir: cost %d: limit %s (%s) never has room for more than %d", e.cost, e.Limit.Name(), e.Limit, e.Limit.Capacity())
	}
	return fmt.Sprintf("weir: limit %s (%s) has room in %s, which is behind the deadline: %v", e.Limit.Name(), e.Limit, duration.Format(e.Wait), e.err)
}

// Unwrap gives [context.DeadlineExceeded] where the deadline is why, and else nil.
func (e *WaitError) Unwrap() error { return e.err }

// Wait takes cost units, 1 or more, of every limit as soon as all of them have room,
// all or none, and returns nil then: at once, or after it has slept for as long as
// refusals and leaky buckets say. What was found at last stands in o.
//
// What can never pass, and what would pass after the context's deadline alone, is a
// [*WaitError] at once. Without a deadline it sleeps for as long as it takes: who is
// blocked, until the block ends. Where the context ends, what
// was charged is given back, and the error is its cause. A slot that is lost while a
// leaky bucket is waited for is [ErrLost], or what its last renewal failed with. Other
// errors are those of Take. After an error nothing is left charged, but where the store
// cannot say what it did ([ErrUnknown]), or fails to take it back.
//
// Who waits is not in a queue: of two who wait for one unit either may have it, and
// many who wait for the same ask again as often as one of them is let in. Under a
// leaky bucket there is a queue, and everybody sleeps once. A slot of a concurrency
// limit comes back when its holder is done, which nobody can tell: it is asked for
// again after ever longer pauses, up to a tenth of a second. It lasts for a lease, as
// after Take: [Limiter.Keep] renews it and gives the Slots to release.
//
// Under a limit with a block it looks before it takes, so that waiting blocks nobody:
// only who is overtaken between the two is refused.
//
// It sleeps on this process's clock.
func (l *Limiter) Wait(ctx context.Context, o *Outcome, cost int64, parts ...Part) error {
	if o != nil && ctx != nil && ctx.Err() != nil {
		o.Reset()
		return context.Cause(ctx)
	}
	for pause := leastPause; ; {
		may, err := l.look(ctx, o, cost, parts)
		if may {
			err = l.take(ctx, o, cost, 0, parts)
		}
		switch {
		case err != nil:
			return err
		case o.Allowed:
			return l.awaitTurn(ctx, o)
		case o.Never || o.Cause != ByLimits:
			return &WaitError{Limit: o.Limit(), cost: cost}
		}
		wait, most, by := o.pauses()
		if err := sleep(ctx, nap{wait: wait, least: pause, limit: by}); err != nil {
			return err
		}
		pause = min(2*pause, most)
	}
}

// look peeks where a refusal would begin a block: who waits for his turn has not been
// told no. It says whether a take may be tried, which elsewhere it always may.
func (l *Limiter) look(ctx context.Context, o *Outcome, cost int64, parts []Part) (may bool, err error) {
	if !l.blocks() || o == nil || cost < 1 {
		return true, nil
	}
	err = l.take(ctx, o, cost, Peek, parts)
	return err == nil && o.Allowed, err
}

// Between two questions lies at least a pause, whatever the store says: it doubles
// with each refusal in a row. The longest is short beside the granularity of timers
// for rates, whose refusals say exactly when to come back, and such that nobody
// notices it for slots.
const (
	leastPause    = time.Microsecond
	mostRatePause = time.Millisecond
	mostSlotPause = 100 * time.Millisecond
)

// pauses is how long a refused call has to wait for rates, for which of them the
// longest, and the longest pause between two questions. For slots alone there is
// nothing to wait for: 0.
func (o *Outcome) pauses() (wait, most time.Duration, by *Limit) {
	most = mostRatePause
	for i := range o.Decisions {
		d, limit := &o.Decisions[i], o.Takes[i].Limit
		switch needs := d.RetryAfter.Duration(); {
		case d.Allowed:
		case limit.slotted():
			most = mostSlotPause
		case needs > wait:
			wait, by = needs, limit
		}
	}
	return wait, most, by
}

// awaitTurn waits for as long as a leaky bucket says, or gives back what was taken.
func (l *Limiter) awaitTurn(ctx context.Context, o *Outcome) error {
	if o.Delay == 0 {
		return nil
	}
	slots := l.Keep(o) // a turn may be farther away than a lease is long
	err := sleep(ctx, nap{wait: o.Delay.Duration(), limit: o.delayed(), lost: slots.Lost()})
	if err == nil {
		err = slots.handOver(ctx)
	}
	if err != nil {
		_ = l.Refund(context.WithoutCancel(ctx), o) // what a store keeps, time gives back
		o.RefuseDelay()
		return err
	}
	o.slots = nil
	return nil
}

// handOver ends the keeping, with slots that last for a lease from here. Where one is
// lost, or may be before that, it is an error, and they are kept on.
func (s *Slots) handOver(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := s.Err(); err != nil {
		return err
	}
	if err := s.ask(ctx, s.renewals); err != nil {
		return err
	}
	s.letGo()
	return nil
}

// delayed is the limit that a call waits for.
func (o *Outcome) delayed() *Limit {
	for i := range o.Decisions {
		if o.Takes[i].Join == All && o.Decisions[i].Delay == o.Delay {
			return o.Takes[i].Limit
		}
	}
	return o.Limit()
}

// A nap is a pause in a Wait.
type nap struct {
	wait  time.Duration   // there is no room before; 0 where nobody can say
	least time.Duration   // the pause is no shorter
	limit *Limit          // that has no room for so long
	lost  <-chan struct{} // closed: there is nothing to wait for any more
}

// sleep waits until a nap is over, or what it was for is lost, unless the context's
// deadline comes before there can be room. Where nobody can say when that is, the
// context ends it and says why, be its deadline over already.
func sleep(ctx context.Context, n nap) error {
	if deadline, ok := ctx.Deadline(); ok && n.wait > 0 && time.Until(deadline) <= n.wait {
		return &WaitError{Limit: n.limit, Wait: n.wait, err: context.DeadlineExceeded}
	}
	timer := time.NewTimer(max(n.wait, n.least))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-n.lost:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
