package weir_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	_ "time/tzdata" // zones on machines that have none

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// refusals takes a joined error apart.
func refusals(t rapid.TB, err error) []*weir.FieldError {
	t.Helper()
	errs := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		errs = joined.Unwrap()
	}
	var list []*weir.FieldError
	for _, e := range errs {
		refusal, ok := errors.AsType[*weir.FieldError](e)
		if !ok || !errors.Is(e, weir.ErrInvalid) {
			t.Fatalf("%v (%T) is no FieldError", e, e)
		}
		list = append(list, refusal)
	}
	return list
}

// reader gives a helper that reads a text and compares its canonical form.
func reader(t *testing.T) func(in, canonical string) {
	return func(in, canonical string) {
		t.Helper()
		s, err := weir.ParseSpec(in)
		if err != nil {
			t.Errorf("%q: %v", in, err)
			return
		}
		if got := s.String(); got != canonical {
			t.Errorf("%q: got %q, want %q", in, got, canonical)
		}
		if again, err := weir.ParseSpec(canonical); again != s || err != nil {
			t.Errorf("%q: its canonical text reads as %+v, %v, not as %+v", in, again, err, s)
		}
	}
}

// refuser gives a helper that reads a text with one mistake.
func refuser(t *testing.T) func(in, field string, offset int, sentence string) {
	return func(in, field string, offset int, sentence string) {
		t.Helper()
		s, err := weir.ParseSpec(in)
		if err == nil {
			t.Errorf("%q: read as %q", in, s)
			return
		}
		list := refusals(t, err)
		if len(list) != 1 {
			t.Errorf("%q: %d mistakes, want one:\n%v", in, len(list), err)
			return
		}
		e := list[0]
		if e.Field != field || e.Offset != offset || !strings.Contains(e.Error(), sentence) {
			t.Errorf("%q: got %s at %d: %v; want %s at %d: … %s …", in, e.Field, e.Offset, e, field, offset, sentence)
		}
		if s != (weir.Spec{}) {
			t.Errorf("%q: refused, and gave %+v", in, s)
		}
	}
}

// refuserOfAll gives a helper that reads a text with several mistakes, each
// given as its offset and its sentence.
func refuserOfAll(t *testing.T) func(in string, want ...string) {
	return func(in string, want ...string) {
		t.Helper()
		_, err := weir.ParseSpec(in)
		if err == nil {
			t.Errorf("%q was read", in)
			return
		}
		var got []string
		for _, e := range refusals(t, err) {
			got = append(got, fmt.Sprintf("%d %s", e.Offset, strings.TrimPrefix(e.Error(), "weir: ")))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (- want, + got):\n%s", in, diff)
		}
	}
}

func TestRates(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("5/s", "5/s")
	f("5/sec", "5/s")
	f("5/second", "5/s")
	f("10/min", "10/min")
	f("10/minute", "10/min")
	f("1000/h", "1000/h")
	f("1000/hour", "1000/h")
	f("30/day", "30/day")
	f("30/week", "30/week")
	f("1/month calendar UTC", "1/month calendar UTC")
	f("10 per 1s", "10/s")
	f("10 per 60s", "10/min")
	f("10 per 60m", "10/h")
	f("10 per 24h", "10/day")
	f("10 per 1d", "10/day")
	f("10 per 7d", "10/week")
	f("10 per 30d", "10 per 30d")
	f("  10\tper   30d ", "10 per 30d")
	f("4503599627370495/s", "4503599627370495/s")

	bad("", "limit", 0, `it is empty; write a rate such as "10/min", or "unlimited", or "deny"`)
	bad(" \t ", "limit", 3, "it is empty")
	bad("10/m", "period", 3, `period m: minutes or months?; write "min" or "month"`)
	bad("10/", "period", 3, "a unit is missing; write s, min, h, day, week or month")
	bad("10/x", "period", 3, "period x: unknown unit; write s, min, h, day, week or month")
	bad("5/s block for 10m", "block", 10, "block for: unknown word before a duration; leave it out")
	bad("10/30", "period", 3, "unknown unit; write s, min, h, day, week or month")
	bad("10/min/s", "period", 3, "period min/s: unknown unit")
	bad("10/month", "period", 3, `period month: months differ in length; add "calendar ZONE", or write "per 30d"`)
	bad("10", "period", 2, `period: a count needs a period; write a rate such as "10/min" or "10 per 30s"`)
	bad("10 burst 5", "period", 3, "a count needs a period")
	bad("10 10/min", "period", 3, `unknown word after the count; write "10/min" without spaces, or "10 per 30s"`)
	bad("10 per", "period", 6, "a duration is missing; write one such as 30s, 15m (minutes), 12h or 30d")
	bad("10 per burst 5", "period", 7, "a duration is missing")
	bad("5/s block 10 min", "block", 10, "block 10 min: a duration is one word; write 10m")
	bad("5 per fortnight", "period", 6, "not a duration; write one such as 30s, 15m (minutes), 12h or 30d")
	bad("ten/min", "limit", 0, `limit ten/min: a limit begins with its count; write a rate such as "10/min", or "unlimited", or "deny"`)
	bad("burst 5", "limit", 0, "a limit begins with its count")
	bad(strings.Repeat("9", 513), "limit", 0, "longer than 512 bytes; a limit is a few words")
}

