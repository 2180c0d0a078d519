package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// plain is what a percentile is by its words, looked for one by one: the least time
// that so many ten-thousandths of all do not exceed.
func plain(took []int64, part int) int64 {
	least := slices.Max(took)
	for _, candidate := range took {
		within := 0
		for _, other := range took {
			if other <= candidate {
				within++
			}
		}
		if within*10_000 >= part*len(took) {
			least = min(least, candidate)
		}
	}
	return least
}

func TestPercentilesAreWhatTheirWordsSay(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 250; n++ {
		took := make([]int64, n)
		for i := range took {
			took[i] = rng.Int64N(int64(n)) // so that some are alike
		}
		sorted := slices.Sorted(slices.Values(took))
		for _, part := range []int{1, 5000, 9900, 9990, 9999, 10_000} {
			if got, want := percentile(sorted, part), plain(took, part); got != want {
				t.Fatalf("%d ten-thousandths of %v: %d, want %d", part, sorted, got, want)
			}
		}
	}
}

func TestPercentilesOfTenThousand(t *testing.T) {
	w := newStopwatch(10_000)
	for i := range int64(10_000) {
		w.took = append(w.took, 10_000-i)
	}
	out := Sample{Values: map[string]float64{}}
	w.into(&out, "a phase")
	for figure, want := range map[string]float64{Median: 5000, P99: 9900, P999: 9990, P9999: 9999, Longest: 10_000} {
		if got := out.Values[In("a phase", figure)]; got != want {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
}

func TestTheStopwatchTakesEachTime(t *testing.T) {
	w := newStopwatch(2)
	for range 2 {
		begin := w.elapsed()
		for w.elapsed() < begin+time.Millisecond {
		}
		w.since(begin)
		if took, most := time.Duration(w.took[len(w.took)-1]), w.elapsed()-begin; took < time.Millisecond || took > most {
			t.Errorf("it took %v, by the stopwatch %v", most, took)
		}
	}
	if len(w.took) != 2 {
		t.Errorf("%d times, want 2", len(w.took))
	}
}
