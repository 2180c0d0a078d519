package algorithm

import (
	"fmt"
	"math/bits"
)

// TokenBucket admits Burst units at once and refills Count units evenly in
// each Period: the generic cell rate algorithm on exact fractions.
//
// Formula: the state is the theoretical arrival time, TAT, kept as whole
// microseconds and a rest in 1/N µs, with the N and P it was written under
// (N/P is count/period in lowest terms, T = P/N the time of a unit). With debt
// = max(0, TAT - now), cost c passes iff debt ≤ Burst·T - c·T; then TAT = now +
// debt + c·T. A refusal writes nothing.
//
// Bound: in any t consecutive microseconds of the store's clock at most Burst +
// floor((t-1)·N/P) units pass. Readings of the clock that run back admit
// nothing more; a forward step J admits at most min(Burst, J·N/P) more.
//
// Debt is never cut on read, so the wait that a refusal names is exact: it
// passes then, and not a microsecond earlier.
//
// Source: ITU-T I.371, annex A, virtual scheduling; the split of the unit time
// into quotient and rest is what keeps every product below 2^53.
type TokenBucket struct {
	rate      rate
	burst     int64
	rest      int64 // a part of a unit that fits beside the burst, in 1/P: of a LeakyBucket alone
	overdraft int64
	full      span // the time of burst + rest/P units
	one       span // that of one unit
}

// NewTokenBucket compiles count units per period with the given burst.
// Overdraft is the most debt in units that Force may reach, at least burst; 0
// means twice the burst, or the most that can be accepted where that is less.
//
// A limit is accepted iff, in lowest terms, N and P are below 2^52, (D+1)·
// max(N-1, 1) is below 2^53 and D·P/N is below 2^52 µs (142 years), D being the
// overdraft. Errors are *FieldError and name what would be accepted.
func NewTokenBucket(count int64, period Micros, burst, overdraft int64) (*TokenBucket, error) {
	if err := checkRate(count, period); err != nil {
		return nil, err
	}
	if burst < 1 {
		return nil, refuse("burst", burst, "a bucket must hold at least 1 unit", "write burst 1 or more")
	}
	r := newRate(count, int64(period))
	most := r.mostUnits()
	if burst > most {
		return nil, tooLarge("burst", burst, r, "refill", most)
	}
	if overdraft == 0 {
		overdraft = min(2*burst, most)
	}
	if overdraft < burst {
		return nil, refuse("overdraft", overdraft, fmt.Sprintf("the debt may be no smaller than the burst of %d", burst), "leave it out, or raise it")
	}
	if overdraft > most {
		return nil, tooLarge("overdraft", overdraft, r, "refill", most)
	}
	return &TokenBucket{rate: r, burst: burst, overdraft: overdraft, full: r.scale(burst), one: r.scale(1)}, nil
}

// checkRate refuses counts and periods that no rate can have.
func checkRate(count int64, period Micros) error {
	if count < 1 {
		return refuse("count", count, "a limit admits at least 1 unit a period", `write "deny" to refuse everything, "unlimited" to limit nothing`)
	}
	if count >= int64(MaxMicros) {
		return refuse("count", count, "too large to count exactly", fmt.Sprintf("write at most %d", int64(MaxMicros)-1))
	}
	if period < 1 {
		return refuse("period", period, "a period lasts at least 1 µs", "")
	}
	if period >= MaxMicros {
		return refuse("period", period, "a period lasts at most 142 years", "")
	}
	return nil
}

// mostUnits is the largest overdraft that is accepted: (D+1)·max(n-1,1) < 2^53
// and D·p < 2^52·n.
func (r rate) mostUnits() int64 {
	byProduct := (exactDouble-1)/max(r.n-1, 1) - 1
	hi, lo := bits.Mul64(uint64(MaxMicros), uint64(r.n))
	lo, borrow := bits.Sub64(lo, 1, 0)
	hi -= borrow
	if hi >= uint64(r.p) {
		return byProduct
	}
	byTime, _ := bits.Div64(hi, lo, uint64(r.p))
	return int64(min(uint64(byProduct), byTime))
}

// tooLarge says why so many units are refused: they would take more than a
// lifetime to flow away, or could not be counted exactly. Flow is the word for it.
func tooLarge(field string, value int64, r rate, flow string, most int64) error {
	remedy := fmt.Sprintf("write at most %d", most)
	const year = 31_557_600_000_000 // µs of a Julian year
	switch t := r.wide(value).whole; {
	case t == beyond:
		return refuse(field, value, fmt.Sprintf("it needs more than %d years to %s", t/year, flow), remedy)
	case t >= int64(MaxMicros):
		return refuse(field, value, fmt.Sprintf("it needs %d years to %s", t/year, flow), remedy)
	}
	return refuse(field, value, "too large to count exactly at this rate", remedy)
}