// Marks and words that are none of the grammar's.
func TestNearOptions(t *testing.T) {
	bad := refuser(t)
	bad("10/ ", "period", 3, "a unit is missing")
	bad("10/ burst 5", "period", 3, "a unit is missing")
	bad("5 rpsx", "period", 2, "unknown word after the count")

	bad("5/s, 100/h", "limit", 0, "limit 5/s, 100/h: one limit stands here; in a rules file several are a list: [5/s, 100/h]")
	bad("5/s burst 9;100 per 2h;", "limit", 0, "several are a list: [5/s burst 9, 100 per 2h]")
	bad("10/min, burst 5", "limit", 6, "limit ,: there is no comma in a limit; leave it out")
	bad("5/day calendar Europe/Berlin,", "limit", 28, "there is no comma in a limit")

	bad("5/s fixed", "option", 4, "option fixed: unknown word; did you mean fixed-window?")
	bad("5/s bucket", "option", 4, "did you mean token-bucket?")
	bad("5/s leaky", "option", 4, "did you mean leaky-bucket?")
	bad("5/s burst=10", "option", 4, `option burst=10: unknown word; write "burst 10"`)
	bad("5/s burst=1", "option", 4, `write "burst 1"`)
	bad("5/s burst:10", "option", 4, `write "burst 10"`)
	bad("5/s =10", "option", 4, "the options are burst")
}

func TestWordsForNoRate(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("unlimited", "unlimited")
	f(" deny\t", "deny")
	bad("deny 5", "limit", 5, "limit 5: nothing may follow here; leave it out")
	bad("unlimited unlimited", "limit", 10, "nothing may follow here")
	bad("unlimited/s", "limit", 0, "did you mean unlimited?")
	bad("Unlimited", "limit", 0, "did you mean unlimited?")
	bad("unlimted", "limit", 0, "a limit begins with its count; did you mean unlimited?")
	bad("Deny", "limit", 0, "did you mean deny?")
	bad("off", "limit", 0, `write a rate such as "10/min", or "unlimited", or "deny"`)
}

func TestWholeNumbers(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("1/s", "1/s")
	f("1000000/s", "1000000/s")
	f("4503599627370495/s", "4503599627370495/s")
	bad("0/s", "count", 0, `count 0: a limit admits at least 1; write 1 or more; "deny" refuses everything, "unlimited" limits nothing`)
	bad("00/s", "count", 0, "a limit admits at least 1")
	bad("-5/s", "count", 0, "count -5: a limit admits at least 1")
	bad("-0/s", "count", 0, "a limit admits at least 1")
	bad("-99999999999999999999/s", "count", 0, "a limit admits at least 1")
	bad("+5/s", "count", 0, "count +5: not a whole number; write digits only, such as 1000")
	bad("--5/s", "count", 0, "not a whole number")
	bad("-/s", "count", 0, "not a whole number")
	bad("/s", "count", 0, `count: a whole number is missing; write a rate such as "10/min"`)
	bad("007/s", "count", 0, "count 007: leading zeros are read as octal elsewhere; write 7")
	bad("1e6/s", "count", 0, "not a whole number; write digits only, such as 1000")
	bad("1.000/s", "count", 0, "write digits only, such as 1000") // one, or a thousand?
	bad("0.0/s", "count", 0, "write digits only, such as 1000")
	bad("0.000001 per 3650d", "count", 0, "write digits only, such as 1000")
	bad("0.5/month calendar UTC", "count", 0, "write digits only, such as 1000")
	bad("0x10/s", "count", 0, "not a whole number")
	bad("\u0663/s", "count", 0, "not a whole number") // an Arabic 3
	bad("\x00/s", "count", 0, "not a whole number")
	bad("4503599627370496/s", "count", 0, "count 4503599627370496: too large to count exactly; write a smaller one")
	bad("9223372036854775808/s", "count", 0, "count 9223372036854775808: too large to count exactly; write a smaller one")
	bad(strings.Repeat("9", 500)+"/s", "count", 0, "too large")

	bad("5/s burst 0", "burst", 10, "burst 0: a bucket must hold at least 1 unit; leave it out for a burst of the count, or write \"burst 1\" for none")
	bad("5/s burst -1", "burst", 10, "a bucket must hold at least 1 unit")
	bad("5/s burst", "burst", 9, "burst: a whole number is missing; write burst 20")
	bad("5/s overdraft burst 7", "overdraft", 14, "overdraft: a whole number is missing; write overdraft 500")
	bad("5/s burst many", "burst", 10, "not a whole number")
	bad("5/s burst 010", "burst", 10, "write 10")
	bad("5/s overdraft 0", "overdraft", 14, "overdraft 0: it is at least 1; leave it out")
	bad("5/s leaky-bucket queue 0", "queue", 23, "queue 0: it is at least 1; leave it out")
}

