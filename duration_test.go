package weir_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

func TestParseDuration(t *testing.T) {
	f := func(text string, want time.Duration) {
		t.Helper()
		if got, err := weir.ParseDuration(text); got != want || err != nil {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	f("20ms", 20*time.Millisecond)
	f("1us", time.Microsecond)
	f("1µs", time.Microsecond)
	f("1.5s", 1500*time.Millisecond)
	f("30d", 720*time.Hour)
	f("1d12h", 36*time.Hour)
	f("1h30m", 90*time.Minute)

	bad := func(text, want string) {
		t.Helper()
		d, err := weir.ParseDuration(text)
		refusal, ok := errors.AsType[*weir.FieldError](err)
		if d != 0 || !ok || err.Error() != "weir: duration"+want || refusal.Offset != 0 || refusal.Value != text {
			t.Errorf("%q: %s, %v; want %s", text, d, err, want)
		}
	}
	const remedy = "; write one such as 30s, 15m (minutes), 12h or 30d"
	bad("", ": a duration is missing"+remedy)
	bad("soon", " soon: not a duration"+remedy)
	bad("10", " 10: not a duration"+remedy)
	bad("+1s", " +1s: not a duration"+remedy)
	bad(" 1s", "  1s: not a duration"+remedy)
	bad("1s ", " 1s : not a duration"+remedy)
	bad("min", " min: not a duration"+remedy)
	bad("0", " 0: it lasts at least 1 µs"+remedy)
	bad("0s", " 0s: it lasts at least 1 µs"+remedy)
	bad("-1s", " -1s: it lasts at least 1 µs"+remedy)
	bad("999ns", " 999ns: it lasts at least 1 µs")
	bad("1500ns", " 1500ns: time is whole microseconds")
	bad("60000d", " 60000d: it lasts at most 142 years")
	bad("200000d", " 200000d: not a duration"+remedy)
}

// What is printed is read back, and reads as a limit's text does.
func TestDurationsReadAsLimitsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, 1<<52-1).Draw(t, "µs")) * time.Microsecond
		text := weir.FormatDuration(d)
		back, err := weir.ParseDuration(text)
		spec, specErr := weir.ParseSpec("5 per " + text)
		if back != d || err != nil || spec.Period != d || specErr != nil {
			t.Fatalf("%s is printed as %s and read as %s, %v; in a limit as %s, %v", d, text, back, err, spec.Period, specErr)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[0-9]{0,6}(d|h|m|s|ms|us|ns|\.5s)([0-9]{1,3}(h|s))?`).Draw(t, "text")
		d, err := weir.ParseDuration(text)
		spec, specErr := weir.ParseSpec("5 per " + text)
		if (err == nil) != (specErr == nil) || d != spec.Period {
			t.Fatalf("%q: %s, %v; in a limit %s, %v", text, d, err, spec.Period, specErr)
		}
	})
}
