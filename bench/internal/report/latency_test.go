package report

import (
	"maps"
	"strings"
	"testing"

	"github.com/weirhq/weir/bench/internal/measure"
)

// phase is a sample of one phase: its percentiles, and what else it has found.
func phase(name string, percentiles [5]float64, more map[string]float64) map[string]float64 {
	v := map[string]float64{measure.Clock: 40}
	for i, figure := range []string{measure.Median, measure.P99, measure.P999, measure.P9999, measure.Longest} {
		v[measure.In(name, figure)] = percentiles[i]
	}
	for figure, n := range more {
		v[measure.In(name, figure)] = n
	}
	return v
}

func TestLatencyIsToldInMicroseconds(t *testing.T) {
	r := new(Report)
	add(r, measure.Latency, measure.Growth, "weir Take", phase(measure.Growth, [5]float64{300, 900, 9996, 99_960, 120_000}, nil))
	add(r, measure.Latency, measure.Growth, "go-limiter memorystore", phase(measure.Growth, [5]float64{400, 900, 12_000, 100_000, 80_000}, nil))
	got := text(t, r)
	if l := rowOf(t, got, "weir Take", measure.Growth); l != "weir Take growth 0.30 0.90 10.0 100 120 –" {
		t.Errorf("%q", l)
	}
	if l := line(t, got, "weir Take, growth: "); l != "weir Take, growth: LOSES longest to go-limiter memorystore (80.0)" {
		t.Errorf("%q", l)
	}
	if !strings.Contains(got, "reading the clock is in each figure: 40 to 40 ns") {
		t.Errorf("it is not said what the clock costs:\n%s", got)
	}
}

// rowOf is the line of a contender's phase, with single blanks.
func rowOf(t *testing.T, text, name, phase string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if l = strings.Join(strings.Fields(l), " "); strings.HasPrefix(l, name+" "+phase+" ") {
			return l
		}
	}
	t.Fatalf("no row of %s in %s:\n%s", name, phase, text)
	return ""
}

func TestAFloodSaysWhatBecameOfTheCallers(t *testing.T) {
	r := new(Report)
	same := [5]float64{100, 100, 100, 100, 100}
	flood := func(mib, turnedAway, through, forgotten float64) map[string]float64 {
		v := phase(measure.Flood, same, map[string]float64{measure.MiB: mib, measure.Strangers: 1000, measure.TurnedAway: turnedAway})
		maps.Copy(v, phase(measure.Known, same, map[string]float64{measure.LetThrough: through, measure.Forgotten: forgotten}))
		return v
	}
	add(r, measure.Latency, measure.Flood, "weir Take", flood(3, 7, 0, 0), flood(3, 9, 0, 0))
	add(r, measure.Latency, measure.Flood, "throttled GCRA, map", flood(99, 0, 0, 0))
	add(r, measure.Latency, measure.Flood, "throttled GCRA, LRU", flood(9, 0, 5, 1))
	got := text(t, r)
	for _, want := range []struct{ name, phase, end string }{
		{"weir Take", measure.Flood, " 3.0 9 strangers were refused, for they shared cells"},
		{"weir Take", measure.Known, " he stays limited"},
		{"throttled GCRA, map", measure.Flood, " 99.0 NO BOUND: it keeps all 1000"},
		{"throttled GCRA, LRU", measure.Flood, " 0.10 9.0"},
		{"throttled GCRA, LRU", measure.Known, " – LETS HIM THROUGH 5 times beyond his limit; FORGETS a caller at his limit who does not ask during the flood"},
	} {
		if l := rowOf(t, got, want.name, want.phase); !strings.HasSuffix(l, want.end) {
			t.Errorf("%q, want it to end with %q", l, want.end)
		}
	}
	for _, phase := range []string{measure.Flood, measure.Known} {
		if l := line(t, got, "weir Take, "+phase+": "); !strings.HasSuffix(l, ": loses nothing") {
			t.Errorf("%q", l)
		}
	}
}

func TestASweepSaysHowKeysAreForgotten(t *testing.T) {
	r := new(Report)
	add(r, measure.Latency, measure.Sweep, "weir Take", phase(measure.Sweep, [5]float64{1, 1, 1, 1, 1}, map[string]float64{measure.Freed: 6.25}))
	r.Add(measure.Request{Part: measure.Latency, Set: measure.Sweep, Contender: "x/time/rate, Mutex map"}, measure.Sample{Skipped: "never forgets"}, nil)
	got := text(t, r)
	if l := rowOf(t, got, "weir Take", measure.Sweep); !strings.HasSuffix(l, "each new key frees dead ones where it looks for room; up to 6.2 dead keys freed by a new one") {
		t.Errorf("%q", l)
	}
	if l := rowOf(t, got, "x/time/rate, Mutex map", measure.Sweep); !strings.HasSuffix(l, "– – – – – – never forgets") {
		t.Errorf("%q", l)
	}
}

// What is a little less than nothing is nothing, and what is much less is seen.
func TestFiguresBelowNothing(t *testing.T) {
	if got := whole(-0.4) + " " + whole(-3); got != "0 -3" {
		t.Errorf("%q", got)
	}
}
