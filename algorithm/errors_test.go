package algorithm_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/algorithm"
)

// What a caller wrote is shown in one line of plain text, of bounded length.
func TestErrorsAreOneLine(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	f := func(value, remedy, want string) {
		t.Helper()
		err := &algorithm.FieldError{Field: "unit", Value: value, Problem: "unknown", Remedy: remedy}
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f("", "", "weir: unit: unknown")
	f("", "write s", "weir: unit: unknown; write s")
	f("parsec", "write s", "weir: unit parsec: unknown; write s")
	f("Straße �", "", `weir: unit "Straße �": unknown`)
	f("a\nb", "", `weir: unit "a\nb": unknown`)
	f("\xff", "", `weir: unit "\xff": unknown`)
	f(x(120), "", "weir: unit "+x(120)+": unknown")
	f(x(121), "", "weir: unit "+x(120)+"…: unknown")
	f(x(119)+"é", "", "weir: unit "+x(119)+"…: unknown")
	f(x(118)+"éé", "", "weir: unit "+x(118)+"é…: unknown")
	f(x(117)+"𝄞!", "", "weir: unit "+x(117)+"…: unknown")
	f(x(115)+"\x80\x80\x80\x80\x80\x80", "", `weir: unit "`+x(115)+`\x80…": unknown`)
}

func TestErrorsAreInvalid(t *testing.T) {
	_, err := algorithm.NewFixedWindow(0, 1, 0)
	if !errors.Is(err, algorithm.ErrInvalid) || errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// Spans become those of the standard library, cut to what it can say.
func TestDuration(t *testing.T) {
	for m, want := range map[algorithm.Micros]time.Duration{
		0: 0, 1: time.Microsecond, -1: -time.Microsecond, 3_600_000_000: time.Hour,
		math.MaxInt64 / 1000:     math.MaxInt64 / 1000 * 1000,
		math.MaxInt64/1000 + 1:   math.MaxInt64 / 1000 * 1000,
		math.MaxInt64:            math.MaxInt64 / 1000 * 1000,
		-(math.MaxInt64 / 1000):  -(math.MaxInt64 / 1000 * 1000),
		-math.MaxInt64/1000 - 1:  -(math.MaxInt64 / 1000 * 1000),
		math.MinInt64:            -(math.MaxInt64 / 1000 * 1000),
		algorithm.MaxMicros * 2:  time.Duration(1<<53) * time.Microsecond,
		-algorithm.MaxMicros * 2: -time.Duration(1<<53) * time.Microsecond,
	} {
		if got := m.Duration(); got != want {
			t.Errorf("Micros(%d).Duration() = %d, want %d", m, got, want)
		}
	}
}
