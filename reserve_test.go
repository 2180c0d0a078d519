package weir_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// reserve reserves, and fails the test where that is refused.
func (b *bench) reserve(estimate int64) *weir.Reservation {
	b.t.Helper()
	o := new(weir.Outcome)
	r, err := b.Reserve(b.t.Context(), o, estimate, user())
	if err != nil || !o.Allowed || r == nil {
		b.t.Fatalf("%+v, %v", o, err)
	}
	return r
}

// mayReserve reserves, where that is not refused.
func (b *bench) mayReserve(estimate int64) (*weir.Reservation, bool) {
	b.t.Helper()
	o := new(weir.Outcome)
	r, err := b.Reserve(b.t.Context(), o, estimate, user())
	if err != nil {
		b.t.Fatal(err)
	}
	return r, o.Allowed
}

func TestSettleMakesTheActualCostOfAnEstimate(t *testing.T) {
	f := func(estimate, actual, forgiven int64, left ...int64) {
		t.Helper()
		b := limited(t, "10/h overdraft 15", "20/h fixed-window")
		r := b.reserve(estimate)
		got, err := r.Settle(t.Context(), actual)
		if got != forgiven || err != nil {
			t.Errorf("%d settled as %d: forgiven %d, %v; want %d", estimate, actual, got, err, forgiven)
		}
		if diff := cmp.Diff(left, b.left()); diff != "" {
			t.Errorf("%d settled as %d, left (- want, + got):\n%s", estimate, actual, diff)
		}
	}
	f(4, 4, 0, 6, 16)
	f(4, 1, 0, 9, 19)
	f(4, 0, 0, 10, 20)
	f(4, 9, 0, 1, 11)
	f(4, 15, 0, 0, 5)
	f(4, 16, 1, 0, 4)
	f(4, 45, 30, 0, 0) // 40 fit under the overdraft of the window
	f(1, math.MaxInt64, math.MaxInt64-15, 0, 0)
}

// What was settled above an estimate is paid back before anything passes.
func TestADebtIsWaitedFor(t *testing.T) {
	b := limited(t, "10/h overdraft 15")
	if _, err := b.reserve(10).Settle(t.Context(), 15); err != nil {
		t.Fatal(err)
	}
	o := b.take(1)
	if hour := weir.Micros(time.Hour / time.Microsecond); o.Allowed || o.RetryAfter != 6*hour/10 {
		t.Errorf("%+v", o)
	}
	b.clock.wait(o.RetryAfter - 1)
	if b.take(1).Allowed {
		t.Error("a microsecond early")
	}
	b.clock.wait(1)
	if !b.take(1).Allowed {
		t.Error("refused after the wait")
	}
}

func TestAReservationIsSpentOnce(t *testing.T) {
	b := limited(t, "10/h", "20/h fixed-window")
	check := func(left ...int64) {
		t.Helper()
		if diff := cmp.Diff(left, b.left()); diff != "" {
			t.Errorf("left (- want, + got):\n%s", diff)
		}
	}
	r := b.reserve(4)
	for range 3 {
		if _, err := r.Settle(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		if err := r.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(8, 18)
	}
	r = b.reserve(4)
	for range 3 {
		if err := r.Cancel(t.Context()); err != nil {
			t.Fatal(err)
		}
		if forgiven, err := r.Settle(t.Context(), 50); forgiven != 0 || err != nil {
			t.Fatal(forgiven, err)
		}
		check(8, 18)
	}
	o := new(weir.Outcome)
	if r, err := b.Reserve(t.Context(), o, 4, user()); err != nil || r.Slots() != nil {
		t.Fatal(err)
	}
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	check(4, 14) // the charge is the reservation's
}

// Whoever settles, by whatever many calls at once, it happens once.
func TestAReservationIsSpentOnceByMany(t *testing.T) {
	b := limited(t, "1000/h")
	for range 50 {
		r := b.reserve(10)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if i%2 == 0 {
					_, _ = r.Settle(t.Context(), 3)
				} else {
					_ = r.Cancel(t.Context())
				}
			})
		}
		wg.Wait()
	}
	left, calls := b.left()[0], b.store.returns
	if calls != 50 || left < 1000-3*50 || left > 1000 {
		t.Errorf("%d left after %d returns", left, calls)
	}
}

