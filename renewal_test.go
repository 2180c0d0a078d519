package weir_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
)

// A slot lasts for as long as it is kept, and ends with its lease when it is not.
func TestSlotsAreRenewed(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, _ := b.acquire(true)
		for range 100 {
			time.Sleep(7 * time.Second)
			b.acquire(false)
		}
		if slots.Err() != nil || len(slots.Lost()) != 0 {
			t.Error(slots.Err())
		}
		synctest.Wait() // it is just being renewed
		release(t, slots)
		calls := b.returned()
		b.take(1) // by one who dies
		time.Sleep(30*time.Second - time.Microsecond)
		b.acquire(false)
		time.Sleep(time.Microsecond)
		slots, _ = b.acquire(true)
		release(t, slots)
		if b.returned() != calls+1 {
			t.Errorf("after its release a slot was renewed %d times", b.returned()-calls-1)
		}
	}, "1 concurrent lease 30s")
}

// The shortest of several leases sets the pace.
func TestTheShortestLeaseSetsThePace(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, _ := b.acquire(true)
		time.Sleep(time.Minute + time.Millisecond)
		if want := 20; b.returned() != want {
			t.Errorf("renewed %d times in a minute, want %d", b.returned(), want)
		}
		b.leaves(4, 0)
		release(t, slots)
		b.leaves(5, 1)
	}, "5 concurrent", "1 concurrent lease 9s")
}

// Who has lost his slot is told, and takes none from others when he releases it.
func TestALostSlotIsTold(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, _ := b.acquire(true)
		if err := b.Reset(t.Context(), user()); err != nil {
			t.Fatal(err)
		}
		other, _ := b.acquire(true)
		began := time.Now()
		<-slots.Lost()
		if err := slots.Err(); !errors.Is(err, weir.ErrLost) || time.Since(began) > 10*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		release(t, slots)
		b.acquire(false)
		if other.Err() != nil {
			t.Error(other.Err())
		}
		release(t, other)
	}, "1 concurrent lease 30s")
}

// Of two slots one is lost, and the other stays.
func TestTheOtherSlotStays(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		slots, o := b.acquire(true)
		if err := b.store.Store.Reset(t.Context(), o.Takes[0].Limit, o.Takes[0].Key); err != nil {
			t.Fatal(err)
		}
		<-slots.Lost()
		time.Sleep(time.Hour)
		b.leaves(5, 0)
		release(t, slots)
		b.leaves(5, 1)
	}, "5 concurrent", "1 concurrent lease 30s")
}

// flaky is a store whose Returns fail as they are told to.
type flaky struct {
	weir.Store
	fail func(call int) error

	mu    sync.Mutex
	calls int
}

// acquireFrom has the user take slots of the limits in a store that fails.
func (b *bench) acquireFrom(t *testing.T, s *flaky) (*weir.Limiter, *weir.Outcome, *weir.Slots) {
	t.Helper()
	l, err := weir.New(s, b.Limits()...)
	if err != nil {
		t.Fatal(err)
	}
	o := new(weir.Outcome)
	slots, err := l.Acquire(t.Context(), o, 1, user())
	if err != nil {
		t.Fatal(err)
	}
	return l, o, slots
}

func (s *flaky) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.mu.Unlock()
	if err := s.fail(call); err != nil {
		return weir.Stamp{}, err
	}
	return s.Store.Return(ctx, returns)
}

// A renewal that fails is made up for by the next; slots of which the store confirms
// nothing for a lease are lost.
func TestRenewalsThatFail(t *testing.T) {
	f := func(lost bool, fail func(call int) error) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			l, err := weir.New(&flaky{Store: b.store.Store, fail: fail}, built(t, "1 concurrent lease 30s")...)
			if err != nil {
				t.Fatal(err)
			}
			slots, err := l.Acquire(t.Context(), new(weir.Outcome), 1, user())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30*time.Second - time.Millisecond)
			if slots.Err() != nil {
				t.Errorf("before its lease was over: %v", slots.Err())
			}
			time.Sleep(10 * time.Minute)
			defer slots.Release(t.Context())
			if err := slots.Err(); errors.Is(err, weir.ErrLost) != lost || errors.Is(err, weir.ErrUnknown) != lost {
				t.Errorf("%v; want lost %t, and why", err, lost)
			}
		}, "1 concurrent lease 30s")
	}
	f(false, func(int) error { return nil })
	f(false, func(call int) error {
		if call%8 == 0 {
			return nil
		}
		return weir.ErrUnknown
	})
	f(true, func(int) error { return weir.ErrUnknown })
	f(true, func(int) error { panic("the store is broken") })
}

