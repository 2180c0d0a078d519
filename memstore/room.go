package memstore

import "github.com/weirhq/weir"

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
func (s *shard) handOver(meet func(m *member)) {
	for i := range s.slots {
		m := s.slots[i].of
		if m == nil {
			continue
		}
		if m.heir == nil {
			meet(m)
		}
		if m.heir != m.rule {
			s.count(m.rule, -1)
			s.count(m.heir, 1)
			m.rule.entries.Add(-1)
			m.heir.entries.Add(1)
		}
	}
}

// count changes how many entries and reservations a rule has here.
func (s *shard) count(r *rule, change int) {
	for len(s.counts) <= r.index {
		s.counts = append(s.counts, 0)
	}
	s.counts[r.index] += change
}

// reserve counts one entry more for a rule.
func (s *shard) reserve(m *member) {
	s.count(m.rule, 1)
	s.used++
}

// release takes a reservation back.
func (s *shard) release(m *member) {
	s.count(m.rule, -1)
	s.used--
}

// held is how many entries and reservations a rule has here.
func (s *shard) held(r *rule) int {
	if r.index >= len(s.counts) {
		return 0
	}
	return s.counts[r.index]
}

// crowded reports whether a call may find no room for a key of the rule: where
// it says no, hasRoom says yes for every take of a call.
func (s *shard) crowded(r *rule, sh *shares) bool {
	if s.used+weir.MaxTakes <= s.cap-sh.total {
		return false
	}
	return s.used+weir.MaxTakes > s.cap || s.held(r)+weir.MaxTakes > sh.keys[r.index]
}

// hasRoom reports whether one more entry of the rule may be reserved: within
// the rule's own share always, beyond it from what no rule has reserved.
func (s *shard) hasRoom(r *rule, sh *shares) bool {
	if s.used >= s.cap {
		return false
	}
	if s.held(r) < sh.keys[r.index] || s.used < s.cap-sh.total {
		return true
	}
	beyond := 0
	for i, n := range s.counts {
		beyond += max(0, n-sh.keys[i])
	}
	return beyond < s.cap-sh.total
}
