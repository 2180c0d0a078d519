package storetest

import (
	"math/big"
	"time"

	"github.com/weirhq/weir"
)

// A slide is a window, what has been counted in it, and what was counted in the
// window before.
type slide struct {
	start, end    weir.Micros
	count, before int64
}

func (s slide) same(other state) bool { return other == s }

// slidingLaw is a sliding window: what is counted in a window weighs all of it
// until the window ends, and less and less in the one that follows. A cost passes
// when the weights and the cost are together no more than the limit.
type slidingLaw struct {
	limit, overdraft int64
	period, tick     int64
}

func slidingLawOf(s weir.Spec) slidingLaw {
	l := slidingLaw{limit: s.Count, period: int64(s.Period / time.Microsecond)}
	ticks := l.ticks(max(s.Count, s.Overdraft))
	l.tick = l.period / ticks
	most := floor(big.NewRat(1<<53-1, ticks))
	if most.Cmp(mostCounted()) > 0 {
		most = mostCounted()
	}
	l.overdraft = orTwice(s.Overdraft, s.Count, most)
	return l
}

// ticks is in how many parts a period is cut, where so many units are counted: as
// many as there are µs, or a tenth, a hundredth, … of that but no less than a
// thousand, if units·parts is not below 2^53.
func (l slidingLaw) ticks(most int64) int64 {
	for tick := int64(1); ; tick *= 10 {
		product := new(big.Int).Mul(big.NewInt(most), big.NewInt(l.period/tick))
		if product.BitLen() <= 53 || l.period%(10*tick) != 0 || l.period/(10*tick) < 1000 {
			return l.period / tick
		}
	}
}

func (l slidingLaw) capacity() int64 { return l.limit }

// weight is what units weigh at an instant, counted in a window with that end.
func (l slidingLaw) weight(n int64, end, at weir.Micros) *big.Rat {
	if at < end {
		return units(n)
	}
	ticks := l.period / l.tick
	left := ticks - int64(at-end)/l.tick
	if left <= 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Mul(units(n), big.NewRat(left, ticks))
}

// weighs is what a state weighs at an instant.
func (l slidingLaw) weighs(s state, at weir.Micros) *big.Rat {
	v, _ := s.(slide)
	return new(big.Rat).Add(l.weight(v.count, v.end, at), l.weight(v.before, v.start, at))
}

func (l slidingLaw) fits(s state, at weir.Micros, need int64) bool {
	return l.weighs(s, at).Cmp(units(l.limit-need)) <= 0
}

func (l slidingLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	v, _ := s.(slide)
	return earliest(v.end-at, func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l slidingLaw) left(s state, at weir.Micros) int64 { return l.room(s, at, l.limit) }

// room is how many whole units are missing to so many.
func (l slidingLaw) room(s state, at weir.Micros, most int64) int64 {
	room := floor(new(big.Rat).Sub(units(most), l.weighs(s, at)))
	return max(0, room.Int64()) // nothing that can be counted is out of its range
}

func (l slidingLaw) reset(s state, at weir.Micros) weir.Micros {
	v, _ := s.(slide)
	return earliest(v.end+weir.Micros(l.period)-at, func(d weir.Micros) bool { return l.weighs(s, at+d).Sign() == 0 })
}

// touch: other numbers judge the same counts.
func (l slidingLaw) touch(s state, _ moment) state { return s }

// charge goes on in the windows of the state as long as anything in it weighs
// something, and begins in the window of the moment otherwise.
func (l slidingLaw) charge(s state, m moment, n int64) (state, weir.Receipt) {
	v, _ := s.(slide)
	switch {
	case l.weighs(s, m.now).Sign() == 0:
		v = slide{start: m.start, end: m.end}
	case v.end <= m.now:
		v = slide{start: v.end, end: v.end + weir.Micros(l.period), before: v.count}
	}
	v.count += n
	return v, weir.Receipt{At: v.start, Cost: n, Numbers: [2]int64{int64(v.start), int64(v.end)}}
}

func (l slidingLaw) force(s state, m moment, n int64) (state, weir.Receipt) {
	n = min(n, l.room(s, m.now, l.overdraft))
	if n <= 0 {
		return s, weir.Receipt{}
	}
	return l.charge(s, m, n)
}

// refund takes units out of the window that was charged, or nowhere.
func (l slidingLaw) refund(s state, _ weir.Micros, r weir.Receipt, n int64) state {
	v, ok := s.(slide)
	if !ok || r.Numbers[1]-r.Numbers[0] != l.period {
		return s
	}
	n = min(n, r.Cost)
	switch r.Numbers[1] { // the end of the window that was charged
	case int64(v.end):
		v.count = max(0, v.count-n)
	case int64(v.start):
		v.before = max(0, v.before-n)
	}
	if v.count == 0 && v.before == 0 {
		return nil
	}
	return v
}

// turns are instants until now at which it begins to matter when a call was
// applied: the edges of the last windows and, for what is forced, whenever there
// is room for one unit more.
func (l slidingLaw) turns(from spot, s *share, now weir.Micros) (instants []weir.Micros) {
	const edges = 4 // as many calls on one state are hardly ever lost in a row
	for _, t := range s.takes {
		m, _ := momentOf(now, t)
		for n := range weir.Micros(edges) {
			instants = append(instants, m.start-n*weir.Micros(l.period))
		}
		if t.How&(weir.Force|weir.Always) == 0 {
			continue
		}
		for n := range min(t.Cost, mostParts, l.overdraft) {
			fits := func(d weir.Micros) bool { return l.room(from.state, from.since+d, l.overdraft) > n }
			instants = append(instants, from.since+earliest(0, fits))
		}
	}
	return instants
}
