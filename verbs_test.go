package weir_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// A verb is a way to ask, and to end what was begun.
type verb func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error

// verbs are all of them.
func verbs() map[string]verb {
	return map[string]verb{
		"Take": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			return l.Take(ctx, o, n, key)
		},
		"Take and Refund": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			if err := l.Take(ctx, o, n, key); err != nil {
				return err
			}
			return l.Refund(ctx, o)
		},
		"Peek": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			return l.Peek(ctx, o, n, key)
		},
		"TakeAtMost": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			granted, err := l.TakeAtMost(ctx, o, 3*n, key)
			for i := range o.Decisions {
				if got := o.Decisions[i].Granted; got != granted && got != 1 { // a slot is one
					return weir.Invalid("granted", got, "another limit granted another number", "")
				}
			}
			return err
		},
		"Wait": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			_ = l.Wait(short, o, n, key) // whether it is in time makes no difference
			return nil
		},
		"Reserve and Settle": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			r, err := l.Reserve(ctx, o, 2, key)
			if err != nil {
				return err
			}
			_, err = r.Settle(ctx, n)
			return err
		},
		"Reserve and Cancel": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			r, err := l.Reserve(ctx, o, n, key)
			if err != nil {
				return err
			}
			return r.Cancel(ctx)
		},
		"Acquire and Release": func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
			slots, err := l.Acquire(ctx, o, n, key)
			if err != nil {
				return err
			}
			return slots.Release(ctx)
		},
	}
}

// What many callers were told by all verbs at once has an order in which a store that
// decides one call after the other would have told them the same, and is within what
// each limit promises. Every verb alone is held to that as well, and all together.
func TestVerbsAreLinearizable(t *testing.T) {
	mixed := verbs()
	mixed["all of them"] = func(ctx context.Context, l *weir.Limiter, o *weir.Outcome, n int64, key weir.Part) error {
		for _, do := range verbs() { // a map has no order
			return do(ctx, l, o, n, key)
		}
		return nil
	}
	for name, do := range mixed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history, limits := played(t, do)
			if len(history) < 300 {
				t.Fatalf("only %d calls", len(history))
			}
			if err := storetest.CheckLinearizable(history, true); err != nil {
				t.Error(err)
			}
			for _, l := range limits {
				if l.Spec().Algorithm == weir.Concurrency {
					continue // it promises nothing in time
				}
				if err := storetest.CheckWindows(history, l); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// played has a verb used by many at once.
func played(t *testing.T, do verb) (storetest.History, []*weir.Limit) {
	t.Helper()
	store, err := memstore.New(memstore.Config{MaxKeys: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	record := storetest.Record(store)
	limits := built(t, "300/s burst 9", "2000/s sliding-window", "400/s leaky-bucket queue 20", "900/s fixed-window", "4 concurrent")
	l, err := weir.New(record, limits...)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			o := new(weir.Outcome)
			for range 100 {
				key := weir.Text("user", []string{"ann", "bob"}[rand.IntN(2)])
				if err := do(t.Context(), l, o, 1+rand.Int64N(4), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return record.History(), limits
}
