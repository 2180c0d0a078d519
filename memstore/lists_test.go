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
	for i, m := range []*member{{number: 5, slots: &algorithm.Concurrency{}, rule: &rule{}}, {number: mostVersions - 1}} {
		e := sh.entries.Insert(uint64(i) + 1)
		e.Words[1] |= kept
		want := list{in: &sh.lists, holders: m.slots != nil, fits: algorithm.MostEntries, chain: table.Chain{First: most, Last: most - 1, Units: algorithm.MostEntries - 1}}
		sh.putList(e, m, &want)
		if got := sh.listOf(e, m); got != want || version(e) != m.number || !isKept(e) || isWide(e) {
			t.Errorf("got %+v of version %d, want %+v", got, version(e), want)
		}
		if m.rule != nil && m.rule.slots.Load() != want.chain.Units {
			t.Errorf("%d slots are counted, want %d", m.rule.slots.Load(), want.chain.Units)
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

// Of every limit that is accepted a key has an entry of its own, in any part of an empty
// store and beside any number of rules.
func TestEveryLimitMayHaveAnEntry(t *testing.T) {
	for _, text := range []string{"4095/min sliding-log", "4095 concurrent", "600 concurrent", "40 concurrent"} {
		l := weir.MustLimit("big", text)
		for _, keys := range []int{150, 900, 12_000, 19_000, 37_000, 85_797, 149_797, 300_000, 599_188, 1_000_000} {
			for _, rules := range []int{0, 1, 6, 19} {
				d := newDesk(t, keys)
				limits := []*weir.Limit{l}
				for i := range rules {
					limits = append(limits, weir.MustLimit(fmt.Sprint("r", i), "1/s"))
				}
				if _, refused := errors.AsType[*weir.FieldError](d.Expect(limits...)); refused {
					continue
				}
				met := map[int]bool{}
				for i := 0; len(met) < len(d.shards); i++ {
					k := weir.Key{byte(i), byte(i >> 8), byte(i >> 16)}
					at := address{l.ID(), k}
					shard := d.shardOf(at.fingerprint())
					if met[shard] {
						continue
					}
					met[shard] = true
					out := make([]weir.Decision, 1)
					if _, _, err := d.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Cost: 1, Slot: slotFor(l)}}, out); err != nil || out[0].Mode != weir.Exact {
						t.Fatalf("%s in %d keys beside %d rules, part %d of %d: %+v, %v", text, keys, rules, shard, len(d.shards), out[0], err)
					}
				}
				d.check()
			}
		}
	}
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

// A key that shares a cell stays there until it holds no slot in it any more; its slots
// come back all the same. Others who share the cell leave it as soon as there is room.
func TestSlotsStayInTheirCell(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("slots", "3 concurrent lease 1s"), weir.MustLimit("filler", "1/s")
	if err := d.Expect(filler); err != nil {
		t.Fatal(err)
	}
	d.fill(filler)
	slot := func(key, holder byte) weir.Decision {
		return d.call(weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1, Slot: weir.SlotID{holder}})
	}
	d.want("in a cell", slot(1, 1).Mode, weir.Overflow)
	d.want("another key's, in the same cell", slot(2, 1).Remaining, int64(1))
	d.now += 900_000
	d.want("renewed there", d.giveOne(l, 1, 1, true), nil)
	d.want("the other key's", d.giveOne(l, 2, 1, false), nil)
	d.now += 200_000 // what filled the store is dead: there is room
	if got := slot(1, 2); got.Mode != weir.Overflow || got.Remaining != 1 {
		t.Errorf("a second slot beside one in the cell: %+v", got)
	}
	if got := slot(2, 1); got.Mode != weir.Exact || got.Remaining != 2 {
		t.Errorf("another key's, which holds nothing in the cell: %+v", got)
	}
	d.want("the cell's third", slot(1, 3).Allowed, true)
	d.want("and no fourth", slot(1, 4).Allowed, false)
	for holder := byte(1); holder <= 3; holder++ {
		d.want("one comes back", d.giveOne(l, 1, holder, false), nil)
	}
	if got := slot(1, 5); got.Mode != weir.Exact || got.Remaining != 2 {
		t.Errorf("when it holds none in the cell: %+v", got)
	}
}

