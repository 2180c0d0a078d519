package algorithm_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

// smallQueues are all queues of up to 4 units per up to 6 µs with every bound that
// lets no more than 4 pass at once.
func smallQueues(visit func(n, p, wait, places int64, a *algorithm.LeakyBucket)) {
	for n := int64(1); n <= 4; n++ {
		for p := int64(1); p <= 6; p++ {
			for wait := range int64(9) {
				for places := range int64(4) {
					if a, err := algorithm.NewLeakyBucket(n, micros(p), micros(wait), places, 0); err == nil && a.Capacity() <= 4 {
						visit(n, p, wait, places, a)
					}
				}
			}
		}
	}
}

// RetryAfter is the first instant at which a cost passes, and it passes at every
// one after that.
func TestRetryAfterOfQueuesAtEveryInstant(t *testing.T) {
	refusals := 0
	smallQueues(func(_, _, _, _ int64, a *algorithm.LeakyBucket) {
		for s, written := range reachable(a, at, 3) {
			for cost := range a.Capacity() + 1 {
				refusals += passesFrom(t, a, s, at, written, cost)
			}
		}
	})
	if refusals < 50_000 {
		t.Errorf("only %d refusals were looked at", refusals)
	}
}

// The same for a state that was written under other numbers: as a peek finds it,
// and as the first take leaves it.
func TestRetryAfterOfQueuesUnderOtherNumbers(t *testing.T) {
	refusals := 0
	for _, before := range [][4]int64{{1, 5, 11, 0}, {3, 7, 0, 3}, {5, 2, 1, 0}, {1, 1, 2, 2}} {
		old, err := algorithm.NewLeakyBucket(before[0], micros(before[1]), micros(before[2]), before[3], 0)
		if err != nil {
			t.Fatal(err)
		}
		states := reachable(old, at, 2)
		smallQueues(func(_, _, _, _ int64, a *algorithm.LeakyBucket) {
			for s, written := range states {
				for cost := range a.Capacity() + 1 {
					refusals += passesFrom(t, a, s, at, written, cost)
					refusals += passesFrom(t, a, a.Touch(s, at(written+1)), at, written, cost)
				}
			}
		})
	}
	if refusals < 50_000 {
		t.Errorf("only %d refusals were looked at", refusals)
	}
}

// mostGo is the most units that go on within so many consecutive instants, with
// costs up to some: whatever is asked for at each instant from well before.
func mostGo(a algorithm.Algorithm, costs int64, instants micros) int64 {
	const lead = 12 // longer than anybody waits here, so that any part of a µs may be left
	from := micros(100 + lead)
	sums, most := map[state]int64{{}: 0}, int64(0)
	for now := from - lead; now < from+instants; now++ {
		next := map[state]int64{}
		for s, sum := range sums {
			offer(a, costs, s, sum, now, from, from+instants, next)
		}
		sums = next
	}
	for _, sum := range sums {
		most = max(most, sum)
	}
	return most
}

// offer takes any costs at one instant, and adds what goes on in [from, to).
func offer(a algorithm.Algorithm, costs int64, s state, sum int64, now, from, to micros, reached map[state]int64) {
	if known, ok := reached[s]; ok && known >= sum {
		return
	}
	reached[s] = sum
	for cost := int64(1); cost <= min(costs, a.Capacity()); cost++ {
		v := a.Judge(s, at(now), cost)
		if !v.Allowed {
			return
		}
		charged, _ := a.Charge(s, at(now), cost)
		more := int64(0)
		if goes := now + v.Delay; from <= goes && goes < to {
			more = cost
		}
		offer(a, costs, charged, sum+more, now, from, to, reached)
	}
}

