package memstore

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// What a limit says of its memory is what its keys reserve, for every count.
func TestRoomIsWhatMemorySays(t *testing.T) {
	for count := 1; count <= algorithm.MostEntries; count++ {
		for _, text := range []string{"%d/min sliding-log", "%d concurrent"} {
			l := weir.MustLimit("l", fmt.Sprintf(text, count))
			m := &member{}
			m.list, _ = l.Algorithm().(algorithm.Lister)
			m.slots, _ = l.Algorithm().(*algorithm.Concurrency)
			if room := m.roomFor(m.list.Entries()); room*entryBytes != l.Memory() || room != roomOf(l) {
				t.Fatalf("%s takes %d bytes, and room for %d", l, l.Memory(), room)
			}
		}
	}
	if l := weir.MustLimit("l", "5/s"); roomOf(l) != 1 {
		t.Errorf("%s takes room for %d", l, roomOf(l))
	}
}

// Every bit of the words of a list is somebody's.
func TestListsInSlots(t *testing.T) {
	sh := &shard{}
	most := uint64(1)<<table.MarkBits - 1
	for i, m := range []*member{{number: 5, slots: &algorithm.Concurrency{}}, {number: mostVersions - 1}} {
		e := sh.entries.Insert(uint64(i) + 1)
		e.Words[1] |= kept
		want := list{in: &sh.lists, holders: m.slots != nil, fits: algorithm.MostEntries, chain: table.Chain{First: most, Last: most - 1, Units: algorithm.MostEntries - 1}}
		sh.putList(e, m, &want)
		if got := sh.listOf(e, m); got != want || version(e) != m.number || !isKept(e) || isWide(e) {
			t.Errorf("got %+v of version %d, want %+v", got, version(e), want)
		}
	}
}

// desk is a store with a clock that a test turns, whose books are looked at after
// every call.
type desk struct {
	*testing.T
	*Store
	now weir.Micros
}

func newDesk(t *testing.T, keys int) *desk {
	t.Helper()
	d := &desk{T: t, now: 1_790_000_000_000_000}
	s, err := New(Config{MaxKeys: keys, Now: func() weir.Micros { return d.now }})
	if err != nil {
		t.Fatal(err)
	}
	d.Store = s
	return d
}

func (d *desk) check() {
	d.Helper()
	if err := (&crowd{Store: d.Store}).sound(); err != nil {
		d.Fatal(err)
	}
}

// ask takes so much for a key, of which the last byte is the tag.
func (d *desk) ask(l *weir.Limit, key byte, cost int64) weir.Decision {
	d.Helper()
	return d.call(weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: uint64(key), Cost: cost})
}

func (d *desk) call(t weir.Take) weir.Decision {
	d.Helper()
	var out [1]weir.Decision
	if _, _, err := d.Take(context.Background(), []weir.Take{t}, out[:]); err != nil {
		d.Fatal(err)
	}
	d.check()
	return out[0]
}

func (d *desk) want(what string, got, want any) {
	d.Helper()
	if got != want {
		d.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// fill takes with new keys of a limit until one finds no room.
func (d *desk) fill(l *weir.Limit) {
	d.Helper()
	for i := range 100_000 {
		k := weir.Key{1, byte(i), byte(i >> 8), 15: 200}
		var out [1]weir.Decision
		if _, _, err := d.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Cost: 1}}, out[:]); err != nil {
			d.Fatal(err)
		}
		if out[0].Mode == weir.Overflow {
			return
		}
	}
	d.Fatal("the store is never full")
}

// used is how much room entries and reservations take.
func (d *desk) used() (n int) {
	for i := range d.shards {
		n += d.shards[i].used
	}
	return n
}

