package algorithm

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
)

// LeakyBucket is a queue that Count units leave in each Period, one by one: what
// a token bucket would let through at once is held back, so that it goes on
// evenly. The wait is bounded, in time or in the units that stand before; what
// would wait longer is refused.
//
// Formula: the state is the instant at which the queue is empty, in the form of
// the token bucket's TAT (T = P/N is the time of a unit). With debt = max(0, that
// instant - now), the time that the queue needs to drain, a take of c units goes
// on after Delay = debt, rounded up to whole microseconds; from then on the queue
// needs c·T more. It is judged as c units that come one behind the other and go on
// when the first of them does: it passes iff the last of them would wait no longer
// than Wait, debt + (c-1)·T ≤ Wait, and has no more than Queue units before it,
// debt + (c-1)·T ≤ Queue·T. So it makes no difference whether several takes of one
// instant are judged apart or together. A refusal writes nothing, and the wait
// that it names is exact: until the queue has room.
//
// Capacity is what passes at once where nothing waits, the one unit that goes on
// and those behind it: min(Queue, floor(Wait/T)) + 1. What is left (Level) is the
// room of the queue.
//
// Bound: c·T at least lies between a take of c units and the next to go on; where
// both go by their Delay, which is too long by less than a microsecond, at most
// that much less. In any t consecutive microseconds at most Capacity + floor((t·N
// - 1)/P) units go on, and at most 1 + floor((t·N - 1)/P) where each take is of
// one. Readings of the clock that run back bring nothing forward; a forward step J
// lets at most min(Capacity, J·N/P) more go on. What is charged by force has gone
// on already: it holds up those who come later, and is in no bound.
//
// A place is given back while nobody stands behind it, and stays empty otherwise:
// who stands behind has been told when to go on. So no refund brings two takes
// together.
//
// Changed numbers: as the token bucket's. Who waits goes on when he was told to;
// under a faster rate those who come later may go on between.
//
// Source: the leaky bucket as a queue (J. Turner, "New directions in
// communications", 1986), on the fractions of the token bucket.
type LeakyBucket struct {
	bucket TokenBucket // that holds as much as goes on at once and waits; its units flow away when they go on
}

// NewLeakyBucket compiles a queue that count units leave in each period. Nobody
// waits longer than wait, nor behind more than queue units; 0 leaves it to the
// other of the two. Overdraft is the most debt in units that Force may reach, at
// least the Capacity; 0 means twice that, or the most that can be accepted where
// that is less.
//
// A limit is accepted iff a token bucket of its rate and overdraft is, and the
// units that fit, a part of one counted as a whole, are no more than the largest
// overdraft. Errors are *FieldError and name what would be accepted.
func NewLeakyBucket(count int64, period, wait Micros, queue, overdraft int64) (*LeakyBucket, error) {
	if err := checkRate(count, period); err != nil {
		return nil, err
	}
	if err := checkQueue(wait, queue); err != nil {
		return nil, err
	}
	r := newRate(count, int64(period))
	most := r.mostUnits()
	held, rest := r.held(wait, queue)
	if held >= most || rest > 0 && held+1 >= most {
		return nil, r.tooLong(wait, queue, queue > 0 && held == queue)
	}
	b := TokenBucket{rate: r, burst: held + 1, rest: rest, full: r.weigh(held+1, rest), one: r.scale(1)}
	b.overdraft = cmp.Or(overdraft, min(2*b.burst, most))
	switch {
	case b.overdraft < b.burst:
		return nil, refuse("overdraft", overdraft, fmt.Sprintf("the debt may be no smaller than the %d units that pass at once", b.burst), "leave it out, or raise it")
	case b.overdraft > most:
		return nil, tooLarge("overdraft", overdraft, r, "drain", most)
	}
	return &LeakyBucket{b}, nil
}

// checkQueue refuses bounds that no queue can have.
func checkQueue(wait Micros, queue int64) error {
	switch {
	case wait == 0 && queue == 0:
		return refuse("wait", wait, "nothing bounds the queue", "write a longer one, or bound the queue itself")
	case wait < 0:
		return refuse("wait", wait, "it lasts at least 1 µs", "")
	case wait >= MaxMicros:
		return refuse("wait", wait, "it lasts at most 142 years", "")
	case queue < 0:
		return refuse("queue", queue, "a queue holds at least 1", "leave it out to bound it by wait alone")
	}
	return nil
}

// held is how many units, and what part of one in 1/p, may stand before the last
// that passes: the less of queue and of what drains within wait.
func (r rate) held(wait Micros, queue int64) (units, rest int64) {
	if wait == 0 {
		return queue, 0
	}
	units, rest = r.units(span{whole: int64(wait)})
	if queue > 0 && queue <= units {
		return queue, 0
	}
	return units, rest
}

