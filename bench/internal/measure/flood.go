package measure

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// every so many strangers the known caller asks.
const every = 10

// brim is how full weir's table is then: its parts do not fill evenly.
const brim = 0.99

// The callers who are at their limits before a flood: one asks amid the strangers,
// the other not before they are gone. No key of a set is theirs.
const (
	known = "known caller.01"
	still = "still caller.01"
)

// flood has ten times as many strangers come as there is room for to a table that is
// full of live keys, while one who is at his limit goes on asking. Strangers are
// allowed by all limiters: what is compared is written by all of them.
func (r Request) flood(c *lineup.Contender, out *Sample) error {
	keys := r.Keys / floodPart
	before := readHeap()
	strangers, caller := newStopwatch(r.Keys), newStopwatch(r.Keys/every)
	l, err := c.New(lineup.Lasting(), room(keys))
	if err != nil {
		return err
	}
	defer end(l.Close)
	ask := l.Ask()
	if err := besiege(ask, keys, c.Kind != lineup.Floor); err != nil {
		return err
	}
	if err := full(l, brim); err != nil {
		return err
	}
	runtime.GC()
	theirs, his, err := storm(strangers, caller, keys, ask)
	if err != nil {
		return err
	}
	strangers.into(out, Flood)
	caller.into(out, Known)
	out.Values[In(Flood, Strangers)] = float64(r.Keys)
	out.Values[In(Flood, TurnedAway)] = float64(theirs[lineup.Refused])
	if c.Kind != lineup.Floor {
		out.Values[In(Known, LetThrough)] = float64(his[lineup.Allowed])
		out.Values[In(Known, Forgotten)] = float64(ask(still)) // Refused is 0, Allowed 1
	}
	strangers.took, caller.took = nil, nil
	out.Values[In(Flood, MiB)] = readHeap().above(before)
	runtime.KeepAlive(l)
	return nil
}

// besiege brings two callers to their limits and then fills the table, while one of
// them goes on asking: who drops keys by their age keeps him.
func besiege(ask lineup.Ask, keys int, limited bool) error {
	for _, caller := range []string{known, still} {
		for range lineup.Lasting().Burst {
			if v := ask(caller); v != lineup.Allowed {
				return notAllowed(caller, v)
			}
		}
		if limited && ask(caller) != lineup.Refused {
			return errors.New("a caller beyond his limit was not refused")
		}
	}
	came := 0
	for key := range keyset.Range(0, keys) {
		if v := ask(key); v != lineup.Allowed {
			return fmt.Errorf("filling the table: %w", notAllowed(key, v))
		}
		if came++; came%every == 0 {
			ask(known)
		}
	}
	return nil
}

// A tally counts verdicts.
type tally [3]int

// storm has strangers come, and the known caller ask among them.
func storm(strangers, caller *stopwatch, from int, ask lineup.Ask) (theirs, his tally, err error) {
	timed := func(w *stopwatch, key string) lineup.Verdict {
		begin := w.elapsed()
		v := ask(key)
		w.since(begin)
		return v
	}
	for key := range keyset.Range(from, cap(strangers.took)) {
		theirs[timed(strangers, key)]++
		if len(strangers.took)%every == 0 {
			his[timed(caller, known)]++
		}
	}
	if failed := theirs[lineup.Failed] + his[lineup.Failed]; failed > 0 {
		err = fmt.Errorf("%d asks failed", failed)
	}
	return theirs, his, err
}