// A log's entry has room for all that its limit may remember, from the beginning: more
// of it when the count rises, and less when that has fallen and the list fits.
func TestRoomOfALogFollowsItsCount(t *testing.T) {
	d := newDesk(t, 1000)
	few, many := weir.MustLimit("log", "3 per 100us sliding-log"), weir.MustLimit("log", "50 per 100us sliding-log")
	d.ask(few, 1, 1)
	d.want("room of 3", d.used(), roomOf(few))
	for range 20 {
		d.now++
		d.ask(many, 1, 1)
	}
	d.want("room of 50", d.used(), roomOf(many))
	d.want("left of 3", d.ask(few, 1, 1), weir.Decision{RetryAfter: 98, ResetAfter: 100})
	d.want("room, while 21 are remembered", d.used(), roomOf(many))
	d.now += 98
	d.ask(few, 1, 1)
	d.want("room, when 3 are left", d.used(), roomOf(few))
	d.now += 100
	d.ask(many, 1, 7)
	if _, err := d.Return(context.Background(), []weir.Return{{Limit: many, Key: weir.Key{15: 1}, Receipt: weir.Receipt{At: d.now, Cost: 7}, Units: 7}}); err != nil {
		t.Fatal(err)
	}
	d.check()
	d.want("room, when all came back", d.used(), 0)
}

// Where there is no room for more, a key goes on under the count that it has room for;
// the wait that it is told is exact under that.
func TestALogThatCannotGrow(t *testing.T) {
	d := newDesk(t, 1000)
	few, many := weir.MustLimit("log", "3 per 100us sliding-log"), weir.MustLimit("log", "50 per 100us sliding-log overdraft 60")
	filler := weir.MustLimit("filler", "1/day")
	if err := d.Expect(few, many, filler); err != nil {
		t.Fatal(err)
	}
	d.ask(few, 1, 2)
	for i := range byte(120) { // what is left of the rule's share
		d.call(weir.Take{Limit: few, Key: weir.Key{2, i, 15: 3}, Cost: 1})
	}
	d.fill(filler)
	d.now += 10
	d.want("one of 50, with room for 3", d.ask(many, 1, 1), weir.Decision{Allowed: true, Granted: 1, ResetAfter: 100, Receipt: weir.Receipt{At: d.now, Cost: 1}, Mode: weir.Overflow})
	d.want("one more", d.ask(many, 1, 1), weir.Decision{RetryAfter: 90, ResetAfter: 100, Mode: weir.Overflow})
	d.want("as many as there is no room for", d.ask(many, 1, 40), weir.Decision{RetryAfter: fullWait, ResetAfter: 100, Mode: weir.Overflow})
	d.want("as many as never fit", d.ask(many, 1, 51), weir.Decision{Never: true, ResetAfter: 100, Mode: weir.Overflow})
	forced := d.call(weir.Take{Limit: many, Key: weir.Key{15: 1}, Tag: 1, Cost: 9, How: weir.Force})
	d.want("by force", forced.Granted, int64(0))
	debt := weir.MustLimit("log", "3 per 100us sliding-log overdraft 60") // as many, and more by force
	d.now += 89
	forced = d.call(weir.Take{Limit: debt, Key: weir.Key{15: 1}, Tag: 1, Cost: 9, How: weir.Force})
	d.want("by force, beyond a count that fits", forced.Granted, int64(0))
	d.want("a µs too early", d.ask(many, 1, 1).Allowed, false)
	d.now++
	d.want("a unit when it was told", d.ask(many, 1, 1).Allowed, true)
}

// The same of slots.
func TestSlotsThatCannotGrow(t *testing.T) {
	d := newDesk(t, 1000)
	few, many := weir.MustLimit("slots", "2 concurrent"), weir.MustLimit("slots", "40 concurrent")
	filler := weir.MustLimit("filler", "1/day")
	if err := d.Expect(few, many, filler); err != nil {
		t.Fatal(err)
	}
	slot := func(l *weir.Limit, holder byte) weir.Decision {
		return d.call(weir.Take{Limit: l, Key: weir.Key{15: 1}, Tag: 1, Cost: 1, Slot: weir.SlotID{holder}})
	}
	d.want("the first", slot(few, 1).Allowed, true)
	for i := range byte(150) {
		d.call(weir.Take{Limit: few, Key: weir.Key{2, i, 15: 3}, Cost: 1, Slot: weir.SlotID{1}})
	}
	d.fill(filler)
	d.want("the second of 40, with room for 2", slot(many, 2).Remaining, int64(0))
	third := slot(many, 3)
	d.want("the third", third, weir.Decision{RetryAfter: 60_000_000, ResetAfter: 60_000_000, Mode: weir.Overflow})
	d.want("the second again", slot(many, 2).Allowed, true)
}

