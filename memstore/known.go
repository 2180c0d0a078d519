package memstore

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// takeKnown is call.take for what most calls are: one take, whose cost is
// charged or not, of a key that has an entry. Such a call needs no room, meets
// no overflow cell and has one group, so that it is a step of the algorithm
// under the shard's lock. Where the key has no entry, nothing was done and known
// is false.
func (s *Store) takeKnown(t *weir.Take, d *weir.Decision) (known, allowed bool, now weir.Micros, err error) {
	at := address{t.Limit.ID(), t.Key}
	sh := &s.shards[s.shardOf(at)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	slot, known := sh.index[at]
	if !known || s.closed.Load() {
		return false, false, 0, nil
	}
	now = max(s.now(), sh.latest)
	if err := checkClock(now); err != nil {
		return true, false, now, err
	}
	sh.latest = now
	sh.sweep(sweepStep, now, func(i int32) bool { return i == slot })
	moment, ok := t.Limit.Moment(now, t)
	if !ok {
		return true, false, now, weir.ErrStale
	}
	allowed = sh.slots[slot].step(t, d, moment) // no take leaves an entry empty
	return true, allowed || t.Join != weir.All, now, nil
}

// step judges a take by itself and charges it if it fits: algorithm.Step.
func (e *entry) step(t *weir.Take, d *weir.Decision, at algorithm.Moment) (allowed bool) {
	a := t.Limit.Algorithm()
	e.state = a.Touch(e.state, at)
	v := a.Judge(e.state, at, t.Cost)
	*d = weir.Decision{Allowed: v.Allowed, Never: v.Never, RetryAfter: v.RetryAfter}
	if v.Allowed {
		e.state, d.Receipt = a.Charge(e.state, at, t.Cost)
		d.Granted = t.Cost
	}
	d.Remaining, d.ResetAfter = a.Level(e.state, at)
	return v.Allowed
}
