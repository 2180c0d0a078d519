package weir_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// atMost takes up to most units, and checks that all limits were charged the same.
func (b *bench) atMost(most int64) (int64, *weir.Outcome) {
	b.t.Helper()
	before, o := b.left(), new(weir.Outcome)
	granted, err := b.TakeAtMost(b.t.Context(), o, most, user())
	if err != nil {
		b.t.Fatal(err)
	}
	for i, left := range b.left() {
		if left != before[i]-granted {
			b.t.Errorf("granted %d: limit %d went from %d to %d", granted, i, before[i], left)
		}
	}
	return granted, o
}

func TestTakeAtMostGrantsWhatFits(t *testing.T) {
	f := func(used, most, want int64, texts ...string) {
		t.Helper()
		b := limited(t, texts...)
		if used > 0 && !b.take(used).Allowed {
			t.Fatal("what was used before does not fit")
		}
		if got, o := b.atMost(most); got != want || o.Allowed != (want > 0) || o.Never != (o.Cause == weir.ByDeny) || b.store.returns != 0 {
			t.Errorf("%v with %d used: %d of %d, want %d; %d returns, %+v", texts, used, got, most, want, b.store.returns, o)
		}
	}
	f(0, 3, 3, "10/h")
	f(7, 9, 3, "10/h")
	f(10, 9, 0, "10/h")
	f(0, math.MaxInt64, 10, "10/h")
	f(4, 9, 3, "10/h", "7/h fixed-window", "100/day sliding-window")
	f(0, 5, 5, "10/h", "7/h fixed-window")
	f(0, math.MaxInt64, 7, "10/h", "7/h fixed-window")
	f(7, 2, 0, "10/h", "7/h fixed-window")
	f(6, 2, 1, "10/h", "7/h fixed-window")
	f(2, 9, 2, "1/s leaky-bucket queue 3", "10/h")
	f(0, 9, 9)
	f(0, 9, 9, "unlimited")
	f(0, 9, 0, "deny", "10/h")
}

// Nothing, and less than that, is not granted as one.
func TestTakeAtMostOfNothing(t *testing.T) {
	for _, texts := range [][]string{{"5/s"}, {"5/s block 1s"}, {"5/s", "9/min"}, {"5/s block 1s", "9/min"}, {"5/s", "2 concurrent"}, {}} {
		for _, most := range []int64{0, -5, math.MinInt64} {
			b, o := limited(t, texts...), new(weir.Outcome)
			before := b.left()
			granted, err := b.TakeAtMost(t.Context(), o, most, user())
			if granted != 0 || !errors.Is(err, weir.ErrInvalid) || o.Allowed || !slices.Equal(b.left(), before) {
				t.Errorf("%d of %v: granted %d, %v, %v", most, texts, granted, err, o.Cause)
			}
		}
	}
}

// What fits at once costs one question; what does not, one more.
func TestTakeAtMostAsksLittle(t *testing.T) {
	f := func(most int64, questions int, texts ...string) {
		t.Helper()
		b := limited(t, texts...)
		b.take(4)
		b.store.takes = 0
		if _, err := b.TakeAtMost(t.Context(), new(weir.Outcome), most, user()); err != nil || b.store.takes != questions {
			t.Errorf("%d of %v: %d questions, %v", most, texts, b.store.takes, err)
		}
	}
	f(3, 1, "10/h")
	f(9, 1, "10/h")
	f(3, 1, "10/h", "7/h fixed-window")
	f(9, 2, "10/h", "7/h fixed-window")
	f(9, 2, "10/h", "4/h fixed-window")
}

// A refusal says when one unit passes, not when as many as were wanted do.
func TestTakeAtMostIsRefusedForOneUnit(t *testing.T) {
	for _, texts := range [][]string{{"10/s"}, {"10/s", "20/min fixed-window"}, {"10/s leaky-bucket wait 1s", "30/min"}} {
		b := limited(t, texts...)
		for b.take(1).Allowed {
			continue
		}
		granted, o := b.atMost(5)
		if granted != 0 || o.Allowed || o.RetryAfter < 1 {
			t.Fatalf("%v: granted %d, %+v", texts, granted, o)
		}
		wait := o.RetryAfter
		b.clock.wait(wait - 1)
		if granted, _ := b.atMost(5); granted != 0 {
			t.Errorf("%v: a microsecond early %d pass", texts, granted)
		}
		b.clock.wait(1)
		if granted, _ := b.atMost(5); granted < 1 {
			t.Errorf("%v: none passes after %d µs", texts, wait)
		}
	}
}

