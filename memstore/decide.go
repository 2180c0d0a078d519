package memstore

import (
	"math"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// cell is one state within a call: what several takes of the call may name.
// Judging and charging work on cells alone; where a cell came from and where it
// goes is place's business.
type cell struct {
	place place
	algo  algorithm.Algorithm
	at    algorithm.Moment // both of the first take of the group
	was   algorithm.State  // as it was found
	state algorithm.State  // as the call leaves it
	mode  weir.Mode

	charged bool // something was charged in this call

	// Of a state that is a list.
	list  list
	grown int   // how much room was reserved beyond what its entry has
	tight bool  // it lacks room for all that its limit may remember
	short int64 // how much of its limit that is

	// The group of takes that is being judged.
	joined  bool        // it has takes
	asked   bool        // any take of the group wants to pass
	touched bool        // any take of the group is not a peek
	need    int64       // the summed cost
	blocked weir.Micros // how long a caller of the group is blocked, by this call too once it is struck
	verdict algorithm.Verdict
	room    int64 // what partial takes may still share
	total   int64 // to be charged
	receipt algorithm.Receipt
}

// begin forgets the last group.
func (x *cell) begin() {
	x.joined, x.asked, x.touched, x.need, x.total, x.blocked = false, false, false, 0, 0, 0
	x.verdict = algorithm.Verdict{Allowed: true}
}

// join adds a take to the group. All of a group have one Spec: one state is
// judged by one limit.
func (x *cell) join(t *weir.Take, at algorithm.Moment) {
	if !x.joined {
		x.joined, x.algo, x.at = true, t.Limit.Algorithm(), at
	}
	x.touched = x.touched || t.How&weir.Peek == 0
	if t.How&weir.Force != 0 {
		return
	}
	x.asked = true
	cost := x.wants(t)
	if t.How&weir.Partial != 0 {
		cost = min(cost, 1)
	}
	if x.need > math.MaxInt64-cost {
		x.need = math.MaxInt64
		return
	}
	x.need += cost
}

// judge finds the group's verdict.
func (x *cell) judge() {
	if x.touched {
		x.state = x.algo.Touch(x.state, x.at)
	}
	if x.asked {
		x.verdict = x.verdictOf(x.need)
	}
	if x.asked && x.mode == weir.Closed && x.verdict.Allowed {
		x.verdict = algorithm.Verdict{RetryAfter: fullWait}
	}
	if x.verdict.Allowed {
		remaining, _ := x.level()
		x.room = max(0, remaining-x.need)
	}
}

// fullWait is what a key is told that is refused for want of room: nobody knows
// when there will be some.
const fullWait = weir.Micros(time.Second / time.Microsecond)

// uncounted reports a key that has neither an entry nor a cell.
func (x *cell) uncounted() bool { return x.mode == weir.Open || x.mode == weir.Closed }

// grant says how many units a take of an allowed group gets.
func (x *cell) grant(t *weir.Take) int64 {
	if t.How&weir.Partial == 0 {
		return t.Cost
	}
	more := min(max(0, t.Cost-1), x.room)
	x.room -= more
	return min(t.Cost, 1) + more
}

// charge takes what the group was granted.
func (x *cell) charge() {
	if x.total == 0 {
		return
	}
	x.state, x.receipt = x.algo.Charge(x.state, x.at, x.total)
	x.charged = true
}

// force charges a take whatever is left.
func (x *cell) force(t *weir.Take) algorithm.Receipt {
	var r algorithm.Receipt
	if x.uncounted() {
		return r
	}
	x.state, r = x.algo.Force(x.state, x.at, x.forced(t.Cost))
	x.charged = x.charged || r.Cost > 0
	return r
}

// round is one phase of a call: the takes of one join among takes[lo:hi].
type round struct {
	*call
	takes  []weir.Take
	out    []weir.Decision
	lo, hi int
	join   weir.Join
}

// each visits the round's takes with their cells.
func (r round) each(visit func(i int, t *weir.Take, d *weir.Decision, x *cell)) {
	for i := r.lo; i < r.hi; i++ {
		if r.takes[i].Join == r.join {
			visit(i, &r.takes[i], &r.out[i], &r.cells[r.cellOf[i]])
		}
	}
}

// judge groups the round's takes by cell and judges each group. It reports
// whether all of them are allowed.
func (r round) judge() bool {
	for i := range r.cells[:r.cellCount] {
		r.cells[i].begin()
	}
	r.each(func(i int, t *weir.Take, _ *weir.Decision, x *cell) {
		x.join(t, r.at[i])
		x.blocked = max(x.blocked, r.blocked(i))
	})
	ok := true
	for i := range r.cells[:r.cellCount] {
		if x := &r.cells[i]; x.joined {
			x.judge()
			x.block(x.blocked)
			ok = ok && x.verdict.Allowed
		}
	}
	r.each(func(i int, t *weir.Take, _ *weir.Decision, x *cell) { r.strike(i, t, x) })
	r.each(func(i int, _ *weir.Take, _ *weir.Decision, x *cell) { x.tell(r.blocked(i)) })
	return ok
}

// charge writes the round's decisions and, where the call is allowed and the
// group fits, charges it; otherwise the takes marked Always. Settlements come
// last.
func (r round) charge(allowed bool) {
	r.each(func(_ int, t *weir.Take, d *weir.Decision, x *cell) {
		v := x.verdict
		*d = weir.Decision{Allowed: v.Allowed, Never: v.Never, Blocked: x.barred(), RetryAfter: v.RetryAfter, Delay: v.Delay, Mode: x.mode}
		if !allowed || !v.Allowed || t.How&weir.Force != 0 {
			return
		}
		d.Granted = x.grant(t)
		if t.How&weir.Peek == 0 {
			d.Receipt.Cost = d.Granted
			if !x.list.holders {
				x.total += d.Granted
			}
		}
	})
	for i := range r.cells[:r.cellCount] {
		r.cells[i].charge()
	}
	r.each(func(i int, t *weir.Take, d *weir.Decision, x *cell) {
		switch cost := d.Receipt.Cost; {
		case cost > 0 && x.list.holders:
			d.Receipt = x.hold(t, r.prints[i])
		case cost > 0:
			d.Receipt = x.receipt
			d.Receipt.Cost = cost
		case t.How&weir.Always != 0:
			d.Receipt = x.force(t)
		}
	})
	r.settle()
	r.each(func(i int, _ *weir.Take, d *weir.Decision, x *cell) {
		if x.uncounted() { // nothing is kept, so there is nothing left and nothing to give back
			d.Receipt, d.Remaining = weir.Receipt{}, 0
			return
		}
		if x.place.inCell() && !x.list.holders {
			d.Receipt = weir.Receipt{} // nobody could tell later whose charge it was
		}
		d.Remaining, d.ResetAfter = x.level()
		if left := r.blocked(i); left > 0 {
			d.Remaining, d.ResetAfter = 0, max(d.ResetAfter, left)
		}
	})
}

// settle charges the round's Force takes.
func (r round) settle() {
	r.each(func(_ int, t *weir.Take, d *weir.Decision, x *cell) {
		if t.How&weir.Force == 0 {
			return
		}
		d.Receipt = x.force(t)
		*d = weir.Decision{Allowed: true, Granted: d.Receipt.Cost, Receipt: d.Receipt, Mode: x.mode}
		if !x.uncounted() {
			x.place.member.rule.forgiven.Add(uint64(t.Cost - d.Granted))
		}
	})
}

// decide runs the phases of a call on its cells.
func (c *call) decide(takes []weir.Take, out []weir.Decision) bool {
	r := round{call: c, takes: takes, out: out, hi: len(takes), join: weir.All}
	allowed := r.judge()
	r.charge(allowed)
	if c.joins&(1<<weir.Advise) != 0 {
		r.join = weir.Advise
		r.judge()
		r.charge(allowed)
	}
	if c.joins&(1<<weir.Alone) != 0 {
		r.join = weir.Alone
		for i := range takes {
			r.lo, r.hi = i, i+1
			r.judge()
			r.charge(true)
		}
	}
	return allowed
}
