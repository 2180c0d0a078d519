package algorithm_test

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// A charge is what a take was charged, and what of it came back.
type charge struct {
	now     micros
	used    int64
	receipt receipt // spent when its Cost is 0
}

// What was charged and never came back is no more than B + rate·t in any closed
// window of length t, when each receipt comes back once at most: at any age, in
// any order, in part.
func TestUseNeverGivenBackKeepsTheBound(t *testing.T) {
	d, returns, met := roll(2), 0, 0
	for range steps() / 200 {
		n, p, b := 1+d.Int64N(9), 1+d.Int64N(30), 1+d.Int64N(12)
		a, err := algorithm.NewTokenBucket(n, micros(p), b, 0)
		if err != nil {
			t.Fatal(err)
		}
		charges, back := chargeAndReturn(d, a, 2*p/n+3)
		returns += back
		for i, first := range charges {
			used := int64(0)
			for _, last := range charges[i:] {
				used += last.used
				room := b*p + int64(last.now-first.now)*n - used*p // in P-ths of a unit
				if room < 0 {
					t.Fatalf("%d per %d µs burst %d: %d units used from %d to %d:\n%+v", n, p, b, used, first.now, last.now, charges)
				}
				if room < p {
					met++
				}
			}
		}
	}
	if returns < steps()/100 || met < steps()/100 {
		t.Errorf("only %d returns, and the bound met %d times", returns, met)
	}
}

// chargeAndReturn draws a schedule of takes and returns.
func chargeAndReturn(d dice, a algorithm.Algorithm, pause int64) (charges []charge, returns int) {
	var s state
	for now, i := micros(1000), 0; i < 60; i++ {
		now += micros(d.Int64N(2) * d.Int64N(pause))
		if n := int64(len(charges)); n > 0 && d.Int64N(3) == 0 {
			c := &charges[n-1-d.Int64N(min(n, 8))]
			if c.receipt.Cost > 0 {
				units := 1 + d.Int64N(c.receipt.Cost)
				s = a.Refund(s, at(now), c.receipt, units)
				c.used, c.receipt = c.used-units, receipt{}
				returns++
			}
			continue
		}
		next, v, r := algorithm.Step(a, s, at(now), 1+d.Int64N(a.Capacity()))
		s = next
		if v.Allowed {
			charges = append(charges, charge{now, r.Cost, r})
		}
	}
	return charges, returns
}

// A state that is dead may be dropped: no later answer differs.
func TestDeadStatesMayBeDropped(t *testing.T) {
	d, dropped := roll(3), 0
	limits := append(everyday(t), window(t, "3 per 7us fixed-window"), window(t, "4 per 5us fixed-window spread"), window(t, "5/s fixed-window"))
	limits = append(limits, window(t, "3 per 7us sliding-window"), window(t, "4 per 5us sliding-window spread"), window(t, "5/s sliding-window"))
	limits = append(limits, queues(t)...)
	for range steps() / 200 {
		one, two := limits[d.Int64N(int64(len(limits)))], limits[d.Int64N(int64(len(limits)))]
		if one.ID() != two.ID() {
			two = one
		}
		dropped += dropDead(t, d, one, two)
	}
	if dropped < steps()/200 {
		t.Errorf("only %d states were dropped", dropped)
	}
}

// dropDead walks two states side by side, one of which is dropped whenever it
// may be.
func dropDead(t *testing.T, d dice, limits ...*weir.Limit) (dropped int) {
	t.Helper()
	w := newWalk(t, d, limits...)
	var kept, other state
	for range 60 {
		l := limits[d.Int64N(int64(len(limits)))]
		a := l.Algorithm()
		w.now += micros(d.Int64N(3) * d.Int64N(2*int64(w.unit)+2))
		w.now = min(w.now, algorithm.MaxMicros-1)
		if a.Dead(kept, w.now) != a.Dead(other, w.now) {
			t.Fatalf("%s at %d: one of %v and %v is dead", l, w.now, kept, other)
		}
		if a.Dead(other, w.now) && d.Int64N(2) == 0 {
			if other != (state{}) {
				dropped++
			}
			other = state{}
		}
		m := w.moment(l)
		left, _ := a.Level(kept, m)
		cost := w.cost(l, left)
		k, kv, kr := algorithm.Step(a, kept, m, cost)
		o, ov, or := algorithm.Step(a, other, m, cost)
		if d.Int64N(6) == 0 {
			k, kr = a.Force(k, m, cost)
			o, or = a.Force(o, m, cost)
		}
		kl, ks := a.Level(k, m)
		ol, os := a.Level(o, m)
		if kv != ov || kr != or || kl != ol || ks != os {
			t.Fatalf("%s: %d at %+v: %v says %+v %+v %d %d, and without it %+v %+v %d %d", l, cost, m, kept, kv, kr, kl, ks, ov, or, ol, os)
		}
		kept, other = k, o
	}
	return dropped
}

