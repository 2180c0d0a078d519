package storetest

import (
	"context"
	"errors"

	"github.com/weirhq/weir"
)

// slot makes the take of a slot for a holder.
func (b *bench) slot(l *weir.Limit, name string, holder uint64) weir.Take {
	t := b.take(l, name, 1)
	t.Slot = nameOf(holder)
	return t
}

// holds wants a holder to be given a slot.
func (b *bench) holds(l *weir.Limit, name string, holder uint64) weir.Decision {
	d := b.ask(b.slot(l, name, holder))
	if !d.Allowed || d.Granted != 1 || d.Receipt.Cost != 1 {
		b.failf("%s: a slot for %d: got %+v, want it granted", l, holder, d)
	}
	return d
}

// waitsFor wants a holder of the key k to be refused, for so long.
func (b *bench) waitsFor(l *weir.Limit, holder uint64, wait weir.Micros) {
	d := b.ask(b.slot(l, "k", holder))
	want := weir.Decision{RetryAfter: wait, Remaining: d.Remaining, ResetAfter: d.ResetAfter}
	if d != want {
		b.failf("%s: a slot for %d: got %+v, want it refused for %d", l, holder, d, wait)
	}
}

// release gives the slots of holders back, or renews them, in one call, and reports
// whether one was lost.
func (b *bench) release(l *weir.Limit, name string, renew bool, holders ...uint64) (lost bool) {
	var returns []weir.Return
	for _, h := range holders {
		t := b.slot(l, name, h)
		returns = append(returns, weir.Return{Limit: l, Key: t.Key, Tag: t.Tag, Slot: t.Slot, Renew: renew})
	}
	if b.err != nil {
		return false
	}
	_, err := b.store.Return(context.Background(), returns)
	if lost = errors.Is(err, weir.ErrLost); err != nil && !lost {
		b.failf("Return: %w", err)
	}
	return lost
}

// holdsSlots gives out slots until there are none, and takes them back: each that
// comes back is one that goes out, once.
func holdsSlots(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("slots", "3 concurrent lease 1h")
		for i, left := range []int64{2, 1, 0} {
			b.want("left beside the holders", b.holds(l, "k", uint64(i+1)).Remaining, left)
		}
		const hour = 3_600_000_000
		full := b.ask(b.slot(l, "k", 4))
		if full.Allowed || full.Never || full.RetryAfter <= 0 || full.RetryAfter > hour {
			b.failf("a fourth of 3: got %+v", full)
		}
		b.holds(l, "another", 1)
		for range 5 {
			b.release(l, "k", false, 2)
			b.want("left after one slot came back", b.left(l, "k"), int64(1))
		}
		b.release(l, "k", false, 99)
		b.release(l, "unknown", false, 1)
		b.want("left after slots came back that nobody held", b.left(l, "k"), int64(1))
		b.holds(l, "k", 4)
		b.want("the fifth of 3", b.ask(b.slot(l, "k", 5)).Allowed, false)
		b.release(l, "k", false, 1, 3, 4)
		b.want("nothing is left", b.peek(l, "k", 1), weir.Decision{Allowed: true, Granted: 1, Remaining: 3})
		b.want("left of the other key", b.left(l, "another"), int64(2))
	})
}

// asksAgain has holders ask for the slots that they have: they count once, alone, in a
// call of several, and beside those who look.
func asksAgain(r *rig) error {
	return r.try(func(b *bench) {
		l, beside := weir.MustLimit("slots", "2 concurrent lease 1h"), slow("rate", 10)
		b.holds(l, "k", 1)
		for range 5 {
			b.want("left when one of two asks again", b.holds(l, "k", 1).Remaining, int64(1))
		}
		b.want("what a peek of the holder says", b.peekSlot(l, "k", 1).Allowed, true)
		allowed, out := b.call(b.slot(l, "k", 1), b.slot(l, "k", 2), b.take(beside, "k", 4))
		b.want("one who holds a slot, and one more", allowed, true)
		b.want("left beside the two", out[1].Remaining, int64(0))
		b.want("the holder, of what is full", b.peekSlot(l, "k", 2).Allowed, true)
		b.want("another, of what is full", b.peekSlot(l, "k", 3).Allowed, false)
		b.holds(l, "k", 2)
		allowed, _ = b.call(b.slot(l, "k", 1), b.slot(l, "k", 3), b.take(beside, "k", 4))
		b.want("one who holds a slot, and one too many", allowed, false)
		b.want("left of the rate beside it", b.left(beside, "k"), int64(6))
		b.release(l, "k", false, 1)
		b.want("left after one of the two", b.left(l, "k"), int64(1))
		call := []weir.Take{b.slot(l, "k", 3), b.slot(l, "k", 4)}
		allowed, out = b.call(call...)
		b.want("two for one slot", allowed || out[0].Allowed || out[1].Allowed, false)
		call[1].Join = weir.Advise
		allowed, out = b.call(call...)
		b.want("one, and another in shadow", allowed && !out[1].Allowed, true)
	})
}

// peekSlot looks for a holder.
func (b *bench) peekSlot(l *weir.Limit, name string, holder uint64) weir.Decision {
	t := b.slot(l, name, holder)
	t.How = weir.Peek
	return b.ask(t)
}