// Family is TokenBucketFamily.
func (b *TokenBucket) Family() Family { return TokenBucketFamily }

// Capacity is the burst.
func (b *TokenBucket) Capacity() int64 { return b.burst }

// Overdraft is the most debt, in units, that Force may reach.
func (b *TokenBucket) Overdraft() int64 { return b.overdraft }

// Most is Burst + floor((t-1)·N/P).
func (b *TokenBucket) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	return saturated(b.burst, int64(t)-1, b.rate.n, b.rate.p)
}

// Pins are the times of one unit and of the burst, rounded up to whole
// microseconds.
func (b *TokenBucket) Pins() (one, full Micros) {
	return b.rate.scale(1).ceil(), b.rate.scale(b.burst).ceil()
}

// debt reads what a state owes at now, and under which rate it is written.
func (b *TokenBucket) debt(s State, now Micros) (span, rate) {
	if s[0] < int64(now) || s[2] < 1 || s[3] < 1 {
		return span{}, b.rate
	}
	d := span{s[0] - int64(now), s[1]}
	if s[2] == b.rate.n && s[3] == b.rate.p || d == (span{}) {
		return d, b.rate
	}
	return d, reduced(s[2], s[3])
}

// write makes the state that owes d at now under rate r.
func write(now Micros, d span, r rate) State {
	return State{int64(now) + d.whole, d.rem, r.n, r.p}
}

// convert takes a debt over into the bucket's own rate, in units, rounded up
// by less than 1/P of a unit.
func (b *TokenBucket) convert(d span, from rate) (span, bool) {
	u, f := from.units(d)
	if u == beyond {
		return span{}, false
	}
	return b.rate.from(from, u, f)
}

// Touch converts a state written under a slower rate: what is owed is owed in
// units, and drains at the new rate from now on. A state written under a
// faster rate stays as it is until an admitted take converts it: converting
// it at once could lock a caller out for as long as the old burst takes at the
// new rate.
func (b *TokenBucket) Touch(s State, m Moment) State {
	d, r := b.debt(s, m.Now)
	if r == b.rate || !b.rate.atLeast(r) {
		return s
	}
	c, ok := b.convert(d, r)
	if !ok {
		return s
	}
	return write(m.Now, c, b.rate)
}

// Judge says whether cost units pass. A state written under other numbers is
// judged in its own: what is owed in units, plus cost, must fit the burst.
func (b *TokenBucket) Judge(s State, m Moment, cost int64) Verdict {
	if cost > b.burst {
		return Verdict{Never: true}
	}
	d, r := b.debt(s, m.Now)
	var room span // the debt at which cost just fits
	if r == b.rate {
		room = r.sub(b.full, r.scale(cost))
	} else {
		room = r.weigh(b.burst-cost, r.part(b.rate, b.rest, false))
	}
	if !room.less(d) {
		return Verdict{Allowed: true}
	}
	return Verdict{RetryAfter: r.sub(d, room).ceil()}
}

// Charge adds cost units to the debt.
func (b *TokenBucket) Charge(s State, m Moment, cost int64) (State, Receipt) {
	if cost == 0 {
		return s, Receipt{}
	}
	after := b.rate.add(b.owed(s, m.Now), b.rate.scale(cost))
	return write(m.Now, after, b.rate), spent(m.Now, cost, b.rate)
}

// owed is the debt at now under the bucket's own rate, whatever the state was
// written under, for a take that fits.
func (b *TokenBucket) owed(s State, now Micros) span {
	d, r := b.debt(s, now)
	if r != b.rate {
		d, _ = b.convert(d, r) // in range: Judge has found that the units fit
	}
	return d
}

// Force adds up to cost units to the debt, in the state's own numbers, as far
// as the overdraft reaches.
func (b *TokenBucket) Force(s State, m Moment, cost int64) (State, Receipt) {
	after, charged, _, r := b.force(s, m.Now, cost)
	if charged == 0 {
		return s, Receipt{}
	}
	return after, spent(m.Now, charged, r)
}

// spent is the receipt of a charge under rate r.
func spent(now Micros, cost int64, r rate) Receipt {
	return Receipt{At: now, Cost: cost, Numbers: [2]int64{r.n, r.p}}
}

// force adds up to cost units to the debt, in the state's own numbers, as far
// as the overdraft reaches, and gives what was owed before.
func (b *TokenBucket) force(s State, now Micros, cost int64) (after State, charged int64, d span, r rate) {
	d, r = b.debt(s, now)
	charged = max(0, min(cost, b.overdraft-ceilUnits(r, d)))
	return write(now, r.add(d, r.wide(charged)), r), charged, d, r
}

