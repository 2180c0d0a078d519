package weir_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// bubbled runs a test in a bubble of time, with a limiter whose store has the bubble's
// clock.
func bubbled(t *testing.T, test func(t *testing.T, b *bench), texts ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{MaxKeys: 10_000, Now: func() weir.Micros { return weir.Micros(time.Now().UnixMicro()) }})
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{t: t, store: &counted{Store: store}}
		if b.Limiter, err = weir.New(b.store, built(t, texts...)...); err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

// waits checks how long a Wait takes, and how it ends.
func (b *bench) waits(ctx context.Context, cost int64, want time.Duration, is error) *weir.Outcome {
	b.t.Helper()
	o, began := new(weir.Outcome), time.Now()
	err := b.Wait(ctx, o, cost, user())
	if took := time.Since(began); took != want || !errors.Is(err, is) || (err == nil) != o.Allowed {
		b.t.Errorf("cost %d: %v after %s, allowed %t; want %v after %s", cost, err, took, o.Allowed, is, want)
	}
	return o
}

func TestWaitSleepsUntilThereIsRoom(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 2, 0, nil)
		b.waits(t.Context(), 1, 200*time.Millisecond, nil)
		b.waits(t.Context(), 2, 400*time.Millisecond, nil)
		time.Sleep(time.Hour)
		b.waits(t.Context(), 1, 0, nil)
		if b.store.returns != 0 || b.store.takes != 6 {
			t.Errorf("%d takes, %d returns", b.store.takes, b.store.returns)
		}
	}, "5/s burst 2", "100/h")
}

func TestWaitForTheSlowestLimit(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 2, 0, nil)
		if took := -time.Since(time.Now().Truncate(time.Minute).Add(time.Minute)); took > 0 {
			b.waits(t.Context(), 1, took, nil)
		}
	}, "5/s burst 2", "2/min fixed-window")
}

// A leaky bucket's delay is slept once, in the order in which it was asked.
func TestWaitForALeakyBucketIsAQueue(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		var wg sync.WaitGroup
		began := time.Now()
		for place := range 4 {
			wg.Go(func() {
				if err := b.Wait(t.Context(), new(weir.Outcome), 1, user()); err != nil || time.Since(began).Milliseconds() != int64(100*place) {
					t.Errorf("place %d: %v after %s", place, err, time.Since(began))
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	}, "10/s leaky-bucket queue 9")
}

func TestWaitDoesNotWaitInVain(t *testing.T) {
	f := func(cost int64, within time.Duration, want string, limit bool, needs time.Duration, texts ...string) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			b.take(1)
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			o, began := new(weir.Outcome), time.Now()
			err := b.Wait(ctx, o, cost, user())
			e, ok := errors.AsType[*weir.WaitError](err)
			switch {
			case !ok || err.Error() != want || time.Since(began) != 0:
				t.Errorf("%v after %s; want %s", err, time.Since(began), want)
			case (e.Limit != nil) != limit || e.Wait != needs || errors.Is(err, context.DeadlineExceeded) != (needs > 0):
				t.Errorf("%+v", e)
			}
			if o.Allowed {
				t.Errorf("%+v", o)
			}
			for _, left := range b.left() {
				if b.store.takes > 2 && left < 0 {
					t.Error("something is charged")
				}
			}
		}, texts...)
	}
	f(5, time.Hour, "weir: cost 5: limit ra (2/s) never has room for more than 2", true, 0, "2/s")
	f(1, time.Hour, "weir: a limit of deny lets nothing pass", false, 0, "deny")
	f(2, 300*time.Millisecond, "weir: limit ra (2/s) has room in 500ms, which is behind the deadline: context deadline exceeded", true, 500*time.Millisecond, "2/s")
	f(2, 500*time.Millisecond, "weir: limit ra (2/s) has room in 500ms, which is behind the deadline: context deadline exceeded", true, 500*time.Millisecond, "2/s")
	f(1, 50*time.Millisecond, "weir: limit ra (10/s leaky-bucket queue 9) has room in 100ms, which is behind the deadline: context deadline exceeded", true, 100*time.Millisecond, "10/s leaky-bucket queue 9")
	f(1, 50*time.Millisecond, "weir: limit rb (10/s leaky-bucket queue 9) has room in 100ms, which is behind the deadline: context deadline exceeded", true, 100*time.Millisecond, "2/min", "10/s leaky-bucket queue 9")
}

