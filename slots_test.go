package weir_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// acquire acquires, and checks whether that is allowed.
func (b *bench) acquire(want bool) (*weir.Slots, *weir.Outcome) {
	b.t.Helper()
	o := new(weir.Outcome)
	slots, err := b.Acquire(b.t.Context(), o, 1, user())
	if err != nil || o.Allowed != want || (slots != nil) != want {
		b.t.Fatalf("allowed %t, slots %v, %v; want %t", o.Allowed, slots, err, want)
	}
	return slots, o
}

// leaves checks how much each limit has left.
func (b *bench) leaves(want ...int64) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.left()); diff != "" {
		b.t.Errorf("left (- want, + got):\n%s", diff)
	}
}

func release(t *testing.T, s *weir.Slots) {
	t.Helper()
	if err := s.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSoManyAtOnce(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		first, _ := b.acquire(true)
		second, _ := b.acquire(true)
		_, o := b.acquire(false)
		if o.Limit().Name() != "ra" || o.Never || o.RetryAfter != 60_000_000 || o.Decision().Remaining != 0 {
			t.Errorf("%+v", o)
		}
		for range 3 { // once, however often it is released
			release(t, first)
			b.leaves(1, 98)
		}
		third, _ := b.acquire(true)
		b.acquire(false)
		release(t, first)
		b.acquire(false)
		release(t, second)
		release(t, third)
		b.leaves(2, 97)
		if b.store.returns != 3 {
			t.Errorf("the store was asked %d times", b.store.returns)
		}
	}, "2 concurrent", "100/h")
}

// A slot is one, whatever the request costs under rates.
func TestACostDoesNotMultiplySlots(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		o := new(weir.Outcome)
		slots, err := b.Acquire(t.Context(), o, 30, user())
		if err != nil || !o.Allowed {
			t.Fatal(err)
		}
		b.leaves(1, 70)
		if err := b.Peek(t.Context(), o, 50, user()); err != nil || !o.Allowed {
			t.Errorf("%+v, %v", o, err)
		}
		if err := b.Refund(t.Context(), o); err != nil || b.store.returns != 0 {
			t.Errorf("a peek was given back: %v", err)
		}
		release(t, slots)
		b.leaves(2, 70)
		if granted, err := b.TakeAtMost(t.Context(), o, 500, user()); err != nil || granted != 70 {
			t.Errorf("granted %d, %v", granted, err)
		}
		b.leaves(1, 0)
	}, "2 concurrent", "100/h")
}

// Refund gives back units and slots, Release slots alone, and together they give
// nothing twice.
func TestRefundReleasesSlots(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		both := func(kept bool, do func(o *weir.Outcome, s *weir.Slots) error, left ...int64) {
			t.Helper()
			o := b.take(4)
			var slots *weir.Slots
			if kept {
				slots = b.Keep(o)
				if slots == nil || b.Keep(o) != slots || weir.Keep(b.store, o) != slots {
					t.Error("an outcome that is kept twice has two holders")
				}
			}
			calls, released := b.store.returns, b.store.releases
			for range 2 {
				if err := do(o, slots); err != nil {
					t.Error(err)
				}
			}
			b.leaves(left...)
			if err := errors.Join(b.Refund(t.Context(), o), slots.Release(t.Context()), b.Release(t.Context(), o), b.Renew(t.Context(), o)); err != nil {
				t.Error(err)
			}
			b.leaves(3, 100)
			if got := b.store.returns - calls; got > 2 || b.store.releases != released+1 {
				t.Errorf("the store was asked %d times, and released %d slots", got, b.store.releases-released)
			}
		}
		refund := func(o *weir.Outcome, _ *weir.Slots) error { return b.Refund(t.Context(), o) }
		both(false, refund, 3, 100)
		both(true, refund, 3, 100)
		both(false, func(o *weir.Outcome, _ *weir.Slots) error { return b.Release(t.Context(), o) }, 3, 96)
		both(true, func(o *weir.Outcome, _ *weir.Slots) error { return b.Release(t.Context(), o) }, 3, 96)
		both(true, func(_ *weir.Outcome, s *weir.Slots) error { return s.Release(t.Context()) }, 3, 96)
	}, "3 concurrent", "100/h")
}

