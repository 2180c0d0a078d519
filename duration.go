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

// ParseDuration reads a duration as limits and rules files have it: Go's form with
// a `d` for 24 hours before it (30d, 1d12h, 250ms), whole microseconds, from 1 µs
// to less than 142 years. There are no spaces in it, and no 0: what is off is said
// by a word. The error is a [*FieldError] of the field `duration` with the offset
// 0.
func ParseDuration(text string) (time.Duration, error) {
	d, problem := readDuration(text)
	if problem != "" {
		return 0, &FieldError{Field: "duration", Value: text, Problem: problem, Remedy: durationRemedy}
	}
	var refusal *FieldError
	checkSpan(func(field string, _ any, problem, remedy string) {
		refusal = &FieldError{Field: field, Value: text, Problem: problem, Remedy: remedy}
	}, "duration", d)
	if refusal != nil {
		return 0, refusal
	}
	return d, nil
}

// What is wrong with durations.
const (
	noDuration = "not a duration"
	tooShort   = "it lasts at least 1 µs"
)

// readDuration reads a text, or says what is wrong with it.
func readDuration(text string) (d time.Duration, problem string) {
	d, err := parseDuration(text)
	switch {
	case text == "":
		return 0, "a duration is missing"
	case err != nil:
		return 0, noDuration
	case d <= 0:
		return 0, tooShort
	}
	return d, ""
}

// FormatDuration prints a duration as [ParseDuration] reads it: whole units,
// largest first, none that is zero (30d, 1d12h, 1m30s, 250ms). What no limit can
// have (0, negative, parts of a microsecond) is printed as Go does.
func FormatDuration(d time.Duration) string {
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
