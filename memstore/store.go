package memstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/table"
)

// Store keeps states in this process. Make it with New. It is safe for
// concurrent use; its methods never wait for anything but each other, so that
// their contexts are not looked at.
type Store struct {
	*registry
	onFull OnFull
	keyer  weir.Keyer
	clock  *clock // nil when Config.Now replaces it
	now    func() weir.Micros
	epoch  uint64
	closed atomic.Bool

	shards []shard
	calls  sync.Pool    // *call, so that a take allocates nothing
	pruned atomic.Int64 // when limits were last looked through for some to forget
}

var _ weir.Store = (*Store)(nil)

// New makes an empty store. Errors name every field that cannot be.
func New(c Config) (*Store, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &Store{registry: newRegistry(c), onFull: c.OnFull, keyer: weir.LocalKeyer(), now: c.Now}
	if s.now == nil {
		s.clock = newClock()
		s.now = s.clock.now
	}
	var epoch [8]byte
	_, _ = rand.Read(epoch[:]) // never fails
	s.epoch = binary.LittleEndian.Uint64(epoch[:])
	s.shards = make([]shard, s.sizes.shards)
	for i := range s.shards {
		s.shards[i].cap = s.sizes.keys / s.sizes.shards
		if i < s.sizes.keys%s.sizes.shards {
			s.shards[i].cap++
		}
	}
	s.calls.New = func() any { return &call{store: s} }
	return s, nil
}

// Keyer makes the keys of this store: a hash under a seed of this process.
func (s *Store) Keyer() weir.Keyer { return s.keyer }

// Close makes every later call answer [weir.ErrClosed]. The store has no
// goroutine and holds nothing but memory.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// Take is [weir.Store].Take. The context is not looked at: nothing here waits.
func (s *Store) Take(_ context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	switch n := len(takes); {
	case n == 0 || n > weir.MaxTakes || n != len(out):
	case n > 1:
		if known, allowed, now := s.takeTogether(takes, out); known {
			return allowed, weir.Stamp{Now: now, Epoch: s.epoch}, nil
		}
	case plain(&takes[0]):
		if known, allowed, now, err := s.takeKnown(&takes[0], &out[0]); known {
			return allowed, weir.Stamp{Now: now, Epoch: s.epoch}, err
		}
	}
	if err := weir.CheckTakes(takes, out); err != nil {
		return false, weir.Stamp{}, err
	}
	c, _ := s.calls.Get().(*call)
	defer s.calls.Put(c)
	allowed, now, err := c.take(takes, out)
	if err != nil && (errors.Is(err, errNoCells) || errors.Is(err, errNoNumbers)) && s.mayPrune() {
		s.prune()
		allowed, now, err = c.take(takes, out)
	}
	return allowed, weir.Stamp{Now: now, Epoch: s.epoch}, err
}

// Return is [weir.Store].Return.
func (s *Store) Return(_ context.Context, returns []weir.Return) (weir.Stamp, error) {
	if err := weir.CheckReturns(returns); err != nil {
		return weir.Stamp{}, err
	}
	c, _ := s.calls.Get().(*call)
	defer s.calls.Put(c)
	now, err := c.giveBack(returns)
	return weir.Stamp{Now: now, Epoch: s.epoch}, err
}

