package memstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/weirhq/weir"
)

// full is a desk without room for more, where a key of a limit has an entry of its own,
// in which so many units are charged.
func full(t *testing.T, few, many *weir.Limit, units int64) *desk {
	t.Helper()
	d := newDesk(t, 1000)
	filler := weir.MustLimit("filler", "1/day")
	if err := d.Expect(few, many, filler); err != nil {
		t.Fatal(err)
	}
	d.ask(few, 1, units)
	for i := range byte(150) { // what is left of the rule's share
		d.call(weir.Take{Limit: few, Key: weir.Key{2, i, 15: 3}, Cost: 1, Slot: slotFor(few)})
	}
	d.fill(filler)
	return d
}

// A key that has room for one charge fewer than its limit admits is refused that one:
// what was granted would have no place.
func TestALogThatLacksOnePlace(t *testing.T) {
	d := full(t, weir.MustLimit("log", "1 per 100us sliding-log"), weir.MustLimit("log", "2 per 100us sliding-log"), 1)
	many := weir.MustLimit("log", "2 per 100us sliding-log")
	d.now += 10
	d.want("the second of 2, with room for 1", d.ask(many, 1, 1), weir.Decision{RetryAfter: 90, ResetAfter: 90, Mode: weir.Overflow})
	d.want("both of 2", d.ask(many, 1, 2), weir.Decision{RetryAfter: fullWait, ResetAfter: 90, Mode: weir.Overflow})
	look := d.call(weir.Take{Limit: many, Key: weir.Key{15: 1}, Tag: 1, Cost: 0, How: weir.Peek})
	d.want("none of 2", look.Allowed, true)
}

// Of a key that has too little room all of that may be taken, and be charged by force;
// the wait for it is exact.
func TestALogMayUseAllTheRoomThatItHas(t *testing.T) {
	many := weir.MustLimit("log", "50 per 100us sliding-log overdraft 60")
	d := full(t, weir.MustLimit("log", "3 per 100us sliding-log"), many, 1)
	d.now += 10
	d.want("3 of 50, with room for 3", d.ask(many, 1, 3), weir.Decision{Remaining: 2, RetryAfter: 90, ResetAfter: 90, Mode: weir.Overflow})
	d.want("as many as there are numbers", d.ask(many, 1, math.MaxInt64), weir.Decision{Never: true, Remaining: 2, ResetAfter: 90, Mode: weir.Overflow})
	forced := d.call(weir.Take{Limit: many, Key: weir.Key{15: 1}, Tag: 1, Cost: 9, How: weir.Force})
	d.want("by force", forced.Granted, int64(2))
	d.want("and no more", d.ask(many, 1, 1), weir.Decision{RetryAfter: 90, ResetAfter: 100, Mode: weir.Overflow})
}

