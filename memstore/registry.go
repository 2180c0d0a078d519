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
	index    int          // among the rules, for counting
	limits   int          // members that belong to it
	reserved int          // keys promised by name; such a rule is known for good
	expected bool         // so is one whose limits were expected
	live     atomic.Int64 // overflow cells in use
	overflow atomic.Uint64
	forgiven atomic.Uint64 // units of settlements that did not fit
}

// member is a version of a limit that the store has met: its overflow cells, and
// how many entries it has made. Each version has cells of its own: a cell that
// several plans shared would drain at the rate of the fastest.
type member struct {
	limit   algorithm.Algorithm
	rule    *rule
	entries atomic.Int64
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

// find gives a known version of a limit.
func (r *registry) find(version [16]byte) *member { return (*r.members.Load())[version] }

// add makes a limit known. It gives nil when there are no cells left for it.
func (r *registry) add(l *weir.Limit) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addLocked(l)
}

// expect makes the rules of limits known for good, if there are cells for all of
// the limits. Otherwise it gives the first for which there is none.
func (r *registry) expect(limits []*weir.Limit) *weir.Limit {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := make([]*member, 0, len(limits))
	for _, l := range limits {
		if l == nil || l.Algorithm() == nil {
			continue
		}
		m := r.addLocked(l)
		if m == nil {
			return l
		}
		members = append(members, m)
	}
	for _, m := range members {
		m.rule.expected = true
	}
	return nil
}

func (r *registry) addLocked(l *weir.Limit) *member {
	old := *r.members.Load()
	if m := old[l.Version()]; m != nil {
		return m
	}
	if len(old) >= r.sizes.limits {
		return nil
	}
	m := &member{limit: l.Algorithm(), rule: r.ruleNamed(l.Rule()), cells: make([]algorithm.State, r.sizes.cells)}
	m.rule.limits++
	r.share() // before the member can be found: whoever finds it finds its share
	members := maps.Clone(old)
	members[l.Version()] = m
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

// ruleOf gives a rule by its name, nil when it is not known.
func (r *registry) ruleOf(name string) *rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.rules {
		if known != nil && known.name == name {
			return known
		}
	}
	return nil
}

// prune forgets limits that hold nothing. The caller holds all shards and
// stripes, so that nobody else has a member in hand.
func (r *registry) prune(now weir.Micros) {
	r.mu.Lock()
	defer r.mu.Unlock()
	members := maps.Clone(*r.members.Load())
	for id, m := range members {
		if m.entries.Load() > 0 || m.overflows(now) {
			continue
		}
		delete(members, id)
		if m.rule.limits--; m.rule.limits == 0 && m.rule.reserved == 0 && !m.rule.expected {
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
	for i := range m.cells {
		m.setCell(i, algorithm.State{})
	}
	return false
}

// setCell writes a cell, under its stripe, and counts those in use.
func (m *member) setCell(i int, s algorithm.State) {
	empty := algorithm.State{}
	change := int64(0)
	switch {
	case m.cells[i] == empty && s != empty:
		change = 1
	case m.cells[i] != empty && s == empty:
		change = -1
	}
	m.cells[i] = s
	m.live.Add(change)
	m.rule.live.Add(change)
}
