package weir

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// Reservation is what Reserve has charged for work whose cost is not known yet. It is
// spent once, by Settle or by Cancel; what comes later does nothing. A nil
// *Reservation is that of a call that was refused: its methods do nothing. It is safe
// for concurrent use.
type Reservation struct {
	store    Store
	charge   Outcome // what was taken; nobody touches it but who spends
	estimate int64
	spent    atomic.Bool
	done     atomic.Bool // the work: somebody has tried to settle it
}

// Reserve is Take for work whose cost is known when it is done: an estimate of 1 or
// more is charged at once, and Settle makes the actual cost of it.
//
//	r, err := limiter.Reserve(ctx, &o, 500, user)
//	if err != nil || !o.Allowed {
//		…
//	}
//	defer r.Cancel(ctx) // where the work is not done, and Settle is not reached
//	…
//	forgiven, err := r.Settle(ctx, tokens)
//
// A refusal is no error: o says so, and the Reservation is nil. What is charged
// belongs to the Reservation, so that a Refund of o does nothing. An estimate above
// the capacity of a limit never passes; a cost above it may be settled. Under a leaky
// bucket wait for o.Delay before the work, or Cancel. Slots of
// concurrency limits are kept until then ([Reservation.Slots]). Errors are those of
// Take.
func (l *Limiter) Reserve(ctx context.Context, o *Outcome, estimate int64, parts ...Part) (*Reservation, error) {
	if err := l.take(ctx, o, estimate, 0, parts); err != nil || !o.Allowed {
		return nil, err
	}
	r := &Reservation{store: l.store, estimate: estimate}
	r.charge.Takes, r.charge.Decisions = slices.Clone(o.Takes), slices.Clone(o.Decisions)
	o.spent = true
	l.Keep(&r.charge)
	return r, nil
}

// Slots are those that the reservation keeps; nil for none.
func (r *Reservation) Slots() *Slots {
	if r == nil {
		return nil
	}
	return r.charge.slots
}

// Settle makes the charge what the work has cost, 0 or more, and releases its slots.
// What the estimate was too high by is given back, as far as it has not flowed back by
// itself, and was not charged on a state shared for want of room ([Overflow]). What it
// was too low by is charged, whatever is left, until the debt is the limit's overdraft;
// what does not fit under that is forgiven: of several limits, forgiven is the most that
// any of them lets go. Takes that come later wait until the debt is paid.
//
// The context may have ended: what was used was used. After an error that is
// [ErrNotApplied] the reservation stands, but for its slots, and may be settled again;
// after any other it is spent. A panic of the store is [ErrUnknown]. A cost below 0 is
// [ErrInvalid], and changes nothing.
func (r *Reservation) Settle(ctx context.Context, actual int64) (forgiven int64, err error) {
	switch {
	case r == nil:
		return 0, nil
	case actual < 0:
		return 0, Invalid("actual", actual, "a cost is not negative", "settle 0, or Cancel")
	}
	if err := checkCall(ctx, r.store); err != nil {
		return 0, err
	}
	if !r.spent.CompareAndSwap(false, true) {
		return 0, nil
	}
	r.done.Store(true)
	ctx = context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, r.Slots().Release(ctx)) }()
	forgiven, err = r.correct(ctx, actual)
	r.spent.Store(!errors.Is(err, ErrNotApplied))
	return forgiven, err
}

// correct makes the charge the actual cost.
func (r *Reservation) correct(ctx context.Context, actual int64) (forgiven int64, err error) {
	defer unpanic(&err)
	switch {
	case actual > r.estimate:
		return r.add(ctx, actual-r.estimate)
	case actual < r.estimate:
		return 0, r.giveBack(ctx, r.estimate-actual)
	}
	return 0, nil
}

// Cancel gives back all that was reserved, slots too: for work that was not done. Units
// that were charged on a state shared for want of room ([Overflow]) stay charged.
// Where a Settle was tried it was done: the estimate stays charged then, whatever came
// of the Settle. After an error that is [ErrNotApplied] it may be tried again; a panic
// of the store is [ErrUnknown]. The context may have ended.
func (r *Reservation) Cancel(ctx context.Context) error {
	if r == nil {
		return nil
	}
	if err := checkCall(ctx, r.store); err != nil {
		return err
	}
	if !r.spent.CompareAndSwap(false, true) {
		return nil
	}
	err := r.drop(context.WithoutCancel(ctx))
	r.spent.Store(!errors.Is(err, ErrNotApplied))
	return err
}

// drop gives everything back, or of work that was done the slots.
func (r *Reservation) drop(ctx context.Context) (err error) {
	if r.done.Load() {
		return r.Slots().Release(ctx)
	}
	defer unpanic(&err)
	return GiveBack(ctx, r.store, &r.charge)
}

// rates visits what was charged of rates.
func (r *Reservation) rates(visit func(t *Take, d *Decision)) {
	for i := range r.charge.Takes {
		t, d := &r.charge.Takes[i], &r.charge.Decisions[i]
		if t.Slot == (SlotID{}) && d.counted() {
			visit(t, d)
		}
	}
}

// counted reports whether units were charged: by a receipt, or on a state that is shared
// for want of room, where there is none.
func (d *Decision) counted() bool {
	return d.Receipt.Cost > 0 || d.Mode == Overflow && d.Granted > 0
}

// add charges what the estimate was too low by.
func (r *Reservation) add(ctx context.Context, units int64) (forgiven int64, err error) {
	var o Outcome
	r.rates(func(t *Take, _ *Decision) {
		o.Takes = append(o.Takes, Take{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Cost: units, How: Force})
	})
	if err := Decide(ctx, r.store, &o); err != nil {
		return 0, err
	}
	for _, d := range o.Decisions {
		forgiven = max(forgiven, units-d.Granted)
	}
	return forgiven, nil
}

// giveBack refunds what the estimate was too high by.
func (r *Reservation) giveBack(ctx context.Context, units int64) error {
	var returns []Return
	r.rates(func(t *Take, d *Decision) {
		if d.Receipt.Cost > 0 {
			returns = append(returns, Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Receipt: d.Receipt, Units: units})
		}
	})
	if len(returns) == 0 {
		return nil
	}
	_, err := r.store.Return(ctx, returns)
	return err
}
