package algorithm_test

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir/algorithm"
)

func TestCeil(t *testing.T) {
	f := func(m algorithm.Micros, unit time.Duration, want int64) {
		t.Helper()
		if got := m.Ceil(unit); got != want {
			t.Errorf("Micros(%d).Ceil(%s) = %d, want %d", m, unit, got, want)
		}
	}
	f(math.MinInt64, time.Second, 0)
	f(-1, time.Millisecond, 0)
	f(0, time.Second, 0)
	f(1, time.Second, 1)
	f(1, time.Millisecond, 1)
	f(1000, time.Millisecond, 1)
	f(1001, time.Millisecond, 2)
	f(math.MaxInt64, time.Microsecond, math.MaxInt64)
	f(math.MaxInt64, time.Second, math.MaxInt64/1_000_000+1)
}
