package weir_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// What went wrong in other limiters, each case under the number it has in
// their reports.

// refusesCost checks that a cost is an error everywhere, and changes nothing:
// of a bucket that is empty, exactly what flows back by itself can be taken.
func refusesCost(t *testing.T, text string, cost int64) {
	t.Helper()
	b := limited(t, text)
	l, o := built(t, text)[0], new(weir.Outcome)
	capacity := l.Capacity()
	if !b.take(capacity).Allowed {
		t.Fatal("the first burst is refused")
	}
	key, tag := b.Key(user())
	for _, err := range []error{
		b.Take(t.Context(), o, cost, user()),
		b.Peek(t.Context(), o, cost, user()),
		b.TakeAll(t.Context(), o, weir.Take{Limit: l, Key: key, Tag: tag, Cost: cost}),
		b.TakeAll(t.Context(), o, weir.Take{Limit: l, Key: key, Tag: tag, Cost: cost, How: weir.Force}),
		b.TakeAll(t.Context(), o, weir.Take{Limit: l, Key: key, Tag: tag, Cost: cost, How: weir.Partial}, weir.Take{Limit: l, Key: key, Tag: tag, Cost: 1}),
	} {
		if !errors.Is(err, weir.ErrInvalid) || !strings.HasPrefix(err.Error(), "weir: cost -") || o.Allowed {
			t.Errorf("cost %d of %s: allowed %v, %v", cost, text, o.Allowed, err)
		}
	}
	if o := b.take(1); o.Allowed || o.Decision().Remaining != 0 {
		t.Errorf("cost %d of %s: one more afterwards, %d left", cost, text, o.Decision().Remaining)
	}
}

func TestR1NegativeCostIsRefusedAndRefillsNothing(t *testing.T) { refusesCost(t, "10/s", -1000) }

func TestR2NegativeCostOfTheBurstRefillsNothing(t *testing.T) { refusesCost(t, "10/s burst 10", -10) }

func TestR3NegativeCostUnderASlowLimitRefillsNothing(t *testing.T) { refusesCost(t, "10/h", -5) }

func TestR4NegativeIncrementDoesNotLowerACounter(t *testing.T) {
	refusesCost(t, "30/h fixed-window", -30)
	refusesCost(t, "30/h fixed-window", math.MinInt64)
}

// neverPasses checks that a cost above the capacity is refused for ever and
// leaves the bucket as it was.
func neverPasses(t *testing.T, text string, cost int64) {
	t.Helper()
	b := limited(t, text)
	before := b.left()[0]
	o := b.take(cost)
	if d := o.Decision(); o.Allowed || !o.Never || o.RetryAfter != 0 || d.RetryAfter != 0 || d.Granted != 0 || d.Remaining != before || d.ResetAfter != 0 {
		t.Errorf("%d of %s: %+v", cost, text, d)
	}
	if after := b.left()[0]; after != before {
		t.Errorf("%d of %s: %d left, were %d", cost, text, after, before)
	}
	if !b.take(1).Allowed {
		t.Errorf("%d of %s: the next caller is refused", cost, text)
	}
}

func TestR5AHugeCostUnderASlowLimitIsNotAdmitted(t *testing.T) {
	neverPasses(t, "1/h burst 10", 3_000_000)
}

func TestR6AHugeBurstUnderASlowLimitIsRefusedWhenItIsBuilt(t *testing.T) {
	_, err := weir.ParseLimit("r", "1/h burst 3000000")
	if err == nil || err.Error() != "weir: burst 3000000: it needs 342 years to refill; write at most 1250999" {
		t.Error(err)
	}
	b := limited(t, "1/h burst 1250999")
	if !b.take(1_250_999).Allowed || b.take(1).Allowed {
		t.Error("what the refusal told to write does not work")
	}
}