func TestDurations(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("1 per 1us", "1 per 1us")
	f("1 per 1µs", "1 per 1us")
	f("1 per 1\u03bcs", "1 per 1us") // the Greek letter
	f("1 per 250ms", "1 per 250ms")
	f("1 per 1500us", "1 per 1ms500us")
	f("1 per 2000ns", "1 per 2us")
	f("1 per 90s", "1 per 1m30s")
	f("1 per 1.5h", "1 per 1h30m")
	f("1 per .5h", "1 per 30m")
	f("1 per 1h30m0s", "1 per 1h30m")
	f("1 per 36h", "1 per 1d12h")
	f("1 per 1d12h", "1 per 1d12h")
	f("1 per 0d5m", "1 per 5m")
	f("1 per 30d", "1 per 30d")
	f("1 per 365d", "1 per 365d")
	f("1 per 52124d23h53m47s370ms495us", "1 per 52124d23h53m47s370ms495us")
	bad("1 per 0s", "period", 6, "period 0s: it lasts at least 1 µs")
	bad("1 per 0", "period", 6, "it lasts at least 1 µs")
	bad("1 per 0d", "period", 6, "it lasts at least 1 µs")
	bad("1 per -1s", "period", 6, "it lasts at least 1 µs")
	bad("1 per 999ns", "period", 6, "period 999ns: it lasts at least 1 µs")
	bad("1 per 1500ns", "period", 6, "period 1500ns: time is whole microseconds")
	bad("1 per 0.1us", "period", 6, "it lasts at least 1 µs")
	bad("1 per 52124d23h53m47s370ms496us", "period", 6, "it lasts at most 52124d; write 52124d or less")
	bad("1 per 52125d", "period", 6, "period 52125d: it lasts at most 52124d; write 52124d or less")
	for _, text := range []string{"106752d", "99999999999d", "106751d24h", "9999999h", "400000d", "143y", "143years", "143 years", "60000 days"} {
		bad("1 per "+text, "period", 6, "period "+text+": it lasts at most 52124d; write 52124d or less")
		bad("5/s block "+text, "block", 10, "block "+text+": it lasts at most 26062d; write 26062d or less")
		bad("5/s block 1m x 2 max "+text, "block max", 21, "block max "+text+": it lasts at most 26062d; write 26062d or less")
	}
	bad("5/s block 142y", "block", 10, "block 142y: it lasts at most 26062d; write 26062d or less")
	bad("5/s block 1y", "block", 10, "block 1y: not a duration; write 365d")
	bad("5/s block 0s", "block", 10, "block 0s: it lasts at least 1 µs; write one such as")
	bad("1 per 106751d", "period", 6, "it lasts at most 52124d; write 52124d or less")
	for _, text := range []string{
		"-1d", "+1d", "+1s", "1d+1h", "1d-1h", "1.5d", "12h1d", "1d1d", "dh", "5", "1e3s", "1_0s",
		"1,5h",
	} {
		bad("1 per "+text, "period", 6, "period "+text+": not a duration; write one such as 30s, 15m (minutes), 12h or 30d")
	}
}

