package algorithm

import (
	"fmt"
	"math"
)

// Penalty refuses everything for a time after a refusal of the limit that it stands
// beside: a strike. Each further strike multiplies that time, up to the longest.
//
// Formula: the state is the instant at which the block ends, and that at which it is
// forgotten: as long after its end as it lasted. The first block lasts First; one that
// is struck while another is not forgotten lasts that one's length times Factor, at
// most Longest. What is refused because of a block is no strike and makes it no
// longer.
//
// Changed numbers: a block that has begun lasts as long as it was to last; the next
// one's length is that of the last times the new Factor, between the new First and
// Longest.
//
// A clock that runs back keeps a caller blocked until it has caught up.
//
// Source: plain exponential backoff, kept by the refusing side.
type Penalty struct {
	first, longest Micros
	factor         int64 // 1 for a block that stays the same
}

// NewPenalty compiles a penalty. First is the length of the first block, at least 1 µs;
// factor is what each further one multiplies it by, up to longest; a factor of 0, with
// a longest of 0, leaves all of the same length. Lengths are below 2^51 µs, 71 years:
// strikes are remembered for twice as long. Errors are *FieldError.
func NewPenalty(first Micros, factor int64, longest Micros) (*Penalty, error) {
	switch {
	case first < 1:
		return nil, refuse("block", first, "it lasts at least 1 µs", "write 1 or more")
	case first >= MaxMicros/2:
		return nil, refuse("block", first, "it lasts at most 71 years", "write a shorter one")
	case factor == 0 && longest == 0:
		return &Penalty{first: first, longest: first, factor: 1}, nil
	case factor == 0:
		return nil, refuse("block max", longest, "a block that stays the same has none", "leave it out")
	case factor < 2:
		return nil, refuse("block factor", factor, "it multiplies by at least 2", "leave it and the longest out for a block that stays the same")
	case longest < first:
		return nil, refuse("block max", longest, fmt.Sprintf("shorter than the first block of %d µs", first), fmt.Sprintf("write at least %d", first))
	case longest >= MaxMicros/2:
		return nil, refuse("block max", longest, "it lasts at most 71 years", "write a shorter one")
	}
	return &Penalty{first: first, longest: longest, factor: factor}, nil
}

// Family is PenaltyFamily.
func (p *Penalty) Family() Family { return PenaltyFamily }

// Left is how long a block still lasts, 0 where there is none.
func (p *Penalty) Left(s State, now Micros) Micros { return max(0, Micros(s[0])-now) }

// Strike counts a refusal at now, when nothing is blocked.
func (p *Penalty) Strike(s State, now Micros) State {
	length := p.first
	if !p.Dead(s, now) {
		length = p.next(Micros(s[1] - s[0]))
	}
	return State{int64(now + length), int64(now + 2*length)}
}

// next is the length of the block after one that lasted so long.
func (p *Penalty) next(last Micros) Micros {
	if last > p.longest/Micros(p.factor) {
		return p.longest
	}
	return max(p.first, last*Micros(p.factor))
}

// Capacity is 1: there is nothing to take but strikes.
func (p *Penalty) Capacity() int64 { return 1 }

// Overdraft is 1.
func (p *Penalty) Overdraft() int64 { return 1 }

// Most is MaxInt64: a penalty by itself bounds no rate.
func (p *Penalty) Most(t Micros) int64 {
	if t < 1 {
		return 0
	}
	return math.MaxInt64
}

// Touch is the identity: a block that has begun lasts as long as it was to last.
func (p *Penalty) Touch(s State, _ Moment) State { return s }

// Judge refuses everything while a block lasts.
func (p *Penalty) Judge(s State, m Moment, _ int64) Verdict {
	left := p.Left(s, m.Now)
	return Verdict{Allowed: left == 0, RetryAfter: left}
}

// Charge leaves the state as it is: what passes is no strike.
func (p *Penalty) Charge(s State, _ Moment, _ int64) (State, Receipt) { return s, Receipt{} }

// Force is a strike, where nothing is blocked. It cannot be given back.
func (p *Penalty) Force(s State, m Moment, cost int64) (State, Receipt) {
	if cost < 1 || p.Left(s, m.Now) > 0 {
		return s, Receipt{}
	}
	return p.Strike(s, m.Now), Receipt{}
}

// Refund gives nothing.
func (p *Penalty) Refund(s State, _ Moment, _ Receipt, _ int64) State { return s }

// Level is 0 while a block lasts, else 1, and how long it still lasts.
func (p *Penalty) Level(s State, m Moment) (remaining int64, reset Micros) {
	if left := p.Left(s, m.Now); left > 0 {
		return 0, left
	}
	return 1, 0
}

// Pins are how long a state is kept, at most, after the first strike and after any:
// twice the block.
func (p *Penalty) Pins() (one, full Micros) { return 2 * p.first, 2 * p.longest }

// Dead reports that the last block is forgotten.
func (p *Penalty) Dead(s State, now Micros) bool { return Micros(s[1]) <= now }

// Pack keeps both instants.
func (p *Penalty) Pack(s State) (until, forgotten uint64, ok bool) {
	return uint64(s[0]), uint64(s[1]), packable(s[0] | s[1])
}

// Unpack is Packer's.
func (p *Penalty) Unpack(until, forgotten uint64) State { return State{int64(until), int64(forgotten)} }
