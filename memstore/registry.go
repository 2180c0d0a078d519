package memstore

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// rule is what the limits of one rule have in common: a share of the room.
type rule struct {
	name     string
	index    int          // among the rules, for counting
	limits   int          // members that belong to it
	reserved int          // keys promised by name; such a rule is known for good
	expected bool         // so is one whose limits were expected
	entries  atomic.Int64 // of all its limits
	live     atomic.Int64 // overflow cells that are not empty
	slots    atomic.Int64 // that are held, in entries and cells: see RuleStats.Slots
	overflow atomic.Uint64
	forgiven atomic.Uint64 // units of settlements that did not fit
}

// member is a version of a limit that the store has met, and its overflow cells.
// Each version has cells of its own: a cell that several plans shared would drain
// at the rate of the fastest. What changes of it (rule, short) is written by one who holds
// all shards, so that who holds one may read it.
type member struct {
	id       [16]byte // of the limit: its states' address
	version  [16]byte
	number   int // what entries call it by
	limit    algorithm.Algorithm
	packer   algorithm.Packer       // limit, where its states can be packed; else nil
	bucket   *algorithm.TokenBucket // limit, where it is one; else nil
	list     algorithm.Lister       // limit, where its states are lists; else nil, and then packer is not
	slots    *algorithm.Concurrency // limit, where it is one; else nil
	penalty  *algorithm.Penalty     // limit, where it is one; else nil
	short    bool                   // a take may go the short ways: nothing is kept beside its state, and it is not forgotten
	room     int                    // how much room an entry takes: 1, or what its list needs at most
	rule     *rule
	heir     *rule             // who has the states from now on, within ExpectOnly; else nil
	expected bool              // so that it is not forgotten; under registry.mu
	cells    []algorithm.State // each under the stripe of its index
	live     atomic.Int64      // cells that are not empty
}

// registry knows the limits and rules. Readers take no lock; a limit is added
// under mu, and removed only by one who holds all shards as well.
type registry struct {
	sizes sizes

	mu      sync.Mutex
	rules   []*rule // nil where an index is free
	only    bool    // rules that are neither expected nor reserved have no share
	members atomic.Pointer[map[[16]byte]*member]
	shares  atomic.Pointer[shares]

	// Versions by number, also those that are forgotten and that entries name. A
	// number is given under mu, and taken back by one who holds all shards as well.
	numbered atomic.Pointer[[]*member]
	numbers  []int // that are free

	stripes [cellStripes]stripe
}

// cellStripes is how many locks guard the overflow cells: enough that they do
// not become the one lock of a full store, few enough to take together.
const cellStripes = 16

// stripe locks every cell whose index it divides.
type stripe struct {
	mu     sync.Mutex
	latest weir.Micros // no reading is below this
	lists  lists       // of cells whose limits keep some
}

func newRegistry(c Config) *registry {
	r := &registry{sizes: c.sizes()}
	for name, n := range c.Reserved {
		r.ruleNamed(name).reserved = n
	}
	r.members.Store(&map[[16]byte]*member{})
	r.numbered.Store(&[]*member{})
	r.share(nil)
	return r
}

// find gives a known version of a limit.
func (r *registry) find(version [16]byte) *member { return (*r.members.Load())[version] }

// add makes a limit known. Errors are errNoCells and errNoNumbers, where there are
// none left for it, and a *weir.FieldError for one that the store is too small for.
func (r *registry) add(l *weir.Limit) (*member, error) {
	if err := r.sizes.tooSmallFor(l); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.fits(*r.members.Load(), []*weir.Limit{l}); err != nil {
		return nil, err
	}
	return r.enter(l), nil
}

// enter makes a limit known that fits, if it is not.
func (r *registry) enter(l *weir.Limit) *member {
	old := *r.members.Load()
	if m := old[l.Version()]; m != nil {
		return m
	}
	m := r.newMember(l, r.ruleOf(l))
	members := maps.Clone(old)
	members[l.Version()] = m
	r.share(members) // before the member can be found: whoever finds it finds its share
	r.members.Store(&members)
	return m
}

