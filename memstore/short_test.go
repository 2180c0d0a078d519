package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// Whatever is asked, and whatever happens to the store meanwhile, the short ways give the
// answers of the long one, refuse what that refuses, and leave the same behind.
func TestShortWaysAreTheLongWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		p.limits = rapid.Permutation(p.limits).Draw(t, "limits")
		if rapid.Bool().Draw(t, "few") { // whose keys are soon known all
			p.limits, p.parts = p.limits[:4], 0
		}
		p.collide = rapid.IntRange(0, 3).Draw(t, "collide") == 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 15).Draw(t, "do") {
			case 0:
				p.flood()
			case 1, 2:
				p.others()
			default:
				p.calls()
			}
			p.turn()
			if p.apart {
				return
			}
			if got, want := books(p.short), books(p.long); got != want {
				t.Fatalf("the books are\n%s\nwant\n%s", got, want)
			}
		}
		if err := (&crowd{Store: p.short}).sound(); err != nil {
			t.Fatal(err)
		}
		_ = p.short.Close()
		_ = p.long.Close()
		for range 5 {
			p.calls()
		}
	})
}

// What no store may be asked is refused with a key that is known, one that may have an
// entry and one of each: nothing is written, and nothing changes.
func TestShortWaysRefuseWhatIsInvalid(t *testing.T) {
	limits := asked()
	s := fixed(t, Config{})
	ask := func(takes []weir.Take, n int) ([]weir.Decision, error) {
		out := make([]weir.Decision, n)
		_, _, err := s.Take(context.Background(), takes, out)
		return out, err
	}
	take := func(key byte) weir.Take { return weir.Take{Limit: limits[0], Key: weir.Key{key}, Cost: 1} }
	for key := range byte(weir.MaxTakes) {
		if _, err := ask([]weir.Take{take(key)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	before := books(s)
	refused := func(what string, takes []weir.Take, n int) {
		t.Helper()
		out, err := ask(takes, n)
		if !errors.Is(err, weir.ErrInvalid) || !slices.Equal(out, make([]weir.Decision, n)) || books(s) != before {
			t.Errorf("%s: %v, %+v", what, err, out)
		}
	}
	for what, spoil := range map[string]func(t *weir.Take){
		"no limit":      func(t *weir.Take) { t.Limit = nil },
		"none built":    func(t *weir.Take) { t.Limit = &weir.Limit{} },
		"deny":          func(t *weir.Take) { t.Limit = weir.MustLimit("a", "deny") },
		"unlimited":     func(t *weir.Take) { t.Limit = weir.MustLimit("a", "unlimited") },
		"slots":         func(t *weir.Take) { t.Limit = weir.MustLimit("a", "2 concurrent") },
		"a join":        func(t *weir.Take) { t.Join = weir.Alone + 1 },
		"a how":         func(t *weir.Take) { t.How = weir.Strike << 1 },
		"how and how":   func(t *weir.Take) { t.How = weir.Force | weir.Peek },
		"a slot":        func(t *weir.Take) { t.Slot[15] = 1 },
		"cost 0":        func(t *weir.Take) { t.Cost = 0 },
		"cost below 0":  func(t *weir.Take) { t.Cost = -1 << 63 },
		"join and cost": func(t *weir.Take) { t.Join, t.Cost = 255, -1 },
	} {
		known, fresh := take(1), take(200)
		spoil(&known)
		spoil(&fresh)
		refused(what, []weir.Take{known}, 1)
		refused(what, []weir.Take{fresh}, 1)
		for _, join := range []weir.Join{weir.All, weir.Alone} {
			other := take(2)
			other.Join = join
			refused(what, []weir.Take{other, known}, 2)
			refused(what, []weir.Take{known, other}, 2)
		}
	}
	twin := take(1)
	twin.Limit = limits[1]
	refused("two versions", []weir.Take{take(1), twin}, 2)
	refused("no decision", []weir.Take{take(1)}, 0)
	refused("a decision too many", []weir.Take{take(1)}, 2)
	refused("a decision too few", []weir.Take{take(1), take(2)}, 1)
	refused("17 takes", make([]weir.Take, 17), 17)
}

// What many goroutines are granted of a few keys, by all short ways at once, and have not
// given back, is what their keys owe: no more than fits, to the unit.
func TestShortWaysOfManyGoroutinesAddUp(t *testing.T) {
	limits := []*weir.Limit{
		weir.MustLimit("a", "1/day burst 300"), weir.MustLimit("b", "7/day burst 90"),
		weir.MustLimit("c", "200/day fixed-window"), weir.MustLimit("d", "150/day sliding-window"),
	}
	const keys, goroutines = 3, 8
	s := fixed(t, Config{})
	var charged [4][keys]atomic.Int64
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 21))
			for range 400 {
				takes := make([]weir.Take, 1+r.IntN(4)*r.IntN(2))
				out := make([]weir.Decision, len(takes))
				for i := range takes {
					takes[i] = weir.Take{Limit: limits[r.IntN(4)], Key: weir.Key{byte(r.IntN(keys))}, Cost: 1 + r.Int64N(3), Join: weir.Join(r.IntN(3))}
				}
				if _, _, err := s.Take(context.Background(), takes, out); err != nil {
					t.Error(err)
					return
				}
				for i, d := range out {
					n := d.Granted
					if n > 0 && r.IntN(4) == 0 {
						back := weir.Return{Limit: takes[i].Limit, Key: takes[i].Key, Receipt: d.Receipt, Units: n}
						if _, err := s.Return(context.Background(), []weir.Return{back}); err != nil {
							t.Error(err)
						}
						n = 0
					}
					charged[slices.Index(limits, takes[i].Limit)][takes[i].Key[0]].Add(n)
				}
			}
		})
	}
	wg.Wait()
	for i, l := range limits {
		for key := range byte(keys) {
			peek, out := weir.Take{Limit: l, Key: weir.Key{key}, How: weir.Peek}, make([]weir.Decision, 1)
			if _, _, err := s.Take(context.Background(), []weir.Take{peek}, out); err != nil {
				t.Fatal(err)
			}
			if used := l.Capacity() - out[0].Remaining; used != charged[i][key].Load() {
				t.Errorf("limit %s, key %d: %d units are charged, %d were granted", l.Name(), key, used, charged[i][key].Load())
			}
		}
	}
	if err := (&crowd{Store: s}).sound(); err != nil {
		t.Error(err)
	}
}

