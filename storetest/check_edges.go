package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"slices"

	"github.com/weirhq/weir"
)

// impossible hands in what can never be right: it is refused with ErrInvalid,
// writes nothing, charges nothing and does not panic.
func impossible(r *rig) error {
	return r.try(func(b *bench) {
		l, same := slow("api", 10), weir.MustLimit("api", "2 per 30d burst 10")
		good := b.take(l, "k", 1)
		with := func(change func(*weir.Take)) []weir.Take {
			t := good
			change(&t)
			return []weir.Take{good, t}
		}
		cost := func(n int64, h weir.How) []weir.Take {
			return with(func(t *weir.Take) { t.Cost, t.How = n, h })
		}
		calls := map[string][]weir.Take{
			"17 takes":                     make([]weir.Take, weir.MaxTakes+1),
			"no limit":                     with(func(t *weir.Take) { t.Limit = nil }),
			"an unlimited limit":           with(func(t *weir.Take) { t.Limit = weir.MustLimit("api", "unlimited") }),
			"a limit that denies":          with(func(t *weir.Take) { t.Limit = weir.MustLimit("api", "deny") }),
			"cost 0":                       cost(0, 0),
			"cost 0, partial":              cost(0, weir.Partial),
			"cost 0, force":                cost(0, weir.Force),
			"cost 0, always":               cost(0, weir.Always),
			"cost -1":                      cost(-1, 0),
			"cost -1, peek":                cost(-1, weir.Peek),
			"the least cost there is":      cost(math.MinInt64, weir.Force),
			"join 3":                       with(func(t *weir.Take) { t.Join = weir.Alone + 1 }),
			"join 255":                     with(func(t *weir.Take) { t.Join = math.MaxUint8 }),
			"an unknown how":               cost(1, weir.Strike<<1),
			"every how":                    cost(1, math.MaxUint8),
			"force and peek":               cost(1, weir.Force|weir.Peek),
			"force and partial":            cost(1, weir.Force|weir.Partial),
			"force and always":             cost(1, weir.Force|weir.Always),
			"always and peek":              cost(1, weir.Always|weir.Peek),
			"always and strike":            cost(1, weir.Always|weir.Strike),
			"force and strike":             cost(1, weir.Force|weir.Strike),
			"strike without peek":          cost(1, weir.Strike),
			"a strike for nothing":         cost(0, weir.Peek|weir.Strike),
			"always and partial":           cost(1, weir.Always|weir.Partial),
			"one state under two numbers":  with(func(t *weir.Take) { t.Limit = same }),
			"the same, in another join":    with(func(t *weir.Take) { t.Limit, t.Join = same, weir.Alone }),
			"the same, only to look at it": with(func(t *weir.Take) { t.Limit, t.How = same, weir.Peek }),
		}
		for i := range calls["17 takes"] {
			calls["17 takes"][i] = b.take(l, fmt.Sprint(i), 1)
		}
		for what, takes := range calls {
			b.noPanic(what, func() { b.fails(what, weir.ErrInvalid, takes, len(takes)) })
		}
		b.noPanic("lengths", func() {
			b.fails("fewer decisions than takes", weir.ErrInvalid, []weir.Take{good, good}, 1)
			b.fails("more decisions than takes", weir.ErrInvalid, []weir.Take{good}, 2)
			b.fails("decisions for no take", weir.ErrInvalid, nil, 1)
			b.fails("a slot of a rate", weir.ErrInvalid, with(func(t *weir.Take) { t.Slot = weir.SlotID{1} }), 2)
		})
		b.want("left after all that", b.left(l, "k"), int64(10))
		b.odd(l)
		b.impossibleReturns(l)
	})
}

// odd asks for what is odd, and right.
func (b *bench) odd(l *weir.Limit) {
	b.noPanic("odd arguments", func() {
		allowed, _ := b.call()
		b.want("no takes at all", allowed, true)
		if b.stamp.Now == 0 {
			b.failf("no takes at all: the stamp is empty")
		}
		for _, how := range []weir.How{0, weir.Peek, weir.Always} {
			t := b.take(l, "odd", math.MaxInt64)
			t.How = how
			d := b.ask(t)
			b.want("the largest cost is never", d.Never, true)
			b.want("and has no wait", d.RetryAfter, weir.Micros(0))
		}
		t := b.take(l, "odder", math.MaxInt64)
		t.How = weir.Partial
		b.want("of the largest cost, in part, the burst", b.ask(t).Granted, int64(10))
		t.How = weir.Force
		b.want("of the largest cost, by force, what the overdraft has left", b.ask(t).Granted, int64(10))
		takes := make([]weir.Take, weir.MaxTakes)
		for i := range takes {
			takes[i] = b.take(l, "sixteen", 1)
		}
		allowed, out := b.call(takes...)
		b.want("16 takes of one unit of 10", allowed, false)
		b.want("their sum is never", out[15].Never, true)
	})
}

