package weir

import (
	"strconv"
	"strings"
	"time"
)

// The units beyond an hour that limits are written in.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// durationUnits are those of a printed duration, largest first.
var durationUnits = [...]struct {
	name string
	size time.Duration
}{
	{"d", day},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
}

// formatDuration prints whole units, largest first, leaving out those that are
// zero: 30d, 1d12h, 1m30s, 250ms. What no limit can have (0, negative, parts of
// a microsecond) is printed as Go does.
func formatDuration(d time.Duration) string {
	if d <= 0 || d%time.Microsecond != 0 {
		return d.String()
	}
	var b strings.Builder
	for _, u := range durationUnits {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d %= u.size
		}
	}
	return b.String()
}

// parseDuration reads Go's form with whole days before it, and no sign but a
// minus.
func parseDuration(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil {
		return 0, err
	}
	const most = uint64(1<<63-1) / uint64(day)
	if n > most {
		return 0, strconv.ErrRange
	}
	d := time.Duration(n) * day
	if rest == "" {
		return d, nil
	}
	r, err := time.ParseDuration(rest)
	if err != nil || rest[0] == '-' || rest[0] == '+' || d+r < d {
		return 0, strconv.ErrSyntax
	}
	return d + r, nil
}
