package measure

import (
	"fmt"
	"runtime"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// The phases of Latency. The first three are requests, by their Set; each of the
// others is measured in one of these.
const (
	Growth = "growth" // new keys come to a table that is empty
	Sweep  = "sweep"  // new keys come to a table that is full of dead ones
	Flood  = "flood"  // strangers come to a table that is full of live keys
	Steady = "steady" // the keys of growth ask again
	Known  = "known"  // who is at his limit asks amid the strangers of flood
)

// Phases lists all phases in the order of the table, and the Set of the request that
// each is measured in.
func Phases() [][2]string {
	return [][2]string{{Steady, Growth}, {Growth, Growth}, {Sweep, Sweep}, {Flood, Flood}, {Known, Flood}}
}

// In is the name of a figure in one phase.
func In(phase, figure string) string { return phase + ": " + figure }

// The figures of Latency beside the percentiles, all by In.
const (
	MiB        = "MiB"         // Sweep, Flood: what the table holds in the end, of the heap
	Freed      = "freed"       // Sweep: dead keys, by new key, where the limiter tells
	Strangers  = "strangers"   // Flood: how many came
	TurnedAway = "turned away" // Flood: strangers that were refused
	LetThrough = "let through" // Known: asks that were allowed, beyond the limit
	Forgotten  = "forgotten"   // Known: 1 if a caller at his limit who kept still through the flood passes after it
)

// The bounds of Request.Keys.
const (
	LeastKeys = 50_000     // weir's smallest table here then has several shards
	MostKeys  = 10_000_000 // no table here is larger
)

// The tables of Sweep and Flood are for a part of the keys.
const (
	sweepPart = 4  // a fourth are dead, and an eighth of that come
	floodPart = 10 // a tenth are live, and all come
)

// latency takes the time of each decision while one goroutine asks on all
// processors: collections of garbage, growth and whatever a limiter does beside the
// asks are in it, and the cost of the clock.
func (r Request) latency(c *lineup.Contender) (Sample, error) {
	if r.Keys < LeastKeys || r.Keys > MostKeys {
		return Sample{}, fmt.Errorf("%d keys: it is %d to %d", r.Keys, LeastKeys, MostKeys)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Procs))
	out := Sample{Values: map[string]float64{Clock: clockCost()}}
	var err error
	switch r.Set {
	case Growth:
		err = r.growth(c, &out)
	case Sweep:
		if c.Aging == nil {
			return Sample{Skipped: "never forgets a key: there is nothing to sweep"}, nil
		}
		err = r.sweep(c, &out)
	case Flood:
		err = r.flood(c, &out)
	default:
		err = fmt.Errorf("there is no phase %q", r.Set)
	}
	return out, err
}

// growth has new keys come to an empty table, and then some of them ask once more.
func (r Request) growth(c *lineup.Contender, out *Sample) error {
	l, err := c.New(lineup.Lasting(), r.Keys)
	if err != nil {
		return err
	}
	defer end(l.Close)
	ask, w := l.Ask(), newStopwatch(r.Keys)
	runtime.GC()
	for key := range keyset.Range(0, r.Keys) {
		if err := w.allowed(ask, key); err != nil {
			return err
		}
	}
	w.into(out, Growth)
	if l.Check != nil {
		if err := l.Check(r.Keys); err != nil {
			return err
		}
	}
	return r.steady(ask, out)
}

// steadyPart of the keys of growth ask again: enough for every percentile.
const steadyPart = 4

// steady has keys of a table ask again, each at most once, in an order that is not
// that in which they came.
func (r Request) steady(ask lineup.Ask, out *Sample) error {
	set, err := keyset.Uniform(Steady, r.Keys, r.Keys)
	if err != nil {
		return err
	}
	w := newStopwatch(r.Keys / steadyPart)
	runtime.GC()
	for i := range cap(w.took) {
		key := set.At(i)
		if err := w.allowed(ask, key); err != nil {
			return err
		}
	}
	w.into(out, Steady)
	return nil
}

func notAllowed(key string, v lineup.Verdict) error {
	return fmt.Errorf("%s was not allowed (verdict %d)", key, v)
}

// room makes a table for so many keys that it is full once they have come: weir's has
// a third to spare.
func room(keys int) int { return keys / 4 * 3 }

// full sees that a table that has a bound, and tells what it holds, is filled to a part.
func full(l *lineup.Limiter, part float64) error {
	if l.Count == nil {
		return nil
	}
	if held, _ := l.Count(); float64(held) < part*float64(l.Room) || held > l.Room {
		return fmt.Errorf("the table should be full: it has room for %d keys and holds %d", l.Room, held)
	}
	return nil
}