func TestTakeAtMostRefusesWhatIsNoNumber(t *testing.T) {
	for _, most := range []int64{0, -1, math.MinInt64} {
		for _, b := range []*bench{limited(t), limited(t, "5/s"), limited(t, "5/s", "7/min")} {
			granted, err := b.TakeAtMost(t.Context(), new(weir.Outcome), most, user())
			if !errors.Is(err, weir.ErrInvalid) || granted != 0 || b.store.takes != 0 {
				t.Errorf("%d: granted %d, %v", most, granted, err)
			}
		}
	}
	b := limited(t, "5/s")
	if granted, err := b.TakeAtMost(t.Context(), nil, 1, user()); granted != 0 || !errors.Is(err, weir.ErrInvalid) {
		t.Errorf("no outcome: %d, %v", granted, err)
	}
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	if granted, err := b.TakeAtMost(t.Context(), new(weir.Outcome), 1, user()); granted != 0 || !errors.Is(err, weir.ErrClosed) {
		t.Errorf("a closed store: %d, %v", granted, err)
	}
}

// rushed is a store in which somebody else is always a moment faster.
type rushed struct {
	weir.Store
	rush func(takes []weir.Take)
}

func (s *rushed) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	s.rush(takes)
	return s.Store.Take(ctx, takes, out)
}

// Whoever others are faster than is asked for less, and for one unit at last: never
// is one limit charged without another, and it comes to an end.
func TestTakeAtMostAmongOthers(t *testing.T) {
	limits := built(t, "100/h", "1000/h fixed-window")
	for _, each := range []int64{1, 10, 30, 60} {
		b := under(t)
		calls, others := 0, int64(0)
		store := &rushed{Store: b.store.Store}
		store.rush = func(takes []weir.Take) {
			calls++
			t := takes[0]
			t.Cost, t.How = each, weir.Partial
			out := make([]weir.Decision, 1)
			_, _, _ = store.Store.Take(context.Background(), []weir.Take{t}, out)
			others += out[0].Granted
		}
		l, err := weir.New(store, limits...)
		if err != nil {
			t.Fatal(err)
		}
		o := new(weir.Outcome)
		granted, err := l.TakeAtMost(t.Context(), o, 90, user())
		if err != nil || calls > 5 || granted != 100-others && o.Decisions[0].Remaining+granted+others != 100 {
			t.Errorf("%d each: granted %d in %d calls beside %d, %v", each, granted, calls, others, err)
		}
		if o.Decisions[1].Remaining != 1000-granted {
			t.Errorf("%d each: granted %d, the other limit has %d left", each, granted, o.Decisions[1].Remaining)
		}
	}
}

// More than was asked for is never taken, whatever a refusal says is left, and a store
// that says so again and again is asked for one unit at last.
func TestTakeAtMostNeverTakesMore(t *testing.T) {
	refused := answer{decisions: []weir.Decision{{Allowed: true, Remaining: 50}, {Remaining: 70, RetryAfter: 5}}}
	passed := answer{allowed: true, decisions: []weir.Decision{{Allowed: true, Granted: 10}, {Allowed: true, Granted: 10}}}
	s := &told{answers: []answer{refused, passed}}
	granted, err := tell(t, s, "100/h", "200/h").TakeAtMost(t.Context(), new(weir.Outcome), 10)
	if err != nil || granted != 10 || s.asked[0].Cost != 10 || s.asked[1].Cost != 10 {
		t.Errorf("granted %d, %v; asked for %+v", granted, err, s.asked)
	}
	s = &told{answers: []answer{refused}}
	granted, err = tell(t, s, "100/h", "200/h").TakeAtMost(t.Context(), new(weir.Outcome), 10)
	if err != nil || granted != 0 || s.takes != 5 || s.asked[0].Cost != 1 {
		t.Errorf("granted %d, %v; asked %d times, at last for %+v", granted, err, s.takes, s.asked)
	}
}

// Held against its meaning: what is least among what each limit would let pass.
func TestTakeAtMostIsTheLeast(t *testing.T) {
	texts := []string{"10/min", "7/h burst 20", "12/min fixed-window", "9/min sliding-window", "11/min sliding-log", "20/min leaky-bucket queue 8"}
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 1, 4, rapid.ID[string]).Draw(rt, "limits")
		b := limited(t, some...)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			b.clock.advance(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond)
			most := rapid.Int64Range(1, 25).Draw(rt, "most")
			want := most
			for _, left := range b.left() {
				want = min(want, left)
			}
			if got, o := b.atMost(most); got != want || o.Allowed != (want > 0) {
				rt.Fatalf("%v: granted %d of %d, want %d", some, got, most, want)
			}
		}
	})
}