// A key that has its entry needs no room, whatever others were promised since: it is
// judged by itself.
func TestAnEntryThatIsLargeEnoughNeedsNoRoom(t *testing.T) {
	for _, text := range []string{"3/min sliding-log", "3 concurrent"} {
		d := newDesk(t, 1000)
		l := weir.MustLimit("first", text)
		d.want("a key of its own", d.call(weir.Take{Limit: l, Key: weir.Key{15: 1}, Tag: 1, Cost: 1, Slot: slotFor(l)}).Mode, weir.Exact)
		for i := range 1000 {
			d.call(weir.Take{Limit: l, Key: weir.Key{1, byte(i), byte(i >> 8), 15: 200}, Cost: 1, Slot: slotFor(l)})
		}
		var others []*weir.Limit
		for i := range 10 {
			others = append(others, weir.MustLimit(fmt.Sprint("other", i), "1/s"))
		}
		if err := d.ExpectOnly(nil, others...); err != nil {
			t.Fatal(err)
		}
		id := slotFor(l)
		id[15] = id[0] // another holder's
		got := d.call(weir.Take{Limit: l, Key: weir.Key{15: 1}, Tag: 1, Cost: 1, Slot: id})
		if got.Mode != weir.Exact || !got.Allowed || got.Remaining != 1 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// What a look finds to be over in a cell goes from it for good: the books of the cell
// are right after it, and its room is others'.
func TestALookDropsWhatIsOverInACell(t *testing.T) {
	d := newDesk(t, 256)
	l, other, filler := weir.MustLimit("log", "3 per 10s sliding-log"), weir.MustLimit("other", "3/min sliding-log"), weir.MustLimit("filler", "1/day")
	d.fill(filler)
	take := func(of *weir.Limit, cost int64, how weir.How) weir.Decision {
		return d.call(weir.Take{Limit: of, Key: weir.Key{15: 7}, Tag: 7, Cost: cost, How: how})
	}
	d.want("in a cell", take(l, 2, 0).Mode, weir.Overflow)
	d.now += 5_000_000
	take(l, 1, 0)
	d.now += 5_000_000
	d.want("left when two are over", take(l, 1, weir.Peek), weir.Decision{Allowed: true, Granted: 1, Remaining: 2, ResetAfter: 5_000_000, Mode: weir.Overflow})
	d.now += 5_000_000
	d.want("left when all are", take(l, 1, weir.Peek), weir.Decision{Allowed: true, Granted: 1, Remaining: 3, Mode: weir.Overflow})
	take(other, 3, 0)
	d.want("left beside another limit's", take(l, 1, 0).Remaining, int64(2))
	d.want("left of the other", take(other, 1, 0).Allowed, false)
}

// Where the clock reads what no state can hold nothing comes back, and nobody is told
// that it did.
func TestNothingComesBackUnderAClockOfNoUse(t *testing.T) {
	d := newDesk(t, 1000)
	rate, slots := weir.MustLimit("rate", "3/min"), weir.MustLimit("slots", "3 concurrent")
	charged := d.ask(rate, 1, 2)
	d.want("a slot", d.call(weir.Take{Limit: slots, Key: weir.Key{15: 1}, Cost: 1, Slot: weir.SlotID{1}}).Remaining, int64(2))
	back := []weir.Return{
		{Limit: rate, Key: weir.Key{15: 1}, Tag: 1, Receipt: charged.Receipt, Units: 2},
		{Limit: slots, Key: weir.Key{15: 1}, Slot: weir.SlotID{1}},
	}
	right := d.now
	for _, now := range []weir.Micros{1 << 52, 1 << 60} {
		d.now = now
		if _, err := d.Return(context.Background(), back); !errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("at %d: %v", now, err)
		}
	}
	d.now = right
	d.check()
	d.want("left of the rate", d.call(weir.Take{Limit: rate, Key: weir.Key{15: 1}, Tag: 1, Cost: 1, How: weir.Peek}).Remaining, int64(1))
	d.want("left of the slots", d.call(weir.Take{Limit: slots, Key: weir.Key{15: 1}, Cost: 1, How: weir.Peek, Slot: weir.SlotID{2}}).Remaining, int64(2))
}

// A key that is reset while cells of its rule are in use keeps an entry, of which
// nothing is left: neither what it was charged nor the room of it.
func TestResetOfAListBesideCells(t *testing.T) {
	for _, text := range []string{"3/min sliding-log", "3 concurrent"} {
		d := newDesk(t, 256)
		l, filler := weir.MustLimit("list", text), weir.MustLimit("filler", "1/day")
		take := func(key byte, holder byte) weir.Decision {
			at := weir.Take{Limit: l, Key: weir.Key{15: key}, Tag: 7, Cost: 1, Slot: slotFor(l)}
			at.Slot[15] = holder * at.Slot[0]
			return d.call(at)
		}
		for holder := range byte(3) {
			d.want(text+", its own", take(1, holder).Mode, weir.Exact)
		}
		d.fill(filler)
		for key := byte(2); take(key, 1).Mode == weir.Exact; key++ { // the last one shares a cell
		}
		if err := d.Reset(context.Background(), l, weir.Key{15: 1}); err != nil {
			t.Fatal(err)
		}
		d.check()
		for holder := range byte(3) {
			got := take(1, holder)
			d.want(text+", anew", got.Mode, weir.Exact)
			d.want(text+", left", got.Remaining, int64(2-holder))
		}
	}
}

// What comes back leaves no entry where the rest of its log is over.
func TestALogOfWhichTheRestIsOverGoes(t *testing.T) {
	d := newDesk(t, 1000)
	l := weir.MustLimit("log", "5 per 100us sliding-log")
	d.ask(l, 1, 2)
	d.now += 90
	last := d.ask(l, 1, 1)
	d.now += 10
	if _, err := d.Return(context.Background(), []weir.Return{{Limit: l, Key: weir.Key{15: 1}, Tag: 1, Receipt: last.Receipt, Units: 1}}); err != nil {
		t.Fatal(err)
	}
	d.check()
	d.want("room that is used", d.used(), 0)
}

// Callers whose keys have nothing in common but their cell take and release in it all at
// once: each has his slot, and none is left of them.
func TestSlotsOfOneCellInACrowd(t *testing.T) {
	const callers, rounds = 8, 2000
	d := newDesk(t, 4000)
	l, filler := weir.MustLimit("slots", fmt.Sprint(callers, " concurrent")), weir.MustLimit("filler", "1/day")
	d.fill(filler)
	for key := byte(1); d.call(weir.Take{Limit: l, Key: weir.Key{key}, Tag: 7, Cost: 1, Slot: weir.SlotID{1}}).Mode == weir.Exact; key++ { // what is left
	}
	out := make([]weir.Decision, 1)
	for i := range 4000 { // of every part of the store
		if _, _, err := d.Take(context.Background(), []weir.Take{{Limit: filler, Key: weir.Key{0: byte(i), 1: byte(i >> 8), 2: 1}, Cost: 1}}, out); err != nil {
			t.Fatal(err)
		}
	}
	d.now += 3_600_000_000 // the slots of those are over
	var crowd sync.WaitGroup
	for caller := range byte(callers) {
		crowd.Go(func() {
			at := weir.Take{Limit: l, Key: weir.Key{200 + caller, caller}, Tag: 7, Cost: 1, Slot: weir.SlotID{2, caller}}
			back := []weir.Return{{Limit: l, Key: at.Key, Tag: 7, Slot: at.Slot}}
			out := make([]weir.Decision, 1)
			for range rounds {
				ok, _, err := d.Take(context.Background(), []weir.Take{at}, out)
				if !ok || err != nil || out[0].Mode != weir.Overflow {
					t.Errorf("caller %d: %+v, %v", caller, out[0], err)
					return
				}
				if _, err := d.Return(context.Background(), back); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	crowd.Wait()
	d.check()
	left := d.call(weir.Take{Limit: l, Key: weir.Key{200}, Tag: 7, Cost: 1, How: weir.Peek})
	d.want("left in the cell", left.Remaining, int64(callers))
}

// A lease that has ended in a cell cannot be renewed, by whoever looks at the cell first.
func TestALeaseThatEndedInACellIsLost(t *testing.T) {
	d := newDesk(t, 64)
	l, filler := weir.MustLimit("slots", "3 concurrent lease 1s"), weir.MustLimit("filler", "1/day")
	d.fill(filler)
	d.want("in a cell", d.call(weir.Take{Limit: l, Key: weir.Key{15: 1}, Tag: 7, Cost: 1, Slot: weir.SlotID{1}}).Mode, weir.Overflow)
	d.now += 999_999
	d.want("renewed in time", d.giveOne(l, 1, 1, true), nil)
	d.now += 1_000_000
	if err := d.giveOne(l, 1, 1, true); !errors.Is(err, weir.ErrLost) {
		t.Errorf("renewed when it has ended: %v", err)
	}
	d.check()
}

// A key that lacks room for what its limit remembers by now gets that of keys that are
// dead.
func TestALogGrowsIntoTheRoomOfTheDead(t *testing.T) {
	few, many := weir.MustLimit("log", "3/h sliding-log"), weir.MustLimit("log", "9/h sliding-log")
	d := newDesk(t, 1000)
	filler := weir.MustLimit("filler", "1/s")
	if err := d.Expect(few, many, filler); err != nil {
		t.Fatal(err)
	}
	d.ask(few, 1, 3)
	for i := range byte(150) {
		d.call(weir.Take{Limit: few, Key: weir.Key{2, i, 15: 3}, Cost: 1})
	}
	d.fill(filler)
	d.want("while all are alive", d.call(weir.Take{Limit: many, Key: weir.Key{15: 1}, Tag: 1, Cost: 1, How: weir.Peek}).Mode, weir.Overflow)
	d.now += 1_000_000
	got := d.ask(many, 1, 1)
	if got.Mode != weir.Exact || !got.Allowed || got.Remaining != 5 {
		t.Errorf("when those of the filler are dead: %+v", got)
	}
}

// A key that has too little room for an overdraft, and enough for the count, is judged by
// the count.
func TestALogThatLacksRoomForItsOverdraft(t *testing.T) {
	d := full(t, weir.MustLimit("log", "5 per 100us sliding-log"), weir.MustLimit("log", "3 per 100us sliding-log overdraft 60"), 2)
	debt := weir.MustLimit("log", "3 per 100us sliding-log overdraft 60")
	d.want("the third of 3, with room for 5", d.ask(debt, 1, 1).Allowed, true)
	d.want("the fourth", d.ask(debt, 1, 1), weir.Decision{RetryAfter: 100, ResetAfter: 100, Mode: weir.Overflow})
	forced := d.call(weir.Take{Limit: debt, Key: weir.Key{15: 1}, Tag: 1, Cost: 9, How: weir.Force})
	d.want("by force", forced.Granted, int64(2))
}
