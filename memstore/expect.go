package memstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
)

// This file answers one question: which limits does the store know for good, and
// so keeps room for? Expect adds to them; ExpectOnly replaces them.

// Expect makes limits known for good, before their first take, so that their rules
// have their share of the room from the beginning: a rule that the store has not
// met when another's flood comes finds what that has left. weir.New and the
// middleware call it. A limit that is expected with other numbers takes the place
// of what was expected under its name before. States that are known stay with the
// rule that has them, also where a limit keeps them under another name: ExpectOnly
// moves them.
//
// Limits beyond the number that the store has overflow cells for are an error,
// weir.ErrNotApplied; so is one more while entries name 2^18 versions of limits, which
// are all that they can. One of whose keys the store has no room for a single one is a
// *weir.FieldError. All of these are a *RoomError, and after any nothing has changed.
func (s *Store) Expect(limits ...*weir.Limit) error {
	if s.closed.Load() {
		return weir.ErrClosed
	}
	limits = withStates(limits)
	for _, l := range limits {
		if err := s.sizes.tooSmallFor(l); err != nil {
			return err
		}
	}
	if s.expect(limits) {
		return nil
	}
	return s.expectFull(limits)
}

// expectFull is Expect where there are cells only once others are forgotten: it
// stops every call, and sees first whether that is enough.
func (s *Store) expectFull(limits []*weir.Limit) error {
	now := s.lockAll()
	defer s.unlockAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.holding(now, func(version [16]byte, m *member) bool { return m.expected && !superseded(version, m, limits) })
	if err := s.fitsBeside(rest, limits); err != nil {
		return err
	}
	s.forgetAllBut(rest)
	s.members.Store(&rest)
	if checkClock(now) == nil {
		s.sweepAll(now)
	}
	s.forgetRules()
	s.takeNumbers()
	s.know(limits)
	return nil
}

// ExpectOnly makes these limits, and the rules that room is reserved for, all that
// is known for good: what Expect and Config.Reserved said before is void. It is for
// a set of rules that replaces another.
//
// Reserved is how many keys are kept for a rule, as Config.Reserved is; the other
// rules of the set share the rest equally. A rule outside the set has no share from
// now on, whether it was in the last one or comes with a take later: its keys live
// in the room that is common to all. What it holds is not touched: entries go on
// limiting until they are dead, and only then does the share that they fill come to
// those who are promised it.
//
// States that a limit of the set keeps (weir.NewLimitKeeping) and another rule has
// move to its rule, with their overflow cells: they count for its share. The
// counters of Stats stay where they were counted.
//
// All of it happens in one step, with every take of the store either before or
// after it: a pause that grows with the keys held, ten or twenty milliseconds for a
// million.
//
// Errors, after which nothing has changed: *weir.FieldError, joined, for what is
// reserved, for two rules that keep one limit's states, and for a limit of whose keys
// there is no room for a single one; weir.ErrNotApplied for more limits than the store
// has overflow cells for, or than entries can name, as Expect says; weir.ErrClosed. Those
// about a limit that does not fit are *RoomErrors.
func (s *Store) ExpectOnly(reserved map[string]int, limits ...*weir.Limit) error {
	next, err := newSet(s.sizes, reserved, limits)
	if err != nil {
		return err
	}
	now := s.lockAll()
	defer s.unlockAll()
	if s.closed.Load() {
		return weir.ErrClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.holding(now, func(version [16]byte, _ *member) bool { return next.versions[version] })
	if err := s.fitsBeside(rest, next.limits); err != nil {
		return err
	}
	s.replace(rest, next)
	return nil
}

// Cramped names the rules whose share, promised or equal, is less than one key of their
// largest limit in a part of the store, in order: when others have filled the rest, new
// keys of theirs find no room there. More MaxKeys helps, or a larger share.
func (s *Store) Cramped() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	largest, of := largest(*s.members.Load(), len(s.rules)), s.shares.Load()
	for i, known := range s.rules {
		if s.promised(known) && of.keys[i] < largest[i] {
			names = append(names, known.name)
		}
	}
	slices.Sort(names)
	return names
}

