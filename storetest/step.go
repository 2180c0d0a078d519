package storetest

import (
	"cmp"
	"errors"
	"math/big"
	"slices"

	"github.com/weirhq/weir"
)

// known is what a model knows of one state after some calls.
type known struct {
	state state
	asOf  weir.Micros // the reading at which that was so
	last  weir.Micros // the latest reading
	// pending holds calls that were applied after that, at an instant which
	// their answer would have told. The next answer shows when it was.
	pending []*share
}

func equalKnown(a, b any) bool {
	x, _ := a.(known)
	y, _ := b.(known)
	return x.asOf == y.asOf && x.last == y.last && sameState(x.state, y.state) && slices.Equal(x.pending, y.pending)
}

func sameState(a, b state) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.same(b)
}

// step gives the states in which a call may leave what is known: none where it
// cannot have answered as it did, two where it may or may not have been applied.
func (m model) step(from, in any) []any {
	k, _ := from.(known)
	s, _ := in.(*share)
	switch {
	case s.reset && s.unknown():
		return []any{k, known{asOf: k.last, last: k.last}}
	case s.reset:
		return []any{known{asOf: k.last, last: k.last}}
	case s.unknown():
		later := k
		later.pending = append(slices.Clone(k.pending), s)
		return []any{k, later}
	case m.monotone && s.op.Stamp.Now < k.last:
		return nil
	case s.returns != nil && k.pending != nil:
		k.last = max(k.last, s.op.Stamp.Now)
		k.pending = append(slices.Clone(k.pending), s)
		return []any{k}
	}
	return m.answer(k, s)
}

// answer gives the states that lead to exactly the answer given.
func (m model) answer(k known, s *share) []any {
	var next []any
	for _, at := range k.instants(s) {
		for _, before := range k.settled(at, s.op.Stamp.Now) {
			next = append(next, m.applied(before, k, s)...)
		}
	}
	return next
}

// applied runs a call on a state and compares what it would answer.
func (m model) applied(before state, k known, s *share) []any {
	after, told := apply(before, s, s.op.Stamp.Now, s.op.Allowed)
	if !slices.Equal(told, s.told) || !s.loses(before) {
		return nil
	}
	return []any{known{state: after, asOf: s.op.Stamp.Now, last: max(k.last, s.op.Stamp.Now)}}
}

// loses reports whether the slots that a call has renewed are lost, on a state, as it
// was told. Of a call on several states nobody is told on which.
func (s *share) loses(before state) bool {
	if s.returns == nil {
		return true
	}
	o, at := NewOracle(), address{s.returns[0].Limit.ID(), s.returns[0].Key}
	o.put(at, before)
	lost := errors.Is(o.Return(s.op.Stamp.Now, s.returns), weir.ErrLost)
	return lost == s.lost() || s.lost() && len(s.returns) < len(s.op.Returns)
}

// instants gives the times at which what is pending may have been applied, as
// far as the answer depends on them. Applied at some instant, it would lead to
// some ResetAfter. Where the answer tells of another one, it was applied earlier
// or later by the difference: to a bucket that was idle, or giving back what had
// not yet flowed back.
func (k known) instants(s *share) []weir.Micros {
	now := s.op.Stamp.Now
	if k.pending == nil || s.told == nil {
		return []weir.Micros{now}
	}
	charged, told := int64(0), weir.Micros(0)
	for _, d := range s.told {
		charged, told = charged+d.Receipt.Cost, max(told, d.ResetAfter)
	}
	law, within := lawOf(s.limit()), func(at weir.Micros) weir.Micros { return min(max(at, k.asOf), now) }
	// From the last of these on, no more has flowed back than the answer shows.
	instants := []weir.Micros{k.asOf, now, within(now - told)}
	for _, begin := range k.ageing() {
		instants = append(instants, within(begin))
	}
	for _, at := range instants {
		for _, before := range k.settled(at, now) {
			if charged > 0 {
				before, _ = law.charge(before, moment{now: now}, charged)
			}
			for several := range len(k.pending) { // each may account for a part of the difference
				instants = append(instants, within(at-(law.reset(before, now)-told)/weir.Micros(several+1)))
			}
		}
	}
	slices.Sort(instants)
	return slices.Compact(instants)
}

// tells gives the instants at which something was charged that an answer waits for, or
// counts no more: of a log, whose charges are over after a period, and of slots, after
// a lease. Of a call that is lost an answer may show at once that it was applied, and only a later
// one when.
func (s *share) tells() (instants []weir.Micros) {
	var length weir.Micros
	switch l := lawOf(s.limit()).(type) {
	case logLaw:
		length = l.period
	case slotLaw:
		length = l.length
	default:
		return nil
	}
	over := s.op.Stamp.Now - length // the latest instant whose charges are over at the answer
	for _, d := range s.told {
		instants = append(instants, over, over+1, over+d.RetryAfter, over+d.ResetAfter)
	}
	return instants
}