// Where nothing is held, nothing is kept, and nobody is asked.
func TestWhatHoldsNoSlots(t *testing.T) {
	b := limited(t, "1 concurrent", "5/h")
	kept := b.take(1)
	refused := b.take(1)
	peeked, empty := new(weir.Outcome), new(weir.Outcome)
	if err := b.Peek(t.Context(), peeked, 1, user()); err != nil {
		t.Fatal(err)
	}
	if peeked.Takes[0].Slot != (weir.SlotID{}) || kept.Takes[0].Slot == (weir.SlotID{}) {
		t.Errorf("a peek is for holder %x, a take for %x", peeked.Takes[0].Slot, kept.Takes[0].Slot)
	}
	for what, s := range map[string]*weir.Slots{
		"refused": b.Keep(refused), "peeked": b.Keep(peeked), "empty": b.Keep(empty), "nil": b.Keep(nil),
		"without a store": weir.Keep(nil, kept), "of rates alone": limited(t, "5/h").Keep(limited(t, "5/h").take(1)),
	} {
		if s != nil || s.Err() != nil || s.Lost() != nil || s.Release(t.Context()) != nil {
			t.Errorf("%s: slots are kept", what)
		}
	}
	if err := errors.Join(b.Release(t.Context(), refused), b.Renew(t.Context(), empty)); err != nil || b.store.returns != 0 {
		t.Errorf("%v, %d returns", err, b.store.returns)
	}
	var nothing context.Context
	for _, err := range []error{
		b.Release(t.Context(), nil), b.Renew(t.Context(), nil), b.Release(nothing, kept), b.Renew(nothing, kept),
		b.Keep(kept).Release(nothing), new(weir.Limiter).Release(t.Context(), new(weir.Outcome)), new(weir.Limiter).Renew(t.Context(), new(weir.Outcome)),
	} {
		if !errors.Is(err, weir.ErrInvalid) {
			t.Error(err)
		}
	}
	release(t, b.Keep(kept))
	if _, err := b.Acquire(t.Context(), nil, 1, user()); !errors.Is(err, weir.ErrInvalid) {
		t.Error(err)
	}
}

// Allow would take slots that nobody could give back.
func TestAllowGivesNoSlots(t *testing.T) {
	b := limited(t, "5 concurrent", "5/s")
	ok, err := b.Allow(t.Context(), user())
	if ok || !errors.Is(err, weir.ErrInvalid) || !strings.HasSuffix(err.Error(), "use Acquire") || b.store.takes != 0 {
		t.Errorf("%t, %v, %d takes", ok, err, b.store.takes)
	}
}

// Slots of several keys are held by one call, and released by one.
func TestSlotsUnderDifferentKeys(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		l := built(t, "2 concurrent", "3 concurrent lease 5s")
		o := new(weir.Outcome)
		var all []*weir.Slots
		for i, want := range []bool{true, true, false, true, false} {
			name := []string{"ann", "bob"}[i/3]
			mine, tag := b.Key(weir.Text("tenant", "acme"), weir.Text("user", name))
			ours, _ := b.Key(weir.Text("tenant", "acme"))
			if err := b.TakeAll(t.Context(), o, weir.Take{Limit: l[0], Key: mine, Tag: tag, Cost: 1}, weir.Take{Limit: l[1], Key: ours, Tag: tag, Cost: 7}); err != nil || o.Allowed != want {
				t.Fatalf("%d: %+v, %v", i, o, err)
			}
			all = append(all, b.Keep(o))
		}
		pass(time.Hour)
		for _, s := range all {
			if s.Err() != nil {
				t.Error(s.Err())
			}
			release(t, s)
		}
		for _, take := range slices.Clone(o.Takes) {
			take.How, take.Cost, take.Slot = weir.Peek, 0, weir.SlotID{}
			if err := b.TakeAll(t.Context(), o, take); err != nil || o.Decision().Remaining != take.Limit.Capacity() {
				t.Errorf("%+v, %v", o.Decision(), err)
			}
		}
	})
}

