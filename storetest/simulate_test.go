package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// A simulation is a store whose calls are decided at known instants, each
// somewhere between its beginning and its end, so that many overlap.
type simulation struct {
	rng     *rand.Rand
	clock   *Clock
	store   *plain
	limits  []*weir.Limit
	paid    []weir.Return
	holders uint64
	lost    int // of a hundred answers
	history History
}

func simulate(seed uint64, lost, calls int, limits ...*weir.Limit) History {
	s := &simulation{rng: rand.New(rand.NewPCG(seed, 5)), clock: NewClock(began), limits: limits, lost: lost}
	s.store = newPlain(s.clock.Now, none)
	for range calls {
		s.clock.Advance(weir.Micros(s.rng.Int64N(5) * s.rng.Int64N(10)))
		s.step()
	}
	slices.SortStableFunc(s.history, func(a, b Operation) int { return cmp.Compare(a.Return, b.Return) })
	return s.history
}

func (s *simulation) step() {
	at := time.Duration(s.clock.Now()-began) * time.Microsecond
	op := Operation{Call: at - time.Duration(s.rng.Int64N(40_000)), Return: at + time.Duration(s.rng.Int64N(40_000))}
	ctx, n := context.Background(), len(s.paid)
	switch r := s.rng.IntN(20); {
	case r == 0:
		k, _ := key(s.rng.IntN(2))
		op.Reset = []weir.Return{{Limit: s.limits[0], Key: k}}
		op.Err = s.store.Reset(ctx, s.limits[0], k)
	case r < 4 && n > 0:
		op.Returns = s.paid[n-1:]
		s.paid = s.paid[: n-1 : n-1]
		op.Stamp, op.Err = s.store.Return(ctx, op.Returns)
	default:
		for range 1 + s.rng.IntN(2) {
			op.Takes = append(op.Takes, s.take())
		}
		op.Decisions = make([]weir.Decision, len(op.Takes))
		op.Allowed, op.Stamp, op.Err = s.store.Take(ctx, op.Takes, op.Decisions)
		for i, t := range op.Takes {
			if r := op.Decisions[i].Receipt; r.Cost > 0 && t.Slot != (weir.SlotID{}) {
				slot := weir.Return{Limit: t.Limit, Key: t.Key, Slot: t.Slot}
				renewal := slot
				renewal.Renew = true
				s.paid = append(s.paid, slot, renewal)
			} else if r.Cost > 0 {
				s.paid = append(s.paid, weir.Return{Limit: t.Limit, Key: t.Key, Receipt: r, Units: r.Cost})
			}
		}
	}
	if op.Err == nil && s.rng.IntN(100) < s.lost {
		op.Err, op.Decisions, op.Stamp = weir.ErrUnknown, nil, weir.Stamp{}
	}
	s.history = append(s.history, op)
}

func (s *simulation) take() weir.Take {
	k, tag := key(s.rng.IntN(2))
	t := weir.Take{Limit: s.limits[s.rng.IntN(len(s.limits))], Key: k, Tag: tag, Cost: 1 + s.rng.Int64N(3)}
	slots := t.Limit.Spec().Algorithm == weir.Concurrency
	if slots {
		s.holders += s.rng.Uint64N(3) // or the one that asked last once more
		t.Cost, t.Slot = 1, nameOf(s.holders+1)
	}
	switch n := s.rng.IntN(10); {
	case n == 0:
		t.How = weir.Peek
	case slots && n == 2:
		t.Join = weir.Advise
	case slots:
	case n == 1:
		t.How = weir.Force
	case n == 2:
		t.Join = weir.Alone
	case n == 3:
		t.How = weir.Always
	case n == 4:
		t.How = weir.Partial
	}
	return t
}

func simulated() []*weir.Limit {
	return []*weir.Limit{
		weir.MustLimit("bucket", "3 per 70us burst 4"),
		weir.MustLimit("fast", "1 per 5us burst 3"),
		weir.MustLimit("window", "3 per 100us fixed-window"),
		weir.MustLimit("spread", "3 per 50us fixed-window spread"),
		weir.MustLimit("sliding", "3 per 80us sliding-window"),
		weir.MustLimit("queue", "3 per 70us leaky-bucket wait 60us"),
		weir.MustLimit("short", "1 per 5us leaky-bucket queue 2"),
		weir.MustLimit("log", "3 per 80us sliding-log"),
		weir.MustLimit("slots", "2 concurrent lease 1ms"),
	}
}