// In t consecutive µs at most Capacity + floor((t·N - 1)/P) units go on, and single
// ones at most 1 + floor((t·N - 1)/P).
func TestWorstDeparture(t *testing.T) {
	met, single := 0, 0
	smallQueues(func(n, p, wait, places int64, a *algorithm.LeakyBucket) {
		for i := int64(1); i <= 9; i++ {
			want := a.Capacity() + (i*n-1)/p
			if said := a.Most(micros(i)); said != want {
				t.Errorf("%d per %d µs: Most(%d) is %d, want %d", n, p, i, said, want)
			}
			got, alone := mostGo(a, math.MaxInt64, micros(i)), mostGo(a, 1, micros(i))
			if got > want || alone > 1+(i*n-1)/p {
				t.Errorf("%d per %d µs wait %d queue %d: %d go on in %d µs, %d of them one by one; want %d at most", n, p, wait, places, got, i, alone, want)
			}
			if got == want {
				met++
			}
			if alone == 1+(i*n-1)/p {
				single++
			}
		}
	})
	if met < 500 || single < 1000 {
		t.Errorf("the bounds are met %d and %d times only", met, single)
	}
}

func TestMostOfQueuesIsCut(t *testing.T) {
	b, err := algorithm.NewLeakyBucket(1<<20, 1, 0, 6, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := func(span micros, want int64) {
		t.Helper()
		if got := b.Most(span); got != want {
			t.Errorf("Most(%d) is %d, want %d", span, got, want)
		}
	}
	f(math.MinInt64, 0)
	f(0, 0)
	f(1, 7+1<<20-1)
	f(1<<42, 7+1<<62-1)
	f(1<<43-1, 7+(1<<43-1)<<20-1)
	f(1<<43, math.MaxInt64)
	f(math.MaxInt64, math.MaxInt64)
}

// A line is a leaky bucket once more, as people who stand in one: slow, in
// rationals, and without an arithmetic of what is owed.
type line struct {
	unit    *big.Rat // the time of one
	longest *big.Rat // the longest wait, nil for none
	places  int64    // 0 for any number
	people  []*person
}

// A person is so many units that have asked together.
type person struct {
	goes    *big.Rat
	units   int64
	receipt receipt
}

// ends is when the last one has gone, and the time of his units after him.
func (l *line) ends(now micros) *big.Rat {
	at := new(big.Rat).SetInt64(int64(now))
	for _, p := range l.people {
		if end := p.end(l.unit); end.Cmp(at) > 0 {
			at = end
		}
	}
	return at
}

func (p *person) end(unit *big.Rat) *big.Rat {
	return new(big.Rat).Add(p.goes, new(big.Rat).Mul(unit, new(big.Rat).SetInt64(p.units)))
}

// holds reports whether so many would be let into the line, were each a person.
func (l *line) holds(now micros, units int64) bool {
	at := l.ends(now)
	for range units {
		waits := new(big.Rat).Sub(at, new(big.Rat).SetInt64(int64(now)))
		before := new(big.Rat).Quo(waits, l.unit)
		if l.longest != nil && waits.Cmp(l.longest) > 0 || l.places > 0 && before.Cmp(new(big.Rat).SetInt64(l.places)) > 0 {
			return false
		}
		at.Add(at, l.unit)
	}
	return true
}

// judge looks at one instant after the other.
func (l *line) judge(now micros, units int64) (v algorithm.Verdict) {
	for !l.holds(now+v.RetryAfter, units) {
		v.RetryAfter++
	}
	if v.Allowed = v.RetryAfter == 0; v.Allowed {
		waits := new(big.Rat).Sub(l.ends(now), new(big.Rat).SetInt64(int64(now)))
		for waits.Cmp(new(big.Rat).SetInt64(int64(v.Delay))) > 0 {
			v.Delay++
		}
	}
	return v
}

func (l *line) join(now micros, units int64, r receipt) {
	l.people = append(l.people, &person{goes: l.ends(now), units: units, receipt: r})
}

// leave lets units of a person go home, if he stands last and they have not gone.
func (l *line) leave(now micros, p *person, units int64) {
	last := l.people[len(l.people)-1]
	if p != last || last.end(l.unit).Cmp(new(big.Rat).SetInt64(int64(now))) <= 0 {
		return
	}
	if p.units -= units; p.units == 0 {
		l.people = l.people[:len(l.people)-1]
	}
}

// room is how many the line would still hold.
func (l *line) room(now micros) (n int64) {
	for l.holds(now, n+1) {
		n++
	}
	return n
}

// The algorithm says what a line of people says, however they come and leave.
func TestLeakyBucketIsALine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.Int64Range(1, 12).Draw(t, "count"), rapid.Int64Range(1, 40).Draw(t, "period")
		wait, places := rapid.Int64Range(0, 90).Draw(t, "wait"), rapid.Int64Range(0, 8).Draw(t, "queue")
		if wait == 0 {
			places = max(1, places)
		}
		a, err := algorithm.NewLeakyBucket(n, micros(p), micros(wait), places, 0)
		if err != nil {
			t.Fatal(err)
		}
		l := &line{unit: big.NewRat(p, n), places: places}
		if wait > 0 {
			l.longest = big.NewRat(wait, 1)
		}
		var s state
		var paid []*person
		now := started
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += micros(rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 7, 20, 100}).Draw(t, "pause"))
			if len(paid) > 0 && rapid.IntRange(0, 3).Draw(t, "leaves") == 0 {
				i := rapid.IntRange(max(0, len(paid)-3), len(paid)-1).Draw(t, "who")
				units := rapid.Int64Range(1, paid[i].receipt.Cost).Draw(t, "of his units")
				s = a.Refund(s, at(now), paid[i].receipt, units)
				if len(l.people) > 0 {
					l.leave(now, paid[i], units)
				}
				paid = append(paid[:i], paid[i+1:]...)
			} else {
				cost := rapid.Int64Range(1, a.Capacity()).Draw(t, "units")
				after, v, r := algorithm.Step(a, s, at(now), cost)
				if want := l.judge(now, cost); v != want {
					t.Fatalf("%d at %d, state %v: got %+v, want %+v", cost, now, s, v, want)
				}
				if s = after; v.Allowed {
					l.join(now, cost, r)
					paid = append(paid, l.people[len(l.people)-1])
				}
			}
			if left, _ := a.Level(s, at(now)); left != l.room(now) {
				t.Fatalf("at %d, state %v: %d are left, want %d", now, s, left, l.room(now))
			}
		}
	})
}

