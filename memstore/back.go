package memstore

import (
	"fmt"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// This file is what a store does with what comes back: units by receipt, slots by the
// name of their holder.

// giveBack runs a whole call of returns. Charges to overflow cells have no receipts,
// so that only entries are refunded; a slot may be held in either.
func (c *call) giveBack(returns []weir.Return) (weir.Micros, error) {
	c.reset()
	for i := range returns {
		at := address{returns[i].Limit.ID(), returns[i].Key}
		c.prints[i] = at.fingerprint()
		c.addShard(c.store.shardOf(c.prints[i]))
	}
	c.lockShards()
	defer c.unlock()
	if c.store.closed.Load() {
		return 0, weir.ErrClosed
	}
	for i := range returns {
		r := &returns[i]
		if m := c.store.find(r.Limit.Version()); m != nil && m.slots != nil && m.live.Load() > 0 {
			c.members[i] = m
			c.addStripe(m.cellFor(r.Tag))
		}
	}
	c.lockStripes()
	if err := c.readClock(); err != nil {
		return c.now, err
	}
	var lost error
	for i := range returns {
		r := &returns[i]
		if slots, ok := r.Limit.Algorithm().(*algorithm.Concurrency); !ok {
			c.refund(c.prints[i], r)
		} else if held := c.letGo(c.prints[i], c.members[i], slots, r); !held && r.Renew {
			lost = fmt.Errorf("%w: limit %s", weir.ErrLost, r.Limit.Name())
		}
	}
	return c.now, lost
}

// refund gives units back to an entry, and removes one that is left empty.
func (c *call) refund(fp uint64, r *weir.Return) {
	sh := &c.store.shards[c.store.shardOf(fp)]
	e, m := c.store.entryOf(sh, fp, r.Limit)
	switch {
	case e == nil:
	case m.list != nil:
		c.refundLog(sh, e, m, r)
	default:
		state := r.Limit.Algorithm().Refund(sh.state(e, m), algorithm.Moment{Now: c.now}, r.Receipt, r.Units)
		if state == (algorithm.State{}) && !isKept(e) {
			sh.remove(e, m)
		} else {
			sh.write(e, m, m, state)
		}
	}
}

// refundLog takes what comes back out of the charge that it was.
func (c *call) refundLog(sh *shard, e *table.Slot, m *member, r *weir.Return) {
	l := &c.cells[0].list // of which a call of returns has no other use
	defer func() { *l = list{} }()
	*l = sh.listOf(e, m)
	l.drop(m.list, c.now)
	was := l.state()
	is := r.Limit.Algorithm().Refund(was, algorithm.Moment{Now: c.now, List: l}, r.Receipt, r.Units)
	if back := was[1] - is[1]; back > 0 {
		l.in.logs.Lower(&l.chain, int64(r.Receipt.At), back)
	}
	sh.putOrRemove(e, m, l)
}

// letGo releases a slot, or renews it, wherever it is held. It reports whether it is.
func (c *call) letGo(fp uint64, m *member, slots *algorithm.Concurrency, r *weir.Return) bool {
	sh := &c.store.shards[c.store.shardOf(fp)]
	if e, of := c.store.entryOf(sh, fp, r.Limit); e != nil {
		l := sh.listOf(e, of)
		l.drop(of.list, c.now)
		held := l.letGo(slots, r, c.now)
		sh.putOrRemove(e, of, &l)
		if held {
			return true
		}
	}
	if m == nil { // the limit has no cells in use, so that the key is in none
		return false
	}
	i := m.cellFor(r.Tag)
	l := c.store.cellList(m, i)
	l.drop(m.list, c.now)
	held := l.letGo(slots, r, c.now)
	m.putCell(i, &l)
	return held
}

// letGo releases a slot, or renews it, and reports whether it was held here.
func (l *list) letGo(slots *algorithm.Concurrency, r *weir.Return, now weir.Micros) bool {
	mark := l.find(r.Slot, r.Key)
	switch {
	case mark == 0:
		return false
	case r.Renew:
		l.renew(slots, mark, now)
	default:
		l.in.leases.Remove(&l.chain, mark)
	}
	return true
}

// putOrRemove writes an entry back, or removes it where nothing is left in its list.
func (sh *shard) putOrRemove(e *table.Slot, m *member, l *list) {
	sh.putList(e, m, l)
	if l.chain.First == 0 && !isKept(e) {
		sh.remove(e, m)
	}
}

// entryOf finds a limit's entry, and the version that it was written under.
func (s *Store) entryOf(sh *shard, fp uint64, l *weir.Limit) (*table.Slot, *member) {
	e := sh.entries.Find(fp)
	if e == nil {
		return nil, nil
	}
	m := s.member(e)
	if m.id != l.ID() {
		return nil, nil
	}
	return e, m
}