func TestOptions(t *testing.T) {
	f := reader(t)
	f("5/s burst 20", "5/s burst 20")
	f("5/s burst 5", "5/s")
	f("5/s overdraft 40 burst 20", "5/s burst 20 overdraft 40")
	f("5/s token-bucket", "5/s")
	f("5/s burst 7 token-bucket", "5/s burst 7")
	f("5/s fixed-window", "5/s fixed-window")
	f("5/s overdraft 9 fixed-window", "5/s overdraft 9 fixed-window")
	f("5/s spread fixed-window", "5/s fixed-window spread")
	f("5/s sliding-window", "5/s sliding-window")
	f("5/s overdraft 9 spread sliding-window", "5/s overdraft 9 sliding-window spread")
	f("5/s overdraft 9 sliding-log", "5/s overdraft 9 sliding-log")
	f("5/s wait 90s leaky-bucket", "5/s leaky-bucket wait 1m30s")
	f("5/s leaky-bucket overdraft 90 queue 3", "5/s overdraft 90 leaky-bucket queue 3")
	f("5/s queue 10 wait 2s leaky-bucket", "5/s leaky-bucket wait 2s queue 10")
	f("5/s block 5m", "5/s block 5m")
	f("5/s block 5m x 2 max 60m", "5/s block 5m x 2 max 1h")
	f("5/s block 5m x 3 max 5m fixed-window", "5/s fixed-window block 5m x 3 max 5m")
	f("5/s sliding-window spread block 1d", "5/s sliding-window spread block 1d")
	f("5/s overdraft 9 sliding-log block 1d", "5/s overdraft 9 sliding-log block 1d")
}

func TestOptionMistakes(t *testing.T) {
	bad := refuser(t)
	bad("5/s bust", "option", 4, "option bust: unknown word; did you mean burst?")
	bad("5/s bust 20", "option", 4, "option bust: unknown word; did you mean burst?")
	bad("5/day calender Europe/Berlin", "option", 6, "did you mean calendar?")
	bad("5/s BURST", "option", 4, "did you mean burst?")
	bad("5/s spred", "option", 4, "did you mean spread?")
	bad("5/s fixed-windows", "option", 4, "did you mean fixed-window?")
	bad("5/s fixed_window", "option", 4, "did you mean fixed-window?")
	bad("5/s slidingwindow", "option", 4, "did you mean sliding-window?")
	bad("5/s leaky-buckets", "option", 4, "did you mean leaky-bucket?")
	bad("5/s at", "option", 4, "the options are burst, overdraft, token-bucket, leaky-bucket, wait, queue, fixed-window, sliding-window, sliding-log, calendar, spread")
	bad("5/s concurrent", "option", 0, `a limit is a rate or a number of slots; write "5 concurrent" in place of a rate`)
	bad("5/s per", "option", 4, "unknown word")
	bad("5/s fixed-window-or-sliding-log", "option", 4, "unknown word; the options are burst")
	bad("5/s x", "option", 4, "option x: unknown word; the options are burst")
	bad("5/s \xff\xfe", "option", 4, "unknown word")
	bad("5/s burst 6 burst 6", "option", 12, "option burst: it stands here twice; leave one out")
	bad("5/s fixed-window fixed-window", "option", 17, "it stands here twice")
	bad("5/s spread fixed-window spread", "option", 24, "it stands here twice")
	bad("5/s fixed-window sliding-log", "option", 17, "option sliding-log: a limit has one algorithm; keep this or fixed-window")
	bad("5/s token-bucket fixed-window spread", "option", 17, "a limit has one algorithm; keep this or token-bucket")
	bad("5/day sliding-log calendar UTC", "option", 18, "option calendar: a limit has one algorithm; keep this or sliding-log")
	bad("5/day calendar UTC token-bucket", "option", 19, "a limit has one algorithm; keep this or calendar")

	bad("5/s fixed-window burst 5", "burst", 23, "burst 5: a fixed-window limit has none; it goes with token-bucket")
	bad("5 concurrent overdraft 9", "option", 13, `option overdraft 9: a concurrent limit has only a lease; leave "overdraft 9" out`)
	bad("5/s spread", "spread", 4, "spread: a token-bucket limit has none; it goes with fixed-window, sliding-window")
	bad("5/s sliding-log spread", "spread", 16, "spread: a sliding-log limit has none; it goes with fixed-window, sliding-window")
	bad("5/s wait 2m", "wait", 9, "wait 2m: a token-bucket limit has none; it goes with leaky-bucket")
	bad("5/s fixed-window queue 3", "queue", 23, "it goes with leaky-bucket")
	bad("5/s lease 90s", "lease", 10, "lease 90s: a token-bucket limit has none; it goes with concurrent")
	bad("5/s leaky-bucket", "leaky-bucket", 4, `leaky-bucket: nothing bounds its queue; add "wait 2s", or "queue 20", or both`)
	bad("5/s leaky-bucket wait", "wait", 21, "a duration is missing")
	bad("5/s leaky-bucket wait 1500ns", "wait", 22, "time is whole microseconds")
}

