package storetest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/weirhq/weir"
)

// A lease is a holder of a slot, and when it ceases to be one.
type lease struct {
	id   weir.SlotID
	ends weir.Micros
}

// leases are holders, by the end of their leases and then by name.
type leases []lease

func (l leases) same(other state) bool {
	o, ok := other.(leases)
	return ok && slices.Equal(l, o)
}

// slotLaw is a concurrency limit: a holder counts until its lease ends, and one more
// passes when those that count, and it, are together no more than the limit.
type slotLaw struct {
	limit  int64
	length weir.Micros // of a lease
}

func slotLawOf(s weir.Spec) slotLaw {
	l := slotLaw{limit: s.Count, length: weir.Micros(s.Lease / time.Microsecond)}
	if l.length == 0 {
		l.length = weir.Micros(time.Minute / time.Microsecond)
	}
	return l
}

func (l slotLaw) capacity() int64 { return l.limit }

// live are the holders that count at an instant, in a list of its own.
func (l slotLaw) live(s state, at weir.Micros) leases {
	held, _ := s.(leases)
	return slices.DeleteFunc(slices.Clone(held), func(h lease) bool { return h.ends <= at })
}

// holds reports whether somebody is a holder at an instant.
func (l slotLaw) holds(s state, at weir.Micros, id weir.SlotID) bool {
	return slices.ContainsFunc(l.live(s, at), func(h lease) bool { return h.id == id })
}

// fits: who asks for nothing passes, also where a limit was lowered below what is
// held.
func (l slotLaw) fits(s state, at weir.Micros, need int64) bool {
	return need == 0 || int64(len(l.live(s, at)))+need <= l.limit
}

func (l slotLaw) wait(s state, at weir.Micros, need int64) weir.Micros {
	return earliest(l.length, func(d weir.Micros) bool { return l.fits(s, at+d, need) })
}

func (l slotLaw) left(s state, at weir.Micros) int64 {
	return max(0, l.limit-int64(len(l.live(s, at))))
}

func (l slotLaw) reset(s state, at weir.Micros) weir.Micros {
	return earliest(l.length, func(d weir.Micros) bool { return len(l.live(s, at+d)) == 0 })
}

func (l slotLaw) touch(s state, _ moment) state { return s }

// hold makes somebody a holder, or begins his lease anew, which does not shorten it.
func (l slotLaw) hold(s state, at weir.Micros, id weir.SlotID) (state, weir.Receipt) {
	held, ends := l.live(s, at), at+l.length
	i := slices.IndexFunc(held, func(h lease) bool { return h.id == id })
	if i < 0 {
		held = append(held, lease{id: id, ends: ends})
	} else {
		ends = max(ends, held[i].ends)
		held[i].ends = ends
	}
	return held.sorted(), weir.Receipt{At: ends, Cost: 1}
}

func (l leases) sorted() leases {
	slices.SortFunc(l, func(a, b lease) int {
		return cmp.Or(cmp.Compare(a.ends, b.ends), bytes.Compare(a.id[:], b.id[:]))
	})
	return l
}

// letGo releases a slot, or renews it, and reports whether it was held.
func (l slotLaw) letGo(s state, at weir.Micros, r weir.Return) (state, bool) {
	held := l.live(s, at)
	i := slices.IndexFunc(held, func(h lease) bool { return h.id == r.Slot })
	switch {
	case i < 0:
		return s, false
	case r.Renew:
		renewed, _ := l.hold(s, at, r.Slot)
		return renewed, true
	}
	held = slices.Delete(held, i, i+1)
	if len(held) == 0 {
		return nil, true
	}
	return held, true
}

// charge, force and refund are of units, of which slots have none: see hold, letGo.
func (l slotLaw) charge(s state, _ moment, _ int64) (state, weir.Receipt) { return s, weir.Receipt{} }

func (l slotLaw) force(s state, _ moment, _ int64) (state, weir.Receipt) { return s, weir.Receipt{} }

func (l slotLaw) refund(s state, _ weir.Micros, _ weir.Receipt, _ int64) state { return s }

// turns are instants until now at which it begins to matter when a call was applied:
// whenever a lease ends.
func (l slotLaw) turns(from spot) (instants []weir.Micros) {
	held, _ := from.state.(leases)
	for _, h := range held {
		instants = append(instants, h.ends-1, h.ends)
	}
	return instants
}

// nameOf is the name of a holder by its number; 0 is nobody.
func nameOf(number uint64) (id weir.SlotID) {
	binary.BigEndian.PutUint64(id[:8], number)
	return id
}
