package weir

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// This file is about the slots of concurrency limits: `5 concurrent` lets five be at
// work at once, and each of them holds a slot until it is done.

// Slots are the slots that one call was given, one under each of its concurrency
// limits. They are renewed until they are released: each time that a third of the
// shortest of their leases is over, and sooner after a renewal that has failed. A
// holder who dies without releasing them keeps them until their leases end, and no
// longer.
//
// A nil *Slots is that of a call without concurrency limits, and of one that was
// refused: its methods do nothing. Slots are safe for concurrent use.
type Slots struct {
	store    Store
	releases []Return
	renewals []Return
	lease    time.Duration // the shortest
	lost     chan struct{}

	mu        sync.Mutex
	heartbeat *time.Timer
	renewed   time.Time // when what the store has confirmed last was asked
	ended     bool      // the renewing, for good
	released  bool      // the slots; undone where the store has not applied it
	err       error     // why lost is closed
}

// What part of a lease lies between two renewals, and before one that makes up for
// another: there is time for eight of those.
const (
	beatsPerLease = 3
	triesPerLease = 12
)

// Keep renews the slots of o in the store that gave them, from now on and until they
// are released: by [Slots.Release], or by a [GiveBack] of o. It asks the store
// nothing by itself. To keep an outcome twice gives the same Slots.
//
// o may be used again meanwhile: what it was given before is released by the Slots
// alone then.
func Keep(store Store, o *Outcome) *Slots {
	if o == nil || o.slots != nil {
		return o.kept()
	}
	releases := o.slotReturns(false)
	if store == nil || len(releases) == 0 {
		return nil
	}
	s := &Slots{store: store, releases: releases, renewals: o.slotReturns(true), lost: make(chan struct{})}
	s.lease = releases[0].Limit.lease()
	for i := range releases {
		s.lease = min(s.lease, releases[i].Limit.lease())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed = time.Now()
	s.heartbeat = time.AfterFunc(s.lease/beatsPerLease, s.beat)
	o.slots = s
	return s
}

func (o *Outcome) kept() *Slots {
	if o == nil {
		return nil
	}
	return o.slots
}

// Release gives the slots back, once, however often it is called and by whomever: it
// is meant to be deferred. The context may have ended: that somebody has left is no
// reason to keep his slot. What the call was charged of rates stays charged. After an
// error that is [ErrNotApplied] it may be tried again; in any case the slots are not
// renewed any more, and free when their leases end.
func (s *Slots) Release(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := checkCall(ctx, s.store); err != nil {
		return err
	}
	if !s.letGo() {
		return nil
	}
	err := s.ask(context.WithoutCancel(ctx), s.releases)
	if errors.Is(err, ErrNotApplied) {
		s.holdOn()
	}
	return err
}

// ask asks the store. A panic of it is an error: nobody stands above the goroutine of
// a timer, and what is deferred may have been begun by a panic that is the news.
func (s *Slots) ask(ctx context.Context, returns []Return) (err error) {
	defer unpanic(&err)
	_, err = s.store.Return(ctx, returns)
	return err
}

// unpanic is deferred by who asks the store, and makes an error of its panic.
func unpanic(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: panic in the store: %v", ErrUnknown, v)
	}
}

// Lost is closed when a slot is lost: the store does not know it any more, or has
// confirmed none of its renewals for a whole lease. Others may be at work in the
// holder's place then, and he should end; his other slots go on being renewed. nil,
// which is never closed, for nil Slots.
func (s *Slots) Lost() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.lost
}

// Err is nil for as long as no slot is known to be lost, and then an error that is
// [ErrLost].
func (s *Slots) Err() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// letGo ends the renewing. It reports whether the slots are the caller's to release.
func (s *Slots) letGo() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.heartbeat.Stop()
	mine := !s.released
	s.released = true
	return mine
}

// holdOn undoes that, but for the renewing.
func (s *Slots) holdOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = false
}

func (s *Slots) isReleased() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released
}

// beat renews the slots, and sees to the next time.
func (s *Slots) beat() {
	asked := time.Now()
	err := s.renew()
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.lease / beatsPerLease
	switch {
	case s.ended:
		return // and so it is no news that the store does not know them
	case err == nil:
		s.renewed = asked
	case errors.Is(err, ErrLost): // the others were renewed
		s.renewed = asked
		if s.lose(err); len(s.renewals) == 1 {
			return
		}
	case time.Since(s.renewed) >= s.lease:
		s.lose(fmt.Errorf("%w: it was not renewed for its whole lease: %w", ErrLost, err))
		return
	default:
		next = s.lease / triesPerLease
	}
	s.heartbeat.Reset(next)
}

