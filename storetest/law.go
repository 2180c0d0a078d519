package storetest

import (
	"math/big"
	"time"

	"github.com/weirhq/weir"
)

// A law is what one limit says about states, read from nothing but its Spec.
// It shares no arithmetic with package algorithm: levels are rational numbers of
// units, and whatever can be found by looking for it is found that way.
type law interface {
	// capacity is the largest cost that can pass at all.
	capacity() int64

	// fits reports whether need units, at most the capacity, would pass at an
	// instant if nothing happened to the state until then.
	fits(s state, at weir.Micros, need int64) bool

	// wait is how long after an instant fits first holds.
	wait(s state, at weir.Micros, need int64) weir.Micros

	// left is how many units would pass, never negative.
	left(s state, at weir.Micros) int64

	// reset is how long after an instant nothing is charged any more.
	reset(s state, at weir.Micros) weir.Micros

	// touch is what the first take that is no peek makes of a state that was
	// written under other numbers.
	touch(s state, m moment) state

	// charge adds units that fit.
	charge(s state, m moment, units int64) (state, weir.Receipt)

	// force adds units as far as the overdraft reaches.
	force(s state, m moment, units int64) (state, weir.Receipt)

	// refund takes units of a charge back.
	refund(s state, at weir.Micros, r weir.Receipt, units int64) state
}

// delayOf is how long a take that passes is held.
func delayOf(l law, s state, at weir.Micros) weir.Micros {
	if q, ok := l.(queueLaw); ok {
		return q.delay(s, at)
	}
	return 0
}

// A state is what is known of one key under one name: a bucket, windows, a log,
// leases, or nil for nothing. States are values and never change.
type state interface {
	// same reports whether two states say the same.
	same(other state) bool
}

// A moment is an instant and the window that it lies in; buckets have none.
type moment struct{ now, start, end weir.Micros }

// An address is where a state lives: the limit's identity and the key.
type address struct {
	limit [16]byte
	key   weir.Key
}

// lawOf reads the numbers of a limit; nil for one that has no states.
func lawOf(l *weir.Limit) law {
	s := l.Spec()
	switch s.Algorithm {
	case weir.TokenBucket:
		return bucketLawOf(s)
	case weir.FixedWindow:
		return windowLaw{limit: s.Count, overdraft: orTwice(s.Overdraft, s.Count, mostCounted())}
	case weir.SlidingWindow:
		return slidingLawOf(s)
	case weir.LeakyBucket:
		return queueLawOf(s)
	case weir.SlidingLog:
		return logLawOf(s)
	case weir.Concurrency:
		return slotLawOf(s)
	default:
		return nil
	}
}

// mostCounted is the most that a window may count: exact in a double.
func mostCounted() *big.Int { return big.NewInt(1<<52 - 1) }

// orTwice is the overdraft as it was given, or else twice the capacity, or the
// most that can be accepted where that is less.
func orTwice(overdraft, capacity int64, most *big.Int) int64 {
	if overdraft != 0 {
		return overdraft
	}
	twice := new(big.Int).Mul(big.NewInt(2), big.NewInt(capacity))
	if twice.Cmp(most) > 0 {
		twice = most
	}
	return twice.Int64()
}

// momentOf places an instant in a take's windows. It reports false where the
// take's edges do not contain it.
//
// Windows of a plain limit begin at the epoch and follow each other without a
// gap. Those of a spread limit are shifted by the last 8 bytes of the key, read
// as a little-endian number, modulo the period. Those of a calendar come with
// the take, three of them between four edges.
func momentOf(now weir.Micros, t weir.Take) (moment, bool) {
	s := t.Limit.Spec()
	switch {
	case s.Algorithm != weir.FixedWindow && s.Algorithm != weir.SlidingWindow:
		return moment{now: now}, true
	case s.Zone != "":
		return calendarMoment(now, t.Edges)
	}
	period, shift := int64(s.Period/time.Microsecond), int64(0)
	if s.Spread {
		shift = shiftOf(t.Key, period)
	}
	into := new(big.Int).Mod(big.NewInt(int64(now)-shift), big.NewInt(period)).Int64() // never negative
	start := now - weir.Micros(into)
	return moment{now: now, start: start, end: start + weir.Micros(period)}, true
}

func calendarMoment(now weir.Micros, edges *weir.Edges) (moment, bool) {
	if edges == nil {
		return moment{}, false
	}
	for i := range len(edges) - 1 {
		if edges[i] <= now && now < edges[i+1] {
			return moment{now: now, start: edges[i], end: edges[i+1]}, true
		}
	}
	return moment{}, false
}

// shiftOf is where a key's spread windows begin.
func shiftOf(k weir.Key, period int64) int64 {
	n := new(big.Int)
	for i := len(k) - 1; i >= 8; i-- { // the last byte weighs most
		n.Lsh(n, 8).Add(n, big.NewInt(int64(k[i])))
	}
	return n.Mod(n, big.NewInt(period)).Int64()
}

// earliest gives the first span at which ok holds, which then holds for ever.
// The guess only saves time: the answer is looked for, not computed.
func earliest(guess weir.Micros, ok func(weir.Micros) bool) weir.Micros {
	if ok(0) {
		return 0
	}
	no, yes := weir.Micros(0), max(guess, 1)
	if guess > 1 && !ok(guess-1) {
		no = guess - 1
	}
	for step := weir.Micros(1); !ok(yes); step *= 2 {
		no, yes = yes, yes+step
	}
	for yes-no > 1 {
		if middle := no + (yes-no)/2; ok(middle) {
			yes = middle
		} else {
			no = middle
		}
	}
	return yes
}
