package measure

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// calls measures a call of several takes. All calls are measured by the same
// loop, also those of one take that others are compared with.
func (r Request) calls() (Sample, error) {
	for _, c := range lineup.Calls() {
		if c.Name != r.Contender {
			continue
		}
		set, err := keyset.Parse(r.Set)
		if err != nil {
			return Sample{}, err
		}
		l, err := c.New(lineup.Ample(), set.Keys)
		if err != nil {
			return Sample{}, err
		}
		defer end(l.Close)
		if err := errors.Join(fill(set, l.Fill), l.Check(set.Keys)); err != nil {
			return Sample{}, err
		}
		return r.timedCalls(set, l, c.Keys)
	}
	return Sample{}, fmt.Errorf("there is no call %q", r.Contender)
}

func (r Request) timedCalls(set *keyset.Set, l *lineup.MultiLimiter, keys int) (Sample, error) {
	out := Sample{Values: map[string]float64{}}
	for _, mode := range []struct {
		name              string
		procs, goroutines int
	}{
		{Serial, 1, 1},
		{ParallelAll, r.Procs, r.Procs * r.Goroutines},
	} {
		walkers := make([]*walker, mode.goroutines)
		for i := range walkers {
			walkers[i] = &walker{
				set: set, at: i * (set.Len() / len(walkers)), want: lineup.Allowed,
				multi: l.Ask(), keys: make([]string, keys),
			}
		}
		t, err := race(mode.procs, r.Time, walkers, func(w *walker, d time.Duration) { w.walkTogether(d) })
		if err != nil {
			return Sample{}, err
		}
		out.Values[mode.name] = t.ns
		out.Values[Allocs] = max(out.Values[Allocs], t.allocs)
		out.Values[FailedShare] = max(out.Values[FailedShare], t.failed)
	}
	return out, nil
}

// walkTogether asks for the next few keys at a time until the time is over. An
// ask is a call.
func (w *walker) walkTogether(d time.Duration) {
	const calls = chunk / 16
	begin, end := time.Now(), w.set.Len()
	for {
		at := w.at
		for range calls {
			for i := range w.keys {
				w.keys[i] = w.set.At(at)
				if at++; at == end {
					at = 0
				}
			}
			if v := w.multi(w.keys); v != w.want {
				w.count(v)
			}
		}
		w.at, w.asked = at, w.asked+calls
		if time.Since(begin) >= d {
			return
		}
	}
}