func (s *Slots) renew() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.lease/triesPerLease)
	defer cancel()
	return s.ask(ctx, s.renewals)
}

func (s *Slots) lose(err error) {
	if s.err == nil {
		s.err = err
		close(s.lost)
	}
}

// Acquire is Take and [Limiter.Keep] in one, for limiters with concurrency limits:
// the caller is given a slot under each of them, and cost units of every rate beside
// them, all or nothing.
//
//	slots, err := limiter.Acquire(ctx, &o, 1, user)
//	if err != nil || !o.Allowed {
//		…
//	}
//	defer slots.Release(ctx)
//
// A refusal is no error: o says so, and the Slots are nil; its RetryAfter is the end of
// the earliest lease, and a slot may be free long before, or not then. To wait for one,
// call [Limiter.Wait], and then Keep. Release gives the slots back and leaves rates
// charged; [Limiter.Refund] gives back both. Whoever is to wait for a leaky bucket (o's
// Delay) has his slots meanwhile. Errors are those of Take.
func (l *Limiter) Acquire(ctx context.Context, o *Outcome, cost int64, parts ...Part) (*Slots, error) {
	if err := l.take(ctx, o, cost, 0, parts); err != nil {
		return nil, err
	}
	return Keep(l.store, o), nil
}

// Keep is the package's [Keep] in the Limiter's store: for what Take, TakeAll,
// TakeAtMost and Wait were given.
func (l *Limiter) Keep(o *Outcome) *Slots { return Keep(l.store, o) }

// Release gives the slots of o back, once, and leaves what it was charged of rates:
// for slots that are not kept, and so end with their leases. Of those that are kept
// it is [Slots.Release]. Errors are those of Refund.
func (l *Limiter) Release(ctx context.Context, o *Outcome) error {
	if o == nil {
		return errNoOutcome()
	}
	if o.slots != nil {
		return o.slots.Release(ctx)
	}
	if err := checkCall(ctx, l.store); err != nil {
		return err
	}
	releases := o.slotReturns(false)
	if len(releases) == 0 {
		return nil
	}
	_, err := l.store.Return(ctx, releases)
	o.released = !errors.Is(err, ErrNotApplied)
	return err
}

// Renew begins the leases of o's slots anew, where they are not kept. An error that
// is [ErrLost] says that one of them is not held any more; the others are renewed all
// the same. An outcome without slots, and one whose slots were released, has nothing
// to renew.
func (l *Limiter) Renew(ctx context.Context, o *Outcome) error {
	if o == nil {
		return errNoOutcome()
	}
	if err := checkCall(ctx, l.store); err != nil {
		return err
	}
	renewals := o.slotReturns(true)
	if len(renewals) == 0 {
		return nil
	}
	_, err := l.store.Return(ctx, renewals)
	return err
}

// letGo reports whether the slots of o are still to be released, and are the
// caller's to release from now on.
func (o *Outcome) letGo() bool {
	if o.slots != nil {
		return o.slots.letGo()
	}
	return !o.released
}

// holdOn undoes that.
func (o *Outcome) holdOn() {
	if o.slots != nil {
		o.slots.holdOn()
	}
}

// slotReturns are those of all slots that o was given and has not released. It
// allocates only where there are some.
func (o *Outcome) slotReturns(renew bool) []Return {
	if o.spent || o.released || o.slots != nil && o.slots.isReleased() {
		return nil
	}
	var list []Return
	for i := range min(len(o.Takes), len(o.Decisions)) {
		if t := &o.Takes[i]; t.Slot != (SlotID{}) && o.Decisions[i].Receipt.Cost > 0 {
			list = append(list, Return{Limit: t.Limit, Key: t.Key, Tag: t.Tag, Slot: t.Slot, Renew: renew})
		}
	}
	return list
}

// claim makes a take one that a concurrency limit can answer: it is for one slot,
// whatever the request costs under rates, and the slot has a name that nobody else
// has. A slot that the caller has named stays his.
func (t *Take) claim() {
	t.Cost = min(t.Cost, 1)
	if t.How&Peek == 0 && t.Slot == (SlotID{}) {
		t.Slot = newSlot()
	}
}

// newSlot is 128 bits of the runtime's generator, which is seeded by the system: no
// two holders have the same, in however many processes.
func newSlot() (id SlotID) {
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	return id
}

// slotted reports that the limit's takes hold slots.
func (l *Limit) slotted() bool { return l != nil && l.spec.Algorithm == Concurrency }

// lease is how long a slot lasts without being renewed.
func (l *Limit) lease() time.Duration { return cmp.Or(l.spec.Lease, defaultLease) }