// ageing gives the instants between which a pending return gives back less and
// less: from when it gives all it was asked for until when it gives nothing.
func (k known) ageing() (instants []weir.Micros) {
	for _, s := range k.pending {
		for _, r := range s.returns {
			rate := chargedAt(r)
			if rate == nil {
				continue
			}
			for _, kept := range []int64{r.Receipt.Cost - r.Units, r.Receipt.Cost} {
				at := r.Receipt.At + timeOf(units(kept), rate)
				instants = append(instants, at-1, at)
			}
		}
	}
	return instants
}

// chargedAt is the rate at which a charge flows back; nil where it does not.
func chargedAt(r weir.Return) *big.Rat {
	n, p := r.Receipt.Numbers[0], r.Receipt.Numbers[1]
	if n < 1 || p < 1 {
		return nil
	}
	return big.NewRat(n, p)
}

// A spot is a state on the way from one pending call to the next.
type spot struct {
	state state
	since weir.Micros
}

// settled gives the states in which the pending calls may leave what is known
// until now, each of them applied at one instant, or at an earlier one at which
// it would begin to fit.
func (k known) settled(at, now weir.Micros) []state {
	spots := []spot{{k.state, k.asOf}}
	for _, s := range k.pending {
		var next []spot
		for _, from := range spots {
			for _, t := range from.times(s, at, now) {
				for _, allowed := range []bool{true, false} {
					after, _ := apply(from.state, s, t, allowed)
					next = append(next, spot{after, t})
				}
			}
		}
		slices.SortStableFunc(next, func(a, b spot) int { return cmp.Compare(a.since, b.since) })
		spots = slices.CompactFunc(next, func(a, b spot) bool { return a.since == b.since && sameState(a.state, b.state) })
	}
	var states []state
	for _, s := range spots {
		states = append(states, s.state)
	}
	return states
}

// times gives the instants at which a pending call may have been applied.
func (from spot) times(s *share, at, now weir.Micros) []weir.Micros {
	if !s.unknown() {
		return []weir.Micros{s.op.Stamp.Now}
	}
	within := func(t weir.Micros) weir.Micros { return min(max(t, from.since), now) }
	times := []weir.Micros{from.since, within(at), within(at + 1), within(at - 1)}
	for _, need := range s.needs() {
		if law := lawOf(s.limit()); need <= law.capacity() {
			times = append(times, within(from.since+law.wait(from.state, from.since, need)))
		}
	}
	for _, t := range from.turns(s, now) {
		times = append(times, within(t))
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// turns are the instants at which it begins to matter when a pending call was applied,
// beside those at which it begins to fit.
func (from spot) turns(s *share, now weir.Micros) []weir.Micros {
	switch l := lawOf(s.limit()).(type) {
	case slidingLaw:
		return l.turns(from, s, now)
	case logLaw:
		return append(l.turns(from), s.hints...)
	case slotLaw:
		return append(l.turns(from), s.hints...)
	}
	return nil
}

// mostParts bounds how many grants of a lost Partial take are tried.
const mostParts = 64

// needs lists how much must fit for the takes to pass one after the other; of a
// Partial take, for each number of units that it may have got.
func (s *share) needs() (needs []int64) {
	sum := int64(0)
	for _, j := range []weir.Join{weir.All, weir.Advise, weir.Alone} {
		for _, t := range s.takes {
			if t.Join != j {
				continue
			}
			sum += min(needOf(t), mostNeeded)
			needs = append(needs, sum)
			if t.How&weir.Partial != 0 {
				for range min(t.Cost, mostParts) - 1 {
					sum++
					needs = append(needs, sum)
				}
			}
		}
	}
	return needs
}

// mostNeeded keeps sums of costs from overflowing: it is above every capacity.
const mostNeeded = 1 << 53

// apply runs a share of a call on its state at an instant, the call having been
// allowed or not.
func apply(before state, s *share, now weir.Micros, allowed bool) (state, []weir.Decision) {
	o := NewOracle()
	if s.returns != nil {
		at := address{s.returns[0].Limit.ID(), s.returns[0].Key}
		o.put(at, before)
		_ = o.Return(now, s.returns) // cannot be invalid: a store has taken it
		return o.states[at], nil
	}
	at := address{s.takes[0].Limit.ID(), s.takes[0].Key}
	o.put(at, before)
	c := &call{states: o.states, now: now, takes: s.takes, out: make([]weir.Decision, len(s.takes))}
	if !c.place() {
		return before, nil
	}
	all := c.judge(weir.All)
	c.finish(all, allowed && allowing(all))
	return o.states[at], c.out
}