// newMember makes a version of a limit that counts for a rule.
func (r *registry) newMember(l *weir.Limit, of *rule) *member {
	of.limits++
	m := &member{id: l.ID(), version: l.Version(), limit: l.Algorithm(), rule: of, room: roomOf(l)}
	m.cells = make([]algorithm.State, r.sizes.cellsFor(m.room))
	m.packer, _ = m.limit.(algorithm.Packer)
	m.bucket, _ = m.limit.(*algorithm.TokenBucket)
	m.list, _ = m.limit.(algorithm.Lister)
	m.slots, _ = m.limit.(*algorithm.Concurrency)
	m.penalty, _ = m.limit.(*algorithm.Penalty)
	m.short = m.list == nil && m.penalty == nil && l.Penalty() == nil
	r.giveNumber(m)
	return m
}

// giveNumber gives a version its number. Entries name it only after that.
func (r *registry) giveNumber(m *member) {
	list := *r.numbered.Load()
	if last := len(r.numbers) - 1; last >= 0 {
		m.number, r.numbers = r.numbers[last], r.numbers[:last]
		list[m.number] = m
		return
	}
	m.number = len(list)
	list = append(list, m)
	r.numbered.Store(&list)
}

// takeNumbers takes back the numbers of versions that are forgotten and that no
// entry names. The caller holds everything, mu included.
func (s *Store) takeNumbers() {
	members := *s.members.Load()
	named := make([]bool, len(*s.numbered.Load()))
	for i := range s.shards {
		s.shards[i].entries.Each(func(e *table.Slot) { named[version(e)] = true })
	}
	s.freeNumbers(func(m *member) bool { return !named[m.number] && members[m.version] != m })
}

// freeNumbers takes back the numbers of versions that nobody has any more.
func (r *registry) freeNumbers(gone func(m *member) bool) {
	list := *r.numbered.Load()
	for n, m := range list {
		if m != nil && gone(m) {
			list[n] = nil
			r.numbers = append(r.numbers, n)
		}
	}
}

// forget lets a rule forget a version of one of its limits, whose cells are empty:
// they go now, though entries may name the version for long.
func (m *member) forget() {
	m.rule.limits--
	m.cells, m.short = nil, false
}

// ruleOf is the rule that a limit's states count for: the one that has them
// already, under whatever name, or the limit's own.
func (r *registry) ruleOf(l *weir.Limit) *rule {
	if owner := r.owner(l.ID()); owner != nil {
		return owner
	}
	return r.ruleNamed(l.Rule())
}

// owner is the rule of the versions of a limit that are known, or that entries name
// still, nil where there is none. All have one.
func (r *registry) owner(id [16]byte) *rule {
	for _, m := range *r.numbered.Load() {
		if m != nil && m.id == id {
			return m.rule
		}
	}
	return nil
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

// prune forgets versions of limits whose cells are empty, and rules that are left
// with neither limits nor entries. The caller holds everything, mu included, so
// that nobody else has a member in hand; an entry may go on naming one that is
// forgotten.
func (r *registry) prune(now weir.Micros) {
	members := r.holding(now, func(_ [16]byte, m *member) bool { return m.expected })
	r.forgetAllBut(members)
	r.members.Store(&members)
	r.forgetRules()
	r.share(members)
}

// forgetRules lets go of rules that are left with neither limits nor entries, and
// that nobody expects.
func (r *registry) forgetRules() {
	for i, known := range r.rules {
		if known != nil && known.limits == 0 && known.entries.Load() == 0 && known.reserved == 0 && !known.expected {
			r.rules[i] = nil
		}
	}
}

// clean empties cells that are dead, under all stripes.
func (r *registry) clean(m *member, now weir.Micros) {
	for i, s := range m.cells {
		if m.list != nil {
			l := r.cellList(m, i)
			l.drop(m.list, now)
			m.putCell(i, &l)
		} else if m.limit.Dead(s, now) {
			m.setCell(i, algorithm.State{})
		}
	}
}

// inUse empties the dead cells of a limit's rule, under all stripes, and reports
// whether any is left in use.
func (r *registry) inUse(l *weir.Limit, now weir.Micros) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	live, owner := int64(0), r.owner(l.ID())
	for _, m := range *r.members.Load() {
		if m.rule == owner {
			r.clean(m, now)
			live += m.live.Load()
		}
	}
	return live > 0
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
