package storetest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// A bug is one way to break a store.
type bug int

const (
	none           bug = iota
	racy               // reads, lets others run, writes
	chargesRefused     // a refusal costs
	chargesHalf        // a call that one limit refuses charges the others
	refundsTwice       // gives all back, also what has flowed back by itself
	waitsTooLittle     // RetryAfter is one µs short
	waitsTooLong       // RetryAfter is one µs long
	forgetsNumbers     // a limit with other numbers begins anew
	mergesNothing      // takes on one state are judged one by one, and charged together
	peekWrites         // a peek leaves a state behind
	cutsDebt           // what is owed beyond the burst is forgiven when read
	shiftsBack         // a clock that runs back takes the states with it
	clockRuns          // readings of the clock run back
	refundsAnyone      // a receipt of other numbers counts
	ignoresStale       // a calendar without edges is judged all the same
	acceptsAll         // impossible arguments are not refused
	panics             // impossible arguments panic
	livesOn            // answers after Close
	leaks              // leaves a goroutine behind
	resetsNothing      // Reset does nothing
	mixesKeys          // two keys share a state
	keepsSlices        // looks at the takes of the call before
	overflows          // sums of costs wrap around
	forgetsBefore      // a sliding window begins anew at each edge
	holdsNothing       // what a leaky bucket lets pass goes on at once
	movesUp            // a place in a queue comes back, whoever stands behind it
	blursCharges       // a log takes all charges to be of the newest one's instant
	countsAgain        // who holds a slot and asks again counts twice
	neverRenews        // a lease ends when it was to end at first
	freesAnyone        // the release of a slot that nobody holds frees another's
	keepsQuiet         // does not say that a slot is lost
	blocksLonger       // who is blocked and asks is blocked anew
	blocksLookers      // a peek that is refused blocks
	forgivesAtOnce     // what came before a block is forgotten when it ends
	blocksSilently     // does not say that somebody is blocked
	blocksBehind       // says so from the second refusal on: not of the one that begins the block
	allBlocked         // says so of every refusal under a limit with a block
	strikesNobody      // a look that is to strike is a look
)

// plain is a store of a lock and a map over the algorithms of the limits, as
// simple as the contract can be kept; and, with a bug, as it is broken.
type plain struct {
	bug bug
	now func() weir.Micros

	mu     sync.Mutex
	states map[address]algorithm.State
	lists  map[address]items
	latest weir.Micros
	closed bool
	stop   chan struct{}
	kept   []weir.Take
}

func newPlain(now func() weir.Micros, b bug) *plain {
	s := &plain{bug: b, now: now, states: map[address]algorithm.State{}, lists: map[address]items{}, stop: make(chan struct{})}
	if b == leaks {
		go func() { <-s.stop }()
	}
	return s
}

func (s *plain) Keyer() weir.Keyer { return weir.Keyer{} }

func (s *plain) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = s.bug != livesOn
	return nil
}

// read is the clock, never below an earlier reading.
func (s *plain) read() weir.Micros {
	now := s.now()
	if s.bug == shiftsBack && now < s.latest {
		for at, state := range s.states {
			if state[2] != 0 && state[0] > int64(now) {
				delete(s.states, at)
			}
		}
	}
	if s.bug == clockRuns || s.bug == shiftsBack {
		s.latest = now
		return now
	}
	s.latest = max(s.latest, now)
	return s.latest
}

func (s *plain) at(l *weir.Limit, k weir.Key) address {
	if s.bug == mixesKeys {
		k = weir.Key{}
	}
	at := address{l.ID(), k}
	if s.bug == forgetsNumbers {
		copy(at.limit[:], l.String())
	}
	return at
}

func (s *plain) Reset(_ context.Context, l *weir.Limit, k weir.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return weir.ErrClosed
	case l == nil:
		return fmt.Errorf("%w: no limit", weir.ErrInvalid)
	case s.bug != resetsNothing:
		delete(s.states, s.at(l, k))
		delete(s.lists, s.at(l, k))
		if l.Penalty() != nil {
			delete(s.states, s.at(l.Penalty(), k))
		}
	}
	return nil
}

