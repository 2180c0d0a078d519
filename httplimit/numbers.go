package httplimit

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// How a number of seconds that is a reset is told from an instant: as a span it
// would be 31 years, or three thousand.
const (
	epochSeconds      = 1_000_000_000
	epochMilliseconds = 100_000_000_000
)

// readReset reads when a quota is there again, in all forms that are met: seconds
// from now, seconds or milliseconds since 1970, a duration such as 6m0s, RFC 3339,
// an HTTP date. It is a span from now, 0 for what is over; far is the time of the
// clock that instants were made by.
func readReset(text string, far time.Time) (d time.Duration, ok bool) {
	text = trim(text)
	if whole, fraction, ok := readNumber(text); ok {
		switch {
		case whole >= epochMilliseconds:
			return after(time.UnixMilli(whole), far), true
		case whole >= epochSeconds:
			return after(time.Unix(whole, int64(fraction)), far), true
		}
		return inSeconds(whole) + fraction, true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, true
	}
	for _, parse := range [...]func(string) (time.Time, error){parseRFC3339, http.ParseTime} {
		if at, err := parse(text); err == nil {
			return after(at, far), true
		}
	}
	return 0, false
}

func parseRFC3339(text string) (time.Time, error) { return time.Parse(time.RFC3339, text) }

// after is the span from far to at, which has lost its fraction of a second where
// it has none: then the quota is there within the second that follows.
func after(at, far time.Time) time.Duration {
	if at.Nanosecond() == 0 {
		at = at.Add(time.Second)
	}
	return max(0, at.Sub(far))
}

// delays are the fields that say how long to wait, in the order in which they
// count, and the unit of a number in each.
var delays = [...]struct {
	name string
	unit time.Duration
}{
	{"Retry-After-Ms", time.Millisecond}, // the same as Retry-After, more exactly
	{"Retry-After", time.Second},
	{"X-Ratelimit-Retry-After", time.Second},
}

// readRetryAfter reads how long to wait before the next request: the longest, where
// there are several lines. It may be 0.
func readRetryAfter(h http.Header, far time.Time) (d time.Duration, said bool) {
	for _, f := range delays {
		for _, text := range lines(h, f.name) {
			if one, ok := readDelay(text, f.unit, far); ok {
				d, said = max(d, one), true
			}
		}
		if said {
			return d, true
		}
	}
	return 0, false
}

// readDelay reads a number of units, with or without a fraction, or an HTTP date.
// A date that is over is 0.
func readDelay(text string, unit time.Duration, far time.Time) (d time.Duration, ok bool) {
	text = trim(text)
	if whole, fraction, ok := readNumber(text); ok {
		return multiple(whole, unit) + fraction/(time.Second/unit), true
	}
	at, err := http.ParseTime(text)
	return max(0, at.Sub(far)), err == nil
}

// readNumber reads digits, with or without a fraction behind a point. What is too
// large is the largest number; digits of the fraction behind the ninth are cut.
func readNumber(text string) (whole int64, fraction time.Duration, ok bool) {
	digits, rest, dotted := strings.Cut(trim(text), ".")
	if !allDigits(digits) || dotted && !allDigits(rest) {
		return 0, 0, false
	}
	whole, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return math.MaxInt64, 0, true
	}
	unit := time.Second
	for i := 0; i < len(rest) && unit > 1; i++ {
		unit /= 10
		fraction += time.Duration(rest[i]-'0') * unit
	}
	return whole, fraction, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func trim(s string) string { return strings.Trim(s, " \t") }

func inSeconds(n int64) time.Duration { return multiple(n, time.Second) }

// multiple is n units. A span that is too long is one of 146 years, so that a
// fraction, or an instant of now, can still be added to it.
func multiple(n int64, unit time.Duration) time.Duration {
	const most = math.MaxInt64 / 2
	if n > most/int64(unit) {
		return most
	}
	return time.Duration(n) * unit
}
