package memstore

import (
	"encoding/binary"
	"math/bits"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// address finds a state: which limit, which key.
type address struct {
	limit [16]byte
	key   weir.Key
}

// hash spreads addresses over shards. Both halves are hashes already.
func (a address) hash() uint64 {
	return binary.LittleEndian.Uint64(a.limit[:8]) ^ binary.LittleEndian.Uint64(a.key[8:])
}

// entry is one key's state of its own.
type entry struct {
	at    address
	of    *member // nil while the slot is free
	state algorithm.State
	kept  bool // reset while cells of its rule were in use: it says that the key starts anew
}

// shard is a part of the table under one lock.
type shard struct {
	mu      sync.Mutex
	latest  weir.Micros // no reading is below this
	slots   []entry
	free    []int32           // slots that are empty
	index   map[address]int32 // where an address stands
	counts  []int             // entries and reservations, by rule
	used    int               // their sum
	cap     int
	hand    int    // where the sweep goes on
	probe   uint64 // where the search goes on, as a fraction of the slots
	evicted uint64
}

// sweepStep is how many slots a call looks at in passing; searchStep how many
// it looks at when it needs room. Together they bound what one call moves.
const (
	sweepStep  = 4
	searchStep = 32
)

// sweep frees dead entries among the next n slots, but none of those that a
// call holds.
func (s *shard) sweep(n int, now weir.Micros, held func(slot int32) bool) {
	for range min(n, len(s.slots)) {
		s.hand++
		if s.hand >= len(s.slots) {
			s.hand = 0
		}
		s.evict(int32(s.hand), now, held)
	}
}

// search looks for dead entries all over the shard: entries of one age stand
// together, so that those next to the sweep may all be alive.
func (s *shard) search(now weir.Micros, held func(slot int32) bool) {
	if len(s.slots) == 0 {
		return
	}
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: its multiples are spread evenly
	for range searchStep {
		s.probe += golden
		slot, _ := bits.Mul64(s.probe, uint64(len(s.slots)))
		s.evict(int32(slot), now, held)
	}
}

// evict frees a slot whose entry is dead, and not held.
func (s *shard) evict(slot int32, now weir.Micros, held func(slot int32) bool) {
	e := &s.slots[slot]
	if e.of == nil || held(slot) || !e.of.limit.Dead(e.state, now) || e.kept && e.of.rule.live.Load() > 0 {
		return
	}
	s.remove(slot)
	s.evicted++
}

// remove frees a slot.
func (s *shard) remove(slot int32) {
	e := &s.slots[slot]
	s.release(e.of)
	e.of.rule.entries.Add(-1)
	delete(s.index, e.at)
	*e = entry{}
	s.free = append(s.free, slot)
}

// insert fills a slot that has been reserved.
func (s *shard) insert(at address, m *member, state algorithm.State) {
	e := entry{at: at, of: m, state: state}
	m.rule.entries.Add(1)
	if n := len(s.free); n > 0 {
		slot := s.free[n-1]
		s.free = s.free[:n-1]
		s.slots[slot] = e
		s.index[at] = slot
		return
	}
	s.slots = append(s.slots, e)
	s.index[at] = int32(len(s.slots) - 1)
}
