package algorithm_test

import (
	"maps"
	"testing"

	"github.com/weirhq/weir/algorithm"
)

// small are all buckets of up to 4 units per up to 6 µs with a burst of up to 4.
func small(visit func(n, p, b int64, a *algorithm.TokenBucket)) {
	for n := int64(1); n <= 4; n++ {
		for p := int64(1); p <= 6; p++ {
			for b := int64(1); b <= 4; b++ {
				if a, err := algorithm.NewTokenBucket(n, micros(p), b, 2*b); err == nil {
					visit(n, p, b, a)
				}
			}
		}
	}
}

// reachable are all states that takes and settlements within a few µs can lead
// to, by the instant at which they were written.
func reachable(a algorithm.Algorithm, moment func(micros) algorithm.Moment, span micros) map[state]micros {
	states := map[state]micros{{}: 100}
	for now := micros(100); now < 100+span; now++ {
		m, next := moment(now), map[state]micros{}
		for s := range states {
			for cost := int64(1); cost <= a.Overdraft(); cost++ {
				if a.Judge(s, m, cost).Allowed {
					charged, _ := a.Charge(s, m, cost)
					next[charged] = now
				}
				forced, _ := a.Force(s, m, cost)
				next[forced] = now
			}
		}
		maps.Copy(states, next)
	}
	return states
}

// at places an instant for algorithms without windows.
func at(now micros) algorithm.Moment { return algorithm.Moment{Now: now} }

// RetryAfter is the first instant at which a cost passes, and it passes at every
// one after that; in every reachable state of every small bucket, for every cost
// and at every instant, earlier ones included.
func TestRetryAfterAtEveryInstant(t *testing.T) {
	refusals := 0
	small(func(n, p, b int64, a *algorithm.TokenBucket) {
		for s, written := range reachable(a, at, 4) {
			for cost := range b + 1 {
				refusals += passesFrom(t, a, s, at, written, cost)
			}
		}
	})
	for limit := int64(1); limit <= 3; limit++ {
		for period := int64(1); period <= 6; period++ {
			w, err := algorithm.NewFixedWindow(limit, micros(period), 2*limit)
			if err != nil {
				t.Fatal(err)
			}
			for offset := range micros(period) {
				moment := func(now micros) algorithm.Moment {
					m, _ := w.Moment(now, offset)
					return m
				}
				for s, written := range reachable(w, moment, 4) {
					for cost := range limit + 1 {
						refusals += passesFrom(t, w, s, moment, written, cost)
					}
				}
			}
		}
	}
	if refusals < 50_000 {
		t.Errorf("only %d refusals were looked at", refusals)
	}
}

