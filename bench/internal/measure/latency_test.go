package measure_test

import (
	"testing"

	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// few is a request of the part latency that is over soon.
func few(contender, phase string) measure.Request {
	q := short(measure.Latency, contender, phase)
	q.Keys = measure.LeastKeys
	return q
}

// grows sees that the percentiles of a phase are there and become no less.
func grows(t *testing.T, v map[string]float64, phase string) {
	t.Helper()
	last := 0.0
	for _, figure := range []string{measure.Median, measure.P99, measure.P999, measure.P9999, measure.Longest} {
		got := v[measure.In(phase, figure)]
		if got <= 0 || got < last {
			t.Errorf("%s: %v ns after %v", measure.In(phase, figure), got, last)
		}
		last = got
	}
}

// The phases of all limiters of many keys, as they are called in turn.
func TestLatency(t *testing.T) {
	for _, c := range lineup.All() {
		if c.Kind == lineup.Single || c.Name == "bare" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			v := run(t, few(c.Name, measure.Growth))
			grows(t, v, measure.Growth)
			grows(t, v, measure.Steady)
			if v[measure.Clock] <= 0 || v[measure.In(measure.Growth, measure.Median)] < v[measure.Clock]/2 {
				t.Errorf("a decision of %v ns has a clock of %v ns in it", v[measure.In(measure.Growth, measure.Median)], v[measure.Clock])
			}
			flooded(t, &c, run(t, few(c.Name, measure.Flood)))
			if c.Aging != nil {
				swept(t, &c)
			}
		})
	}
}

// flooded sees that what a flood of strangers leaves is what is said of a limiter: the
// known caller stays limited, the other one too unless the table drops whom it has not
// seen for long, and only who has a bound stays small.
func flooded(t *testing.T, c *lineup.Contender, v map[string]float64) {
	t.Helper()
	grows(t, v, measure.Flood)
	grows(t, v, measure.Known)
	if n := v[measure.In(measure.Flood, measure.TurnedAway)]; n > 0 {
		t.Errorf("%.0f strangers were refused", n)
	}
	if n := v[measure.In(measure.Known, measure.LetThrough)]; n > 0 {
		t.Errorf("the known caller was let through %.0f times", n)
	}
	if c.Kind == lineup.Floor {
		return
	}
	if got, want := v[measure.In(measure.Known, measure.Forgotten)] == 1, c.Bounded && c.Kind != lineup.Weir; got != want {
		t.Errorf("the caller who kept still is forgotten: %t, want %t", got, want)
	}
	// A map of numbers takes 16 bytes a key at least, weir's table 24.
	least, most := float64(measure.LeastKeys*16), float64(measure.LeastKeys*400)
	switch {
	case c.Kind == lineup.Weir:
		least, most = measure.LeastKeys/10*3/4*24, measure.LeastKeys/10*100
	case c.Bounded:
		least, most = measure.LeastKeys/10*3/4*16, measure.LeastKeys/10*400
	}
	if got := v[measure.In(measure.Flood, measure.MiB)] * (1 << 20); got < least || got > most {
		t.Errorf("the table holds %.0f bytes, want %.0f to %.0f", got, least, most)
	}
}

// swept sees that dead keys have gone. A table that keeps them all takes 130 bytes and
// more by key; who goes through them beside the asks may be late on a busy machine.
func swept(t *testing.T, c *lineup.Contender) {
	t.Helper()
	most := map[string]float64{"go-limiter memorystore": 80, "ulule memory": 60}[c.Name]
	for range 5 {
		v := run(t, few(c.Name, measure.Sweep))
		grows(t, v, measure.Sweep)
		if freed := v[measure.In(measure.Sweep, measure.Freed)]; c.Kind == lineup.Weir && freed < 1 {
			t.Errorf("a new key has freed %.1f dead ones", freed)
		}
		bytes := v[measure.In(measure.Sweep, measure.MiB)] * (1 << 20) / (measure.LeastKeys / 4)
		if most == 0 || bytes < most {
			return
		}
	}
	t.Errorf("there are more than %.0f bytes by dead key: they are not swept", most)
}

func TestWhoNeverForgetsHasNothingToSweep(t *testing.T) {
	s, err := few("x/time/rate, Mutex map", measure.Sweep).Run()
	if err != nil || s.Skipped == "" || len(s.Values) > 0 {
		t.Errorf("%+v, %v; want it skipped", s, err)
	}
}