func TestReservationsThatAreRefused(t *testing.T) {
	b, o := limited(t, "10/h"), new(weir.Outcome)
	f := func(estimate int64, never bool, is error) {
		t.Helper()
		r, err := b.Reserve(t.Context(), o, estimate, user())
		if r != nil || o.Allowed || o.Never != never || !errors.Is(err, is) {
			t.Errorf("%d: %v, %v, %+v", estimate, r, err, o)
		}
		if forgiven, err := r.Settle(t.Context(), 5); forgiven != 0 || err != nil {
			t.Error(forgiven, err)
		}
		if err := errors.Join(r.Cancel(t.Context()), r.Slots().Release(t.Context())); err != nil {
			t.Error(err)
		}
	}
	f(11, true, nil)
	f(0, false, weir.ErrInvalid)
	f(-5, false, weir.ErrInvalid)
	b.take(10)
	f(1, false, nil)

	b = limited(t, "10/h")
	r := b.reserve(5)
	var nothing context.Context
	if _, err := r.Settle(t.Context(), -1); !errors.Is(err, weir.ErrInvalid) || err.Error() != "weir: actual -1: a cost is not negative; settle 0, or Cancel" {
		t.Error(err)
	}
	if _, err := r.Settle(nothing, 1); !errors.Is(err, weir.ErrInvalid) {
		t.Error(err)
	}
	if err := r.Cancel(nothing); !errors.Is(err, weir.ErrInvalid) {
		t.Error(err)
	}
	if forgiven, err := r.Settle(t.Context(), 1); forgiven != 0 || err != nil || b.left()[0] != 9 {
		t.Errorf("after that: %d, %v, %d left", forgiven, err, b.left()[0])
	}
}

// Who has left has used what he has used.
func TestSettleAfterTheContextHasEnded(t *testing.T) {
	b := under(t)
	l, err := weir.New(&leaving{Store: b.store.Store}, built(t, "10/h overdraft 20")...)
	if err != nil {
		t.Fatal(err)
	}
	for _, actual := range []int64{1, 6, 2} {
		ctx, cancel := context.WithCancel(t.Context())
		o := new(weir.Outcome)
		r, err := l.Reserve(ctx, o, 2, user())
		if err != nil || !o.Allowed {
			t.Fatal(err)
		}
		cancel()
		if _, err := r.Settle(ctx, actual); err != nil {
			t.Error(err)
		}
	}
	o := new(weir.Outcome)
	if err := l.Peek(t.Context(), o, 0, user()); err != nil || o.Decision().Remaining != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// leaving is a store that does nothing for a context that has ended, as one across a
// network is.
type leaving struct{ weir.Store }

func (s *leaving) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	if ctx.Err() != nil {
		return false, weir.Stamp{}, weir.ErrNotApplied
	}
	return s.Store.Take(ctx, takes, out)
}

func (s *leaving) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	if ctx.Err() != nil {
		return weir.Stamp{}, weir.ErrNotApplied
	}
	return s.Store.Return(ctx, returns)
}

// What was not applied may be settled again; what may have been is not.
func TestSettlementsThatFail(t *testing.T) {
	charged := answer{allowed: true, decisions: []weir.Decision{{Allowed: true, Granted: 5, Receipt: weir.Receipt{Cost: 5}}}}
	forced := answer{allowed: true, decisions: []weir.Decision{{Allowed: true, Granted: 2}}}
	f := func(actual int64, takeErr, returnErr error, again bool) {
		t.Helper()
		s := &told{answers: []answer{charged, {err: takeErr}, forced}, returnErrs: []error{returnErr}}
		l := tell(t, s, "10/h")
		r, err := l.Reserve(t.Context(), new(weir.Outcome), 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Settle(t.Context(), actual); !errors.Is(err, errors.Join(takeErr, returnErr)) && !errors.Is(err, takeErr) && !errors.Is(err, returnErr) {
			t.Error(err)
		}
		calls := s.takes + len(s.returned)
		if _, err := r.Settle(t.Context(), actual); err != nil {
			t.Error(err)
		}
		if got := s.takes+len(s.returned) > calls; got != again {
			t.Errorf("%v, %v: asked again %t, want %t", takeErr, returnErr, got, again)
		}
	}
	f(7, weir.ErrNotApplied, nil, true)
	f(7, weir.ErrUnknown, nil, false)
	f(3, nil, weir.ErrNotApplied, true)
	f(3, nil, weir.ErrUnknown, false)

	s := &told{answers: []answer{charged}, returnErrs: []error{weir.ErrNotApplied, weir.ErrUnknown}}
	l := tell(t, s, "10/h")
	r, err := l.Reserve(t.Context(), new(weir.Outcome), 5)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		_ = r.Cancel(t.Context())
	}
	if len(s.returned) != 2 {
		t.Errorf("given back %d times", len(s.returned))
	}
}

