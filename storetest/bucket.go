package storetest

import (
	"math/big"
	"time"

	"github.com/weirhq/weir"
)

// A bucket is what one key owes: so many units as of an instant, falling evenly
// at a rate until nothing is owed. Instants before that one owe more: a clock
// that runs back forgives nothing.
type bucket struct {
	owed  *big.Rat // units, as of since
	since weir.Micros
	rate  *big.Rat // units per microsecond
}

// at is what is owed at an instant.
func (b bucket) at(now weir.Micros) *big.Rat {
	fallen := new(big.Rat).Mul(b.rate, span(now-b.since))
	owed := new(big.Rat).Sub(b.owed, fallen)
	if owed.Sign() < 0 {
		return new(big.Rat)
	}
	return owed
}

func (b bucket) same(other state) bool {
	o, ok := other.(bucket)
	// Two straight lines are one when they are at two instants.
	return ok && b.rate.Cmp(o.rate) == 0 && b.line().Cmp(o.line()) == 0
}

// line is what would be owed at instant 0, were nothing ever forgiven.
func (b bucket) line() *big.Rat {
	fallen := new(big.Rat).Mul(b.rate, span(b.since))
	return fallen.Add(fallen, b.owed)
}

func span(d weir.Micros) *big.Rat { return units(int64(d)) }

