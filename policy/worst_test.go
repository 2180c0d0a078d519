package policy

import (
	"strings"
	"testing"
	"time"
)

func TestWorst(t *testing.T) {
	p, found := loadText(`
version: 1
memory: {max_keys: 195000}
plans:
  free: [10/min, 200/day fixed-window]
  staff: unlimited
rules:
  - name: a
    plan: {ip: {192.0.2.0/24: staff, 198.51.100.0/24: free}}
    default_plan: free
  - {name: b, limit: 30/day fixed-window, max_keys: 20000}
  - {name: c, limit: 30/min sliding-window, max_keys: 7000}
  - {name: d, limit: 10/s leaky-bucket wait 1500ms, max_keys: 4000}
  - {name: e, limit: 1/s leaky-bucket queue 5, cost: 2, max_keys: 3000}
  - {name: f, limits: [10/min sliding-log, 5 concurrent], max_keys: 1312}
`)
	if p == nil {
		t.Fatal(found)
	}
	got := p.Worst()
	for i, want := range []WorstCase{
		{
			Rule: "a", Plan: "free", Limit: "a/1m", Text: "10/min", Period: time.Minute, PerPeriod: 19, PerDay: 10 + 24*60*10 - 1,
			PinnedOne: 6 * time.Second, PinnedFull: time.Minute, Keys: 25000, KeysPerSecond: 25000 / 6, Bytes: 25000 * bytesPerKey,
		},
		{
			Rule: "a", Plan: "free", Limit: "a/1d", Text: "200/day fixed-window", Period: 24 * time.Hour, PerPeriod: 400, PerDay: 400,
			PinnedOne: 24 * time.Hour, PinnedFull: 24 * time.Hour, Keys: 25000, KeysPerSecond: 0, Bytes: 25000 * bytesPerKey,
		},
		{
			Rule: "b", Limit: "b", Text: "30/day fixed-window", Period: 24 * time.Hour, PerPeriod: 60, PerDay: 60,
			PinnedOne: 24 * time.Hour, PinnedFull: 24 * time.Hour, Keys: 20000, KeysPerSecond: 0, Bytes: 20000 * bytesPerKey,
		},
		{
			Rule: "c", Limit: "c", Text: "30/min sliding-window", Period: time.Minute, PerPeriod: 59, PerDay: 30 + 24*60*30 - 1,
			PinnedOne: 2 * time.Minute, PinnedFull: 2 * time.Minute, Keys: 7000, KeysPerSecond: 58, Bytes: 7000 * bytesPerKey,
		},
		{
			Rule: "d", Limit: "d", Text: "10/s leaky-bucket wait 1s500ms", Period: time.Second, PerPeriod: 10, PerDay: 864_000, LongestDelay: 1500 * time.Millisecond,
			PinnedOne: 100 * time.Millisecond, PinnedFull: 1600 * time.Millisecond, Keys: 4000, KeysPerSecond: 40_000, Bytes: 4000 * bytesPerKey,
		},
		{
			Rule: "e", Limit: "e", Text: "1/s leaky-bucket queue 5", Period: time.Second, PerPeriod: 2, PerDay: 86_401, LongestDelay: 5 * time.Second,
			PinnedOne: time.Second, PinnedFull: 6 * time.Second, Keys: 3000, KeysPerSecond: 3000, Bytes: 3000 * bytesPerKey,
		},
		{ // 1312 places, of which a caller takes 7 and 6
			Rule: "f", Limit: "f/1m", Text: "10/min sliding-log", Period: time.Minute, PerPeriod: 10, PerDay: 14_400,
			PinnedOne: time.Minute, PinnedFull: time.Minute, Keys: 100, KeysPerSecond: 1, Bytes: 100 * 7 * bytesPerKey,
		},
		{
			Rule: "f", Limit: "f/slots", Text: "5 concurrent", AtOnce: 5,
			PinnedOne: time.Minute, PinnedFull: time.Minute, Keys: 100, KeysPerSecond: 1, Bytes: 100 * 6 * bytesPerKey,
		},
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("%d\ngot  %+v\nwant %+v", i, got, want)
		}
	}
	for i, want := range []string{
		"10/min: up to 19 within 1m, 14,409 within 24h",
		"200/day fixed-window: up to 400 within 1d",
		"30/day fixed-window: up to 60 within 1d",
		"30/min sliding-window: up to 59 within 1m, 43,229 within 24h",
		"10/s leaky-bucket wait 1s500ms: up to 10 within 1s, 864,000 within 24h, each after 1s500ms at most",
		"1/s leaky-bucket queue 5: up to 2 within 1s, 86,401 within 24h, each after 5s at most",
		"10/min sliding-log: up to 10 within 1m, 14,400 within 24h",
		"5 concurrent: up to 5 at once",
	} {
		if got[i].String() != want {
			t.Errorf("got %s, want %s", got[i].String(), want)
		}
	}
	if want := "room for 100 callers with requests in flight (20 kB)"; got[7].Room() != want {
		t.Errorf("got %s, want %s", got[7].Room(), want)
	}
	for i, want := range []string{
		"room for 25,000 callers (800 kB), 4,166 new ones a second; one is remembered for 6s to 1m",
		"room for 25,000 callers (800 kB), 17 new ones a minute; one is remembered for 1d",
	} {
		if got[i].Room() != want {
			t.Errorf("got %s, want %s", got[i].Room(), want)
		}
	}
}

