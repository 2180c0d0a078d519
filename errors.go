package weir

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// FieldError refuses one field of a limit, a take or a configuration: which,
// what it held, why that cannot be, and what to write instead: its fields are Field,
// Value, Problem and Remedy, texts, and Offset, the byte of the limit's text at which the
// value begins, -1 where there is none. It matches [ErrInvalid].
type FieldError = algorithm.FieldError

// The errors to test for with [errors.Is].
var (
	// ErrInvalid matches every refusal of a value that can never be right.
	ErrInvalid = algorithm.ErrInvalid

	// ErrUnsupported means that the limit or the verb exists, but not in this store.
	ErrUnsupported = errors.New("weir: not supported")

	// ErrNotApplied means that nothing was charged. Trying again is safe.
	ErrNotApplied = errors.New("weir: not applied")

	// ErrUnknown means that the store may have charged, at most once, and
	// could not say so. It is never refunded and not tried again by itself.
	ErrUnknown = errors.New("weir: outcome unknown")

	// ErrStale means that the Edges of a calendar window do not contain the
	// store's time. Nothing was charged; Stamp.Now says which time that was.
	// Decide asks once more with fresh edges, so that callers of a Limiter see
	// it only where the store's clock leapt over a window between the two.
	ErrStale = fmt.Errorf("%w: the calendar's edges do not contain the store's time", ErrNotApplied)

	// ErrLost means that a slot of a concurrency limit is not held any more: its
	// lease has ended, or it was released. Somebody else may have it.
	ErrLost = errors.New("weir: the slot is lost")

	// ErrClosed means that the store has been closed.
	ErrClosed = fmt.Errorf("%w: the store is closed", ErrNotApplied)
)

// StateError says that the state of one key cannot be read. Nothing was
// charged; Reset of that limit and key heals it.
type StateError struct {
	Limit string // the limit's name
	Take  int    // the index of the take that met it
	Err   error  // what is wrong with the state
}

// Error names the limit and the cure, never the key.
func (e *StateError) Error() string {
	return fmt.Sprintf("weir: state of limit %s: %v; Reset heals it", e.Limit, e.Err)
}

// Unwrap gives the cause and [ErrNotApplied].
func (e *StateError) Unwrap() []error { return []error{e.Err, ErrNotApplied} }

// Invalid makes a FieldError for a value that stands in no text (Offset -1).
// Durations are shown as a limit's text has them. The remedy may be empty.
func Invalid(field string, value any, problem, remedy string) *FieldError {
	if d, ok := value.(time.Duration); ok {
		value = duration.Format(d)
	}
	return &FieldError{Field: field, Value: fmt.Sprint(value), Problem: problem, Remedy: remedy, Offset: -1}
}
