package storetest

import (
	"math/big"

	"github.com/weirhq/weir"
)

// A call is one Take at work, in the four phases of docs/stores.md: All is
// judged, All is charged, Advise, Alone.
type call struct {
	states  map[address]state
	now     weir.Micros
	takes   []weir.Take
	moments []moment
	out     []weir.Decision
}

// A group is the takes of one join on one state, which are judged together.
type group struct {
	law       law
	block     *blockLaw // nil for a limit without one
	offenders address   // where those are whom it blocks
	where     address
	at        moment
	takes     []int // indices, in the order given

	wants          bool // a take of it wants to pass, and does not only look; or looks so that a refusal counts
	allowed, never bool
	blocked        bool // refused because of the block, or it has begun by that
	retry, delay   weir.Micros
	spare          int64 // what Partial takes may share beyond their first unit
}

// groupOf begins the group of a take.
func groupOf(t weir.Take, at moment) *group {
	g := &group{law: lawOf(t.Limit), block: blockLawOf(t.Limit.Spec()), where: address{t.Limit.ID(), t.Key}, at: at}
	if g.block != nil {
		g.offenders = penalties(t.Limit, t.Key)
	}
	return g
}

// place finds the window of every take. It reports false where a calendar's
// edges are stale.
func (c *call) place() bool {
	for _, t := range c.takes {
		m, ok := momentOf(c.now, t)
		if !ok {
			return false
		}
		c.moments = append(c.moments, m)
	}
	return true
}

// judge groups the takes of a join and finds each group's verdict.
func (c *call) judge(j weir.Join) []*group {
	var groups []*group
	of := map[address]*group{}
	for i, t := range c.takes {
		if t.Join != j {
			continue
		}
		where := address{t.Limit.ID(), t.Key}
		if of[where] == nil {
			of[where] = groupOf(t, c.moments[i])
			groups = append(groups, of[where])
		}
		of[where].takes = append(of[where].takes, i)
	}
	for _, g := range groups {
		c.verdict(g)
	}
	c.punish(groups)
	return groups
}

// verdict touches the state, unless the group does nothing but peek, and judges
// what the group needs. Who only settles needs nothing and is never refused.
func (c *call) verdict(g *group) {
	need, peeks, asks := new(big.Int), true, false
	for _, i := range g.takes {
		t := c.takes[i]
		peeks = peeks && t.How&weir.Peek != 0
		asks = asks || t.How&weir.Force == 0
		g.wants = g.wants || t.How&(weir.Peek|weir.Force) == 0 || t.How&weir.Strike != 0
		need.Add(need, big.NewInt(c.needOf(g, t)))
	}
	if !peeks {
		c.states[g.where] = g.law.touch(c.states[g.where], g.at)
	}
	s := c.states[g.where]
	switch {
	case !asks:
		g.allowed = true
	case need.Cmp(big.NewInt(g.law.capacity())) > 0:
		g.never = true
	case g.law.fits(s, c.now, need.Int64()):
		g.allowed = true
		g.spare = g.law.left(s, c.now) - need.Int64()
		if need.Sign() > 0 {
			g.delay = delayOf(g.law, s, c.now)
		}
	default:
		g.retry = g.law.wait(s, c.now, need.Int64())
	}
	if asks {
		c.block(g)
	}
}

// needOf is what must fit for a take of a group to pass: nothing for one who holds the
// slot that he asks for.
func (c *call) needOf(g *group, t weir.Take) int64 {
	if l, ok := g.law.(slotLaw); ok && l.holds(c.states[g.where], c.now, t.Slot) {
		return 0
	}
	return needOf(t)
}

// needOf is what must fit for a take to pass, whoever asks.
func needOf(t weir.Take) int64 {
	switch {
	case t.How&weir.Force != 0:
		return 0
	case t.How&weir.Partial != 0:
		return min(t.Cost, 1)
	}
	return t.Cost
}

// allowing reports whether every group is allowed.
func allowing(groups []*group) bool {
	for _, g := range groups {
		if !g.allowed {
			return false
		}
	}
	return true
}

// finish charges All, whose groups have been judged, by the verdict of the call,
// and runs the phases that follow.
func (c *call) finish(all []*group, allowed bool) {
	for _, g := range all {
		c.settle(g, allowed)
	}
	for _, g := range c.judge(weir.Advise) {
		c.settle(g, allowed)
	}
	for i, t := range c.takes {
		if t.Join == weir.Alone {
			g := groupOf(t, c.moments[i])
			g.takes = []int{i}
			c.verdict(g)
			c.punish([]*group{g})
			c.settle(g, true)
		}
	}
}

// settle charges a group, where the call is allowed and the group too, what its
// takes are granted; otherwise the takes that are charged always. Then come
// those that settle. The state that results is what the decisions tell of.
func (c *call) settle(g *group, allowed bool) {
	charging := allowed && g.allowed
	for _, i := range g.takes {
		c.out[i] = weir.Decision{Allowed: g.allowed, Never: g.never, Blocked: g.blocked, RetryAfter: g.retry, Delay: g.delay}
	}
	if charging {
		c.grant(g)
	}
	for _, i := range g.takes {
		if c.takes[i].How&weir.Always != 0 && !charging {
			c.out[i].Receipt = c.force(g, i)
		}
	}
	for _, i := range g.takes {
		if c.takes[i].How&weir.Force != 0 {
			r := c.force(g, i)
			c.out[i] = weir.Decision{Allowed: true, Granted: r.Cost, Receipt: r}
		}
	}
	s := c.states[g.where]
	for _, i := range g.takes {
		c.out[i].Remaining, c.out[i].ResetAfter = g.law.left(s, c.now), g.law.reset(s, c.now)
		if left := c.blocked(g); left > 0 {
			c.out[i].Remaining, c.out[i].ResetAfter = 0, max(c.out[i].ResetAfter, left)
		}
	}
}

// grant gives each take its units and charges their sum, peeks left out.
func (c *call) grant(g *group) {
	if l, ok := g.law.(slotLaw); ok {
		c.hold(g, l)
		return
	}
	total := int64(0)
	for _, i := range g.takes {
		t, d := c.takes[i], &c.out[i]
		d.Granted = needOf(t)
		if t.How&weir.Partial != 0 {
			more := min(t.Cost-d.Granted, g.spare)
			g.spare -= more
			d.Granted += more
		}
		if t.How&weir.Peek == 0 {
			total += d.Granted
		}
	}
	if total == 0 {
		return
	}
	s, receipt := g.law.charge(c.states[g.where], g.at, total)
	c.states[g.where] = s
	for _, i := range g.takes {
		if t := c.takes[i]; t.How&(weir.Peek|weir.Force) == 0 {
			c.out[i].Receipt = receipt
			c.out[i].Receipt.Cost = c.out[i].Granted
		}
	}
}

// hold gives each take its slot, peeks left out.
func (c *call) hold(g *group, l slotLaw) {
	for _, i := range g.takes {
		t, d := c.takes[i], &c.out[i]
		if d.Granted = t.Cost; t.How&weir.Peek == 0 {
			c.states[g.where], d.Receipt = l.hold(c.states[g.where], c.now, t.Slot)
		}
	}
}

// force charges one take as far as the overdraft reaches.
func (c *call) force(g *group, i int) weir.Receipt {
	s, receipt := g.law.force(c.states[g.where], g.at, c.takes[i].Cost)
	c.states[g.where] = s
	return receipt
}
