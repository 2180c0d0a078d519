package measure

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// chunk is how many asks are made between two looks at the clock.
const chunk = 1024

// warmUp is the part of the time that is spent before anything counts.
const warmUp = 10

// speed measures a contender on a table that holds all keys of the set, and the
// table itself.
func (r Request) speed(c *lineup.Contender) (Sample, error) {
	set, err := keyset.Parse(r.Set)
	if err != nil {
		return Sample{}, err
	}
	if reason, err := tooLarge(c, set.Keys); reason != "" || err != nil {
		return Sample{Skipped: reason}, err
	}
	out := Sample{Values: map[string]float64{}}
	if err := r.allowed(c, set, &out); err != nil {
		return Sample{}, err
	}
	if !r.Refusals || !c.Refuses() {
		return out, nil
	}
	return out, r.refused(c, set, &out)
}

// allowed measures decisions that are allowed and written.
func (r Request) allowed(c *lineup.Contender, set *keyset.Set, out *Sample) error {
	before := readHeap()
	l, err := c.New(lineup.Ample(), set.Keys)
	if err != nil {
		return err
	}
	defer end(l.Close)
	if err := fillLimiter(l, set, c.Kind); err != nil {
		return err
	}
	if set.Keys > 1 && c.Kind != lineup.Floor {
		readHeap().over(before, set.Keys, out)
		out.Values[Collection] = collection()
	}
	for _, mode := range []struct {
		name              string
		procs, goroutines int
	}{
		{Serial, 1, 1},
		{ParallelOne, 1, r.Goroutines},
		{ParallelAll, r.Procs, r.Procs * r.Goroutines},
	} {
		t, err := timed(mode.procs, mode.goroutines, r.Time, set, lineup.Allowed, l.Ask)
		if err != nil {
			return err
		}
		out.Values[mode.name] = t.ns
		out.Values[Allocs] = max(out.Values[Allocs], t.allocs)
		out.Values[FailedShare] = max(out.Values[FailedShare], t.failed)
	}
	return nil
}

// refused measures decisions that are refused, on a table of its own.
func (r Request) refused(c *lineup.Contender, set *keyset.Set, out *Sample) error {
	l, err := c.New(lineup.Spent(), set.Keys)
	if err != nil {
		return err
	}
	defer end(l.Close)
	if err := fillLimiter(l, set, c.Kind); err != nil {
		return err
	}
	t, err := timed(1, 1, r.Time, set, lineup.Refused, l.Ask)
	if err != nil {
		return err
	}
	out.Values[RefuseSerial] = t.ns
	out.Values[FailedShare] = max(out.Values[FailedShare], t.failed)
	t, err = timed(r.Procs, r.Procs*r.Goroutines, r.Time, set, lineup.Refused, l.Ask)
	out.Values[RefuseAll] = t.ns
	out.Values[FailedShare] = max(out.Values[FailedShare], t.failed)
	return err
}

func end(shut func()) {
	if shut != nil {
		shut()
	}
}

// fillLimiter fills a table and sees that it holds what it should.
func fillLimiter(l *lineup.Limiter, set *keyset.Set, kind lineup.Kind) error {
	put := l.Fill
	if put == nil {
		put = l.Ask()
	}
	if kind == lineup.Single {
		if put(set.At(0)) != lineup.Allowed {
			return errors.New("the first ask was not allowed")
		}
		return nil
	}
	if err := fill(set, put); err != nil {
		return err
	}
	if l.Check != nil {
		return l.Check(set.Keys)
	}
	return nil
}

// timing is what timed found.
type timing struct {
	ns     float64 // wall time by decision
	allocs float64 // by decision
	failed float64 // the part of the decisions that were errors
}

// timed has goroutines ask for the keys of a set, each from a place of its own
// on, for a time. Every verdict must be want; errors are counted.
func timed(procs, goroutines int, d time.Duration, set *keyset.Set, want lineup.Verdict, ask func() lineup.Ask) (timing, error) {
	walkers := make([]*walker, goroutines)
	for i := range walkers {
		walkers[i] = &walker{set: set, at: i * (set.Len() / goroutines), ask: ask(), want: want}
	}
	return race(procs, d, walkers, func(w *walker, d time.Duration) { w.walk(d) })
}

// race lets walkers walk at once, first for nothing, and then for the figures.
func race(procs int, d time.Duration, walkers []*walker, walk func(*walker, time.Duration)) (timing, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	runtime.GC() // what was thrown away before is not this one's to collect
	together(walkers, func(w *walker) { walk(w, d/warmUp) })
	for _, w := range walkers {
		w.asked, w.failed, w.wrong = 0, 0, 0
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	took := together(walkers, func(w *walker) { walk(w, d) })
	runtime.ReadMemStats(&after)

	var asked, failed, wrong int
	for _, w := range walkers {
		asked, failed, wrong = asked+w.asked, failed+w.failed, wrong+w.wrong
	}
	if wrong > 0 {
		return timing{}, fmt.Errorf("%d of %d decisions were not what is measured", wrong, asked)
	}
	return timing{
		ns:     float64(took.Nanoseconds()) / float64(asked),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(asked),
		failed: float64(failed) / float64(asked),
	}, nil
}

// together starts all walkers at once and gives the time until the last is back.
func together(walkers []*walker, walk func(*walker)) time.Duration {
	var ready atomic.Int32
	var done sync.WaitGroup
	start := make(chan struct{})
	for _, w := range walkers {
		done.Go(func() {
			ready.Add(1)
			<-start
			walk(w)
		})
	}
	for int(ready.Load()) < len(walkers) {
		runtime.Gosched()
	}
	begin := time.Now()
	close(start)
	done.Wait()
	return time.Since(begin)
}

// walker is one goroutine on its way through the keys.
type walker struct {
	set   *keyset.Set
	at    int
	ask   lineup.Ask
	multi lineup.MultiAsk // instead of ask, with keys to be filled
	keys  []string
	want  lineup.Verdict

	asked, failed, wrong int
	_                    [64]byte // neighbours count in cache lines of their own
}

// walk asks until the time is over, and a chunk at least.
func (w *walker) walk(d time.Duration) {
	begin, end := time.Now(), w.set.Len()
	for {
		at := w.at
		for range chunk {
			if v := w.ask(w.set.At(at)); v != w.want {
				w.count(v)
			}
			if at++; at == end {
				at = 0
			}
		}
		w.at, w.asked = at, w.asked+chunk
		if time.Since(begin) >= d {
			return
		}
	}
}

// count takes note of a verdict that was not expected.
func (w *walker) count(v lineup.Verdict) {
	if v == lineup.Failed {
		w.failed++
		return
	}
	w.wrong++
}