// A limit that the store is too small for is refused, with a size that is enough.
func TestTooSmallForALimit(t *testing.T) {
	f := func(keys int, text string) {
		t.Helper()
		d := newDesk(t, keys)
		l := weir.MustLimit("big", text)
		_, _, first := d.Take(context.Background(), []weir.Take{{Limit: l, Cost: 1, Slot: slotFor(l)}}, make([]weir.Decision, 1))
		for how, err := range map[string]error{"Expect": d.Expect(l), "ExpectOnly": d.ExpectOnly(nil, l), "the first take": first} {
			refusal, ok := errors.AsType[*weir.FieldError](err)
			if !ok || refusal.Field != "limit big" || refusal.Value != l.String() {
				t.Errorf("%s in %d keys, %s: %v", text, keys, how, err)
				continue
			}
			var enough int
			if _, err := fmt.Sscanf(refusal.Remedy, "set memstore.Config.MaxKeys (max_keys in a rules file) to %d", &enough); err != nil {
				t.Errorf("%s: %v", refusal.Remedy, err)
				continue
			}
			for _, keys := range []int{enough, enough + 1, 2 * enough, 5*enough + 3} {
				if err := newDesk(t, keys).Expect(l); err != nil {
					t.Errorf("%s in %d keys, where %d were said to be enough: %v", text, keys, enough, err)
				}
			}
		}
		if len(*d.members.Load()) != 0 || len(d.Stats().Rules) != 0 {
			t.Error("something of it is known")
		}
	}
	f(64, "20/min sliding-log")
	f(64, "8 concurrent")
	f(1000, "600/min sliding-log")
	f(1000, "4095 concurrent")
	f(100_000, "4095 concurrent")
}

func slotFor(l *weir.Limit) (id weir.SlotID) {
	if l.Spec().Algorithm == weir.Concurrency {
		id[0] = 1
	}
	return id
}

// Two keys that meet in one cell may have holders of one name: they are two.
func TestHoldersOfOneNameInOneCell(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("slots", "3 concurrent"), weir.MustLimit("filler", "1/day")
	d.fill(filler)
	take := func(key byte) weir.Take {
		return weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1, Slot: weir.SlotID{9}}
	}
	out := make([]weir.Decision, 2)
	if ok, _, err := d.Take(context.Background(), []weir.Take{take(1), take(2)}, out); !ok || err != nil || out[1].Mode != weir.Overflow || out[1].Remaining != 1 {
		t.Fatalf("%t, %v, %+v", ok, err, out)
	}
	d.check()
	d.want("the first asks again", d.call(take(1)).Remaining, int64(1))
	back := weir.Return{Limit: l, Key: weir.Key{15: 1}, Tag: 7, Slot: weir.SlotID{9}}
	for range 3 {
		if _, err := d.Return(context.Background(), []weir.Return{back}); err != nil {
			t.Fatal(err)
		}
		d.check()
	}
	d.want("left after the first's release", d.call(take(3)).Remaining, int64(1))
	back.Renew = true
	_, err := d.Return(context.Background(), []weir.Return{back})
	d.want("its renewal is lost", errors.Is(err, weir.ErrLost), true)
}

