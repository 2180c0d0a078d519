package memstore

import (
	"math/bits"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// together is a call of which all takes have an entry: it needs no room and meets no
// overflow cell.
type together struct {
	store  *Store
	takes  []weir.Take
	out    []weir.Decision
	spots  []spot // of the takes
	now    weir.Micros
	locked uint64 // the shards that are, bit i for shard i
}

// spot is where a take's state stands, and the packed one that is to be written there if
// the call is carried out.
type spot struct {
	print  uint64
	entry  *table.Slot
	member *member
	a, b   uint64
}

// few is how many takes most calls of several have: room for all that a call may have
// takes as long to clear as two takes.
const few = 4

// takeTogether is call.take for calls of several takes as takeKnown is for those of
// one: where one of them is not as it needs them nothing was done, and known is
// false. All entries are looked for before the first is judged, so that they are
// fetched from memory side by side.
func (s *Store) takeTogether(takes []weir.Take, out []weir.Decision) (known, allowed bool, now weir.Micros) {
	if len(takes) <= few {
		var spots [few]spot
		return s.takeSpots(takes, out, spots[:len(takes)])
	}
	var spots [weir.MaxTakes]spot
	return s.takeSpots(takes, out, spots[:len(takes)])
}

func (s *Store) takeSpots(takes []weir.Take, out []weir.Decision, spots []spot) (known, allowed bool, now weir.Micros) {
	var c together // field by field, as admit says
	c.store, c.takes, c.out, c.spots = s, takes, out, spots
	alone := true
	for i := range takes {
		t := &takes[i]
		if !plain(t) {
			return false, false, 0
		}
		alone = alone && t.Join == weir.Alone
		fp := fingerprint(t.Limit.ID(), &t.Key)
		spots[i].print = fp
		c.locked |= 1 << s.shardOf(fp)
	}
	c.lock()
	defer c.unlock()
	if c.readClock(); checkClock(c.now) != nil || s.closed.Load() {
		return false, false, 0
	}
	buckets, ok := c.find()
	switch {
	case !ok:
		return false, false, 0
	case alone && buckets:
		c.oneByOne()
		return true, true, c.now
	case c.twins():
		return false, false, 0
	}
	known, allowed = c.decide()
	return known, allowed, c.now
}

// lock locks the shards, in ascending order as all do.
func (c *together) lock() {
	for left := c.locked; left != 0; left &= left - 1 {
		c.store.shards[bits.TrailingZeros64(left)].lock()
	}
}

func (c *together) unlock() {
	for left := c.locked; left != 0; left &= left - 1 {
		c.store.shards[bits.TrailingZeros64(left)].mu.Unlock()
	}
}

// readClock reads the clock; it is never below an earlier reading of any of the
// shards.
func (c *together) readClock() {
	c.now = c.store.read()
	for left := c.locked; left != 0; left &= left - 1 {
		c.now = max(c.now, c.store.shards[bits.TrailingZeros64(left)].latest)
	}
	if checkClock(c.now) != nil {
		return
	}
	for left := c.locked; left != 0; left &= left - 1 {
		c.store.shards[bits.TrailingZeros64(left)].latest = c.now
	}
}

// shard is where the state of a spot stands.
func (c *together) shard(f *spot) *shard { return &c.store.shards[c.store.shardOf(f.print)] }

// find looks for all entries. It reports whether each take has one, of the version that
// it is judged by, and whether they are token buckets all.
func (c *together) find() (buckets, ok bool) {
	for i := range c.spots {
		f := &c.spots[i]
		if f.entry = c.shard(f).entries.Find(f.print); f.entry == nil {
			return false, false
		}
	}
	buckets = true
	for i := range c.spots {
		f := &c.spots[i]
		m := c.store.member(f.entry)
		if f.member = m; m.version != c.takes[i].Limit.Version() || !m.short || isWide(f.entry) {
			return false, false
		}
		buckets = buckets && m.bucket != nil
	}
	return buckets, true
}

// oneByOne decides takes that are judged and charged by themselves, in the order given:
// of one state too.
func (c *together) oneByOne() {
	for i := range c.spots {
		f := &c.spots[i]
		a, b := admit(f.member.bucket, f.entry, &c.takes[i], &c.out[i], c.now)
		setState(f.entry, a, b)
	}
}

// twins reports whether two takes name the same state. They are judged with their summed
// cost, which is not done here.
func (c *together) twins() bool {
	for i := range c.spots {
		for j := range i {
			if c.spots[i].print == c.spots[j].print {
				return true
			}
		}
	}
	return false
}

// decide judges the takes, each with a state to itself, and charges all that fits or,
// where the call is refused, only what is judged by itself. It reports known false where
// one cannot be judged or written here, and nothing was done.
func (c *together) decide() (known, allowed bool) {
	allowed = true
	for i := range c.takes {
		if !c.try(i) {
			clear(c.out) // of receipts for what is not charged
			return false, false
		}
		allowed = allowed && (c.out[i].Allowed || c.takes[i].Join != weir.All)
	}
	for i := range c.takes {
		t, d, f := &c.takes[i], &c.out[i], &c.spots[i]
		if allowed || !d.Allowed || t.Join == weir.Alone {
			setState(f.entry, f.a, f.b)
		} else {
			c.leave(t, d, f)
		}
	}
	return true, allowed
}

// try judges a take by itself, as if it were charged where it fits. It reports false
// where the state cannot be judged or written here.
func (c *together) try(i int) (ok bool) {
	t, d, f := &c.takes[i], &c.out[i], &c.spots[i]
	if b := f.member.bucket; b != nil {
		f.a, f.b = admit(b, f.entry, t, d, c.now)
		return true
	}
	moment, ok := t.Limit.Moment(c.now, t)
	if !ok {
		return false
	}
	f.a, f.b, ok = f.member.pack(step(f.member.limit, c.shard(f).state(f.entry, f.member), t, d, moment))
	return ok
}

// leave undoes the charge of a take that fits, in a call that is refused. Its state may
// have been touched.
func (c *together) leave(t *weir.Take, d *weir.Decision, f *spot) {
	moment, _ := t.Limit.Moment(c.now, t) // it has one: try has found it
	state := f.member.limit.Touch(c.shard(f).state(f.entry, f.member), moment)
	c.shard(f).write(f.entry, f.member, f.member, state)
	d.Granted, d.Receipt = 0, algorithm.Receipt{}
	d.Remaining, d.ResetAfter = f.member.limit.Level(state, moment)
}