// Shares is how many keys are kept for each rule that has a share, promised or equal, over
// all parts of the store, as it stands now: see Config.Reserved.
func (s *Store) Shares() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, of := map[string]int{}, s.shares.Load()
	for i, known := range s.rules {
		if s.promised(known) {
			kept[known.name] = of.keys[i] * s.sizes.shards
		}
	}
	return kept
}

// fitsBeside is fits, once numbers are taken back where they are short. The caller
// holds everything.
func (s *Store) fitsBeside(rest map[[16]byte]*member, limits []*weir.Limit) error {
	err := s.fits(rest, limits)
	if errors.Is(err, errNoNumbers) {
		s.takeNumbers()
		err = s.fits(rest, limits)
	}
	return err
}

// set is what ExpectOnly is told, in order.
type set struct {
	reserved map[string]int
	limits   []*weir.Limit            // those that have states
	versions map[[16]byte]bool        // of the limits
	owners   map[[16]byte]*weir.Limit // who keeps the states of a Limit.ID
}

func newSet(z sizes, reserved map[string]int, limits []*weir.Limit) (*set, error) {
	n := &set{reserved: reserved, limits: withStates(limits), versions: map[[16]byte]bool{}, owners: map[[16]byte]*weir.Limit{}}
	var errs refusals
	z.checkReserved(reserved, errs.add)
	for _, l := range n.limits {
		if err := z.tooSmallFor(l); err != nil {
			errs = append(errs, err)
		}
		n.versions[l.Version()] = true
		switch other := n.owners[l.ID()]; {
		case other == nil:
			n.owners[l.ID()] = l
		case other.Rule() != l.Rule():
			errs.add("limit "+l.Name(), "", "the states of "+l.States()+" are kept by rule "+other.Rule()+" as well", "keep them in one rule")
		}
	}
	return n, errs.joined()
}

// withStates leaves out limits that no store ever sees, and adds the penalties of
// those that have a block, all of them once in a rule.
func withStates(limits []*weir.Limit) (list []*weir.Limit) {
	type name struct {
		version [16]byte
		rule    string
	}
	listed := map[name]bool{}
	add := func(l *weir.Limit) {
		if l == nil || l.Algorithm() == nil {
			return
		}
		if of := (name{l.Version(), l.Rule()}); !listed[of] {
			listed[of] = true
			list = append(list, l)
		}
	}
	for _, l := range limits {
		if add(l); l != nil {
			add(l.Penalty())
		}
	}
	return list
}

// expect makes limits and their rules known for good, if there are cells for all
// of them beside what is known. Otherwise it changes nothing, and reports false.
func (r *registry) expect(limits []*weir.Limit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fits(*r.members.Load(), limits) != nil {
		return false
	}
	r.know(limits)
	return true
}

// know makes limits that fit, and their rules, known for good.
// What was expected before under the same identity, with other numbers, may be
// forgotten from now on.
func (r *registry) know(limits []*weir.Limit) {
	for version, m := range *r.members.Load() {
		m.expected = m.expected && !superseded(version, m, limits)
	}
	for _, l := range limits {
		r.ruleOf(l).expected = true // before the limit can be found, so that its share is there
		r.enter(l).expected = true
	}
	r.share(*r.members.Load())
}

// superseded reports whether limits have a version of m's limit with other
// numbers, and not this one.
func superseded(version [16]byte, m *member, limits []*weir.Limit) bool {
	same := func(l *weir.Limit) bool { return l.ID() == m.id }
	this := func(l *weir.Limit) bool { return l.Version() == version }
	return slices.ContainsFunc(limits, same) && !slices.ContainsFunc(limits, this)
}

