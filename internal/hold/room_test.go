package hold_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/internal/hold"
)

func TestWaitIsAsLongAsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, began := hold.New(2), time.Now()
		for _, delay := range []time.Duration{-1, 0, time.Microsecond, time.Second, time.Hour} {
			before := time.Now()
			if err := r.Wait(t.Context(), delay); err != nil || time.Since(before) != max(0, delay) {
				t.Errorf("a delay of %s: %v after %s", delay, err, time.Since(before))
			}
		}
		if r.Waiting() != 0 || r.Most() != 2 || time.Since(began) != time.Hour+time.Second+time.Microsecond {
			t.Errorf("%d of %d wait after %s", r.Waiting(), r.Most(), time.Since(began))
		}
	})
}

// waits begins to wait, and gives where to hear how that ended.
func waits(ctx context.Context, r *hold.Room, delay time.Duration) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- r.Wait(ctx, delay) }()
	synctest.Wait()
	return ended
}

func TestARoomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hold.New(2)
		first, second := waits(t.Context(), r, time.Second), waits(t.Context(), r, time.Minute)
		if err := r.Wait(t.Context(), time.Second); !errors.Is(err, hold.ErrFull) || r.Waiting() != 2 {
			t.Errorf("a third of two: %v, %d wait", err, r.Waiting())
		}
		if err := r.Wait(t.Context(), 0); err != nil {
			t.Errorf("one that does not wait: %v", err)
		}
		if err := <-first; err != nil || r.Waiting() != 1 {
			t.Errorf("%v, %d wait", err, r.Waiting())
		}
		third := waits(t.Context(), r, time.Second)
		if err := errors.Join(<-third, <-second); err != nil || r.Waiting() != 0 {
			t.Errorf("%v, %d wait", err, r.Waiting())
		}
	})
}

// Who leaves frees his place at once, and does not go on.
func TestWhoLeavesFreesHisPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, gone := hold.New(1), errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		first := waits(ctx, r, time.Hour)
		leave(gone)
		if err := <-first; !errors.Is(err, gone) || r.Waiting() != 0 {
			t.Errorf("%v, %d wait", err, r.Waiting())
		}
		if err := r.Wait(ctx, time.Second); !errors.Is(err, gone) {
			t.Errorf("one who has left before: %v", err)
		}
	})
}

func TestEndSendsEverybodyAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hold.New(5)
		first, second := waits(t.Context(), r, time.Hour), waits(t.Context(), r, time.Minute)
		r.End()
		r.End()
		for _, err := range []error{<-first, <-second, r.Wait(t.Context(), time.Hour)} {
			if !errors.Is(err, hold.ErrEnded) {
				t.Errorf("got %v, want ErrEnded", err)
			}
		}
		if err := r.Wait(t.Context(), 0); err != nil || r.Waiting() != 0 {
			t.Errorf("one that does not wait: %v; %d wait", err, r.Waiting())
		}
	})
}
