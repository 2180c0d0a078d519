package algorithm_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

// smallSliding are all sliding windows of up to 4 units per up to 6 µs.
func smallSliding(t *testing.T, visit func(limit int64, period micros, w *algorithm.SlidingWindow)) {
	t.Helper()
	for limit := int64(1); limit <= 4; limit++ {
		for period := micros(1); period <= 6; period++ {
			visit(limit, period, sliding(t, limit, period, 0))
		}
	}
}

// grid places instants in a limit's windows, with an offset.
func grid(w *algorithm.SlidingWindow, offset micros) func(micros) algorithm.Moment {
	return func(now micros) algorithm.Moment {
		m, _ := w.Moment(now, offset)
		return m
	}
}

// RetryAfter of a sliding window is the first instant at which a cost passes, and
// it passes at every one after that: in every state that takes and settlements
// under this or another limit of the period can lead to, for every cost and at
// every instant, earlier ones included.
func TestRetryAfterOfSlidingWindows(t *testing.T) {
	refusals := 0
	smallSliding(t, func(limit int64, period micros, w *algorithm.SlidingWindow) {
		for _, before := range []int64{1, 3, 5} {
			old := sliding(t, before, period, before+2)
			for _, offset := range []micros{0, period / 2} {
				moment := grid(w, offset)
				for s, written := range reachable(old, moment, 2*period) {
					for cost := range limit + 1 {
						refusals += passesFrom(t, w, s, moment, written, cost)
					}
				}
			}
		}
	})
	if refusals < 50_000 {
		t.Errorf("only %d refusals were looked at", refusals)
	}
}

// In t consecutive µs at most L + floor(L·(t-1)/P) units pass; and L +
// floor(L·(t-2)/P) of them can, for t up to P + 1.
func TestWorstAdmissionOfSlidingWindow(t *testing.T) {
	met := 0
	smallSliding(t, func(limit int64, period micros, w *algorithm.SlidingWindow) {
		var worst [17]int64
		for phase := range period {
			for i, got := range most(w, grid(w, 0), 100+phase, 16) {
				worst[i] = max(worst[i], got)
			}
		}
		for i := int64(1); i < int64(len(worst)); i++ {
			bound := limit + limit*(i-1)/int64(period)
			if said := w.Most(micros(i)); said != bound || worst[i] > bound {
				t.Errorf("%d per %d µs: %d pass in %d µs, Most says %d, want %d", limit, period, worst[i], i, said, bound)
			}
			if exact := limit + limit*(i-2)/int64(period); i >= 2 && i <= int64(period)+1 && worst[i] != exact {
				t.Errorf("%d per %d µs: %d pass in %d µs, want %d", limit, period, worst[i], i, exact)
			}
			if worst[i] == bound {
				met++
			}
		}
	})
	if met < 50 {
		t.Errorf("the bound is met %d times only", met)
	}
}

// An admission is units that passed, and the latest of the readings at which any
// have: by that clock the bound holds.
type admission struct {
	latest micros
	units  int64
}

// checkBound holds every closed stretch of t µs against L + floor(L·t/P). It gives
// how often that was met.
func checkBound(t *testing.T, limit int64, period micros, list []admission) (met int) {
	t.Helper()
	for i, first := range list {
		sum := int64(0)
		for _, last := range list[i:] {
			sum += last.units
			room := limit + limit*int64(last.latest-first.latest)/int64(period) - sum
			if room < 0 {
				t.Fatalf("%d per %d µs: %d units from %d to %d", limit, period, sum, first.latest, last.latest)
			}
			if room == 0 {
				met++
			}
		}
	}
	return met
}

// The bound holds whatever the readings of the clock are, where each stands at
// least at the latest at which something passed; and in a grid that moves, as it
// does for a key that comes out of a cell shared with others.
func TestSlidingBoundUnderAnyClock(t *testing.T) {
	d, met := roll(11), 0
	for range steps() / 400 {
		limit, period := 1+d.Int64N(9), micros(1+d.Int64N(12))
		w := sliding(t, limit, period, 0)
		var s state
		var list []admission
		now, latest, offset := micros(1000), micros(0), micros(0)
		for range 200 {
			now = max(1, now+micros(d.Int64N(int64(period)+2)-d.Int64N(int64(period)+1)))
			if d.Int64N(20) == 0 {
				offset = micros(d.Int64N(int64(period)))
			}
			next, v, r := algorithm.Step(w, s, grid(w, offset)(now), 1+d.Int64N(limit))
			s = next
			if v.Allowed {
				latest = max(latest, now)
				list = append(list, admission{latest, r.Cost})
			}
		}
		met += checkBound(t, limit, period, list)
	}
	if met < steps()/400 {
		t.Errorf("the bound is met %d times only", met)
	}
}

