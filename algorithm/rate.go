package algorithm

import (
	"math"
	"math/bits"
)

// rate is n units per p microseconds, reduced to lowest terms, with the time
// of one unit split into p/n = q + s/n so that a multiple of it needs no
// product above k·(n-1).
type rate struct{ n, p, q, s int64 }

// newRate reduces count per period. Both are at least 1.
func newRate(count, period int64) rate {
	g := gcd(count, period)
	return reduced(count/g, period/g)
}

// reduced is the rate of n units per p microseconds in lowest terms. Both are at least 1.
func reduced(n, p int64) rate { return rate{n: n, p: p, q: p / n, s: p % n} }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// span is a length of time of whole + rem/n microseconds, 0 ≤ rem < n, where n
// is that of the rate it belongs to.
type span struct{ whole, rem int64 }

// scale is the time of k units, k·p/n, for 0 ≤ k ≤ the overdraft of an
// accepted limit.
func (r rate) scale(k int64) span {
	t := k * r.s
	return span{k*r.q + t/r.n, t % r.n}
}

// add gives a + b.
func (r rate) add(a, b span) span {
	c := span{a.whole + b.whole, a.rem + b.rem}
	if c.rem >= r.n {
		c.whole, c.rem = c.whole+1, c.rem-r.n
	}
	return c
}

// sub gives a - b; whole is negative when b is the longer.
func (r rate) sub(a, b span) span {
	c := span{a.whole - b.whole, a.rem - b.rem}
	if c.rem < 0 {
		c.whole, c.rem = c.whole-1, c.rem+r.n
	}
	return c
}

// ceil rounds up to whole microseconds.
func (a span) ceil() Micros {
	if a.rem > 0 {
		return Micros(a.whole + 1)
	}
	return Micros(a.whole)
}

// less compares two spans of the same rate.
func (a span) less(b span) bool {
	return a.whole < b.whole || a.whole == b.whole && a.rem < b.rem
}

// positive reports a > 0.
func (a span) positive() bool { return a.whole > 0 || a.whole == 0 && a.rem > 0 }

// shorter gives the smaller of two spans of the same rate.
func shorter(a, b span) span {
	if b.less(a) {
		return b
	}
	return a
}

// beyond stands for a number of units or microseconds that no accepted limit
// can reach; only a clock that ran back for years makes one.
const beyond = 1 << 62

// units is the debt d in units: u + f/p, 0 ≤ f < p. It is exact for any d; a
// number of units above every limit's is given as beyond.
func (r rate) units(d span) (u, f int64) {
	hi, lo := bits.Mul64(uint64(d.whole), uint64(r.n))
	lo, carry := bits.Add64(lo, uint64(d.rem), 0)
	hi += carry
	if hi >= uint64(r.p) {
		return beyond, 0
	}
	q, rem := bits.Div64(hi, lo, uint64(r.p))
	if q >= beyond {
		return beyond, 0
	}
	return int64(q), int64(rem)
}

// saturated is k + floor(a·b/c), cut to MaxInt64. Nothing is negative, and c not 0.
func saturated(k, a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	if q > uint64(math.MaxInt64-k) {
		return math.MaxInt64
	}
	return k + int64(q)
}

// wide is scale for a k that belongs to another limit's numbers, by 128-bit
// arithmetic.
func (r rate) wide(k int64) span { return r.weigh(k, 0) }

// weigh is the time of u units and extra/n µs, by 128-bit arithmetic; what is too
// long for any accepted limit is given as beyond.
func (r rate) weigh(u, extra int64) span {
	hi, lo := bits.Mul64(uint64(u), uint64(r.p))
	lo, carry := bits.Add64(lo, uint64(extra), 0)
	hi += carry
	if hi >= uint64(r.n) {
		return span{beyond, 0}
	}
	q, rem := bits.Div64(hi, lo, uint64(r.n))
	if q >= beyond {
		return span{beyond, 0}
	}
	return span{int64(q), int64(rem)}
}

// atLeast reports r ≥ o as rates.
func (r rate) atLeast(o rate) bool {
	ah, al := bits.Mul64(uint64(r.n), uint64(o.p))
	bh, bl := bits.Mul64(uint64(o.n), uint64(r.p))
	return ah > bh || ah == bh && al >= bl
}

// part is f/o.p of a unit, counted under rate o, as a time under r in 1/n µs:
// f·P/p, rounded up or down. f is less than o.p, so that it is no more than r.p.
func (r rate) part(o rate, f int64, up bool) int64 {
	hi, lo := bits.Mul64(uint64(f), uint64(r.p))
	q, rem := bits.Div64(hi, lo, uint64(o.p))
	if up && rem > 0 {
		q++
	}
	return int64(q)
}

// from turns u + f/p units, counted under rate o, into the time they need
// under r, rounded up to the next 1/n µs: (u·P + ceil(f·P/p)) / N. It reports
// false where the result is out of range.
func (r rate) from(o rate, u, f int64) (span, bool) {
	t := r.weigh(u, r.part(o, f, true))
	return t, t.whole < int64(MaxMicros)*2
}