// Neither checker raises an alarm on calls that were decided as they should be,
// wherever in its time each was, and whatever answers were lost.
func TestCheckersRaiseNoFalseAlarm(t *testing.T) {
	for _, lost := range []int{0, 2, 6} {
		for seed := range uint64(testSizes().rounds) {
			h := simulate(seed, lost, 150, simulated()...)
			if err := CheckLinearizable(h, true); err != nil {
				t.Fatalf("seed %d, %d %% lost: %v", seed, lost, err)
			}
			for _, l := range simulated() {
				check := CheckWindows
				if l.Spec().Algorithm == weir.Concurrency {
					check = CheckSlots
				}
				if err := check(h, l); err != nil {
					t.Fatalf("seed %d, %d %% lost: %v", seed, lost, err)
				}
			}
		}
	}
}

// One answer that is off by one is found.
func TestCheckLinearizableFindsOneWrongAnswer(t *testing.T) {
	found := 0
	f := func(seed uint64, change func(*Operation, *weir.Decision)) {
		t.Helper()
		h := simulate(seed, 0, 150, simulated()...)
		i := 75
		for len(h[i].Decisions) == 0 || h[i].Decisions[0].RetryAfter == 0 {
			i++
		}
		change(&h[i], &h[i].Decisions[0])
		if err := CheckLinearizable(h, true); err == nil {
			t.Errorf("seed %d: not found", seed)
		} else {
			found++
		}
	}
	for seed := range uint64(10) {
		f(seed, func(_ *Operation, d *weir.Decision) { d.Remaining++ })
		f(seed, func(_ *Operation, d *weir.Decision) { d.ResetAfter-- })
		f(seed, func(_ *Operation, d *weir.Decision) { d.RetryAfter-- })
		f(seed, func(op *Operation, _ *weir.Decision) { op.Stamp.Now += 100_000 })
		f(seed, func(op *Operation, _ *weir.Decision) { op.Stamp.Now = 1 })
		f(seed, func(op *Operation, _ *weir.Decision) { op.Allowed = !op.Allowed })
	}
	if found == 0 {
		t.Error("nothing was tried")
	}
}

// A script is a history made by hand: calls on one key, by their times in µs.
type script struct {
	limit *weir.Limit
	ops   History
}

func (s *script) op(call, end int64, now weir.Micros) *Operation {
	s.ops = append(s.ops, Operation{
		Call: time.Duration(call) * time.Microsecond, Return: time.Duration(end) * time.Microsecond, Stamp: weir.Stamp{Now: now},
	})
	return &s.ops[len(s.ops)-1]
}

func (s *script) take(call, end int64, now weir.Micros, cost int64, d weir.Decision) *Operation {
	op := s.op(call, end, now)
	op.Takes, op.Decisions, op.Allowed = []weir.Take{{Limit: s.limit, Cost: cost}}, []weir.Decision{d}, d.Allowed
	return op
}

func (s *script) want(t *testing.T, name string, err error, fits bool) {
	t.Helper()
	if (err == nil) != fits {
		t.Errorf("%s: got %v", name, err)
	}
}

// granted is the decision of an admitted take of a bucket of 1 per 10 µs, burst
// 5, that owes so much afterwards.
func granted(now weir.Micros, cost, owed int64) weir.Decision {
	return weir.Decision{
		Allowed: true, Granted: cost, Remaining: 5 - owed, ResetAfter: weir.Micros(10 * owed),
		Receipt: weir.Receipt{At: now, Cost: cost, Numbers: [2]int64{1, 10}},
	}
}