// What was charged and never came back keeps the bound in any closed stretch: at
// whatever age receipts come back, in any order, in part.
func TestSlidingUseNeverGivenBackKeepsTheBound(t *testing.T) {
	d, met, returns := roll(12), 0, 0
	for range steps() / 400 {
		limit, period := 1+d.Int64N(9), micros(1+d.Int64N(12))
		w := sliding(t, limit, period, 0)
		var s state
		var list []admission
		var receipts []receipt
		for now, i := micros(1000), 0; i < 100; i++ {
			now += micros(d.Int64N(2) * d.Int64N(int64(period)+2))
			m := grid(w, 0)(now)
			if n := int64(len(receipts)); n > 0 && d.Int64N(3) == 0 {
				j := n - 1 - d.Int64N(min(n, 8))
				if r := receipts[j]; r.Cost > 0 {
					units := 1 + d.Int64N(r.Cost)
					s = w.Refund(s, m, r, units)
					list[j].units, receipts[j] = list[j].units-units, receipt{}
					returns++
				}
				continue
			}
			next, v, r := algorithm.Step(w, s, m, 1+d.Int64N(limit))
			s = next
			if v.Allowed {
				list, receipts = append(list, admission{now, r.Cost}), append(receipts, r)
			}
		}
		met += checkBound(t, limit, period, list)
	}
	if met < steps()/400 || returns < steps()/50 {
		t.Errorf("only %d returns, and the bound met %d times", returns, met)
	}
}

// What is forced leaves no more than the overdraft, and no whole unit of it that
// was asked for.
func TestSlidingOverdraft(t *testing.T) {
	d := roll(13)
	for range steps() / 100 {
		limit, period := 1+d.Int64N(9), micros(1+d.Int64N(12))
		w := sliding(t, limit, period, limit+d.Int64N(9))
		all := sliding(t, w.Overdraft(), period, 0) // tells how far it is to the overdraft
		var s state
		now := micros(1000)
		for range 20 {
			now += micros(d.Int64N(int64(period) + 2))
			m := grid(w, 0)(now)
			before, _ := all.Level(s, m)
			cost := 1 + d.Int64N(2*limit)
			next, r := w.Force(s, m, cost)
			after, _ := all.Level(next, m)
			if r.Cost != min(cost, before) || after != before-r.Cost || r.Cost == 0 && next != s {
				t.Fatalf("%+v, state %v at %d: %d of %d charged, %d left to the overdraft, then %d", w, s, now, r.Cost, cost, before, after)
			}
			s = next
		}
	}
}

// What stands in a state, from step to step.
func TestSlidingStates(t *testing.T) {
	w := sliding(t, 5, 10, 9)
	f := func(before state, now micros, cost int64, want state) {
		t.Helper()
		m := grid(w, 0)(now)
		got, r := w.Charge(before, m, cost)
		if touched := w.Touch(before, m); got != want || touched != before {
			t.Errorf("%v, charged %d at %d: got %v, want %v; touched it is %v", before, cost, now, got, want, touched)
		}
		if back := w.Refund(got, m, r, cost); want[2] == cost && want[3] == 0 && back != (state{}) {
			t.Errorf("%v is left of %v when all comes back", back, got)
		}
	}
	f(state{}, 105, 2, state{100, 110, 2, 0})
	f(state{100, 110, 1, 3}, 105, 2, state{100, 110, 3, 3})
	f(state{90, 100, 4, 3}, 105, 1, state{100, 110, 1, 4})
	f(state{90, 100, 0, 3}, 105, 1, state{100, 110, 1, 0})
	f(state{80, 90, 4, 3}, 105, 1, state{100, 110, 1, 0})
	f(state{110, 120, 1, 3}, 105, 1, state{110, 120, 2, 3}) // the clock ran back
	f(state{110, 120, 0, 1}, 95, 1, state{110, 120, 1, 1})
	f(state{97, 107, 1, 2}, 105, 1, state{97, 107, 2, 2}) // another grid, kept
	f(state{93, 103, 1, 2}, 105, 1, state{103, 113, 1, 1})
	f(state{83, 93, 1, 2}, 105, 1, state{100, 110, 1, 0})   // and left when it is over
	f(state{100, 120, 3, 2}, 105, 1, state{100, 110, 1, 0}) // another period

	back := func(s state, start, end, cost, units int64, want state) {
		t.Helper()
		r := receipt{At: micros(start), Cost: cost, Numbers: [2]int64{start, end}}
		if got := w.Refund(s, algorithm.Moment{Now: 105}, r, units); got != want {
			t.Errorf("%v, and %d of %+v back: got %v, want %v", s, units, r, got, want)
		}
	}
	back(state{100, 110, 3, 2}, 100, 110, 2, 2, state{100, 110, 1, 2})
	back(state{100, 110, 3, 2}, 100, 110, 2, 9, state{100, 110, 1, 2})
	back(state{100, 110, 3, 2}, 90, 100, 2, 1, state{100, 110, 3, 1})
	back(state{100, 110, 3, 2}, 90, 100, 9, 9, state{100, 110, 3, 0})
	back(state{100, 110, 3, 0}, 100, 110, 3, 3, state{})
	back(state{100, 110, 0, 2}, 90, 100, 2, 2, state{})
	back(state{100, 110, 3, 2}, 80, 90, 2, 2, state{100, 110, 3, 2})
	back(state{100, 110, 3, 2}, 110, 120, 2, 2, state{100, 110, 3, 2})
	back(state{100, 110, 3, 2}, 100, 120, 2, 2, state{100, 110, 3, 2}) // of another period
	back(state{100, 110, 3, 2}, 99, 109, 2, 2, state{100, 110, 3, 2})
	back(state{100, 110, 3, 2}, 100, 110, 2, 0, state{100, 110, 3, 2})
	back(state{100, 110, 3, 2}, 100, 110, -2, 2, state{100, 110, 3, 2})
	back(state{}, 100, 110, 2, 2, state{})

	dead := func(s state, from micros) {
		t.Helper()
		for now := micros(1); now < 200; now++ {
			if got := w.Dead(s, now); got != (now >= from) {
				t.Errorf("%v at %d: dead is %t", s, now, got)
			}
		}
	}
	dead(state{}, 1)
	dead(state{100, 110, 1, 0}, 120)
	dead(state{100, 110, 1, 7}, 120)
	dead(state{100, 110, 0, 7}, 110)
	dead(state{100, 110, 0, 0}, 1)
	dead(state{100, 120, 5, 5}, 1)
}

