package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

func TestConfigIsChecked(t *testing.T) {
	bad := func(c memstore.Config, want string) {
		t.Helper()
		_, err := memstore.New(c)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	bad(memstore.Config{MaxKeys: -1}, "memstore MaxKeys -1: out of range; use 64 to")
	bad(memstore.Config{MaxKeys: 63}, "MaxKeys 63")
	bad(memstore.Config{MaxKeys: math.MaxInt}, "out of range")
	bad(memstore.Config{OnFull: 3}, "OnFull 3: no such choice")
	bad(memstore.Config{Reserved: map[string]int{"api": -1}}, "Reserved api -1")
	bad(memstore.Config{MaxKeys: 100, Reserved: map[string]int{"a": 30, "b": 30}}, "Reserved 60: more than half")
	_, err := memstore.New(memstore.Config{MaxKeys: 1, OnFull: 9})
	if err == nil || !strings.Contains(err.Error(), "MaxKeys") || !strings.Contains(err.Error(), "OnFull") {
		t.Errorf("error %v does not name every field", err)
	}
}

func TestClosedStoreAnswersErrClosed(t *testing.T) {
	b := open(t, memstore.Config{})
	l := weir.MustLimit("api", "5/s")
	take := b.user(l, "u")
	_, d := b.take(take)
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var out [1]weir.Decision
	_, _, err := b.Take(context.Background(), []weir.Take{take}, out[:])
	if !errors.Is(err, weir.ErrClosed) || !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("Take: %v", err)
	}
	_, err = b.Return(context.Background(), []weir.Return{{Limit: l, Key: take.Key, Receipt: d[0].Receipt, Units: 1}})
	if !errors.Is(err, weir.ErrClosed) {
		t.Errorf("Return: %v", err)
	}
	if _, err = b.Return(context.Background(), nil); !errors.Is(err, weir.ErrClosed) {
		t.Errorf("Return of nothing: %v", err)
	}
	if err := b.Expect(l); !errors.Is(err, weir.ErrClosed) {
		t.Errorf("Expect: %v", err)
	}
	if err := b.Reset(context.Background(), l, take.Key); !errors.Is(err, weir.ErrClosed) {
		t.Errorf("Reset: %v", err)
	}
}

func TestClockOutsideItsRangeIsAnError(t *testing.T) {
	b := open(t, memstore.Config{})
	take := b.user(weir.MustLimit("api", "5/s"), "u")
	for _, now := range []weir.Micros{math.MinInt64, -1, 0, 1 << 52, math.MaxInt64} {
		b.clock.now = now
		var out [1]weir.Decision
		if _, _, err := b.Take(context.Background(), []weir.Take{take}, out[:]); !errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("at %d: %v", now, err)
		}
	}
	b.clock.now = 1_000_000
	if ok, _ := b.take(take); !ok {
		t.Error("a reading out of range has spoilt the store")
	}
}

func TestTimeNeverRunsBackInAShard(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("api", "1/s burst 3")
	take := b.user(l, "u")
	out := make([]weir.Decision, 1)
	var last weir.Micros
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		b.clock.now = 1 + weir.Micros(r.Int64N(1<<40))
		_, s, err := b.Take(context.Background(), []weir.Take{take}, out)
		if err != nil || s.Now < last {
			t.Fatalf("stamp %d after %d, error %v", s.Now, last, err)
		}
		last = s.Now
	}
}

// A cell has one time for all the parts of the store whose keys share it.
func TestTimeNeverRunsBackInACell(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 5000}) // several parts
	l := weir.MustLimit("api", "1/day")
	b.flood(20_000, weir.MustLimit("filler", "1/day"), "f")
	b.flood(20_000, l, "stranger")
	start, last, out := b.clock.now, weir.Micros(0), make([]weir.Decision, 1)
	for i := range 64 {
		b.clock.now = start + weir.Micros(1_000_000-i)
		late := b.user(l, fmt.Sprint("late", i))
		late.Tag = 7 // one cell for all of them
		_, s, err := b.Take(context.Background(), []weir.Take{late}, out)
		if err != nil || out[0].Mode != weir.Overflow || s.Now < last {
			t.Fatalf("stamp %d after %d, mode %s, error %v", s.Now, last, out[0].Mode, err)
		}
		last = s.Now
	}
}

