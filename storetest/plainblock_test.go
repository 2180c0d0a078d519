package storetest

import (
	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// This file is what a plain store does about blocks.

// penalty is where the penalty of take i is kept, and what judges it; nil for none.
func (p *pass) penalty(i int) (address, *algorithm.Penalty) {
	t := p.takes[i]
	if t.Limit.Penalty() == nil {
		return address{}, nil
	}
	at := p.at(t.Limit.Penalty(), t.Key)
	if _, ok := p.states[at]; !ok {
		p.states[at] = p.plain.states[at]
	}
	judge, _ := t.Limit.Penalty().Algorithm().(*algorithm.Penalty)
	return at, judge
}

// blocked is how long the caller of take i is.
func (p *pass) blocked(i int) weir.Micros {
	at, judge := p.penalty(i)
	if judge == nil {
		return 0
	}
	return judge.Left(p.states[at], p.now)
}

func (p *pass) block(g []int, v algorithm.Verdict) algorithm.Verdict {
	if left := p.blocked(g[0]); left > 0 && !v.Never {
		return algorithm.Verdict{RetryAfter: max(v.RetryAfter, left)}
	}
	return v
}

func (p *pass) punish(groups [][]int, verdicts []algorithm.Verdict) {
	for n, g := range groups {
		for _, i := range g {
			at, judge := p.penalty(i)
			looks := p.takes[i].How&(weir.Peek|weir.Force) != 0 && (p.bug != blocksLookers || p.takes[i].How&weir.Force != 0)
			if judge == nil || looks || verdicts[n].Allowed || verdicts[n].Never {
				continue
			}
			if p.bug == forgivesAtOnce && p.blocked(i) == 0 {
				p.states[at] = algorithm.State{}
			}
			if p.bug == blocksLonger && p.blocked(i) > 0 {
				p.states[at] = judge.Strike(algorithm.State{}, p.now)
			}
			p.states[at], _ = judge.Force(p.states[at], algorithm.Moment{Now: p.now}, 1)
		}
	}
	for n, g := range groups {
		if v := &verdicts[n]; !v.Allowed && !v.Never {
			v.RetryAfter = max(v.RetryAfter, p.blocked(g[0]))
		}
	}
}
