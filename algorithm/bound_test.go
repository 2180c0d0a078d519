package algorithm_test

import (
	"math"
	"testing"

	"github.com/weirhq/weir/algorithm"
)

// What the brute force of this package has found for short spans stands for long
// ones, up to where int64 ends.
func TestMostIsCut(t *testing.T) {
	f := func(a algorithm.Algorithm, span micros, want int64) {
		t.Helper()
		if got := a.Most(span); got != want {
			t.Errorf("%T %+v: Most(%d) is %d, want %d", a, a, span, got, want)
		}
	}
	bucket := func(count int64, period micros, burst int64) *algorithm.TokenBucket {
		t.Helper()
		b, err := algorithm.NewTokenBucket(count, period, burst, 0)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	slow, fast := bucket(5, 1_000_000, 7), bucket(1<<20, 1, 7)
	for _, span := range []micros{math.MinInt64, -1, 0} {
		f(slow, span, 0)
	}
	f(slow, 1, 7)
	f(slow, 200_000, 7)
	f(slow, 200_001, 8)
	f(slow, math.MaxInt64, 7+(math.MaxInt64-1)/200_000)
	f(fast, 1+1<<42, 7+1<<62)
	f(fast, 1+1<<43-1, 7+(1<<43-1)<<20)
	f(fast, 1+1<<43, math.MaxInt64)
	f(fast, math.MaxInt64, math.MaxInt64)
	f(bucket(1, 1, 7), math.MaxInt64-7, math.MaxInt64-1)
	f(bucket(1, 1, 7), math.MaxInt64-6, math.MaxInt64)
	f(bucket(1, 1, 7), math.MaxInt64-5, math.MaxInt64)

	w, err := algorithm.NewFixedWindow(1<<50, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	f(w, 0, 0)
	f(w, 1, 1<<50)
	f(w, 2, 1<<51)
	f(w, 11, 1<<51)
	f(w, 12, 3<<50)
	f(w, 1+10*8190, 8191<<50)
	f(w, 1+10*8190+1, math.MaxInt64)
	f(w, math.MaxInt64, math.MaxInt64)

	calendar, err := algorithm.NewCalendarWindow(3, 9, 12, 0)
	if err != nil {
		t.Fatal(err)
	}
	f(calendar, 10, 6)
	f(calendar, 11, 9)
}

// A fresh state lives as long as Pins says after one unit and after a whole
// capacity: to the microsecond for a bucket, and at most so long for a window.
func TestPins(t *testing.T) {
	lives := func(a algorithm.Algorithm, m algorithm.Moment, cost, most micros) micros {
		s, _ := a.Charge(state{}, m, int64(cost))
		for d := range most + 5 {
			if a.Dead(s, m.Now+d) {
				return d
			}
		}
		return math.MaxInt64
	}
	small(func(n, p, b int64, a *algorithm.TokenBucket) {
		one, full := a.Pins()
		if got := lives(a, at(100), 1, one); got != one {
			t.Errorf("%d per %d µs burst %d: one unit lives for %d µs, want %d", n, p, b, got, one)
		}
		if got := lives(a, at(100), micros(b), full); got != full {
			t.Errorf("%d per %d µs burst %d: a burst lives for %d µs, want %d", n, p, b, got, full)
		}
	})
	smallQueues(func(n, p, wait, places int64, a *algorithm.LeakyBucket) {
		one, full := a.Pins()
		if alone, all := lives(a, at(100), 1, one), lives(a, at(100), micros(a.Capacity()), full); alone != one || all != full {
			t.Errorf("%d per %d µs wait %d queue %d: one unit lives for %d µs and all for %d, want %d and %d", n, p, wait, places, alone, all, one, full)
		}
	})
	for period := micros(1); period <= 6; period++ {
		w, err := algorithm.NewFixedWindow(3, period, 0)
		if err != nil {
			t.Fatal(err)
		}
		one, full := w.Pins()
		longest := micros(0)
		for now := range period {
			m, _ := w.Moment(100+now, 0)
			longest = max(longest, lives(w, m, 1, period))
		}
		if one != longest || full != longest {
			t.Errorf("%d µs: pins of %d and %d, and the longest life is %d", period, one, full, longest)
		}
	}
}

func TestCalendarWindowArguments(t *testing.T) {
	for _, span := range [][2]micros{{0, 5}, {5, 0}, {-1, -1}, {1, 1 << 52}, {1 << 52, 1}} {
		_, err := algorithm.NewCalendarWindow(3, span[0], span[1], 0)
		if err == nil {
			t.Errorf("windows of %d to %d µs are accepted", span[0], span[1])
			continue
		}
		wantField(t, err, "period")
	}
}
