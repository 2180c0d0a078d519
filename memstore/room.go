package memstore

import (
	"slices"
	"sort"

	"github.com/weirhq/weir/internal/table"
)

// This file answers one question: may a key without an entry have one? Half of
// the room is kept for the rules, in the shares that they were promised or in
// equal ones; the rest is common. A call asks with the shares as they stood when
// it had locked its shards and knew its limits.
//
// Room is counted in entries of 32 bytes. An entry with a list takes as many as its
// list may need at most, from the beginning (member.room): what a take has been
// granted finds its place.

// shares is how much room a shard keeps for each rule.
type shares struct {
	keys  []int // by rule index
	total int
}

// share divides the reserved half anew, where these limits are known: named rules get
// what they are promised, the others equal parts of the rest. Of either kind those that
// come to less than a key get more, as far as there is room for that.
func (r *registry) share(members map[[16]byte]*member) {
	s := &shares{keys: make([]int, len(r.rules))}
	rest := r.sizes.keys / 2 / r.sizes.shards // of each part of the store
	var unnamed []int
	for i, known := range r.rules {
		switch {
		case !r.promised(known):
		case known.reserved > 0:
			s.keys[i] = r.sizes.part(known.reserved)
			rest -= s.keys[i]
		default:
			unnamed = append(unnamed, i)
		}
	}
	largest := largest(members, len(r.rules))
	more := rest
	if len(unnamed) > 0 {
		more /= 2 // the others keep half of their equal parts
	}
	rest -= r.wholeKeys(s, largest, more)
	s.divide(rest, unnamed, largest)
	for _, n := range s.keys {
		s.total += n
	}
	r.shares.Store(s)
}

// divide gives rules equal parts of the rest. One whose largest key takes more gets as
// much as that takes, and the others less: the rules of the smallest keys first, and only
// while no part is less than half of what all would have. A rule of many slots must not
// cost a thousand plain ones what is kept for them.
func (of *shares) divide(rest int, rules, largest []int) {
	if len(rules) == 0 {
		return
	}
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b int) int { return largest[a] - largest[b] })
	fits := func(part, served int) bool { // a part for all, and a whole key for so many
		total := part * (len(rules) - served)
		for _, rule := range rules[:served] {
			total += max(part, largest[rule])
		}
		return total <= rest
	}
	equal := rest / len(rules)
	served := sort.Search(len(rules), func(n int) bool { return !fits(equal/2, n+1) })
	part := equal - sort.Search(equal-equal/2, func(n int) bool { return fits(equal-n, served) })
	for i, rule := range rules {
		of.keys[rule] = part
		if i < served {
			of.keys[rule] = max(part, largest[rule])
		}
	}
}

// wholeKeys makes promises good that come to less than a key of the rule's in each part
// of the store, as far as there is so much more: room that no key fits in is of no use
// to the rule, and kept from the others. It gives how much it has taken.
func (r *registry) wholeKeys(s *shares, largest []int, more int) (taken int) {
	for i, known := range r.rules {
		if known == nil || known.reserved == 0 {
			continue
		}
		if lacks := largest[i] - s.keys[i]; lacks > 0 && taken+lacks <= more {
			s.keys[i] += lacks
			taken += lacks
		}
	}
	return taken
}

// largest is the most room that one key takes, of each rule.
func largest(members map[[16]byte]*member, rules int) []int {
	rooms := make([]int, rules)
	for _, m := range members {
		rooms[m.rule.index] = max(rooms[m.rule.index], m.room)
	}
	return rooms
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
			sh.count(m.rule, -m.roomOf(e))
			sh.count(m.heir, m.roomOf(e))
			m.rule.entries.Add(-1)
			m.heir.entries.Add(1)
			m.bequeath(e.Words[1] >> lowBits)
		}
	})
}

// bequeath counts the slots of a list, by its second word, for the rule that is the
// limit's heir.
func (m *member) bequeath(word uint64) {
	if m.slots == nil {
		return
	}
	m.rule.slots.Add(-unitsIn(word))
	m.heir.slots.Add(unitsIn(word))
}

// count changes how much room the entries and reservations of a rule have here.
func (sh *shard) count(r *rule, change int) {
	for len(sh.counts) <= r.index {
		sh.counts = append(sh.counts, 0)
	}
	if sh.shares != nil {
		held := sh.counts[r.index]
		sh.beyond += sh.shares.beyond(r.index, held+change) - sh.shares.beyond(r.index, held)
	}
	sh.counts[r.index] += change
	sh.used += change
}

// held is how much room the entries and reservations of a rule have here.
func (sh *shard) held(r *rule) int {
	if r.index >= len(sh.counts) {
		return 0
	}
	return sh.counts[r.index]
}

// crowded reports whether a call, whose takes need so much room together, may find
// none for a key of the rule: where it says no, hasRoom says yes for every take of it.
func (sh *shard) crowded(r *rule, need int, of *shares) bool {
	if sh.used+need <= sh.cap-of.total {
		return false
	}
	return sh.used+need > sh.cap || sh.held(r)+need > of.keys[r.index]
}

// hasRoom reports whether so much more may be reserved for an entry of the rule:
// within the rule's own share always, beyond it from what no rule has reserved.
func (sh *shard) hasRoom(r *rule, more int, of *shares) bool {
	if sh.used+more > sh.cap {
		return false
	}
	held := sh.held(r)
	if held+more <= of.keys[r.index] {
		return true
	}
	beyond := of.beyond(r.index, held+more) - of.beyond(r.index, held)
	return sh.beyondShares(of)+beyond <= sh.cap-of.total
}

// beyondShares is how much room rules have beyond their shares: of as many rules as
// there are, so that it is counted along, and anew only where the shares have changed.
func (sh *shard) beyondShares(of *shares) int {
	if sh.shares != of {
		sh.shares, sh.beyond = of, 0
		for i, held := range sh.counts {
			sh.beyond += of.beyond(i, held)
		}
	}
	return sh.beyond
}

// beyond is how much of what a rule has is not within its share. A rule that was not
// known when the shares were made has none.
func (of *shares) beyond(index, held int) int {
	if index < len(of.keys) {
		held -= of.keys[index]
	}
	return max(0, held)
}