func TestPace(t *testing.T) {
	f := func(keys int64, pinned time.Duration, want string) {
		t.Helper()
		w := WorstCase{Keys: keys, PinnedOne: pinned}
		if count, unit := w.pace(); grouped(count)+" "+unit != want {
			t.Errorf("%d keys for %v: %d %s, want %s", keys, pinned, count, unit, want)
		}
	}
	f(1_000_000, time.Second, "1,000,000 a second")
	f(10, time.Second, "10 a second")
	f(9, time.Second, "540 a minute")
	f(100, 6*time.Minute, "16 a minute")
	f(72_916, 25*time.Hour, "48 a minute")
	f(5_000, 31*24*time.Hour, "161 a day")
	f(3, 31*24*time.Hour, "0 a day")
	f(0, time.Hour, "0 a day")
	f(100_000_000, time.Microsecond, "100,000,000,000,000 a second")
	f(1, 141*365*24*time.Hour, "0 a day")
}

// What is more than a number can say is not said as if it were exact, and one is one.
func TestWorstInWords(t *testing.T) {
	f := func(limit, want string) {
		t.Helper()
		p, found := loadText("version: 1\nrules: [{name: a, limit: " + limit + "}]\n")
		if p == nil {
			t.Fatal(found)
		}
		if got := p.Worst()[0]; got.String() != want {
			t.Errorf("%s: got %s", limit, got.String())
		}
	}
	f("4503599627370495/s fixed-window", "4503599627370495/s fixed-window: up to 9,007,199,254,740,990 within 1s, more than 9,223,372,036,854,775,806 within 24h")
	f("4503599627370495/s leaky-bucket queue 8", "4503599627370495/s leaky-bucket queue 8: up to 4,503,599,627,370,495 within 1s, more than 9,223,372,036,854,775,806 within 24h, each after 1us at most")
	f("5/s fixed-window", "5/s fixed-window: up to 10 within 1s, 432,005 within 24h")
	for count, want := range map[int64]string{0: "0 new ones a day", 1: "1 new one a day", 2: "2 new ones a day"} {
		w := WorstCase{Keys: max(1, count), PinnedOne: 24 * time.Hour}
		if count == 0 {
			w.PinnedOne *= 2
		}
		if got := w.Room(); !strings.Contains(got, ", "+want+";") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
