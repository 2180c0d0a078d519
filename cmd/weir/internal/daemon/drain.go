package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// drain ends everything in its order: readiness, waiting, callers' listeners, the
// operators' listener. It returns when all goroutines have ended.
func (d *daemon) drain() error {
	d.ready.Draining()
	ctx, cancel := context.WithCancelCause(context.Background())
	var heeding sync.WaitGroup
	heeding.Go(func() { d.heed(ctx, cancel) })
	defer d.refused.Flush(context.WithoutCancel(ctx)) // what the last requests have left out
	defer heeding.Wait()
	defer cancel(nil)

	wait(ctx, d.config.DrainDelay)
	if d.proxy != nil {
		d.proxy.Drain() // who waits for his turn is told to come again, elsewhere
	}
	bounded, stop := context.WithTimeout(ctx, d.config.DrainTimeout)
	defer stop()
	var callers, operators []*endpoint
	for _, e := range d.endpoints {
		if e.name == opsName {
			operators = append(operators, e)
		} else {
			callers = append(callers, e)
		}
	}
	err := errors.Join(shutdown(bounded, callers), shutdown(bounded, operators))
	switch {
	case errors.Is(context.Cause(ctx), ErrCut):
		return ErrCut
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("after %s of draining requests were still in flight: they were cut off", d.config.DrainTimeout)
	}
	return err
}

// heed ends the draining at a second signal. Until then it tends what is still
// answered; the rules stay as they are.
func (d *daemon) heed(ctx context.Context, cancel context.CancelCauseFunc) {
	ticks, stop := d.config.Every(look)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			d.tend(ctx)
		case s := <-d.config.Signals:
			if s != syscall.SIGHUP {
				cancel(ErrCut)
				return
			}
		}
	}
}

// wait waits, or less where the context ends first.
func wait(ctx context.Context, span time.Duration) {
	if span <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	<-ctx.Done()
}

// shutdown closes listeners, all at once, and waits for their requests.
func shutdown(ctx context.Context, list []*endpoint) error {
	errs := make([]error, len(list))
	var all sync.WaitGroup
	for i, e := range list {
		all.Go(func() {
			errs[i] = e.server.Shutdown(ctx)
			<-e.done
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
