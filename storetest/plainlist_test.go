package storetest

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// items are what a plain store keeps of a state that is a list.
type items []listItem

// A listItem is a charge of a log, or a holder, with the end of his lease.
type listItem struct {
	at    weir.Micros
	units int64
	id    weir.SlotID
}

// Next is algorithm.List's: a mark is an index and 1.
func (l *items) Next(mark uint64) (at weir.Micros, units int64, next uint64) {
	if mark >= uint64(len(*l)) {
		return 0, 0, 0
	}
	i := (*l)[mark]
	return i.at, i.units, mark + 1
}

// state sums the list up.
func (l *items) state() (s algorithm.State) {
	for _, i := range *l {
		s[0] = int64(i.at)
		s[1] += i.units
	}
	return s
}

// drop removes what is over.
func (l *items) drop(a algorithm.Lister, now weir.Micros) {
	over := a.Over(l.state(), now)
	*l = slices.DeleteFunc(*l, func(i listItem) bool { return i.at <= over })
}

// add adds units at an instant, or takes some away.
func (l *items) add(at weir.Micros, units int64) {
	if units == 0 {
		return
	}
	i := slices.IndexFunc(*l, func(i listItem) bool { return i.at == at })
	if i < 0 {
		*l = append(*l, listItem{at: at, units: units})
		return
	}
	if (*l)[i].units += units; (*l)[i].units == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
}

func (l *items) find(id weir.SlotID) int {
	return slices.IndexFunc(*l, func(i listItem) bool { return i.id == id })
}

// hold makes somebody a holder, or begins his lease anew.
func (l *items) hold(a *algorithm.Concurrency, id weir.SlotID, now weir.Micros, b bug) weir.Receipt {
	i := l.find(id)
	if i < 0 || b == countsAgain {
		*l = append(*l, listItem{units: 1, id: id})
		i = len(*l) - 1
	}
	end := a.Renewed(now, (*l)[i].at)
	if b == neverRenews && (*l)[i].at > 0 {
		end = (*l)[i].at
	}
	(*l)[i].at = end
	slices.SortStableFunc(*l, func(a, b listItem) int { return cmp.Compare(a.at, b.at) })
	return weir.Receipt{At: end, Cost: 1}
}

// letGo releases a slot, or renews it, and reports whether it was held.
func (l *items) letGo(a *algorithm.Concurrency, r weir.Return, now weir.Micros, b bug) bool {
	i := l.find(r.Slot)
	if i < 0 && b == freesAnyone && len(*l) > 0 {
		i = 0
	}
	switch {
	case i < 0:
		return false
	case r.Renew:
		l.hold(a, r.Slot, now, b)
	default:
		*l = slices.Delete(*l, i, i+1)
	}
	return true
}

// listOf is the list of a state at an instant, nil for a limit that has none.
func (s *plain) listOf(l *weir.Limit, at address, now weir.Micros) *items {
	a, ok := l.Algorithm().(algorithm.Lister)
	if !ok {
		return nil
	}
	list := slices.Clone(s.lists[at])
	list.drop(a, now)
	if s.bug == blursCharges && len(list) > 1 && list[0].id == (weir.SlotID{}) {
		list = items{{at: list[len(list)-1].at, units: list.state()[1]}}
	}
	return &list
}

// returnListed is a return to a state that is a list. It reports whether it is one,
// and whether a slot was held.
func (s *plain) returnListed(r weir.Return, now weir.Micros) (listed, held bool) {
	at := s.at(r.Limit, r.Key)
	list := s.listOf(r.Limit, at, now)
	if list == nil {
		return false, false
	}
	before := slices.Clone(*list)
	if slots, ok := r.Limit.Algorithm().(*algorithm.Concurrency); ok {
		held = list.letGo(slots, r, now, s.bug)
	} else {
		was := list.state()
		is := r.Limit.Algorithm().Refund(was, algorithm.Moment{Now: now, List: list}, r.Receipt, r.Units)
		list.add(r.Receipt.At, is[1]-was[1])
	}
	s.replace(at, before, *list)
	return true, held
}

// replace keeps a list that was changed. One that was not stays as it stood, with what
// is over at this reading of the clock and may not be at the next.
func (s *plain) replace(at address, before, list items) {
	if !slices.Equal(before, list) {
		s.lists[at] = list
	}
}

// need is what must fit for a take to pass.
func (p *pass) need(i int) int64 {
	if l := p.lists[p.address(i)]; l != nil && p.takes[i].Slot != (weir.SlotID{}) && l.find(p.takes[i].Slot) >= 0 && p.bug != countsAgain {
		return 0
	}
	return needOf(p.takes[i])
}

// hold gives the takes of a group their slots, if they are of slots.
func (p *pass) hold(g []int) bool {
	slots, ok := p.takes[g[0]].Limit.Algorithm().(*algorithm.Concurrency)
	if !ok {
		return false
	}
	for _, i := range g {
		t, d, at := p.takes[i], &p.out[i], p.address(i)
		if d.Granted = t.Cost; t.How&weir.Peek == 0 {
			d.Receipt = p.lists[at].hold(slots, t.Slot, p.now, p.bug)
			p.states[at] = p.lists[at].state()
		}
	}
	return true
}

// keep puts what a step has made of a state in its place, and in its list.
func (p *pass) keep(at address, s algorithm.State, r weir.Receipt) weir.Receipt {
	if l := p.lists[at]; l != nil {
		l.add(r.At, r.Cost)
	}
	p.states[at] = s
	return r
}
