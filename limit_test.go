package weir_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

const day = 24 * time.Hour

func TestEverydayQuotasAreAccepted(t *testing.T) {
	f := func(text string, capacity, overdraft int64) {
		t.Helper()
		l, err := weir.ParseLimit("api", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			return
		}
		if got := l.Capacity(); got != capacity {
			t.Errorf("%q: capacity %d, want %d", text, got, capacity)
		}
		if got := l.Algorithm().Overdraft(); got != overdraft {
			t.Errorf("%q: overdraft %d, want %d", text, got, overdraft)
		}
	}
	f("1/s", 1, 2)
	f("7/s", 7, 14)
	f("5/s burst 5", 5, 10)
	f("100/s burst 1", 1, 2)
	f("1000000000/s", 1_000_000_000, 2_000_000_000)
	f("999983/min", 999_983, 1_999_966)
	f("1000/h", 1000, 2000)
	f("10/day burst 1", 1, 2)
	f("1/day burst 50000", 50_000, 52_124) // twice the burst would need 273 years to drain
	f("1000000/day", 1_000_000, 2_000_000)
	f("5000/week", 5000, 10_000)
	f("10000 per 30d", 10_000, 20_000)
	f("1 per 365d", 1, 2)
	f("1 per 36500d", 1, 1)
	f("1 per 1us", 1, 2)
	f("5/s overdraft 5", 5, 5)
	f("5/s burst 10 overdraft 1000", 10, 1000)
	f("30/day fixed-window", 30, 60)
	f("1 per 36500d fixed-window", 1, 2)
	f("1000000/s fixed-window spread", 1_000_000, 2_000_000)
	f("4503599627370495/s fixed-window", 1<<52-1, 1<<52-1)
	f("30/day fixed-window overdraft 30", 30, 30)
	f("1/month calendar UTC", 1, 2)
	f("100000/week calendar Asia/Kathmandu", 100_000, 200_000)
	f("30/day sliding-window", 30, 60)
	f("1000000/day sliding-window", 1_000_000, 1_042_499) // in ticks of 10 µs
	f("1000000/day sliding-window overdraft 2000000", 1_000_000, 2_000_000)
	f("1000000000 per 30d sliding-window spread", 1_000_000_000, 2_000_000_000)
	f("1000000000000/s sliding-window", 1_000_000_000_000, 2_000_000_000_000)
	f("1 per 1us sliding-window", 1, 2)
	f("1 per 26062d sliding-window", 1, 2)
}

// wantRefusal wants a limit not to be built, and to be told so at a place of its text.
func wantRefusal(t *testing.T, text string, offset int, sentence string) {
	t.Helper()
	l, err := weir.ParseLimit("api", text)
	if l != nil || err == nil {
		t.Errorf("%q was built", text)
		return
	}
	e := refusals(t, err)[0]
	if diff := cmp.Diff(sentence, e.Error()); diff != "" || e.Offset != offset {
		t.Errorf("%q, at %d, want %d (- want, + got):\n%s", text, e.Offset, offset, diff)
	}
}

