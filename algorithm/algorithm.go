package algorithm

import (
	"math"
	"time"
)

// Micros is an instant or a span in whole microseconds of the clock of the
// store that decides. [Micros.Duration] gives a span as the standard library counts
// it, [Micros.Ceil] in whole units, rounded up.
type Micros int64

// Duration is a span as the standard library counts it. What is beyond 292 years
// is cut to that.
func (m Micros) Duration() time.Duration {
	const most = Micros(math.MaxInt64 / int64(time.Microsecond))
	return time.Duration(min(max(m, -most), most)) * time.Microsecond
}

// Ceil is a span in whole units, rounded up: who waits so many does not come too
// early. A span that is over is 0. A unit is at least a microsecond, in whole
// ones.
func (m Micros) Ceil(unit time.Duration) int64 {
	if m <= 0 {
		return 0
	}
	return int64((m-1)/Micros(unit/time.Microsecond)) + 1
}

// MaxMicros bounds instants, periods and the time that the largest debt of a
// limit may need to clear: 2^52 µs, which is 142 years, or as an instant the
// year 2112. Twice this is still exact in a double.
const MaxMicros Micros = 1 << 52

// exactDouble is the first integer that a double cannot tell from its
// successor. Products and sums of the everyday path stay below it.
const exactDouble = 1 << 53

// Family names what the words of a state mean. A state of one family says
// nothing to another: a limit whose family changes begins anew. The letters
// are part of the record format and never change their meaning.
type Family byte

// The families. The states of those with a list have no text form yet.
const (
	TokenBucketFamily   Family = 'b' // TokenBucket
	FixedWindowFamily   Family = 'w' // FixedWindow
	SlidingWindowFamily Family = 's' // SlidingWindow
	SlidingLogFamily    Family = 'l' // SlidingLog
	LeakyBucketFamily   Family = 'q' // LeakyBucket
	ConcurrencyFamily   Family = 'c' // Concurrency
	PenaltyFamily       Family = 'p' // Penalty, beside a limit's own state
)

// State is what a store keeps for one key under one limit: four words whose
// meaning is the algorithm's. The zero State means that nothing is known, which
// every algorithm reads as a key that has never been charged.
//
//	token bucket   whole µs of the arrival time, rest in 1/N µs, N, P
//	leaky bucket   the same, of the instant at which the queue is empty
//	fixed window   start, end, count, 0
//	sliding window start, end, count, count of the window before
//	sliding log    instant of the newest charge, units that count; and a List
//	concurrency    the latest end of a lease, live holders; and a List
//	penalty        end of the block, and when it is forgotten
type State [4]int64

// Moment is when a step happens: the instant and, for algorithms that count in
// windows, the window that the limit's own grid has at that instant. Buckets
// read Now alone.
type Moment struct {
	Now        Micros // 1 ≤ Now < MaxMicros
	Start, End Micros // Start ≤ Now < End; both 0 where the limit has no windows
	List       List   // what the state of a Lister sums up; nil for an empty list, and for all others
}

// Verdict is what Judge found. A refused verdict with Never false passes after
// RetryAfter without other traffic, and not one microsecond earlier.
type Verdict struct {
	Allowed    bool   // the cost passes now
	Never      bool   // the cost is above the capacity: waiting does not help
	RetryAfter Micros // 0 when allowed or never
	Delay      Micros // leaky bucket only: allowed, and the units go on after so long
}

// Receipt says what a charge took and under which numbers, so that it can be
// given back. It is a plain value: a store keeps nothing about it, and whoever
// holds it must hand it back once at most.
type Receipt struct {
	At      Micros   // the store's time of the charge; a window's start; the whole µs of a place in a queue; a lease's end
	Cost    int64    // the units charged, 0 when nothing was
	Numbers [2]int64 // a bucket's N and P; a window's start and end
	Rest    int64    // of At, in 1/N µs: of a place in a queue alone
}

// Algorithm is a limit's numbers, ready to judge states. Implementations are
// immutable. Costs handed in are ≥ 0; a cost above Capacity is never allowed
// and never multiplied.
type Algorithm interface {
	// Family names the meaning of the states.
	Family() Family

	// Capacity is the largest cost that can pass at all.
	Capacity() int64

	// Overdraft is the most that Force may leave charged, at least Capacity.
	Overdraft() int64

	// Most is the largest number of units that can pass in any t consecutive
	// microseconds, whatever is asked for: the bound that stands at the type, cut
	// to MaxInt64. It is 0 where t is less than 1. What is forced, given back, or
	// judged under other numbers before is not in it.
	Most(t Micros) int64

	// Pins says how long a state that was fresh is not Dead, at most, after one
	// unit was charged, and after as many as the Capacity: how long a key holds its
	// room in a store.
	Pins() (one, full Micros)

	// Touch adopts a state written under other numbers, where the rules of a
	// changed limit say that the first touch does. The result is to be kept
	// even when the take is refused. On a state of the same numbers it is the
	// identity.
	Touch(s State, m Moment) State

	// Judge says whether cost units would pass. It changes nothing.
	Judge(s State, m Moment, cost int64) Verdict

	// Charge takes cost units after Judge has allowed them at the same moment.
	// A cost of 0 leaves the state as it is.
	Charge(s State, m Moment, cost int64) (State, Receipt)

	// Force charges up to cost units whether they pass or not, as far as the
	// Overdraft reaches: a settlement of what has already been used. The
	// receipt says how much was charged; the rest is forgiven.
	Force(s State, m Moment, cost int64) (State, Receipt)

	// Refund gives back up to units of what r charged, as far as they have not
	// flowed back by themselves. Units above the receipt's cost, and receipts
	// of other numbers or of another window, give nothing.
	Refund(s State, m Moment, r Receipt, units int64) State

	// Level says how many units would pass now (never negative) and how long
	// it takes, without traffic, until nothing is charged any more.
	Level(s State, m Moment) (remaining int64, reset Micros)

	// Dead reports whether the state says no more than its absence would, now
	// and at every later instant.
	Dead(s State, now Micros) bool
}

// Packer is an Algorithm whose states mostly fit two words, beside the knowledge of
// which limit's they are. A store that keeps many may hold them so.
type Packer interface {
	// Pack gives two words below 2^[PackedBits] of which Unpack makes the state
	// again. ok is false for a state that does not fit, or that was written under
	// other numbers. The words of a state that is not zero are not both 0.
	Pack(s State) (a, b uint64, ok bool)

	// Unpack makes the state again.
	Unpack(a, b uint64) State
}

// PackedBits is how many bits of each word of a packed state are used: an instant of
// an accepted limit is below 2^53.
const PackedBits = 54

// packable reports whether two words, given with all bits of both, may be those of a
// packed state.
func packable(bits int64) bool { return uint64(bits)>>PackedBits == 0 && bits != 0 }

// Step is the whole take of one limit: touch, judge and, when allowed, charge.
// The state returned is to be kept in either case.
func Step(a Algorithm, s State, m Moment, cost int64) (State, Verdict, Receipt) {
	s = a.Touch(s, m)
	v := a.Judge(s, m, cost)
	if !v.Allowed {
		return s, v, Receipt{}
	}
	s, r := a.Charge(s, m, cost)
	return s, v, r
}