// A key that shares a cell stays there until nobody holds a slot in it; its slots come
// back all the same.
func TestSlotsStayInTheirCell(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("slots", "2 concurrent lease 1s"), weir.MustLimit("filler", "1/s")
	if err := d.Expect(filler); err != nil {
		t.Fatal(err)
	}
	d.fill(filler)
	slot := func(key, holder byte) weir.Decision {
		return d.call(weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1, Slot: weir.SlotID{holder}})
	}
	d.want("in a cell", slot(1, 1).Mode, weir.Overflow)
	d.now += 900_000
	d.want("renewed there", d.giveOne(l, 1, 1, true), nil)
	d.now += 200_000 // what filled the store is dead: there is room
	if got := slot(1, 2); got.Mode != weir.Overflow || got.Remaining != 0 {
		t.Errorf("a second slot beside one in the cell: %+v", got)
	}
	d.want("a third", slot(1, 3).Allowed, false)
	d.want("another key's, in the same cell", slot(2, 1).Allowed, false)
	d.want("one comes back", d.giveOne(l, 1, 1, false), nil)
	d.want("the other", d.giveOne(l, 1, 2, false), nil)
	if got := slot(1, 4); got.Mode != weir.Exact || got.Remaining != 1 {
		t.Errorf("when the cell is empty: %+v", got)
	}
	d.want("another key", slot(2, 1).Mode, weir.Exact)
	d.check()
}

// giveOne releases one slot, or renews it.
func (s *Store) giveOne(l *weir.Limit, key, holder byte, renew bool) error {
	_, err := s.Return(context.Background(), []weir.Return{{Limit: l, Key: weir.Key{15: key}, Tag: 7, Slot: weir.SlotID{holder}, Renew: renew}})
	return err
}

// A log that a key shared comes along charge by charge, so that its waits are those
// of the cell; and the cell keeps its own.
func TestALogComesAlongFromItsCell(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("log", "3 per 10s sliding-log"), weir.MustLimit("filler", "1 per 5s")
	if err := d.Expect(filler); err != nil {
		t.Fatal(err)
	}
	d.fill(filler)
	take := func(key byte) weir.Decision {
		return d.call(weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1})
	}
	for key := range byte(3) {
		got := take(key)
		d.want("in a cell", got.Mode, weir.Overflow)
		d.want("its receipt", got.Receipt, weir.Receipt{})
		d.now += 1_000_000
	}
	d.now += 2_000_000 // there is room
	d.want("refused, it stays where it is", take(1), weir.Decision{RetryAfter: 5_000_000, ResetAfter: 7_000_000, Mode: weir.Overflow})
	d.now += 5_000_000
	d.want("granted, with what it shared", take(1).Mode, weir.Overflow)
	d.want("by itself", take(1), weir.Decision{RetryAfter: 1_000_000, ResetAfter: 10_000_000})
	d.now += 1_000_000
	d.want("when the second of the cell is over", take(1).Allowed, true)
	d.want("the cell has one left: another key", take(2).Allowed, true)
	d.want("and that one has its own entry now", take(2).Allowed, true)
	d.want("which is full", take(2).Allowed, false)
}

// A call that comes to nothing keeps no room, neither for new keys nor for more in an
// old one's list.
func TestAStaleCallKeepsNoRoom(t *testing.T) {
	d := newDesk(t, 1000)
	few, many, day := weir.MustLimit("log", "3/s sliding-log"), weir.MustLimit("log", "50/s sliding-log"), weir.MustLimit("day", "5/day calendar UTC")
	d.ask(few, 1, 1)
	takes := []weir.Take{
		{Limit: many, Key: weir.Key{15: 1}, Tag: 1, Cost: 1},
		{Limit: many, Key: weir.Key{15: 2}, Tag: 1, Cost: 1},
		{Limit: day, Key: weir.Key{15: 1}, Tag: 1, Cost: 1},
	}
	for range 3 {
		if _, _, err := d.Take(context.Background(), takes, make([]weir.Decision, 3)); !errors.Is(err, weir.ErrStale) {
			t.Fatal(err)
		}
		d.check()
		d.want("room", d.used(), roomOf(few))
	}
}
