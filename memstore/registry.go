package memstore

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// rule is what the limits of one rule have in common: a share of the room.
type rule struct {
	name     string
	index    int // among the rules, for counting
	limits   int // members that belong to it
	reserved int // keys promised by name; such a rule is known for good
	overflow atomic.Uint64
	forgiven atomic.Uint64 // units of settlements that did not fit
}

// member is a limit that the store has met: its overflow cells, and how many
// entries it has.
type member struct {
	limit   algorithm.Algorithm // some version of it: which one does not matter for being dead
	rule    *rule
	entries atomic.Int64
	pinned  bool              // expected, so that it is not forgotten; under registry.mu
	cells   []algorithm.State // each under the stripe of its index
	live    atomic.Int64      // cells that are not empty
}

// registry knows the limits and rules. Readers take no lock; a limit is added
// under mu, and removed only by one who holds all shards as well.
type registry struct {
	sizes sizes

	mu      sync.Mutex
	rules   []*rule // nil where an index is free
	members atomic.Pointer[map[[16]byte]*member]
	shares  atomic.Pointer[shares]
}

func newRegistry(c Config) *registry {
	r := &registry{sizes: c.sizes()}
	for name, n := range c.Reserved {
		r.ruleNamed(name).reserved = n
	}
	r.members.Store(&map[[16]byte]*member{})
	r.share()
	return r
}

// find gives a known limit.
func (r *registry) find(id [16]byte) *member { return (*r.members.Load())[id] }

// add makes a limit known. It gives nil when there are no cells left for it.
func (r *registry) add(l *weir.Limit) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addLocked(l)
}

// pin makes limits known for good, all of them or, where there are too few
// cells, none. It gives the first for which there is no cell.
func (r *registry) pin(limits []*weir.Limit) *weir.Limit {
	r.mu.Lock()
	defer r.mu.Unlock()
	pinned := make([]*member, 0, len(limits))
	for _, l := range limits {
		if l == nil || l.Algorithm() == nil {
			continue
		}
		m := r.addLocked(l)
		if m == nil {
			return l
		}
		pinned = append(pinned, m)
	}
	for _, m := range pinned {
		m.pinned = true
	}
	return nil
}

func (r *registry) addLocked(l *weir.Limit) *member {
	old := *r.members.Load()
	if m := old[l.ID()]; m != nil {
		return m
	}
	if len(old) >= r.sizes.limits {
		return nil
	}
	m := &member{limit: l.Algorithm(), rule: r.ruleNamed(l.Rule()), cells: make([]algorithm.State, r.sizes.cells)}
	m.rule.limits++
	r.share() // before the member can be found: whoever finds it finds its share
	members := maps.Clone(old)
	members[l.ID()] = m
	r.members.Store(&members)
	return m
}

// ruleNamed finds or makes a rule, in the first index that is free.
func (r *registry) ruleNamed(name string) *rule {
	free := len(r.rules)
	for i, known := range r.rules {
		switch {
		case known == nil:
			free = min(free, i)
		case known.name == name:
			return known
		}
	}
	made := &rule{name: name, index: free}
	if free == len(r.rules) {
		r.rules = append(r.rules, nil)
	}
	r.rules[free] = made
	return made
}

// prune forgets limits that hold nothing. The caller holds all shards and
// stripes, so that nobody else has a member in hand.
func (r *registry) prune(now weir.Micros) {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := maps.Clone(*r.members.Load())
	for id, m := range members {
		if m.pinned || m.entries.Load() > 0 || m.overflows(now) {
			continue
		}
		delete(members, id)
		if m.rule.limits--; m.rule.limits == 0 && m.rule.reserved == 0 {
			r.rules[m.rule.index] = nil
		}
	}
	r.members.Store(&members)
	r.share()
}

// overflows reports whether any cell of the limit is in use, and empties the
// cells when none is.
func (m *member) overflows(now weir.Micros) bool {
	for _, s := range m.cells {
		if !m.limit.Dead(s, now) {
			return true
		}
	}
	m.live.Store(0)
	clear(m.cells)
	return false
}
