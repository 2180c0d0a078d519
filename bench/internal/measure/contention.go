package measure

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/bench/internal/lineup"
)

// Real is the quota of the measure of accuracy.
func Real() lineup.Quota { return lineup.Quota{Count: 1000, Per: time.Second, Burst: 100} }

// contention has many goroutines ask for one key without a pause, under a limit
// that refuses nearly all of them, and counts what passes.
func (r Request) contention(c *lineup.Contender) (Sample, error) {
	l, err := c.New(Real(), 1)
	if err != nil {
		return Sample{}, err
	}
	defer end(l.Close)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Procs))

	var asked, admitted, failed atomic.Int64
	var over atomic.Bool
	var done sync.WaitGroup
	start := make(chan struct{})
	for range r.Goroutines {
		ask := l.Ask()
		done.Go(func() {
			var mine [3]int64
			<-start
			for !over.Load() {
				mine[ask("203.000.113.007")]++
			}
			asked.Add(mine[0] + mine[1] + mine[2])
			admitted.Add(mine[lineup.Allowed])
			failed.Add(mine[lineup.Failed])
		})
	}
	begin := time.Now()
	close(start)
	timer := time.NewTimer(r.Time)
	<-timer.C
	over.Store(true)
	done.Wait()
	return Sample{Values: map[string]float64{
		Elapsed:    time.Since(begin).Seconds(),
		Asked:      float64(asked.Load()),
		Admitted:   float64(admitted.Load()),
		FailedAsks: float64(failed.Load()),
	}}, nil
}
