package weir_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// oneOf draws one of some values.
func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

// drawCount draws a number of units, everyday or extreme.
func drawCount(t *rapid.T, label string) int64 {
	return rapid.OneOf(
		rapid.Int64Range(1, 1000),
		rapid.SampledFrom([]int64{1, 7, 10_000, 999_983, 1_000_000, 1_000_000_000, 1<<52 - 1}),
		rapid.Int64Range(1, 1<<52-1),
	).Draw(t, label)
}

// drawSpan draws a period or another duration that a limit may have.
func drawSpan(t *rapid.T, label string) time.Duration {
	return rapid.OneOf(
		rapid.SampledFrom([]time.Duration{time.Microsecond, time.Second, time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}),
		rapid.Map(rapid.Int64Range(1, 1<<52-1), func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }),
	).Draw(t, label)
}

// half is for what lasts at most half as long as other spans.
func half(span time.Duration) time.Duration {
	return max(time.Microsecond, (span / 2).Truncate(time.Microsecond))
}

// drawSpec draws any valid Spec.
func drawSpec(t *rapid.T) weir.Spec {
	s := weir.Spec{Algorithm: weir.Algorithm(rapid.Uint8Range(0, uint8(weir.Deny)).Draw(t, "algorithm"))}
	if s.Algorithm == weir.Unlimited || s.Algorithm == weir.Deny {
		return s
	}
	s.Count = drawCount(t, "count")
	if s.Algorithm != weir.Concurrency {
		s.Period = drawSpan(t, "period")
	}
	if s.Algorithm == weir.SlidingWindow {
		s.Period = half(s.Period)
	}
	some := rapid.Bool()
	switch s.Algorithm {
	case weir.TokenBucket:
		if some.Draw(t, "has burst") {
			s.Burst = oneOf(t, "burst", s.Count, drawCount(t, "other burst"))
		}
	case weir.FixedWindow:
		if some.Draw(t, "has calendar") {
			s.Zone = oneOf(t, "zone", "UTC", "Europe/Berlin", "America/Port-au-Prince", "Etc/GMT+5", "America/Argentina/Buenos_Aires")
			s.Period = oneOf(t, "calendar", 24*time.Hour, 7*24*time.Hour, 0)
			s.Month = s.Period == 0
		}
	case weir.LeakyBucket:
		s.Wait, s.Queue = drawSpan(t, "longest wait"), drawCount(t, "places")
		switch oneOf(t, "bound", "both", "wait", "queue") {
		case "wait":
			s.Queue = 0
		case "queue":
			s.Wait = 0
		}
	case weir.Concurrency:
		s.Lease = oneOf(t, "lease", 0, drawSpan(t, "longest lease"))
	}
	switch s.Algorithm {
	case weir.TokenBucket, weir.LeakyBucket, weir.FixedWindow, weir.SlidingWindow, weir.SlidingLog:
		s.Overdraft = oneOf(t, "overdraft", 0, drawCount(t, "debt"))
	}
	switch s.Algorithm {
	case weir.FixedWindow, weir.SlidingWindow:
		s.Spread = s.Zone == "" && some.Draw(t, "spread")
	}
	if s.Algorithm != weir.Concurrency && some.Draw(t, "has block") {
		s.Block.For = half(drawSpan(t, "block"))
		if some.Draw(t, "grows") {
			s.Block.Factor = max(2, drawCount(t, "factor"))
			s.Block.Max = max(s.Block.For, half(drawSpan(t, "most")))
		}
	}
	return s
}

func TestPrintedSpecsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		if err := s.Validate(); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		text := s.String()
		got, err := weir.ParseSpec(text)
		if s.Burst == s.Count {
			s.Burst = 0
		}
		if got != s || err != nil || got.String() != text {
			t.Fatalf("%q reads as %+v, %v; want %+v", text, got, err, s)
		}
	})
}

// A limit built in Go and one built from its printed text are the same limit.
func TestALimitIsItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		a, errA := weir.NewLimit("api/1s", s)
		b, errB := weir.ParseLimit("api/1s", s.String())
		if errA != nil || errB != nil {
			if errA == nil || errB == nil || errA.Error() != errB.Error() {
				t.Fatalf("%+v: in Go %v, as text %v", s, errA, errB)
			}
			return
		}
		if a.Spec() != b.Spec() || a.String() != b.String() || a.ID() != b.ID() || a.Capacity() != b.Capacity() {
			t.Fatalf("%+v: in Go %+v, as text %+v", s, a.Spec(), b.Spec())
		}
		if a.Algorithm() != nil && a.Algorithm().Overdraft() != b.Algorithm().Overdraft() {
			t.Fatalf("%+v: overdraft %d in Go, %d as text", s, a.Algorithm().Overdraft(), b.Algorithm().Overdraft())
		}
		if again, err := weir.ParseSpec(a.String()); again != a.Spec() || err != nil {
			t.Fatalf("%q reads as %+v, %v; the limit has %+v", a, again, err, a.Spec())
		}
	})
}

