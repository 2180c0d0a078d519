package memstore

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// place says where a cell's state stands.
type place struct {
	at     address
	fp     uint64 // of at
	member *member
	shard  *shard
	entry  *table.Slot // its own, nil without one
	of     *member     // the version that the entry was written under

	// Another limit's entry has the same fingerprint, or there is none and a key of
	// another limit in this call has: there can be no entry.
	strange bool

	// For a key without an entry: the overflow cell that it shares or may have
	// shared, -1 when it has none; and whether room was reserved for it.
	shared   int
	reserved bool
}

// call is one call at work: what it has locked and the states it is about. It
// is pooled.
type call struct {
	store  *Store
	shares *shares // as they stand for the whole call, with the rules of all its limits
	need   int     // how much room entries of all its takes would have together; penalties look for it when all those have theirs
	now    weir.Micros
	joins  uint8 // bits of the joins that occur

	shards     [weir.MaxTakes]int
	shardCount int
	stripes    [weir.MaxTakes]int
	stripeCnt  int

	prints    [weir.MaxTakes]uint64   // the fingerprint of each take's address
	members   [weir.MaxTakes]*member  // the limit of each take
	cells     [2 * weir.MaxTakes]cell // of takes, and of their penalties
	cellCount int
	cellOf    [weir.MaxTakes]uint8            // which cell a take names
	guards    [weir.MaxTakes]*member          // the penalty of each take's limit, nil for none
	guardOf   [weir.MaxTakes]uint8            // which cell that names
	at        [weir.MaxTakes]algorithm.Moment // when a take happens, in its limit's windows
}

// What a store may lack for one version of a limit more.
var (
	errNoCells   = fmt.Errorf("%w: more limits than the store has overflow cells for", weir.ErrNotApplied)
	errNoNumbers = fmt.Errorf("%w: entries name %d versions of limits, and no more until those of some are dead", weir.ErrNotApplied, mostVersions)
)

// take runs a whole call: lock, resolve, read the clock, decide, commit.
func (c *call) take(takes []weir.Take, out []weir.Decision) (bool, weir.Micros, error) {
	c.reset()
	for i := range takes {
		at := address{takes[i].Limit.ID(), takes[i].Key}
		c.prints[i] = at.fingerprint()
		c.addShard(c.store.shardOf(c.prints[i]))
		c.joins |= 1 << takes[i].Join
	}
	c.lockShards()
	defer c.unlock()
	if c.store.closed.Load() {
		return false, 0, weir.ErrClosed
	}
	if err := c.meet(takes); err != nil {
		return false, 0, err
	}
	c.shares = c.store.shares.Load()
	for i := range takes {
		t := &takes[i]
		c.name(i, address{t.Limit.ID(), t.Key}, c.members[i], t.Tag)
		c.guard(i, t)
	}
	c.lockStripes()
	if err := c.readClock(); err != nil {
		return false, c.now, err
	}
	if err := c.open(takes); err != nil {
		c.cancel()
		return false, c.now, err
	}
	allowed := c.decide(takes, out)
	c.commit()
	return allowed, c.now, nil
}

// meet finds the limits of a call, and makes those known that are not.
func (c *call) meet(takes []weir.Take) (err error) {
	for i := range takes {
		l := takes[i].Limit
		if c.members[i], err = c.store.known(l); err != nil {
			return err
		}
		c.need += c.members[i].room
		if l = l.Penalty(); l == nil {
			continue
		}
		if c.guards[i], err = c.store.known(l); err != nil {
			return err
		}
	}
	return nil
}

// known finds a limit, or makes it known.
func (r *registry) known(l *weir.Limit) (*member, error) {
	if m := r.find(l.Version()); m != nil {
		return m, nil
	}
	return r.add(l)
}

func (c *call) reset() {
	clear(c.cells[:c.cellCount]) // lets go of limits
	clear(c.members[:])
	clear(c.guards[:])
	c.shardCount, c.stripeCnt, c.cellCount, c.joins, c.need, c.now = 0, 0, 0, 0, 0, 0
}

