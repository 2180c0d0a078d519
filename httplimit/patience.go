package httplimit

import (
	"context"
	"time"
)

// now reads the clock of this process. Instants of it are compared by its
// monotonic reading: whoever sets the wall clock moves no wait.
func now() time.Time { return time.Now() }

// patience is how long one request may still wait, in all.
type patience struct {
	left     time.Duration
	failFast bool
}

// refuses says why a wait of d is not begun; nil where it is.
func (p *patience) refuses(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return errDeadline
	}
	switch {
	case p.failFast:
		return errFailFast
	case p.left < d:
		return errMaxWait
	}
	return nil
}

// wait waits for d, or until there is news. The error is the context's.
func (p *patience) wait(ctx context.Context, d time.Duration, news <-chan struct{}) error {
	begun := now()
	defer func() { p.left -= time.Since(begun) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-news:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// queue waits for a turn, behind all who have begun to wait for it before. The
// error is the context's, or errMaxWait.
func (p *patience) queue(ctx context.Context, turn chan<- struct{}) error {
	select {
	case turn <- struct{}{}:
		return nil
	default:
	}
	begun := now()
	defer func() { p.left -= time.Since(begun) }()
	timer := time.NewTimer(p.left)
	defer timer.Stop()
	select {
	case turn <- struct{}{}:
	case <-timer.C:
		return errMaxWait
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
