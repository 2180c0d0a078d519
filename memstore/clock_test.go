package memstore

import (
	"testing"
	"time"
)

func TestClockFollowsTheWallForwardOnly(t *testing.T) {
	c := &clock{}
	c.base.Store(1_000_000_000)
	f := func(elapsed, wall, want int64) {
		t.Helper()
		if got := c.read(elapsed, wall); int64(got) != want {
			t.Errorf("read(%d, %d) = %d, want %d", elapsed, wall, got, want)
		}
	}
	f(0, 1_000_000_000, 1_000_000_000)
	f(10, 1_000_000_010, 1_000_000_010)
	f(20, 1_001_000_020, 1_000_000_020) // ahead by a second: a correction, not followed
	f(30, 1_001_000_031, 1_001_000_031) // ahead by more: followed
	f(40, 1_001_000_041, 1_001_000_041)
	f(50, 5, 1_001_000_051)             // set back: not followed
	f(60, 2_000_000_000, 2_000_000_000) // slept
	if got := c.steps.Load(); got != 2 {
		t.Errorf("%d steps counted, want 2", got)
	}
}

func TestClockIsNearTheWallClock(t *testing.T) {
	c := newClock()
	before := time.Now().UnixMicro()
	got := int64(c.now())
	after := time.Now().UnixMicro()
	if got < before-int64(stepTolerance) || got > after+int64(stepTolerance) {
		t.Errorf("clock reads %d, the wall %d to %d", got, before, after)
	}
}

// A machine that slept has a clock that stands behind the wall: the next reading follows,
// and looks for itself when it was last looked at.
func TestClockLooksAtTheWallInTime(t *testing.T) {
	c := &clock{start: time.Now().Add(-time.Minute)}
	c.base.Store(c.start.Add(-time.Hour).UnixMicro())
	for range 2 {
		before := time.Now().UnixMicro()
		got := int64(c.now())
		after := time.Now().UnixMicro()
		if got < before-int64(stepTolerance) || got > after+int64(stepTolerance) {
			t.Errorf("clock reads %d, the wall %d to %d", got, before, after)
		}
	}
	if looked := c.looked.Load(); looked < time.Minute.Microseconds() || c.steps.Load() != 1 {
		t.Errorf("looked at after %d µs, %d steps", looked, c.steps.Load())
	}
}