// addShard notes a shard to lock, once.
func (c *call) addShard(i int) {
	if !slices.Contains(c.shards[:c.shardCount], i) {
		c.shards[c.shardCount] = i
		c.shardCount++
	}
}

func (c *call) lockShards() {
	slices.Sort(c.shards[:c.shardCount])
	for _, i := range c.shards[:c.shardCount] {
		c.store.shards[i].mu.Lock()
	}
}

// addStripe notes the stripe of an overflow cell to lock, once; -1 is no cell.
func (c *call) addStripe(cell int) {
	if cell < 0 {
		return
	}
	if stripe := cell % cellStripes; !slices.Contains(c.stripes[:c.stripeCnt], stripe) {
		c.stripes[c.stripeCnt] = stripe
		c.stripeCnt++
	}
}

// lockStripes locks the overflow cells that the call may need, after the
// shards and in ascending order.
func (c *call) lockStripes() {
	for i := range c.cells[:c.cellCount] {
		c.addStripe(c.cells[i].place.shared)
	}
	slices.Sort(c.stripes[:c.stripeCnt])
	for _, i := range c.stripes[:c.stripeCnt] {
		c.store.stripes[i].mu.Lock()
	}
}

func (c *call) unlock() {
	for _, i := range c.stripes[:c.stripeCnt] {
		c.store.stripes[i].mu.Unlock()
	}
	for _, i := range c.shards[:c.shardCount] {
		c.store.shards[i].mu.Unlock()
	}
}

// readClock reads the time once, under all locks; it is never below an earlier
// reading of any of them.
func (c *call) readClock() error {
	now := c.store.now()
	for _, i := range c.shards[:c.shardCount] {
		now = max(now, c.store.shards[i].latest)
	}
	for _, i := range c.stripes[:c.stripeCnt] {
		now = max(now, c.store.stripes[i].latest)
	}
	c.now = now
	if err := checkClock(now); err != nil {
		return err
	}
	for _, i := range c.shards[:c.shardCount] {
		c.store.shards[i].latest = now
	}
	for _, i := range c.stripes[:c.stripeCnt] {
		c.store.stripes[i].latest = now
	}
	return nil
}

// name finds or makes the cell of take i. A key without an entry of its own may
// share an overflow cell: that is looked at when the limit has any in use, or
// when the shard may have no room.
func (c *call) name(i int, at address, m *member, tag uint64) {
	p := place{at: at, fp: c.prints[i], member: m, shared: -1}
	for j := range c.cells[:c.cellCount] {
		switch other := &c.cells[j].place; {
		case other.fp != p.fp:
		case other.at.limit == at.limit:
			c.cellOf[i] = uint8(j)
			return
		default:
			p.strange = true
		}
	}
	p.shard = &c.store.shards[c.store.shardOf(p.fp)]
	if e := p.shard.entries.Find(p.fp); e != nil {
		of := c.store.member(e)
		if p.strange = of.id != at.limit; !p.strange {
			p.entry, p.of = e, of
		}
	}
	if p.entry == nil && (p.strange || m.live.Load() > 0 || p.shard.crowded(m.rule, c.need, c.shares)) {
		p.shared = m.cellFor(tag)
	}
	c.cells[c.cellCount].place = p
	c.cellOf[i] = uint8(c.cellCount)
	c.cellCount++
}

// cellFor is the overflow cell of a key with a tag.
func (m *member) cellFor(tag uint64) int { return int(tag % uint64(len(m.cells))) }

// find reads a cell's state where it stands. An overflow cell that is dead is
// emptied.
func (x *cell) find(c *call) {
	p := &x.place
	switch {
	case p.member.list != nil:
		x.findList(c)
	case p.entry != nil:
		x.was = p.shard.state(p.entry, p.of)
	case p.shared >= 0:
		x.was = p.member.cells[p.shared]
		if p.member.limit.Dead(x.was, c.now) {
			p.member.setCell(p.shared, algorithm.State{})
			x.was = algorithm.State{}
		}
	}
	x.state = x.was
}