// The sentences are for people: they say what is wrong and what to write.
func TestImpossibleLimitsAreRefused(t *testing.T) {
	f := func(text string, offset int, sentence string) {
		t.Helper()
		wantRefusal(t, text, offset, sentence)
	}
	f("1/day burst 1000000", 12, "weir: burst 1000000: it needs 2737 years to refill; write at most 52124")
	f("1 per 36500d burst 2", 19, "weir: burst 2: it needs 199 years to refill; write at most 1")
	f("5/s burst 9223372036854775807", 10, "weir: burst 9223372036854775807: it needs more than 146135 years to refill; write at most 22517998136")
	f("999983/s burst 1000000000000", 15, "weir: burst 1000000000000: too large to count exactly at this rate; write at most 9007361386")
	f("1000000000000/s", 0, "weir: burst 1000000000000: by default it is the count, and that is too large to count exactly at this rate; add \"burst 9007208260\", or write a rounder count")
	f("12345678901/day", 0, "weir: burst 12345678901: by default it is the count, and that is too large to count exactly at this rate; add \"burst 729582\", or write a rounder count")
	f(" 12345678901/day", 1, "weir: burst 12345678901: by default it is the count, and that is too large to count exactly at this rate; add \"burst 729582\", or write a rounder count")
	f("4503599627370495/s burst 10", 25, "weir: burst 10: too large to count exactly at this rate; write at most 9")
	f("1/s overdraft 9223372036854775807", 14, "weir: overdraft 9223372036854775807: it needs more than 146135 years to refill; write at most 4503599627")
	f("10/s overdraft 9", 15, "weir: overdraft 9: the debt may be no smaller than the burst of 10; leave it out, or raise it")
	f("10/s burst 20 overdraft 10", 24, "weir: overdraft 10: the debt may be no smaller than the burst of 20; leave it out, or raise it")
	f("10/day fixed-window overdraft 9", 30, "weir: overdraft 9: it may be no smaller than the count of 10; leave it out, or raise it")
	f("10/day fixed-window overdraft 4503599627370496", 30, "weir: overdraft 4503599627370496: too large to count exactly; write at most 4503599627370495")
	f("10/day sliding-window overdraft 9", 32, "weir: overdraft 9: it may be no smaller than the count of 10; leave it out, or raise it")
	f("10000000000000/s sliding-window", 0, "weir: count 10000000000000: too large to count exactly in a sliding window of this period; write at most 9007199254740")
	f("10 per 30d sliding-window overdraft 9007199254741", 36, "weir: overdraft 9007199254741: too large to count exactly in a sliding window of this period; write at most 3474999712477")
	f("1000000 per 7d1us sliding-window", 0, "weir: count 1000000: too large to count exactly in a sliding window of this period; write at most 14892, or a rounder period")
	f("1 per 26063d sliding-window", 6, "weir: period 26063d: a sliding window lasts at most 26062d; write 26062d or less")
	f("10/s burst 0", 11, "weir: burst 0: a bucket must hold at least 1 unit; leave it out for a burst of the count, or write \"burst 1\" for none")
}

// A count that is too large a burst passes with the burst that is named, and with no larger
// one.
func TestTheBurstThatIsNamed(t *testing.T) {
	f := func(text, rest string) {
		t.Helper()
		_, err := weir.ParseLimit("api", text+rest)
		e := refusals(t, err)[0]
		var burst int64
		if _, err := fmt.Sscanf(e.Remedy, `add "burst %d", or write a rounder count`, &burst); err != nil || e.Offset != 0 {
			t.Fatalf("%s: %+v, %v", text, e, err)
		}
		if _, err := weir.ParseLimit("api", fmt.Sprintf("%s burst %d%s", text, burst, rest)); err != nil {
			t.Errorf("%s, as told: %v", text, err)
		}
		if _, err := weir.ParseLimit("api", fmt.Sprintf("%s burst %d%s", text, burst+1, rest)); err == nil {
			t.Errorf("%s with more than told was built", text)
		}
	}
	f("1000000000000/s", "")
	f("12345678901/day", " block 1m")
	f("4503599627370495/s", "")
	f("1000000000000/s", " overdraft 9007208260")
	wantRefusal(t, "1000000000000/s overdraft 9000000000000", 0, "weir: burst 1000000000000: by default it is the count, and that is too large to count exactly at this rate; write a smaller or a rounder count")
}

// Counts that no kind of limit has are told the most that theirs has.
func TestCountsBeyondWhatIsRemembered(t *testing.T) {
	for _, kind := range []string{" concurrent", "/s sliding-log", "/day sliding-log block 1h"} {
		for _, count := range []string{"4096", "4503599627370496", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 40)} {
			if e := one(t, count+kind); e.Value != count || !strings.HasPrefix(e.Remedy, "write at most 4095") {
				t.Errorf("%s%s: %+v", count, kind, e)
			}
		}
		if _, err := weir.ParseLimit("api", "4095"+kind); err != nil {
			t.Errorf("4095%s: %v", kind, err)
		}
	}
	for _, count := range []string{"1.5", "0.5", "1e3", "5e", "+5"} {
		if e := one(t, count+" concurrent"); e.Value != count || e.Remedy != "write a number of slots, such as 10" {
			t.Errorf("%s concurrent: %+v", count, e)
		}
	}
}

