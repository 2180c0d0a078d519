package weir

import (
	"context"

	"github.com/weirhq/weir/algorithm"
)

// Micros is an instant or a span in whole microseconds of the clock of the
// store that decides; an instant counts from 1970. Its method Duration gives a span as a
// [time.Duration], which counts nanoseconds; Ceil rounds one up to whole units.
type Micros = algorithm.Micros

// Receipt says what one charge took, so that it can be given back. It is
// opaque: hand it to Return as it came, once.
type Receipt = algorithm.Receipt

// MaxTakes is the most takes that one call may hold.
const MaxTakes = 16

// Join says how a take joins its call.
type Join uint8

// How takes of one call belong together. Takes that join as All are judged
// first, then Advise, then Alone; within a join, takes on the same state are
// judged with their summed cost.
const (
	All    Join = iota // charged iff every All take of the call fits
	Advise             // never refuses the call; charged iff it fits and the call is allowed
	Alone              // judged and charged by itself, in the order given
)

// How changes what a take does; the zero How charges its cost or nothing.
type How uint8

// The bits of How.
const (
	Peek    How = 1 << iota // judge, and charge nothing; the cost may be 0
	Partial                 // grant what fits, at least 1
	Always                  // charge even when the call is refused, as far as the overdraft reaches
	Force                   // charge whatever is left, as far as the overdraft reaches: a settlement
	Strike                  // with Peek and a cost of 1 or more: a refusal begins the limit's block, as if it had been asked in earnest
)

// SlotID names one holder of a concurrency limit. Who knows it may renew and release
// the slot, so that it is best random. The zero SlotID is nobody.
type SlotID [16]byte

// Edges are four consecutive edges of a calendar's windows, around what the
// caller believes to be now: three windows, so that a clock that differs by
// less than a window still finds its own.
type Edges [4]Micros

// Take asks one limit for units of one key.
type Take struct {
	Limit *Limit // its identity names the state, its numbers only judge
	Key   Key    // from the store's Keyer
	Tag   uint64 // from the key's first part: slot on a cluster, choice of overflow cell
	Cost  int64  // 1 or more, of a concurrency limit 1; 0 only to peek. Above the capacity: refused, Never
	Join  Join
	How   How
	Slot  SlotID // concurrency only, needed but to peek: who holds it asks again for nothing, and begins his lease anew
	Edges *Edges // calendar windows only; nil makes the store say ErrStale
}

// Decision is a store's answer to one take. Times are spans from Stamp.Now.
type Decision struct {
	Allowed bool  // this take by itself: it would pass, or was forced
	Never   bool  // refused, and waiting does not help: the cost is above the capacity
	Blocked bool  // refused, and the limit's block is why or has begun by it: RetryAfter is its end, or later
	Granted int64 // units charged, or that a peek would get; 0 when the call was refused. What a Force take lacks was forgiven

	Remaining  int64  // units left after this call, never negative
	RetryAfter Micros // refused: exactly when this cost passes without other traffic; 0 otherwise. What the same call forces (Always, Force) is not yet in it
	ResetAfter Micros // until nothing is charged any more, without other traffic
	Delay      Micros // leaky bucket only, allowed: hold the request this long, or give it back

	Receipt Receipt // what was charged; Receipt.Cost is 0 when nothing was
	Mode    Mode    // by which kind of decision
}

// Mode says how a decision was made. Everything but Exact and Leased is a
// deviation that headers, metrics and logs name.
type Mode uint8

// The modes. Open, Closed and Local are also what a rule may choose for a store
// that fails.
const (
	Exact    Mode = iota // by the store, on the key's own state
	Leased               // from units leased beforehand
	Cached               // a refusal that is known to hold still
	Local                // by this process, while the shared store is out
	Overflow             // on a cell shared with other keys, for want of room
	Open                 // let pass because the store failed
	Closed               // refused because the store failed
)

// String is the word that metrics and JSON use: exact, leased, …
func (m Mode) String() string {
	names := [...]string{"exact", "leased", "cached", "local", "overflow", "open", "closed"}
	if int(m) >= len(names) {
		return "unknown"
	}
	return names[m]
}

// Stamp says by which clock and at which instant a call was decided.
type Stamp struct {
	Now   Micros // the store's time of the decision
	Epoch uint64 // changes when the store has lost its state
}

// Return gives back what a take was given: units of a charge, or a slot.
type Return struct {
	Limit   *Limit  // as in the take that charged
	Key     Key     // likewise
	Tag     uint64  // likewise
	Receipt Receipt // of the charge that is refunded, presented once in full or in part; zero for a slot
	Units   int64   // 1..Receipt.Cost; 0 for a slot
	Slot    SlotID  // concurrency only: the holder
	Renew   bool    // concurrency only: keep the slot for another lease instead of releasing it
}

// Store keeps states and decides on its own clock. It knows no rule and sees no
// caller's text. All methods are safe for concurrent use.
type Store interface {
	// Take judges and charges len(takes) ≤ MaxTakes takes in one step, all on
	// one reading of the clock, and writes one Decision each to out, which has
	// the same length. Neither slice is kept. allowed is true iff every All
	// take fits; a call without any is allowed.
	//
	// A refused call charges nothing but takes marked Always, and Alone takes
	// that fit by themselves. Takes on the same state are judged with their
	// summed cost.
	//
	// Errors: ErrInvalid for takes that can never be right (out is not
	// written), ErrNotApplied, ErrUnknown, ErrStale, ErrUnsupported, or
	// *StateError. The Stamp is set wherever a clock was read.
	Take(ctx context.Context, takes []Take, out []Decision) (allowed bool, s Stamp, err error)

	// Return gives units or slots back. What has flowed back by itself is not
	// given twice, and a receipt of other numbers or of a window that is over
	// gives nothing; neither is an error. The store trusts its caller to
	// present each receipt once.
	//
	// A slot that nobody holds, or whose lease has ended, is released without an
	// error. Renewed, it is ErrLost: everything else in the call is carried out.
	//
	// Errors: ErrInvalid, ErrLost, and ErrNotApplied when nothing was given back.
	// Any other may have given back some of it, and is not tried again.
	Return(ctx context.Context, returns []Return) (Stamp, error)

	// Reset forgets the state of one limit and key, also one that cannot be
	// read. A state that is shared with other keys for want of room cannot be
	// separated: ErrNotApplied.
	Reset(ctx context.Context, l *Limit, k Key) error

	// Keyer makes the keys of this store. It never changes.
	Keyer() Keyer

	// Close releases what the store holds; afterwards its methods return
	// ErrClosed. Closing twice is no error.
	Close() error
}
