package memstore_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// benchTake times one take of n limits for callers in turn, on the real clock.
func benchTake(b *testing.B, callers, n int) {
	s, err := memstore.New(memstore.Config{MaxKeys: 4 * callers * n})
	if err != nil {
		b.Fatal(err)
	}
	calls := make([][]weir.Take, callers)
	limits := make([]*weir.Limit, n)
	for i := range limits {
		limits[i] = weir.MustLimit(fmt.Sprint("rule", i), "100/s")
	}
	for i := range calls {
		k, tag := s.Keyer().Key(weir.Text("user", fmt.Sprint(i)))
		for _, l := range limits {
			calls[i] = append(calls[i], weir.Take{Limit: l, Key: k, Tag: tag, Cost: 1})
		}
	}
	ctx, out := context.Background(), make([]weir.Decision, n)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, _, err := s.Take(ctx, calls[i], out); err != nil {
			b.Fatal(err)
		}
		if i++; i == callers {
			i = 0
		}
	}
}

func BenchmarkTakeOneKey(b *testing.B)         { benchTake(b, 16, 1) }
func BenchmarkTake100000Keys(b *testing.B)     { benchTake(b, 100_000, 1) }
func BenchmarkTakeThreeLimits(b *testing.B)    { benchTake(b, 16, 3) }
func BenchmarkTakeSixteenLimits(b *testing.B)  { benchTake(b, 16, 16) }
func BenchmarkTakeLog(b *testing.B)            { benchListed(b, "100 per 1ms sliding-log", false) }
func BenchmarkTakeFullLog(b *testing.B)        { benchListed(b, "4095/h sliding-log", false) }
func BenchmarkTakeSlot(b *testing.B)           { benchListed(b, "100 concurrent", true) }
func BenchmarkTakeParallel(b *testing.B)       { benchParallel(b, 100_000) }
func BenchmarkTakeParallelOneKey(b *testing.B) { benchParallel(b, 1) }

// benchListed times one take of a limit that keeps a list, and of a slot the release.
func benchListed(b *testing.B, text string, slots bool) {
	s, err := memstore.New(memstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	k, tag := s.Keyer().Key(weir.Text("user", "one"))
	takes := []weir.Take{{Limit: weir.MustLimit("list", text), Key: k, Tag: tag, Cost: 1}}
	back := []weir.Return{{Limit: takes[0].Limit, Key: k, Tag: tag}}
	ctx, out := context.Background(), make([]weir.Decision, 1)
	b.ReportAllocs()
	i := byte(0)
	for b.Loop() {
		if i++; slots {
			takes[0].Slot, back[0].Slot = weir.SlotID{i, 1}, weir.SlotID{i, 1}
		}
		if _, _, err := s.Take(ctx, takes, out); err != nil {
			b.Fatal(err)
		}
		if slots {
			if _, err := s.Return(ctx, back); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// benchParallel times takes from all processors at once. Each goroutine goes through all
// callers, from one of its own on: side by side they would ask for the same key, want the
// same lock, and find in the cache what the other has just fetched.
func benchParallel(b *testing.B, callers int) {
	s, err := memstore.New(memstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	l := weir.MustLimit("api", "100/s")
	takes := make([]weir.Take, callers)
	for i := range takes {
		k, tag := s.Keyer().Key(weir.Text("user", fmt.Sprint(i)))
		takes[i] = weir.Take{Limit: l, Key: k, Tag: tag, Cost: 1}
	}
	var begun atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		out := make([]weir.Decision, 1)
		ctx := context.Background()
		first := int(begun.Add(1)-1) * callers / runtime.GOMAXPROCS(0)
		for i := first; pb.Next(); i++ {
			if _, _, err := s.Take(ctx, takes[i%callers:i%callers+1], out); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