// What a refusal tells to write is the most that is accepted.
func TestTheRemedyIsAccepted(t *testing.T) {
	f := func(format string, value int64) {
		t.Helper()
		_, err := weir.ParseLimit("api", fmt.Sprintf(format, value))
		if err == nil {
			t.Errorf("%s with %d was built", format, value)
			return
		}
		var most int64
		if _, err := fmt.Sscanf(refusals(t, err)[0].Remedy, "write at most %d", &most); err != nil {
			t.Errorf("%s with %d: %v", format, value, err)
			return
		}
		if _, err := weir.ParseLimit("api", fmt.Sprintf(format, most)); err != nil {
			t.Errorf("%s with %d, as told: %v", format, most, err)
		}
		if _, err := weir.ParseLimit("api", fmt.Sprintf(format, most+1)); err == nil {
			t.Errorf("%s with %d, one more than told, was built", format, most+1)
		}
	}
	f("1/day burst %d", 1_000_000)
	f("1 per 36500d burst %d", 2)
	f("999983 per 30d burst %d", math.MaxInt64)
	f("1000000000000/s burst %d", 1_000_000_000_000)
	f("12345678901/day burst %d", 12_345_678_901)
	f("1/s overdraft %d", math.MaxInt64)
	f("7/week fixed-window overdraft %d", math.MaxInt64)
	f("%d/s fixed-window", 1<<52)
	f("%d/s sliding-window", 1<<51)
	f("%d per 1ms sliding-window", 1<<51)
	f("%d per 7d1us sliding-window", 1_000_000)
	f("7 per 30d sliding-window overdraft %d", math.MaxInt64)
}

// Every Spec that Go can say is refused or kept.
func TestExtremeArguments(t *testing.T) {
	numbers := []int64{0, -1, math.MinInt64, 1, 7, 999_983, 1_000_000_000_000, 1<<52 - 1, 1 << 52, math.MaxInt64}
	periods := []time.Duration{
		0, -1, math.MinInt64, 1, 999, time.Microsecond, 1500, time.Second, day, 36500 * day, 52124 * day, 52125 * day, math.MaxInt64,
	}
	built := 0
	for _, a := range []weir.Algorithm{weir.TokenBucket, weir.FixedWindow, weir.SlidingWindow} {
		for _, count := range numbers {
			for _, period := range periods {
				for _, burst := range numbers {
					for _, overdraft := range numbers {
						s := weir.Spec{Algorithm: a, Count: count, Period: period, Burst: burst, Overdraft: overdraft}
						l, err := weir.NewLimit("api", s)
						if err != nil {
							_ = refusals(t, err)
							continue
						}
						built++
						checkExhausted(t, l)
					}
				}
			}
		}
	}
	if built < 300 {
		t.Errorf("only %d were built", built)
	}
}

// checkExhausted empties a limit and waits.
func checkExhausted(t *testing.T, l *weir.Limit) {
	t.Helper()
	a, now := l.Algorithm(), weir.Micros(1_796_022_366_123_456)
	at := func(now weir.Micros) algorithm.Moment {
		m, ok := l.Moment(now, &weir.Take{})
		if !ok {
			t.Fatalf("%s: no moment at %d", l, now)
		}
		return m
	}
	state, v, r := algorithm.Step(a, algorithm.State{}, at(now), l.Capacity())
	if !v.Allowed || r.Cost != l.Capacity() || l.Capacity() < 1 || a.Overdraft() < l.Capacity() {
		t.Fatalf("%s: %+v, %+v of %d", l, v, r, l.Capacity())
	}
	if v := a.Judge(state, at(now), math.MaxInt64); v.Allowed || !v.Never {
		t.Fatalf("%s: MaxInt64 units: %+v", l, v)
	}
	v = a.Judge(state, at(now), 1)
	if v.Allowed || v.Never || v.RetryAfter < 1 || v.RetryAfter >= algorithm.MaxMicros {
		t.Fatalf("%s, emptied: %+v", l, v)
	}
	if a.Judge(state, at(now+v.RetryAfter-1), 1).Allowed || !a.Judge(state, at(now+v.RetryAfter), 1).Allowed {
		t.Fatalf("%s: passes too early or not at all after %d µs", l, v.RetryAfter)
	}
}