// Who is not served leaves nothing charged, and no place taken.
func TestWaitGivesBackWhatIsNotUsed(t *testing.T) {
	gone := errors.New("gone")
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 1, 0, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(gone) })
		o := b.waits(ctx, 1, 30*time.Millisecond, gone)
		if o.Allowed || o.RetryAfter != 100_000 || b.store.returns != 1 {
			t.Errorf("%d returns, %+v", b.store.returns, o)
		}
		b.waits(t.Context(), 1, 70*time.Millisecond, nil)

		short, cancelShort := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancelShort()
		b.waits(short, 1, 0, context.DeadlineExceeded)
		b.waits(t.Context(), 1, 100*time.Millisecond, nil)
		o = b.waits(ctx, 1, 0, gone) // it has ended before
		if o.Allowed || len(o.Takes) != 0 {
			t.Errorf("%+v", o)
		}
	}, "10/s leaky-bucket queue 9", "100/h")
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 5, 0, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		b.waits(ctx, 1, time.Second, gone)
		if left := b.left()[0]; left != 0 || b.store.returns != 0 {
			t.Errorf("%d left, %d returns", left, b.store.returns)
		}
	}, "5/min")
}

func TestWaitTellsErrors(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 0, 0, weir.ErrInvalid)
		var nothing context.Context
		b.waits(nothing, 1, 0, weir.ErrInvalid)
		if err := b.Wait(t.Context(), nil, 1, user()); !errors.Is(err, weir.ErrInvalid) {
			t.Error(err)
		}
		if err := b.store.Close(); err != nil {
			t.Fatal(err)
		}
		b.waits(t.Context(), 1, 0, weir.ErrClosed)
	}, "5/s")
}

// A store whose clock stands still, or that lies, is not asked without pause.
func TestWaitIsNoBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &told{answers: []answer{{decisions: []weir.Decision{{RetryAfter: 1}}}}}
		l := tell(t, s, "5/s")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Wait(ctx, new(weir.Outcome), 1); !errors.Is(err, context.DeadlineExceeded) || s.takes > 1020 {
			t.Errorf("%v after %d questions", err, s.takes)
		}
	})
}

// Short waits stay short: the pause between two questions begins small.
func TestWaitBeginsWithShortPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := answer{decisions: []weir.Decision{{RetryAfter: 1}}}
		s := &told{answers: []answer{refused, refused, refused, refused, {allowed: true, decisions: []weir.Decision{{Allowed: true}}}}}
		began := time.Now()
		if err := tell(t, s, "5/s").Wait(t.Context(), new(weir.Outcome), 1); err != nil || time.Since(began) != 15*time.Microsecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// What is given back is given back by a store across a network, too, that does
// nothing for a context that has ended; and an outcome tells nothing of an earlier call.
func TestWaitWithAContextThatHasEnded(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		l, err := weir.New(&leaving{Store: b.store.Store}, built(t, "10/s leaky-bucket queue 9")...)
		if err != nil {
			t.Fatal(err)
		}
		o := new(weir.Outcome)
		if err := l.Wait(t.Context(), o, 3, user()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := l.Wait(ctx, new(weir.Outcome), 1, user()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if left := b.left()[0]; left != 7 {
			t.Errorf("%d places are left, want 7", left)
		}
		if err := l.Wait(ctx, o, 1, user()); !errors.Is(err, context.Canceled) || o.Allowed || len(o.Takes) != 0 {
			t.Errorf("%v, %+v", err, o)
		}
	}, "10/s leaky-bucket queue 9")
}

