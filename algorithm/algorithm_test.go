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

// The letters of the families are part of the record format: an algorithm has its own,
// for ever.
func TestFamilyLetters(t *testing.T) {
	calendar, err := algorithm.NewCalendarWindow(3, 9, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	penalty, err := algorithm.NewPenalty(1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		letter byte
		is     interface{ Family() algorithm.Family }
	}{
		{'b', bucket(t, 5, 1_000_000, 5, 0).Algorithm()},
		{'w', window(t, "3/s fixed-window").Algorithm()},
		{'w', calendar},
		{'s', window(t, "3/s sliding-window").Algorithm()},
		{'l', logOf(t, 5, 100, 0)},
		{'q', queues(t)[0].Algorithm()},
		{'c', slotsOf(t, 5, 1000)},
		{'p', penalty},
	} {
		if got := row.is.Family(); byte(got) != row.letter {
			t.Errorf("%T has the letter %q, want %q", row.is, byte(got), row.letter)
		}
	}
}