func units(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// bucketLaw is a token bucket: a cost passes when what is owed, and the cost,
// are together no more than the burst.
type bucketLaw struct {
	rate             *big.Rat // count/period, units per microsecond
	burst, overdraft int64
}

func bucketLawOf(s weir.Spec) bucketLaw {
	l := bucketLaw{rate: big.NewRat(s.Count, int64(s.Period/time.Microsecond)), burst: s.Burst}
	if l.burst == 0 {
		l.burst = s.Count
	}
	l.overdraft = orTwice(s.Overdraft, l.burst, l.most())
	return l
}

// most is the largest overdraft D that a limit of N/P in lowest terms may have:
// (D+1)·max(N-1, 1) < 2^53, and D·P/N < 2^52 µs.
func (l bucketLaw) most() *big.Int {
	n, p := l.rate.Num(), l.rate.Denom()
	one := big.NewInt(1)
	less := new(big.Int).Sub(n, one)
	if less.Sign() == 0 {
		less = one
	}
	byProduct := big.NewInt(1<<53 - 1)
	byProduct.Div(byProduct, less).Sub(byProduct, one)
	byTime := new(big.Int).Lsh(n, 52)
	byTime.Sub(byTime, one).Div(byTime, p)
	if byTime.Cmp(byProduct) < 0 {
		return byTime
	}
	return byProduct
}

func (l bucketLaw) capacity() int64 { return l.burst }

// owed is what a state owes at an instant, and the rate at which that falls. A
// key that owes nothing is under the limit's own numbers.
func (l bucketLaw) owed(s state, at weir.Micros) (owed, rate *big.Rat) {
	if b, ok := s.(bucket); ok {
		if owed := b.at(at); owed.Sign() > 0 {
			return owed, b.rate
		}
	}
	return new(big.Rat), l.rate
}

func (l bucketLaw) fits(s state, at weir.Micros, need int64) bool {
	owed, _ := l.owed(s, at)
	return owed.Add(owed, units(need)).Cmp(units(l.burst)) <= 0
}

func (l bucketLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	owed, rate := l.owed(s, at)
	over := owed.Add(owed, units(need-l.burst))
	return earliest(timeOf(over, rate), func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l bucketLaw) left(s state, at weir.Micros) int64 {
	owed, _ := l.owed(s, at)
	left := floor(owed.Sub(units(l.burst), owed))
	if left.Sign() < 0 {
		return 0
	}
	return left.Int64()
}

func (l bucketLaw) reset(s state, at weir.Micros) weir.Micros {
	owed, rate := l.owed(s, at)
	return earliest(timeOf(owed, rate), func(d weir.Micros) bool {
		owed, _ := l.owed(s, at+d)
		return owed.Sign() == 0
	})
}

// touch: what was written under a slower rate is taken over, in units, and falls
// at the new rate from now on. What was written under a faster rate stays until
// a take is admitted.
func (l bucketLaw) touch(s state, m moment) state {
	owed, rate := l.owed(s, m.now)
	if owed.Sign() == 0 || l.rate.Cmp(rate) <= 0 {
		return s
	}
	return bucket{owed: l.rounded(owed), since: m.now, rate: l.rate}
}

// rounded is a number of units as the limit can write it: its state counts in
// 1/N µs, which is 1/P of a unit, and is rounded up.
func (l bucketLaw) rounded(owed *big.Rat) *big.Rat {
	p := new(big.Rat).SetInt(l.rate.Denom())
	up := new(big.Rat).SetInt(ceil(new(big.Rat).Mul(owed, p)))
	return up.Quo(up, p)
}

func (l bucketLaw) charge(s state, m moment, n int64) (state, weir.Receipt) {
	owed, rate := l.owed(s, m.now)
	if rate.Cmp(l.rate) != 0 {
		owed = l.rounded(owed)
	}
	return l.write(owed, m.now, n, l.rate)
}

// force stays in the numbers of the state.
func (l bucketLaw) force(s state, m moment, n int64) (state, weir.Receipt) {
	owed, rate := l.owed(s, m.now)
	room := floor(new(big.Rat).Sub(units(l.overdraft), owed))
	if room.Sign() <= 0 {
		return s, weir.Receipt{}
	}
	if room.IsInt64() {
		n = min(n, room.Int64())
	}
	return l.write(owed, m.now, n, rate)
}

func (l bucketLaw) write(owed *big.Rat, now weir.Micros, n int64, rate *big.Rat) (state, weir.Receipt) {
	b := bucket{owed: owed.Add(owed, units(n)), since: now, rate: rate}
	return b, weir.Receipt{At: now, Cost: n, Numbers: [2]int64{rate.Num().Int64(), rate.Denom().Int64()}}
}

// refund gives back no more than is owed, no more than was asked for, and no
// more than the part of the charge that has not flowed back since.
func (l bucketLaw) refund(s state, at weir.Micros, r weir.Receipt, n int64) state {
	owed, rate := l.owed(s, at)
	if owed.Sign() == 0 || !chargedUnder(rate, r) {
		return s
	}
	flowed := new(big.Rat).Mul(rate, span(at-r.At))
	give := new(big.Rat).Sub(units(r.Cost), flowed)
	for _, most := range []*big.Rat{units(n), owed} {
		if most.Cmp(give) < 0 {
			give = most
		}
	}
	if give.Sign() <= 0 {
		return s
	}
	rest := new(big.Rat).Sub(owed, give)
	if rest.Sign() == 0 {
		return nil
	}
	return bucket{owed: rest, since: at, rate: rate}
}

// chargedUnder reports a receipt of this rate, in its lowest terms.
func chargedUnder(rate *big.Rat, r weir.Receipt) bool {
	return rate.Num().Cmp(big.NewInt(r.Numbers[0])) == 0 && rate.Denom().Cmp(big.NewInt(r.Numbers[1])) == 0
}

// timeOf is how long n units take at a rate, in whole microseconds, rounded up.
func timeOf(n, rate *big.Rat) weir.Micros {
	t := ceil(new(big.Rat).Quo(n, rate))
	if !t.IsInt64() {
		return 0
	}
	return weir.Micros(t.Int64())
}

func floor(x *big.Rat) *big.Int { return new(big.Int).Div(x.Num(), x.Denom()) } // Euclid's: rounds down

func ceil(x *big.Rat) *big.Int {
	up := floor(new(big.Rat).Neg(x))
	return up.Neg(up)
}
