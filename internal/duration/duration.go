package duration

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The units beyond an hour that limits are written in.
const (
	Day  = 24 * time.Hour // whatever clocks do
	Week = 7 * Day        // likewise
)

// Longest is beyond every span: 2^52 µs, 142 years.
const Longest time.Duration = 1 << 52 * time.Microsecond

// units are those of a printed duration, largest first.
var units = [...]struct {
	name string
	size time.Duration
}{
	{"d", Day},
	{"h", time.Hour},
	{"m", time.Minute},
	{"s", time.Second},
	{"ms", time.Millisecond},
	{"us", time.Microsecond},
}

// What is wrong with durations, where a caller may know better what to write instead.
const (
	NoDuration = "not a duration"          // it has no number, or no unit
	TooShort   = "it lasts at least 1 µs"  // or is 0, or negative
	TooLong    = "it lasts at most 52124d" // in whole days, which is what can be written: 142 years
)

// Remedy is what to write in the place of a text that is none.
const Remedy = "write one such as 30s, 15m (minutes), 12h or 30d"

// Parse reads a text, or says what is wrong with it, and what to write instead where
// that is not plain from it.
func Parse(text string) (d time.Duration, problem, remedy string) {
	d, problem = Read(text)
	if problem != "" {
		return 0, problem, Remedy
	}
	if problem, remedy = Check(d); problem != "" {
		return 0, problem, remedy
	}
	return d, "", ""
}

// Read reads a text as a span that may be too long, or have parts of a microsecond. One
// of more days than can be counted is Longest.
func Read(text string) (d time.Duration, problem string) {
	d, err := read(text)
	switch {
	case text == "":
		return 0, "a duration is missing"
	case err != nil:
		return 0, NoDuration
	case d <= 0:
		return 0, TooShort
	}
	return d, ""
}

// Check says why no clock of whole microseconds can keep a span, and what to write
// instead; "" where one can.
func Check(d time.Duration) (problem, remedy string) {
	switch {
	case d < time.Microsecond:
		return TooShort, Remedy
	case d >= Longest:
		return TooLong, AtMost(Longest)
	case d%time.Microsecond != 0:
		return "time is whole microseconds", "write " + Format(d.Truncate(time.Microsecond))
	}
	return "", ""
}

// AtMost is what to write in the place of a span that is too long: whole days of the
// longest that is not.
func AtMost(longest time.Duration) string {
	return "write " + Format(longest.Truncate(Day)) + " or less"
}

// Format prints a span as Parse reads it: whole units, largest first, none that is
// zero (30d, 1d12h, 1m30s, 250ms). What no limit can have (0, negative, parts of a
// microsecond) is printed as Go does.
func Format(d time.Duration) string {
	if d <= 0 || d%time.Microsecond != 0 {
		return d.String()
	}
	var b strings.Builder
	for _, u := range units {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d %= u.size
		}
	}
	return b.String()
}

// read reads Go's form with whole days before it, and no sign but a minus.
func read(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		return readGo(text)
	}
	n, err := strconv.ParseUint(days, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, err
	}
	d := Longest
	if n <= uint64(Longest/Day) {
		d = time.Duration(n) * Day
	}
	if rest == "" {
		return d, nil
	}
	r, err := readGo(rest)
	if err != nil || rest[0] == '-' || rest[0] == '+' {
		return 0, strconv.ErrSyntax
	}
	return d + min(r, Longest), nil
}

// spans is Go's form of a duration that is not negative.
var spans = regexp.MustCompile(`^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

// readGo reads Go's form. What Go cannot count is Longest.
func readGo(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil && spans.MatchString(text) {
		return Longest, nil
	}
	return d, err
}