// What the numbers come to is told of right names alone: a wrong one goes before it.
func TestWrongNameBesideALargeBurst(t *testing.T) {
	for name, want := range map[string]string{"Bad Name": "name", "r": "burst"} {
		_, err := weir.ParseLimit(name, "1000000007/h burst 1000000007")
		if e, ok := errors.AsType[*weir.FieldError](err); !ok || e.Field != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestR7AZeroRateIsRefusedWhenItIsBuilt(t *testing.T) {
	for _, text := range []string{"0/s", "0/min burst 5", "5 per 0s"} {
		if _, err := weir.ParseLimit("r", text); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, s := range []weir.Spec{{Period: 1000}, {Count: 5}, {Algorithm: weir.FixedWindow, Count: 5}, {Algorithm: weir.FixedWindow, Period: 1000}} {
		if _, err := weir.NewLimit("r", s); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestR8NotANumberIsNoRate(t *testing.T) {
	for _, text := range []string{"NaN/s", "nan/s", "+Inf/s", "Inf/s", "-Inf/s", "1e-12/s", "1e12/s", "5 per NaNs", "5/s burst NaN", "5/s burst +Inf"} {
		if _, err := weir.ParseLimit("r", text); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestR9TheWaitForAHugeCostIsNeverAndNotNegative(t *testing.T) {
	neverPasses(t, "10/h", math.MaxInt64)
	neverPasses(t, "10/h fixed-window", math.MaxInt64)
}

func TestR10AHugeBurstDoesNotTurnNegative(t *testing.T) {
	for _, text := range []string{"10/s burst 9223372036854775807", "9223372036854775807/s", "9223372036854775807/s fixed-window", "10/s burst 9223372036854775808"} {
		if _, err := weir.ParseLimit("r", text); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestR11AHugeTakeLeavesNoDebt(t *testing.T) {
	for _, text := range []string{"10/s", "1000000000/s", "10/day fixed-window", "10/month calendar UTC"} {
		neverPasses(t, text, math.MaxInt64)
		neverPasses(t, text, math.MaxInt64-1)
		neverPasses(t, text, 1<<53)
	}
	// Two takes whose sum overflows.
	l := built(t, "10/s")[0]
	b, o := under(t), new(weir.Outcome)
	key, tag := b.Key(user())
	one := weir.Take{Limit: l, Key: key, Tag: tag, Cost: math.MaxInt64}
	if err := b.TakeAll(t.Context(), o, one, one, one); err != nil || o.Allowed || !o.Never {
		t.Errorf("%+v, %v", o, err)
	}
	one.Cost = 10
	if err := b.TakeAll(t.Context(), o, one); err != nil || !o.Allowed {
		t.Errorf("afterwards: %+v, %v", o, err)
	}
}

func TestR12BlockAllIsAWordAndNoError(t *testing.T) {
	b := limited(t, "deny")
	for range 100 {
		if ok, err := b.Allow(t.Context(), user()); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}
}

// S40: the table of arguments over the verbs; over limits it is
// TestExtremeArguments.
func TestS40CostsOverEveryVerb(t *testing.T) {
	for _, text := range []string{"1/s", "7/min burst 3", "1000000000/s", "5/day fixed-window", "5/week calendar UTC"} {
		l := built(t, text)[0]
		for _, cost := range []int64{math.MinInt64, -1, 0, 1, l.Capacity() - 1, l.Capacity(), l.Capacity() + 1, 1 << 52, 1 << 62, math.MaxInt64} {
			b, o := limited(t, text), new(weir.Outcome)
			fits := cost >= 1 && cost <= l.Capacity()
			err := b.Peek(t.Context(), o, cost, user())
			if (err == nil) != (cost >= 0) || o.Allowed != (fits || cost == 0) || o.Never != (cost > l.Capacity()) {
				t.Errorf("%s: a peek at %d: %+v, %v", text, cost, o, err)
			}
			err = b.Take(t.Context(), o, cost, user())
			if (err == nil) != (cost >= 1) || o.Allowed != fits || o.Never != (cost > l.Capacity()) || o.RetryAfter != 0 {
				t.Errorf("%s: a take of %d: %+v, %v", text, cost, o, err)
			}
			want := l.Capacity()
			if fits {
				want -= cost
			}
			if got := b.left()[0]; got != want {
				t.Errorf("%s: after a take of %d %d are left, want %d", text, cost, got, want)
			}
			if err := b.Refund(t.Context(), o); err != nil || b.left()[0] != l.Capacity() {
				t.Errorf("%s: after the refund of %d %d are left: %v", text, cost, b.left()[0], err)
			}
		}
	}
}

// admitted floods a limit, a take each step of time, and gives the instants of those
// that passed.
func admitted(t *testing.T, text string, steps int, step weir.Micros) (at []weir.Micros, l *weir.Limit) {
	t.Helper()
	b := limited(t, text)
	for range steps {
		if b.take(1).Allowed {
			at = append(at, b.clock.now())
		}
		b.clock.wait(step)
	}
	return at, built(t, text)[0]
}

// most is the largest number of instants within a span.
func most(at []weir.Micros, span weir.Micros) int64 {
	first, n := 0, 0
	for last := range at {
		for at[last]-at[first] >= span {
			first++
		}
		n = max(n, last-first+1)
	}
	return int64(n)
}

// A clock that is read at t and half a second before in turn refills nothing.
func TestR13AClockThatRunsToAndFroAdmitsNothingMore(t *testing.T) {
	for _, text := range []string{"10/s burst 10", "10/s fixed-window", "10/s sliding-window", "10/s sliding-log"} {
		b, n := limited(t, text), int64(0)
		b.clock.wait(500_000) // so that half a second before is the same window
		for i := range 1000 {
			if i > 0 {
				b.clock.wait([]weir.Micros{500_000, -500_000}[i%2])
			}
			if b.take(1).Allowed {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%s: %d of 1000 were admitted, want 10", text, n)
		}
	}
}

// However many ask at once, on whatever clock, the bound holds.
func TestFloodR15ManyGoroutinesKeepTheBound(t *testing.T) {
	callers := 2000
	if os.Getenv("WEIR_LONG") == "1" {
		callers = 20_000
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	record := storetest.Record(store)
	limit := weir.MustLimit("r", "100/s")
	l, err := weir.New(record, limit)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if _, err := l.Allow(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(record.History()); n != callers {
		t.Errorf("%d calls of %d", n, callers)
	}
	if err := storetest.CheckWindows(record.History(), limit); err != nil {
		t.Error(err)
	}
}

// Whoever waits after a pause makes nothing up for it.
func TestR26APauseIsNotMadeUpFor(t *testing.T) {
	for _, text := range []string{"1 per 100ms", "1 per 100ms leaky-bucket wait 1s"} {
		bubbled(t, func(t *testing.T, b *bench) {
			b.waits(t.Context(), 1, 0, nil)
			pass(300 * time.Millisecond)
			began := time.Now()
			for range 20 {
				if err := b.Wait(t.Context(), new(weir.Outcome), 1, user()); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(began); took != 1900*time.Millisecond {
				t.Errorf("%s: 20 takes took %s", text, took)
			}
		}, text)
	}
}

// What is left only grows by what flows back.
func TestR27WhatIsLeftDoesNotFallAtATick(t *testing.T) {
	for _, text := range []string{"65535/s", "65535/s sliding-window", "65535/s fixed-window"} {
		b, before := limited(t, text), int64(65_535)
		for range 50 {
			left := b.take(1).Decision().Remaining
			if left < before-1 {
				t.Fatalf("%s: %d were left, and after one more take %d", text, before, left)
			}
			before = left
			b.clock.advance(100 * time.Millisecond)
		}
	}
}

// Across the edge of a fixed window twice the count pass, as is stated; no more do, and
// other limits do not let them.
func TestR28TwiceTheCountAcrossAnEdgeIsStated(t *testing.T) {
	const span = weir.Micros(150_000)
	f := func(text string, want int64) {
		t.Helper()
		b, at := limited(t, text), []weir.Micros(nil)
		b.clock.wait(1_000_000 - b.clock.now()%1_000_000 - span/2)
		for range 1500 {
			if b.take(1).Allowed {
				at = append(at, b.clock.now())
			}
			b.clock.wait(span / 1500)
		}
		l := built(t, text)[0]
		if got := most(at, span); got != want || got > l.Most(span) {
			t.Errorf("%s: %d in %d µs, want %d; stated are %d", text, got, span, want, l.Most(span))
		}
	}
	f("10/s fixed-window", 20)
	f("10/s", 11)
	f("10/s sliding-log", 10)
	f("10/s sliding-window", 10)
}

// Under a flood no second has more than is stated for it.
func TestR29ASlidingWindowKeepsItsStatedBound(t *testing.T) {
	const second = weir.Micros(1_000_000)
	for text, exact := range map[string]bool{"10/s sliding-window": false, "10/s sliding-log": true, "10/s burst 1": true} {
		for _, step := range []weir.Micros{999, 10_007, 33_333} {
			at, l := admitted(t, text, int(12*second/step), step)
			got := most(at, second)
			if got > l.Most(second) || exact && got > 10 || len(at) < 80 {
				t.Errorf("%s each %d µs: %d in a second, %d in all; stated are %d", text, step, got, len(at), l.Most(second))
			}
		}
	}
}
