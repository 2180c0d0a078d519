package weir

import (
	"strconv"
	"time"

	"github.com/weirhq/weir/internal/duration"
)

// String is the canonical text of a limit: short units, one space, options in
// one order, nothing that is a default. [ParseSpec] reads the text of a valid
// Spec back to the same Spec, but for a Burst that says what the Count says.
func (s Spec) String() string {
	if s.Algorithm == Unlimited || s.Algorithm == Deny {
		return s.Algorithm.String()
	}
	b := strconv.AppendInt(make([]byte, 0, 64), s.Count, 10)
	b = s.appendPeriod(b)
	b = appendInt(b, " burst ", s.canonical().Burst)
	b = appendInt(b, " overdraft ", s.Overdraft)
	if s.Algorithm != TokenBucket && s.Algorithm != Concurrency && s.Zone == "" {
		b = append(append(b, ' '), s.Algorithm.String()...)
	}
	if s.Zone != "" {
		b = append(append(b, " calendar "...), s.Zone...)
	}
	b = appendSpan(b, " wait ", s.Wait)
	b = appendInt(b, " queue ", s.Queue)
	if s.Spread {
		b = append(b, " spread"...)
	}
	b = appendSpan(b, " lease ", s.Lease)
	return string(s.Block.append(b))
}

// canonical leaves out the burst that is the default anyway, so that one limit
// has one Spec.
func (s Spec) canonical() Spec {
	if s.Burst == s.Count {
		s.Burst = 0
	}
	return s
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
	case duration.Day:
		return append(b, "/day"...)
	case duration.Week:
		return append(b, "/week"...)
	}
	return append(append(b, " per "...), duration.Format(s.Period)...)
}

// appendInt writes an option that is set.
func appendInt(b []byte, word string, v int64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendInt(append(b, word...), v, 10)
}

// appendSpan writes an option that is set.
func appendSpan(b []byte, word string, d time.Duration) []byte {
	if d == 0 {
		return b
	}
	return append(append(b, word...), duration.Format(d)...)
}
