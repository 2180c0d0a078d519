package measure

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

const (
	// lifeOf a key, by all keys of a table: most tables are filled in half of it. A
	// pause of the machine should be no part of leastLife.
	lifeOf    = 1500 * time.Nanosecond
	leastLife = 100 * time.Millisecond
	// longer is how often the life of a key is doubled on a machine that is slow.
	longer = 4
	// newPart of the dead keys is how many come: weir looks at eight slots for each of
	// them, so that each finds some that are dead.
	newPart = 8
	// gap is between two of them, so that what a limiter does after a time happens
	// amid a known number of asks.
	gap = 5 * time.Microsecond
)

// nearly full is weir's table where most keys have been refused once the first shard
// was: they share cells, and cells hold one ask as keys do.
const nearly = 0.9

// errSlow says that keys were dead before all had come.
var errSlow = errors.New("the machine is too slow: the first keys were dead before the last had come")

// sweep has new keys come to a table in which all are dead. Where dead keys are looked
// for now and then, that happens in their middle.
func (r Request) sweep(c *lineup.Contender, out *Sample) (err error) {
	keys := r.Keys / sweepPart
	life := max(leastLife, time.Duration(keys)*lifeOf)
	for range longer {
		if err = sweepAfter(c, keys, life, out); !errors.Is(err, errSlow) {
			return err
		}
		life *= 2
	}
	return err
}

func sweepAfter(c *lineup.Contender, keys int, life time.Duration, out *Sample) error {
	asks := keys / newPart
	before, w := readHeap(), newStopwatch(asks)
	made := time.Now()
	l, err := c.Aging(life, room(keys))
	if err != nil {
		return err
	}
	defer end(l.Close)
	ask := l.Ask()
	for key := range keyset.Range(0, keys) {
		if ask(key) == lineup.Failed {
			return fmt.Errorf("filling the table: %s failed", key)
		}
	}
	// Half of the new keys come before two lives are over.
	begin := made.Add(2*life - time.Duration(asks)*gap/2)
	if freed(l) > 0 || time.Until(begin) < life {
		return errSlow
	}
	if err := full(l, nearly); err != nil {
		return err
	}
	runtime.GC()
	<-time.After(time.Until(begin))
	if err := come(w, keys, asks, ask); err != nil {
		return err
	}
	return swept(w, l, before, life, out)
}

// come has new keys come, each after a gap.
func come(w *stopwatch, from, n int, ask lineup.Ask) error {
	next := w.elapsed()
	for key := range keyset.Range(from, n) {
		next += gap
		for w.elapsed() < next { // a timer is not as fine
		}
		if err := w.allowed(ask, key); err != nil {
			return err
		}
	}
	return nil
}

// swept writes down what was found.
func swept(w *stopwatch, l *lineup.Limiter, before heap, life time.Duration, out *Sample) error {
	w.into(out, Sweep)
	if l.Count != nil {
		by := float64(freed(l)) / float64(len(w.took))
		if by < 1 {
			return fmt.Errorf("%.2f dead keys were freed by a new one: not all found one", by)
		}
		out.Values[In(Sweep, Freed)] = by
	}
	w.took = nil
	held := readHeap().above(before)
	if l.Count == nil { // who goes through dead keys beside the asks has a life more for it, and comes again after two
		for end := time.Now().Add(life); time.Now().Before(end); held = min(held, readHeap().above(before)) {
			<-time.After(life / 10)
		}
	}
	out.Values[In(Sweep, MiB)] = held
	runtime.KeepAlive(l)
	return nil
}

// freed is how many keys a limiter says that it has freed, or nothing.
func freed(l *lineup.Limiter) int {
	if l.Count == nil {
		return 0
	}
	_, n := l.Count()
	return n
}