// What is written is packed and made again, but for counts beyond 134 million; and so
// are any other words, or they are not packed.
func TestSlidingPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int64{5, 1<<27 - 1, 1 << 27}).Draw(t, "limit")
		w := sliding(t, limit, 60_000_000, limit)
		now := micros(rapid.Int64Range(1, int64(algorithm.MaxMicros)-60_000_001).Draw(t, "now"))
		m := grid(w, 0)(now)
		s, _ := w.Charge(state{}, m, limit)
		if checkPack(t, w, s) != (limit < 1<<27) {
			t.Fatalf("%v is packed, or is not", s)
		}
		s, _ = w.Force(s, grid(w, 0)(now+60_000_000), limit)
		if checkPack(t, w, s) != (limit < 1<<27) {
			t.Fatalf("%v is packed, or is not", s)
		}
		word := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2), rapid.Int64Range(0, 1<<54))
		end := word.Draw(t, "end")
		start := rapid.SampledFrom([]int64{end - 60_000_000, word.Draw(t, "start")}).Draw(t, "length")
		checkPack(t, w, state{start, end, word.Draw(t, "count"), word.Draw(t, "before")})
		for _, s := range []state{{0, 60_000_000, 1 << 37, 1}, {0, 60_000_000, 1, 1 << 27}, {1<<54 - 1, 1<<54 + 59_999_999, 1, 1}, {-60_000_000, 0, 1, -1}} {
			if checkPack(t, w, s) {
				t.Fatalf("%v is packed", s)
			}
		}
	})
}

// Most goes on as found for short spans, up to where int64 ends; and a state lives
// at most as long as Pins says.
func TestSlidingMostAndPins(t *testing.T) {
	f := func(w *algorithm.SlidingWindow, span micros, want int64) {
		t.Helper()
		if got := w.Most(span); got != want {
			t.Errorf("%+v: Most(%d) is %d, want %d", w, span, got, want)
		}
	}
	slow, fast := sliding(t, 5, 1_000_000, 0), sliding(t, 1<<50, 4, 0)
	for _, span := range []micros{math.MinInt64, -1, 0} {
		f(slow, span, 0)
	}
	f(slow, 1, 5)
	f(slow, 200_000, 5)
	f(slow, 200_001, 6)
	f(slow, math.MaxInt64, 5+(math.MaxInt64-1)/200_000)
	f(fast, 2, 1<<50+1<<48)
	f(fast, 1+4*8190, 8191<<50)
	f(fast, 1+4*8191, math.MaxInt64)
	f(fast, math.MaxInt64, math.MaxInt64)
	smallSliding(t, func(limit int64, period micros, w *algorithm.SlidingWindow) {
		longest := micros(0)
		for phase := range period {
			for _, cost := range []int64{1, limit} {
				m := grid(w, 0)(100 + phase)
				s, _ := w.Charge(state{}, m, cost)
				lives := micros(0)
				for !w.Dead(s, m.Now+lives) {
					lives++
				}
				longest = max(longest, lives)
			}
		}
		if one, full := w.Pins(); one != longest || full != longest {
			t.Errorf("%d per %d µs: pins of %d and %d, and the longest life is %d", limit, period, one, full, longest)
		}
	})
}
