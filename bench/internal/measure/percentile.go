package measure

import (
	"slices"
	"time"

	"github.com/weirhq/weir/bench/internal/lineup"
)

// The figures of how long decisions took, one by one. Of a share of all of them,
// a percentile says what they took at most: it is the time of one of them, and
// never something between two.
const (
	Median  = "median ns"  // half of all
	P99     = "p99 ns"     // all but one in a hundred
	P999    = "p99.9 ns"   // all but one in a thousand
	P9999   = "p99.99 ns"  // all but one in ten thousand
	Longest = "longest ns" // all
	Clock   = "clock ns"   // of these, what reading the clock takes: the median of doing nothing
)

// percentiles are what is told, in ten-thousandths of all decisions.
var percentiles = [...]struct {
	figure string
	part   int
}{
	{Median, 5000},
	{P99, 9900},
	{P999, 9990},
	{P9999, 9999},
	{Longest, 10000},
}

// percentile is the least of some times, which are sorted, that so many
// ten-thousandths of them do not exceed. There is one at least.
func percentile(sorted []int64, part int) int64 {
	const whole = 10_000
	rank := (len(sorted)*part + whole - 1) / whole
	return sorted[max(rank, 1)-1]
}

// A stopwatch takes the time of decisions by the monotonic clock, in ns. Room for
// all of them is made before the first, so that nothing grows meanwhile.
type stopwatch struct {
	start time.Time
	took  []int64
}

func newStopwatch(decisions int) *stopwatch {
	return &stopwatch{start: time.Now(), took: make([]int64, 0, decisions)}
}

// elapsed is since the stopwatch was made. It reads one clock, where time.Now reads
// two.
func (w *stopwatch) elapsed() time.Duration { return time.Since(w.start) }

// since takes down what has passed since a reading of elapsed.
func (w *stopwatch) since(begin time.Duration) {
	w.took = append(w.took, int64(w.elapsed()-begin))
}

// allowed times an ask, which is to be allowed.
func (w *stopwatch) allowed(ask lineup.Ask, key string) error {
	begin := w.elapsed()
	v := ask(key)
	w.since(begin)
	if v != lineup.Allowed {
		return notAllowed(key, v)
	}
	return nil
}

// into writes down the percentiles of one phase.
func (w *stopwatch) into(out *Sample, phase string) {
	slices.Sort(w.took)
	for _, p := range percentiles {
		out.Values[In(phase, p.figure)] = float64(percentile(w.took, p.part))
	}
}

// readings is how many readings of the clock are timed.
const readings = 100_000

// clockCost is what a figure has of the clock, in ns: the median of nothing timed.
func clockCost() float64 {
	w := newStopwatch(readings)
	for range readings {
		w.since(w.elapsed())
	}
	slices.Sort(w.took)
	return float64(percentile(w.took, 5000))
}
