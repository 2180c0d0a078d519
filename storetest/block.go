package storetest

import (
	"math/big"
	"time"

	"github.com/weirhq/weir"
)

// blockLaw is what a limit with a block says about those it has refused.
type blockLaw struct{ first, factor, most *big.Int } // in microseconds, but for the factor

// blockLawOf reads the numbers of a block; nil for none.
func blockLawOf(s weir.Spec) *blockLaw {
	b := s.Block
	if b == (weir.Block{}) {
		return nil
	}
	micros := func(d time.Duration) *big.Int { return big.NewInt(int64(d / time.Microsecond)) }
	l := &blockLaw{first: micros(b.For), factor: big.NewInt(1), most: micros(b.For)}
	if b.Factor != 0 {
		l.factor, l.most = big.NewInt(b.Factor), micros(b.Max)
	}
	return l
}

// next is how long a block lasts after one that lasted so long.
func (l *blockLaw) next(last weir.Micros) weir.Micros {
	length := new(big.Int).Mul(big.NewInt(int64(last)), l.factor)
	switch {
	case length.Cmp(l.first) < 0:
		length = l.first
	case length.Cmp(l.most) > 0:
		length = l.most
	}
	return weir.Micros(length.Int64())
}

// An offender is who was blocked for so long, until an instant.
type offender struct{ until, length weir.Micros }

func (o offender) same(other state) bool { return o == other }

// penalties is where the offenders of a limit are kept: not where its states are, so
// that other algorithms under the same name know them as well.
func penalties(l *weir.Limit, k weir.Key) address { return address{l.Penalty().ID(), k} }

// blocked is how long the caller of a group is blocked.
func (c *call) blocked(g *group) weir.Micros {
	if g.block == nil {
		return 0
	}
	o, _ := c.states[g.offenders].(offender)
	return max(0, o.until-c.now)
}

// block refuses a group whose caller is blocked, whatever he asks for; what can never
// pass is refused for that.
func (c *call) block(g *group) {
	if left := c.blocked(g); left > 0 && !g.never {
		g.allowed, g.delay, g.retry = false, 0, max(g.retry, left)
	}
}

// punish blocks whose takes were refused: not for what can never pass, not for
// looking, and not for being blocked. All of them have been judged before the first is.
func (c *call) punish(groups []*group) {
	for _, g := range groups {
		if g.block == nil || g.allowed || g.never || !g.wants || c.blocked(g) > 0 {
			continue
		}
		last := weir.Micros(0)
		if o, ok := c.states[g.offenders].(offender); ok && c.now < o.until+o.length { // else it is forgotten
			last = o.length
		}
		length := g.block.next(last)
		c.states[g.offenders] = offender{c.now + length, length}
	}
	for _, g := range groups {
		if !g.allowed && !g.never {
			left := c.blocked(g)
			g.blocked, g.retry = left > 0, max(g.retry, left)
		}
	}
}
