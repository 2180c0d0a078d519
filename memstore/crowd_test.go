package memstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// crowd is a small store, and more callers and limits than it has room for.
type crowd struct {
	*Store
	clock   atomic.Int64
	limits  []*weir.Limit
	holders atomic.Int64 // that have asked for a slot
}

// plainCrowd and listedCrowd are limits of eight versions; those of the second, of which
// some keep lists, need as many cells as 24.
func plainCrowd() []string {
	return []string{"a=5/s", "a=2/s", "b=3/min", "b/1d=9/day fixed-window", "c=4/s fixed-window spread", "d=1/day burst 7", "e=6/min burst 2", "f=2/min"}
}

// blockingCrowd are limits of which some have a penalty beside them.
func blockingCrowd() []string {
	return []string{"a=5/s block 20s", "a=2/s block 5s x 2 max 1h", "b=3/min", "c=4/s fixed-window block 1s", "l=2/min sliding-log block 1m", "f=2/min"}
}

func listedCrowd() []string {
	return []string{"a=5/s", "a=2/s", "b=3/min", "l=2/min sliding-log", "l=9/min sliding-log overdraft 12", "n=2 concurrent lease 20s", "n=4 concurrent lease 90s", "f=2/min"}
}

func newCrowd(keys int, texts []string) (*crowd, error) {
	c := &crowd{}
	c.clock.Store(1_000_000_000)
	s, err := New(Config{MaxKeys: keys, Now: func() weir.Micros { return weir.Micros(c.clock.Load()) }})
	if err != nil {
		return nil, err
	}
	c.Store = s
	for _, text := range texts {
		name, spec, _ := cut(text)
		c.limits = append(c.limits, weir.MustLimit(name, spec))
	}
	for _, name := range []string{"g", "h"} { // a rule that is renamed, to and fro
		spec, err := weir.ParseSpec("3/min")
		if err != nil {
			return nil, err
		}
		l, err := weir.NewLimitKeeping(name, "b", spec)
		if err != nil {
			return nil, err
		}
		c.limits = append(c.limits, l)
	}
	return c, nil
}