// What a text cannot say, Go can.
func TestSpecsThatAreRefused(t *testing.T) {
	f := func(s weir.Spec, want ...string) {
		t.Helper()
		var got []string
		for _, e := range refusals(t, s.Validate()) {
			got = append(got, strings.TrimPrefix(e.Error(), "weir: "))
			if e.Offset != -1 {
				t.Errorf("%+v: %v has offset %d", s, e, e.Offset)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (- want, + got):\n%s", s, diff)
		}
		if l, err := weir.NewLimit("api", s); l != nil || !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%+v: built %v, %v", s, l, err)
		}
	}
	rate := func(a weir.Algorithm) weir.Spec { return weir.Spec{Algorithm: a, Count: 5, Period: time.Second} }
	with := func(s weir.Spec, change func(*weir.Spec)) weir.Spec { change(&s); return s }

	f(weir.Spec{},
		`count 0: a limit admits at least 1; write 1 or more; "deny" refuses everything, "unlimited" limits nothing`,
		"period 0s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d")
	f(rate(200), "algorithm 200: no such algorithm; use one of the constants")
	f(rate(weir.Unlimited), "limit unlimited: it takes no numbers and no options; leave them out")
	f(weir.Spec{Algorithm: weir.Deny, Spread: true}, "limit deny: it takes no numbers and no options; leave them out")
	f(rate(weir.Concurrency), "period 1s: a concurrent limit has none; leave it out")
	f(weir.Spec{Algorithm: weir.Concurrency, Count: 5, Month: true}, "period month: a concurrent limit has none; leave it out")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Period = -time.Second }), "period -1s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Period = 1500 }), "period 1.5µs: time is whole microseconds; write 1us")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Period = math.MaxInt64 - 775807 }), "period 106751d23h47m16s854ms: it lasts at most 52124d; write 52124d or less")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Burst, s.Overdraft = -1, -2 }),
		"burst -1: a bucket must hold at least 1 unit; leave it out for a burst of the count, or write \"burst 1\" for none",
		"overdraft -2: a debt is not negative; leave it out for twice the capacity")
	f(with(rate(weir.LeakyBucket), func(s *weir.Spec) { s.Wait, s.Queue = -time.Second, -1 }),
		"queue -1: a queue holds at least 1; leave it out to bound it by wait alone",
		"wait -1s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Zone = "UTC" }), "calendar UTC: only fixed windows have a calendar; make it a fixed-window limit")
	f(with(rate(weir.FixedWindow), func(s *weir.Spec) { s.Zone, s.Month = "UTC", true }), "period 1s: a calendar month has no other period; leave one of the two out")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Block.Factor = 2 }), "block 0s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d", "block max 0s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Block = weir.Block{For: time.Second, Max: time.Minute} }),
		"block max 1m: a block that stays the same has none; leave it out")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Block = weir.Block{For: time.Second, Factor: 1, Max: time.Minute} }),
		"block factor 1: it multiplies by at least 2; leave it and the max out for a block that stays the same")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Block = weir.Block{For: 1 << 51 * time.Microsecond} }),
		"block 26062d11h56m53s685ms248us: it lasts at most 26062d; write 26062d or less")
	f(with(rate(weir.TokenBucket), func(s *weir.Spec) { s.Block = weir.Block{For: time.Second, Factor: 2, Max: time.Second + 1} }),
		"block max 1.000000001s: time is whole microseconds; write 1s")
}

func TestZonesThatAreRefused(t *testing.T) {
	for _, zone := range []string{"Local", "localtime", "Nowhere/City", "UTC spread", "right/UTC"} {
		_, err := weir.NewLimit("api", weir.Spec{Algorithm: weir.FixedWindow, Count: 5, Period: day, Zone: zone})
		if !errors.Is(err, weir.ErrInvalid) || !strings.Contains(err.Error(), "weir: calendar "+zone+": unknown time zone; write an IANA name") {
			t.Errorf("%q: %v", zone, err)
		}
	}
}

