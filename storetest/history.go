package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir"
)

// Operation is one call of a store: what was asked, what was answered, and when
// the call began and ended, by the recorder's clock and not by the store's.
type Operation struct {
	Call, Return time.Duration // since the recorder was made

	Takes     []weir.Take     // of a Take
	Returns   []weir.Return   // of a Return
	Reset     []weir.Return   // of a Reset: one entry, with the limit and the key
	Allowed   bool            // the answer to a Take
	Decisions []weir.Decision // the answers to its takes
	Stamp     weir.Stamp      // of the answer; empty for a Reset
	Err       error           // what the store said went wrong
}

// History is what a Recorder has seen, in the order in which calls ended.
type History []Operation

// Recorder is a Store that passes everything on and writes down what was asked
// and answered. It is safe for concurrent use. Make one with Record.
type Recorder struct {
	store weir.Store
	began time.Time

	mu  sync.Mutex
	ops History
}

var _ weir.Store = (*Recorder)(nil)

// Record wraps a store.
func Record(s weir.Store) *Recorder { return &Recorder{store: s, began: time.Now()} }

// History gives what has been recorded so far.
func (r *Recorder) History() History {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append(History(nil), r.ops...)
}

// record runs a call and keeps it.
func (r *Recorder) record(op Operation, call func(*Operation)) {
	op.Call = time.Since(r.began)
	call(&op)
	op.Return = time.Since(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// Take is the store's, recorded.
func (r *Recorder) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (allowed bool, s weir.Stamp, err error) {
	r.record(Operation{Takes: append([]weir.Take(nil), takes...)}, func(op *Operation) {
		allowed, s, err = r.store.Take(ctx, takes, out)
		op.Allowed, op.Stamp, op.Err = allowed, s, err
		op.Decisions = append([]weir.Decision(nil), out...)
	})
	return allowed, s, err
}

// Return is the store's, recorded.
func (r *Recorder) Return(ctx context.Context, returns []weir.Return) (s weir.Stamp, err error) {
	r.record(Operation{Returns: append([]weir.Return(nil), returns...)}, func(op *Operation) {
		s, err = r.store.Return(ctx, returns)
		op.Stamp, op.Err = s, err
	})
	return s, err
}

// Reset is the store's, recorded.
func (r *Recorder) Reset(ctx context.Context, l *weir.Limit, k weir.Key) (err error) {
	r.record(Operation{Reset: []weir.Return{{Limit: l, Key: k}}}, func(op *Operation) {
		err = r.store.Reset(ctx, l, k)
		op.Err = err
	})
	return err
}

// Keyer is the store's.
func (r *Recorder) Keyer() weir.Keyer { return r.store.Keyer() }

// Close closes the store. It is not recorded.
func (r *Recorder) Close() error { return r.store.Close() }

// running is a clock that runs by itself: monotonic, anchored at the wall clock
// when it is made.
func running() func() weir.Micros {
	began := time.Now()
	return func() weir.Micros { return weir.Micros(began.UnixMicro() + time.Since(began).Microseconds()) }
}
