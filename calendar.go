package weir

import (
	"errors"
	"time"

	"github.com/weirhq/weir/algorithm"
)

// loadZone finds an IANA time zone. The machine's own zone is refused: two
// replicas may differ in it.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("weir: not an IANA time zone")
	}
	return time.LoadLocation(name)
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
	at := time.UnixMicro(int64(now)).In(l.zone)
	var e Edges
	for i := range e {
		e[i] = Micros(l.edge(at, i-1).UnixMicro())
	}
	if now < e[1] { // a day whose midnight does not exist began late
		for i := range e {
			e[i] = Micros(l.edge(at, i-2).UnixMicro())
		}
	}
	l.edges.Store(&e)
	return &e
}

// edge is the beginning of the window that holds at, moved by n windows. Days
// may have 23 or 25 hours; weeks begin on Monday.
func (l *Limit) edge(at time.Time, n int) time.Time {
	y, m, d := at.Date()
	switch {
	case l.spec.Month:
		return time.Date(y, m+time.Month(n), 1, 0, 0, 0, 0, l.zone)
	case l.spec.Period == week:
		sinceMonday := (int(at.Weekday()) + 6) % 7
		return time.Date(y, m, d-sinceMonday+7*n, 0, 0, 0, 0, l.zone)
	}
	return time.Date(y, m, d+n, 0, 0, 0, 0, l.zone)
}
