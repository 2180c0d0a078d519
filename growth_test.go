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
	if len(quoted) != 3 && e.Remedy != "leave it out" {
		t.Fatalf("%q: nobody can follow %q by the letter", text, e.Remedy)
	}
	if text[e.Offset:e.Offset+len(e.Value)] != e.Value {
		t.Fatalf("%q: at %d there is no %q", text, e.Offset, e.Value)
	}
	instead := ""
	if strings.HasPrefix(e.Remedy, "write ") {
		instead = quoted[1]
	}
	if strings.HasPrefix(e.Remedy, "leave ") && len(quoted) == 3 && quoted[1] != e.Value {
		t.Fatalf("%q: the value is %q, and what is to be left out %q", text, e.Value, quoted[1])
	}
	return text[:e.Offset] + instead + text[e.Offset+len(e.Value):]
}

// How a block grows is one mistake where it is wrong, and its remedy is accepted.
func TestGrowthThatIsWrong(t *testing.T) {
	f := func(text, field, value, problem, want string) {
		t.Helper()
		_, err := weir.ParseLimit("a", text)
		e, ok := errors.AsType[*weir.FieldError](err)
		if list, several := err.(interface{ Unwrap() []error }); !ok || several && len(list.Unwrap()) != 1 {
			t.Fatalf("%q: got %v, want one error", text, err)
		}
		if e.Field != field || e.Value != value || !strings.Contains(e.Problem, problem) {
			t.Errorf("%q: got %s %q: %s; want %s %q: %s", text, e.Field, e.Value, e.Problem, field, value, problem)
		}
		l, err := weir.ParseLimit("a", follow(t, text, e))
		if err != nil {
			t.Fatalf("%q: %q, followed: %v", text, e.Remedy, err)
		}
		if l.String() != want {
			t.Errorf("%q: %q, followed, is %q; want %q", text, e.Remedy, l, want)
		}
	}
	const part, whole = "block …", "a block grows by x, a whole number, max and a duration"
	const few, none, boundless = "it multiplies by at least 2", "a whole number is missing", "a block that grows needs a bound"
	const plain, grows = "5/s block 1m", "5/s block 1m x 2 max 1h"
	f("5/s block 1m x", part, "x", none, grows)
	f("5/s block 1m x max 1h", part, "x max 1h", none, grows)
	f("5/s block 1m x 1", part, "x 1", few, plain)
	f("5/s block 1m x 0 max 1h", part, "x 0 max 1h", few, plain)
	f("5/s block 1m x -3 max 1h spread fixed-window", part, "x -3 max 1h", few, "5/s fixed-window spread block 1m")
	f("5/s block 1m x1", part, "x1", few, plain)
	f("5/s block 1m x-1 max 1h", part, "x-1 max 1h", few, plain)
	f("5/s block 1m x 2", part, "x 2", boundless, grows)
	f("5/s block 1m x2", part, "x2", boundless, grows)
	f("5/s block 1m x 3 burst 7", part, "x 3", boundless, "5/s burst 7 block 1m x 3 max 1h")
	f("5/s block 1m × 2", part, "× 2", boundless, grows)
	f("5/s block 45m x 2", part, "x 2", boundless, "5/s block 45m x 2 max 1d")
	f("5/s block 20d x 2", part, "x 2", boundless, "5/s block 20d x 2 max 365d")
	f("5/s block 200d x 2", part, "x 2", boundless, "5/s block 200d x 2 max 200d")
	f("5/s block 1m x 2 max", part, "x 2 max", "a duration is missing", grows)
	f("5/s block 1m x 2 max burst 7", part, "x 2 max", "a duration is missing", "5/s burst 7 block 1m x 2 max 1h")
	f("5/s block 1m max 1h", part, "max 1h", "a block with a bound needs a factor", grows)
	f("5/s block 1m max 30s", part, "max 30s", "a block with a bound needs a factor", grows)
	f("5/s block 1m max 30000d", part, "max 30000d", "a block with a bound needs a factor", grows)
	f("5/s block 1m max", part, "max", "a block with a bound needs a factor", grows)
	f("5/s block 26062d x 2", part, "x 2", boundless, "5/s block 26062d x 2 max 26062d")
	f("5/s block 1m max 2h x 3", part, "max 2h x 3", whole, "5/s block 1m x 3 max 2h")
	for _, sign := range []string{"x3", "3x", "×3", "× 3", "* 3", "*3", "X 3", "3×", "times 3"} {
		f("5/s block 1m "+sign+" max 2h", part, sign+" max 2h", whole, "5/s block 1m x 3 max 2h")
	}
	f("5/s block 1m x 2 MAX 1h", part, "x 2 MAX 1h", whole, grows)
	f("5/s block 1m x 2 1h", part, "x 2 1h", whole, grows)
	f("5/s x 3 max 2h", "option", "x 3 max 2h", "only a block grows", "5/s block 1m x 3 max 2h")
	f("5/s burst 9 max 2h", "option", "max 2h", "only a block grows", "5/s burst 9 block 1m x 2 max 2h")
	f("5/s block 1m x 2 max 1h x 3", "option", "x 3", "directly behind the duration of a block, once", grows)
	f("5/s block 1m burst 9 x 3 max 1h", "option", "x 3 max 1h", "directly behind the duration of a block, once", "5/s burst 9 block 1m")
}