// ceilUnits is a debt in units, rounded up.
func ceilUnits(r rate, d span) int64 {
	u, f := r.units(d)
	if f > 0 {
		u++
	}
	return u
}

// Refund lowers the debt by min(debt, max(0, min(scale(units), scale(charged) -
// (now - At)))): what has flowed back since the charge is not given twice, so
// that what was used and not given back keeps the bucket's bound. A refund at
// once loses nothing.
func (b *TokenBucket) Refund(s State, m Moment, r Receipt, units int64) State {
	own, ok := receiptRate(s, r.Numbers)
	if !ok || units < 1 {
		return s
	}
	units = min(units, r.Cost) // when the clock has run back, more is left than was charged
	left := own.sub(own.wide(r.Cost), span{whole: int64(m.Now - r.At)})
	return b.lower(s, m.Now, own, shorter(own.wide(units), left))
}

// receiptRate is the rate that a state was written under, where its numbers are
// those of a receipt.
func receiptRate(s State, numbers [2]int64) (rate, bool) {
	n, p := numbers[0], numbers[1]
	if n < 1 || p < 1 || s[2] != n || s[3] != p {
		return rate{}, false
	}
	return reduced(n, p), true
}

// lower takes back from what a state owes, written under rate r: all of it leaves
// nothing.
func (b *TokenBucket) lower(s State, now Micros, r rate, back span) State {
	d, _ := b.debt(s, now)
	back = shorter(d, back)
	if !back.positive() {
		return s
	}
	rest := r.sub(d, back)
	if rest == (span{}) {
		return State{}
	}
	return write(now, rest, r)
}

// Level is floor((Burst·T - debt)/T), and the debt itself rounded up to whole
// microseconds.
func (b *TokenBucket) Level(s State, m Moment) (remaining int64, reset Micros) {
	d, r := b.debt(s, m.Now)
	return b.left(d, r), d.ceil()
}

// left is how many units fit beside a debt under rate r.
func (b *TokenBucket) left(d span, r rate) int64 {
	u, f := r.units(d)
	if f > 0 && (b.rest == 0 || !b.restHolds(f, r.p)) {
		u++ // for a part of a unit a whole one is missing
	}
	return max(0, b.burst-u)
}

// restHolds reports f/p ≤ rest/P.
func (b *TokenBucket) restHolds(f, p int64) bool {
	ah, al := bits.Mul64(uint64(f), uint64(b.rate.p))
	bh, bl := bits.Mul64(uint64(b.rest), uint64(p))
	return ah < bh || ah == bh && al <= bl
}

// Dead reports TAT ≤ now.
func (b *TokenBucket) Dead(s State, now Micros) bool { return b.Drained(s[0], s[1], now) }

// Drained is Dead of the two words of a state that Pack keeps.
func (b *TokenBucket) Drained(whole, rest int64, now Micros) bool {
	return whole < int64(now) || whole == int64(now) && rest == 0
}

// Admit is a take of a state in the bucket's own numbers in one: Judge, Charge where
// it fits, and Level. A store has most of its work with that. Whole and rest are the
// state's two words that Pack keeps, 0 and 0 of a key that was never charged; so are
// the first two results, which are the same words where the take is refused. Cost is
// 1 or more.
func (b *TokenBucket) Admit(whole, rest int64, now Micros, cost int64) (after, part int64, v Verdict, remaining int64, reset Micros) {
	var d span
	if whole >= int64(now) {
		d = span{whole - int64(now), rest}
	}
	if cost > b.burst {
		v.Never = true
	} else {
		c := b.one
		if cost > 1 {
			c = b.rate.scale(cost)
		}
		if room := b.rate.sub(b.full, c); room.less(d) {
			v.RetryAfter = b.rate.sub(d, room).ceil()
		} else {
			v.Allowed = true
			d = b.rate.add(d, c)
			whole, rest = int64(now)+d.whole, d.rem
		}
	}
	return whole, rest, v, b.left(d, b.rate), d.ceil()
}

// Numbers are those of the receipt of what Admit has charged, N and P.
func (b *TokenBucket) Numbers() (n, p int64) { return b.rate.n, b.rate.p }

// Pack keeps the arrival time, of a state that was written under this bucket's rate.
func (b *TokenBucket) Pack(s State) (whole, rest uint64, ok bool) {
	return uint64(s[0]), uint64(s[1]), s[2] == b.rate.n && s[3] == b.rate.p && packable(s[0]|s[1])
}

// Unpack is Packer's.
func (b *TokenBucket) Unpack(whole, rest uint64) State {
	return State{int64(whole), int64(rest), b.rate.n, b.rate.p}
}