// open reads the states, finds room for the keys that have none, and places
// each take in its limit's windows.
func (c *call) open(takes []weir.Take) error {
	for i := range c.cells[:c.cellCount] {
		x := &c.cells[i]
		x.find(c)
		switch p := &x.place; {
		case p.member.penalty != nil:
		case p.entry == nil:
			c.place(x)
		case p.member.list != nil:
			c.grow(x)
		}
	}
	c.mergeShared()
	for i := range takes {
		t, x := takes[i], &c.cells[c.cellOf[i]]
		if x.place.inCell() {
			t.Key = weir.Key{} // a shared cell has one grid for all its keys
		}
		var ok bool
		if c.at[i], ok = t.Limit.Moment(c.now, &t); !ok {
			return weir.ErrStale
		}
		if x.place.member.list != nil {
			c.at[i].List = &x.list
		}
	}
	return nil
}

// place reserves room for a key without an entry, or leaves it in its overflow
// cell. A key that may have shared a cell goes on with that cell's state; one of slots
// anew, for it leaves only where it holds none.
func (c *call) place(x *cell) {
	p, m := &x.place, x.place.member
	c.store.sweep(p.shard, sweepSets, c.now, c.holds)
	if !p.shard.hasRoom(m.rule, m.room, c.shares) {
		c.store.sweep(p.shard, searchSets, c.now, c.holds)
	}
	if !p.strange && p.shard.hasRoom(m.rule, m.room, c.shares) && !x.stays() {
		p.shard.count(m.rule, m.room)
		p.reserved = true
		if x.list.holders {
			x.leave()
		}
		if x.state != (algorithm.State{}) {
			x.mode = weir.Overflow
		}
		return
	}
	x.mode = weir.Overflow
	if mode, ok := c.store.onFull.without(); ok {
		x.mode, p.shared = mode, -1 // the cells of such a store are empty
	}
}

// holds reports whether an entry is named by this call.
func (c *call) holds(e *table.Slot) bool {
	for i := range c.cells[:c.cellCount] {
		if c.cells[i].place.entry == e {
			return true
		}
	}
	return false
}

// mergeShared joins keys that share one overflow cell, so that they are judged
// with their summed cost.
func (c *call) mergeShared() {
	for i := range c.cells[:c.cellCount] {
		for j := range i {
			if c.cells[i].sharesWith(&c.cells[j]) {
				for k := range c.cellOf {
					if c.cellOf[k] == uint8(i) {
						c.cellOf[k] = uint8(j)
					}
				}
				break
			}
		}
	}
}

// sharesWith reports whether two keys live in the same overflow cell.
func (x *cell) sharesWith(y *cell) bool {
	p, q := &x.place, &y.place
	return p.inCell() && q.inCell() && p.member == q.member && p.shared == q.shared
}

// inCell reports that the key's state is an overflow cell.
func (p *place) inCell() bool { return p.entry == nil && !p.reserved && p.shared >= 0 }

// commit writes the states back. A key for which room was reserved gets its
// entry only when it was charged; until then its cell answers for it, unchanged.
// New entries come last: they move others.
func (c *call) commit() {
	c.bringAlong()
	for i := range c.cells[:c.cellCount] {
		x := &c.cells[i]
		p := &x.place
		if x.mode == weir.Overflow {
			p.member.rule.overflow.Add(1)
		}
		switch {
		case p.reserved && !x.charged:
			p.shard.count(p.member.rule, -p.member.room)
		case p.member.list != nil:
			x.commitList()
		case p.entry != nil:
			p.shard.write(p.entry, p.of, p.member, x.state)
		case p.inCell():
			if x.was != x.state { // a cell that another key of the call has joined stays as it was
				p.member.setCell(p.shared, x.state)
			}
		}
	}
	for i := range c.cells[:c.cellCount] {
		switch x := &c.cells[i]; {
		case !x.place.reserved || !x.charged:
		case x.place.member.list != nil:
			x.insertList()
		default:
			x.place.shard.insert(x.place.fp, x.place.member, x.state)
		}
	}
}

// cancel takes reservations back.
func (c *call) cancel() {
	for i := range c.cells[:c.cellCount] {
		x := &c.cells[i]
		if p := &x.place; p.reserved {
			p.shard.count(p.member.rule, -p.member.room)
		} else {
			p.shard.count(p.member.rule, -x.grown)
		}
	}
}