func TestNames(t *testing.T) {
	f := func(name, rule, slot string) {
		t.Helper()
		l, err := weir.ParseLimit(name, "5/s")
		if err != nil {
			t.Errorf("%q: %v", name, err)
			return
		}
		if l.Name() != name || l.Rule() != rule || l.Slot() != slot {
			t.Errorf("%q: %q, rule %q, slot %q", name, l.Name(), l.Rule(), l.Slot())
		}
	}
	long := strings.Repeat("a", 32)
	f("api", "api", "")
	f("a", "a", "")
	f("0", "0", "")
	f("login-address", "login-address", "")
	f("v1.2_x", "v1.2_x", "")
	f("api/1m", "api", "1m")
	f("take/1s", "take", "1s")
	f(long+"/"+long, long, long)
	for _, name := range []string{
		"", "/", "api/", "/1m", "api/1m/2", "Api", "api/1M", "-api", ".api", "_api", "api/-1", "a b", "api\n", "\x00", "ä", "api/\xff", long + "a", "a/" + long + "a",
	} {
		_, err := weir.ParseLimit(name, "5/s")
		want := "weir: name " + strconv.Quote(name) + ": a name is <rule> or <rule>/<slot>, each of a-z 0-9 . _ - and at most 32 long, beginning with a letter or digit"
		if err == nil || err.Error() != want || refusals(t, err)[0].Offset != -1 {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := weir.NewLimit("Api", weir.Spec{})
	if got := len(refusals(t, err)); got != 3 {
		t.Errorf("a bad name, no count and no period: %d refusals: %v", got, err)
	}
}

// The name, the family and the grid of windows alone name a state.
func TestIdentity(t *testing.T) {
	id := func(name, text string) [16]byte {
		t.Helper()
		l, err := weir.ParseLimit(name, text)
		if err != nil {
			t.Fatal(err)
		}
		return l.ID()
	}
	same := id("api", "5/s")
	for _, text := range []string{"5/s burst 20", "5/day", "1000000 per 30d", "7/s overdraft 100"} {
		if id("api", text) != same {
			t.Errorf("%q has another identity", text)
		}
	}
	if id("api", "5/s fixed-window") != id("api", "9/s fixed-window overdraft 20") {
		t.Error("two counts in windows of one grid have different identities")
	}
	if id("api", "5/s sliding-window") != id("api", "9/s sliding-window overdraft 20") {
		t.Error("two counts in sliding windows of one period have different identities")
	}
	if id("api", "5/day calendar UTC") != id("api", "9/day calendar UTC") {
		t.Error("two counts in one calendar have different identities")
	}
	all := map[[16]byte]string{}
	for _, at := range [][2]string{
		{"api", "5/s"},
		{"api", "5/s fixed-window"},
		{"api", "5/min fixed-window"},
		{"api", "5/s fixed-window spread"},
		{"api", "5/s sliding-window"},
		{"api", "5/min sliding-window"},
		{"api", "5/s sliding-window spread"},
		{"api", "deny"},
		{"api", "5/day fixed-window"},
		{"api", "5/day calendar UTC"},
		{"api", "5/day calendar Europe/Berlin"},
		{"api", "5/week calendar UTC"},
		{"api", "5/month calendar UTC"},
		{"api/1s", "5/s"},
		{"api/1m", "5/s"},
		{"b", "5/s"},
		{"bapi", "5/s"},
		{"wapi", "5/s"},
		{"sapi", "5/s"},
	} {
		i := id(at[0], at[1])
		if other := all[i]; other != "" {
			t.Errorf("%v and %s have one identity", at, other)
		}
		all[i] = at[0] + " " + at[1]
	}
}

func TestSlotsAreNamedByThePeriod(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		s, err := weir.ParseSpec(text)
		if got := s.Slot(); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
		if _, err := weir.NewLimit("api/"+s.Slot(), weir.Spec{Count: 1, Period: 1000}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	f("5/s", "1s")
	f("5/min", "1m")
	f("7/min burst 70 overdraft 700", "1m")
	f("5/h", "1h")
	f("5/day", "1d")
	f("5/day calendar UTC", "1d")
	f("5/week", "7d")
	f("5/month calendar UTC", "1mo")
	f("5 per 90s", "1m30s")
	f("5 per 250ms fixed-window", "250ms")
	f("5 per 51830d23h59m59s999ms999us", "51830d23h59m59s999ms999us")
	f("5 concurrent", "slots")
	f("unlimited", "unlimited")
	f("deny", "deny")
}

func TestLimitsWithoutStates(t *testing.T) {
	for _, text := range []string{"unlimited", "deny"} {
		l := weir.MustLimit("api", text)
		if l.Algorithm() != nil || l.Capacity() != 0 || l.String() != text {
			t.Errorf("%s: %v, %d, %s", text, l.Algorithm(), l.Capacity(), l)
		}
	}
}

func TestMustLimitPanics(t *testing.T) {
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("recovered %v", err)
		}
	}()
	weir.MustLimit("api", "0/s")
}

func TestWordsOfConstants(t *testing.T) {
	if got := weir.Algorithm(200).String(); got != "unknown" {
		t.Errorf("algorithm 200 is %q", got)
	}
	if got := weir.Mode(200).String(); got != "unknown" {
		t.Errorf("mode 200 is %q", got)
	}
	var modes []string
	for m := weir.Exact; m <= weir.Closed; m++ {
		modes = append(modes, m.String())
	}
	if diff := cmp.Diff("exact leased cached local overflow open closed", strings.Join(modes, " ")); diff != "" {
		t.Error(diff)
	}
}