// Touch is the identity under the numbers that a state was written under, and
// leaves nothing to do for a second touch.
func TestTouchIsDoneOnce(t *testing.T) {
	d := roll(4)
	buckets, lines := everyday(t), queues(t)
	for range steps() / 10 {
		limits := buckets
		if d.Int64N(2) == 0 {
			limits = lines
		}
		one, two := limits[d.Int64N(int64(len(limits)))].Algorithm(), limits[d.Int64N(int64(len(limits)))].Algorithm()
		m := at(started + micros(d.Int64N(1_000_000)))
		s, _ := one.Charge(state{}, m, 1+d.Int64N(one.Capacity()))
		if one.Touch(s, m) != s {
			t.Fatalf("%+v: its own state %v is touched", one, s)
		}
		later := at(m.Now + micros(d.Int64N(1_000_000)))
		once := two.Touch(s, later)
		if two.Touch(once, later) != once {
			t.Fatalf("%+v: %v is touched twice", two, s)
		}
		left, _ := two.Level(s, later)
		after, _ := two.Level(once, later)
		if after > left || after < left-1 {
			t.Fatalf("%+v: a touch of %v turns %d units left into %d", two, s, left, after)
		}
	}
}

// A clock that runs back by years, under other numbers at any rate, frees
// nothing: also where what is owed is more units than can be counted.
func TestFarBackUnderOtherNumbers(t *testing.T) {
	d := roll(7)
	buckets, lines := append(everyday(t), atTheEdge(t)...), append(queues(t), queuesAtTheEdge(t)...)
	for range steps() / 20 {
		limits := buckets
		if d.Int64N(2) == 0 {
			limits = lines
		}
		one, two := limits[d.Int64N(int64(len(limits)))].Algorithm(), limits[d.Int64N(int64(len(limits)))].Algorithm()
		s, _ := one.Charge(state{}, at(started), one.Capacity())
		back := started - micros(d.Int64N(int64(started)))
		owed, _ := one.Level(s, at(back))
		left, _ := two.Level(two.Touch(s, at(back)), at(back))
		if owed != 0 || left > max(0, two.Capacity()-one.Capacity()) {
			t.Fatalf("%+v emptied, %d µs back: %d units are left, and %d under %+v", one, started-back, owed, left, two)
		}
		charged, r := two.Force(two.Touch(s, at(back)), at(back), 1)
		if after, _ := two.Level(charged, at(back)); r.Cost > 0 && after > left {
			t.Fatalf("%+v, state %v: %d units left, and %d after one more", two, s, left, after)
		}
	}
}