// entry is all that an entry says.
type entry struct {
	version   [16]byte
	rule      string
	state     algorithm.State
	kept, big bool
}

// books are all that a store says of itself.
func books(s *Store) string {
	text := fmt.Sprintln(s.Stats())
	for i := range s.shards {
		sh, entries := &s.shards[i], map[uint64]entry{}
		sh.entries.Each(func(e *table.Slot) {
			m := s.member(e)
			entries[e.Print] = entry{m.version, m.rule.name, sh.state(e, m), isKept(e), isWide(e)}
		})
		counts := map[string]int{}
		for i, n := range sh.counts {
			if n != 0 {
				counts[s.rules[i].name] += n
			}
		}
		text += fmt.Sprintln(i, sh.latest, sh.used, sh.evicted, counts, entries)
	}
	for _, v := range slices.SortedFunc(maps.Keys(*s.members.Load()), func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) }) {
		if m := s.find(v); m.live.Load() > 0 { // else it may be forgotten at any time
			text += fmt.Sprintln(v, m.live.Load(), m.rule.live.Load(), m.cells)
		}
	}
	return text
}

// Entries that are rare, and that the short ways know nothing of: with a block, kept by a
// reset, in a block of the slab, and of a calendar whose grid has moved.
func TestShortWaysMeetRareEntries(t *testing.T) {
	now := weir.Micros(1_796_000_000_000_000)
	c := Config{MaxKeys: 64, Now: func() weir.Micros { return now }}
	short, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	long, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(what string, takes ...weir.Take) {
		t.Helper()
		got, want := make([]weir.Decision, len(takes)), make([]weir.Decision, len(takes))
		allowed, _, err := short.Take(context.Background(), takes, got)
		wantAllowed, _, wantErr := long.takeLong(takes, want)
		if err != nil || wantErr != nil || allowed != wantAllowed || !slices.Equal(got, want) || books(short) != books(long) {
			t.Fatalf("%s: %t %v %+v\nwant %t %v %+v\n%s\n%s", what, allowed, err, got, wantAllowed, wantErr, want, books(short), books(long))
		}
	}
	take := func(l *weir.Limit, key byte, cost int64) weir.Take {
		return weir.Take{Limit: l, Key: weir.Key{key}, Cost: cost}
	}
	plain, blocked, flooded := weir.MustLimit("a", "5/s"), weir.MustLimit("p", "3/s block 2s"), weir.MustLimit("f", "2/day")
	day := take(weir.MustLimit("c", "9/day calendar UTC"), 1, 1)
	edges := func(first, length weir.Micros) weir.Take {
		day.Edges = &weir.Edges{first, first + length, first + 2*length, first + 3*length}
		return day
	}
	for range 3 { // the last one is refused, and begins a block
		ask("a block", take(blocked, 1, 2), take(plain, 1, 1))
		ask("a block alone", take(blocked, 2, 2))
	}
	now += 1_500_000
	short.sweepAll(now)
	long.sweepAll(now)
	ask("a block, and no other entry", take(blocked, 1, 1))
	const minute = 60_000_000
	ask("an odd window", edges(now-1, 1))
	ask("an odd window, and a plain one", edges(now-now%minute, minute), take(plain, 1, 1))
	ask("a grid", edges(now-minute/2, minute))
	ask("a grid that has moved, in a call that is refused", edges(now-minute/4, minute), take(plain, 1, 6))
	ask("a key", take(flooded, 0, 1))
	for key := range byte(100) {
		ask("a flood", take(flooded, key, 1))
	}
	for _, s := range []*Store{short, long} {
		if err := s.Reset(context.Background(), flooded, weir.Key{}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		ask("a key that is kept", take(plain, 1, 1), take(flooded, 0, 1))
		ask("a key that is kept, alone", take(flooded, 0, 1))
	}
}