// Nobody is told to write an option that this version refuses.
func TestOptionsOfHints(t *testing.T) {
	_, err := weir.ParseSpec("5/s at")
	_, list, found := strings.Cut(fmt.Sprint(err), "the options are ")
	if !found {
		t.Fatal(err)
	}
	named := strings.Split(list, ", ")
	for word, text := range map[string]string{
		"burst": "5/s burst 6", "overdraft": "5/s overdraft 9", "spread": "5/s fixed-window spread", "calendar": "5/day calendar UTC",
		"token-bucket": "5/s token-bucket", "fixed-window": "5/s fixed-window",
		"sliding-window": "5/s sliding-window", "sliding-log": "5/s sliding-log", "leaky-bucket": "5/s leaky-bucket queue 2",
		"wait": "5/s leaky-bucket wait 1s", "queue": "5/s leaky-bucket queue 2", "block": "5/s block 1m",
	} {
		if _, err := weir.ParseLimit("x", text); (err == nil) != slices.Contains(named, word) {
			t.Errorf("%s: %v, and the hint names %v", text, err, named)
		}
	}
}

func TestCalendars(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("5/day calendar UTC", "5/day calendar UTC")
	f("5/week calendar Europe/Berlin", "5/week calendar Europe/Berlin")
	f("5 per 7d calendar Europe/Berlin", "5/week calendar Europe/Berlin")
	f("5/month calendar America/Argentina/Buenos_Aires", "5/month calendar America/Argentina/Buenos_Aires")
	f("5/day fixed-window calendar Etc/GMT+5", "5/day calendar Etc/GMT+5")
	f("5/day calendar UTC fixed-window overdraft 10", "5/day overdraft 10 calendar UTC")
	bad("5/day calendar", "calendar", 14, "calendar: a time zone is missing; write one such as Europe/Berlin or UTC")
	bad("5/month calendar", "calendar", 16, "a time zone is missing")
	bad("5/day calendar fixed-window", "calendar", 15, "a time zone is missing")
	bad("5/h calendar UTC", "calendar", 13, "calendar UTC: a calendar has days, weeks and months; write /day, /week or /month")
	bad("5 per 30d calendar UTC", "calendar", 19, "a calendar has days, weeks and months")
	bad("5/day calendar UTC spread", "spread", 19, "a calendar's edges are the same for everybody")
	bad("5/day calendar UTC burst 5", "burst", 25, "a fixed-window limit has none")
	for _, zone := range []string{
		"Local", "localtime", "posixrules", "posix/UTC", "right/UTC", "Europe", "Europe/", "+02:00", "UTC+2",
		"../UTC", "/etc/localtime", "Europe/../UTC", "zone.tab", "Europe\\Berlin", "Europe/Berlin\x00", "\xff", strings.Repeat("A", 490),
	} {
		bad("5/day calendar "+zone, "calendar", 15, ": unknown time zone; write an IANA name such as Europe/Berlin or UTC")
	}
	for zone, meant := range map[string]string{
		"utc": "UTC", "Europe/berlin": "Europe/Berlin", "Berlin": "Europe/Berlin", "new_york": "America/New_York", "tokyo": "Asia/Tokyo",
		"Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires", "SYDNEY": "Australia/Sydney",
	} {
		bad("5/day calendar "+zone, "calendar", 15, "unknown time zone; did you mean "+meant+"?")
	}
}

