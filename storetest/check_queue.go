package storetest

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/weirhq/weir"
)

// spaces has a burst come to a leaky bucket: it goes on evenly, and what would
// wait too long is refused until the queue has room.
func spaces(r *rig) error {
	return r.try(func(b *bench) {
		for i, text := range []string{"10/s leaky-bucket wait 500ms", "10/s leaky-bucket queue 5", "10/s leaky-bucket wait 500ms queue 9", "10/s leaky-bucket wait 9s queue 5"} {
			l := weir.MustLimit(fmt.Sprintf("queue%d", i), text)
			for place := range weir.Micros(6) {
				b.want(text+": what a peek says of the delay", b.peek(l, "k", 1).Delay, place*100_000)
				b.want(text+": the delay", b.granted(l, "k", 1).Delay, place*100_000)
			}
			d := b.refused(l, "k", 1)
			b.want(text+": the wait of one for whom there is no room", d.RetryAfter, weir.Micros(100_000))
			b.want(text+": the delay of one that is refused", d.Delay, weir.Micros(0))
			b.want(text+": the delay of a peek for nothing", b.peek(l, "k", 0).Delay, weir.Micros(0))
			b.clock.Advance(40_000)
			b.want(text+": the wait, 40 ms later", b.refused(l, "k", 1).RetryAfter, weir.Micros(60_000))
			b.clock.Advance(60_000)
			b.want(text+": the delay of the next", b.granted(l, "k", 1).Delay, weir.Micros(500_000))
			b.clock.Advance(599_999)
			b.want(text+": the delay a µs before the queue is empty", b.granted(l, "k", 1).Delay, weir.Micros(1))
			b.clock.Advance(10_000_000)
			b.want(text+": the delay when nothing waits", b.granted(l, "k", 1).Delay, weir.Micros(0))
		}
	})
}

// queuesUnits asks for several units at once: apart, in one call, in part.
func queuesUnits(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("queue", "10/s leaky-bucket wait 500ms")
		b.want("the delay of 2", b.granted(l, "k", 2).Delay, weir.Micros(0))
		b.want("the delay of 3 behind them", b.granted(l, "k", 3).Delay, weir.Micros(200_000))
		b.want("left", b.left(l, "k"), int64(1))
		b.want("the wait for 2", b.refused(l, "k", 2).RetryAfter, weir.Micros(100_000))
		d := b.ask(b.take(l, "k", 7))
		b.want("more than the queue is never", d.Never, true)

		call := []weir.Take{b.take(l, "both", 2), b.take(l, "both", 2)}
		_, out := b.call(call...)
		b.want("the delays of two takes of one call", [2]weir.Micros{out[0].Delay, out[1].Delay}, [2]weir.Micros{})
		_, out = b.call(call[0], b.take(l, "k", 1))
		b.want("the delay behind them", out[0].Delay, weir.Micros(400_000))
		b.want("the delay of another key in the same call", out[1].Delay, weir.Micros(500_000))

		some := b.take(l, "some", 9)
		some.How = weir.Partial
		b.want("of 9, those that may wait", b.ask(some).Granted, int64(6))

		settled := b.take(l, "settled", 4)
		settled.How = weir.Force
		b.want("the delay of what is settled", b.ask(settled).Delay, weir.Micros(0))
		b.want("the delay behind it", b.granted(l, "settled", 1).Delay, weir.Micros(400_000))
	})
}