// fits sees that there are cells for limits beside those of members, and numbers for
// their versions. Errors are errNoCells and errNoNumbers.
func (r *registry) fits(members map[[16]byte]*member, limits []*weir.Limit) error {
	cells, numbers := r.sizes.limits, len(r.numbers)+mostVersions-len(*r.numbered.Load())
	for _, m := range members {
		cells -= r.sizes.shareOf(m.room)
	}
	for _, l := range limits {
		if members[l.Version()] != nil {
			continue
		}
		share := r.sizes.shareOf(roomOf(l))
		if cells -= share; cells < 0 {
			problem := fmt.Sprintf("there are cells for %d, of which it takes %d", r.sizes.limits, share)
			return &RoomError{Limit: l, Problem: problem, err: fmt.Errorf("limit %s: %w: %s; raise MaxKeys (see memstore.Config)", l.Name(), errNoCells, problem)}
		}
		if numbers--; numbers < 0 {
			return &RoomError{Limit: l, Problem: fmt.Sprintf("entries name %d versions of limits", mostVersions), err: fmt.Errorf("limit %s: %w", l.Name(), errNoNumbers)}
		}
	}
	return nil
}

// holding gives the versions of limits that stay, or have cells in use. The caller
// holds everything.
func (r *registry) holding(now weir.Micros, stays func(version [16]byte, m *member) bool) map[[16]byte]*member {
	members := maps.Clone(*r.members.Load())
	maps.DeleteFunc(members, func(version [16]byte, m *member) bool {
		if checkClock(now) == nil {
			r.clean(m, now)
		}
		return !stays(version, m) && m.live.Load() == 0
	})
	return members
}

// forgetAllBut lets rules forget the versions of their limits that are not among
// the rest.
func (r *registry) forgetAllBut(rest map[[16]byte]*member) {
	for version, m := range *r.members.Load() {
		if rest[version] == nil {
			m.forget()
		}
	}
}

// replace makes a set what is known for good. Rest, which it keeps, are the
// versions of limits that are known already and stay. The caller holds everything.
func (s *Store) replace(rest map[[16]byte]*member, next *set) {
	s.forgetAllBut(rest)
	for _, m := range *s.members.Load() {
		m.expected = false
	}
	for _, known := range s.rules {
		if known != nil {
			known.expected, known.reserved = false, 0
		}
	}
	s.only = true
	for name, n := range next.reserved {
		s.ruleNamed(name).reserved = n
	}
	s.move(rest, next)
	for _, l := range next.limits {
		m := rest[l.Version()]
		if m == nil {
			m = s.newMember(l, s.ruleNamed(l.Rule()))
			rest[l.Version()] = m
		}
		m.expected, m.rule.expected = true, true
	}
	s.members.Store(&rest)
	s.forgetRules()
	s.share(rest)
}

// move gives the states that the limits of a set keep to their rules: cells, and
// entries, whose limit's version may be forgotten. Having met them all, it takes back
// the numbers of the others.
func (s *Store) move(rest map[[16]byte]*member, next *set) {
	var met []*member
	meet := func(m *member) {
		m.heir = m.rule
		if l := next.owners[m.id]; l != nil && l.Rule() != m.rule.name {
			m.heir = s.ruleNamed(l.Rule())
		}
		met = append(met, m)
	}
	for _, m := range rest {
		meet(m)
		m.rule.limits--
		m.heir.limits++
		live := m.live.Load()
		m.rule.live.Add(-live)
		m.heir.live.Add(live)
		for _, cell := range m.cells {
			m.bequeath(uint64(cell[1]))
		}
	}
	for i := range s.shards {
		s.handOver(&s.shards[i], meet)
	}
	s.freeNumbers(func(m *member) bool { return m.heir == nil }) // forgotten, and named by no entry
	for _, m := range met {
		m.rule, m.heir = m.heir, nil
	}
}
