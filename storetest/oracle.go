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
// ErrStale; with one nothing has changed.
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

// Return gives units and slots back at an instant, in the order given. ErrLost tells
// of slots that were to be renewed and are not held; everything else has happened.
func (o *Oracle) Return(now weir.Micros, returns []weir.Return) (lost error) {
	if err := checkReturns(returns); err != nil {
		return err
	}
	for _, r := range returns {
		at := address{r.Limit.ID(), r.Key}
		l, ok := lawOf(r.Limit).(slotLaw)
		if !ok {
			o.put(at, lawOf(r.Limit).refund(o.states[at], now, r.Receipt, r.Units))
			continue
		}
		s, held := l.letGo(o.states[at], now, r)
		if o.put(at, s); !held && r.Renew {
			lost = weir.ErrLost
		}
	}
	return lost
}

// Reset forgets one state, and who was refused under it.
func (o *Oracle) Reset(l *weir.Limit, k weir.Key) {
	delete(o.states, address{l.ID(), k})
	if l.Penalty() != nil {
		delete(o.states, penalties(l, k))
	}
}

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
			if other.Key != t.Key || other.Limit.ID() != t.Limit.ID() {
				continue
			}
			if other.Limit.Spec() != t.Limit.Spec() {
				return fmt.Errorf("%w: one state by two Specs", weir.ErrInvalid)
			}
			if t.Slot != (weir.SlotID{}) && other.Slot == t.Slot {
				return fmt.Errorf("%w: one holder twice", weir.ErrInvalid)
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
	case t.How > weir.Peek|weir.Partial|weir.Always|weir.Force|weir.Strike,
		has(weir.Strike) && (!has(weir.Peek) || t.Cost == 0),
		has(weir.Force) && t.How != weir.Force,
		has(weir.Always) && t.How != weir.Always:
		return fmt.Errorf("%w: how %b", weir.ErrInvalid, t.How)
	}
	slots, named := t.Limit.Spec().Algorithm == weir.Concurrency, t.Slot != weir.SlotID{}
	if slots && (has(weir.Always|weir.Force) || t.Cost > 1 || !named && !has(weir.Peek)) || !slots && named {
		return fmt.Errorf("%w: a slot of %d units, how %b", weir.ErrInvalid, t.Cost, t.How)
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
		case r.Limit.Spec().Algorithm == weir.Concurrency:
			if r.Slot == (weir.SlotID{}) || r.Units != 0 || r.Receipt != (weir.Receipt{}) {
				return fmt.Errorf("%w: a slot of %d units", weir.ErrInvalid, r.Units)
			}
		case r.Slot != weir.SlotID{} || r.Renew:
			return fmt.Errorf("%w: a slot", weir.ErrInvalid)
		case r.Units < 1 || r.Units > r.Receipt.Cost:
			return fmt.Errorf("%w: %d units of %d", weir.ErrInvalid, r.Units, r.Receipt.Cost)
		}
	}
	return nil
}
