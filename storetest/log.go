package storetest

import (
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// A charge is units that were charged at an instant.
type charge struct {
	at    weir.Micros
	units int64
}

// A log is all charges that may still count, the oldest first, one for an instant.
type log []charge

func (l log) same(other state) bool {
	o, ok := other.(log)
	return ok && slices.Equal(l, o)
}

// logLaw is a sliding log: each charge counts for a period, and a cost passes when
// what counts, and the cost, are together no more than the limit.
type logLaw struct {
	limit, overdraft int64
	period           weir.Micros
}

func logLawOf(s weir.Spec) logLaw {
	l := logLaw{limit: s.Count, overdraft: s.Overdraft, period: weir.Micros(s.Period / time.Microsecond)}
	if l.overdraft == 0 {
		l.overdraft = s.Count
	}
	return l
}

func (l logLaw) capacity() int64 { return l.limit }

// instant is when something happens at a reading of the clock: never before the
// newest charge.
func (l logLaw) instant(s state, at weir.Micros) weir.Micros {
	if charges, _ := s.(log); len(charges) > 0 {
		return max(at, charges[len(charges)-1].at)
	}
	return at
}

// counted are the charges that count at an instant, in a list of its own.
func (l logLaw) counted(s state, at weir.Micros) (list log) {
	now := l.instant(s, at)
	charges, _ := s.(log)
	for _, c := range charges {
		if now-c.at < l.period {
			list = append(list, c)
		}
	}
	return list
}

// sum is the units that count at an instant.
func (l logLaw) sum(s state, at weir.Micros) (units int64) {
	for _, c := range l.counted(s, at) {
		units += c.units
	}
	return units
}

func (l logLaw) fits(s state, at weir.Micros, need int64) bool { return l.sum(s, at) <= l.limit-need }

func (l logLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	return earliest(l.period, func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l logLaw) left(s state, at weir.Micros) int64 { return max(0, l.limit-l.sum(s, at)) }

func (l logLaw) reset(s state, at weir.Micros) weir.Micros {
	return earliest(l.period, func(d weir.Micros) bool { return l.sum(s, at+d) == 0 })
}

// touch: other numbers judge the same charges.
func (l logLaw) touch(s state, _ moment) state { return s }

func (l logLaw) charge(s state, m moment, n int64) (state, weir.Receipt) {
	now, list := l.instant(s, m.now), l.counted(s, m.now)
	if last := len(list) - 1; last >= 0 && list[last].at == now {
		list[last].units += n
	} else {
		list = append(list, charge{now, n})
	}
	return list, weir.Receipt{At: now, Cost: n}
}

func (l logLaw) force(s state, m moment, n int64) (state, weir.Receipt) {
	n = min(n, l.overdraft-l.sum(s, m.now))
	if n <= 0 {
		return s, weir.Receipt{}
	}
	return l.charge(s, m, n)
}

// refund takes units out of what was charged at the receipt's instant, or nowhere.
func (l logLaw) refund(s state, at weir.Micros, r weir.Receipt, n int64) state {
	list := l.counted(s, at)
	i := slices.IndexFunc(list, func(c charge) bool { return c.at == r.At })
	if i < 0 {
		return s
	}
	list[i].units -= min(n, r.Cost, list[i].units)
	if list[i].units == 0 {
		list = slices.Delete(list, i, i+1)
	}
	if len(list) == 0 {
		return nil
	}
	return list
}

// turns are instants until now at which it begins to matter when a call was applied:
// whenever a charge stops to count, for what is forced or given back.
func (l logLaw) turns(from spot) (instants []weir.Micros) {
	charges, _ := from.state.(log)
	for _, c := range charges {
		instants = append(instants, c.at+l.period-1, c.at+l.period)
	}
	return instants
}
