package memstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/table"
)

// slotsAddUp reports a rule whose count of slots is not what its lists hold.
func (c *crowd) slotsAddUp() error {
	held := map[*rule]int64{}
	count := func(m *member, l list) {
		if m.slots == nil {
			return
		}
		for _, _, mark := l.Next(0); mark != 0; _, _, mark = l.Next(mark) {
			held[m.rule]++
		}
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.entries.Each(func(e *table.Slot) {
			if m := c.member(e); m.slots != nil {
				count(m, s.listOf(e, m))
			}
		})
	}
	for _, m := range *c.members.Load() {
		for i := range m.cells {
			if m.slots != nil {
				count(m, c.cellList(m, i))
			}
		}
	}
	for _, r := range c.rules {
		if r != nil && r.slots.Load() != held[r] {
			return fmt.Errorf("rule %s: %d slots counted, %d there", r.name, r.slots.Load(), held[r])
		}
	}
	return nil
}

// slots checks how many a rule is said to hold.
func (d *desk) slots(rule string, want int) {
	d.Helper()
	d.check()
	if got := d.Stats().Rules[rule].Slots; got != want {
		d.Errorf("rule %s holds %d slots, want %d", rule, got, want)
	}
}

// giveBack releases a slot that a take was granted.
func (d *desk) giveBack(t *weir.Take) {
	d.Helper()
	if _, err := d.Return(context.Background(), []weir.Return{{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Slot: t.Slot}}); err != nil {
		d.Fatal(err)
	}
}

// Slots are counted when they are granted, once each, and no more when they are
// released, or when their key is met after their leases have ended.
func TestSlotsThatAreHeldAreCounted(t *testing.T) {
	d := newDesk(t, 1000)
	l, other := weir.MustLimit("jobs", "3 concurrent lease 10s"), weir.MustLimit("jobs/all", "5 concurrent lease 10s")
	slot := func(l *weir.Limit, key, name byte) *weir.Take {
		return &weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: uint64(key), Cost: 1, Slot: weir.SlotID{name}}
	}
	first, second := slot(l, 1, 1), slot(l, 1, 2)
	for _, take := range []*weir.Take{first, second, first, slot(l, 2, 3), slot(other, 1, 4)} { // one of them asks again
		d.call(*take)
	}
	d.slots("jobs", 4)
	d.giveBack(second)
	d.giveBack(second)
	d.slots("jobs", 3)
	d.now += 10_000_000
	d.slots("jobs", 3) // the leases have ended, and nobody has looked
	d.call(*slot(l, 1, 9))
	d.slots("jobs", 3) // the one of key 1 is found to have ended; another is granted
	if err := d.Reset(context.Background(), l, first.Key); err != nil {
		t.Fatal(err)
	}
	d.slots("jobs", 2)
	d.sweepAll(d.now)
	d.slots("jobs", 0)
}

// Slots go along with their limit to the rule that keeps its states, from entries and
// from cells.
func TestSlotsAreCountedForTheHeir(t *testing.T) {
	d := newDesk(t, 64)
	l, plain := weir.MustLimit("old", "2 concurrent lease 1h"), weir.MustLimit("plain", "1/day")
	if err := d.ExpectOnly(nil, l, plain); err != nil {
		t.Fatal(err)
	}
	take := func(key byte) weir.Mode {
		return d.call(weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: uint64(key), Cost: 1, Slot: weir.SlotID{key}}).Mode
	}
	if mode := take(1); mode != weir.Exact {
		t.Fatalf("the first key is decided in mode %s", mode)
	}
	d.fill(plain)
	shared := byte(2)
	for take(shared) != weir.Overflow {
		shared++
	}
	held := int(shared)
	d.slots("old", held)
	spec, err := weir.ParseSpec("2 concurrent lease 1h")
	if err != nil {
		t.Fatal(err)
	}
	heir, err := weir.NewLimitKeeping("new", "old", spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.ExpectOnly(nil, heir, plain); err != nil {
		t.Fatal(err)
	}
	d.slots("new", held)
	d.slots("old", 0)
}

// What entries take is told by rule, and comes to what is taken in all.
func TestRoomTakenIsToldByRule(t *testing.T) {
	d := newDesk(t, 200_000)
	l, plain := weir.MustLimit("jobs", "20 concurrent"), weir.MustLimit("plain", "1/day")
	for key := range byte(40) {
		d.call(weir.Take{Limit: l, Key: weir.Key{key, 15: key}, Cost: 1, Slot: weir.SlotID{key, 1}})
		d.call(weir.Take{Limit: plain, Key: weir.Key{key, 15: key}, Cost: 1})
	}
	st := d.Stats()
	if jobs, plain := st.Rules["jobs"], st.Rules["plain"]; jobs.Used != 40*21 || jobs.Keys != 40 || plain.Used != 40 || !jobs.HasSlots || plain.HasSlots || st.Used != 40*21+40 {
		t.Errorf("%+v", st)
	}
}

// A slot that is let through uncounted is kept nowhere: no block of it is left behind.
func TestSlotsThatAreNotKeptTakeNoBlocks(t *testing.T) {
	d := newDesk(t, 64)
	d.onFull = Admit
	l := weir.MustLimit("jobs", "1 concurrent")
	uncounted := 0
	for i := range byte(100) {
		if got := d.call(weir.Take{Limit: l, Key: weir.Key{1, i, 15: i}, Tag: uint64(i), Cost: 1, Slot: weir.SlotID{i, 1}}); got.Mode == weir.Open {
			uncounted++
		}
		d.check()
	}
	if uncounted < 10 {
		t.Fatalf("%d were let through uncounted", uncounted)
	}
}
