package weir_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// follow does what a remedy says: writes what it quotes in the place of the value, or
// leaves the value out.
func follow(t *testing.T, text string, e *weir.FieldError) string {
	t.Helper()
	quoted := strings.Split(e.Remedy, `"`)
	plain, said := strings.CutPrefix(e.Remedy, "write ")
	if len(quoted) != 3 && e.Remedy != "leave it out" && (len(quoted) > 1 || !said) {
		t.Fatalf("%q: nobody can follow %q by the letter", text, e.Remedy)
	}
	if text[e.Offset:e.Offset+len(e.Value)] != e.Value {
		t.Fatalf("%q: at %d there is no %q", text, e.Offset, e.Value)
	}
	instead := ""
	switch {
	case said && len(quoted) == 3:
		instead = quoted[1]
	case said:
		instead, _, _ = strings.Cut(plain, ", ")
	case len(quoted) == 3 && quoted[1] != e.Value:
		t.Fatalf("%q: the value is %q, and what is to be left out %q", text, e.Value, quoted[1])
	}
	return text[:e.Offset] + instead + text[e.Offset+len(e.Value):]
}

// one is the only mistake of a text.
func one(t *testing.T, text string) *weir.FieldError {
	t.Helper()
	_, err := weir.ParseLimit("a", text)
	e, ok := errors.AsType[*weir.FieldError](err)
	if list, several := err.(interface{ Unwrap() []error }); !ok || several && len(list.Unwrap()) != 1 {
		t.Fatalf("%q: got %v, want one error", text, err)
	}
	return e
}

// followed checks that a limit is what it should be, once a remedy has been followed.
func followed(t *testing.T, text string, e *weir.FieldError, want string) {
	t.Helper()
	l, err := weir.ParseLimit("a", follow(t, text, e))
	if err != nil {
		t.Fatalf("%q: %q, followed: %v", text, e.Remedy, err)
	}
	if l.String() != want {
		t.Errorf("%q: %q, followed, is %q; want %q", text, e.Remedy, l, want)
	}
}

// How a block grows is one mistake where it is wrong, and its remedy is accepted.
func TestGrowthThatIsWrong(t *testing.T) {
	f := func(text, field, value, problem, want string) {
		t.Helper()
		e := one(t, text)
		if e.Field != field || e.Value != value || !strings.Contains(e.Problem, problem) {
			t.Errorf("%q: got %s %q: %s; want %s %q: %s", text, e.Field, e.Value, e.Problem, field, value, problem)
		}
		followed(t, text, e, want)
	}
	const part, whole = "block …", "a block grows by x, a whole number, max and a duration"
	const few = "it multiplies by at least 2"
	const plain, grows = "5/s block 1m", "5/s block 1m x 2 max 1h"
	f("5/s block 1m x", part, "x", whole, grows)
	f("5/s block 1m x max 1h", part, "x max 1h", whole, grows)
	f("5/s block 1m x 1", part, "x 1", few, plain)
	f("5/s block 1m x 0 max 1h", part, "x 0 max 1h", few, plain)
	f("5/s block 1m x -3 max 1h spread fixed-window", part, "x -3 max 1h", few, "5/s fixed-window spread block 1m")
	f("5/s block 1m x1", part, "x1", few, plain)
	f("5/s block 1m x-1 max 1h", part, "x-1 max 1h", few, plain)
	f("5/s block 1m x 2", part, "x 2", whole, grows)
	f("5/s block 1m x2", part, "x2", whole, grows)
	f("5/s block 1m x 3 burst 7", part, "x 3", whole, "5/s burst 7 block 1m x 3 max 1h")
	f("5/s block 1m × 2", part, "× 2", whole, grows)
	f("5/s block 45m x 2", part, "x 2", whole, "5/s block 45m x 2 max 1d")
	f("5/s block 20d x 2", part, "x 2", whole, "5/s block 20d x 2 max 365d")
	f("5/s block 200d x 2", part, "x 2", whole, "5/s block 200d x 2 max 200d")
	f("5/s block 1m x 2 max", part, "x 2 max", whole, grows)
	f("5/s block 1m x 2 max burst 7", part, "x 2 max", whole, "5/s burst 7 block 1m x 2 max 1h")
	f("5/s block 1m max 1h", part, "max 1h", whole, grows)
	f("5/s block 1m max", part, "max", whole, grows)
	f("5/s block 26062d x 2", part, "x 2", whole, "5/s block 26062d x 2 max 26062d")
	f("5/s block 1m max 2h x 3", part, "max 2h x 3", whole, "5/s block 1m x 3 max 2h")
	for _, sign := range []string{"x3", "3x", "×3", "× 3", "* 3", "*3", "X 3", "3×", "times 3"} {
		f("5/s block 1m "+sign+" max 2h", part, sign+" max 2h", whole, "5/s block 1m x 3 max 2h")
	}
	f("5/s block 1m x 2 MAX 1h", part, "x 2 MAX 1h", whole, grows)
	f("5/s block 1m x 2 1h", part, "x 2 1h", whole, grows)
}

