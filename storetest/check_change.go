package storetest

import "github.com/weirhq/weir"

// rollingDeploy serves two sets of numbers in turn: neither frees what the other
// has charged.
func rollingDeploy(r *rig) error {
	return r.try(func(b *bench) {
		big, small := weir.MustLimit("api", "1000 per 30d burst 1000"), weir.MustLimit("api", "10 per 30d burst 10")
		if !r.live {
			big, small = weir.MustLimit("api", "1000/s burst 1000"), weir.MustLimit("api", "10/s burst 10")
		}
		admitted := int64(0)
		for range 3000 {
			for _, l := range []*weir.Limit{big, small} {
				admitted += b.ask(b.take(l, "k", 1)).Granted
			}
		}
		b.want("admitted at one instant by 1000 and 10 in turn", admitted, int64(1000))
	})
}

func slower(r *rig) error {
	return r.try(func(b *bench) {
		before, after := weir.MustLimit("api", "100/s burst 100"), weir.MustLimit("api", "1/s burst 100")
		b.want("the burst", b.drain(before, "k"), int64(100))
		d := b.refused(after, "k", 1)
		b.want("the wait for the first unit, at the rate at which it was charged", d.RetryAfter, weir.Micros(10_000))
		b.clock.Advance(d.RetryAfter)
		b.granted(after, "k", 1)
		b.want("the wait for the next, at the new rate", b.refused(after, "k", 1).RetryAfter, weir.Micros(1_000_000))
	})
}

func slowerLockOut(r *rig) error {
	return r.try(func(b *bench) {
		before, after := weir.MustLimit("api", "1000/min burst 200"), weir.MustLimit("api", "10/min burst 10")
		b.want("the burst", b.drain(before, "k"), int64(200))
		d := b.refused(after, "k", 1)
		b.want("the wait until 9 units are owed, at 1000 a minute", d.RetryAfter, weir.Micros(191*60_000))
		b.clock.Advance(d.RetryAfter - 1)
		b.refused(after, "k", 1)
		b.clock.Advance(1)
		b.granted(after, "k", 1)
		b.want("from then on at the new rate", b.refused(after, "k", 1).RetryAfter, weir.Micros(6_000_000))
	})
}

func faster(r *rig) error {
	return r.try(func(b *bench) {
		before, after := weir.MustLimit("api", "10/day"), weir.MustLimit("api", "10/s")
		b.want("the burst", b.drain(before, "k"), int64(10))
		d := b.refused(after, "k", 1)
		b.want("the wait at the new rate", d.RetryAfter, weir.Micros(100_000))
		b.clock.Advance(d.RetryAfter)
		b.granted(after, "k", 1)
	})
}

// settlementIsOwed settles 100 units that were estimated at 1: the bucket is
// charged up to its overdraft of 20, and later takes wait until that is paid.
func settlementIsOwed(r *rig) error {
	return r.try(func(b *bench) {
		l := weir.MustLimit("api", "10/s burst 10")
		b.granted(l, "k", 1)
		settle := b.take(l, "k", 99)
		settle.How = weir.Force
		d := b.ask(settle)
		b.want("a settlement is never refused", d.Allowed, true)
		b.want("units charged, up to the overdraft of 20", d.Granted, int64(19))
		b.want("and what the receipt says", d.Receipt.Cost, int64(19))
		b.want("the time until nothing is owed", d.ResetAfter, weir.Micros(2_000_000))
		b.want("the wait of the next unit", b.refused(l, "k", 1).RetryAfter, weir.Micros(1_100_000))
		b.want("a settlement beyond the overdraft is forgiven", b.ask(settle).Granted, int64(0))
		always := b.take(l, "paid", 15)
		always.How = weir.Always
		d = b.ask(always)
		b.want("a take that is charged always is refused all the same", d.Allowed, false)
		b.want("what it is granted", d.Granted, int64(0))
		b.want("what it is charged", d.Receipt.Cost, int64(15))
	})
}
