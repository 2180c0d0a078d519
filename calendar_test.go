package weir

import (
	"encoding/binary"
	"math"
	"testing"
	"time"
	_ "time/tzdata" // zones on machines that have none

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// oddZones are those whose midnights are the most trouble: clocks that skip it,
// show it twice or are set back over it, a day that was left out, changes of
// half an hour.
func oddZones() []string {
	return []string{
		"UTC", "Europe/Berlin", "America/Sao_Paulo", "Africa/Cairo", "Asia/Beirut", "Asia/Gaza", "America/Havana", "America/St_Johns",
		"Pacific/Apia", "Pacific/Kwajalein", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Scoresbysund", "Africa/Casablanca",
	}
}

func calendarWindows() []string { return []string{"day", "week", "month"} }

func calendarLimit(t rapid.TB, window, zone string) *Limit {
	t.Helper()
	l, err := ParseLimit("c", "5/"+window+" calendar "+zone)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func micros(at time.Time) Micros { return Micros(at.UnixMicro()) }

// label is the first day of the window that a wall clock's date belongs to.
func label(window string, at time.Time) int {
	switch window {
	case "week":
		for at.Weekday() != time.Monday {
			at = at.Add(-24 * time.Hour)
		}
	case "month":
		return at.Year()*1_0000 + int(at.Month())*100 + 1
	}
	y, m, d := at.Date()
	return y*1_0000 + int(m)*100 + d
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// stepped finds the beginnings of the windows in (from, to] the slow way: by
// looking at the wall clock, each minute near a change of the zone's offset and
// each quarter of an hour elsewhere. A window begins when its date is seen for
// the first time.
func stepped(window string, zone *time.Location, from, to time.Time) []Micros {
	// The wall clock is read as UTC, so that 24 hours are a day in label.
	wall := func(at time.Time) time.Time { return at.UTC().Add(offset(at, zone)) }
	var edges []Micros
	latest := label(window, wall(from))
	for at := from; at.Before(to); {
		step := 15 * time.Minute
		if offset(at.Add(-3*time.Hour), zone) != offset(at.Add(3*time.Hour), zone) {
			step = time.Minute
		}
		at = at.Add(step).Truncate(step)
		if l := label(window, wall(at)); l > latest {
			latest = l
			edges = append(edges, micros(at))
		}
	}
	return edges
}

// walked finds the same by asking the limit for one window after the other.
func walked(l *Limit, from, to time.Time) []Micros {
	var edges []Micros
	for at := l.edgesAround(micros(from))[2]; at <= micros(to); at = l.edgesAround(at)[2] {
		edges = append(edges, at)
	}
	return edges
}

func compareEdges(t *testing.T, window, zone string, from, to time.Time) {
	t.Helper()
	l := calendarLimit(t, window, zone)
	want, got := stepped(window, l.zone, from, to), walked(l, from, to)
	if diff := cmp.Diff(inZone(l.zone, want), inZone(l.zone, got)); diff != "" {
		t.Errorf("%s in %s, %v to %v (- stepped, + computed):\n%s", window, zone, from, to, diff)
	}
}

func inZone(zone *time.Location, edges []Micros) []string {
	var text []string
	for _, e := range edges {
		text = append(text, time.UnixMicro(int64(e)).In(zone).Format(time.RFC3339Nano))
	}
	return text
}

// Every change of the offset from 1970 to 2100.
func TestDaysAroundChangesOfTheClock(t *testing.T) {
	for _, zone := range oddZones() {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		changes := 0
		for at := time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC); at.Year() < 2100; at = at.Add(24 * time.Hour) {
			if offset(at, location) != offset(at.Add(24*time.Hour), location) {
				compareEdges(t, "day", zone, at.Add(-24*time.Hour), at.Add(48*time.Hour))
				changes++
			}
		}
		if changes == 0 && zone != "UTC" {
			t.Errorf("no change of the clock in %s", zone)
		}
	}
}

func TestYearsOfTrouble(t *testing.T) {
	f := func(zone string, year int) {
		t.Helper()
		for _, window := range calendarWindows() {
			compareEdges(t, window, zone, time.Date(year, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(year+1, 1, 10, 12, 0, 0, 0, time.UTC))
		}
	}
	f("UTC", 2000)
	f("America/Sao_Paulo", 2018)
	f("Africa/Cairo", 2014)
	f("Asia/Beirut", 2019)
	f("America/Havana", 2019)
	f("America/St_Johns", 2010)
	f("Pacific/Apia", 2011)
	f("Pacific/Kwajalein", 1993)
	f("Australia/Lord_Howe", 2020)
}

func TestOddMidnights(t *testing.T) {
	f := func(window, zone, now, start, end string) {
		t.Helper()
		l := calendarLimit(t, window, zone)
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		e := l.edgesAround(micros(at))
		if diff := cmp.Diff([]string{start, end}, inZone(l.zone, e[1:3])); diff != "" {
			t.Errorf("%s in %s at %s (- want, + got):\n%s", window, zone, now, diff)
		}
	}
	// Midnight is skipped.
	f("day", "America/Sao_Paulo", "2018-11-03T23:59:59-03:00", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00")
	f("day", "America/Sao_Paulo", "2018-11-04T01:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00")
	f("day", "Africa/Cairo", "2023-04-28T01:30:00+03:00", "2023-04-28T01:00:00+03:00", "2023-04-29T00:00:00+03:00")
	f("day", "Asia/Beirut", "2019-03-30T23:00:00+02:00", "2019-03-30T00:00:00+02:00", "2019-03-31T01:00:00+03:00")
	// The hour before midnight comes twice.
	f("day", "America/Sao_Paulo", "2018-02-17T23:30:00-02:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00")
	f("day", "America/Sao_Paulo", "2018-02-17T23:30:00-03:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00")
	// Midnight comes twice: the day begins with the first.
	f("day", "America/Havana", "2019-11-03T00:30:00-04:00", "2019-11-03T00:00:00-04:00", "2019-11-04T00:00:00-05:00")
	f("day", "America/Havana", "2019-11-03T00:30:00-05:00", "2019-11-03T00:00:00-04:00", "2019-11-04T00:00:00-05:00")
	// The date runs back for an hour: the new day has begun all the same.
	f("day", "America/St_Johns", "2010-11-07T00:00:30-02:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30")
	f("day", "America/St_Johns", "2010-11-06T23:30:00-03:30", "2010-11-07T00:00:00-02:30", "2010-11-08T00:00:00-03:30")
	// A day is left out.
	f("day", "Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00")
	f("day", "Pacific/Apia", "2011-12-31T00:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00")
	f("week", "Pacific/Apia", "2011-12-31T00:00:00+14:00", "2011-12-26T00:00:00-10:00", "2012-01-02T00:00:00+14:00")
	f("month", "Pacific/Apia", "2011-12-31T00:00:00+14:00", "2011-12-01T00:00:00-10:00", "2012-01-01T00:00:00+14:00")
	// Days of 23, 23½, 24½ and 25 hours.
	f("day", "Europe/Berlin", "2024-03-31T12:00:00+02:00", "2024-03-31T00:00:00+01:00", "2024-04-01T00:00:00+02:00")
	f("day", "Europe/Berlin", "2024-10-27T12:00:00+01:00", "2024-10-27T00:00:00+02:00", "2024-10-28T00:00:00+01:00")
	f("day", "Australia/Lord_Howe", "2020-10-04T12:00:00+11:00", "2020-10-04T00:00:00+10:30", "2020-10-05T00:00:00+11:00")
	f("day", "Australia/Lord_Howe", "2020-04-05T12:00:00+10:30", "2020-04-05T00:00:00+11:00", "2020-04-06T00:00:00+10:30")
	// Weeks begin on Monday, also over a year's end; months differ in length.
	f("week", "UTC", "2024-12-31T00:00:00Z", "2024-12-30T00:00:00Z", "2025-01-06T00:00:00Z")
	f("week", "UTC", "2025-01-05T23:59:59Z", "2024-12-30T00:00:00Z", "2025-01-06T00:00:00Z")
	f("month", "UTC", "2024-02-29T23:59:59Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z")
	f("month", "UTC", "2024-12-31T23:59:59Z", "2024-12-01T00:00:00Z", "2025-01-01T00:00:00Z")
	f("day", "UTC", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z")
}

// Windows leave no gap, do not overlap, and are the same at all their instants.
func TestCalendarWindowsPartitionTime(t *testing.T) {
	first, last := time.Date(1970, 1, 10, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom(calendarWindows()).Draw(t, "window")
		l := calendarLimit(t, window, rapid.SampledFrom(oddZones()).Draw(t, "zone"))
		now := Micros(rapid.Int64Range(first.UnixMicro(), last.UnixMicro()).Draw(t, "now"))
		e := l.edgesAround(now)
		if e[0] >= e[1] || e[1] > now || now >= e[2] || e[2] >= e[3] {
			t.Fatalf("edges %v around %d", e, now)
		}
		inside := Micros(rapid.Int64Range(int64(e[1]), int64(e[2])-1).Draw(t, "inside"))
		for _, at := range []Micros{e[1], inside, e[2] - 1} {
			if got := l.edgesAround(at); got != e {
				t.Fatalf("edges %v at %d, %v at %d of the same window", e, now, got, at)
			}
		}
		if before := l.edgesAround(e[1] - 1); before[1] != e[0] || before[2] != e[1] || before[3] != e[2] {
			t.Fatalf("edges %v, and %v before the window", e, before)
		}
		if after := l.edgesAround(e[2]); after[0] != e[1] || after[1] != e[2] || after[2] != e[3] {
			t.Fatalf("edges %v, and %v after the window", e, after)
		}
		start := time.UnixMicro(int64(e[1])).In(l.zone)
		if window == "week" && start.Weekday() != time.Monday || window == "month" && start.Day() != 1 {
			t.Fatalf("a %s that begins on %v", window, start)
		}
	})
}

// The bounds of a calendar hold, and are exact where clocks never move.
func TestCalendarWindowsLast(t *testing.T) {
	first, last := time.Date(1970, 1, 10, 0, 0, 0, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		window := rapid.SampledFrom(calendarWindows()).Draw(t, "window")
		l := calendarLimit(t, window, rapid.SampledFrom([]string{"UTC", "Etc/GMT+5", "Etc/UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Tokyo"}).Draw(t, "zone"))
		now := Micros(rapid.Int64Range(first.UnixMicro(), last.UnixMicro()).Draw(t, "now"))
		e := l.edgesAround(now)
		shortest, longest := l.spec.calendarWindows(l.zone)
		if length := e[2] - e[1]; length < shortest || length > longest {
			t.Fatalf("%s: a window of %v, between %v and %v", l, length.Duration(), shortest.Duration(), longest.Duration())
		}
	})
}

// A clock that reads nonsense gets an answer, not a crash.
func TestEdgesOfImpossibleInstants(t *testing.T) {
	for _, window := range calendarWindows() {
		for _, zone := range oddZones() {
			l := calendarLimit(t, window, zone)
			for _, now := range []Micros{math.MinInt64, -1, 0, 1, 1 << 52, math.MaxInt64} {
				l.edgesAround(now)
			}
		}
	}
}

func TestEdgesAround(t *testing.T) {
	e := &Edges{10, 20, 30, 40}
	f := func(e *Edges, now, start, end Micros) {
		t.Helper()
		m, ok := e.around(now)
		if ok != (end > 0) || m.Start != start || m.End != end || ok && m.Now != now {
			t.Errorf("%v around %d: %+v, %v", e, now, m, ok)
		}
	}
	f(e, 9, 0, 0)
	f(e, 10, 10, 20)
	f(e, 19, 10, 20)
	f(e, 20, 20, 30)
	f(e, 39, 30, 40)
	f(e, 40, 0, 0)
	f(nil, 20, 0, 0)
	f(&Edges{}, 0, 0, 0)
	f(&Edges{40, 30, 20, 10}, 25, 0, 0) // a caller's nonsense
}

func TestMomentOfABucketIsNow(t *testing.T) {
	m, ok := MustLimit("b", "5/s").Moment(77, &Take{Key: Key{8: 1}})
	if !ok || m.Now != 77 || m.Start != 0 || m.End != 0 {
		t.Errorf("%+v, %v", m, ok)
	}
}

func TestMomentOfACalendarNeedsEdges(t *testing.T) {
	l := calendarLimit(t, "day", "UTC")
	if m, ok := l.Moment(77, &Take{}); ok {
		t.Errorf("without edges: %+v", m)
	}
	e := l.edgesAround(77)
	if m, ok := l.Moment(77, &Take{Edges: &e}); !ok || m.Start != 0 || m.End != micros(time.Unix(86400, 0)) {
		t.Errorf("with edges: %+v, %v", m, ok)
	}
}

// Windows of a period partition time as well, with a grid for each key when
// they are spread.
func TestFixedWindowsPartitionTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<52-1)).Draw(t, "period")
		spread := rapid.Bool().Draw(t, "spread")
		l, err := NewLimit("w", Spec{Algorithm: FixedWindow, Count: 5, Period: time.Duration(period) * time.Microsecond, Spread: spread})
		if err != nil {
			t.Fatal(err)
		}
		var k Key
		binary.LittleEndian.PutUint64(k[8:], rapid.Uint64().Draw(t, "key"))
		take := &Take{Key: k}
		now := Micros(rapid.Int64Range(1, 1<<52-1).Draw(t, "now"))
		m, ok := l.Moment(now, take)
		if !ok || m.Now != now || m.Start > now || now >= m.End || m.End-m.Start != Micros(period) {
			t.Fatalf("%+v", m)
		}
		shift := Micros(0)
		if spread {
			shift = Micros(binary.LittleEndian.Uint64(k[8:]) % uint64(period))
		}
		if (m.Start-shift)%Micros(period) != 0 {
			t.Fatalf("%+v is not on the grid shifted by %d", m, shift)
		}
		for _, at := range []Micros{m.Start, m.End - 1} {
			if n, _ := l.Moment(at, take); n.Start != m.Start || n.End != m.End {
				t.Fatalf("%+v, and %+v in the same window", m, n)
			}
		}
	})
}

func TestSpreadKeysDoNotBeginTogether(t *testing.T) {
	l, keyer, starts := MustLimit("w", "5/day fixed-window spread"), LocalKeyer(), map[Micros]bool{}
	for i := range 1000 {
		k, tag := keyer.Key(Text("n", string(rune(i))))
		m, _ := l.Moment(1_796_022_366_123_456, &Take{Key: k, Tag: tag})
		starts[m.Start] = true
	}
	if len(starts) < 990 {
		t.Errorf("1000 keys begin at %d instants", len(starts))
	}
}
