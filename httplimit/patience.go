package httplimit

import (
	"context"
	"io"
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

// readTime is how long at most the body of a refusal is read: most have come with
// their header.
const readTime = time.Second

// read reads a body, no more than most bytes of it, and closes it. The error is errCut
// where it has more, or comes too slowly, or that of the body.
func (p *patience) read(body io.ReadCloser, most int64) (text []byte, err error) {
	begun := now()
	defer func() { p.left -= time.Since(begun) }()
	late := time.AfterFunc(min(p.left, readTime), func() { _ = body.Close() }) // which ends a Read
	text, err = io.ReadAll(io.LimitReader(body, most+1))
	if !late.Stop() {
		return text, errCut
	}
	_ = body.Close() // what it says is known
	if int64(len(text)) > most {
		return text[:most], errCut
	}
	return text, err
}