func TestBlocks(t *testing.T) {
	bad := refuser(t)
	bad("5/s block", "block", 9, "block: a duration is missing")
	bad("5/s block 0s", "block", 10, "it lasts at least 1 µs")
	bad("5/s block 5m x 1.5 max 1h", "block factor", 15, "block factor 1.5: not a whole number; write digits only, such as 2")
	bad("5/s block 5m x 99999999999999999999 max 1h", "block factor", 15, "too large to count exactly")
	bad("5/s block 5m x 2 max 5 hours", "block max", 21, "a duration is one word; write 5h")
	bad("5/s block 5m x 2 max 299s", "block max", 21, "block max 299s: shorter than the first block; write 5m or more")
	bad("5/s block 52125d", "block", 10, "it lasts at most 26062d; write 26062d or less")
	bad("5/s block x 2 max 1h", "block", 10, "a duration is missing")
	bad("5/s block 5m block 5m", "option", 13, "it stands here twice")
}

func TestSlots(t *testing.T) {
	f, bad := reader(t), refuser(t)
	f("10 concurrent", "10 concurrent")
	f("10 concurrent lease 90s", "10 concurrent lease 1m30s")
	bad("0 concurrent", "count", 0, "a limit admits at least 1")
	bad("10 concurent", "option", 3, `write "concurrent"`)
	bad("10 conquering", "period", 3, `write "10/min" without spaces, or "10 per 30s"`)
	bad("10 concurrent lease", "lease", 19, "a duration is missing")
	bad("10 concurrent lease 0s", "lease", 20, "it lasts at least 1 µs")
	bad("10 concurrent spread", "option", 14, "a concurrent limit has only a lease")
}

func TestEveryMistakeIsReported(t *testing.T) {
	bad := refuserOfAll(t)
	bad("0/m burst 0 bust 5",
		`0 count 0: a limit admits at least 1; write 1 or more; "deny" refuses everything, "unlimited" limits nothing`,
		`2 period m: minutes or months?; write "min" or "month"`,
		`10 burst 0: a bucket must hold at least 1 unit; leave it out for a burst of the count, or write "burst 1" for none`,
		`12 option bust: unknown word; did you mean burst?`,
	)
	bad("-1 10/min",
		`0 count -1: a limit admits at least 1; write 1 or more; "deny" refuses everything, "unlimited" limits nothing`,
		`3 period 10/min: unknown word after the count; write "10/min" without spaces, or "10 per 30s"`,
	)
	bad("5/month fixed-window burst 7 queue 2 burst 8",
		`2 period month: months differ in length; add "calendar ZONE", or write "per 30d"`,
		`35 queue 2: a fixed-window limit has none; it goes with leaky-bucket`,
		`37 option burst: it stands here twice; leave one out`,
		`43 burst 8: a fixed-window limit has none; it goes with token-bucket`,
	)
	bad("5/day calendar Nowhere/City spread wait 0s",
		`15 calendar Nowhere/City: unknown time zone; write an IANA name such as Europe/Berlin or UTC`,
		`28 spread: a calendar's edges are the same for everybody; leave spread or calendar out`,
		`40 wait 0s: it lasts at least 1 µs; write one such as 30s, 15m (minutes), 12h or 30d`,
	)
	bad("5 block 1h x 1 max 5m",
		`2 period: a count needs a period; write a rate such as "10/min" or "10 per 30s"`,
		`11 block … x 1 max 5m: it multiplies by at least 2; leave "x 1 max 5m" out for a block that stays the same`,
	)
	bad("100 per 100 15m block 10 10m", // nobody meant 10015m
		`8 period 100: not a duration; write one such as 30s, 15m (minutes), 12h or 30d`,
		`12 option 15m: unknown word; the options are burst, overdraft, token-bucket, leaky-bucket, wait, queue, fixed-window, sliding-window, sliding-log, calendar, spread, block`,
		`22 block 10: not a duration; write one such as 30s, 15m (minutes), 12h or 30d`,
		`25 option 10m: unknown word`, // the options are told once
	)
	bad("deny 1 2",
		`5 limit 1: nothing may follow here; leave it out`,
		`7 limit 2: nothing may follow here; leave it out`,
	)
}