// A bound is read as it was written.
func TestBoundsOfGrowth(t *testing.T) {
	for bound, want := range map[string]string{
		"2w": "14d", "1y": "365d", "2 days": "2d", "2 weeks": "14d", "90 min": "1h30m", "26062d": "26062d", "10m": "10m",
	} {
		for _, sign := range []string{"x3 ", "3x ", "× 3 "} {
			text := "5/min block 10m " + sign + "max " + bound
			e := one(t, text)
			if e.Value != sign+"max "+bound {
				t.Errorf("%q: got %q", text, e.Value)
			}
			followed(t, text, e, "5/min block 10m x 3 max "+want)
		}
	}
}

// What is wrong with a value by itself is said of the value, and no other is named.
func TestGrowthThatCannotBeRead(t *testing.T) {
	f := func(growth, field, value, want string) {
		t.Helper()
		text := "5/min block 10m " + growth
		if e := one(t, text); e.Field != field || e.Value != value || text[e.Offset:e.Offset+len(value)] != value || e.Problem+"; "+e.Remedy != want {
			t.Errorf("%q: got %s %q at %d: %s; %s; want %s", growth, e.Field, e.Value, e.Offset, e.Problem, e.Remedy, want)
		}
	}
	const none = "not a duration; write one such as 30s, 15m (minutes), 12h or 30d"
	f("x3 max soon", "block max", "soon", none)
	f("x3 max 7", "block max", "7", none)
	f("x3 max -1d", "block max", "-1d", none)
	f("x3 max 0s", "block max", "0s", "it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d")
	f("x3 max 1h1ns", "block max", "1h1ns", "time is whole microseconds; write 1h")
	f("x3 max 5m", "block max", "5m", "shorter than the first block; write 10m or more")
	f("max 30s", "block max", "30s", "shorter than the first block; write 10m or more")
	f("x3 max 30000d", "block max", "30000d", "it lasts at most 26062d; write 26062d or less")
	f("x3 max 2 minutes", "block max", "x3 max 2 minutes", "shorter than the first block; write 10m or more")
	f("x1.5 max 2d", "block factor", "1.5", "not a whole number; write digits only, such as 2")
	f("1.5x max 2d", "block factor", "1.5", "not a whole number; write digits only, such as 2")
	f("x=many max 2d", "block factor", "many", "not a whole number; write digits only, such as 2")
	f("x03 max 2d", "block factor", "03", "leading zeros are read as octal elsewhere; write 3")
	f("x9223372036854775808 max 2d", "block factor", "9223372036854775808", "too large to count exactly; write a smaller one")
}

// What comes near to how a block grows is one mistake, and means what it says.
func TestGrowthNearby(t *testing.T) {
	for _, growth := range []string{
		"x 3 max=2d", "x 3 max:2d", "x 3 max2d", "x 3 max: 2d", "x 3 max = 2d", "x 3 max; 2d", "x 3, max 2d", "x 3 max 2d.", "x 3; max=2d", "x=3 max 2d", "x:3 max 2d", "x = 3 max 2d",
		"x: 3 max 2d", "3 x max 2d", "3 times max 2d", "times 3 max 2d", "factor 3 max 2d", "factor=3 max=2d", "x x 3 max 2d", "x 3 max max 2d", "x 3 maximum 2d", "x 3 upto 2 days", "x 3 up to 2d",
		"x3 2d", "*3 2 days",
	} {
		text := "5/min block 10m " + growth
		followed(t, text, one(t, text), "5/min block 10m x 3 max 2d")
		text += " burst 7"
		followed(t, text, one(t, text), "5/min burst 7 block 10m x 3 max 2d")
	}
}

// A part that stands away from its block is one mistake, and is told where it belongs.
func TestGrowthElsewhere(t *testing.T) {
	f := func(text, value string) {
		t.Helper()
		e := one(t, text)
		if e.Value != value || e.Problem != "it stands directly behind a block's duration" || e.Remedy != `as in "block 10m x 2 max 1d"` {
			t.Errorf("%q: got %+v, want %q", text, e, value)
		}
	}
	f("5/min block 10m burst 20 x 3 max 2d", "x 3 max 2d")
	f("5/min x 3 max 2d burst 20 block 10m", "x 3 max 2d")
	f("5/min burst 20 x3 max 2 days block 10m", "x3 max 2 days")
	f("5/min block 10m x 3 burst 20 max 2d", "max 2d")
	f("5/min block 10m x 2 max 1h burst 20 x 3", "x 3")
	f("5/min burst 20 10m x 3 max 2d", "10m x 3 max 2d")
	f("5/min burst 20 10 minutes x 3 max 2d", "10 minutes x 3 max 2d")
	f("5/min x 3 max 30s", "x 3 max 30s")
	f("5/min max 1d", "max 1d")
	f("5/min block 10m x3 max 2d max 3d", "max 3d") // each half stands once
	f("5/min block 10m max 2d max 3d x 3", "max 3d x 3")
	f("5/min block 10m x 3 x 4 max 2d", "4 max 2d")
}
