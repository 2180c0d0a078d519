package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/weirhq/weir"
)

// many takes from one bucket with many goroutines while the clock stands still:
// exactly its burst is admitted.
func many(r *rig) error {
	const goroutines = 32
	return r.try(func(b *bench) {
		one, costs, second := slow("one", 1000), slow("costs", 1000), slow("second", 600)
		admitted := make([][3]int64, goroutines)
		errs := make([]error, goroutines)
		var wait sync.WaitGroup
		for g := range goroutines {
			wait.Go(func() { errs[g] = b.hammer(one, costs, second, r.takes, uint64(g), &admitted[g]) })
		}
		wait.Wait()
		if err := errors.Join(errs...); err != nil {
			b.failf("%w", err)
		}
		var sum [3]int64
		for _, a := range admitted {
			for i := range sum {
				sum[i] += a[i]
			}
		}
		b.want("admitted in single units", sum[0], int64(1000))
		b.want("left after those of several", b.left(costs, "k"), 1000-sum[1])
		b.want("left of the second limit", b.left(second, "k"), 600-sum[2])
	})
}

// hammer takes one unit of the first limit, and now and then several of the
// second, with or without the third.
func (b *bench) hammer(one, costs, second *weir.Limit, takes int, seed uint64, admitted *[3]int64) error {
	rng := rand.New(rand.NewPCG(seed, 7))
	first, some, both := b.take(one, "k", 1), b.take(costs, "k", 1), b.take(second, "k", 1)
	out := make([]weir.Decision, 2)
	for range takes {
		call, slot := []weir.Take{first}, 0
		switch rng.IntN(8) {
		case 0:
			some.Cost = 1 + rng.Int64N(5)
			call, slot = []weir.Take{some}, 1
		case 1:
			some.Cost, both.Cost = 1, 1
			call, slot = []weir.Take{some, both}, 2
		}
		allowed, _, err := b.store.Take(context.Background(), call, out[:len(call)])
		if err != nil {
			return err
		}
		if !allowed {
			continue
		}
		admitted[slot] += call[0].Cost
		if slot == 2 {
			admitted[1]++
		}
	}
	return nil
}

// histories records what goroutines ask and are told while the clock runs, and
// has both checkers judge it.
func histories(r *rig) error {
	const goroutines, calls = 16, 200
	store := r.open(running())
	rec := Record(store)
	limits := historyLimits()
	failed := make([]error, goroutines)
	begin := make(chan struct{})
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			<-begin
			c := &caller{store: rec, limits: limits, rng: rand.New(rand.NewPCG(uint64(g), 3)), number: uint64(g)}
			failed[g] = c.run(calls)
		})
	}
	close(begin)
	wait.Wait()
	h := rec.History()
	errs := []error{errors.Join(failed...), store.Close(), CheckLinearizable(h, !r.runsBack)}
	for _, l := range limits {
		if l.Spec().Algorithm == weir.Concurrency {
			errs = append(errs, CheckSlots(h, l))
		} else {
			errs = append(errs, CheckWindows(h, l))
		}
	}
	return errors.Join(errs...)
}

// historyLimits are so fast that they refill and refuse while the goroutines
// run.
func historyLimits() []*weir.Limit {
	return []*weir.Limit{
		weir.MustLimit("bucket", "50000/s burst 20"),
		weir.MustLimit("slow", "1000/s burst 20"),
		weir.MustLimit("window", "20 per 500us fixed-window"),
		weir.MustLimit("spread", "20 per 300us fixed-window spread"),
		weir.MustLimit("sliding", "20 per 400us sliding-window"),
		weir.MustLimit("queue", "50000/s leaky-bucket wait 300us"),
		weir.MustLimit("log", "20 per 400us sliding-log"),
		weir.MustLimit("slots", "4 concurrent lease 1ms"),
	}
}

// caller is one goroutine of a history.
type caller struct {
	store    weir.Store
	limits   []*weir.Limit
	rng      *rand.Rand
	receipts []weir.Return
	slots    []weir.Return
	number   uint64 // of the caller
	holders  uint64 // that it has been, so that each has a name of its own
}

func (c *caller) run(calls int) error {
	for range calls {
		runtime.Gosched() // so that calls of different goroutines take turns
		if n := len(c.receipts); n > 0 && c.rng.IntN(10) == 0 {
			if _, err := c.store.Return(context.Background(), c.receipts[n-1:]); err != nil {
				return err
			}
			c.receipts = c.receipts[:n-1]
			continue
		}
		if len(c.slots) > 0 && c.rng.IntN(8) == 0 {
			if err := c.letGo(); err != nil {
				return err
			}
			continue
		}
		takes := make([]weir.Take, 1+c.rng.IntN(2)*c.rng.IntN(3))
		for i := range takes {
			takes[i] = c.take()
		}
		if len(takes) == 1 && takes[0].Slot != (weir.SlotID{}) && c.rng.IntN(4) == 0 {
			takes[0].Slot = nameOf(c.number<<32 | max(1, c.holders-1)) // who asked before asks again
		}
		out := make([]weir.Decision, len(takes))
		if _, _, err := c.store.Take(context.Background(), takes, out); err != nil {
			return err
		}
		for i, t := range takes {
			switch d := out[i]; {
			case d.Receipt.Cost == 0:
			case t.Slot != weir.SlotID{}:
				c.slots = append(c.slots, weir.Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Slot: t.Slot})
			default:
				c.receipts = append(c.receipts, weir.Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Receipt: d.Receipt, Units: d.Receipt.Cost})
			}
		}
	}
	return nil
}

// letGo releases one of the last slots, now and then for the second time, or renews it,
// when it may be lost.
func (c *caller) letGo() error {
	n := len(c.slots)
	slot := c.slots[n-1-c.rng.IntN(min(n, 4))]
	slot.Renew = c.rng.IntN(2) == 0
	_, err := c.store.Return(context.Background(), []weir.Return{slot})
	if slot.Renew && errors.Is(err, weir.ErrLost) {
		return nil
	}
	return err
}

func (c *caller) take() weir.Take {
	k, tag := c.store.Keyer().Key(weir.Text("storetest", fmt.Sprint(c.rng.IntN(2))))
	t := weir.Take{Limit: c.limits[c.rng.IntN(len(c.limits))], Key: k, Tag: tag, Cost: 1 + c.rng.Int64N(4)}
	if t.Limit.Spec().Algorithm == weir.Concurrency {
		c.holders++
		t.Cost, t.Slot = 1, nameOf(c.number<<32|c.holders)
		t.Join = weir.Join(c.rng.IntN(3))
		t.How = weir.Peek * weir.How(c.rng.IntN(8)/7)
		return t
	}
	switch c.rng.IntN(12) {
	case 0:
		t.How = weir.Peek
	case 1:
		t.How = weir.Partial
	case 2:
		t.How = weir.Force
	case 3:
		t.Join = weir.Advise
	case 4:
		t.Join = weir.Alone
	}
	return t
}

// tapes plays random tapes; one that shows a difference is made as short as
// that can be seen in.
func tapes(r *rig) error {
	const length = 500
	for seed := range uint64(r.events / length) {
		err := RandomTape(seed, length).check(func(t *Tape) (passed int, err error) {
			clock := NewClock(began)
			s := r.open(clock.Now)
			defer func() { err = errors.Join(err, s.Close()) }()
			if r.live {
				clock = nil
			}
			return t.play(s, clock)
		})
		if err != nil {
			return fmt.Errorf("tape of seed %d: %w", seed, err)
		}
	}
	return nil
}