func TestFamilies(t *testing.T) {
	b, w, s := everyday(t)[0].Algorithm(), window(t, "3/s fixed-window").Algorithm(), window(t, "3/s sliding-window").Algorithm()
	if b.Family() != algorithm.TokenBucketFamily || w.Family() != algorithm.FixedWindowFamily || s.Family() != algorithm.SlidingWindowFamily {
		t.Errorf("families %c, %c and %c", b.Family(), w.Family(), s.Family())
	}
	calendar, err := algorithm.NewCalendarWindow(3, 9, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := calendar.Moment(started, 0); ok {
		t.Errorf("a calendar has a grid of its own: %+v", m)
	}
	q := queues(t)[0].Algorithm()
	if q.Family() != algorithm.LeakyBucketFamily {
		t.Errorf("family %c", q.Family())
	}
	for _, a := range []algorithm.Algorithm{b, w, s, q} {
		s, _ := a.Charge(state{}, algorithm.Moment{Now: 5, Start: 0, End: 10}, 1)
		if same, r := a.Charge(s, algorithm.Moment{Now: 5, Start: 0, End: 10}, 0); same != s || r != (receipt{}) {
			t.Errorf("%T: a charge of nothing makes %v of %v", a, same, s)
		}
	}
}

// A count of another grid goes on in the current window, whether the state has
// been touched or not; and what comes back in full leaves nothing.
func TestWindowStates(t *testing.T) {
	w, err := algorithm.NewFixedWindow(5, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := func(before state, m algorithm.Moment, cost int64, want state) {
		t.Helper()
		got, r := w.Charge(before, m, cost)
		if touched, _ := w.Charge(w.Touch(before, m), m, cost); got != want || touched != want {
			t.Errorf("%v, charged %d at %+v: got %v, and touched before %v, want %v", before, cost, m, got, touched, want)
		}
		if back := w.Refund(got, m, r, cost); want[2] == cost && back != (state{}) {
			t.Errorf("%v is left of %v when all comes back", back, got)
		}
	}
	m := algorithm.Moment{Now: 105, Start: 100, End: 110}
	f(state{}, m, 2, state{100, 110, 2})
	f(state{100, 110, 1}, m, 2, state{100, 110, 3})
	f(state{90, 100, 4}, m, 2, state{100, 110, 2})
	f(state{110, 120, 1}, m, 2, state{110, 120, 3}) // the clock ran back
	f(state{96, 112, 1}, m, 2, state{100, 110, 3})  // another grid
	f(state{109, 112, 1}, m, 2, state{100, 110, 3}) // one that begins later, and overlaps
}

// A dearer cost never passes where a cheaper one does not, nor earlier.
func TestCostIsMonotone(t *testing.T) {
	d := roll(5)
	for _, l := range append(append(everyday(t), queues(t)...), window(t, "9/s fixed-window"), window(t, "9/s sliding-window")) {
		a := l.Algorithm()
		w := newWalk(t, d, l)
		for range steps() / 200 {
			w.run(1)
			m := w.moment(l)
			cost := d.Int64N(l.Capacity() + 2)
			cheap, dear := a.Judge(w.states[l.ID()], m, cost), a.Judge(w.states[l.ID()], m, cost+1+d.Int64N(3))
			if dear.Allowed && !cheap.Allowed || cheap.Never && !dear.Never || !dear.Never && dear.RetryAfter < cheap.RetryAfter {
				t.Fatalf("%s, state %v: %d gives %+v, and more %+v", l, w.states[l.ID()], cost, cheap, dear)
			}
		}
	}
}

// Admit is Judge, Charge and Level in one.
func TestAdmitIsAStep(t *testing.T) {
	d := roll(7)
	outcomes := map[algorithm.Verdict]int{}
	for _, l := range everyday(t) {
		b, ok := l.Algorithm().(*algorithm.TokenBucket)
		if !ok {
			continue
		}
		var s state
		for now, i := started, 0; i < 500; i++ {
			now += micros(d.Int64N(l.Spec().Period.Microseconds()/2+2)) - 1
			m, cost := algorithm.Moment{Now: now}, 1+d.Int64N(l.Capacity()+1)
			if d.Int64N(2) == 0 {
				cost = 1
			}
			next, want, receipt := algorithm.Step(b, s, m, cost)
			remaining, reset := b.Level(next, m)
			whole, rest, v, left, over := b.Admit(s[0], s[1], now, cost)
			got := s
			if v.Allowed {
				got = b.Unpack(uint64(whole), uint64(rest))
				n, p := b.Numbers()
				if receipt != (algorithm.Receipt{At: now, Cost: cost, Numbers: [2]int64{n, p}}) {
					t.Fatalf("%s: receipt %+v, numbers %d %d", l, receipt, n, p)
				}
			} else if whole != s[0] || rest != s[1] {
				t.Fatalf("%s: a refusal leaves %d %d of %v", l, whole, rest, s)
			}
			if got != next || v != want || left != remaining || over != reset {
				t.Fatalf("%s, state %v, %d at %d: %v %+v %d %d, want %v %+v %d %d", l, s, cost, now, got, v, left, over, next, want, remaining, reset)
			}
			outcomes[algorithm.Verdict{Allowed: v.Allowed, Never: v.Never}]++
			s = next
		}
	}
	if len(outcomes) != 3 {
		t.Errorf("not every kind of verdict was met: %v", outcomes)
	}
}

func TestAllocationsOfStep(t *testing.T) {
	for _, l := range append(append(everyday(t), queues(t)...), window(t, "9/s fixed-window"), window(t, "9/s sliding-window")) {
		a, m := l.Algorithm(), algorithm.Moment{Now: started, Start: started - 5, End: started + 5}
		var s state
		if n := testing.AllocsPerRun(100, func() {
			next, _, r := algorithm.Step(a, s, m, 1)
			s = a.Refund(next, m, r, 1)
			a.Level(s, m)
		}); n != 0 {
			t.Errorf("%s: %v allocations a step", l, n)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	for _, text := range []string{"5/s burst 5", "999983/h burst 50", "1000000000/s burst 1000"} {
		b.Run(text, func(b *testing.B) {
			a := window(b, text).Algorithm().(*algorithm.TokenBucket)
			var whole, rest int64
			b.ReportAllocs()
			for b.Loop() {
				whole, rest, _, _, _ = a.Admit(whole, rest, started, 1)
			}
		})
	}
}

func BenchmarkStep(b *testing.B) {
	for _, text := range []string{"5/s burst 5", "999983/h burst 50", "1000/min fixed-window", "1000/min sliding-window", "10/s leaky-bucket wait 1s"} {
		b.Run(text, func(b *testing.B) {
			a := window(b, text).Algorithm()
			m := algorithm.Moment{Now: started, Start: started - started%60_000_000}
			m.End = m.Start + 60_000_000
			var s state
			b.ReportAllocs()
			for b.Loop() {
				s, _, _ = algorithm.Step(a, s, m, 1)
				m.Now += 100_000
			}
		})
	}
}
