package weir_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weirhq/weir"
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