// Reset is [weir.Store].Reset: the penalty of a block is forgotten as well. A key that shares an overflow cell cannot be
// separated from the others in it.
func (s *Store) Reset(_ context.Context, l *weir.Limit, k weir.Key) error {
	if s.closed.Load() {
		return weir.ErrClosed
	}
	if l == nil {
		return weir.Invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
	}
	if l.Algorithm() == nil {
		return weir.Invalid("reset", l.Name(), "unlimited and deny have no states", "")
	}
	at := address{l.ID(), k}
	fp := at.fingerprint()
	sh := &s.shards[s.shardOf(fp)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	shared := s.sharedNow(l)
	switch e, m := s.entryOf(sh, fp, l); {
	case e != nil && shared: // without the entry, the cell that the key once shared would answer again
		sh.clear(e, m)
		e.Words[1] |= kept
	case e != nil:
		sh.remove(e, m)
	case shared:
		return fmt.Errorf("%w: limit %s has keys that share cells for want of room, and this key may be one of them", weir.ErrNotApplied, l.Name())
	}
	s.forgive(l, k, sh)
	return nil
}

// sharedNow reports whether a limit's rule has overflow cells in use. The caller
// holds a shard.
func (s *Store) sharedNow(l *weir.Limit) bool {
	s.lockAllStripes()
	defer s.unlockAllStripes()
	now := s.now() // what is dead by a clock that ran back is dead
	return checkClock(now) == nil && s.inUse(l, now)
}

func (s *Store) lockAllStripes() {
	for i := range s.stripes {
		s.stripes[i].mu.Lock()
	}
}

func (s *Store) unlockAllStripes() {
	for i := range s.stripes {
		s.stripes[i].mu.Unlock()
	}
}

// shardOf chooses by the upper bits of a fingerprint; the table chooses by others.
func (s *Store) shardOf(fp uint64) int { return int(fp >> 32 & uint64(len(s.shards)-1)) }

// mayPrune is true once a second: to look through all that is held for limits
// that could be forgotten takes milliseconds under all locks.
func (s *Store) mayPrune() bool {
	now, last := int64(s.now()), s.pruned.Load()
	return now-last >= int64(time.Second/time.Microsecond) && s.pruned.CompareAndSwap(last, now)
}

// prune stops the world and forgets limits that hold nothing.
func (s *Store) prune() {
	now := s.lockAll()
	defer s.unlockAll()
	if checkClock(now) != nil {
		return // the takes will say so
	}
	s.sweepAll(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registry.prune(now)
	s.takeNumbers()
}

// sweepAll removes every dead entry. The caller holds all shards.
func (s *Store) sweepAll(now weir.Micros) {
	for i := range s.shards {
		sh := &s.shards[i]
		s.sweep(sh, sh.entries.Room(), now, func(*table.Slot) bool { return false })
	}
}

// lockAll stops every call, and reads the clock as a call that needs all does: one
// that is out of range is not kept.
func (s *Store) lockAll() weir.Micros {
	for i := range s.shards {
		s.shards[i].mu.Lock()
	}
	s.lockAllStripes()
	now := s.now()
	for i := range s.shards {
		now = max(now, s.shards[i].latest)
	}
	for i := range s.shards {
		if checkClock(now) == nil {
			s.shards[i].latest = now
		}
	}
	return now
}

func (s *Store) unlockAll() {
	s.unlockAllStripes()
	for i := range s.shards {
		s.shards[i].mu.Unlock()
	}
}

// Stats is what a store can tell of itself. Counters rise; those of a rule begin
// anew when the store has forgotten it, which it does with rules that hold nothing
// and are not expected, when others need their cells.
type Stats struct {
	Keys       int                  // entries held, dead ones included that no sweep has met yet
	MaxKeys    int                  // the most entries there can be: Config.MaxKeys less the eighth for overflow cells
	Used       int                  // how much of that is taken: that of all rules
	Evicted    uint64               // dead entries removed
	ClockSteps uint64               // times the clock was moved forward after the wall clock
	Rules      map[string]RuleStats // by rule name
}

// RuleStats is one rule's part of [Stats].
//
// Slots are those that the store keeps, and that were neither released nor met again
// after their lease has ended. One that is released is at once no longer counted. One
// whose lease ends by itself is counted until a call names its key, or the sweep for room
// comes by: without calls for ever. So the number is exact while holders keep and release
// their slots, and else too high. Slots that Admit lets pass without keeping them are not
// in it.
type RuleStats struct {
	Keys     int    // entries held
	Used     int    // how much of MaxKeys they take: an entry with a list (weir.Limit.Memory) more than 1
	Slots    int    // held under concurrency limits, as far as is known: see above
	HasSlots bool   // one of its limits is a concurrency limit
	Overflow uint64 // calls in which a key was decided on a shared cell
	Forgiven uint64 // units of settlements (weir.Force) that did not fit the overdraft
}

// Stats counts. It locks one shard after the other, so that the sums are not of
// one instant.
func (s *Store) Stats() Stats {
	st := Stats{MaxKeys: s.sizes.keys, Rules: map[string]RuleStats{}}
	if s.clock != nil {
		st.ClockSteps = s.clock.steps.Load()
	}
	used := map[*rule]int{}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		st.Keys += sh.entries.Len()
		st.Used += sh.used
		st.Evicted += sh.evicted
		s.usedBy(sh, used)
		sh.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	holders := map[*rule]bool{}
	for _, m := range *s.numbered.Load() {
		if m != nil && m.slots != nil {
			holders[m.rule] = true
		}
	}
	for _, r := range s.rules {
		if r != nil {
			st.Rules[r.name] = RuleStats{
				Keys: int(r.entries.Load()), Used: used[r], Slots: int(r.slots.Load()), HasSlots: holders[r],
				Overflow: r.overflow.Load(), Forgiven: r.forgiven.Load(),
			}
		}
	}
	return st
}

// usedBy adds how much room each rule has in a shard, under its lock: while that is
// held, no index of a rule that has some is given to another.
func (s *Store) usedBy(sh *shard, used map[*rule]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for index, n := range sh.counts {
		if n > 0 {
			used[s.rules[index]] += n
		}
	}
}
