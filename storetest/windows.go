package storetest

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// CheckWindows holds a history against the bound of one limit: for every key
// and every stretch of time, what was admitted is no more than the limit
// promises for that long. It raises no false alarm, for it takes a call to have
// been decided anywhere between its beginning and its end, and needs no clock of
// the store.
//
// A token bucket promises burst + rate·t in a closed window of t microseconds;
// a sliding window count + count·t/period; a fixed window its count for each
// window that such a stretch can touch, and a sliding log for each period that it
// needs to hold t + 1 of them. Units given back within the stretch, and
// a burst for each Reset, come on top. A leaky bucket promises its capacity +
// rate·t of what goes on at the end of its Delay, and of that what was given back
// does not count. What was charged by force is not admitted and does not count
// either. Where one state was judged by several limits, the most generous one is
// to be given.
func CheckWindows(h History, l *weir.Limit) error {
	p, err := promiseOf(l)
	if err != nil {
		return err
	}
	for _, k := range keysOf(h, l) {
		u := usageOf
		if p.departs {
			u = departures
		}
		if err := p.check(u(h, l, k)); err != nil {
			return fmt.Errorf("storetest: limit %s %s, key %x: %w", l.Name(), l, k, err)
		}
	}
	return nil
}

// A promise is how much a limit admits at most: at once, and with time.
type promise struct {
	burst        int64
	count        *big.Int // what comes back evenly in each period; nil for fixed windows
	period       *big.Int
	windowLength weir.Micros // of the shortest fixed window; of a log, whose windows begin with the stretch, the period
	log          bool
	departs      bool // it holds for what goes on, instead of what is admitted
}

func promiseOf(l *weir.Limit) (promise, error) {
	s := l.Spec()
	switch s.Algorithm {
	case weir.TokenBucket:
		return promise{burst: l.Capacity(), count: big.NewInt(s.Count), period: big.NewInt(s.Period.Microseconds())}, nil
	case weir.LeakyBucket:
		return promise{burst: l.Capacity(), count: big.NewInt(s.Count), period: big.NewInt(s.Period.Microseconds()), departs: true}, nil
	case weir.SlidingWindow:
		return promise{burst: s.Count, count: big.NewInt(s.Count), period: big.NewInt(s.Period.Microseconds())}, nil
	case weir.FixedWindow:
		return promise{burst: s.Count, windowLength: shortest(s)}, nil
	case weir.SlidingLog:
		return promise{burst: s.Count, windowLength: weir.Micros(s.Period.Microseconds()), log: true}, nil
	default:
		return promise{}, fmt.Errorf("storetest: a limit of %s promises nothing in time", s.Algorithm)
	}
}

// shortest is the shortest window that a limit has: a calendar's days may lack
// an hour, but for those of UTC, whose clocks are never moved.
func shortest(s weir.Spec) weir.Micros {
	period := s.Period
	if s.Month {
		period = 28 * 24 * time.Hour
	}
	if s.Zone != "" && s.Zone != "UTC" {
		period -= time.Hour
	}
	return weir.Micros(period.Microseconds())
}

// within is what may be admitted in a closed stretch of t microseconds, with so
// many losses of state.
func (p promise) within(t weir.Micros, losses int64) *big.Int {
	most := big.NewInt(1 + losses)
	if p.count == nil {
		touched := (t + p.windowLength - 1) / p.windowLength // edges in it
		if p.log {
			touched = t / p.windowLength
		}
		most.Add(most, big.NewInt(int64(touched)))
		return most.Mul(most, big.NewInt(p.burst))
	}
	most.Mul(most, big.NewInt(p.burst))
	refill := new(big.Int).Mul(p.count, big.NewInt(int64(t)))
	if p.departs { // up to a µs late: between two lies less than a µs more than t, and not all of it
		refill.Add(refill, p.count).Sub(refill, big.NewInt(1))
	}
	return most.Add(most, refill.Div(refill, p.period))
}

// A use is something that happened to a key within a stretch of time.
type use struct {
	from, to weir.Micros // rounded outwards
	units    int64
}

// usage is what happened to one key under one limit.
type usage struct {
	admitted []use // by their end
	returned []use // by their beginning
	resets   []use // by their beginning
}

// keysOf lists the keys that a history names under a limit.
func keysOf(h History, l *weir.Limit) []weir.Key {
	var keys []weir.Key
	for _, op := range h {
		for _, t := range op.Takes {
			if t.Limit != nil && t.Limit.ID() == l.ID() && !slices.Contains(keys, t.Key) {
				keys = append(keys, t.Key)
			}
		}
	}
	return keys
}

func usageOf(h History, l *weir.Limit, k weir.Key) usage {
	var u usage
	for _, op := range h {
		seen := op.stretch()
		if seen.units = op.admitted(l, k); seen.units > 0 {
			u.admitted = append(u.admitted, seen)
		}
		if seen.units = op.returned(l, k); seen.units > 0 {
			u.returned = append(u.returned, seen)
		}
		for _, r := range op.Reset {
			if r.Limit != nil && r.Limit.ID() == l.ID() && r.Key == k {
				u.resets = append(u.resets, seen)
			}
		}
	}
	u.sort()
	return u
}

func (u *usage) sort() {
	slices.SortFunc(u.admitted, func(a, b use) int { return cmp.Compare(a.to, b.to) })
	byBegin := func(a, b use) int { return cmp.Compare(a.from, b.from) }
	slices.SortFunc(u.returned, byBegin)
	slices.SortFunc(u.resets, byBegin)
}

// stretch is when a call may have been decided.
func (op *Operation) stretch() use {
	return use{from: weir.Micros(op.Call.Microseconds()), to: weir.Micros((op.Return + time.Microsecond - 1).Microseconds())}
}

// admitted is how many units a call let pass.
func (op Operation) admitted(l *weir.Limit, k weir.Key) (units int64) {
	if op.Err != nil {
		return 0
	}
	for i, t := range op.Takes {
		if t.Limit.ID() == l.ID() && t.Key == k && t.How&(weir.Peek|weir.Force) == 0 {
			units += op.Decisions[i].Granted
		}
	}
	return units
}

// returned is how many units a call may have given back, also one whose outcome
// is not known.
func (op Operation) returned(l *weir.Limit, k weir.Key) (units int64) {
	if refusedOutright(op.Err) {
		return 0
	}
	for _, r := range op.Returns {
		if r.Limit.ID() == l.ID() && r.Key == k {
			units += r.Units
		}
	}
	return units
}

// check looks at every stretch from the beginning of one admitted call to the
// end of another.
func (p promise) check(u usage) error {
	for _, first := range u.admitted {
		var returned, resets meter
		sum := new(big.Int)
		for _, last := range u.admitted {
			if last.from < first.from {
				continue
			}
			sum.Add(sum, big.NewInt(last.units))
			most := p.within(last.to-first.from, resets.upTo(u.resets, first.from, last.to).count)
			most.Add(most, big.NewInt(returned.upTo(u.returned, first.from, last.to).units))
			if sum.Cmp(most) > 0 {
				return fmt.Errorf("%v units were admitted between %d and %d µs, %v is the most", sum, first.from, last.to, most)
			}
		}
	}
	return nil
}

// A meter sums up what may have happened in a stretch whose end moves on.
type meter struct {
	next         int
	count, units int64
}

func (m *meter) upTo(uses []use, from, to weir.Micros) *meter {
	for ; m.next < len(uses) && uses[m.next].from <= to; m.next++ {
		if uses[m.next].to >= from {
			m.count++
			m.units += uses[m.next].units
		}
	}
	return m
}