// Of two keys of one call that found a cell one may leave it and the other stay: each
// holds what it was granted, where it was granted it, and nothing of the other's.
func TestSlotsLeaveTheirCellInOneCall(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("slots", "3 concurrent lease 10s"), weir.MustLimit("filler", "1/s")
	if err := d.Expect(filler); err != nil {
		t.Fatal(err)
	}
	d.fill(filler)
	take := func(key, holder byte) weir.Take {
		return weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1, Slot: weir.SlotID{holder}}
	}
	d.want("in a cell", d.call(take(1, 1)).Mode, weir.Overflow)
	d.now += 2_000_000
	out := make([]weir.Decision, 4)
	if ok, _, err := d.Take(context.Background(), []weir.Take{take(2, 1), take(1, 2), take(1, 3), take(2, 2)}, out); !ok || err != nil {
		t.Fatalf("%t, %v, %+v", ok, err, out)
	}
	d.check()
	for i, left := range []int64{1, 0, 0, 1} {
		d.want(fmt.Sprint("left after take ", i), out[i].Remaining, left)
	}
	d.want("its slots come back: the first", d.giveOne(l, 2, 1, true), nil)
	d.want("and the second", d.giveOne(l, 2, 2, true), nil)
	d.want("the cell is full", d.call(take(1, 4)).Allowed, false)
}

// A second of flood passes. Callers who come and go all the time, so that their cell is
// never empty, are limited by themselves again once there is room.
func TestSlotsLeaveAHotCell(t *testing.T) {
	const callers = 200
	d := newDesk(t, 2000)
	l, filler := weir.MustLimit("slots", "8 concurrent"), weir.MustLimit("filler", "1/s")
	if err := d.Expect(l, filler); err != nil {
		t.Fatal(err)
	}
	ctx, out, back := context.Background(), make([]weir.Decision, 1), []weir.Return{{Limit: l}}
	var held [callers]byte // the slot that each holds, 0 for none
	refused, shared := 0, 0
	// Each caller comes once in ten steps, and holds what he gets for five of them.
	step := func(n int) {
		d.now += 10_000
		for i := range callers {
			k := weir.Key{4, byte(i), 15: byte(i)}
			switch {
			case i%10 == n%10:
				held[i] = byte(n%200) + 1
				ok, _, err := d.Take(ctx, []weir.Take{{Limit: l, Key: k, Cost: 1, Slot: weir.SlotID{held[i]}}}, out)
				if err != nil {
					t.Fatal(err)
				}
				if out[0].Mode == weir.Overflow {
					shared++
				}
				if !ok {
					held[i], refused = 0, refused+1
				}
			case i%10 == (n+5)%10 && held[i] != 0:
				back[0].Key, back[0].Slot = k, weir.SlotID{held[i]}
				if _, err := d.Return(ctx, back); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for n := range 100 {
		for i := range 2000 { // the flood
			k := weir.Key{9, byte(i), byte(i >> 8), byte(n)}
			if _, _, err := d.Take(ctx, []weir.Take{{Limit: filler, Key: k, Cost: 1}}, out); err != nil {
				t.Fatal(err)
			}
		}
		step(n)
	}
	if refused == 0 {
		t.Fatal("no caller shares a cell: this test says nothing")
	}
	for n := range 200 {
		step(n)
	}
	refused, shared = 0, 0
	for n := range 100 {
		step(n)
	}
	d.check()
	if refused+shared > 0 {
		t.Errorf("two seconds after the flood %d of %d were refused within one, and %d shared a cell", refused, 10*callers, shared)
	}
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

// Of two keys of one call that share a cell one may leave it, with what it shared, and
// the other stay: the one that leaves takes nothing along of what the other is charged
// in that call, though it be at the instant of a charge that it shared.
func TestALogLeavesItsCellWithoutItsNeighboursCharge(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("log", "10/min sliding-log"), weir.MustLimit("filler", "1/day")
	if err := d.Expect(l, filler); err != nil {
		t.Fatal(err)
	}
	d.fill(filler)
	take := func(key byte, cost int64, how weir.How) weir.Take {
		return weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: cost, How: how}
	}
	first := d.call(take(100, 1, 0))
	d.want("the first", first.Mode, weir.Exact)
	for key := byte(101); d.call(take(key, 1, 0)).Mode == weir.Exact; key++ { // the last one shares a cell
	}
	if _, err := d.Return(context.Background(), []weir.Return{{Limit: l, Key: weir.Key{15: 100}, Tag: 7, Receipt: first.Receipt, Units: 1}}); err != nil {
		t.Fatal(err)
	}
	out := make([]weir.Decision, 2)
	if ok, _, err := d.Take(context.Background(), []weir.Take{take(1, 3, 0), take(2, 4, 0)}, out); !ok || err != nil {
		t.Fatalf("%t, %v, %+v", ok, err, out)
	}
	d.check()
	d.want("left of the one that left", d.call(take(1, 1, weir.Peek)).Remaining, int64(10-1-3))
	d.want("and it is by itself", d.call(take(1, 1, weir.Peek)).Mode, weir.Exact)
	d.want("left in the cell", d.call(take(2, 1, weir.Peek)), weir.Decision{Allowed: true, Granted: 1, Remaining: 10 - 1 - 4, ResetAfter: 60_000_000, Mode: weir.Overflow})
}
