package storetest

import (
	"math/big"
	"time"

	"github.com/weirhq/weir"
)

// queueLaw is a leaky bucket. What is owed stands in the queue and leaves it at
// the rate: the state is a bucket's, and so is what a change of numbers makes of
// it. A cost is so many units one behind the other, and passes when the last of
// them would wait no longer than longest and has no more than ahead before it.
type queueLaw struct {
	bucketLaw

	longest weir.Micros // 0 where there is no such bound
	ahead   int64       // likewise
}

func queueLawOf(s weir.Spec) queueLaw {
	l := queueLaw{longest: weir.Micros(s.Wait / time.Microsecond), ahead: s.Queue}
	l.rate = big.NewRat(s.Count, int64(s.Period/time.Microsecond))
	l.overdraft = orTwice(s.Overdraft, l.capacity(), l.most())
	return l
}

// bound is how much may stand before the last unit that passes, in units.
func (l queueLaw) bound() *big.Rat {
	most := units(l.ahead)
	if within := new(big.Rat).Mul(l.rate, span(l.longest)); l.longest > 0 && (l.ahead == 0 || within.Cmp(most) < 0) {
		most = within
	}
	return most
}

// capacity is one unit, and as many whole ones as may stand before it.
func (l queueLaw) capacity() int64 { return 1 + floor(l.bound()).Int64() }

func (l queueLaw) fits(s state, at weir.Micros, need int64) bool {
	before, _ := l.owed(s, at)
	before.Add(before, units(need-1))
	if l.ahead > 0 && before.Cmp(units(l.ahead)) > 0 {
		return false
	}
	return l.longest == 0 || before.Quo(before, l.rate).Cmp(span(l.longest)) <= 0
}

func (l queueLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	owed, rate := l.owed(s, at)
	over := owed.Sub(owed.Add(owed, units(need-1)), l.bound())
	return earliest(timeOf(over, rate), func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l queueLaw) left(s state, at weir.Micros) int64 {
	owed, _ := l.owed(s, at)
	left := floor(owed.Sub(new(big.Rat).Add(l.bound(), units(1)), owed))
	if left.Sign() < 0 {
		return 0
	}
	return left.Int64()
}

// found is what a take that passes finds in the queue, at the limit's own rate.
func (l queueLaw) found(s state, at weir.Micros) *big.Rat {
	owed, rate := l.owed(s, at)
	if rate.Cmp(l.rate) != 0 {
		return l.rounded(owed)
	}
	return owed
}

// delay is how long a take that passes waits: until what it finds has left.
func (l queueLaw) delay(s state, at weir.Micros) weir.Micros {
	return timeOf(l.found(s, at), l.rate)
}

func (l queueLaw) charge(s state, m moment, n int64) (state, weir.Receipt) {
	return l.put(l.found(s, m.now), m.now, n, l.rate)
}

// force stays in the numbers of the state.
func (l queueLaw) force(s state, m moment, n int64) (state, weir.Receipt) {
	after, r := l.bucketLaw.force(s, m, n)
	if r.Cost == 0 {
		return after, r
	}
	owed, rate := l.owed(s, m.now)
	return l.put(owed, m.now, r.Cost, rate)
}

// put places units behind what is owed. The receipt names the instant at which
// that has left: its whole µs, and the rest of one in parts of which there are as
// many as the rate has units in its lowest terms.
func (l queueLaw) put(owed *big.Rat, now weir.Micros, n int64, rate *big.Rat) (state, weir.Receipt) {
	drains := new(big.Rat).Quo(owed, rate)
	whole := floor(drains)
	rest := new(big.Rat).Sub(drains, new(big.Rat).SetInt(whole))
	rest.Mul(rest, new(big.Rat).SetInt(rate.Num()))
	s, r := l.write(owed, now, n, rate)
	r.At, r.Rest = now+weir.Micros(whole.Int64()), rest.Num().Int64()
	return s, r
}

// refund takes units out of a place that nobody stands behind: it ends at the
// instant at which the queue is empty.
func (l queueLaw) refund(s state, at weir.Micros, r weir.Receipt, n int64) state {
	owed, rate := l.owed(s, at)
	if owed.Sign() == 0 || !chargedUnder(rate, r) {
		return s
	}
	place := new(big.Rat).Add(span(r.At), big.NewRat(r.Rest, r.Numbers[0]))
	ends := place.Add(place, new(big.Rat).Quo(units(r.Cost), rate))
	empty := new(big.Rat).Add(span(at), new(big.Rat).Quo(owed, rate))
	if ends.Cmp(empty) != 0 {
		return s
	}
	rest := owed.Sub(owed, units(n))
	if rest.Sign() <= 0 {
		return nil
	}
	return bucket{owed: rest, since: at, rate: rate}
}