// Slots that could not be released can be released again, and are free after a lease
// in any case.
func TestReleasesThatFail(t *testing.T) {
	f := func(first error, calls int) {
		t.Helper()
		bubbled(t, func(t *testing.T, b *bench) {
			s := &flaky{Store: b.store.Store, fail: func(call int) error {
				if call == 1 {
					return first
				}
				return nil
			}}
			l, err := weir.New(s, built(t, "1 concurrent")...)
			if err != nil {
				t.Fatal(err)
			}
			for _, again := range []func(o *weir.Outcome, slots *weir.Slots) error{
				func(_ *weir.Outcome, slots *weir.Slots) error { return slots.Release(t.Context()) },
				func(o *weir.Outcome, _ *weir.Slots) error { return l.Release(t.Context(), o) },
				func(o *weir.Outcome, _ *weir.Slots) error { return l.Refund(t.Context(), o) },
			} {
				s.calls = 0
				o := new(weir.Outcome)
				slots, err := l.Acquire(t.Context(), o, 1, user())
				if err != nil || !o.Allowed {
					t.Fatalf("%+v, %v", o, err)
				}
				if err := again(o, slots); !errors.Is(err, first) {
					t.Errorf("%v; want %v", err, first)
				}
				if err := errors.Join(again(o, slots), again(o, slots)); err != nil || s.calls != calls {
					t.Errorf("%v: %v after %d calls, want %d", first, err, s.calls, calls)
				}
				time.Sleep(time.Minute)
			}
		}, "1 concurrent")
	}
	f(nil, 1)
	f(weir.ErrNotApplied, 2)
	f(weir.ErrUnknown, 1)
}

// A slot that is not kept is renewed by hand, until it is lost.
func TestSlotsAreRenewedByHand(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		o := b.take(1)
		for range 5 {
			time.Sleep(25 * time.Second)
			if err := b.Renew(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(30 * time.Second)
		if err := b.Renew(t.Context(), o); !errors.Is(err, weir.ErrLost) {
			t.Errorf("after its lease: %v", err)
		}
		if err := errors.Join(b.Release(t.Context(), o), b.Renew(t.Context(), o)); err != nil {
			t.Error(err)
		}
		b.leaves(1)
	}, "1 concurrent lease 30s")
}

// A heartbeat that is on its way when the slots are released is no loss.
func TestAReleaseAmongRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enter, leave := make(chan struct{}), make(chan struct{})
		store := limited(t).store.Store
		s := &flaky{Store: store, fail: func(call int) error {
			if call == 1 {
				close(enter)
				<-leave
			}
			return nil
		}}
		l, err := weir.New(s, built(t, "1 concurrent lease 3s")...)
		if err != nil {
			t.Fatal(err)
		}
		slots, err := l.Acquire(t.Context(), new(weir.Outcome), 1, user())
		if err != nil {
			t.Fatal(err)
		}
		<-enter
		release(t, slots)
		close(leave)
		time.Sleep(time.Hour)
		if slots.Err() != nil || s.calls != 2 {
			t.Errorf("%v, %d calls", slots.Err(), s.calls)
		}
	})
}

// Nothing is renewed any more after a release, not even by a heartbeat that is on its
// way while the store does not apply it.
func TestAReleaseThatFailsAmongRenewals(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		for _, end := range []func(l *weir.Limiter, o *weir.Outcome, s *weir.Slots) error{
			func(_ *weir.Limiter, _ *weir.Outcome, s *weir.Slots) error { return s.Release(t.Context()) },
			func(l *weir.Limiter, o *weir.Outcome, _ *weir.Slots) error { return l.Refund(t.Context(), o) },
		} {
			enter, leave := make(chan struct{}), make(chan struct{})
			s := &flaky{Store: b.store.Store, fail: func(call int) error {
				switch call {
				case 1:
					close(enter)
					<-leave
				case 2:
					return weir.ErrNotApplied
				}
				return nil
			}}
			l, o, slots := b.acquireFrom(t, s)
			<-enter
			if err := end(l, o, slots); !errors.Is(err, weir.ErrNotApplied) {
				t.Error(err)
			}
			close(leave)
			pass(time.Minute)
			if s.calls != 2 || slots.Err() != nil {
				t.Errorf("%d calls, %v", s.calls, slots.Err())
			}
			b.leaves(1)
			release(t, slots) // so that no timer is left, be it renewed
		}
	}, "1 concurrent lease 3s")
}

// Of two slots one is lost, and the other outlives what happens to the store later.
func TestTheOtherSlotOutlivesAFailure(t *testing.T) {
	bubbled(t, func(t *testing.T, b *bench) {
		s := &flaky{Store: b.store.Store, fail: func(call int) error {
			if call == 10 {
				return weir.ErrUnknown
			}
			return nil
		}}
		_, o, slots := b.acquireFrom(t, s)
		if err := s.Reset(t.Context(), o.Takes[0].Limit, o.Takes[0].Key); err != nil {
			t.Fatal(err)
		}
		<-slots.Lost()
		pass(time.Hour)
		b.leaves(5, 0)
		release(t, slots)
		b.leaves(5, 1)
	}, "5 concurrent", "1 concurrent lease 30s")
}