// leasesEnd lets leases run out: a slot is free then, unless its holder has renewed it
// or asked again; and one that is lost stays so.
func leasesEnd(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("slots", "2 concurrent lease 1s")
		b.holds(l, "k", 1)
		b.clock.Advance(300_000)
		d := b.holds(l, "k", 2)
		b.want("the time until the last lease ends", d.ResetAfter, weir.Micros(1_000_000))
		b.waitsFor(l, 3, 700_000)
		b.want("a holder who renews", b.release(l, "k", true, 1), false)
		b.waitsFor(l, 3, 1_000_000)
		b.clock.Advance(200_000)
		b.holds(l, "k", 2) // asks again
		b.waitsFor(l, 3, 800_000)
		b.clock.Advance(799_999)
		b.waitsFor(l, 3, 1)
		b.clock.Advance(1)
		b.want("a holder who renews too late", b.release(l, "k", true, 1), true)
		b.want("one who is in time", b.release(l, "k", true, 1, 2, 9), true)
		b.holds(l, "k", 3)
		b.waitsFor(l, 1, 1_000_000)
		b.want("the first's late release", b.release(l, "k", false, 1), false)
		b.waitsFor(l, 1, 1_000_000)
		b.clock.Advance(1_000_000)
		b.want("when all leases have ended", b.peek(l, "k", 1), weir.Decision{Allowed: true, Granted: 1, Remaining: 2})

		b.holds(l, "back", 1)
		b.clock.Advance(-400_000)
		b.holds(l, "back", 2)
		b.want("left, with a clock that runs back", b.left(l, "back"), int64(0))
	})
}

// slotsOfOtherNumbers lowers a limit below those who hold its slots: they finish. A
// lease that is renewed under a shorter one does not end before it would have.
func slotsOfOtherNumbers(r *rig) error {
	return r.try(func(b *bench) {
		many, few := weir.MustLimit("slots", "5 concurrent lease 10s"), weir.MustLimit("slots", "2 concurrent lease 1s")
		for h := range uint64(4) {
			b.holds(many, "k", h+1)
			b.clock.Advance(1000)
		}
		b.want("left of 2, beside 4 holders", b.left(few, "k"), int64(0))
		b.waitsFor(few, 9, 9_998_000)
		b.want("one of those who hold", b.holds(few, "k", 1).ResetAfter, weir.Micros(9_999_000))
		b.want("a renewal", b.release(few, "k", true, 2), false)
		b.waitsFor(few, 9, 9_998_000)
		b.release(few, "k", false, 1, 3)
		b.waitsFor(few, 9, 9_997_000)
		b.release(few, "k", false, 2)
		b.holds(few, "k", 9)
		b.want("left of 5", b.left(many, "k"), int64(3))
		b.want("the longest lease", b.peek(few, "k", 1).ResetAfter, weir.Micros(9_999_000))
		for h := range uint64(3) {
			b.holds(many, "k", h+20)
		}
		b.waitsFor(many, 30, 1_000_000) // of the ninth holder, whose lease is the shortest
	})
}

// impossibleSlots hands in what can never be right of slots.
func impossibleSlots(r *rig) error {
	return r.try(func(b *bench) {
		l, rate := weir.MustLimit("slots", "2 concurrent"), slow("rate", 10)
		good := b.slot(l, "k", 1)
		with := func(change func(*weir.Take)) []weir.Take {
			t := b.slot(l, "k", 2)
			change(&t)
			return []weir.Take{good, t}
		}
		for what, takes := range map[string][]weir.Take{
			"a slot for nobody":     with(func(t *weir.Take) { t.Slot = weir.SlotID{} }),
			"two units":             with(func(t *weir.Take) { t.Cost = 2 }),
			"two units, to look":    with(func(t *weir.Take) { t.Cost, t.How = 2, weir.Peek }),
			"no units":              with(func(t *weir.Take) { t.Cost = 0 }),
			"a slot by force":       with(func(t *weir.Take) { t.How = weir.Force }),
			"a slot always":         with(func(t *weir.Take) { t.How = weir.Always }),
			"a slot of a rate":      with(func(t *weir.Take) { t.Limit = rate }),
			"one holder twice":      with(func(t *weir.Take) { t.Slot = good.Slot }),
			"and in other joins":    with(func(t *weir.Take) { t.Slot, t.Join = good.Slot, weir.Alone }),
			"once to look":          with(func(t *weir.Take) { t.Slot, t.How = good.Slot, weir.Peek }),
			"under another version": with(func(t *weir.Take) { t.Limit = weir.MustLimit("slots", "3 concurrent") }),
		} {
			b.noPanic(what, func() { b.fails(what, weir.ErrInvalid, takes, len(takes)) })
		}
		b.want("left after all that", b.left(l, "k"), int64(2))
		b.holds(l, "k", 1)
		back := weir.Return{Limit: l, Key: good.Key, Tag: good.Tag, Slot: good.Slot}
		for what, change := range map[string]func(*weir.Return){
			"a return of nobody's slot": func(r *weir.Return) { r.Slot = weir.SlotID{} },
			"of units":                  func(r *weir.Return) { r.Units = 1 },
			"with a receipt":            func(r *weir.Return) { r.Receipt.Cost = 1 },
			"of a rate":                 func(r *weir.Return) { r.Limit = rate },
		} {
			wrong := back
			change(&wrong)
			b.noPanic(what, func() {
				if _, err := b.store.Return(context.Background(), []weir.Return{back, wrong}); !errors.Is(err, weir.ErrInvalid) {
					b.failf("%s: got error %v, want %w", what, err, weir.ErrInvalid)
				}
			})
		}
		b.want("left after those", b.left(l, "k"), int64(1))
		if err := b.store.Reset(context.Background(), l, b.key("k")); err != nil {
			b.failf("Reset: %w", err)
		}
		b.want("left after a reset", b.left(l, "k"), int64(2))
		b.want("a slot that was forgotten", b.release(l, "k", true, 1), true)
		b.want("left after that", b.left(l, "k"), int64(2))
	})
}
