package storetest

import (
	"sync/atomic"

	"github.com/weirhq/weir"
)

// Clock is turned by hand: it stands still until Set or Advance. It is safe for
// concurrent use. The zero Clock reads 0, which is before every instant that a
// store accepts; make one with NewClock.
type Clock struct{ now atomic.Int64 }

// NewClock makes a clock that reads start.
func NewClock(start weir.Micros) *Clock {
	c := &Clock{}
	c.Set(start)
	return c
}

// Now reads the clock. Its method value is what a store's constructor takes.
func (c *Clock) Now() weir.Micros { return weir.Micros(c.now.Load()) }

// Set turns the clock to an instant, forwards or backwards.
func (c *Clock) Set(now weir.Micros) { c.now.Store(int64(now)) }

// Advance turns the clock by d, backwards where d is negative, and gives the
// new reading.
func (c *Clock) Advance(d weir.Micros) weir.Micros { return weir.Micros(c.now.Add(int64(d))) }