// A call that was let pass uncounted has nothing to settle, and forgives nothing.
func TestSettleOfWhatWasNotCounted(t *testing.T) {
	s := &told{answers: []answer{{allowed: true, decisions: []weir.Decision{{Allowed: true, Mode: weir.Open}}}}}
	r, err := tell(t, s, "10/h").Reserve(t.Context(), new(weir.Outcome), 5)
	if err != nil {
		t.Fatal(err)
	}
	if forgiven, err := r.Settle(t.Context(), 500); forgiven != 0 || err != nil || s.takes != 1 {
		t.Errorf("forgiven %d, %v, %d takes", forgiven, err, s.takes)
	}
}

// What was charged on a state that is shared for want of room has no receipt: more is
// charged there all the same, and less is not given back.
func TestSettleInOverflow(t *testing.T) {
	shared := answer{allowed: true, decisions: []weir.Decision{{Allowed: true, Granted: 5, Mode: weir.Overflow}}}
	forced := answer{allowed: true, decisions: []weir.Decision{{Allowed: true, Granted: 15, Mode: weir.Overflow}}}
	f := func(actual, forgiven int64, takes int) {
		t.Helper()
		s := &told{answers: []answer{shared, forced}}
		r, err := tell(t, s, "10/h").Reserve(t.Context(), new(weir.Outcome), 5)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Settle(t.Context(), actual); got != forgiven || err != nil || s.takes != takes || len(s.returned) != 0 {
			t.Errorf("to settle %d: forgiven %d, %v, %d takes, %d returns", actual, got, err, s.takes, len(s.returned))
		}
	}
	f(25, 5, 2)
	f(20, 0, 2)
	f(5, 0, 1)
	f(3, 0, 1)
}

// Held against its meaning: what is used in the end is what was actually used, but for
// what was forgiven, on every limit.
func TestSettlementsAddUp(t *testing.T) {
	type account struct {
		text           string
		capacity, debt int64
	}
	accounts := []account{
		{"40/h overdraft 60", 40, 60},
		{"50/day fixed-window", 50, 100},
		{"45/day sliding-window overdraft 50", 45, 50},
		{"42/day sliding-log", 42, 42},
		{"48/day sliding-log overdraft 70", 48, 70},
		{"1/day leaky-bucket queue 46 overdraft 55", 47, 55},
	}
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(accounts), 1, 4, rapid.ID[account]).Draw(rt, "limits")
		var texts []string
		for _, a := range some {
			texts = append(texts, a.text)
		}
		b, used := limited(t, texts...), make([]int64, len(some))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			r, ok := b.mayReserve(rapid.Int64Range(1, 30).Draw(rt, "estimate"))
			if !ok {
				continue
			}
			actual, most := rapid.Int64Range(0, 60).Draw(rt, "actual"), int64(0)
			forgiven, err := r.Settle(t.Context(), actual)
			if err != nil {
				rt.Fatal(err)
			}
			for i, a := range some {
				used[i] += actual
				if over := used[i] - a.debt; over > 0 {
					used[i], most = a.debt, max(most, over)
				}
			}
			if forgiven != most {
				rt.Fatalf("%v: forgiven %d, want %d", texts, forgiven, most)
			}
			for i, left := range b.left() {
				if left != max(0, some[i].capacity-used[i]) {
					rt.Fatalf("%s: %d left with %d used", texts[i], left, used[i])
				}
			}
		}
	})
}

