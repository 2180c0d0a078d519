package storetest

import (
	"fmt"

	"github.com/weirhq/weir"
)

// remembers charges a sliding log at several instants: each charge comes back when it
// is a period old, and not before.
func remembers(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("log", "10/s sliding-log")
		for _, cost := range []int64{3, 1, 4, 2} {
			b.granted(l, "k", cost)
			b.clock.Advance(100_000)
		}
		b.want("left", b.left(l, "k"), int64(0))
		for cost, wait := range map[int64]weir.Micros{1: 600_000, 3: 600_000, 4: 700_000, 5: 800_000, 8: 800_000, 9: 900_000, 10: 900_000} {
			b.want(fmt.Sprintf("the wait for %d", cost), b.refused(l, "k", cost).RetryAfter, wait)
		}
		b.clock.Advance(599_999)
		b.want("left a µs before the first charge is over", b.left(l, "k"), int64(0))
		for _, left := range []int64{3, 4, 8, 10} {
			b.clock.Advance(1)
			b.want("left when one charge more is over", b.left(l, "k"), left)
			b.clock.Advance(99_999)
		}
		b.granted(l, "k", 10)
		b.clock.Advance(999_999)
		b.refused(l, "k", 1)
		b.clock.Advance(1)
		b.want("admitted at once, a period later", b.drain(l, "k"), int64(10))
	})
}

// refundIntoItsCharge gives back what was charged at several instants: it is missing
// in each charge, and comes back with it no more.
func refundIntoItsCharge(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("log", "10/s sliding-log")
		first := b.granted(l, "k", 4)
		b.clock.Advance(100_000)
		second := b.granted(l, "k", 3)
		b.clock.Advance(100_000)
		third := b.granted(l, "k", 3)
		b.giveBack(l, "k", second.Receipt, 2)
		b.want("left after 2 of 3 came back", b.left(l, "k"), int64(2))
		b.giveBack(l, "k", first.Receipt, 4)
		b.want("left after all 4 of the first came back", b.left(l, "k"), int64(6))
		b.giveBack(l, "k", first.Receipt, 4)
		b.want("left when they came back again", b.left(l, "k"), int64(6))
		b.want("the wait for 7, until the second is over", b.refused(l, "k", 7).RetryAfter, weir.Micros(900_000))
		b.giveBack(l, "k", third.Receipt, 3)
		b.want("the time until nothing is charged, of what is left of the second", b.peek(l, "k", 1).ResetAfter, weir.Micros(900_000))
		b.clock.Advance(900_000)
		b.giveBack(l, "k", second.Receipt, 1)
		b.want("nothing is left of what is over", b.peek(l, "k", 1), weir.Decision{Allowed: true, Granted: 1, Remaining: 10})
	})
}

// logOfOtherNumbers judges the charges of one count by another, to and fro: nothing
// is forgotten.
func logOfOtherNumbers(r *rig) error {
	return r.try(func(b *bench) {
		many, few := weir.MustLimit("log", "100/s sliding-log"), weir.MustLimit("log", "10/s sliding-log")
		b.granted(many, "k", 60)
		admitted := int64(60)
		for range 20 {
			b.clock.Advance(10)
			b.refused(few, "k", 1)
			admitted += b.ask(b.take(many, "k", 7)).Granted
		}
		b.want("admitted within a period by 100 and 10 in turn", admitted, int64(95))
		b.want("the wait for 3 more of 10, until all but the last charge are over", b.refused(few, "k", 3).RetryAfter, weir.Micros(1_000_000-200+40))
	})
}
