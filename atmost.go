package weir

import (
	"context"
	"slices"
)

// TakeAtMost takes what fits of every limit, 1 unit at least and most, which is 1 or
// more, at most, for work that can be cut to measure: granted is how much that is, of
// all limits the same number, charged in one step. What was found stands in o, as after Take; a
// refusal says when one unit passes. Where nothing limits, most is granted.
//
// Under one rate it is exact. Under several, the store is asked for what fitted all
// of them when it last refused, so that nobody else ever sees units taken that come
// back; where others take in the meantime it is asked again for less, three times,
// and then for one unit. Where one of them has a block, what fits is looked for first:
// to ask for more would be a refusal. Slots of concurrency limits are one each, whatever is
// granted. Errors are those of Take.
func (l *Limiter) TakeAtMost(ctx context.Context, o *Outcome, most int64, parts ...Part) (granted int64, err error) {
	n, how := most, How(0)
	switch rates, least := l.rates(); {
	case rates == 1:
		how = Partial
	case rates > 1:
		n = min(most, least)        // no more can ever fit
		if l.blocks() && most > 0 { // what is less is an error below
			if err := l.take(ctx, o, 0, Peek, parts); err != nil {
				return 0, err
			}
			n = max(1, min(n, o.fits()))
		}
	}
	for range attempts {
		err := l.take(ctx, o, n, how, parts)
		if err != nil || o.Allowed || n == 1 || how == Partial || o.Cause != ByLimits {
			return o.granted(n), err
		}
		n = max(1, min(n, o.fits()))
	}
	err = l.take(ctx, o, 1, 0, parts)
	return o.granted(1), err
}

// attempts is how often TakeAtMost asks for what fits, under several limits: once
// for all, once for what the refusal of that says, and twice more where others were
// faster.
const attempts = 4

// blocks reports whether a refusal has a penalty.
func (l *Limiter) blocks() bool {
	return slices.ContainsFunc(l.limits, func(limit *Limit) bool { return limit.penalty != nil })
}

// rates is how many limits count units, and the least of their capacities.
func (l *Limiter) rates() (n int, least int64) {
	for _, limit := range l.limits {
		if limit.slotted() {
			continue
		}
		if n++; n == 1 || limit.Capacity() < least {
			least = limit.Capacity()
		}
	}
	return n, least
}

// fits is how many units of every rate were left when a call was refused, and 0 where
// a slot was not to be had.
func (o *Outcome) fits() int64 {
	n, first := int64(0), true
	for i := range o.Takes {
		d := &o.Decisions[i]
		switch slot := o.Takes[i].Limit.slotted(); {
		case slot && !d.Allowed:
			return 0
		case slot:
		case first:
			n, first = d.Remaining, false
		default:
			n = min(n, d.Remaining)
		}
	}
	return n
}

// granted is how many of n units a call was granted: all of them, but for a Partial
// one.
func (o *Outcome) granted(n int64) int64 {
	if o == nil || !o.Allowed {
		return 0
	}
	for i := range o.Takes {
		if !o.Takes[i].Limit.slotted() {
			return o.Decisions[i].Granted
		}
	}
	return n
}