// An option in other words, or with its value tied to it, is one mistake, and is read on
// as what it means.
func TestOptionsInOtherWords(t *testing.T) {
	f := func(text, value, remedy, want string) {
		t.Helper()
		e := one(t, text)
		if e.Field != "option" || e.Value != value || e.Remedy != remedy {
			t.Errorf("%q: got %+v, want %q: %s", text, e, value, remedy)
		}
		if meant, ok := strings.CutPrefix(e.Remedy, "did you mean "); ok {
			e.Remedy = `write "` + strings.TrimSuffix(meant, "?") + `"`
		}
		followed(t, text, e, want)
	}
	for apart, whole := range map[string]string{"token bucket": "token-bucket", "fixed window": "fixed-window", "Sliding Window": "sliding-window", "sliding log": "sliding-log", "sliding  logs": "sliding-log"} {
		f("10/min "+apart+" overdraft 50", apart, `write "`+whole+`"`, strings.Replace("10/min overdraft 50 "+whole, " token-bucket", "", 1))
	}
	f("10/min leaky bucket wait 1s", "leaky bucket", `write "leaky-bucket"`, "10/min leaky-bucket wait 1s")
	f("10/min wait 1s leaky bucket", "leaky bucket", `write "leaky-bucket"`, "10/min leaky-bucket wait 1s")
	f("10/min fixed window spread", "fixed window", `write "fixed-window"`, "10/min fixed-window spread")
	f("10/min leaky_bucket wait 1s", "leaky_bucket", "did you mean leaky-bucket?", "10/min leaky-bucket wait 1s")

	for _, c := range []struct{ before, name, value, behind string }{
		{"10/s", "burst", "20", ""},
		{"10/s", "overdraft", "50", " burst 20"},
		{"10/s leaky-bucket", "wait", "2s", " queue 5"},
		{"10/s leaky-bucket wait 2s", "queue", "5", ""},
		{"10/s", "block", "10m", " x 3 max 2d"},
		{"10/s fixed-window", "block", "10m", " spread"},
	} {
		want := mustText(t, c.before+" "+c.name+" "+c.value+c.behind)
		for _, tied := range []string{c.name + c.value, c.name + "=" + c.value, c.name + ":" + c.value, strings.ToUpper(c.name) + "=" + c.value, strings.ToUpper(c.name) + c.value} {
			f(c.before+" "+tied+c.behind, tied, `write "`+c.name+" "+c.value+`"`, want)
		}
	}
	f("10/s 20burst", "20burst", `write "burst 20"`, "10/s burst 20")
	f("10/s 10mblock x 3 max 2d", "10mblock", `write "block 10m"`, "10/s block 10m x 3 max 2d")
	f("10/s burst=1k", "burst=1k", `write "burst 1000"`, "10/s burst 1000")
	f("10/s bust=20", "bust=20", `write "burst 20"`, "10/s burst 20")
	f("10/s block=10 minutes", "block=10 minutes", `write "block 10m"`, "10/s block 10m")
	f("10/s block10min x 3 max 2d", "block10min", `write "block 10m"`, "10/s block 10m x 3 max 2d")
	f("10/s block: 10m x 3 max 2d", "block:", `write "block"`, "10/s block 10m x 3 max 2d")
	f("10/s block = 10m x 3 max 2d", "=", "leave it out", "10/s block 10m x 3 max 2d")
	f("10/day calendar=UTC", "calendar=UTC", `write "calendar UTC"`, "10/day calendar UTC")

	f("10/s 20 burst", "20 burst", `write "burst 20"`, "10/s burst 20")
	f("10/s 10m block x 3 max 2d", "10m block", `write "block 10m"`, "10/s block 10m x 3 max 2d")
	f("10/s leaky-bucket 2 seconds wait queue 5", "2 seconds wait", `write "wait 2s"`, "10/s leaky-bucket wait 2s queue 5")

	for _, word := range []string{"BLOCK", "blok", "Block", "blocked"} {
		f("10/s "+word+" 10m", word, "did you mean block?", "10/s block 10m")
		f("10/s "+word+" 10m x 3 max 2d", word, "did you mean block?", "10/s block 10m x 3 max 2d")
	}
	f("10/s leaky-bucket wiat 2s", "wiat", "did you mean wait?", "10/s leaky-bucket wait 2s")
	f("10/day calender UTC", "calender", "did you mean calendar?", "10/day calendar UTC")
}

// mustText is the canonical text of a limit.
func mustText(t *testing.T, text string) string {
	t.Helper()
	s, err := weir.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// A word that is none in our letters is cut nowhere, and no number is lost by a guess.
func TestWordsThatAreNotGuessed(t *testing.T) {
	for _, word := range []string{"größe", "sliding-log50"} {
		if e := one(t, "5/s "+word); e.Value != word || !strings.HasPrefix(e.Remedy, "the options are ") {
			t.Errorf("%s: %+v", word, e)
		}
	}
}