// Of many who wait each is let in once, none too early, and none is forgotten.
func TestManyWait(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		store := b.store.Store // which may be asked by many at once
		l, err := weir.New(store, built(t, "100/s burst 5", "3000/min fixed-window")...)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		began := time.Now()
		for range 105 {
			wg.Go(func() {
				if err := l.Wait(t.Context(), new(weir.Outcome), 1, user()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took < time.Second || took > time.Second+10*time.Millisecond {
			t.Errorf("105 took %s, at 100/s burst 5", took)
		}
	})
}

// An overdue is a context whose deadline is over, and which has not noticed yet.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

// For a slot nobody knows how long to wait: a deadline that is just over does not make
// it never, and the context says why it has ended.
func TestWaitForASlotUntilTheDeadline(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.take(1)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Millisecond, func() { cancel(errGone) })
		b.waits(overdue{ctx}, 1, 5*time.Millisecond, errGone)
	}, "1 concurrent")
}

// Of a slot and a rate that are both taken it is the rate that is waited for, and named.
func TestWaitNamesTheRate(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.take(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e, ok := errors.AsType[*weir.WaitError](b.Wait(ctx, new(weir.Outcome), 1, user()))
		if !ok || e.Limit.Name() != "rb" || e.Wait != 2*time.Second {
			t.Errorf("%+v", e)
		}
	}, "1 concurrent", "1 per 2s")
}

// A slot that was kept in a queue lasts for a lease from when its turn has come,
// whenever it was renewed before.
func TestASlotLastsForALeaseAfterItsTurn(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 1, 0, nil)
		b.waits(t.Context(), 1, 7*time.Second, nil)
		pass(12*time.Second - time.Microsecond)
		if left := b.left()[0]; left != 1 {
			t.Errorf("%d left before the lease is over", left)
		}
		pass(time.Microsecond)
		if left := b.left()[0]; left != 2 {
			t.Errorf("%d left after the lease", left)
		}
	}, "2 concurrent lease 12s", "1 per 7s leaky-bucket queue 9")
}

// Whoever loses his slot while he waits for his turn does not go on, and stands in
// nobody's way: he is told when it is noticed, or when his turn has come.
func TestASlotIsLostInAQueue(t *testing.T) {
	f := func(after, noticed time.Duration) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			b.waits(t.Context(), 1, 0, nil)
			key, _ := b.Key(user())
			time.AfterFunc(after, func() {
				if err := b.store.Store.Reset(context.Background(), b.Limits()[0], key); err != nil {
					t.Error(err)
				}
			})
			o := b.waits(t.Context(), 1, noticed, weir.ErrLost)
			if o.Allowed || b.left()[0] != 2 {
				t.Errorf("%v left, %+v", b.left(), o)
			}
			b.waits(t.Context(), 1, 7*time.Second-noticed, nil) // in his place
		}, "2 concurrent lease 12s", "1 per 7s leaky-bucket queue 9")
	}
	f(3*time.Second, 4*time.Second)
	f(6*time.Second, 7*time.Second)
}

// A renewal that fails when the turn has come may leave less than a lease: the slot is
// given back, and the store's panic is an error.
func TestASlotIsNotRenewedAfterAQueue(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		s := &flaky{Store: b.store.Store, fail: func(call int) error {
			if call == 1 {
				panic("the store is broken")
			}
			return nil
		}}
		l, err := weir.New(s, b.Limits()...)
		if err != nil {
			t.Fatal(err)
		}
		b.waits(t.Context(), 1, 0, nil)
		o := new(weir.Outcome)
		if err := l.Wait(t.Context(), o, 1, user()); !errors.Is(err, weir.ErrUnknown) || o.Allowed {
			t.Errorf("%v, %+v", err, o)
		}
		if left := b.left()[0]; left != 1 || s.calls != 2 {
			t.Errorf("%d left after %d calls", left, s.calls)
		}
	}, "2 concurrent lease 12s", "1 per 3s leaky-bucket queue 9")
}