// The same for a state that was written under other numbers: as a peek finds it,
// and as the first take leaves it.
func TestRetryAfterUnderOtherNumbers(t *testing.T) {
	refusals := 0
	for _, before := range [][3]int64{{1, 5, 3}, {3, 7, 4}, {5, 2, 4}, {1, 1, 3}} {
		old, err := algorithm.NewTokenBucket(before[0], micros(before[1]), before[2], 0)
		if err != nil {
			t.Fatal(err)
		}
		states := reachable(old, at, 2)
		small(func(_, _, b int64, a *algorithm.TokenBucket) {
			for s, written := range states {
				for cost := range b + 1 {
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

// passesFrom finds by trying when a cost first passes, and wants every refusal
// around that to say so.
func passesFrom(t *testing.T, a algorithm.Algorithm, s state, moment func(micros) algorithm.Moment, written micros, cost int64) (refusals int) {
	t.Helper()
	const around = 60
	first, verdicts := micros(0), [around]algorithm.Verdict{}
	for i := around - 1; i >= 0; i-- {
		now := written - 10 + micros(i)
		verdicts[i] = a.Judge(s, moment(now), cost)
		switch {
		case verdicts[i].Allowed && (i == around-1 || verdicts[i+1].Allowed):
			first = now
		case verdicts[i].Allowed:
			t.Errorf("%T %+v, state %v: %d passes at %d and not after that", a, a, s, cost, now)
		}
	}
	for i, v := range verdicts {
		if now := written - 10 + micros(i); !v.Allowed {
			refusals++
			if v.Never || v.RetryAfter != first-now {
				t.Errorf("%T %+v, state %v: %d at %d: got %+v, want it to pass at %d", a, a, s, cost, now, v, first)
			}
		}
	}
	return refusals
}

// most is the most units that pass in so many consecutive instants, whatever is
// asked for at each of them: for every state that can be reached, the largest sum
// with which it can be reached.
func most(a algorithm.Algorithm, moment func(micros) algorithm.Moment, began micros, instants int) []int64 {
	sums, most := map[state]int64{{}: 0}, make([]int64, instants+1)
	for i := range instants {
		m, next := moment(began+micros(i)), map[state]int64{}
		for s, sum := range sums {
			next[s] = max(next[s], sum)
			for cost := int64(1); cost <= a.Capacity() && a.Judge(s, m, cost).Allowed; cost++ {
				charged, _ := a.Charge(s, m, cost)
				next[charged] = max(next[charged], sum+cost)
			}
		}
		sums = next
		for _, sum := range sums {
			most[i+1] = max(most[i+1], sum)
		}
	}
	return most
}

// In t consecutive µs at most B + floor((t-1)·N/P) units pass, and so many do
// whenever (B-1)·P ≥ N-1.
func TestWorstAdmissionOfTokenBucket(t *testing.T) {
	attained := 0
	small(func(n, p, b int64, a *algorithm.TokenBucket) {
		for i, got := range most(a, at, 100, 16) {
			want := b + (int64(i)-1)*n/p
			if i == 0 {
				want = 0
			}
			if said := a.Most(micros(i)); said != want {
				t.Errorf("%d per %d µs burst %d: Most(%d) is %d, want %d", n, p, b, i, said, want)
			}
			if got > want || got < want && (b-1)*p >= n-1 {
				t.Errorf("%d per %d µs burst %d: %d pass in %d µs, want %d", n, p, b, got, i, want)
			}
			if got == want {
				attained++
			}
		}
	})
	if attained < 1000 {
		t.Errorf("the bound is attained %d times only", attained)
	}
}

// In t consecutive µs exactly L·(ceil((t-1)/P) + 1) units can pass, where the
// first of them stands at the end of a window.
func TestWorstAdmissionOfFixedWindow(t *testing.T) {
	for limit := int64(1); limit <= 3; limit++ {
		for period := micros(1); period <= 6; period++ {
			w, err := algorithm.NewFixedWindow(limit, period, 0)
			if err != nil {
				t.Fatal(err)
			}
			moment := func(now micros) algorithm.Moment {
				m, _ := w.Moment(now, 0)
				return m
			}
			var worst [17]int64
			for phase := range period {
				for i, got := range most(w, moment, 100+phase, 16) {
					worst[i] = max(worst[i], got)
				}
			}
			for i := 1; i < len(worst); i++ {
				if want := limit * ((int64(i)-1+int64(period)-1)/int64(period) + 1); worst[i] != want || w.Most(micros(i)) != want {
					t.Errorf("%d per %d µs: %d pass in %d µs, want %d", limit, period, worst[i], i, want)
				}
			}
		}
	}
}

// For admitted takes i to j, in any order of the readings of the clock, the sum
// is no more than B + (now_j - now_i)·N/P.
func TestBoundUnderAnyClock(t *testing.T) {
	d := roll(1)
	met := 0
	small(func(n, p, b int64, a *algorithm.TokenBucket) {
		var s state
		type admitted struct {
			now   micros
			units int64
		}
		var takes []admitted
		for now, i := micros(1000), 0; i < 400; i++ {
			now = max(1, now+micros(d.Int64N(9))-4)
			cost := 1 + d.Int64N(b)
			next, v, _ := algorithm.Step(a, s, at(now), cost)
			s = next
			if v.Allowed {
				takes = append(takes, admitted{now, cost})
			}
		}
		for i, first := range takes {
			sum := int64(0)
			for _, last := range takes[i:] {
				sum += last.units
				// in P-ths of a unit: no division, no rounding
				room := b*p + int64(last.now-first.now)*n - sum*p
				if room < 0 {
					t.Fatalf("%d per %d µs burst %d: %d units from %d to %d", n, p, b, sum, first.now, last.now)
				}
				if room < p {
					met++
				}
			}
		}
	})
	if met < 1000 {
		t.Errorf("the bound is met %d times only", met)
	}
}
