package weir_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// noon is where the tests' clocks begin: 2026-11-30 12:00:00.123456 UTC, a
// Monday.
const noon = weir.Micros(1_796_040_000_123_456)

// clock is a store's clock that moves when it is told to.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(int64(noon))
	return c
}

func (c *clock) now() weir.Micros { return weir.Micros(c.at.Load()) }

func (c *clock) advance(d time.Duration) { c.at.Add(d.Microseconds()) }

func (c *clock) wait(d weir.Micros) { c.at.Add(int64(d)) }

// counted is a store that counts what it is asked.
type counted struct {
	weir.Store
	takes, returns, resets int
	releases               int // of slots

	mu sync.Mutex // for returns: slots are renewed on a goroutine of their own
}

func (s *counted) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	s.takes++
	return s.Store.Take(ctx, takes, out)
}

func (s *counted) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	s.mu.Lock()
	s.returns++
	for i := range returns {
		if returns[i].Slot != (weir.SlotID{}) && !returns[i].Renew {
			s.releases++
		}
	}
	s.mu.Unlock()
	return s.Store.Return(ctx, returns)
}

func (s *counted) Reset(ctx context.Context, l *weir.Limit, k weir.Key) error {
	s.resets++
	return s.Store.Reset(ctx, l, k)
}

// bench is a limiter on a store in memory whose clock the test moves.
type bench struct {
	*weir.Limiter
	t     testing.TB
	clock *clock
	store *counted
}

// limited gives a limiter under texts, named ra, rb, …
func limited(t testing.TB, texts ...string) *bench {
	t.Helper()
	return under(t, built(t, texts...)...)
}

// built gives limits of texts, named ra, rb, …
func built(t testing.TB, texts ...string) []*weir.Limit {
	t.Helper()
	var limits []*weir.Limit
	for i, text := range texts {
		l, err := weir.ParseLimit("r"+string(rune('a'+i)), text)
		if err != nil {
			t.Fatal(err)
		}
		limits = append(limits, l)
	}
	return limits
}

func under(t testing.TB, limits ...*weir.Limit) *bench {
	t.Helper()
	b := &bench{t: t, clock: newClock()}
	store, err := memstore.New(memstore.Config{MaxKeys: 10_000, Now: b.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	b.store = &counted{Store: store}
	if b.Limiter, err = weir.New(b.store, limits...); err != nil {
		t.Fatal(err)
	}
	return b
}

// pass lets time pass in a bubble, and everybody act who has waited for it.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// returned is how often the store was asked to take something back, in a bubble, by
// whomever.
func (b *bench) returned() int {
	synctest.Wait()
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	return b.store.returns
}

// user is the caller of most tests.
func user() weir.Part { return weir.Text("user", "42") }

// take takes, and fails the test on an error.
func (b *bench) take(cost int64) *weir.Outcome {
	b.t.Helper()
	o := new(weir.Outcome)
	if err := b.Take(b.t.Context(), o, cost, user()); err != nil {
		b.t.Fatal(err)
	}
	return o
}

// left is how many units each limit has left for the user.
func (b *bench) left() []int64 {
	b.t.Helper()
	o := new(weir.Outcome)
	if err := b.Peek(b.t.Context(), o, 0, user()); err != nil {
		b.t.Fatal(err)
	}
	var left []int64
	for _, d := range o.Decisions {
		left = append(left, d.Remaining)
	}
	return left
}
