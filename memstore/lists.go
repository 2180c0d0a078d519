package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// This file says how states are kept that are lists (algorithm.Lister): the charges
// of a sliding log, the holders of a concurrency limit. The items stand in the slabs
// of the shard, those of an overflow cell in the slabs of its stripe. The entry, or
// the cell, has where they begin and end:
//
//	word 0   33 bits of the first item's mark | 12 bits of how many there is room for
//	word 1   33 bits of the last item's mark  | 12 bits of their units
//
// An entry reserves room for all the items that its limit may have when it is made,
// so that no charge that was granted is without a place. A cell is made for as many
// as its limit may have (sizes.cellsFor), and keeps no number of them.

// lists holds the items of many lists.
type lists struct {
	logs   table.Logs
	leases table.Leases
}

// A list is one of them in hand: what was read of an entry or a cell, and is to be
// written back when it was changed.
type list struct {
	in      *lists
	holders bool        // of a concurrency limit
	chain   table.Chain // of the items
	fits    int         // how many items room is reserved for; of an entry only
	changed bool        // since it was read
}

// itemBits is how many bits a number of items has.
const itemBits = 12

// listIn reads the words of an entry or a cell.
func (s *lists) listIn(m *member, a, b uint64) list {
	const mask = 1<<itemBits - 1
	return list{
		in: s, holders: m.slots != nil, fits: int(a & mask),
		chain: table.Chain{First: a >> itemBits, Last: b >> itemBits, Units: unitsIn(b)},
	}
}

// words is what listIn reads.
func (l *list) words() (a, b uint64) {
	return l.chain.First<<itemBits | uint64(l.fits), l.chain.Last<<itemBits | uint64(l.chain.Units)
}

// listOf reads an entry.
func (sh *shard) listOf(e *table.Slot, m *member) list {
	return sh.lists.listIn(m, e.Words[0]>>lowBits, e.Words[1]>>lowBits)
}

// putList writes an entry, judged by a version.
func (sh *shard) putList(e *table.Slot, by *member, l *list) {
	a, b := l.words()
	by.countSlots(e.Words[1]>>lowBits, b)
	n := uint64(by.number)
	e.Words = [2]uint64{a<<lowBits | n&lowMask, b<<lowBits | n>>lowBits<<2 | e.Words[1]&kept}
}

// unitsIn reads a list's second word.
func unitsIn(b uint64) int64 { return int64(b & (1<<itemBits - 1)) }

// countSlots counts for the rule how many slots more, or fewer, are held in a list whose
// second word changes. Versions of one limit have one rule, so that any of them counts.
func (m *member) countSlots(was, is uint64) {
	if m.slots == nil {
		return
	}
	if change := unitsIn(is) - unitsIn(was); change != 0 {
		m.rule.slots.Add(change)
	}
}

// roomOf is how much room an entry of a version takes: 1, and of one with a list what
// that may need at most.
func (m *member) roomOf(e *table.Slot) int {
	if m.list == nil {
		return 1
	}
	return m.roomFor(int(e.Words[0] >> lowBits & (1<<itemBits - 1)))
}

// roomFor is how much room an entry takes with a list of so many items: what
// weir.Limit.Memory says of the most of them.
func (m *member) roomFor(items int) int {
	if m.slots != nil {
		return 1 + items // a block of 32 bytes each
	}
	return 1 + 2*table.LogBlocks(items) // blocks of 64 bytes
}

// state sums the list up, as its algorithm reads it.
func (l *list) state() algorithm.State {
	if l.chain.Last == 0 {
		return algorithm.State{}
	}
	if l.holders {
		return algorithm.State{l.in.leases.End(l.chain.Last), l.chain.Units}
	}
	newest, _ := l.in.logs.Item(l.chain.Last)
	return algorithm.State{newest, l.chain.Units}
}

// Next is algorithm.List's.
func (l *list) Next(mark uint64) (at weir.Micros, units int64, next uint64) {
	if l.holders {
		if next = l.in.leases.Next(&l.chain, mark); next != 0 {
			at, units = weir.Micros(l.in.leases.End(next)), 1
		}
		return at, units, next
	}
	if next = l.in.logs.Next(&l.chain, mark); next != 0 {
		instant, weight := l.in.logs.Item(next)
		at, units = weir.Micros(instant), weight
	}
	return at, units, next
}

// drop removes the items that are over.
func (l *list) drop(a algorithm.Lister, now weir.Micros) {
	first, over := l.chain.First, int64(a.Over(l.state(), now))
	if l.holders {
		l.in.leases.Drop(&l.chain, over)
	} else {
		l.in.logs.Drop(&l.chain, over)
	}
	l.changed = l.changed || l.chain.First != first
}

// free removes all items.
func (l *list) free() {
	if l.holders {
		l.in.leases.Free(&l.chain)
	} else {
		l.in.logs.Free(&l.chain)
	}
	l.changed = true
}

// follow adds to a log what a call has charged beyond what it found.
func (l *list) follow(was, is algorithm.State) {
	if more := is[1] - was[1]; more > 0 {
		l.in.logs.Add(&l.chain, is[0], more)
		l.changed = true
	}
}

// A slot is held under a name that tells holders of several keys in one cell apart,
// whatever they call themselves: nobody knows his key.
func holder(id weir.SlotID, k weir.Key) (name table.Name) {
	for i := range name {
		name[i] = id[i] ^ k[i]
	}
	return name
}

// has reports whether a key of a fingerprint may hold a slot here. It never says no of
// one that does, and keys that share an entry have one fingerprint; yes of one that does
// not, once in 2^32 times for each holder.
func (l *list) has(fp uint64) bool { return l.in.leases.Has(&l.chain, ownerOf(fp)) }

// ownerOf is what a holder's block has of his fingerprint.
func ownerOf(fp uint64) uint32 { return uint32(fp) }

// find is the mark of a holder, 0 for none.
func (l *list) find(id weir.SlotID, k weir.Key) uint64 {
	name := holder(id, k)
	return l.in.leases.Find(&l.chain, &name)
}

// hold makes somebody a holder, or renews the lease of one who is, and says when it
// ends. The fingerprint is that of the key's address.
func (l *list) hold(slots *algorithm.Concurrency, id weir.SlotID, k weir.Key, fp uint64, now weir.Micros) (end weir.Micros) {
	name := holder(id, k)
	if mark := l.in.leases.Find(&l.chain, &name); mark != 0 {
		return l.renew(slots, mark, now)
	}
	end = slots.Renewed(now, now)
	l.in.leases.Add(&l.chain, &name, ownerOf(fp), int64(end))
	l.changed = true
	return end
}

// renew begins the lease at a mark anew.
func (l *list) renew(slots *algorithm.Concurrency, mark uint64, now weir.Micros) (end weir.Micros) {
	end = slots.Renewed(now, weir.Micros(l.in.leases.End(mark)))
	l.in.leases.Move(&l.chain, mark, int64(end))
	l.changed = true
	return end
}
