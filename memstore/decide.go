package memstore

import (
	"math"

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

	// The group of takes that is being judged.
	joined  bool  // it has takes
	asked   bool  // any take of the group wants to pass
	touched bool  // any take of the group is not a peek
	need    int64 // the summed cost
	verdict algorithm.Verdict
	room    int64 // what partial takes may still share
	total   int64 // to be charged
	receipt algorithm.Receipt
}

// begin forgets the last group.
func (c *cell) begin() {
	c.joined, c.asked, c.touched, c.need, c.total = false, false, false, 0, 0
	c.verdict = algorithm.Verdict{Allowed: true}
}

// join adds a take to the group. The first one's numbers judge: keys that share
// an overflow cell may be under different plans.
func (c *cell) join(t *weir.Take, at algorithm.Moment) {
	if !c.joined {
		c.joined, c.algo, c.at = true, t.Limit.Algorithm(), at
	}
	c.touched = c.touched || t.How&weir.Peek == 0
	if t.How&weir.Force != 0 {
		return
	}
	c.asked = true
	cost := t.Cost
	if t.How&weir.Partial != 0 {
		cost = min(cost, 1)
	}
	if c.need > math.MaxInt64-cost {
		c.need = math.MaxInt64
		return
	}
	c.need += cost
}

// judge finds the group's verdict.
func (c *cell) judge() {
	if c.touched {
		c.state = c.algo.Touch(c.state, c.at)
	}
	if c.asked {
		c.verdict = c.algo.Judge(c.state, c.at, c.need)
	}
	if c.verdict.Allowed {
		remaining, _ := c.algo.Level(c.state, c.at)
		c.room = max(0, remaining-c.need)
	}
}

// grant says how many units a take of an allowed group gets.
func (c *cell) grant(t *weir.Take) int64 {
	if t.How&weir.Partial == 0 {
		return t.Cost
	}
	more := min(max(0, t.Cost-1), c.room)
	c.room -= more
	return min(t.Cost, 1) + more
}

// charge takes what the group was granted.
func (c *cell) charge() {
	if c.total == 0 {
		return
	}
	c.state, c.receipt = c.algo.Charge(c.state, c.at, c.total)
	c.charged = true
}

// force charges a take whatever is left.
func (c *cell) force(t *weir.Take) algorithm.Receipt {
	var r algorithm.Receipt
	c.state, r = c.algo.Force(c.state, c.at, t.Cost)
	c.charged = c.charged || r.Cost > 0
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
func (r round) each(visit func(i int, t *weir.Take, d *weir.Decision, c *cell)) {
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
	r.each(func(i int, t *weir.Take, _ *weir.Decision, c *cell) { c.join(t, r.at[i]) })
	ok := true
	for i := range r.cells[:r.cellCount] {
		if c := &r.cells[i]; c.joined {
			c.judge()
			ok = ok && c.verdict.Allowed
		}
	}
	return ok
}

// charge writes the round's decisions and, where the call is allowed and the
// group fits, charges it; otherwise the takes marked Always. Settlements come
// last.
func (r round) charge(allowed bool) {
	r.each(func(_ int, t *weir.Take, d *weir.Decision, c *cell) {
		v := c.verdict
		*d = weir.Decision{Allowed: v.Allowed, Never: v.Never, RetryAfter: v.RetryAfter, Mode: c.mode}
		if !allowed || !v.Allowed || t.How&weir.Force != 0 {
			return
		}
		d.Granted = c.grant(t)
		if t.How&weir.Peek == 0 {
			c.total += d.Granted
			d.Receipt.Cost = d.Granted
		}
	})
	for i := range r.cells[:r.cellCount] {
		r.cells[i].charge()
	}
	r.each(func(_ int, t *weir.Take, d *weir.Decision, c *cell) {
		if cost := d.Receipt.Cost; cost > 0 {
			d.Receipt = c.receipt
			d.Receipt.Cost = cost
		} else if t.How&weir.Always != 0 {
			d.Receipt = c.force(t)
		}
	})
	r.settle()
	r.each(func(_ int, _ *weir.Take, d *weir.Decision, c *cell) {
		d.Remaining, d.ResetAfter = c.algo.Level(c.state, c.at)
	})
}

// settle charges the round's Force takes.
func (r round) settle() {
	r.each(func(_ int, t *weir.Take, d *weir.Decision, c *cell) {
		if t.How&weir.Force == 0 {
			return
		}
		d.Receipt = c.force(t)
		*d = weir.Decision{Allowed: true, Granted: d.Receipt.Cost, Receipt: d.Receipt, Mode: c.mode}
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
