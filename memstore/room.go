package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/table"
)

// This file answers one question: may a key without an entry have one? Half of
// the room is kept for the rules, in the shares that they were promised or in
// equal ones; the rest is common. A call asks with the shares as they stood when
// it had locked its shards and knew its limits.

// shares is how many entries of each rule a shard keeps room for.
type shares struct {
	keys  []int // by rule index
	total int
}

// share divides the reserved half anew: named rules get what they are promised,
// the others equal parts of the rest.
func (r *registry) share() {
	rest, unnamed := r.sizes.keys/2, 0
	for _, known := range r.rules {
		switch {
		case !r.promised(known):
		case known.reserved > 0:
			rest -= r.sizes.part(known.reserved) * r.sizes.shards
		default:
			unnamed++
		}
	}
	s := &shares{keys: make([]int, len(r.rules))}
	for i, known := range r.rules {
		switch {
		case !r.promised(known):
		case known.reserved > 0:
			s.keys[i] = r.sizes.part(known.reserved)
		default:
			s.keys[i] = rest / unnamed / r.sizes.shards
		}
		s.total += s.keys[i]
	}
	r.shares.Store(s)
}

// promised reports whether room is kept for a rule, which may be nil.
func (r *registry) promised(known *rule) bool {
	return known != nil && (!r.only || known.expected || known.reserved > 0)
}

// handOver counts entries for the rules that are their limits' heirs. Meet finds
// the heir of a version of a limit that has none yet.
func (s *Store) handOver(sh *shard, meet func(m *member)) {
	sh.entries.Each(func(e *table.Slot) {
		m := s.member(e)
		if m.heir == nil {
			meet(m)
		}
		if m.heir != m.rule {
			sh.count(m.rule, -1)
			sh.count(m.heir, 1)
			m.rule.entries.Add(-1)
			m.heir.entries.Add(1)
		}
	})
}

// count changes how many entries and reservations a rule has here.
func (sh *shard) count(r *rule, change int) {
	for len(sh.counts) <= r.index {
		sh.counts = append(sh.counts, 0)
	}
	sh.counts[r.index] += change
}

// reserve counts one entry more for a rule.
func (sh *shard) reserve(m *member) {
	sh.count(m.rule, 1)
	sh.used++
}

// release takes a reservation back.
func (sh *shard) release(m *member) {
	sh.count(m.rule, -1)
	sh.used--
}

// held is how many entries and reservations a rule has here.
func (sh *shard) held(r *rule) int {
	if r.index >= len(sh.counts) {
		return 0
	}
	return sh.counts[r.index]
}

// crowded reports whether a call may find no room for a key of the rule: where
// it says no, hasRoom says yes for every take of a call.
func (sh *shard) crowded(r *rule, of *shares) bool {
	if sh.used+weir.MaxTakes <= sh.cap-of.total {
		return false
	}
	return sh.used+weir.MaxTakes > sh.cap || sh.held(r)+weir.MaxTakes > of.keys[r.index]
}

// hasRoom reports whether one more entry of the rule may be reserved: within
// the rule's own share always, beyond it from what no rule has reserved.
func (sh *shard) hasRoom(r *rule, of *shares) bool {
	if sh.used >= sh.cap {
		return false
	}
	if sh.held(r) < of.keys[r.index] || sh.used < sh.cap-of.total {
		return true
	}
	beyond := 0
	for i, n := range sh.counts {
		beyond += max(0, n-of.keys[i])
	}
	return beyond < sh.cap-of.total
}