// What goes on keeps c·T to what goes on after it, whichever way the clock runs;
// and who is told a delay is told less than a µs too much, and no more than wait.
func TestDeparturesKeepApart(t *testing.T) {
	d, held := roll(12), 0
	reached := 0
	for range steps() / 200 {
		n, p, wait, places := 1+d.Int64N(9), 1+d.Int64N(30), d.Int64N(60), d.Int64N(9)
		a, err := algorithm.NewLeakyBucket(n, micros(p), micros(wait), places, 0)
		if err != nil {
			continue
		}
		var s state
		last := new(big.Rat)
		for now, i := micros(1000), 0; i < 60; i++ {
			now += micros(d.Int64N(2)*d.Int64N(2*p/n+3)) - micros(d.Int64N(8)/7*d.Int64N(20))
			cost := 1 + d.Int64N(a.Capacity())
			after, v, r := algorithm.Step(a, s, at(now), cost)
			if s = after; !v.Allowed {
				continue
			}
			goes := new(big.Rat).Add(big.NewRat(int64(r.At), 1), big.NewRat(r.Rest, r.Numbers[0]))
			late := new(big.Rat).Sub(big.NewRat(int64(now+v.Delay), 1), goes)
			if late.Sign() < 0 || late.Cmp(big.NewRat(1, 1)) >= 0 || v.Delay > a.Longest() || wait > 0 && v.Delay > micros(wait) {
				t.Fatalf("%d per %d µs wait %d queue %d: at %d a delay of %d for a departure at %v", n, p, wait, places, now, v.Delay, goes)
			}
			if goes.Cmp(last) < 0 {
				t.Fatalf("%d per %d µs wait %d queue %d: a departure at %v, and the one before leaves no place until %v", n, p, wait, places, goes, last)
			}
			last = new(big.Rat).Add(goes, big.NewRat(cost*p, n))
			if v.Delay > 0 {
				held++
			}
			if v.Delay == a.Longest() {
				reached++
			}
		}
	}
	if held < steps()/100 || reached < steps()/500 {
		t.Errorf("only %d were held, %d of them for the longest time", held, reached)
	}
}
