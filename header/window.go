package header

import (
	"math"
	"math/bits"
	"time"

	"github.com/weirhq/weir"
)

// second in microseconds.
const second = 1_000_000

// sum adds two spans that are not negative; what is too long for an int64
// becomes the longest span.
func sum(a, b weir.Micros) weir.Micros {
	return min(a, math.MaxInt64-b) + b
}

// muldiv is a·b/c rounded down, or up; a and b are not negative, c is positive.
// What is too large becomes the largest number.
func muldiv(a, b, c int64, up bool) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, rest := bits.Div64(hi, lo, uint64(c))
	if up && rest > 0 {
		q++
	}
	return int64(min(q, math.MaxInt64))
}

// quota states a rate in whole seconds: q units in each w seconds. A period that
// is no whole number of seconds is multiplied, together with the count, by the
// least factor that makes it one. w is 0 where there is none to state.
func quota(count int64, period weir.Micros) (q, w int64) {
	if period <= 0 {
		return clamp(count), 0
	}
	g := gcd(int64(period), second)
	factor := second / g
	w = int64(period) / g
	if w > maxInteger || count > maxInteger/factor {
		return clamp(count), 0
	}
	return count * factor, w
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// window is the t of a limit that has r units left: the seconds within which no
// more than r can be used. 0 means that there is none to state.
func (p *policy) window(t *weir.Take, d *weir.Decision, r int64) int64 {
	switch {
	case p.algorithm == weir.Concurrency: // slots come back when their holders are done
		return 0
	case !d.Allowed && !d.Never:
		return max(1, d.RetryAfter.Ceil(time.Second))
	case p.bucket() && r > 0:
		return max(1, weir.Micros(muldiv(r, int64(p.period), p.count, true)).Ceil(time.Second))
	case p.bucket():
		return max(1, p.wait(t, d).Ceil(time.Second))
	case p.algorithm == weir.SlidingWindow && d.ResetAfter > 0:
		return p.slide(t, d, r).Ceil(time.Second)
	case d.ResetAfter > 0:
		return d.ResetAfter.Ceil(time.Second)
	}
	return p.period.Ceil(time.Second)
}

// bucket reports that units flow back evenly.
func (p *policy) bucket() bool {
	return p.algorithm == weir.TokenBucket || p.algorithm == weir.LeakyBucket
}

// wait is how long an empty bucket needs for the cost of t. ResetAfter is the
// debt; the cost passes once the debt is down to what capacity - cost units weigh,
// or to what leaves the last of them no more than the longest wait of a queue. That
// is rounded down, so that the wait is never short.
func (p *policy) wait(t *weir.Take, d *weir.Decision) weir.Micros {
	cost := p.cost(t)
	room := muldiv(p.capacity-cost, int64(p.period), p.count, false)
	if p.longest > 0 {
		room = int64(p.longest) - muldiv(cost-1, int64(p.period), p.count, true)
	}
	return max(0, d.ResetAfter) - weir.Micros(room)
}

// slide is how long the present window of a sliding one lasts: what it holds weighs
// for a period more. With nothing left it is how long a cost of t waits at most,
// which is when all units are of the present window: until they have begun to weigh
// less by that cost in the next one.
func (p *policy) slide(t *weir.Take, d *weir.Decision, r int64) weir.Micros {
	if d.ResetAfter <= p.period { // only the window before holds something
		return d.ResetAfter
	}
	end := d.ResetAfter - p.period
	if r > 0 {
		return end
	}
	return sum(end, weir.Micros(muldiv(p.cost(t), int64(p.period), p.count, true)))
}

// cost is what a caller with nothing left waits for: as much again, or one unit
// where there is no cost that it could wait for.
func (p *policy) cost(t *weir.Take) int64 {
	if t.Cost > p.capacity {
		return 1
	}
	return max(1, t.Cost)
}
