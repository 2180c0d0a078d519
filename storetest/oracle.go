package storetest

import (
	"fmt"

	"github.com/weirhq/weir"
)

// Oracle says what a store must answer. It is slow, keeps its levels as rational
// numbers and knows nothing of the engine: it is docs/stores.md, written down
// once more. The instants are the caller's: a store and the oracle are compared
// at the Stamp.Now that the store gave. Make one with NewOracle. It is not safe
// for concurrent use.
type Oracle struct{ states map[address]state }

// NewOracle makes an oracle that knows of no charge.
func NewOracle() *Oracle { return &Oracle{states: map[address]state{}} }

// Take answers one call at an instant. Errors are weir's own: ErrInvalid,
// ErrUnsupported, ErrStale; with one nothing has changed.
func (o *Oracle) Take(now weir.Micros, takes []weir.Take) (allowed bool, out []weir.Decision, err error) {
	if err := checkTakes(takes); err != nil {
		return false, nil, err
	}
	c := &call{states: o.states, now: now, takes: takes, out: make([]weir.Decision, len(takes))}
	if !c.place() {
		return false, nil, weir.ErrStale
	}
	all := c.judge(weir.All)
	allowed = allowing(all)
	c.finish(all, allowed)
	return allowed, c.out, nil
}

// Return gives units back at an instant, in the order given.
func (o *Oracle) Return(now weir.Micros, returns []weir.Return) error {
	if err := checkReturns(returns); err != nil {
		return err
	}
	for _, r := range returns {
		at := address{r.Limit.ID(), r.Key}
		o.put(at, lawOf(r.Limit).refund(o.states[at], now, r.Receipt, r.Units))
	}
	return nil
}

// Reset forgets one state.
func (o *Oracle) Reset(l *weir.Limit, k weir.Key) { delete(o.states, address{l.ID(), k}) }

func (o *Oracle) put(at address, s state) {
	if s == nil {
		delete(o.states, at)
		return
	}
	o.states[at] = s
}

// checkTakes refuses what is refused outright.
func checkTakes(takes []weir.Take) error {
	if len(takes) > weir.MaxTakes {
		return fmt.Errorf("%w: %d takes", weir.ErrInvalid, len(takes))
	}
	for i, t := range takes {
		if err := checkTake(t); err != nil {
			return err
		}
		for _, other := range takes[:i] {
			if other.Key == t.Key && other.Limit.ID() == t.Limit.ID() && other.Limit.Spec() != t.Limit.Spec() {
				return fmt.Errorf("%w: one state by two Specs", weir.ErrInvalid)
			}
		}
	}
	return nil
}

// checkTake refuses one take by itself.
func checkTake(t weir.Take) error {
	has := func(bits weir.How) bool { return t.How&bits != 0 }
	switch {
	case t.Limit == nil || lawOf(t.Limit) == nil:
		return fmt.Errorf("%w: a limit without states", weir.ErrInvalid)
	case t.Cost < 0, t.Cost == 0 && !has(weir.Peek):
		return fmt.Errorf("%w: cost %d", weir.ErrInvalid, t.Cost)
	case t.Join > weir.Alone:
		return fmt.Errorf("%w: join %d", weir.ErrInvalid, t.Join)
	case t.How > weir.Peek|weir.Partial|weir.Always|weir.Force,
		has(weir.Force) && t.How != weir.Force,
		has(weir.Always) && has(weir.Peek|weir.Partial):
		return fmt.Errorf("%w: how %b", weir.ErrInvalid, t.How)
	case t.Slot != weir.SlotID{}:
		return fmt.Errorf("%w: a slot", weir.ErrUnsupported)
	}
	return nil
}

// checkReturns refuses returns that can never be right.
func checkReturns(returns []weir.Return) error {
	if len(returns) > weir.MaxTakes {
		return fmt.Errorf("%w: %d returns", weir.ErrInvalid, len(returns))
	}
	for _, r := range returns {
		switch {
		case r.Limit == nil || lawOf(r.Limit) == nil:
			return fmt.Errorf("%w: a limit without states", weir.ErrInvalid)
		case r.Slot != weir.SlotID{} || r.Renew:
			return fmt.Errorf("%w: a slot", weir.ErrUnsupported)
		case r.Units < 1 || r.Units > r.Receipt.Cost:
			return fmt.Errorf("%w: %d units of %d", weir.ErrInvalid, r.Units, r.Receipt.Cost)
		}
	}
	return nil
}