// placesInQueue gives places back: behind nobody they are free again, and before
// another they stay empty.
func placesInQueue(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("queue", "10/s leaky-bucket queue 9")
		first, second, third := b.granted(l, "k", 1), b.granted(l, "k", 1), b.granted(l, "k", 3)
		b.giveBack(l, "k", second.Receipt, 1)
		b.want("left after a place came back that somebody stands behind", b.left(l, "k"), int64(5))
		b.giveBack(l, "k", third.Receipt, 2)
		b.want("left after 2 of the last 3 came back", b.left(l, "k"), int64(7))
		fourth := b.granted(l, "k", 1)
		b.want("the delay of the next, behind what is left of the 3", fourth.Delay, weir.Micros(300_000))
		b.giveBack(l, "k", fourth.Receipt, 1)
		b.giveBack(l, "k", first.Receipt, 1)
		b.want("the delay in the place that came back", b.peek(l, "k", 1).Delay, weir.Micros(300_000))

		b.clock.Advance(1_000_000)
		last := b.granted(l, "k", 2)
		b.clock.Advance(50_000)
		b.giveBack(l, "k", last.Receipt, 2)
		b.want("nothing is left of 2 that went on 50 ms ago and came back", b.peek(l, "k", 1), weir.Decision{Allowed: true, Granted: 1, Remaining: 10})

		other := weir.MustLimit("queue", "20/s leaky-bucket queue 9")
		last = b.granted(l, "k", 2)
		b.granted(other, "k", 1)
		b.giveBack(other, "k", last.Receipt, 2)
		b.want("left after a receipt of other numbers", b.left(other, "k"), int64(7))

		fast, slow := weir.MustLimit("rates", "10/s leaky-bucket queue 9"), weir.MustLimit("rates", "5/s leaky-bucket queue 9")
		last = b.granted(fast, "k", 3)
		b.clock.Advance(200_000)
		b.want("the delay behind the last of the three", b.granted(slow, "k", 1).Delay, weir.Micros(200_000))
		b.giveBack(slow, "k", last.Receipt, 3)
		b.want("left after a receipt whose place at the slower rate would end there too", b.left(slow, "k"), int64(8))
	})
}

// keepsApart draws schedules of takes, some of which come back: what goes on keeps
// its distance to what goes on after it.
func keepsApart(r *rig) error {
	return r.try(func(b *bench) {
		for i, text := range []string{"10/s leaky-bucket queue 9", "3 per 7us leaky-bucket wait 9us", "7/s leaky-bucket wait 2s queue 8", "5 per 2us leaky-bucket queue 20"} {
			l := weir.MustLimit(fmt.Sprintf("queue%d", i), text)
			for round := range r.rounds {
				b.departures(l, fmt.Sprint(round))
			}
		}
	})
}

// departures draws one schedule.
func (b *bench) departures(l *weir.Limit, name string) {
	unit := l.Spec().Period.Microseconds()/l.Spec().Count + 1
	var spells []*spell
	for range 80 {
		b.clock.Advance(weir.Micros(b.rng.Int64N(2*unit+1) * b.rng.Int64N(2)))
		if n := len(spells); n > 0 && b.rng.IntN(3) == 0 {
			s := spells[n-1-b.rng.IntN(min(n, 4))]
			if !s.returned {
				units := 1 + b.rng.Int64N(s.used)
				b.giveBack(l, name, s.receipt, units)
				s.used, s.returned = s.used-units, true
			}
			continue
		}
		if d := b.ask(b.take(l, name, 1+b.rng.Int64N(min(3, l.Capacity())))); d.Granted > 0 {
			spells = append(spells, &spell{at: b.clock.Now() + d.Delay, used: d.Granted, receipt: d.Receipt})
		}
	}
	b.want(l.String()+": anything was admitted", len(spells) > 0, true)
	law := queueLawOf(l.Spec())
	spells = slices.DeleteFunc(spells, func(s *spell) bool { return s.used == 0 })
	for i, first := range spells {
		used := new(big.Rat)
		for _, s := range spells[i:] {
			// Each goes on less than a µs late, so that less than one is missing.
			within := new(big.Rat).Mul(law.rate, span(s.at-first.at+1))
			if used.Sign() > 0 && used.Cmp(within) >= 0 {
				b.failf("%s: %v units went on at %d and after that, and the next at %d", l, used, first.at, s.at)
			}
			used.Add(used, units(s.used))
		}
	}
}