// Who waits for a slot has it soon after its holder is done, and not at the end of a
// lease.
func TestWaitForASlot(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, _ := b.acquire(true)
		time.AfterFunc(3*time.Second, func() { release(t, slots) })
		o, began := new(weir.Outcome), time.Now()
		if err := b.Wait(t.Context(), o, 1, user()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 3*time.Second || took > 3*time.Second+100*time.Millisecond || b.store.takes > 60 {
			t.Errorf("it took %s, in %d questions", took, b.store.takes)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.waits(ctx, 1, time.Second, context.DeadlineExceeded)
		release(t, b.Keep(o))
		b.leaves(1)
	}, "1 concurrent")
}

// Whoever has a slot and waits for his turn longer than a lease has it then.
func TestASlotOutlastsAQueue(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		b.waits(t.Context(), 1, 0, nil)
		o := b.waits(t.Context(), 1, time.Minute, nil)
		if left := b.left()[0]; left != 1 { // the first one's lease has ended
			t.Errorf("%d left", left)
		}
		pass(9 * time.Second)
		if err := b.Renew(t.Context(), o); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Second, func() { cancel(errGone) })
		b.waits(ctx, 1, 30*time.Second, errGone)
		pass(10 * time.Second)
		if left := b.left()[0]; left != 2 {
			t.Errorf("%d left", left)
		}
	}, "2 concurrent lease 10s", "1/min leaky-bucket queue 9")
}

var errGone = errors.New("gone")

// What is over is not renewed, and what a reservation has taken is not its outcome's.
func TestSlotsThatAreOverAreNotRenewed(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, o := b.acquire(true)
		release(t, slots)
		if err := errors.Join(b.Renew(t.Context(), o), b.Release(t.Context(), o)); err != nil || b.returned() != 1 {
			t.Errorf("%v, %d returns", err, b.returned())
		}
		r, err := b.Reserve(t.Context(), o, 1, user())
		if err != nil || r.Slots() == nil || b.Keep(o) != nil {
			t.Errorf("%v: slots are kept twice", err)
		}
		if err := errors.Join(b.Renew(t.Context(), o), b.Release(t.Context(), o)); err != nil || b.returned() != 1 {
			t.Errorf("%v, %d returns", err, b.returned())
		}
		if err := r.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
		b.leaves(2)
	}, "2 concurrent")
}

// That a holder has left is no reason to keep his slot.
func TestReleaseAfterTheContextHasEnded(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		l, err := weir.New(&leaving{Store: b.store.Store}, built(t, "1 concurrent")...)
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		slots, err := l.Acquire(ctx, new(weir.Outcome), 1, user())
		if err != nil {
			t.Fatal(err)
		}
		leave()
		if err := slots.Release(ctx); err != nil {
			t.Error(err)
		}
		b.leaves(1)
	}, "1 concurrent")
}

// A reservation keeps its slots until it is settled.
func TestReservationsKeepSlots(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		for _, end := range []func(r *weir.Reservation) error{
			func(r *weir.Reservation) error { _, err := r.Settle(t.Context(), 5); return err },
			func(r *weir.Reservation) error { _, err := r.Settle(t.Context(), 1); return err },
			func(r *weir.Reservation) error { _, err := r.Settle(t.Context(), 500); return err },
			func(r *weir.Reservation) error { return r.Cancel(t.Context()) },
		} {
			if err := b.Reset(t.Context(), user()); err != nil {
				t.Fatal(err)
			}
			r := b.reserve(5)
			pass(10 * time.Minute)
			if left := b.left(); left[0] != 0 || r.Slots().Err() != nil {
				t.Errorf("%v, %v", left, r.Slots().Err())
			}
			if err := errors.Join(end(r), end(r)); err != nil {
				t.Error(err)
			}
			if left := b.left(); left[0] != 1 {
				t.Errorf("left %v", left)
			}
		}
	}, "1 concurrent", "100/day fixed-window")
}

// S36: slots that leak on an error's path until everything is refused.
func TestS36SlotsAreReleasedOnEveryPath(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		work := func(i int) {
			defer func() { _ = recover() }()
			slots, _ := b.acquire(true)
			defer func() { release(t, slots) }()
			if i%3 == 0 {
				panic("at work")
			}
			if i%3 == 1 {
				return
			}
			release(t, slots)
		}
		for i := range 10_000 {
			work(i)
		}
		b.leaves(1)
	}, "1 concurrent")
}

