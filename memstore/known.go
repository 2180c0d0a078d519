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
	fp := at.fingerprint()
	sh := &s.shards[s.shardOf(fp)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.entries.Find(fp)
	if e == nil || s.closed.Load() {
		return false, false, 0, nil
	}
	m := s.member(e)
	if m.version != t.Limit.Version() {
		return false, false, 0, nil // other numbers, or another limit's entry
	}
	now = max(s.now(), sh.latest)
	if err := checkClock(now); err != nil {
		return true, false, now, err
	}
	sh.latest = now
	moment, ok := t.Limit.Moment(now, t)
	if !ok {
		return true, false, now, weir.ErrStale
	}
	state := step(m.limit, sh.state(e, m), t, d, moment)
	sh.write(e, m, m, state) // no take leaves an entry empty
	return true, d.Allowed || t.Join != weir.All, now, nil
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
