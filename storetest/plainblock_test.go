package storetest

import (
	"errors"
	"testing"

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

// barred is what is said of the block of a take that has been judged. What is told of a
// block that has begun by it, is the state of the call; of one before, the store's.
func (p *pass) barred(i int, v algorithm.Verdict) bool {
	at, judge := p.penalty(i)
	if judge == nil || v.Allowed {
		return false
	}
	switch p.bug {
	case blocksSilently:
		return false
	case allBlocked:
		return true
	case blocksBehind:
		return !v.Never && judge.Left(p.plain.states[at], p.now) > 0
	default:
		return !v.Never && p.blocked(i) > 0
	}
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
			how := p.takes[i].How
			looks := how&weir.Force != 0 || how&weir.Peek != 0 && p.bug != blocksLookers && (how&weir.Strike == 0 || p.bug == strikesNobody)
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

// A history under a block is not called orderly, nor disorderly.
func TestHistoriesWithBlocksAreNotJudged(t *testing.T) {
	h := History{{Takes: []weir.Take{{Limit: weir.MustLimit("login", "1/s block 1m"), Cost: 1}}, Decisions: []weir.Decision{{Allowed: true, Granted: 1}}, Allowed: true}}
	if err := CheckLinearizable(h, true); !errors.Is(err, weir.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}
