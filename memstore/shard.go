package memstore

import (
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// shard is a part of the entries under one lock.
type shard struct {
	mu      sync.Mutex
	latest  weir.Micros // no reading is below this
	entries table.Table
	wide    table.Slab[algorithm.State] // states that do not fit the table
	lists   lists                       // of entries whose limits keep some
	counts  []int                       // room of entries and reservations, by rule
	used    int                         // their sum
	beyond  int                         // how much of that is not within the rules' shares
	shares  *shares                     // those that beyond is counted by; nil before it is
	cap     int
	evicted uint64
}

// lockTries take a microsecond or so together: who has not given the lock back by then
// does not run, and to go on trying would take the time that he needs.
const lockTries = 100

// lock is mu.Lock for what is held for some fifty nanoseconds: it tries again for about
// as long as that takes a few times, before it waits in the queue, where to be woken takes
// ten times as long. It is for the short ways; who holds all shards, or looks for room,
// holds them too long to be waited for like that. Who tries may hold others, for all lock
// in ascending order, and the last try waits.
func (sh *shard) lock() {
	for range lockTries {
		if sh.mu.TryLock() {
			return
		}
	}
	sh.mu.Lock()
}

// sweepSets is how many sets of eight entries a call looks at for dead ones when
// it needs room for a key; searchSets how many more when there is none.
const (
	sweepSets  = 1
	searchSets = 4
)

// sweep frees dead entries among the next n sets, but none of those that a call
// holds.
func (s *Store) sweep(sh *shard, n int, now weir.Micros, held func(*table.Slot) bool) {
	sh.entries.Sweep(n, func(e *table.Slot) bool {
		m := s.member(e)
		if !sh.dead(e, m, now) || held(e) || isKept(e) && m.rule.live.Load() > 0 {
			return false
		}
		sh.forget(e, m)
		sh.evicted++
		return true
	})
}

// dead reports an entry whose state says nothing any more. A flood has most of its work
// with it, so that a bucket's is not unpacked for that.
func (sh *shard) dead(e *table.Slot, m *member, now weir.Micros) bool {
	if m.bucket != nil && !isWide(e) {
		return m.bucket.Drained(int64(e.Words[0]>>lowBits), int64(e.Words[1]>>lowBits), now)
	}
	return m.limit.Dead(sh.state(e, m), now)
}

// remove frees an entry.
func (sh *shard) remove(e *table.Slot, m *member) {
	sh.forget(e, m)
	sh.entries.Remove(e)
}

// forget counts an entry no more that is about to be removed, and lets go of what it
// has beside the table.
func (sh *shard) forget(e *table.Slot, m *member) {
	sh.count(m.rule, -m.roomOf(e))
	m.rule.entries.Add(-1)
	if m.list != nil {
		m.countSlots(e.Words[1]>>lowBits, 0)
		l := sh.listOf(e, m)
		l.free()
		return
	}
	sh.unblock(e)
}

// insert makes an entry, whose room has been reserved.
func (sh *shard) insert(fp uint64, m *member, state algorithm.State) {
	m.rule.entries.Add(1)
	sh.write(sh.entries.Insert(fp), m, m, state)
}
