package weir_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// A rate as other tools, and people, write it is one mistake: the whole of it, with what
// to write in its place, which means the same.
func TestLooseRates(t *testing.T) {
	f := func(rate, want string) {
		t.Helper()
		for _, behind := range []string{"", " burst 7"} {
			text := " " + rate + behind
			e := one(t, text)
			if e.Field != "limit" || e.Value != rate || e.Offset != 1 || e.Problem != "a rate is written in another way" {
				t.Errorf("%q: got %+v", text, e)
			}
			followed(t, text, e, want+behind)
		}
	}
	for unit, want := range map[string]string{
		"S": "/s", "secs": "/s", "seconds": "/s", "secnd": "/s", "mins": "/min", "mn": "/min", "minn": "/min", "minuets": "/min", "Minute": "/min",
		"hr": "/h", "hrs": "/h", "hours": "/h", "d": "/day", "dya": "/day", "days": "/day", "w": "/week", "wk": "/week", "weeks": "/week",
		"mon": " per 30d", "months": " per 30d", "y": " per 365d", "yr": " per 365d", "year": " per 365d", "years": " per 365d",
		"5min": " per 5m", "2 weeks": " per 14d",
	} {
		for _, before := range []string{"10/", "10 req/", "10 requests per ", "10 calls / ", "10 PER ", "10 every "} {
			f(before+unit, "10"+want)
		}
	}
	f("10 / s", "10/s")
	f("10/ s", "10/s")
	f("10 /min", "10/min")
	f("10/5s", "10 per 5s")
	f("10 per min", "10/min")
	f("10 per month", "10 per 30d")
	f("100 a day", "100/day")
	f("5 rps", "5/s")
	f("5rpm", "5/min")
	f("5 QPS", "5/s")
	f("100r/m", "100/min")
	f("10 req/m", "10/min")
	f("10 calls per 30s", "10 per 30s")
	f("100 requests per 5 minutes", "100 per 5m")
	f("10 requests in 5 minutes", "10 per 5m")
	f("5 per every 30s", "5 per 30s")
	f("5 per 5 m", "5 per 5m")
	for _, per := range []string{"pe", "PER", "every", "in", "each", "requests"} {
		f("100 "+per+" 15m", "100 per 15m")
	}
	f("20 connections per minute", "20/min")

	f("1,000 requests per hour", "1000/h")
	f("1_000/s", "1000/s")
	f("1,000,000/h", "1000000/h")
	f("5k/day", "5000/day")
	f("0.5 requests per second", "1 per 2s")
	f("1.5/s", "3 per 2s")
	f("0,5/s", "1 per 2s")
	f("0,500/s", "1 per 2s")
	f(".1/min", "1 per 10m")
	f("2.50/h", "5 per 2h")
	f("0.001/s", "1 per 16m40s")
	f("1.50 per 30s", "3/min")
}

// Months are those of a calendar where there is one, and no part of one is a period.
func TestLooseRatesOfCalendars(t *testing.T) {
	for rate, want := range map[string]string{"10/months": "10/month", "10 per month": "10/month", "1,000 requests/month": "1000/month", "10 a day": "10/day"} {
		text := rate + " calendar UTC"
		followed(t, text, one(t, text), want+" calendar UTC")
	}
	if e := one(t, "0.5/day calendar UTC"); e.Value != "0.5" || e.Remedy != "write digits only, such as 1000" {
		t.Errorf("got %+v", e)
	}
}

// What is wrong with the number itself is said of the number.
func TestNumbersOfLooseRates(t *testing.T) {
	for text, want := range map[string]string{"0 req/min": "a limit admits at least 1", "007 req/min": "leading zeros", "1.000 per second": "not a whole number", "9223372036854775808 rps": "too large"} {
		if e := one(t, text); e.Field != "count" || !strings.HasPrefix(text, e.Value+" ") || !strings.Contains(e.Problem, want) {
			t.Errorf("%q: got %+v, want %s", text, e, want)
		}
	}
}

// What is no rate in any words is one mistake.
func TestNoLooseRates(t *testing.T) {
	bad := refuser(t)
	for _, text := range []string{"5 rpsx", "10 fortnights", "10 leese 5m", "10 15m", "10 s 5m", "10 conquering heroes 5"} {
		_, behind, _ := strings.Cut(text, " ")
		bad(text, "period", len(text)-len(behind), "period "+behind+": unknown word after the count")
	}
	bad("10 m", "period", 3, "unknown word after the count") // minutes or months?
}

// What stands for nothing is one mistake with what stands beside it, and the options are
// listed once.
func TestUnknownWords(t *testing.T) {
	bad, all := refuser(t), refuserOfAll(t)
	bad("10/s ban 5m", "option", 5, "option ban 5m: unknown word; the options are burst")
	bad("10/s per ip and host burst 7", "option", 5, "option per ip and host: unknown word; the options are burst")
	bad("10/s max 20", "option", 5, `option max 20: unknown word; the size of a bucket is written "burst 20"`)
	bad("10/s up to 20", "option", 5, `the size of a bucket is written "burst 20"`)
	bad("10/s max", "option", 5, "option max: unknown word; the options are burst")
	bad("10/s max soon", "option", 5, "option max soon: unknown word; the options are burst")
	for _, word := range []string{"with", "ban", "max", "tag"} {
		bad("10/s "+word, "option", 5, "the options are burst")
	}
	for _, word := range []string{"ten/min", "day", "ten"} {
		bad(word, "limit", 0, `a limit begins with its count; write a rate such as "10/min"`)
	}
	bad("dney", "limit", 0, "did you mean deny?")
	_, err := weir.ParseSpec("10/s foo 2 bar burst 7 baz")
	list := refusals(t, err)
	if len(list) != 2 || list[0].Value != "foo 2 bar" || list[1].Value != "baz" || list[1].Remedy != "" {
		t.Errorf("got %v", err)
	}
	const behind = `it stands directly behind a block's duration; as in "block 10m x 2 max 1d"`
	const missing = "block: a duration is missing; write one such as 30s, 15m (minutes), 12h or 30d"
	all("10/s x 2 max 1d block", "5 option x 2 max 1d: "+behind, "21 "+missing)
	all("10/s x2 block", "5 option x2: "+behind, "13 "+missing)
	all("10/s max 1d block", "5 option max 1d: "+behind, "17 "+missing)
}

// A duration in several words is one mistake, and one word means it.
func TestLooseDurations(t *testing.T) {
	for text, want := range map[string]string{
		"5/s block 1h 30m": "5/s block 1h30m", "5/s block 1h 30m x 2 max 1d": "5/s block 1h30m x 2 max 1d", "5/s block 10 min": "5/s block 10m", "5/s block 1 month": "5/s block 30d",
		"5 per 1h 30m burst 7": "5 per 1h30m burst 7", "5 concurrent lease 1m 30s": "5 concurrent lease 1m30s", "5 concurrent 1m 30s": "5 concurrent lease 1m30s",
		"5/s leaky-bucket wait 1 minute": "5/s leaky-bucket wait 1m",
	} {
		followed(t, text, one(t, text), want)
	}
}
