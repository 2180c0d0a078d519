package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/table"
)

// together is a call of which all takes have an entry of their own: it needs no room,
// meets no overflow cell, and each of its takes is a group of its own.
type together struct {
	store  *Store
	takes  []weir.Take
	out    []weir.Decision
	now    weir.Micros
	shards [weir.MaxTakes]int // that are locked, in ascending order
	locked int                // how many
	prints [weir.MaxTakes]uint64
	found  [weir.MaxTakes]found
}

// found is where a take's state stands, and what is to be written there if the call
// is carried out.
type found struct {
	entry  *table.Slot
	member *member
	words  [2]uint64
}

// takeTogether is call.take for calls of several takes as takeKnown is for those of
// one: where one of them is not as it needs them nothing was done, and known is
// false. All entries are looked for before the first is judged, so that they are
// fetched from memory side by side.
func (s *Store) takeTogether(takes []weir.Take, out []weir.Decision) (known, allowed bool, now weir.Micros) {
	c := together{store: s, takes: takes, out: out}
	for i := range takes {
		t := &takes[i]
		if !plain(t) {
			return false, false, 0
		}
		at := address{t.Limit.ID(), t.Key}
		c.prints[i] = at.fingerprint()
		c.addShard(s.shardOf(c.prints[i]))
	}
	for _, i := range c.shards[:c.locked] {
		s.shards[i].mu.Lock()
	}
	defer c.unlock()
	if c.readClock(); checkClock(c.now) != nil || s.closed.Load() || !c.find() {
		return false, false, 0
	}
	allowed = true
	for i := range takes {
		if !c.try(i) {
			return false, false, 0
		}
		allowed = allowed && (out[i].Allowed || takes[i].Join != weir.All)
	}
	c.commit(allowed)
	return true, allowed, c.now
}

// addShard notes a shard to lock, once, in its place.
func (c *together) addShard(shard int) {
	i := c.locked
	for i > 0 && c.shards[i-1] >= shard {
		if i--; c.shards[i] == shard {
			return
		}
	}
	c.locked++
	copy(c.shards[i+1:c.locked], c.shards[i:])
	c.shards[i] = shard
}

func (c *together) unlock() {
	for _, i := range c.shards[:c.locked] {
		c.store.shards[i].mu.Unlock()
	}
}

// readClock reads the clock; it is never below an earlier reading of any of the
// shards.
func (c *together) readClock() {
	c.now = c.store.read()
	for _, i := range c.shards[:c.locked] {
		c.now = max(c.now, c.store.shards[i].latest)
	}
	if checkClock(c.now) != nil {
		return
	}
	for _, i := range c.shards[:c.locked] {
		c.store.shards[i].latest = c.now
	}
}

// shard is where the state of take i stands.
func (c *together) shard(i int) *shard { return &c.store.shards[c.store.shardOf(c.prints[i])] }

// find looks for all entries. It reports whether each take has one to itself, of the
// version that it is judged by.
func (c *together) find() bool {
	for i := range c.takes {
		if c.found[i].entry = c.shard(i).entries.Find(c.prints[i]); c.found[i].entry == nil {
			return false
		}
	}
	for i := range c.takes {
		f := &c.found[i]
		if f.member = c.store.member(f.entry); f.member.version != c.takes[i].Limit.Version() || f.member.blocks || f.member.list != nil || isWide(f.entry) {
			return false
		}
		for j := range i {
			if c.found[j].entry == f.entry {
				return false
			}
		}
	}
	return true
}

// try judges a take by itself, as if it were charged where it fits. It reports false
// where the state cannot be judged or written here.
func (c *together) try(i int) bool {
	t, d, f := &c.takes[i], &c.out[i], &c.found[i]
	if b := f.member.bucket; b != nil {
		f.words = admit(b, f.entry, t, d, c.now)
		return true
	}
	moment, ok := t.Limit.Moment(c.now, t)
	if !ok {
		return false
	}
	state := step(f.member.limit, c.shard(i).state(f.entry, f.member), t, d, moment)
	a, b, ok := f.member.pack(state)
	f.words = joined(f.entry, a, b)
	return ok
}

// commit writes what is charged: all that fits, if the call is allowed; else only
// what is judged by itself. What is not charged may have been touched.
func (c *together) commit(allowed bool) {
	for i := range c.takes {
		t, d, f := &c.takes[i], &c.out[i], &c.found[i]
		if allowed || !d.Allowed || t.Join == weir.Alone {
			f.entry.Words = f.words
			continue
		}
		moment, _ := t.Limit.Moment(c.now, t) // it has one: try has found it
		state := f.member.limit.Touch(c.shard(i).state(f.entry, f.member), moment)
		c.shard(i).write(f.entry, f.member, f.member, state)
		d.Granted, d.Receipt = 0, weir.Receipt{}
		d.Remaining, d.ResetAfter = f.member.limit.Level(state, moment)
	}
}
