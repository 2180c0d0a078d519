package httplimit

import (
	"runtime/debug"

	"github.com/weirhq/weir"
)

// PanicError is the Err of an outcome where something panicked that decides: a
// rule's Key, Plan or Cost, the store, a Decider. The request was answered as
// the rule's OnError says.
type PanicError struct {
	In    string // whose function it was: "rule create-job", "store", "decider"
	Value any    // what it panicked with; may hold a caller's text
	Stack []byte // where, as debug.Stack prints it

	charged error
}

// newPanicError is called while the panicking functions are still on the stack.
func newPanicError(in string, value any, charged error) error {
	return &PanicError{In: in, Value: value, Stack: debug.Stack(), charged: charged}
}

// Error names where, and never the value.
func (e *PanicError) Error() string { return "httplimit: panic in " + e.In }

// Unwrap gives weir.ErrUnknown for a store or a Decider, which may have charged
// first, and weir.ErrNotApplied for a rule's functions.
func (e *PanicError) Unwrap() error { return e.charged }

// noAddress is what a caller without an address is told.
func noAddress() error {
	return weir.Invalid("address", "", "the peer has none", "connect over IP, or let a trusted proxy name the caller")
}
