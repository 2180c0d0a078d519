package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/table"
)

// takeKnown is call.take for what most calls are: one take, whose cost is charged or
// not, of a key that has an entry. Such a call needs no room, meets no overflow cell
// and has one group, so that it is a step of the algorithm under the shard's lock. A key
// without an entry is takeNew's. Where there is one of another version, with a list or a
// penalty, nothing was done and known is false; one whose state stands beside the table
// is decided here as well.
//
// The clock is read before the shard is locked, for a lock that many want is held as
// shortly as may be: what others have read meanwhile, and were judged by, counts as the
// time of this take as well. So it lies between the call and its answer, and never runs
// back within a shard.
func (s *Store) takeKnown(t *weir.Take, d *weir.Decision) (known, allowed bool, now weir.Micros, err error) {
	fp := fingerprint(t.Limit.ID(), &t.Key)
	sh := &s.shards[s.shardOf(fp)]
	now = s.read()
	sh.lock()
	if now = max(now, sh.latest); checkClock(now) == nil && !s.closed.Load() {
		sh.latest = now
		e := sh.entries.Find(fp)
		if e == nil {
			known, allowed, now = s.takeNew(sh, fp, t, d)
			sh.mu.Unlock()
			return known, allowed, now, nil
		}
		if m := s.member(e); m.version == t.Limit.Version() && m.short {
			if m.bucket != nil && !isWide(e) {
				a, b := admit(m.bucket, e, t, d, now)
				setState(e, a, b)
				sh.mu.Unlock()
				return true, d.Allowed || t.Join != weir.All, now, nil
			}
			err = sh.step(m, e, t, d, now)
			return true, err == nil && (d.Allowed || t.Join != weir.All), now, err
		}
	}
	sh.mu.Unlock()
	return false, false, 0, nil // the general way finds out why
}

// takeNew is call.take for one take of a key that has no entry and may have one, since
// there is room and no key of the limit shares a cell. Else nothing was done and known is
// false. The shard is locked.
//
// Its time is a reading of its own, later than the look at the cells: of a cell that was
// emptied between an earlier reading and that look, the key may have had all at that time.
func (s *Store) takeNew(sh *shard, fp uint64, t *weir.Take, d *weir.Decision) (known, allowed bool, now weir.Micros) {
	m := s.find(t.Limit.Version())
	if m == nil || !m.short || m.live.Load() > 0 || sh.crowded(m.rule, m.room, s.shares.Load()) {
		return false, false, 0
	}
	if now = max(s.read(), sh.latest); checkClock(now) != nil {
		return false, false, 0
	}
	sh.latest = now
	moment, ok := t.Limit.Moment(now, t)
	if !ok {
		return false, false, 0
	}
	s.sweep(sh, sweepSets, now, func(*table.Slot) bool { return false })
	if state := step(m.limit, algorithm.State{}, t, d, moment); d.Allowed {
		sh.count(m.rule, m.room)
		sh.insert(fp, m, state)
	}
	return true, d.Allowed || t.Join != weir.All, now
}

// plain reports a take that takeKnown can decide, as far as it says itself.
func plain(t *weir.Take) bool {
	return t.Limit != nil && t.How == 0 && t.Cost > 0 && t.Join <= weir.Alone && t.Slot == weir.SlotID{}
}

// admit judges a take from an entry of a token bucket, and gives the packed state that
// the entry has after it.
//
// The decision is written field by field: one that is made as a whole is made beside its
// place and then copied, in pieces larger than those it was made of, and the processor
// waits for that.
func admit(b *algorithm.TokenBucket, e *table.Slot, t *weir.Take, d *weir.Decision, now weir.Micros) (whole, rest uint64) {
	after, part, v, remaining, reset := b.Admit(int64(e.Words[0]>>lowBits), int64(e.Words[1]>>lowBits), now, t.Cost)
	d.Allowed, d.Never, d.Blocked, d.Mode = v.Allowed, v.Never, false, weir.Exact
	d.Granted, d.Delay, d.RetryAfter = 0, 0, v.RetryAfter
	d.Remaining, d.ResetAfter = remaining, reset
	r := &d.Receipt
	r.At, r.Cost, r.Numbers[0], r.Numbers[1], r.Rest = 0, 0, 0, 0, 0
	if v.Allowed {
		d.Granted = t.Cost
		r.At, r.Cost = now, t.Cost
		r.Numbers[0], r.Numbers[1] = b.Numbers()
	}
	return uint64(after), uint64(part)
}

// setState gives an entry another packed state.
func setState(e *table.Slot, a, b uint64) {
	e.Words[0] = a<<lowBits | e.Words[0]&lowMask
	e.Words[1] = b<<lowBits | e.Words[1]&lowMask
}

// step takes from an entry of any kind, under the shard's lock, and unlocks it.
func (sh *shard) step(m *member, e *table.Slot, t *weir.Take, d *weir.Decision, now weir.Micros) error {
	defer sh.mu.Unlock()
	moment, ok := t.Limit.Moment(now, t)
	if !ok {
		return weir.ErrStale
	}
	sh.write(e, m, m, step(m.limit, sh.state(e, m), t, d, moment)) // no take leaves an entry empty
	return nil
}

// read reads the clock.
func (s *Store) read() weir.Micros {
	if s.clock != nil {
		return s.clock.now()
	}
	return s.now()
}

// step judges a take by itself and charges it if it fits: algorithm.Step.
func step(a algorithm.Algorithm, state algorithm.State, t *weir.Take, d *weir.Decision, at algorithm.Moment) algorithm.State {
	state = a.Touch(state, at)
	v := a.Judge(state, at, t.Cost)
	*d = weir.Decision{Allowed: v.Allowed, Never: v.Never, RetryAfter: v.RetryAfter, Delay: v.Delay}
	if v.Allowed {
		state, d.Receipt = a.Charge(state, at, t.Cost)
		d.Granted = t.Cost
	}
	d.Remaining, d.ResetAfter = a.Level(state, at)
	return state
}
