package algorithm_test

import (
	"math"
	"testing"

	"github.com/weirhq/weir/algorithm"
)

// Where one edge of a grid has moved, whichever it is, a count goes on in the current
// window from the first touch.
func TestWindowsWithOneEdgeMoved(t *testing.T) {
	w, err := algorithm.NewCalendarWindow(5, 10, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := algorithm.Moment{Now: 105, Start: 100, End: 120}
	f := func(s, want state) {
		t.Helper()
		if got := w.Touch(s, m); got != want {
			t.Errorf("to touch %v makes %v of it, want %v", s, got, want)
		}
		after, r := w.Charge(s, m, 1)
		if want[2]++; after != want || r.Numbers != [2]int64{want[0], want[1]} {
			t.Errorf("one more in %v: %v, %+v, want %v", s, after, r, want)
		}
	}
	f(state{100, 120, 3}, state{100, 120, 3})
	f(state{100, 110, 3}, state{100, 120, 3})
	f(state{90, 120, 3}, state{100, 120, 3})
	f(state{90, 110, 3}, state{100, 120, 3})
	f(state{120, 140, 3}, state{120, 140, 3}) // ahead of a clock that ran back
}

// A window in which nothing is counted is none, wherever it lies.
func TestAnEmptyWindowIsNone(t *testing.T) {
	w, err := algorithm.NewCalendarWindow(5, 10, 20, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := algorithm.Moment{Now: 105, Start: 100, End: 120}
	for _, s := range []state{{}, {90, 110, 0}, {100, 120, 0}, {120, 140, 0}} {
		if remaining, reset := w.Level(s, m); remaining != 5 || reset != 0 || !w.Dead(s, m.Now) {
			t.Errorf("%v: %d left, reset after %d, dead %t", s, remaining, reset, w.Dead(s, m.Now))
		}
		if after, _ := w.Charge(s, m, 2); after != (state{100, 120, 2}) {
			t.Errorf("2 in %v make %v of it", s, after)
		}
	}
}

// The shortest of windows is packed like others.
func TestPackAWindowOfAMicrosecond(t *testing.T) {
	w, err := algorithm.NewFixedWindow(5, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := state{10, 11, 3}
	if a, b, ok := w.Pack(s); !ok || w.Unpack(a, b) != s {
		t.Errorf("%v is packed as %d, %d, %t", s, a, b, ok)
	}
}

// No units, and fewer than none, give nothing back, and where more is counted than may be
// forced by now, force counts nothing.
func TestOddUnitsOfAWindow(t *testing.T) {
	w, err := algorithm.NewFixedWindow(5, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := w.Moment(started, 0)
	if !ok {
		t.Fatal("it has no grid")
	}
	s, r := w.Charge(state{}, m, 4)
	for units, want := range map[int64]int64{math.MinInt64: 4, -1: 4, 0: 4, 1: 3, 3: 1} {
		if got := w.Refund(s, m, r, units); got[2] != want {
			t.Errorf("%d units back: %v, want %d counted", units, got, want)
		}
	}
	for _, counted := range []int64{9, 10, 11, 30} {
		s[2] = counted
		got, r := w.Force(s, m, 3)
		if more := max(0, 10-counted); got[2] != counted+more || r.Cost != more {
			t.Errorf("3 by force beside %d: %v, %+v", counted, got, r)
		}
	}
}

// The grid goes on before the epoch, and before its offset.
func TestGridBeforeTheEpoch(t *testing.T) {
	w, err := algorithm.NewFixedWindow(5, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	for now, start := range map[micros]micros{-11: -18, -9: -18, -8: -8, 1: -8, 2: 2, 11: 2, 12: 12} {
		if m, ok := w.Moment(now, 2); !ok || m.Start != start || m.End != start+10 {
			t.Errorf("at %d: %+v, want a start at %d", now, m, start)
		}
	}
}

// A calendar's window is packed where it is of whole seconds, below 49 days, and counts
// what fits; of no other state two words are made.
func TestPackCalendarWindows(t *testing.T) {
	w, err := algorithm.NewCalendarWindow(1<<40, 1_000_000, 1<<50, 0)
	if err != nil {
		t.Fatal(err)
	}
	const day, count = 86_400_000_000, 1<<32 - 1
	end := int64(started)
	f := func(s state, fits bool) {
		t.Helper()
		a, b, ok := w.Pack(s)
		if ok != fits || ok && w.Unpack(a, b) != s {
			t.Errorf("%v is packed as %d, %d, %t: %v", s, a, b, ok, w.Unpack(a, b))
		}
	}
	f(state{end - day, end, 1}, true)
	f(state{end - 1_000_000, end, 1}, true)
	f(state{end, end, 1}, false)
	f(state{end - (1<<22-1)*1_000_000, end, 1}, true)
	f(state{end - 1<<22*1_000_000, end, 1}, false)
	f(state{end - 1_000_000, end, count}, true)
	f(state{end - 48*day, end, count}, true)
	f(state{end - day, end, 1 << 40}, false)
	f(state{end - 490*day, end, 1}, false)
	f(state{end - day - 1, end, 1}, false)
	f(state{end - day, end, 1, 1}, false)
	f(state{end + day, end, 1}, false)
	f(state{end - day, end, -1}, false)
	f(state{-day, -1_000_000, 1}, false)
	f(state{}, false)
}