func TestCheckLinearizable(t *testing.T) {
	l := weir.MustLimit("b", "1 per 10us burst 5")
	s := &script{limit: l}
	s.take(0, 10, 100, 1, granted(100, 1, 2))
	s.take(0, 10, 100, 1, granted(100, 1, 1))
	s.want(t, "two that overlap, in the other order", CheckLinearizable(s.ops, true), true)
	s.ops[1].Call, s.ops[1].Return = 20_000, 30_000
	s.want(t, "the same, one after the other", CheckLinearizable(s.ops, true), false)

	s = &script{limit: l}
	s.take(0, 10, 100, 1, granted(100, 1, 1))
	s.take(20, 30, 90, 1, granted(90, 1, 3))
	s.want(t, "a clock that runs back", CheckLinearizable(s.ops, true), false)
	s.want(t, "a clock that may run back", CheckLinearizable(s.ops, false), true)

	s = &script{limit: l}
	s.take(0, 1, 0, 2, weir.Decision{}).Err = errors.New("broken pipe")
	s.take(20, 30, 100, 1, granted(100, 1, 1))
	s.want(t, "a lost call that was not applied", CheckLinearizable(s.ops, true), true)
	s.ops[1].Decisions[0] = granted(100, 1, 3)
	s.want(t, "a lost call that was applied at last", CheckLinearizable(s.ops, true), true)
	s.ops[1].Decisions[0].ResetAfter, s.ops[1].Decisions[0].Remaining = 23, 2
	s.want(t, "a lost call that was applied 7 µs before", CheckLinearizable(s.ops, true), true)
	s.ops[1].Decisions[0].Remaining = 1
	s.want(t, "no instant at which that could have been", CheckLinearizable(s.ops, true), false)
	s.ops[1].Decisions[0] = granted(100, 1, 4)
	s.want(t, "a lost call that charged more than was asked", CheckLinearizable(s.ops, true), false)
	s.ops[0].Call, s.ops[0].Return = 40_000, 50_000
	s.ops[1].Decisions[0] = granted(100, 1, 3)
	s.want(t, "a lost call that was applied before it was made", CheckLinearizable(s.ops, true), false)

	s.ops[0].Err = fmt.Errorf("no room: %w", weir.ErrNotApplied)
	s.ops[0].Call, s.ops[0].Return = 0, 10_000
	s.want(t, "one that was not applied, and was", CheckLinearizable(s.ops, true), false)
}

func TestCheckWindows(t *testing.T) {
	bucket, window := weir.MustLimit("b", "1 per 10us burst 5"), weir.MustLimit("w", "5 per 10us fixed-window")
	many := func(l *weir.Limit, n int, end int64) *script {
		s := &script{limit: l}
		for range n {
			s.take(100, end, 0, 1, weir.Decision{Allowed: true, Granted: 1})
		}
		return s
	}
	f := func(name string, s *script, fits bool) {
		t.Helper()
		s.want(t, name, CheckWindows(s.ops, s.limit), fits)
	}
	f("the burst at once", many(bucket, 5, 109), true)
	f("one more", many(bucket, 6, 109), false)
	f("one more while one refills", many(bucket, 6, 110), true)
	f("windows touched by one instant", many(window, 5, 100), true)
	f("one more than in a window", many(window, 6, 100), false)
	f("two windows, across an edge", many(window, 10, 101), true)
	f("one more than in two windows", many(window, 11, 110), false)
	f("three windows", many(window, 15, 111), true)

	s := many(bucket, 6, 109)
	s.op(50, 100, 0).Reset = []weir.Return{{Limit: bucket}}
	f("a reset at the beginning", s, true)
	s.ops[6].Return = 99_000
	f("a reset before that", s, false)
	s = many(bucket, 6, 109)
	s.op(109, 200, 0).Returns = []weir.Return{{Limit: bucket, Units: 1}}
	f("a unit given back at the end", s, true)
	s.ops[6].Call = 110_000
	f("a unit given back after that", s, false)
	s = many(bucket, 6, 109)
	s.ops[0].Takes[0].How = weir.Force
	f("one of them forced", s, true)
	s = many(bucket, 6, 109)
	s.ops[0].Err = weir.ErrUnknown
	f("one of them not known", s, true)

	if _, err := promiseOf(weir.MustLimit("x", "unlimited")); err == nil {
		t.Error("a limit that promises nothing has a promise")
	}
	for zone, hours := range map[string]weir.Micros{"UTC": 28 * 24, "Europe/Berlin": 28*24 - 1} {
		month, _ := promiseOf(weir.MustLimit("x", "5/month calendar "+zone))
		if want := hours * 3_600_000_000; month.windowLength != want {
			t.Errorf("the shortest month of %s is %d µs, want %d", zone, month.windowLength, want)
		}
	}
}
