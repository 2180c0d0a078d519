package weir

import (
	"strings"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// loadZone finds an IANA time zone. The machine's own zone is refused, under
// all its names: two replicas may differ in it. Those names, the copies that
// count leap seconds (right/…) and the files that lie beside the zones begin
// with a small letter, which no zone does.
func loadZone(name string) (*time.Location, *FieldError) {
	if isZoneName(name) {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, Invalid("calendar", name, "unknown time zone", zoneRemedy(name))
}

// zoneAreas are the first halves of the zones' names.
var zoneAreas = [...]string{"Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"}

// zoneRemedy says how a zone is written of which only the city stands there, or
// without its capitals.
func zoneRemedy(name string) string {
	known := func(name string) bool {
		_, err := time.LoadLocation(name)
		return err == nil
	}
	const example = "Europe/Berlin"
	if !known(example) {
		return "no zone but UTC is known here: install the system's time zones, or import time/tzdata in the program"
	}
	city := capitals(name)
	if isZoneName(city) && known(city) {
		return "did you mean " + city + "?"
	}
	for _, area := range zoneAreas {
		if zone := area + "/" + city; isZoneName(city) && known(zone) {
			return "did you mean " + zone + "?"
		}
	}
	return "write an IANA name such as " + example + " or UTC"
}

// capitals is a name whose words begin with capitals, as those of zones do.
func capitals(name string) string {
	text := []byte(strings.ToLower(name))
	for i, c := range text {
		if 'a' <= c && c <= 'z' && (i == 0 || text[i-1] == '/' || text[i-1] == '_') {
			text[i] = c - 'a' + 'A'
		}
	}
	if strings.EqualFold(name, "UTC") || strings.EqualFold(name, "GMT") {
		return strings.ToUpper(name)
	}
	return string(text)
}

// isZoneName reports whether s matches [A-Z][A-Za-z0-9/_+-]* and is not Local.
func isZoneName(s string) bool {
	for i := range len(s) {
		c := s[i]
		other := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '/' || c == '_' || c == '+' || c == '-'
		if (c < 'A' || c > 'Z') && (i == 0 || !other) {
			return false
		}
	}
	return s != "" && s != "Local"
}

// calendarWindows is how long the shortest and the longest window of a calendar
// last, where clocks are moved by an hour at most, if ever.
func (s Spec) calendarWindows(zone *time.Location) (shortest, longest Micros) {
	least, most := s.Period, s.Period
	if s.Month {
		least, most = 28*duration.Day, 31*duration.Day
	}
	if !steady(zone) {
		least, most = least-time.Hour, most+time.Hour
	}
	return Micros(least.Microseconds()), Micros(most.Microseconds())
}

// steady reports a zone whose clocks are never moved, nor ever were: UTC, Etc/GMT+5.
// What a country keeps to now it may change.
func steady(zone *time.Location) bool {
	start, end := time.Unix(0, 0).In(zone).ZoneBounds()
	return start.IsZero() && end.IsZero()
}

// around finds the window that holds now.
func (e *Edges) around(now Micros) (algorithm.Moment, bool) {
	if e == nil {
		return algorithm.Moment{}, false
	}
	for i := range len(e) - 1 {
		if e[i] <= now && now < e[i+1] {
			return algorithm.Moment{Now: now, Start: e[i], End: e[i+1]}, true
		}
	}
	return algorithm.Moment{}, false
}

// refreshEdges makes and remembers the edges of the window before, at and
// after an instant.
func (l *Limit) refreshEdges(now Micros) *Edges {
	e := l.edgesAround(now)
	l.edges.Store(&e)
	return &e
}

// edgesAround looks at more windows than it needs: where clocks were set back
// over midnight, the date of an instant is not that of its window; a day that a
// zone left out is no window.
func (l *Limit) edgesAround(now Micros) (e Edges) {
	at := time.UnixMicro(int64(now)).In(l.zone)
	var rising []Micros
	for n := -3; n <= 4; n++ {
		edge := Micros(l.edge(at, n).UnixMicro())
		if len(rising) == 0 || edge > rising[len(rising)-1] {
			rising = append(rising, edge)
		}
	}
	i := 0
	for i < len(rising)-len(e) && rising[i+2] <= now {
		i++
	}
	copy(e[:], rising[i:])
	return e
}

// edge is the beginning of the window of at's date, moved by n windows. Weeks
// begin on Monday.
func (l *Limit) edge(at time.Time, n int) time.Time {
	y, m, d := at.Date()
	switch {
	case l.spec.Month:
		m, d = m+time.Month(n), 1
	case l.spec.Period == duration.Week:
		sinceMonday := (int(at.Weekday()) + 6) % 7
		d += 7*n - sinceMonday
	default:
		d += n
	}
	return firstInstant(time.Date(y, m, d, 0, 0, 0, 0, time.UTC), l.zone)
}

// farthest is more than any zone is away from UTC.
const farthest = 48 * time.Hour

// firstInstant is the first instant at which a zone's clocks show a wall time,
// given as if it were UTC, or a later one: of a midnight that comes twice the
// first, of one that clocks skip (a day that begins at 1:00, a day that was
// left out) the instant of the skip.
func firstInstant(wall time.Time, zone *time.Location) time.Time {
	at := wall.Add(-farthest).In(zone)
	for {
		start, end := at.ZoneBounds()
		_, offset := at.Zone()
		first := wall.Add(-time.Duration(offset) * time.Second)
		if !end.IsZero() && !end.After(at) {
			end = at.Add(time.Hour) // where a zone's changes follow a rule, ZoneBounds forgets the last day of a leap year
		}
		switch {
		case !end.IsZero() && !first.Before(end):
			at = end
		case first.Before(start):
			return start
		default:
			return first
		}
	}
}
