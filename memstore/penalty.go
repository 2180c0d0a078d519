package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// This file is what a call does about blocks. The penalty of a caller is a state of
// its own, beside that of the limit, in the same shard: the place of a key hangs on
// the key. It is never in an overflow cell, where one offender would block strangers:
// without room there is no penalty, and the plain limit alone.

// guard finds or makes the cell of the penalty of take i.
func (c *call) guard(i int, t *weir.Take) {
	m := c.guards[i]
	if m == nil {
		return
	}
	p := place{at: address{m.id, t.Key}, member: m, shared: -1}
	p.fp = p.at.fingerprint()
	for j := range c.cells[:c.cellCount] {
		switch other := &c.cells[j].place; {
		case other.fp != p.fp:
		case other.at.limit == m.id:
			c.guardOf[i] = uint8(j)
			return
		default:
			p.strange = true
		}
	}
	p.shard = &c.store.shards[c.store.shardOf(p.fp)]
	if e := p.shard.entries.Find(p.fp); e != nil {
		if of := c.store.member(e); of.id == m.id {
			p.entry, p.of = e, of
		} else {
			p.strange = true
		}
	}
	c.cells[c.cellCount].place = p
	c.guardOf[i] = uint8(c.cellCount)
	c.cellCount++
}

// blocked is how long the caller of take i is blocked.
func (c *call) blocked(i int) weir.Micros {
	if c.guards[i] == nil {
		return 0
	}
	return c.guards[i].penalty.Left(c.cells[c.guardOf[i]].state, c.now)
}

// block refuses a group of which a caller is blocked.
func (x *cell) block(left weir.Micros) {
	if left > 0 && x.asked && !x.verdict.Never {
		x.verdict = algorithm.Verdict{RetryAfter: max(x.verdict.RetryAfter, left)}
	}
}

// tell says how long a refused group has to wait for the block that its takes are
// under by now.
func (x *cell) tell(left weir.Micros) {
	x.blocked = max(x.blocked, left)
	if x.barred() {
		x.verdict.RetryAfter = max(x.verdict.RetryAfter, left)
	}
}

// barred reports a refusal that a block is the reason for, or has begun by.
func (x *cell) barred() bool { return x.blocked > 0 && !x.verdict.Allowed && !x.verdict.Never }

// strike counts the refusal of take i, unless it was for the block that he is under,
// or for what others have used.
func (c *call) strike(i int, t *weir.Take, x *cell) {
	m := c.guards[i]
	if m == nil || x.verdict.Allowed || x.verdict.Never || !strikes(t) || x.mode != weir.Exact || c.blocked(i) > 0 {
		return
	}
	g := &c.cells[c.guardOf[i]]
	if g.place.entry == nil && !g.place.reserved && !c.reserve(g) {
		return
	}
	g.state, g.charged = m.penalty.Strike(g.state, c.now), true
}

// strikes reports a take of which a refusal is a strike.
func strikes(t *weir.Take) bool {
	return t.How&(weir.Peek|weir.Force) == 0 || t.How&weir.Strike != 0
}

// reserve finds room for a penalty.
func (c *call) reserve(g *cell) bool {
	p := &g.place
	if p.strange {
		return false
	}
	if !p.shard.hasRoom(p.member.rule, p.member.room, c.shares) {
		c.store.sweep(p.shard, searchSets, c.now, c.holds)
	}
	if !p.shard.hasRoom(p.member.rule, p.member.room, c.shares) {
		return false
	}
	p.shard.count(p.member.rule, p.member.room)
	p.reserved = true
	return true
}

// forgive forgets a key's penalty, under its shard's lock.
func (s *Store) forgive(l *weir.Limit, k weir.Key, sh *shard) {
	p := l.Penalty()
	if p == nil {
		return
	}
	at := address{p.ID(), k}
	if e, m := s.entryOf(sh, at.fingerprint(), p); e != nil {
		sh.remove(e, m)
	}
}