// Takes of many keys in any order, by many goroutines: nobody waits for ever,
// and every key gets exactly what it may.
func TestManyKeysInOneCallDoNotDeadlock(t *testing.T) {
	b := open(t, memstore.Config{})
	const users, goroutines, rounds = 40, 16, 2000
	l := weir.MustLimit("api", "1000/day")
	var all [users]weir.Take
	for i := range all {
		all[i] = b.user(l, fmt.Sprint(i))
	}
	var mu sync.Mutex
	got := map[weir.Key]int{}
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			out := make([]weir.Decision, weir.MaxTakes)
			mine := map[weir.Key]int{}
			for range rounds {
				takes := make([]weir.Take, 1+r.IntN(6))
				for i := range takes {
					takes[i] = all[r.IntN(users)]
				}
				ok, _, err := b.Take(context.Background(), takes, out[:len(takes)])
				if err != nil {
					t.Error(err)
					return
				}
				for i := range takes {
					if ok {
						mine[takes[i].Key]++
					}
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for k, n := range mine {
				got[k] += n
			}
		})
	}
	wg.Wait()
	out := make([]weir.Decision, 1)
	for i := range all {
		peek := all[i]
		peek.How = weir.Peek
		if _, _, err := b.Take(context.Background(), []weir.Take{peek}, out); err != nil {
			t.Fatal(err)
		}
		if used := 1000 - out[0].Remaining; used != int64(got[peek.Key]) {
			t.Errorf("user %d: %d granted, %d charged", i, got[peek.Key], used)
		}
	}
}

func TestForgivenUnitsAreCounted(t *testing.T) {
	b := open(t, memstore.Config{})
	settle := b.user(weir.MustLimit("api", "5/min overdraft 8"), "u")
	settle.How, settle.Cost = weir.Force, 11
	if _, d := b.take(settle); d[0].Granted != 8 {
		t.Errorf("charged %d, want 8", d[0].Granted)
	}
	if got := b.Stats().Rules["api"].Forgiven; got != 3 {
		t.Errorf("%d forgiven, want 3", got)
	}

	b = open(t, memstore.Config{MaxKeys: 64, OnFull: memstore.Admit})
	b.flood(200, settle.Limit, "stranger")
	late := b.user(settle.Limit, "late") // is not counted, so that there is nothing to forgive
	late.How = weir.Force
	b.take(late)
	if got := b.Stats().Rules["api"].Forgiven; got != 0 {
		t.Errorf("%d forgiven, want none", got)
	}
}

// Who reserves little and uses much is made to pay for it in a full store too.
func TestSettlementInACellHoldsBack(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	limit := weir.MustLimit("jobs", "100/h overdraft 300")
	b.flood(70, limit, "stranger") // of whom some are in the cell
	l, err := weir.New(b.Store, limit)
	if err != nil {
		t.Fatal(err)
	}
	used, passed, o := int64(0), 0, new(weir.Outcome)
	for range 50 {
		r, err := l.Reserve(t.Context(), o, 1, weir.Text("user", "late"))
		if err != nil {
			t.Fatal(err)
		}
		if !o.Allowed {
			continue
		}
		if passed++; o.Decisions[0].Mode != weir.Overflow {
			t.Fatalf("decided as %s: this test says nothing", o.Decisions[0].Mode)
		}
		forgiven, err := r.Settle(t.Context(), 40)
		if err != nil {
			t.Fatal(err)
		}
		used += 40 - forgiven
	}
	if passed == 0 {
		t.Fatal("nobody has passed: this test says nothing")
	}
	if passed > 3 || used > 300 {
		t.Errorf("passed %d times, and used %d units", passed, used)
	}
}

// A call that fails allows nothing, and has a time where it has read one, whichever way
// it goes.
func TestErrorsAllowNothing(t *testing.T) {
	const beyond = 1 << 53
	week := weir.MustLimit("week", "5/week calendar UTC")
	full := func(b *bench) { // of limits
		var all []*weir.Limit
		for i := range 2 { // the log has the room of five
			all = append(all, weir.MustLimit(fmt.Sprint("rule", i), "1/day"))
		}
		if err := b.Expect(append(all, weir.MustLimit("api", "5/s"), weir.MustLimit("log", "5/s sliding-log"))...); err != nil {
			b.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(b *bench)
		want  error
		now   weir.Micros
		known bool // calls for limits that are known fail too
	}{
		"closed":         {func(b *bench) { _ = b.Close() }, weir.ErrClosed, 0, true},
		"no clock":       {func(b *bench) { b.clock.now = beyond }, weir.ErrNotApplied, beyond, true},
		"no more limits": {full, weir.ErrNotApplied, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, memstore.Config{MaxKeys: 64})
			a, z := b.user(weir.MustLimit("api", "5/s"), "u"), b.user(weir.MustLimit("log", "5/s sliding-log"), "u")
			_, d := b.take(a)
			b.take(z)
			w := b.user(weir.MustLimit("window", "5/s fixed-window"), "u")
			b.take(w)
			right := b.clock.now
			c.spoil(b)
			calls := map[string][]weir.Take{"unknown limit": {b.user(weir.MustLimit("new", "5/s"), "u")}, "unknown penalty": {b.user(weir.MustLimit("rule1", "1/day block 1h"), "u")}}
			if c.known {
				calls = map[string][]weir.Take{"one": {a}, "new key": {b.user(a.Limit, "v")}, "list": {z}, "two": {a, z}, "two known": {a, w}, "calendar": {b.user(week, "u")}}
			}
			for name, takes := range calls {
				out := make([]weir.Decision, len(takes))
				if ok, s, err := b.Take(context.Background(), takes, out); ok || s.Now != c.now || !errors.Is(err, c.want) {
					t.Errorf("%s: allowed %t at %d, %v", name, ok, s.Now, err)
				}
			}
			if !c.known {
				return
			}
			s, err := b.Return(context.Background(), []weir.Return{{Limit: a.Limit, Key: a.Key, Receipt: d[0].Receipt, Units: 1}})
			if s.Now != c.now || !errors.Is(err, c.want) {
				t.Errorf("return: at %d, %v", s.Now, err)
			}
			b.clock.now = right
			out := make([]weir.Decision, 2)
			if _, s, err := b.Take(context.Background(), []weir.Take{a, w}, out); c.now != 0 && (s.Now != right || err != nil) {
				t.Errorf("with a clock again: decided at %d, want %d; %v", s.Now, right, err)
			}
		})
	}
}