func (b *bench) impossibleReturns(l *weir.Limit) {
	d := b.granted(l, "paid", 5)
	t := b.take(l, "paid", 1)
	good := weir.Return{Limit: l, Key: t.Key, Tag: t.Tag, Receipt: d.Receipt, Units: 1}
	with := func(change func(*weir.Return)) weir.Return {
		r := good
		change(&r)
		return r
	}
	returns := map[string]weir.Return{
		"a return without a limit":            with(func(r *weir.Return) { r.Limit = nil }),
		"a return of 0 units":                 with(func(r *weir.Return) { r.Units = 0 }),
		"a return of -1 units":                with(func(r *weir.Return) { r.Units = -1 }),
		"a return of the least there is":      with(func(r *weir.Return) { r.Units = math.MinInt64 }),
		"a return of more than was charged":   with(func(r *weir.Return) { r.Units = 6 }),
		"a return of the most there is":       with(func(r *weir.Return) { r.Units = math.MaxInt64 }),
		"a return of an empty receipt":        with(func(r *weir.Return) { r.Receipt = weir.Receipt{} }),
		"a return of a receipt less than 0":   with(func(r *weir.Return) { r.Receipt.Cost = -5 }),
		"a return behind one that is correct": with(func(r *weir.Return) { r.Units = 99 }),
	}
	for what, r := range returns {
		b.noPanic(what, func() {
			_, err := b.store.Return(context.Background(), []weir.Return{good, r})
			if !errors.Is(err, weir.ErrInvalid) {
				b.failf("%s: got error %v, want %w", what, err, weir.ErrInvalid)
			}
		})
	}
	b.noPanic("17 returns", func() {
		many := slices.Repeat([]weir.Return{good}, weir.MaxTakes+1)
		if _, err := b.store.Return(context.Background(), many); !errors.Is(err, weir.ErrInvalid) {
			b.failf("17 returns: got error %v, want %w", err, weir.ErrInvalid)
		}
	})
	b.want("left after all those returns", b.left(l, "paid"), int64(5))
	b.noPanic("a forged receipt", func() {
		for _, numbers := range [][2]int64{{}, {-1, -1}, {math.MaxInt64, 1}, {math.MinInt64, math.MinInt64}, d.Receipt.Numbers} {
			forged := weir.Receipt{At: math.MinInt64, Cost: math.MaxInt64, Numbers: numbers}
			_, _ = b.store.Return(context.Background(), []weir.Return{with(func(r *weir.Return) { r.Receipt = forged })})
		}
		_ = b.store.Reset(context.Background(), nil, weir.Key{})
	})
}

// noPanic runs what must not panic.
func (b *bench) noPanic(what string, run func()) {
	defer func() {
		if p := recover(); p != nil {
			b.failf("%s: it panics: %v", what, p)
		}
	}()
	run()
}

func resetForgets(r *rig) error {
	return r.try(func(b *bench) {
		api, other := slow("api", 10), slow("other", 10)
		for _, name := range []string{"k", "another"} {
			b.drain(api, name)
			b.drain(other, name)
		}
		for _, name := range []string{"k", "unknown"} {
			if err := b.store.Reset(context.Background(), api, b.key(name)); err != nil {
				b.failf("Reset of %s: %w", name, err)
			}
		}
		b.want("left of the state that was reset", b.left(api, "k"), int64(10))
		b.want("left of another limit", b.left(other, "k"), int64(0))
		b.want("left of another key", b.left(api, "another"), int64(0))
	})
}