// At no time are more at work than may, whoever releases what how often.
func TestManyAcquire(t *testing.T) {
	b := under(t)
	const most = 3
	l, err := weir.New(b.store.Store, built(t, "3 concurrent", "1000000/h")...)
	if err != nil {
		t.Fatal(err)
	}
	var atWork, served, over atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			o := new(weir.Outcome)
			for i := range 300 {
				slots, err := l.Acquire(t.Context(), o, 1, user())
				if err != nil {
					t.Error(err)
				}
				if !o.Allowed {
					continue
				}
				if atWork.Add(1) > most {
					over.Add(1)
				}
				served.Add(1)
				atWork.Add(-1)
				var releases sync.WaitGroup
				for range 1 + i%3 {
					releases.Go(func() { release(t, slots) })
				}
				releases.Wait()
			}
		})
	}
	wg.Wait()
	o := new(weir.Outcome)
	if err := l.Peek(t.Context(), o, 0, user()); err != nil || o.Decisions[0].Remaining != most || over.Load() > 0 || served.Load() < 100 {
		t.Errorf("%d served, %d over; %+v, %v", served.Load(), over.Load(), o.Decisions, err)
	}
}

// Held against its meaning: a slot is held by whoever has it and not released it, for
// as long as it is kept or its lease lasts.
func TestSlotsAreCounted(t *testing.T) {
	type holder struct {
		o     *weir.Outcome
		slots *weir.Slots // nil where it is not kept
		until weir.Micros
	}
	rapid.Check(t, func(rt *rapid.T) {
		b := limited(t, "4 concurrent lease 1d", "1000000/h")
		const lease = 24 * 3600 * 1_000_000
		var holders []*holder
		live := func() (n int64) {
			for _, h := range holders {
				if h.until > b.clock.now() {
					n++
				}
			}
			return n
		}
		steps := map[string]func(rt *rapid.T){
			"take": func(rt *rapid.T) {
				before, kept := live(), rapid.Bool().Draw(rt, "kept")
				o := b.take(rapid.Int64Range(1, 9).Draw(rt, "cost"))
				if o.Allowed != (before < 4) {
					rt.Fatalf("allowed %t beside %d", o.Allowed, before)
				}
				if o.Allowed {
					h := &holder{o: o, until: b.clock.now() + lease}
					if kept {
						h.slots = b.Keep(o)
					}
					holders = append(holders, h)
				}
			},
			"wait": func(rt *rapid.T) {
				b.clock.advance(rapid.SampledFrom([]time.Duration{1, time.Hour, 9 * time.Hour}).Draw(rt, "span"))
			},
			"end": func(rt *rapid.T) {
				if len(holders) == 0 {
					return
				}
				h := rapid.SampledFrom(holders).Draw(rt, "holder")
				var err error
				switch way := rapid.IntRange(0, 3).Draw(rt, "way"); {
				case way == 0:
					err = b.Refund(t.Context(), h.o)
				case way == 1:
					err = b.Release(t.Context(), h.o)
				case way == 2 && h.until > b.clock.now():
					if err = b.Renew(t.Context(), h.o); err == nil {
						h.until = b.clock.now() + lease
						return
					}
				case way == 3 && h.slots != nil:
					err = h.slots.Release(t.Context())
				default:
					return
				}
				if h.until = math.MinInt64; err != nil {
					rt.Fatal(err)
				}
			},
			"": func(rt *rapid.T) {
				if left := b.left()[0]; left != 4-live() {
					rt.Fatalf("%d left beside %d", left, live())
				}
			},
		}
		rt.Repeat(steps)
		for _, h := range holders {
			_ = h.slots.Release(t.Context()) // so that no timer is left
		}
	})
}

// Two holders never have one name.
func TestSlotsHaveNamesOfTheirOwn(t *testing.T) {
	b := limited(t, "20 concurrent")
	var mu sync.Mutex
	names := map[weir.SlotID]bool{}
	l, err := weir.New(b.store.Store, built(t, "20 concurrent")...)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			o := new(weir.Outcome)
			for i := range 500 {
				if err := l.Take(t.Context(), o, 1, weir.Text("worker", string(rune('a'+worker))), weir.Text("user", string(rune('a'+i%25)))); err != nil || !o.Allowed {
					t.Error(err)
				}
				mu.Lock()
				names[o.Takes[0].Slot] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(names) != 2000 || names[weir.SlotID{}] {
		t.Errorf("%d names of 2000", len(names))
	}
}