func cut(s string) (before, after string, found bool) {
	for i := range s {
		if s[i] == '=' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// take is one of callers' takes under some limit.
func (c *crowd) take(limit, caller int, cost int64) weir.Take {
	k, tag := c.Keyer().Key(weir.Text("user", fmt.Sprint(caller)))
	t := weir.Take{Limit: c.limits[limit], Key: k, Tag: tag, Cost: cost}
	if t.Limit.Spec().Algorithm == weir.Concurrency {
		t.Cost, t.Slot = 1, weir.SlotID{byte(c.holders.Add(1)), byte(c.holders.Load() >> 8), 1}
	}
	return t
}

// sound reports what does not add up in the store's books.
func (c *crowd) sound() error {
	entries, owners := map[*rule]int64{}, map[[16]byte]*rule{}
	for i := range c.shards {
		s := &c.shards[i]
		sum, room, counts := 0, 0, map[int]int{}
		for _, n := range s.counts {
			sum += n
		}
		blocks, lists := 0, blocksOf{}
		s.entries.Each(func(e *table.Slot) {
			m := c.member(e)
			owners[m.id] = m.rule
			entries[m.rule]++
			counts[m.rule.index] += m.roomOf(e)
			room += m.roomOf(e)
			switch {
			case m.list != nil:
				l := s.listOf(e, m)
				lists.add(&l)
			case e.Words[1]&wide != 0:
				blocks++
			}
		})
		if sum != s.used || s.used != room || s.used > s.cap {
			return fmt.Errorf("shard %d: counts %d, used %d, entries take %d, cap %d", i, sum, s.used, room, s.cap)
		}
		if err := s.beyondAddsUp(); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		if blocks != s.wide.Len() {
			return fmt.Errorf("shard %d: %d wide entries, %d blocks", i, blocks, s.wide.Len())
		}
		if err := lists.compare(&s.lists); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		for index, n := range s.counts {
			if n != counts[index] {
				return fmt.Errorf("shard %d: rule %d has %d entries counted, %d there", i, index, n, counts[index])
			}
		}
	}
	var inCells [cellStripes]blocksOf
	cells, limits := map[*rule]int64{}, map[*rule]int{}
	for _, m := range *c.members.Load() {
		if other := owners[m.id]; other != nil && other != m.rule {
			return fmt.Errorf("rules %s and %s have the states of one limit", other.name, m.rule.name)
		}
		owners[m.id] = m.rule
		limits[m.rule]++
		live := int64(0)
		for i, state := range m.cells {
			if state == (algorithm.State{}) {
				continue
			}
			live++
			if m.list != nil {
				l := c.cellList(m, i)
				inCells[i%cellStripes].add(&l)
			}
		}
		cells[m.rule] += live
		if live != m.live.Load() {
			return fmt.Errorf("rule %s: %d live cells counted, %d there", m.rule.name, m.live.Load(), live)
		}
	}
	for i := range inCells {
		if err := inCells[i].compare(&c.stripes[i].lists); err != nil {
			return fmt.Errorf("cells of stripe %d: %w", i, err)
		}
	}
	for _, r := range c.rules {
		if r != nil && (entries[r] != r.entries.Load() || cells[r] != r.live.Load()) {
			return fmt.Errorf("rule %s: %d entries counted, %d there; %d live cells counted, %d there", r.name, r.entries.Load(), entries[r], r.live.Load(), cells[r])
		}
		if r != nil && limits[r] != r.limits {
			return fmt.Errorf("rule %s: %d limits counted, %d there", r.name, r.limits, limits[r])
		}
		delete(entries, r)
	}
	if len(entries) > 0 {
		return fmt.Errorf("entries of rules that were forgotten: %v", entries)
	}
	return errors.Join(c.numbersAddUp(), c.slotsAddUp())
}

// numbersAddUp reports a number that is given twice or lost, and a version that has one
// and no rule.
func (c *crowd) numbersAddUp() error {
	list, free := *c.numbered.Load(), map[int]bool{}
	for _, n := range c.numbers {
		if free[n] || list[n] != nil {
			return fmt.Errorf("number %d is free twice, or given all the same", n)
		}
		free[n] = true
	}
	for n, m := range list {
		switch {
		case m == nil && !free[n]:
			return fmt.Errorf("number %d is lost", n)
		case m != nil && (m.number != n || c.rules[m.rule.index] != m.rule):
			return fmt.Errorf("number %d is of a version with number %d and rule %s", n, m.number, m.rule.name)
		}
	}
	for _, m := range *c.members.Load() {
		if list[m.number] != m {
			return fmt.Errorf("number %d of a version of rule %s is another's", m.number, m.rule.name)
		}
	}
	return nil
}

// beyondAddsUp counts what is not within the shares of rules, rule by rule.
func (sh *shard) beyondAddsUp() error {
	if sh.shares == nil {
		return nil
	}
	want := 0
	for i, n := range sh.counts {
		share := 0
		if i < len(sh.shares.keys) {
			share = sh.shares.keys[i]
		}
		want += max(0, n-share)
	}
	if sh.beyond != want {
		return fmt.Errorf("%d counted beyond the shares, %d there", sh.beyond, want)
	}
	return nil
}

// blocksOf counts the blocks that lists have, as their marks tell.
type blocksOf struct {
	logs, leases int
	err          error
}

func (b *blocksOf) add(l *list) {
	units, before, items := int64(0), uint64(1<<63), 0
	for at, n, mark := l.Next(0); mark != 0; at, n, mark = l.Next(mark) {
		units += n
		items++
		switch {
		case l.holders:
			b.leases++
		case mark>>3 != before>>3:
			b.logs++
		}
		before = mark
		if last := l.state()[0]; int64(at) > last {
			b.err = fmt.Errorf("an item of %d stands before the last, of %d", at, last)
		}
	}
	if units != l.chain.Units || items > l.fits && l.fits > 0 {
		b.err = fmt.Errorf("%d items of %d units in room for %d, counted %d", items, units, l.fits, l.chain.Units)
	}
}

// compare holds the sums against what the slabs have in use.
func (b *blocksOf) compare(l *lists) error {
	if b.err == nil && (b.logs != l.logs.Blocks() || b.leases != l.leases.Blocks()) {
		return fmt.Errorf("lists have %d and %d blocks, and %d and %d are in use", b.logs, b.leases, l.logs.Blocks(), l.leases.Blocks())
	}
	return b.err
}

// books is what a store knows for good: limits by version, rules by name.
func (c *crowd) books() string {
	text := map[string]bool{}
	for version, m := range *c.members.Load() {
		text[fmt.Sprintf("version %x of %s, %t", version, m.rule.name, m.expected)] = true
	}
	for _, r := range c.rules {
		if r != nil {
			text[fmt.Sprintf("rule %s: %d limits, %d reserved, %t, in a shard %d", r.name, r.limits, r.reserved, r.expected, c.shares.Load().keys[r.index])] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(text)), "\n")
}

// A store that has no cells for all of some limits goes on as it was, also where
// one of them would have taken the place of another version.
func TestAFailedExpectChangesNothing(t *testing.T) {
	c, err := newCrowd(64, plainCrowd()) // cells for 8 limits
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ExpectOnly(map[string]int{"b": 5}, c.limits[0], c.limits[2]); err != nil { // a 5/s, b 3/min
		t.Fatal(err)
	}
	out := make([]weir.Decision, 1)
	if _, _, err := c.Take(t.Context(), []weir.Take{c.take(4, 1, 1)}, out); err != nil { // c, which nobody expects
		t.Fatal(err)
	}
	before := c.books()
	many := []*weir.Limit{c.limits[1]} // a 2/s
	for i := range 8 {
		many = append(many, weir.MustLimit(fmt.Sprint("many-", i), "5/s"))
	}
	for name, err := range map[string]error{
		"Expect": c.Expect(many...), "ExpectOnly": c.ExpectOnly(map[string]int{"a": 7}, many...),
	} {
		if !errors.Is(err, weir.ErrNotApplied) || c.books() != before {
			t.Errorf("%s: %v; known before:\n%s\nand after it:\n%s", name, err, before, c.books())
		}
	}
	// Beside b there is room for seven: the other version of a, and c, go for them.
	if err := c.Expect(many[:7]...); err != nil {
		t.Fatal(err)
	}
	if c.find(c.limits[0].Version()) != nil || c.find(c.limits[4].Version()) != nil || len(*c.members.Load()) != 8 {
		t.Errorf("known are\n%s", c.books())
	}
	if err := c.sound(); err != nil {
		t.Error(err)
	}
	before = c.books()
	if err := c.Expect(weir.MustLimit("one", "1/s")); !errors.Is(err, weir.ErrNotApplied) || c.books() != before {
		t.Errorf("%v; known are\n%s", err, c.books())
	}
}

// A version of a limit is forgotten while entries name it; then comes another, of a
// rule that keeps its states under a new name. They count for the rule that has them.
func TestEntriesOfAForgottenVersionKeepTheirRule(t *testing.T) {
	c, err := newCrowd(64, plainCrowd()) // cells for 8 limits
	if err != nil {
		t.Fatal(err)
	}
	take := func(l *weir.Limit) {
		t.Helper()
		c.clock.Add(2_000_000) // so that limits may be looked through for some to forget
		k, tag := c.Keyer().Key(weir.Text("user", "one"))
		if _, _, err := c.Take(t.Context(), []weir.Take{{Limit: l, Key: k, Tag: tag, Cost: 1}}, make([]weir.Decision, 1)); err != nil {
			t.Fatal(err)
		}
		if err := c.sound(); err != nil {
			t.Fatalf("after a take of %s: %v", l.Name(), err)
		}
	}
	old := weir.MustLimit("old", "3/day")
	renamed, err := weir.NewLimitKeeping("new", "old", weir.Spec{Count: 4, Period: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	take(old)
	for i := 0; c.find(old.Version()) != nil; i++ {
		take(weir.MustLimit(fmt.Sprint("other-", i), "1000/s"))
	}
	take(renamed)
}

// A thousand reloads of a store that is full, each with other numbers and other
// names: what they leave behind goes when it says no more.
func TestReloadsLeakNoMembers(t *testing.T) {
	c, err := newCrowd(64, plainCrowd())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		kept, err := weir.NewLimitKeeping(fmt.Sprint("renamed-", i), "b", weir.Spec{Count: int64(1 + i%7), Period: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		fresh := weir.MustLimit(fmt.Sprint("fresh-", i), "5/s")
		if err := c.ExpectOnly(map[string]int{fresh.Rule(): 5}, kept, fresh); err != nil {
			t.Fatal(err)
		}
		for caller := range 100 {
			k, tag := c.Keyer().Key(weir.Text("user", fmt.Sprint(caller)))
			for _, l := range []*weir.Limit{kept, fresh} {
				if _, _, err := c.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Tag: tag, Cost: 1}}, make([]weir.Decision, 1)); err != nil {
					t.Fatal(err)
				}
			}
		}
		n, numbers := len(*c.members.Load()), len(*c.numbered.Load())
		if n > c.sizes.limits || len(c.rules) > 20 || numbers > 2*c.sizes.keys {
			t.Fatalf("reload %d: %d versions, %d numbers and %d rules", i, n, numbers, len(c.rules))
		}
		c.clock.Add(10_000_000)
	}
	if err := c.sound(); err != nil {
		t.Error(err)
	}
	if err := c.ExpectOnly(nil, c.limits[0]); err != nil {
		t.Fatal(err)
	}
	c.clock.Add(3_600_000_000)
	c.prune()
	if n := len(*c.members.Load()); n != 1 || len(c.Stats().Rules) != 1 {
		t.Errorf("%d versions and %d rules are left, want one each", n, len(c.Stats().Rules))
	}
}

// Whatever is granted can be seen afterwards: by no lack of room, no new rule in
// the middle of a call and no shared cell does a take pass without a trace.
func TestWhatIsGrantedLeavesATrace(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys, texts := rapid.SampledFrom([]int{64, 80, 200}).Draw(r, "keys"), plainCrowd()
		if keys >= 200 {
			texts = [][]string{texts, listedCrowd(), blockingCrowd()}[rapid.IntRange(0, 2).Draw(r, "crowd")]
		}
		c, err := newCrowd(keys, texts)
		if err != nil {
			r.Fatal(err)
		}
		for range rapid.IntRange(20, 150).Draw(r, "calls") {
			c.clock.Add(int64(rapid.SampledFrom([]int{0, 0, 1000, 300_000, 20_000_000}).Draw(r, "wait")))
			takes := make([]weir.Take, rapid.IntRange(1, 4).Draw(r, "takes"))
			for i := range takes {
				takes[i] = c.take(rapid.IntRange(0, len(c.limits)-1).Draw(r, "limit"), rapid.IntRange(0, 120).Draw(r, "caller"), 1)
			}
			out := make([]weir.Decision, len(takes))
			ok, _, err := c.Take(context.Background(), takes, out)
			if err != nil && !errors.Is(err, weir.ErrInvalid) {
				r.Fatal(err)
			}
			if err == nil && ok {
				c.traced(r, takes)
			}
			if err := c.sound(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// traced peeks at every state of a call that was just granted.
func (c *crowd) traced(r *rapid.T, takes []weir.Take) {
	for _, t := range takes {
		out := make([]weir.Decision, 1)
		t.How, t.Slot = weir.Peek, weir.SlotID{}
		if _, _, err := c.Take(context.Background(), []weir.Take{t}, out); err != nil {
			r.Fatal(err)
		}
		if out[0].Remaining >= t.Limit.Capacity() {
			r.Fatalf("limit %s (%s): a take was granted, and %d of %d are left", t.Limit.Name(), t.Limit, out[0].Remaining, t.Limit.Capacity())
		}
	}
}

// The books add up after any traffic of many goroutines in a crowded store.
func TestBooksAddUpInACrowd(t *testing.T) {
	booksAddUp(t, 96, plainCrowd())
	booksAddUp(t, 200, listedCrowd())
	booksAddUp(t, 200, blockingCrowd())
}

func booksAddUp(t *testing.T, keys int, texts []string) {
	t.Helper()
	c, err := newCrowd(keys, texts)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 7))
			for range 4000 {
				if err := c.anything(r); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := c.sound(); err != nil {
		t.Error(err)
	}
}

// reload makes some of the limits all that is expected.
func (c *crowd) reload(r *rand.Rand) error {
	limits := []*weir.Limit{c.limits[r.IntN(2)], c.limits[3+r.IntN(3)]}
	limits = append(limits, c.limits[[]int{2, len(c.limits) - 1, len(c.limits) - 2}[r.IntN(3)]])
	return c.ExpectOnly(map[string]int{"b": 1 + r.IntN(4)}, limits...)
}

// anything makes one random call of any kind.
func (c *crowd) anything(r *rand.Rand) error {
	ctx := context.Background()
	c.clock.Add(r.Int64N(50_000))
	fresh := weir.MustLimit("a", fmt.Sprint(1+r.IntN(500), "/min"))
	take := c.take(r.IntN(len(c.limits)), r.IntN(200), 1+r.Int64N(3))
	switch r.IntN(15) {
	case 0:
		err := c.Reset(ctx, take.Limit, take.Key)
		if err != nil && !errors.Is(err, weir.ErrNotApplied) {
			return err
		}
	case 1:
		return c.Expect(c.limits[r.IntN(len(c.limits))])
	case 4:
		if err := c.Expect(fresh); !errors.Is(err, weir.ErrNotApplied) {
			return err
		}
	case 5:
		take := weir.Take{Limit: fresh, Key: take.Key, Tag: take.Tag, Cost: 1}
		if _, _, err := c.Take(ctx, []weir.Take{take}, make([]weir.Decision, 1)); !errors.Is(err, weir.ErrNotApplied) {
			return err
		}
	case 2:
		c.prune()
	case 6:
		return c.reload(r)
	case 3:
		c.Stats()
	default:
		other := c.take(r.IntN(len(c.limits)), r.IntN(200), 1)
		if other.Slot == (weir.SlotID{}) && r.IntN(4) == 0 {
			other.How, other.Cost = weir.Force, 9
		}
		takes, out := []weir.Take{take, other}, make([]weir.Decision, 2)
		if _, _, err := c.Take(ctx, takes, out); err != nil {
			if errors.Is(err, weir.ErrInvalid) || errors.Is(err, weir.ErrNotApplied) {
				return nil
			}
			return err
		}
		if out[0].Receipt.Cost > 0 && r.IntN(3) == 0 {
			back := weir.Return{Limit: take.Limit, Key: take.Key, Tag: take.Tag, Receipt: out[0].Receipt, Units: 1}
			if take.Slot != (weir.SlotID{}) {
				back.Slot, back.Renew, back.Receipt, back.Units = take.Slot, r.IntN(2) == 0, weir.Receipt{}, 0
			}
			if _, err := c.Return(ctx, []weir.Return{back}); !errors.Is(err, weir.ErrLost) {
				return err
			}
		}
	}
	return nil
}