// Many reserve and settle at once, and all is counted.
func TestManyReserve(t *testing.T) {
	b := under(t)
	l, err := weir.New(b.store.Store, built(t, "100000/h", "90000/h fixed-window")...)
	if err != nil {
		t.Fatal(err)
	}
	var used atomic.Int64
	var wg sync.WaitGroup
	for worker := range int64(8) {
		wg.Go(func() {
			o := new(weir.Outcome)
			for i := range int64(100) {
				r, err := l.Reserve(t.Context(), o, 1+i%7, user())
				if err != nil || !o.Allowed {
					t.Error(err)
					return
				}
				actual := (i + worker) % 11
				if i%5 == 0 {
					actual, err = 0, r.Cancel(t.Context())
				} else {
					_, err = r.Settle(t.Context(), actual)
				}
				if err != nil {
					t.Error(err)
				}
				used.Add(actual)
			}
		})
	}
	wg.Wait()
	o := new(weir.Outcome)
	if err := l.Peek(t.Context(), o, 0, user()); err != nil || o.Decisions[1].Remaining != 90_000-used.Load() || o.Decisions[0].Remaining != 100_000-used.Load() {
		t.Errorf("%d were used: %+v, %v", used.Load(), o.Decisions, err)
	}
}

// A bursting store panics once when it is told to, and is well again.
type bursting struct {
	weir.Store
	burst bool
}

func (s *bursting) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	s.panics()
	return s.Store.Take(ctx, takes, out)
}

func (s *bursting) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	s.panics()
	return s.Store.Return(ctx, returns)
}

func (s *bursting) panics() {
	if s.burst {
		s.burst = false
		panic("the store is broken")
	}
}

// A store that panics while a reservation ends keeps no slot for ever: a Settle gives
// it back all the same, and after a Cancel it is free when its lease ends.
func TestStoresThatPanicKeepNoSlots(t *testing.T) {
	f := func(end func(ctx context.Context, r *weir.Reservation) error, after time.Duration) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			s := &bursting{Store: b.store.Store}
			l, err := weir.New(s, b.Limits()...)
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Reserve(t.Context(), new(weir.Outcome), 5, user())
			if err != nil {
				t.Fatal(err)
			}
			s.burst = true
			if err := end(t.Context(), r); !errors.Is(err, weir.ErrUnknown) {
				t.Errorf("%v; want that nobody knows", err)
			}
			if err := errors.Join(r.Cancel(t.Context()), end(t.Context(), r)); err != nil {
				t.Errorf("once more: %v", err)
			}
			pass(after)
			if left := b.left()[0]; left != 1 {
				t.Errorf("%d slots are left after %s", left, after)
			}
		}, "1 concurrent lease 30s", "100/day fixed-window")
	}
	settle := func(actual int64) func(ctx context.Context, r *weir.Reservation) error {
		return func(ctx context.Context, r *weir.Reservation) error {
			_, err := r.Settle(ctx, actual)
			return err
		}
	}
	f(settle(1), 0)
	f(settle(9), 0)
	f(settle(5), 30*time.Second) // it is the release that panics
	f(func(ctx context.Context, r *weir.Reservation) error { return r.Cancel(ctx) }, 30*time.Second)
}

// Work that was done is not given away by a Cancel that is deferred: when its Settle
// was not applied the estimate stays charged, and the slot is free.
func TestCancelAfterASettleThatFails(t *testing.T) {
	f := func(actual int64, failures int, left ...int64) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			s := &flaky{Store: b.store.Store, fail: func(call int) error {
				if call <= failures {
					return weir.ErrNotApplied
				}
				return nil
			}}
			l, err := weir.New(s, b.Limits()...)
			if err != nil {
				t.Fatal(err)
			}
			r, err := l.Reserve(t.Context(), new(weir.Outcome), 5, user())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Settle(t.Context(), actual); !errors.Is(err, weir.ErrNotApplied) {
				t.Error(err)
			}
			if err := errors.Join(r.Cancel(t.Context()), r.Cancel(t.Context())); err != nil {
				t.Error(err)
			}
			b.leaves(left...)
		}, "1 concurrent", "10/day fixed-window")
	}
	f(2, 1, 1, 5)
	f(2, 2, 1, 5) // the slot is not released by the Settle either
	f(0, 1, 1, 5)
}
