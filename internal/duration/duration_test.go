package duration_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/duration"
)

func TestParse(t *testing.T) {
	f := func(text string, want time.Duration) {
		t.Helper()
		if got, problem, remedy := duration.Parse(text); got != want || problem+remedy != "" {
			t.Errorf("%q: %s, %s; want %s", text, got, problem, want)
		}
	}
	f("20ms", 20*time.Millisecond)
	f("1us", time.Microsecond)
	f("1µs", time.Microsecond)
	f("1.5s", 1500*time.Millisecond)
	f("30d", 720*time.Hour)
	f("1d12h", 36*time.Hour)
	f("1h30m", 90*time.Minute)

	bad := func(text, want, remedy string) {
		t.Helper()
		if d, problem, instead := duration.Parse(text); d != 0 || problem != want || instead != remedy {
			t.Errorf("%q: %s, %s; %s; want %s; %s", text, d, problem, instead, want, remedy)
		}
	}
	const remedy = "write one such as 30s, 15m (minutes), 12h or 30d"
	bad("", "a duration is missing", remedy)
	for _, text := range []string{"soon", "10", "+1s", " 1s", "1s ", "min", "1d-1s", "1d+1s", "-200000d", "200000dx", "142y"} {
		bad(text, "not a duration", remedy)
	}
	for _, text := range []string{"0", "0s", "-1s", "0d"} {
		bad(text, "it lasts at least 1 µs", remedy)
	}
	bad("999ns", "it lasts at least 1 µs", remedy)
	bad("1500ns", "time is whole microseconds", "write 1us")
	for _, text := range []string{"52125d", "60000d", "106751d24h", "200000d", "4294967296d", "99999999999999999999d", "52124d2000000h", "9000000000s", "99999999999999999999s", "1d99999999999h", "1251000h"} {
		bad(text, "it lasts at most 52124d", "write 52124d or less")
	}
	if d, problem, _ := duration.Parse("52124d"); d != 52124*duration.Day || problem != "" {
		t.Errorf("the longest of whole days: %s, %s", d, problem)
	}
}

func TestFormat(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := duration.Format(d); got != want {
			t.Errorf("%d ns: %s, want %s", d, got, want)
		}
	}
	f(36*time.Hour, "1d12h")
	f(90*time.Second, "1m30s")
	f(1500*time.Microsecond, "1ms500us")
	f(0, "0s")
	f(-time.Second, "-1s")
	f(1500, "1.5µs")
}

// What is printed is read back, and reads as a limit's text does.
func TestDurationsReadAsLimitsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, 1<<52-1).Draw(t, "µs")) * time.Microsecond
		text := duration.Format(d)
		back, problem, _ := duration.Parse(text)
		spec, specErr := weir.ParseSpec("5 per " + text)
		if back != d || problem != "" || spec.Period != d || specErr != nil {
			t.Fatalf("%s is printed as %s and read as %s, %s; in a limit as %s, %v", d, text, back, problem, spec.Period, specErr)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?[0-9]{0,6}(d|h|m|s|ms|us|ns|\.5s)([0-9]{1,3}(h|s))?`).Draw(t, "text")
		d, problem, _ := duration.Parse(text)
		spec, specErr := weir.ParseSpec("5 per " + text)
		if (problem == "") != (specErr == nil) || d != spec.Period {
			t.Fatalf("%q: %s, %s; in a limit %s, %v", text, d, problem, spec.Period, specErr)
		}
	})
}
