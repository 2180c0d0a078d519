package measure

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// growth times each insertion while a table grows from nothing to all keys of a
// set, by one goroutine on all processors: what a caller waits who is there when
// the table doubles. Two readings of the clock are in each figure.
func (r Request) growth(c *lineup.Contender) (Sample, error) {
	set, err := keyset.Parse(r.Set)
	if err != nil {
		return Sample{}, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Procs))
	l, err := c.New(lineup.Ample(), set.Keys)
	if err != nil {
		return Sample{}, err
	}
	defer end(l.Close)
	put := l.Fill
	if put == nil {
		put = l.Ask()
	}
	took := make([]int64, 0, set.Keys)
	runtime.GC()
	for key := range set.Each() {
		begin := time.Now()
		v := put(key)
		took = append(took, time.Since(begin).Nanoseconds())
		if v != lineup.Allowed {
			return Sample{}, fmt.Errorf("%s was not allowed (verdict %d)", key, v)
		}
	}
	slices.Sort(took)
	at := func(part float64) float64 { return float64(took[int(part*float64(len(took)-1))]) }
	return Sample{Values: map[string]float64{Median: at(0.5), P999: at(0.999), Slowest: at(1)}}, nil
}