// tooLong refuses a queue that cannot be counted, by the bound that makes it so.
func (r rate) tooLong(wait Micros, queue int64, byQueue bool) error {
	most := r.mostUnits() - 1 // beside the one that goes on
	switch {
	case byQueue && most > 0:
		return tooLarge("queue", queue, r, "drain", most)
	case byQueue:
		return refuse("queue", queue, "no queue can be counted exactly at this rate", "write a shorter period, or a rounder count")
	case most > 0:
		return refuse("wait", wait, "too many units could wait so long", fmt.Sprintf("write a shorter one, or queue %d or less beside it", most))
	}
	return refuse("wait", wait, "no queue can be counted exactly at this rate", "write a shorter period, or a rounder count")
}

// Family is LeakyBucketFamily.
func (b *LeakyBucket) Family() Family { return LeakyBucketFamily }

// Capacity is min(Queue, floor(Wait/T)) + 1.
func (b *LeakyBucket) Capacity() int64 { return b.bucket.burst }

// Overdraft is the most debt, in units, that Force may reach.
func (b *LeakyBucket) Overdraft() int64 { return b.bucket.overdraft }

// Longest is the longest that a unit waits, rounded up: behind as many as may stand
// before it.
func (b *LeakyBucket) Longest() Micros {
	r := b.bucket.rate
	return r.sub(b.bucket.full, r.scale(1)).ceil()
}

// Most is Capacity + floor((t·N - 1)/P): so many units go on, whatever is asked
// for.
func (b *LeakyBucket) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	r, capacity := b.bucket.rate, b.bucket.burst
	hi, lo := bits.Mul64(uint64(t), uint64(r.n))
	lo, borrow := bits.Sub64(lo, 1, 0)
	hi -= borrow
	if hi >= uint64(r.p) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(r.p))
	if q > uint64(math.MaxInt64-capacity) {
		return math.MaxInt64
	}
	return capacity + int64(q)
}

// Pins are the times of one unit and of the capacity, rounded up to whole
// microseconds.
func (b *LeakyBucket) Pins() (one, full Micros) { return b.bucket.Pins() }

// Touch is the token bucket's.
func (b *LeakyBucket) Touch(s State, m Moment) State { return b.bucket.Touch(s, m) }

// Judge says whether cost units pass, and how long they wait then. A cost of 0
// waits for nothing.
func (b *LeakyBucket) Judge(s State, m Moment, cost int64) Verdict {
	v := b.bucket.Judge(s, m, cost)
	if v.Allowed && cost > 0 {
		v.Delay = b.bucket.owed(s, m.Now).ceil()
	}
	return v
}

// Charge puts cost units at the end of the queue.
func (b *LeakyBucket) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	r, d := b.bucket.rate, b.bucket.owed(s, m.Now)
	return write(m.Now, r.add(d, r.scale(cost)), r), queued(m.Now, d, cost, r)
}

// Force puts up to cost units at the end of the queue, in the state's own numbers,
// as far as the overdraft reaches.
func (b *LeakyBucket) Force(s State, m Moment, cost int64) (State, Receipt) {
	after, charged, d, r := b.bucket.force(s, m.Now, cost)
	if charged == 0 {
		return s, Receipt{}
	}
	return after, queued(m.Now, d, charged, r)
}

// queued is the receipt of units that found a queue of d under rate r: it names
// the place that they took, by its beginning.
func queued(now Micros, d span, cost int64, r rate) Receipt {
	return Receipt{At: now + Micros(d.whole), Cost: cost, Numbers: [2]int64{r.n, r.p}, Rest: d.rem}
}

// Refund takes units off the end of the queue, as far as they stand there still,
// where nobody stands behind them: the place of the receipt ends where the queue
// does.
func (b *LeakyBucket) Refund(s State, m Moment, r Receipt, units int64) State {
	units = min(units, r.Cost)
	own, ok := receiptRate(s, r.Numbers)
	if !ok || units < 1 {
		return s
	}
	end := own.add(span{int64(r.At), r.Rest}, own.wide(r.Cost))
	if end != (span{s[0], s[1]}) {
		return s
	}
	return b.bucket.lower(s, m.Now, own, own.wide(units))
}

// Level is how many units would pass now, and the time until the queue is empty,
// rounded up to whole microseconds.
func (b *LeakyBucket) Level(s State, m Moment) (remaining int64, reset Micros) {
	return b.bucket.Level(s, m)
}

// Dead reports that the queue is empty.
func (b *LeakyBucket) Dead(s State, now Micros) bool { return b.bucket.Dead(s, now) }

// Pack is the token bucket's.
func (b *LeakyBucket) Pack(s State) (whole, rest uint64, ok bool) { return b.bucket.Pack(s) }

// Unpack is Packer's.
func (b *LeakyBucket) Unpack(whole, rest uint64) State { return b.bucket.Unpack(whole, rest) }
