package memstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// hand is a clock that the test turns.
type hand struct{ now weir.Micros }

func (h *hand) read() weir.Micros { return h.now }

// bench is a store with a hand-turned clock, and the calls that tests make.
type bench struct {
	testing.TB
	*memstore.Store
	clock *hand
}

func open(t testing.TB, c memstore.Config) *bench {
	t.Helper()
	h := &hand{now: 1_000_000_000}
	c.Now = h.read
	s, err := memstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &bench{t, s, h}
}

// user makes the take of one unit by a named caller.
func (b *bench) user(l *weir.Limit, name string) weir.Take {
	k, tag := b.Keyer().Key(weir.Text("user", name))
	return weir.Take{Limit: l, Key: k, Tag: tag, Cost: 1}
}

// take makes one call and fails the test on an error.
func (b *bench) take(takes ...weir.Take) (bool, []weir.Decision) {
	b.Helper()
	out := make([]weir.Decision, len(takes))
	ok, _, err := b.Take(context.Background(), takes, out)
	if err != nil {
		b.Fatal(err)
	}
	return ok, out
}

// admitted counts how many of n takes pass.
func (b *bench) admitted(n int, t weir.Take) int {
	b.Helper()
	count := 0
	for range n {
		if ok, _ := b.take(t); ok {
			count++
		}
	}
	return count
}

// flood takes once for each of n new callers.
func (b *bench) flood(n int, l *weir.Limit, prefix string) {
	b.Helper()
	for i := range n {
		b.take(b.user(l, fmt.Sprint(prefix, i)))
	}
}
