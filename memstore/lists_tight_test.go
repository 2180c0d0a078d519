package memstore

import (
	"context"
	"errors"
	"fmt"
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
