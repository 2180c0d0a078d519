package algorithm

import "fmt"

// SlidingLog admits Limit units in any Period, by remembering every charge until it
// is a period old.
//
// Formula: the list has the charges, each an instant and a number of units; the state
// is the instant of the newest and the sum of those that count. A charge counts for
// one period: those at or before max(now, newest) - P are over. Cost c passes iff sum
// + c ≤ Limit. A refusal writes nothing. Charges of one instant are one item; where
// the clock has run back, the instant of a charge is that of the newest before it.
//
// Bound: in any t consecutive microseconds at most Limit·ceil(t/P) units: never more
// than Limit in a period, wherever it begins. It is attained. Settlements above the
// Limit come on top, and each jump ahead of the clock adds at most Limit.
//
// The wait that a refusal names is exact: until so many of the oldest charges are
// over that the cost fits, over = sum + c - Limit being no more than what they come
// to; and not a microsecond earlier.
//
// Changed numbers: all charges are kept, whatever the limit was, until they are over.
// Were those beyond a smaller count dropped, whoever goes to and fro between two
// counts would have the difference again each time. A store keeps logs of another
// period apart (weir.Limit.ID).
//
// A step takes time in proportion to the charges that it must look past to name a
// wait, or to find the one that is given back: all of them at worst.
//
// Source: the log of timestamps that rate limiters are explained with, with weights;
// the bound is exhaustive over small cases.
type SlidingLog struct {
	limit     int64
	overdraft int64
	period    Micros
}

// NewSlidingLog compiles limit units, at most [MostEntries], in any period. Overdraft
// is the most that Force may leave counted, from limit to MostEntries; 0 means the
// limit itself, for a store keeps room for as many charges. Errors are *FieldError
// and name what would be accepted.
func NewSlidingLog(limit int64, period Micros, overdraft int64) (*SlidingLog, error) {
	if err := checkRate(limit, period); err != nil {
		return nil, err
	}
	if limit > MostEntries {
		return nil, refuse("count", limit, "a sliding log remembers each charge, and has room for 4095", "write at most 4095, or sliding-window, which counts without remembering")
	}
	if overdraft == 0 {
		overdraft = limit
	}
	if overdraft < limit {
		return nil, refuse("overdraft", overdraft, fmt.Sprintf("it may be no smaller than the count of %d", limit), "leave it out, or raise it")
	}
	if overdraft > MostEntries {
		return nil, refuse("overdraft", overdraft, "a sliding log remembers each charge, and has room for 4095", "write at most 4095")
	}
	return &SlidingLog{limit: limit, overdraft: overdraft, period: period}, nil
}

// Family is SlidingLogFamily.
func (l *SlidingLog) Family() Family { return SlidingLogFamily }

// Capacity is the limit.
func (l *SlidingLog) Capacity() int64 { return l.limit }

// Overdraft is the most that Force may leave counted.
func (l *SlidingLog) Overdraft() int64 { return l.overdraft }

// Entries is the overdraft: a charge is of one unit at least.
func (l *SlidingLog) Entries() int { return int(l.overdraft) }

// Most is Limit·ceil(t/P).
func (l *SlidingLog) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	return saturated(l.limit, int64((t-1)/l.period), l.limit, 1)
}

// Pins are the period, whatever was charged.
func (l *SlidingLog) Pins() (one, full Micros) { return l.period, l.period }

// Over is a period before now, or before the newest charge where that is later.
func (l *SlidingLog) Over(s State, now Micros) Micros {
	return max(now, s.tally().latest) - l.period
}

// current is what counts at an instant, and when a charge at it is: never before the
// newest.
func (l *SlidingLog) current(s State, now Micros) (v tally, at Micros) {
	v = s.tally()
	if v.units == 0 || v.latest+l.period <= now {
		return tally{}, now
	}
	return v, max(now, v.latest)
}

// Touch leaves a state as it is: charges are judged by whatever the limit is.
func (l *SlidingLog) Touch(s State, _ Moment) State { return s }

// Judge says whether cost more units fit. The wait is until the oldest charges that
// are in their way are over.
func (l *SlidingLog) Judge(s State, m Moment, cost int64) Verdict {
	if cost > l.limit {
		return Verdict{Never: true}
	}
	v, at := l.current(s, m.Now)
	over := v.units + cost - l.limit
	if over <= 0 {
		return Verdict{Allowed: true}
	}
	return Verdict{RetryAfter: v.until(m.List, at-l.period, over) + l.period - m.Now}
}

// Charge counts cost units from now on, for a period.
func (l *SlidingLog) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	v, at := l.current(s, m.Now)
	return tally{at, v.units + cost}.state(), Receipt{At: at, Cost: cost}
}

// Force counts up to cost units, as far as the overdraft reaches.
func (l *SlidingLog) Force(s State, m Moment, cost int64) (State, Receipt) {
	v, _ := l.current(s, m.Now)
	return l.Charge(s, m, max(0, min(cost, l.overdraft-v.units)))
}

// Refund takes units out of the charges of the receipt's instant, or nowhere.
func (l *SlidingLog) Refund(s State, m Moment, r Receipt, units int64) State {
	if m.List == nil || r.At <= l.Over(s, m.Now) {
		return s
	}
	charged, before := int64(0), Micros(0)
	for at, n, mark := m.List.Next(0); mark != 0 && at <= r.At; at, n, mark = m.List.Next(mark) {
		if at == r.At {
			charged = n
			break
		}
		before = at
	}
	back := min(units, r.Cost, charged)
	if back < 1 {
		return s
	}
	v := s.tally()
	v.units -= back
	if back == charged && v.latest == r.At {
		v.latest = before
	}
	return v.state()
}

// Level is what is left of the limit, and the time until the newest charge is over.
func (l *SlidingLog) Level(s State, m Moment) (remaining int64, reset Micros) {
	v, _ := l.current(s, m.Now)
	if v.units > 0 {
		reset = v.latest + l.period - m.Now
	}
	return max(0, l.limit-v.units), reset
}

// Dead reports that the newest charge is over.
func (l *SlidingLog) Dead(s State, now Micros) bool {
	v := s.tally()
	return v.units == 0 || v.latest+l.period <= now
}