// Who comes when a flood is over is decided on his own state, and told so.
func TestModeAfterAFloodIsOver(t *testing.T) {
	for _, text := range []string{"10/s", "10/min sliding-log", "10/h fixed-window"} {
		b := open(t, memstore.Config{MaxKeys: 64})
		l := weir.MustLimit("login", text)
		b.flood(1000, l, "f")
		if _, d := b.take(b.user(l, "late")); d[0].Mode != weir.Overflow {
			t.Errorf("%s: in the flood: %s", text, d[0].Mode)
		}
		b.clock.now += 24 * 3_600_000_000
		if ok, d := b.take(b.user(l, "later")); !ok || d[0].Mode != weir.Exact || d[0].Remaining != 9 {
			t.Errorf("%s: when it is over: %+v", text, d[0])
		}
	}
}

// Keys that share a cell share its windows, wherever those of their own begin.
func TestSpreadInACell(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "1000/h fixed-window spread")
	b.flood(100, l, "f")
	var reset weir.Micros
	for i := range 10 {
		_, d := b.take(b.user(l, fmt.Sprint("late", i)))
		if d[0].Mode != weir.Overflow {
			t.Fatal("there is room: this test says nothing")
		}
		if i > 0 && d[0].ResetAfter != reset {
			t.Errorf("key %d of the cell: reset after %d, want %d", i, d[0].ResetAfter, reset)
		}
		reset = d[0].ResetAfter
	}
}

// In a full store one caller's invented names crowd one cell, and other callers have theirs.
func TestInventedNamesCrowdOneCell(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1 << 16})
	l := weir.MustLimit("login", "1000/day")
	passes := func(first, second string) bool {
		key, tag := b.Keyer().Key(weir.Text("user", first), weir.Text("name", second))
		ok, d := b.take(weir.Take{Limit: l, Key: key, Tag: tag, Cost: 600})
		if d[0].Mode != weir.Overflow {
			t.Fatal("there is room: this test says nothing")
		}
		return ok
	}
	b.flood(70_000, l, "stranger") // of whom each cell has charged some two hundred
	names, callers := 0, 0
	for i := range 40 {
		if passes("mallory", fmt.Sprint(i)) {
			names++
		}
	}
	for i := range 40 {
		if passes(fmt.Sprint("caller", i), "own") {
			callers++
		}
	}
	if names > 1 || callers < 15 {
		t.Errorf("%d invented names of one caller pass, and %d of 40 callers", names, callers)
	}
}

// What has no states cannot be reset.
func TestResetOfWhatIsNoLimit(t *testing.T) {
	b := open(t, memstore.Config{})
	for _, l := range []*weir.Limit{nil, {}, weir.MustLimit("free", "unlimited"), weir.MustLimit("none", "deny")} {
		if err := b.Reset(context.Background(), l, weir.Key{1}); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("Reset of %v: %v", l, err)
		}
	}
}

func TestAllocationsOfTake(t *testing.T) {
	b := open(t, memstore.Config{})
	f := func(n int) {
		t.Helper()
		takes, out := make([]weir.Take, n), make([]weir.Decision, n)
		for i := range takes {
			takes[i] = b.user(weir.MustLimit(fmt.Sprint("rule", i), "1000000/s"), "u")
		}
		ctx := context.Background()
		if got := testing.AllocsPerRun(500, func() { _, _, _ = b.Take(ctx, takes, out) }); got != 0 {
			t.Errorf("%d takes: %v allocations", n, got)
		}
		returns := make([]weir.Return, n)
		for i := range returns {
			returns[i] = weir.Return{Limit: takes[i].Limit, Key: takes[i].Key, Receipt: out[i].Receipt, Units: 1}
		}
		if got := testing.AllocsPerRun(500, func() { _, _ = b.Return(ctx, returns) }); got != 0 {
			t.Errorf("%d returns: %v allocations", n, got)
		}
	}
	f(1)
	f(3)
	f(16)
}
