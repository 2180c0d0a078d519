package storetest

import (
	"fmt"

	"github.com/weirhq/weir"
)

// slow is a bucket that no check lives long enough to see refill.
func slow(name string, burst int) *weir.Limit {
	return weir.MustLimit(name, fmt.Sprintf("1 per 30d burst %d", burst))
}

// slowOnes are limits of each algorithm whose units no check lives long enough to
// see come back.
func slowOnes(count int) []*weir.Limit {
	return []*weir.Limit{
		slow("bucket", count),
		weir.MustLimit("window", fmt.Sprintf("%d per 3650d fixed-window", count)),
		weir.MustLimit("sliding", fmt.Sprintf("%d per 3650d sliding-window", count)),
		weir.MustLimit("queue", fmt.Sprintf("1 per 30d leaky-bucket queue %d", count-1)),
		weir.MustLimit("log", fmt.Sprintf("%d per 3650d sliding-log", count)),
	}
}

func refusalCostsNothing(r *rig) error {
	return r.try(func(b *bench) {
		for _, l := range slowOnes(10) {
			b.want(l.String()+": units before the first refusal", b.drain(l, "k"), int64(10))
			first := b.refused(l, "k", 1)
			for range 1000 {
				b.refused(l, "k", 1+b.rng.Int64N(10))
			}
			last := b.refused(l, "k", 1)
			if last.RetryAfter > first.RetryAfter || last.ResetAfter > first.ResetAfter {
				b.failf("%s: after 1000 refusals the wait is %d and the reset %d, before %d and %d",
					l, last.RetryAfter, last.ResetAfter, first.RetryAfter, first.ResetAfter)
			}
			d := b.ask(b.take(l, "k", 11))
			b.want(l.String()+": more than the capacity is never", d.Never, true)
			b.want(l.String()+": never has no wait", d.RetryAfter, weir.Micros(0))
		}
	})
}

func peekLeavesNoTrace(r *rig) error {
	return r.try(func(b *bench) {
		for _, l := range slowOnes(10) {
			for range 100 {
				d := b.peek(l, "k", 10)
				b.want(l.String()+": a peek at a new key is allowed", d.Allowed, true)
				b.want(l.String()+": it tells what would be granted", d.Granted, int64(10))
				b.want(l.String()+": it has no receipt", d.Receipt, weir.Receipt{})
				b.want(l.String()+": nothing is charged", d.ResetAfter, weir.Micros(0))
			}
			b.granted(l, "k", 4)
			for cost := range int64(12) {
				d := b.peek(l, "k", cost)
				b.want(fmt.Sprintf("%s: a peek for %d with 6 left", l, cost), d.Allowed, cost <= 6)
				b.want(fmt.Sprintf("%s: left after a peek for %d", l, cost), d.Remaining, int64(6))
			}
			b.granted(l, "k", 6)
		}
	})
}

func allOrNothing(r *rig) error {
	return r.try(func(b *bench) {
		wide, narrow, window := slow("wide", 10), slow("narrow", 3), weir.MustLimit("window", "5 per 3650d fixed-window")
		call := []weir.Take{b.take(wide, "k", 1), b.take(narrow, "k", 1), b.take(window, "other", 1)}
		for range 3 {
			allowed, _ := b.call(call...)
			b.want("three calls under three limits", allowed, true)
		}
		for range 100 {
			allowed, out := b.call(call...)
			b.want("a call that one limit refuses", allowed, false)
			b.want("the limits that do not refuse it", out[0].Allowed && out[2].Allowed, true)
			b.want("what is granted", out[0].Granted+out[1].Granted+out[2].Granted, int64(0))
		}
		b.want("left of the wide limit", b.left(wide, "k"), int64(7))
		b.want("left of the window", b.left(window, "other"), int64(2))
		call[1].Join = weir.Advise
		allowed, out := b.call(call...)
		b.want("a call that only a shadow limit refuses", allowed, true)
		b.want("the shadow limit's verdict", out[1].Allowed, false)
		b.want("left of the wide limit after that", out[0].Remaining, int64(6))
	})
}

func merged(r *rig) error {
	return r.try(func(b *bench) {
		for _, l := range slowOnes(3) {
			twice := []weir.Take{b.take(l, "k", 1), b.take(l, "k", 1)}
			allowed, out := b.call(twice...)
			b.want(l.String()+": 1 and 1 of 3", allowed, true)
			b.want(l.String()+": left", out[0].Remaining, int64(1))
			allowed, out = b.call(twice...)
			b.want(l.String()+": 1 and 1 of 1", allowed, false)
			b.want(l.String()+": both are refused", out[0].Allowed || out[1].Allowed, false)
			_, out = b.call(b.take(l, "k", 2), b.take(l, "k", 2))
			b.want(l.String()+": 2 and 2 of 3 are never", out[0].Never && out[1].Never, true)
			_, out = b.call(b.take(l, "k", 1<<62), b.take(l, "k", 1<<62))
			b.want(l.String()+": a sum beyond every integer is never", out[0].Never && out[1].Never, true)
			b.want(l.String()+": left after the refusals", b.left(l, "k"), int64(1))
		}
	})
}