func (s *plain) Return(_ context.Context, returns []weir.Return) (weir.Stamp, error) {
	if err := checkReturns(returns); err != nil {
		return weir.Stamp{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return weir.Stamp{}, weir.ErrClosed
	}
	now := s.read()
	var lost error
	for _, r := range returns {
		if listed, held := s.returnListed(r, now); listed {
			if r.Renew && !held && s.bug != keepsQuiet {
				lost = weir.ErrLost
			}
			continue
		}
		at := s.at(r.Limit, r.Key)
		receipt := r.Receipt
		if s.bug == refundsTwice {
			receipt.At = now
		}
		if s.bug == refundsAnyone {
			state := s.states[at]
			receipt.Numbers = [2]int64(state[2:])
			if r.Limit.Algorithm().Family() != algorithm.TokenBucketFamily {
				receipt.Numbers = [2]int64(state[:2])
			}
		}
		if s.bug == movesUp && r.Limit.Algorithm().Family() == algorithm.LeakyBucketFamily {
			unit := weir.Micros(r.Limit.Spec().Period.Microseconds() / r.Limit.Spec().Count)
			receipt.At = weir.Micros(s.states[at][0]) - unit*weir.Micros(receipt.Cost)
		}
		s.put(at, r.Limit.Algorithm().Refund(s.states[at], algorithm.Moment{Now: now}, receipt, r.Units))
	}
	return weir.Stamp{Now: now}, lost
}

func (s *plain) put(at address, state algorithm.State) {
	if state == (algorithm.State{}) {
		delete(s.states, at)
		return
	}
	s.states[at] = state
}

func (s *plain) refuse(takes []weir.Take, out []weir.Decision) error {
	if s.bug == acceptsAll {
		for _, t := range takes {
			if t.Limit == nil || t.Limit.Algorithm() == nil || t.Cost < 0 || len(takes) > weir.MaxTakes {
				return weir.ErrInvalid
			}
		}
		return nil
	}
	if s.bug == panics && len(takes) != len(out) {
		_ = out[len(takes)]
	}
	if len(takes) != len(out) {
		return fmt.Errorf("%w: %d takes, %d decisions", weir.ErrInvalid, len(takes), len(out))
	}
	return checkTakes(takes)
}

func (s *plain) Take(_ context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	if err := s.refuse(takes, out); err != nil {
		return false, weir.Stamp{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, weir.Stamp{}, weir.ErrClosed
	}
	if s.bug == keepsSlices && len(s.kept) > 0 && len(takes) > 0 && s.kept[0].Cost != takes[0].Cost {
		takes[0].Cost = s.kept[0].Cost
	}
	s.kept = append([]weir.Take(nil), takes...)
	now := s.read()
	p := &pass{plain: s, takes: takes, out: out, now: now, states: map[address]algorithm.State{}, lists: map[address]*items{}}
	for i := range takes {
		m, ok := takes[i].Limit.Moment(now, &takes[i])
		if !ok && s.bug != ignoresStale {
			return false, weir.Stamp{Now: now}, weir.ErrStale
		}
		at := s.at(takes[i].Limit, takes[i].Key)
		p.states[at] = s.states[at]
		if list := s.listOf(takes[i].Limit, at, now); list != nil && p.lists[at] == nil {
			p.lists[at], p.states[at] = list, list.state()
		}
		if list := p.lists[at]; list != nil {
			m.List, p.states[at] = list, list.state()
		}
		p.moments = append(p.moments, m)
	}
	if s.bug == racy {
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
	before := map[address]items{}
	for at, list := range p.lists {
		before[at] = slices.Clone(*list)
	}
	allowed := p.run()
	for at, state := range p.states {
		if list := p.lists[at]; list != nil {
			s.replace(at, before[at], *list)
		} else {
			s.put(at, state)
		}
	}
	return allowed, weir.Stamp{Now: now}, nil
}

// pass is one call of a plain store.
type pass struct {
	*plain
	takes   []weir.Take
	moments []algorithm.Moment
	out     []weir.Decision
	now     weir.Micros
	states  map[address]algorithm.State
	lists   map[address]*items
}

func (p *pass) run() bool {
	allowed, groups := true, p.groups(weir.All)
	verdicts := p.judge(groups)
	for _, v := range verdicts {
		allowed = allowed && v.Allowed
	}
	p.settle(groups, verdicts, allowed)
	groups = p.groups(weir.Advise)
	p.settle(groups, p.judge(groups), allowed)
	for _, g := range p.groups(weir.Alone) {
		for _, i := range g {
			one := [][]int{{i}}
			p.settle(one, p.judge(one), true)
		}
	}
	return allowed
}

func (p *pass) address(i int) address { return p.at(p.takes[i].Limit, p.takes[i].Key) }

// groups are the takes of a join by state.
func (p *pass) groups(j weir.Join) (groups [][]int) {
	for i, t := range p.takes {
		if t.Join != j {
			continue
		}
		found := false
		for n := range groups {
			if p.bug != mergesNothing && p.address(groups[n][0]) == p.address(i) {
				groups[n], found = append(groups[n], i), true
			}
		}
		if !found {
			groups = append(groups, []int{i})
		}
	}
	return groups
}

func (p *pass) judge(groups [][]int) (verdicts []algorithm.Verdict) {
	for _, g := range groups {
		a, m, at := p.takes[g[0]].Limit.Algorithm(), p.moments[g[0]], p.address(g[0])
		need, asks, touches := int64(0), false, p.bug == peekWrites
		for _, i := range g {
			n := p.need(i)
			if p.bug != overflows && need > math.MaxInt64-n {
				n = math.MaxInt64 - need
			}
			need += n
			asks = asks || p.takes[i].How&weir.Force == 0
			touches = touches || p.takes[i].How&weir.Peek == 0
		}
		if touches {
			p.states[at] = a.Touch(p.states[at], m)
		}
		if a.Family() == algorithm.SlidingWindowFamily && p.bug == forgetsBefore {
			p.states[at] = alone(p.states[at], p.now)
		}
		if b, ok := a.(*algorithm.TokenBucket); ok && p.bug == cutsDebt {
			if d := p.states[at][0] - int64(p.now); d > 0 {
				full, _ := b.Charge(algorithm.State{}, m, b.Capacity())
				cut := p.states[at]
				cut[0] = min(cut[0], full[0])
				p.states[at] = cut
			}
		}
		if p.bug == peekWrites && p.states[at] == (algorithm.State{}) && a.Family() == algorithm.TokenBucketFamily {
			p.states[at], _ = a.Charge(algorithm.State{}, m, 1)
		}
		v := algorithm.Verdict{Allowed: true}
		if asks {
			v = a.Judge(p.states[at], m, need)
		}
		if v.RetryAfter > 0 && p.bug == waitsTooLittle {
			v.RetryAfter--
		}
		if v.RetryAfter > 0 && p.bug == waitsTooLong {
			v.RetryAfter++
		}
		if p.bug == holdsNothing {
			v.Delay = 0
		}
		if asks {
			v = p.block(g, v)
		}
		verdicts = append(verdicts, v)
	}
	p.punish(groups, verdicts)
	return verdicts
}

// alone is a sliding window without what was counted in the window before.
func alone(s algorithm.State, now weir.Micros) algorithm.State {
	if s[1] <= int64(now) {
		return algorithm.State{}
	}
	s[3] = 0
	return s
}

func (p *pass) settle(groups [][]int, verdicts []algorithm.Verdict, allowed bool) {
	for n, g := range groups {
		a, m, at := p.takes[g[0]].Limit.Algorithm(), p.moments[g[0]], p.address(g[0])
		charging := allowed && verdicts[n].Allowed || p.bug == chargesHalf && verdicts[n].Allowed
		for _, i := range g {
			v := verdicts[n]
			p.out[i] = weir.Decision{Allowed: v.Allowed, Never: v.Never, Blocked: p.barred(i, v), RetryAfter: v.RetryAfter, Delay: v.Delay}
		}
		if charging {
			p.charge(g)
		}
		for _, i := range g {
			always := p.takes[i].How&weir.Always != 0 || p.bug == chargesRefused && p.takes[i].How == 0
			if !charging && always && a.Family() != algorithm.ConcurrencyFamily {
				s, r := a.Force(p.states[at], m, p.takes[i].Cost)
				p.out[i].Receipt = p.keep(at, s, r)
			}
		}
		for _, i := range g {
			if p.takes[i].How == weir.Force {
				s, r := a.Force(p.states[at], m, p.takes[i].Cost)
				p.keep(at, s, r)
				p.out[i] = weir.Decision{Allowed: true, Granted: r.Cost, Receipt: r}
			}
		}
		for _, i := range g {
			p.out[i].Remaining, p.out[i].ResetAfter = a.Level(p.states[at], m)
			if left := p.blocked(i); left > 0 {
				p.out[i].Remaining, p.out[i].ResetAfter = 0, max(p.out[i].ResetAfter, left)
			}
		}
	}
}

func (p *pass) charge(g []int) {
	if p.hold(g) {
		return
	}
	a, m, at := p.takes[g[0]].Limit.Algorithm(), p.moments[g[0]], p.address(g[0])
	spare, _ := a.Level(p.states[at], m)
	for _, i := range g {
		spare -= needOf(p.takes[i])
	}
	total := int64(0)
	for _, i := range g {
		t, d := p.takes[i], &p.out[i]
		d.Granted = needOf(t)
		if t.How&weir.Partial != 0 {
			more := min(t.Cost-d.Granted, spare)
			spare -= more
			d.Granted += more
		}
		if t.How&weir.Peek == 0 {
			total += d.Granted
		}
	}
	state, r := a.Charge(p.states[at], m, total)
	p.keep(at, state, r)
	for _, i := range g {
		if p.out[i].Granted > 0 && p.takes[i].How&weir.Peek == 0 {
			p.out[i].Receipt = r
			p.out[i].Receipt.Cost = p.out[i].Granted
		}
	}
}

// mute is a store that answers nothing but empty decisions.
type mute struct{}

func (mute) Take(context.Context, []weir.Take, []weir.Decision) (bool, weir.Stamp, error) {
	return false, weir.Stamp{}, nil
}
func (mute) Return(context.Context, []weir.Return) (weir.Stamp, error) { return weir.Stamp{}, nil }
func (mute) Reset(context.Context, *weir.Limit, weir.Key) error        { return nil }
func (mute) Keyer() weir.Keyer                                         { return weir.Keyer{} }
func (mute) Close() error                                              { return nil }