// checkText checks what holds of every text: it reads as a Spec whose printed
// form is a fixpoint in the grammar's letters, or each refusal says where in
// the text its value stands.
func checkText(t rapid.TB, text string) {
	t.Helper()
	s, err := weir.ParseSpec(text)
	if err != nil {
		for _, e := range refusals(t, err) {
			checkRefusal(t, text, e)
		}
		return
	}
	canonical := s.String()
	if again, err := weir.ParseSpec(canonical); again != s || err != nil || again.String() != canonical {
		t.Errorf("%q: its canonical text %q reads as %+v, %v; want %+v", text, canonical, again, err, s)
	}
	if stray := strings.Trim(canonical, "abcdefghijklmnopqrstuvwxyz0123456789 /-ABCDEFGHIJKLMNOPQRSTUVWXYZ_+"); stray != "" {
		t.Errorf("%q: %q holds %q", text, canonical, stray)
	}
	if s.Zone == "" && strings.ToLower(canonical) != canonical {
		t.Errorf("%q: capitals in %q", text, canonical)
	}
	if _, err := weir.ParseLimit("r", text); err != nil {
		for _, e := range refusals(t, err) {
			checkRefusal(t, text, e)
		}
	}
}

func checkRefusal(t rapid.TB, text string, e *weir.FieldError) {
	t.Helper()
	if e.Offset < 0 || e.Offset > len(text) || e.Field == "" || e.Problem == "" {
		t.Errorf("%q: %#v", text, e)
		return
	}
	if e.Value != "" && !strings.HasPrefix(text[e.Offset:], e.Value) && !strings.Contains(e.Problem, "by default") {
		t.Errorf("%q: %q does not stand at %d", text, e.Value, e.Offset)
	}
	checkHint(t, text, e)
}

// checkHint checks that limits which a hint names are accepted.
func checkHint(t rapid.TB, text string, e *weir.FieldError) {
	t.Helper()
	var limits []string
	if list, ok := strings.CutPrefix(e.Remedy, "in a rules file several are a list: ["); ok {
		limits = strings.Split(strings.TrimSuffix(list, "]"), ", ")
	}
	if rate, ok := strings.CutPrefix(e.Remedy, "write "); ok && e.Problem == "a rate is written in another way" {
		rate, _, _ = strings.Cut(rate, ", ")
		limits = []string{strings.Replace(rate, "/month", "/month calendar UTC", 1)}
	}
	for _, limit := range limits {
		if s, err := weir.ParseSpec(limit); err != nil || s.String() != limit {
			t.Errorf("%q: the hint is %s, and %q reads as %q, %v", text, e.Remedy, limit, s, err)
		}
	}
}

// Texts made of the grammar's words come closer to it than random bytes.
func TestTextsOfTheGrammarsWords(t *testing.T) {
	words := []string{
		"5/s", "10/min", "1000000/day", "30/month", "5", "0", "-1", "007", "per", "1h", "30d", "1.5h", "0s", "burst", "overdraft", "token-bucket",
		"fixed-window", "sliding-window", "sliding-log", "leaky-bucket", "calendar", "UTC", "Europe/Berlin", "Local", "wait", "queue", "spread",
		"lease", "block", "x", "max", "2", "concurrent", "unlimited", "deny", "bust", "/", ",", "and", "req/min", "requests", "30", "minutes", "0.5", "in", "flight", "up", "to",
		"4503599627370495/s", "9223372036854775807",
	}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(words), 0, 9).Draw(t, "words")
		checkText(t, strings.Join(chosen, oneOf(t, "space", " ", "  ", "\t")))
	})
}

func FuzzParseSpec(f *testing.F) {
	for _, text := range []string{
		"", "5/s burst 5", "10 per 30d", "5/s overdraft 9 fixed-window spread", "10/month calendar Europe/Berlin", "3 concurrent lease 90s",
		"1/s leaky-bucket wait 2s queue 9", "5/min block 5m x 2 max 1h", "unlimited", "deny", "0/m burst 0 bust", "1 per 1d1.5h", "\t7/day ",
		"12345678901/day", "1/day burst 1000000", "\xff/s", "1,000 requests per 5 minutes, 3 in flight", "5rpm block 1h 30m x2 up to 2 days", "10/s or 0.5/m | 7 concurrent lease=3s",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { checkText(t, text) })
}