func retryAfterIsExact(r *rig) error {
	return r.try(func(b *bench) {
		limits := [][2]string{
			{"3 per 7us burst 4", "3 per 7us burst 4"},
			{"5 per 11us", "1 per 5us burst 3"},
			{"1 per 5us burst 3", "5 per 11us"},
			{"7/s", "7/s burst 3"},
			{"999983/h burst 50", "1/s burst 10"},
			{"1000000/day burst 20", "1000000/day burst 20"},
			{"1/s burst 10", "999983/h burst 50"},
			{"10000 per 30d burst 100", "10000 per 30d burst 7"},
			{"4 per 9us fixed-window", "3 per 9us fixed-window"},
			{"4 per 9us fixed-window", "3 per 13us fixed-window"},
			{"4 per 9us sliding-window", "4 per 9us sliding-window"},
			{"5 per 9us sliding-window", "3 per 9us sliding-window"},
			{"3 per 9us sliding-window", "5 per 9us sliding-window overdraft 5"},
			{"1000000/day sliding-window", "999983/day sliding-window"}, // in ticks of 10 µs
			{"3 per 7us leaky-bucket queue 3", "3 per 7us leaky-bucket wait 6us"},
			{"1 per 5us leaky-bucket wait 12us", "5 per 11us leaky-bucket queue 4"},
			{"5 per 11us leaky-bucket wait 9us", "1 per 5us leaky-bucket wait 13us"},
			{"999983/h leaky-bucket queue 50", "7/s leaky-bucket wait 900ms"},
			{"5/s sliding-log", "3/s sliding-log overdraft 9"},
			{"3 per 7us sliding-log", "9 per 7us sliding-log"},
			{"9 per 7us sliding-log overdraft 20", "2 per 7us sliding-log"},
		}
		for round := range r.rounds {
			for i, pair := range limits {
				name := fmt.Sprintf("l%d", i)
				b.exact(weir.MustLimit(name, pair[0]), weir.MustLimit(name, pair[1]), round)
			}
		}
	})
}

// exact brings several keys into the same state under one limit, has all of them
// refused under another, and asks one after the other until one passes.
func (b *bench) exact(before, after *weir.Limit, round int) {
	const keys = 16
	name := func(i int) string { return fmt.Sprintf("%d-%d", round, i) }
	all := func(l *weir.Limit, cost int64, how weir.How) (d weir.Decision) {
		for i := range keys {
			t := b.take(l, name(i), cost)
			t.How = how
			d = b.ask(t)
		}
		return d
	}
	unit := before.Spec().Period.Microseconds() / before.Spec().Count
	for range 1 + b.rng.IntN(6) {
		how := weir.How(0)
		if b.rng.IntN(4) == 0 {
			how = weir.Force
		}
		all(before, 1+b.rng.Int64N(before.Capacity()), how)
		b.clock.Advance(weir.Micros(b.rng.Int64N(unit + 2)))
	}
	cost := 1 + b.rng.Int64N(after.Capacity())
	if d := all(after, cost, 0); !d.Allowed {
		b.waits(before.String()+", then "+after.String(), d.RetryAfter, func(i int) weir.Decision {
			return b.ask(b.take(after, name(i), cost))
		})
	}
}

// waits asks one key after the other while a wait runs out, and wants the last
// one to pass.
func (b *bench) waits(what string, wait weir.Micros, ask func(key int) weir.Decision) {
	now, asked := b.clock.Now(), 0
	for _, early := range instantsBefore(wait) {
		b.clock.Set(now + early)
		if ask(asked).Allowed {
			b.failf("%s: refused for %d µs, passes after %d", what, wait, early)
		}
		asked++
	}
	b.clock.Set(now + wait)
	if last := ask(asked); !last.Allowed {
		b.failf("%s: refused for %d µs, is refused after that for %d more", what, wait, last.RetryAfter)
	}
}

// instantsBefore gives every instant before a wait is over where they are few,
// and else some, the last one among them.
func instantsBefore(wait weir.Micros) (instants []weir.Micros) {
	if wait > 15 {
		return []weir.Micros{1, wait / 2, wait - 1}
	}
	for i := weir.Micros(1); i < wait; i++ {
		instants = append(instants, i)
	}
	return instants
}
