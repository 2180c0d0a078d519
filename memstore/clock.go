package memstore

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// stepTolerance is how far the wall clock may run ahead before the store
// follows it: small corrections are the clock's business, steps are ours.
const stepTolerance = weir.Micros(time.Second / time.Microsecond)

// lookEvery is how often, in microseconds, the wall clock is looked at: both clocks
// cost twice as much as the monotonic one.
const lookEvery = int64(100 * time.Millisecond / time.Microsecond)

// clock is monotonic, and stays near the wall clock by stepping forward only: a
// machine that slept, or whose clock was set ahead, is followed within a tenth of a
// second; one whose clock was set back is not.
type clock struct {
	start  time.Time     // with its monotonic reading
	base   atomic.Int64  // wall time of start, in microseconds, as believed now
	looked atomic.Int64  // when the wall clock was last looked at, in microseconds since start
	steps  atomic.Uint64 // times the base was moved
}

func newClock() *clock {
	c := &clock{start: time.Now()}
	c.base.Store(c.start.UnixMicro())
	return c
}

// now reads the clock. Concurrent readers may step it together; the furthest
// step wins.
func (c *clock) now() weir.Micros {
	elapsed := int64(time.Since(c.start) / time.Microsecond)
	if elapsed-c.looked.Load() < lookEvery {
		return weir.Micros(c.base.Load() + elapsed)
	}
	t := time.Now()
	elapsed = int64(t.Sub(c.start) / time.Microsecond)
	c.looked.Store(elapsed)
	return c.read(elapsed, t.UnixMicro())
}

// read turns the time since start and the wall clock's reading into the
// store's time.
func (c *clock) read(elapsed, wall int64) weir.Micros {
	for {
		base := c.base.Load()
		if wall-(base+elapsed) <= int64(stepTolerance) {
			return weir.Micros(base + elapsed)
		}
		if c.base.CompareAndSwap(base, wall-elapsed) {
			c.steps.Add(1)
		}
	}
}

// checkClock refuses a reading that no state can hold.
func checkClock(now weir.Micros) error {
	if now < 1 || now >= algorithm.MaxMicros {
		return fmt.Errorf("%w: the clock reads %d µs, outside 1970 to 2112", weir.ErrNotApplied, now)
	}
	return nil
}
