package memstore

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// The short way is what the long way does, whatever comes before.
func TestAKnownKeyIsDecidedAsAnyOther(t *testing.T) {
	limits := []*weir.Limit{
		weir.MustLimit("api", "3/s burst 5"),
		weir.MustLimit("api", "5/s"), // the same states under other numbers
		weir.MustLimit("day", "4/min fixed-window"),
		weir.MustLimit("month", "9/day calendar UTC"),
	}
	rapid.Check(t, func(t *rapid.T) {
		now := weir.Micros(1_796_000_000_000_000)
		clock := func() weir.Micros { return now }
		short, long := newTwins(t, clock)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now += weir.Micros(rapid.Int64Range(-100_000, 2_000_000).Draw(t, "step"))
			take := weir.Take{
				Limit: rapid.SampledFrom(limits).Draw(t, "limit"),
				Key:   weir.Key{byte(rapid.IntRange(1, 3).Draw(t, "key"))},
				Cost:  rapid.Int64Range(1, 6).Draw(t, "cost"),
				Join:  rapid.SampledFrom([]weir.Join{weir.All, weir.Advise, weir.Alone}).Draw(t, "join"),
			}
			if rapid.Bool().Draw(t, "edges") {
				take.Edges = &weir.Edges{now - 2, now - 1, now + 1, now + 2}
			}
			var d weir.Decision
			known, allowed, at, err := short.takeKnown(&take, &d)
			var want [1]weir.Decision
			c := &call{store: long}
			wantAllowed, wantAt, wantErr := c.take([]weir.Take{take}, want[:])
			if !known {
				c = &call{store: short}
				_, _, _ = c.take([]weir.Take{take}, want[:])
				continue
			}
			if allowed != wantAllowed || at != wantAt || !errors.Is(err, wantErr) || d != want[0] {
				t.Fatalf("%+v:\n%t %d %v %+v\nwant\n%t %d %v %+v", take, allowed, at, err, d, wantAllowed, wantAt, wantErr, want[0])
			}
		}
		if n, m := short.Stats().Keys, long.Stats().Keys; n != m {
			t.Fatalf("%d entries, want %d", n, m)
		}
	})
}

func newTwins(t *rapid.T, now func() weir.Micros) (a, b *Store) {
	t.Helper()
	a, err := New(Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = New(Config{Now: now}); err != nil {
		t.Fatal(err)
	}
	return a, b
}
