package algorithm

import "fmt"

// Penalty refuses everything for a time after a refusal of the limit that it stands
// beside: a strike. Each further strike multiplies that time, up to the longest.
//
// Formula: the state is the instant at which the block ends and the number of
// strikes. Strike n blocks for min(First·Factor^(n-1), Longest) from the refusal on.
// What is refused because of a block is no strike and makes it no longer. Strikes are
// forgotten when, after a block has ended, as much time again has passed as it
// lasted.
//
// A clock that runs back keeps a caller blocked until it has caught up.
//
// Source: plain exponential backoff, kept by the refusing side.
type Penalty struct {
	first, longest Micros
	factor         int64 // 1 for a block that stays the same
	most           int64 // the strike from which on a block is the longest
}

// NewPenalty compiles a penalty. First is the length of the first block, at least 1 µs;
// factor is what each further one multiplies it by, up to longest; a factor of 0, with
// a longest of 0, leaves all of the same length. Lengths are below 2^51 µs, 71 years:
// strikes are remembered for twice as long. Errors are *FieldError.
func NewPenalty(first Micros, factor int64, longest Micros) (*Penalty, error) {
	switch {
	case first < 1:
		return nil, refuse("block", first, "it lasts at least 1 µs", "")
	case first >= MaxMicros/2:
		return nil, refuse("block", first, "it lasts at most 71 years", "")
	case factor == 0 && longest == 0:
		return &Penalty{first: first, longest: first, factor: 1, most: 1}, nil
	case factor < 2:
		return nil, refuse("block factor", factor, "it multiplies by at least 2", "leave it out for a block that stays the same")
	case longest < first:
		return nil, refuse("block max", longest, fmt.Sprintf("shorter than the first block of %d µs", first), "write a longer one")
	case longest >= MaxMicros/2:
		return nil, refuse("block max", longest, "it lasts at most 71 years", "")
	}
	p := &Penalty{first: first, longest: longest, factor: factor}
	for p.most = 1; p.Length(p.most) < longest; p.most++ {
	}
	return p, nil
}

// Length is how long the block of a strike lasts, the first of them being 1.
func (p *Penalty) Length(strike int64) Micros {
	length := p.first
	for ; strike > 1 && length < p.longest; strike-- {
		if length > p.longest/Micros(min(p.factor, int64(p.longest))) {
			return p.longest
		}
		length *= Micros(p.factor)
	}
	return min(length, p.longest)
}

// Family is PenaltyFamily.
func (p *Penalty) Family() Family { return PenaltyFamily }

// Left is how long a block still lasts, 0 where there is none.
func (p *Penalty) Left(s State, now Micros) Micros { return max(0, Micros(s[0])-now) }

// Strike counts a refusal at now, when nothing is blocked.
func (p *Penalty) Strike(s State, now Micros) State {
	strikes := int64(1)
	if !p.Dead(s, now) {
		strikes = min(s[1]+1, p.most)
	}
	return State{int64(now + p.Length(strikes)), strikes}
}

// Pins are how long a state is kept, at most, after the first strike and after any:
// twice the block.
func (p *Penalty) Pins() (one, full Micros) { return 2 * p.first, 2 * p.longest }

// Dead reports that the block has been over for as long as it lasted.
func (p *Penalty) Dead(s State, now Micros) bool {
	return s[1] < 1 || Micros(s[0])+p.Length(s[1]) <= now
}

// Pack keeps the end of the block and the strikes.
func (p *Penalty) Pack(s State) (until, strikes uint64, ok bool) {
	return uint64(s[0]), uint64(s[1]), packable(s[0], s[1])
}

// Unpack is Packer's.
func (p *Penalty) Unpack(until, strikes uint64) State { return State{int64(until), int64(strikes)} }
