package weir

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Limiter puts one or several limits on the same key, all or nothing. It is
// immutable and safe for concurrent use, and its methods allocate nothing when
// they are given an Outcome that has been used before.
type Limiter struct {
	store  Store
	keyer  Keyer
	limits []*Limit // without the unlimited ones
	deny   bool
}

// New joins limits with a store. The limits need different names; an unlimited
// one costs nothing, and one that denies refuses everything before the store is
// asked.
func New(store Store, limits ...*Limit) (*Limiter, error) {
	if store == nil {
		return nil, invalid("store", "nil", "a limiter needs a store", "make one with memstore.New")
	}
	l := &Limiter{store: store, keyer: store.Keyer()}
	names := map[string]bool{}
	for _, limit := range limits {
		switch {
		case limit == nil:
			return nil, invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
		case names[limit.name]:
			return nil, invalid("limit", limit.name, "two limits have this name and would share their states", "name them <rule>/<slot>")
		case limit.spec.Algorithm == Deny:
			l.deny = true
		case limit.spec.Algorithm != Unlimited:
			l.limits = append(l.limits, limit)
		}
		names[limit.name] = true
	}
	if len(l.limits) > MaxTakes {
		return nil, invalid("limits", len(l.limits), "too many for one call", fmt.Sprintf("at most %d", MaxTakes))
	}
	return l, nil
}

// Allow takes one unit and says whether it was granted. On an error nothing is
// known to be granted: the answer is false.
func (l *Limiter) Allow(ctx context.Context, parts ...Part) (bool, error) {
	o, _ := outcomes.Get().(*Outcome)
	defer outcomes.Put(o)
	err := l.Take(ctx, o, 1, parts...)
	return o.Allowed, err
}

// outcomes are kept for calls that need one for themselves.
var outcomes = sync.Pool{New: func() any { return new(Outcome) }}

// Take asks every limit for cost units of the key made of parts, and charges
// all of them or none. What was found stands in o, which must not be nil.
//
// An error means that nothing was decided; o is then refused.
func (l *Limiter) Take(ctx context.Context, o *Outcome, cost int64, parts ...Part) error {
	return l.take(ctx, o, cost, 0, parts)
}

// Peek says what Take would, and charges nothing. A cost of 0 asks for what is
// left.
func (l *Limiter) Peek(ctx context.Context, o *Outcome, cost int64, parts ...Part) error {
	return l.take(ctx, o, cost, Peek, parts)
}

func (l *Limiter) take(ctx context.Context, o *Outcome, cost int64, how How, parts []Part) error {
	o.Reset()
	key, tag := l.keyer.Key(parts...)
	for _, limit := range l.limits {
		o.Takes = append(o.Takes, Take{Limit: limit, Key: key, Tag: tag, Cost: cost, How: how})
	}
	if l.deny {
		o.Refuse(ByDeny, nil)
		return nil
	}
	return Decide(ctx, l.store, o)
}

// TakeAll decides takes whose limits and keys are the caller's own, at most
// MaxTakes of them, as one call; the limits of the Limiter play no part. Keys
// come from Key. Limits that are unlimited are left out of o; one that denies
// refuses the call.
func (l *Limiter) TakeAll(ctx context.Context, o *Outcome, takes ...Take) error {
	o.Reset()
	for i := range takes {
		switch {
		case takes[i].Limit == nil:
			return invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
		case takes[i].Limit.spec.Algorithm == Deny:
			o.Refuse(ByDeny, nil)
			return nil
		case takes[i].Limit.spec.Algorithm != Unlimited:
			o.Takes = append(o.Takes, takes[i])
		}
	}
	return Decide(ctx, l.store, o)
}

// Key makes the key and tag that a Take needs.
func (l *Limiter) Key(parts ...Part) (Key, uint64) { return l.keyer.Key(parts...) }

// Refund gives back all that o was charged: for work that was let in and then
// not done. It happens once, however often it is called. What has flowed back
// by itself is not given twice, so that a refund at once loses nothing and a
// late one may give nothing.
func (l *Limiter) Refund(ctx context.Context, o *Outcome) error {
	return GiveBack(ctx, l.store, o)
}

// Reset forgets what the key made of parts has used, under every limit.
func (l *Limiter) Reset(ctx context.Context, parts ...Part) error {
	key, _ := l.keyer.Key(parts...)
	var errs []error
	for _, limit := range l.limits {
		errs = append(errs, l.store.Reset(ctx, limit, key))
	}
	return errors.Join(errs...)
}

// Decide asks the store for the takes that stand in o, fills in the rest of o
// and, where a calendar's edges were stale, asks once more with fresh ones. It
// is what every verb of a Limiter and every Decider goes through. An outcome
// without takes passes, ByNothing.
func Decide(ctx context.Context, store Store, o *Outcome) error {
	if len(o.Takes) == 0 {
		o.Pass()
		return nil
	}
	o.Decisions = append(o.Decisions[:0], make([]Decision, len(o.Takes))...)
	for i := range o.Takes {
		t := &o.Takes[i]
		if t.Limit != nil && t.Limit.zone != nil && t.Edges == nil {
			t.Edges = t.Limit.edges.Load()
		}
	}
	allowed, stamp, err := store.Take(ctx, o.Takes, o.Decisions)
	if errors.Is(err, ErrStale) {
		o.refreshEdges(stamp.Now)
		allowed, stamp, err = store.Take(ctx, o.Takes, o.Decisions)
	}
	if err != nil {
		o.Allowed, o.Binding, o.Stamp = false, -1, stamp
		clear(o.Decisions)
		return err
	}
	o.conclude(allowed, stamp)
	return nil
}

// refreshEdges gives every calendar take edges around the store's time.
func (o *Outcome) refreshEdges(now Micros) {
	for i := range o.Takes {
		if l := o.Takes[i].Limit; l.zone != nil {
			o.Takes[i].Edges = l.refreshEdges(now)
		}
	}
}

// GiveBack refunds all charges of o in the store that decided it, once.
func GiveBack(ctx context.Context, store Store, o *Outcome) error {
	if o.spent {
		return nil
	}
	o.spent = true
	var back [MaxTakes]Return
	n := 0
	for i := range o.Decisions {
		if r := o.Decisions[i].Receipt; r.Cost > 0 && n < MaxTakes {
			t := &o.Takes[i]
			back[n] = Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Receipt: r, Units: r.Cost}
			n++
		}
	}
	if n == 0 {
		return nil
	}
	_, err := store.Return(ctx, back[:n])
	return err
}