// keysDoNotMeet: parts that are cut differently, or of different kinds, make
// different keys, and one key's use is no other's.
func keysDoNotMeet(r *rig) error {
	return r.try(func(b *bench) {
		text, addr := weir.Text, func(s string) weir.Part { return weir.Addr(netip.MustParseAddr(s)) }
		lists := [][]weir.Part{
			{},
			{text("", "")},
			{text("", ""), text("", "")},
			{text("a", "")},
			{text("", "a")},
			{text("user", "a:b")},
			{text("user", "a"), text("user", "b")},
			{text("user", "a|b")},
			{text("user", "b"), text("user", "a")},
			{text("user:a", "b")},
			{text("user", "a\x00b")},
			{text("user", "a\x00"), text("user", "b")},
			{text("user", "ab")},
			{text("user", "A")},
			{text("user", "a")},
			{text("user", "a ")},
			{text("id", "a")},
			{text("user", "\xff")},
			{text("user", "\ufffd")},
			{text("ip", "192.0.2.1")},
			{addr("192.0.2.1")},
			{addr("192.0.2.2")},
			{addr("::c000:201")},
			{addr("2001:db8::1")},
			{weir.Net(netip.MustParsePrefix("2001:db8::/64"))},
			{weir.Net(netip.MustParsePrefix("2001:db8::/65"))},
			{addr("192.0.2.1"), text("user", "a")},
		}
		l := slow("api", 1)
		for i, parts := range lists {
			k, tag := b.store.Keyer().Key(parts...)
			if d := b.ask(weir.Take{Limit: l, Key: k, Tag: tag, Cost: 1}); !d.Allowed {
				b.failf("the key of list %d has been used by an earlier one: %v", i, parts)
			}
			again, _ := b.store.Keyer().Key(parts...)
			if d := b.ask(weir.Take{Limit: l, Key: again, Tag: tag, Cost: 1}); d.Allowed {
				b.failf("the key of list %d is another one the second time: %v", i, parts)
			}
		}
	})
}

func spellings(r *rig) error {
	return r.try(func(b *bench) {
		addr := func(s string) weir.Part { return weir.Addr(netip.MustParseAddr(s)) }
		prefix := func(s string) weir.Part { return weir.Net(netip.MustParsePrefix(s)) }
		pairs := [][2]weir.Part{
			{addr("192.0.2.1"), addr("::ffff:192.0.2.1")},
			{addr("fe80::1"), addr("fe80::1%eth0")},
			{addr("192.0.2.1"), prefix("192.0.2.1/32")},
			{prefix("192.0.2.0/24"), prefix("192.0.2.77/24")},
			{prefix("192.0.2.0/24"), prefix("::ffff:192.0.2.0/120")},
			{prefix("2001:db8::/64"), prefix("2001:db8::1:2:3:4/64")},
		}
		for _, p := range pairs {
			one, oneTag := b.store.Keyer().Key(p[0], weir.Text("user", "a"))
			two, twoTag := b.store.Keyer().Key(p[1], weir.Text("user", "a"))
			b.want(fmt.Sprintf("the keys of %v and %v are one", p[0], p[1]), one == two && oneTag == twoTag, true)
		}
	})
}

func closes(r *rig) error {
	return r.try(func(b *bench) {
		l := slow("api", 10)
		t := b.take(l, "k", 1)
		d := b.granted(l, "k", 1)
		for range 2 {
			if err := b.store.Close(); err != nil {
				b.failf("Close: %w", err)
			}
		}
		ctx := context.Background()
		_, _, err := b.store.Take(ctx, []weir.Take{t}, make([]weir.Decision, 1))
		b.closed("Take", err)
		_, err = b.store.Return(ctx, []weir.Return{{Limit: l, Key: t.Key, Tag: t.Tag, Receipt: d.Receipt, Units: 1}})
		b.closed("Return", err)
		b.closed("Reset", b.store.Reset(ctx, l, t.Key))
	})
}

func (b *bench) closed(what string, err error) {
	if !errors.Is(err, weir.ErrClosed) {
		b.failf("%s after Close: got error %v, want %w", what, err, weir.ErrClosed)
	}
}

// leavesNoGoroutine gives what a store has started a while to end: so many
// turns of the scheduler.
func leavesNoGoroutine(r *rig) error {
	before := runtime.NumGoroutine()
	for range 10 {
		err := r.try(func(b *bench) {
			for i := range 100 {
				b.ask(b.take(slow("api", 10), fmt.Sprint(i), 1))
			}
		})
		if err != nil {
			return err
		}
	}
	after := before + 1
	for range 100_000 {
		if after = runtime.NumGoroutine(); after <= before {
			return nil
		}
		runtime.Gosched()
	}
	return fmt.Errorf("%d goroutines are left of ten stores that were closed", after-before)
}
