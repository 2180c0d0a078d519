package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// This file is what a call does with states that are lists, in the phases of call.go
// and decide.go.

// findList is find for a list. What is over is dropped where it stands, which changes
// no answer: no later reading of the clock is before this one.
func (x *cell) findList(c *call) {
	p := &x.place
	switch {
	case p.entry != nil:
		x.list = p.shard.listOf(p.entry, p.of)
		if x.list.drop(p.member.list, c.now); x.list.changed {
			p.shard.putList(p.entry, p.of, &x.list)
		}
	case p.shared >= 0:
		x.list = c.store.cellList(p.member, p.shared)
		if x.list.drop(p.member.list, c.now); x.list.changed {
			p.member.putCell(p.shared, &x.list)
		}
	default:
		x.list = p.shard.lists.listIn(p.member, 0, 0)
	}
	x.list.changed = false
	x.was = x.list.state()
}

// cellList reads an overflow cell, under its stripe.
func (r *registry) cellList(m *member, i int) list {
	state := m.cells[i]
	return r.stripes[i%cellStripes].lists.listIn(m, uint64(state[0]), uint64(state[1]))
}

// putCell writes one.
func (m *member) putCell(i int, l *list) {
	a, b := l.words()
	m.countSlots(uint64(m.cells[i][1]), b)
	m.setCell(i, algorithm.State{int64(a), int64(b)})
}

// grow reserves the room that an entry lacks whose limit remembers more by now. Where
// there is none, the key is judged as if its limit were what it has room for: it is
// limited more, never less.
func (c *call) grow(x *cell) {
	p := &x.place
	entries := p.member.list.Entries()
	if entries <= x.list.fits {
		return
	}
	more := p.member.roomFor(entries) - p.member.roomFor(x.list.fits)
	if !p.shard.hasRoom(p.member.rule, more, c.shares) {
		c.store.sweep(p.shard, searchSets, c.now, c.holds)
	}
	if !p.shard.hasRoom(p.member.rule, more, c.shares) {
		x.tight, x.short = true, max(0, p.member.limit.Capacity()-int64(x.list.fits))
		x.mode = weir.Overflow
		return
	}
	p.shard.count(p.member.rule, more)
	x.grown, x.list.fits = more, entries
}

// shrink gives back the room that an entry has for more than its limit remembers by
// now, once that is not needed any more.
func (x *cell) shrink() {
	p := &x.place
	entries := p.member.list.Entries()
	if entries >= x.list.fits || x.list.chain.Units > int64(entries) {
		return
	}
	p.shard.count(p.member.rule, p.member.roomFor(entries)-p.member.roomFor(x.list.fits))
	x.list.fits = entries
}

// stays reports a key that does not leave its overflow cell: while it holds a slot
// there, for two places to hold slots in would be one too many.
func (x *cell) stays() bool { return x.list.holders && x.list.has(x.place.fp) }

// leave makes a key of slots begin with an empty list in an entry of its own. What its
// cell has is others': of slots nothing counts but who holds them.
func (x *cell) leave() {
	x.list = x.place.shard.lists.listIn(x.place.member, 0, 0)
	x.was, x.state = algorithm.State{}, algorithm.State{}
}

// wants is how many units a take asks for: of slots one, but for who holds one.
func (x *cell) wants(t *weir.Take) int64 {
	if x.list.holders && t.Slot != (weir.SlotID{}) && x.list.find(t.Slot, t.Key) != 0 {
		return 0
	}
	return t.Cost
}

// hold gives a take the slot that it was granted. The fingerprint is that of its own
// address: the cell may be others' too.
func (x *cell) hold(t *weir.Take, fp uint64) algorithm.Receipt {
	if x.uncounted() {
		return algorithm.Receipt{}
	}
	end := x.list.hold(x.place.member.slots, t.Slot, t.Key, fp, x.at.Now)
	x.state, x.charged = x.list.state(), true
	return algorithm.Receipt{At: end, Cost: 1}
}

// verdictOf judges what a group needs, by what there is room for.
func (x *cell) verdictOf(need int64) algorithm.Verdict {
	capacity := x.algo.Capacity()
	switch {
	case x.short == 0 || need == 0 || need > capacity:
		return x.algo.Judge(x.state, x.at, need)
	case need+x.short > capacity:
		return algorithm.Verdict{RetryAfter: fullWait}
	}
	return x.algo.Judge(x.state, x.at, need+x.short)
}

// level is what is left, of what there is room for.
func (x *cell) level() (remaining int64, reset weir.Micros) {
	remaining, reset = x.algo.Level(x.state, x.at)
	return max(0, remaining-x.short), reset
}

// forced is how many units of a take may be charged by force.
func (x *cell) forced(cost int64) int64 {
	if !x.tight {
		return cost
	}
	return min(cost, int64(x.list.fits)-x.state[1]) // where that is negative, Force takes nothing
}

// commitList writes back a list that has its entry, or is an overflow cell.
func (x *cell) commitList() {
	p := &x.place
	if p.entry == nil && !p.inCell() {
		return
	}
	if !x.list.holders {
		x.list.follow(x.was, x.state)
	}
	if p.inCell() {
		if x.list.changed { // a cell that another key of the call has joined stays as it was
			p.member.putCell(p.shared, &x.list)
		}
		return
	}
	x.shrink()
	p.shard.putOrRemove(p.entry, p.member, &x.list)
}

// bringAlong copies the logs of keys that leave their cells, charge by charge. It comes
// before any cell is written: another key of the call may stay in the same cell, and
// what that is charged is nobody else's.
func (c *call) bringAlong() {
	for i := range c.cells[:c.cellCount] {
		x := &c.cells[i]
		if !x.place.reserved || !x.charged || x.place.member.list == nil {
			continue
		}
		if own := &x.place.shard.lists; x.list.in != own {
			x.list.chain = own.logs.Copy(&x.list.in.logs, &x.list.chain)
			x.list.in = own
		}
	}
}

// insertList makes the entry of a key that was charged.
func (x *cell) insertList() {
	p := &x.place
	if !x.list.holders {
		x.list.follow(x.was, x.state)
	}
	x.list.fits = p.member.list.Entries()
	p.member.rule.entries.Add(1)
	p.shard.putList(p.shard.entries.Insert(p.fp), p.member, &x.list)
}
