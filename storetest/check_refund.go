package storetest

import (
	"fmt"
	"math/big"

	"github.com/weirhq/weir"
)

func refundAtOnce(r *rig) error {
	return r.try(func(b *bench) {
		for _, l := range slowOnes(10) {
			d := b.granted(l, "k", 7)
			b.want(l.String()+": what the receipt says", d.Receipt.Cost, int64(7))
			b.giveBack(l, "k", d.Receipt, 4)
			b.want(l.String()+": left after 4 of 7 came back", b.left(l, "k"), int64(7))
			b.granted(l, "k", 7)
			b.refused(l, "k", 1)
			d = b.granted(l, "whole", 10)
			b.giveBack(l, "another", d.Receipt, 10)
			b.want(l.String()+": left after a return for another key", b.left(l, "whole"), int64(0))
			b.want(l.String()+": left of that other key", b.left(l, "another"), int64(10))
			b.giveBack(l, "whole", d.Receipt, 10)
			b.want(l.String()+": left after all of it came back", b.left(l, "whole"), int64(10))
		}
	})
}

func refundLate(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("api", "10/s burst 10")
		old := b.granted(l, "k", 4)
		b.clock.Advance(100_000) // one unit has flowed back
		b.granted(l, "k", 7)
		b.giveBack(l, "k", old.Receipt, 4)
		b.want("left when 4 come back of which 1 had flowed back", b.left(l, "k"), int64(3))
		b.clock.Advance(300_000)
		b.want("left 0.3 s later", b.left(l, "k"), int64(6))

		hour := b.granted(l, "again", 10)
		b.clock.Advance(3_600_000_000)
		b.granted(l, "again", 10)
		b.giveBack(l, "again", hour.Receipt, 10)
		b.refused(l, "again", 1)
	})
}

func refundOutOfOrder(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("api", "10/s burst 10")
		var receipts []weir.Receipt
		for range 5 {
			receipts = append(receipts, b.granted(l, "k", 2).Receipt)
		}
		for i, left := range []int64{2, 4, 6, 8, 10} {
			b.giveBack(l, "k", receipts[(i*3+4)%5], 2)
			b.want("left as returns come in another order", b.left(l, "k"), left)
		}
		b.want("nothing is charged any more", b.peek(l, "k", 1).ResetAfter, weir.Micros(0))
	})
}

func refundOtherNumbers(r *rig) error {
	return r.try(func(b *bench) {
		old, now := weir.MustLimit("api", "10/s burst 10"), weir.MustLimit("api", "20/s burst 10")
		d := b.granted(old, "k", 8)
		b.granted(now, "k", 2) // the state is under the new numbers from here on
		b.giveBack(now, "k", d.Receipt, 8)
		b.want("left after a receipt of other numbers", b.left(now, "k"), int64(0))
		forged := d.Receipt
		forged.Numbers[0] *= 2
		forged.Numbers[1] *= 2
		b.giveBack(now, "k", forged, 8)
		b.want("left after a receipt whose numbers are not in lowest terms", b.left(now, "k"), int64(0))
	})
}

func refundOtherWindow(r *rig) error {
	return r.try(func(b *bench) {
		for _, text := range []string{"10/s fixed-window", "10/s fixed-window spread", "10/s sliding-window", "10/s sliding-window spread", "10/s sliding-log"} {
			l := weir.MustLimit("window", text)
			d := b.granted(l, text, 10)
			b.clock.Advance(d.ResetAfter)
			b.granted(l, text, 10)
			b.giveBack(l, text, d.Receipt, 10)
			b.want(text+": left after a receipt of the window before", b.left(l, text), int64(0))
		}
	})
}

// refundIntoItsWindow charges a sliding window, and the one that follows: what comes
// back of each is missing in each.
func refundIntoItsWindow(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("sliding", "10/s sliding-window")
		before := b.granted(l, "k", 4)
		b.clock.Advance(before.ResetAfter - 1_000_000) // to the end of that window
		present := b.granted(l, "k", 3)
		b.want("left beside 4 of the window before and 3 of this one", present.Remaining, int64(3))
		b.giveBack(l, "k", before.Receipt, 4)
		b.want("left when the 4 came back", b.left(l, "k"), int64(7))
		b.giveBack(l, "k", before.Receipt, 4)
		b.want("left when they came back again", b.left(l, "k"), int64(7))
		b.giveBack(l, "k", present.Receipt, 3)
		b.want("left when the 3 came back, too", b.left(l, "k"), int64(10))
	})
}

// A spell is a charge of which some may have come back, once.
type spell struct {
	at       weir.Micros
	used     int64
	receipt  weir.Receipt
	returned bool
}

// refundBound draws schedules of takes and returns; what was charged and never
// came back keeps the bound of the limit in every window.
func refundBound(r *rig) error {
	return r.try(func(b *bench) {
		for i, text := range []string{"10/s", "3 per 7us burst 4", "7/s burst 20", "1000000/day burst 50", "10/s sliding-window", "3 per 7us sliding-window", "5 per 9us sliding-window spread", "10/s sliding-log", "3 per 7us sliding-log"} {
			l := weir.MustLimit(fmt.Sprintf("api%d", i), text)
			for round := range r.rounds {
				b.refundRound(l, fmt.Sprint(round))
			}
		}
	})
}

func (b *bench) refundRound(l *weir.Limit, name string) {
	unit := l.Spec().Period.Microseconds() / l.Spec().Count
	var spells []*spell
	for range 60 {
		b.clock.Advance(weir.Micros(b.rng.Int64N(3*unit+2) * b.rng.Int64N(2)))
		if n := len(spells); n > 0 && b.rng.IntN(3) == 0 {
			s := spells[n-1-b.rng.IntN(min(n, 10))]
			if !s.returned {
				units := 1 + b.rng.Int64N(s.used)
				b.giveBack(l, name, s.receipt, units)
				s.used, s.returned = s.used-units, true
			}
			continue
		}
		if d := b.ask(b.take(l, name, 1+b.rng.Int64N(l.Capacity()))); d.Granted > 0 {
			spells = append(spells, &spell{at: b.clock.Now(), used: d.Granted, receipt: d.Receipt})
		}
	}
	b.want(l.String()+": anything was admitted", len(spells) > 0, true)
	p, err := promiseOf(l)
	if err != nil {
		b.failf("%w", err)
		return
	}
	for i, first := range spells {
		used := new(big.Int)
		for _, last := range spells[i:] {
			used.Add(used, big.NewInt(last.used))
			if most := p.within(last.at-first.at, 0); used.Cmp(most) > 0 {
				b.failf("%s: %v units were used and never given back within %d µs, %v is the most", l, used, last.at-first.at, most)
			}
		}
	}
}
