package weir

import (
	"context"
	"errors"
	"slices"
)

// Decide asks the store for the takes that stand in o, fills in the rest of o
// and, where a calendar's edges were stale, asks once more with fresh ones. It
// is what every verb of a Limiter and every Decider goes through. An outcome
// without takes passes, ByNothing.
//
// An error means that nothing was decided. The takes then still stand in o,
// which is refused: ByRequest when the error is [ErrInvalid], else ByFault.
func Decide(ctx context.Context, store Store, o *Outcome) error {
	if o == nil {
		return errNoOutcome()
	}
	o.begin()
	if err := checkCall(ctx, store); err != nil {
		return o.fault(err)
	}
	if len(o.Takes) == 0 {
		o.Pass()
		return nil
	}
	if len(o.Takes) > MaxTakes {
		return o.fault(errTooMany(len(o.Takes)))
	}
	o.Decisions = slices.Grow(o.Decisions, len(o.Takes))[:len(o.Takes)]
	allowed, stamp, err := ask(ctx, store, o.Takes, o.Decisions)
	o.Stamp = stamp
	if err != nil {
		return o.fault(err)
	}
	o.conclude(allowed)
	return nil
}

// ask asks the store, and once more where a calendar's edges were stale.
func ask(ctx context.Context, store Store, takes []Take, out []Decision) (allowed bool, stamp Stamp, err error) {
	clear(out)
	complete(takes)
	allowed, stamp, err = store.Take(ctx, takes, out)
	if err != nil && errors.Is(err, ErrStale) {
		refreshEdges(takes, stamp.Now)
		allowed, stamp, err = store.Take(ctx, takes, out)
	}
	return allowed, stamp, err
}

// GiveBack refunds all charges of o in the store that decided it, and releases its
// slots, once: a second call does nothing. After an error that is [ErrNotApplied]
// nothing was given back and it may be tried again; after any other it counts as
// done.
func GiveBack(ctx context.Context, store Store, o *Outcome) error {
	if o == nil {
		return errNoOutcome()
	}
	if err := checkCall(ctx, store); err != nil {
		return err
	}
	if o.spent {
		return nil
	}
	slots := o.letGo()
	o.returns = o.returns[:0]
	for i := range min(len(o.Takes), len(o.Decisions)) {
		t, r := &o.Takes[i], o.Decisions[i].Receipt
		switch slot := t.Slot != (SlotID{}); {
		case r.Cost == 0, slot && !slots:
		case slot:
			o.returns = append(o.returns, Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Slot: t.Slot})
		default:
			o.returns = append(o.returns, Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Receipt: r, Units: r.Cost})
		}
	}
	if len(o.returns) == 0 {
		return nil
	}
	_, err := store.Return(ctx, o.returns)
	if o.spent = !errors.Is(err, ErrNotApplied); !o.spent && slots {
		o.holdOn()
	}
	return err
}

// checkCall refuses what no store could be asked with.
func checkCall(ctx context.Context, store Store) error {
	switch {
	case store == nil:
		return errNoStore()
	case ctx == nil:
		return Invalid("context", "nil", "a call needs one", "use context.Background() where there is none")
	}
	return nil
}

func errNoOutcome() error {
	return Invalid("outcome", "nil", "the answer needs a place", "hand in new(weir.Outcome)")
}
