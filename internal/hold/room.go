package hold

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Why a request was not kept waiting, beside the end of its context.
var (
	// ErrFull: there is no place for another.
	ErrFull = errors.New("weir: as many requests are kept waiting as may be")

	// ErrEnded: nobody is kept waiting any more.
	ErrEnded = errors.New("weir: no request is kept waiting any more")
)

// A Room is where requests wait. Make one with [New]; it is safe for concurrent use.
type Room struct {
	most    int64
	waiting atomic.Int64
	ended   chan struct{}
	end     sync.Once
}

// New makes a room for so many requests, 1 or more.
func New(most int) *Room {
	return &Room{most: int64(most), ended: make(chan struct{})}
}

// Wait returns nil when a delay is over, at once where there is none. Otherwise the
// request is not to go on: its context has ended, and the error is the cause of
// that, or it is ErrFull or ErrEnded.
func (r *Room) Wait(ctx context.Context, delay time.Duration) error {
	if delay <= 0 {
		return nil
	}
	defer r.waiting.Add(-1)
	if r.waiting.Add(1) > r.most {
		return ErrFull
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-r.ended:
		return ErrEnded
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Waiting is how many wait now.
func (r *Room) Waiting() int { return int(min(r.waiting.Load(), r.most)) }

// Most is how many may wait at once.
func (r *Room) Most() int { return int(r.most) }

// End sends everybody away who waits, and who comes later. A second call does
// nothing.
func (r *Room) End() { r.end.Do(func() { close(r.ended) }) }
