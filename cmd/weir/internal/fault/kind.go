package fault

import (
	"errors"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// Kind is what kind of failure an error is.
type Kind uint8

// The kinds. Where an error is of several, the first of them here is meant.
const (
	None        Kind = iota // no failure: nil
	Stale                   // a calendar's edges were stale: the question is asked again
	Panic                   // a rule's code or the store panicked: a defect
	Invalid                 // the call can never be right
	Unsupported             // not in this version, or not by this store
	State                   // one key's state cannot be read
	Closed                  // the store has been closed
	NotApplied              // nothing was charged
	Unknown                 // it may have been charged, once
	Lost                    // a slot that was renewed is not held any more
	Other                   // nothing of these
)

// Kinds is how many there are.
const Kinds = int(Other) + 1

// String is the word that metrics and logs use: none, stale, …
func (k Kind) String() string {
	names := [Kinds]string{"none", "stale", "panic", "invalid", "unsupported", "state", "closed", "not_applied", "unknown", "lost", "other"}
	if int(k) >= len(names) {
		return "other"
	}
	return names[k]
}

// Of is the kind of err.
func Of(err error) Kind {
	var state *weir.StateError
	var panicked *policy.PanicError
	switch {
	case err == nil:
		return None
	case errors.Is(err, weir.ErrStale):
		return Stale
	case errors.As(err, &panicked):
		return Panic
	case errors.Is(err, weir.ErrInvalid):
		return Invalid
	case errors.Is(err, weir.ErrUnsupported):
		return Unsupported
	case errors.As(err, &state):
		return State
	case errors.Is(err, weir.ErrClosed):
		return Closed
	case errors.Is(err, weir.ErrNotApplied):
		return NotApplied
	case errors.Is(err, weir.ErrUnknown):
		return Unknown
	case errors.Is(err, weir.ErrLost):
		return Lost
	}
	return Other
}
