package weir

import (
	"strconv"
	"strings"
	"time"
)

// String is the canonical text of a limit: short units, one space, options in
// one order, nothing that is a default. ParseSpec reads it back to the same
// Spec.
func (s Spec) String() string {
	if s.Algorithm == Unlimited || s.Algorithm == Deny {
		return s.Algorithm.word()
	}
	b := strconv.AppendInt(make([]byte, 0, 64), s.Count, 10)
	b = s.appendPeriod(b)
	b = appendInt(b, " burst ", s.Burst, s.Burst != 0 && s.Burst != s.Count)
	b = appendInt(b, " overdraft ", s.Overdraft, s.Overdraft != 0)
	if s.Algorithm > TokenBucket && s.Algorithm < Concurrency && s.Zone == "" {
		b = append(append(b, ' '), s.Algorithm.word()...)
	}
	if s.Zone != "" {
		b = append(append(b, " calendar "...), s.Zone...)
	}
	b = appendSpan(b, " wait ", s.Wait)
	b = appendInt(b, " queue ", s.Queue, s.Queue != 0)
	if s.Spread {
		b = append(b, " spread"...)
	}
	b = appendSpan(b, " lease ", s.Lease)
	b = appendSpan(b, " block ", s.Block.For)
	if s.Block.Factor != 0 {
		b = appendInt(b, " x ", s.Block.Factor, true)
		b = appendSpan(b, " max ", s.Block.Max)
	}
	return string(b)
}

func (s Spec) appendPeriod(b []byte) []byte {
	switch {
	case s.Algorithm == Concurrency:
		return append(b, " concurrent"...)
	case s.Month:
		return append(b, "/month"...)
	}
	switch s.Period {
	case time.Second:
		return append(b, "/s"...)
	case time.Minute:
		return append(b, "/min"...)
	case time.Hour:
		return append(b, "/h"...)
	case day:
		return append(b, "/day"...)
	case week:
		return append(b, "/week"...)
	}
	return append(append(b, " per "...), formatDuration(s.Period)...)
}

func appendInt(b []byte, word string, v int64, set bool) []byte {
	if !set {
		return b
	}
	return strconv.AppendInt(append(b, word...), v, 10)
}

func appendSpan(b []byte, word string, d time.Duration) []byte {
	if d == 0 {
		return b
	}
	return append(append(b, word...), formatDuration(d)...)
}

// durationUnits are those of a printed duration, largest first.
func durationUnits() []struct {
	name string
	size time.Duration
} {
	return []struct {
		name string
		size time.Duration
	}{
		{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second},
		{"ms", time.Millisecond}, {"us", time.Microsecond},
	}
}

// formatDuration prints whole units, largest first, leaving out those that are
// zero: 30d, 1d12h, 1m30s, 250ms.
func formatDuration(d time.Duration) string {
	var b strings.Builder
	for _, u := range durationUnits() {
		if n := d / u.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d -= n * u.size
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// parseDuration reads Go's form with whole days before it.
func parseDuration(text string) (time.Duration, error) {
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
	if err != nil || r < 0 || d+r < d || strings.HasPrefix(rest, "+") {
		return 0, strconv.ErrSyntax
	}
	return d + r, nil
}
