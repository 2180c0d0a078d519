package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/weirhq/weir"
)

// A rig is what a check has to work with.
type rig struct {
	sizes
	open     func(now func() weir.Micros) weir.Store
	live     bool
	runsBack bool
}

// began is where the clocks of the checks begin: a Monday in 2026, ten hours and
// a bit into the day.
const began = weir.Micros(1_796_034_366_123_456)

// try runs a check on a new store with a clock turned by hand.
func (r *rig) try(run func(*bench)) error {
	b := &bench{clock: NewClock(began), rng: rand.New(rand.NewPCG(1, 2))}
	b.store = r.open(b.clock.Now)
	run(b)
	if err := b.store.Close(); err != nil {
		b.failf("Close: %w", err)
	}
	return b.err
}

// A bench is a store under test. The first failure stays, and silences the rest.
type bench struct {
	store weir.Store
	clock *Clock
	rng   *rand.Rand
	stamp weir.Stamp // of the last call
	err   error
}

func (b *bench) failf(format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
}

// want fails where a value is another one.
func (b *bench) want(what string, got, want any) {
	if got != want {
		b.failf("%s: got %v, want %v", what, got, want)
	}
}

// key is a key of the store's own keyer.
func (b *bench) key(name string) weir.Key {
	k, _ := b.store.Keyer().Key(weir.Text("storetest", name))
	return k
}

// take makes a take of a key by its name.
func (b *bench) take(l *weir.Limit, name string, cost int64) weir.Take {
	k, tag := b.store.Keyer().Key(weir.Text("storetest", name))
	return weir.Take{Limit: l, Key: k, Tag: tag, Cost: cost}
}

// call asks the store. No error is expected.
func (b *bench) call(takes ...weir.Take) (bool, []weir.Decision) {
	out := make([]weir.Decision, len(takes))
	if b.err != nil {
		return false, out
	}
	allowed, stamp, err := b.store.Take(context.Background(), takes, out)
	if err != nil {
		b.failf("Take: %w", err)
		return false, make([]weir.Decision, len(takes))
	}
	b.stamp = stamp
	return allowed, out
}

// ask asks for one take.
func (b *bench) ask(t weir.Take) weir.Decision {
	allowed, out := b.call(t)
	if b.err == nil && t.Join == weir.All && allowed != out[0].Allowed {
		b.failf("a call of one take is allowed: %t, and the take: %t", allowed, out[0].Allowed)
	}
	return out[0]
}

// granted wants a take to pass.
func (b *bench) granted(l *weir.Limit, name string, cost int64) weir.Decision {
	d := b.ask(b.take(l, name, cost))
	if !d.Allowed || d.Granted != cost {
		b.failf("%s: %d at %d: got %+v, want it granted", l, cost, b.clock.Now(), d)
	}
	return d
}

// refused wants a take not to pass.
func (b *bench) refused(l *weir.Limit, name string, cost int64) weir.Decision {
	d := b.ask(b.take(l, name, cost))
	if d.Allowed || d.Granted != 0 || d.Receipt != (weir.Receipt{}) {
		b.failf("%s: %d at %d: got %+v, want it refused and not charged", l, cost, b.clock.Now(), d)
	}
	return d
}

// drain takes unit by unit until one is refused, and counts them.
func (b *bench) drain(l *weir.Limit, name string) (n int64) {
	for b.ask(b.take(l, name, 1)).Allowed && n <= l.Capacity() {
		n++
	}
	return n
}

// left peeks for what is left.
func (b *bench) left(l *weir.Limit, name string) int64 { return b.peek(l, name, 0).Remaining }

// peek looks without taking.
func (b *bench) peek(l *weir.Limit, name string, cost int64) weir.Decision {
	t := b.take(l, name, cost)
	t.How = weir.Peek
	return b.ask(t)
}

// giveBack returns units of a receipt.
func (b *bench) giveBack(l *weir.Limit, name string, r weir.Receipt, units int64) {
	t := b.take(l, name, 1)
	b.returns(weir.Return{Limit: l, Key: t.Key, Tag: t.Tag, Receipt: r, Units: units})
}

func (b *bench) returns(r ...weir.Return) {
	if b.err != nil {
		return
	}
	if _, err := b.store.Return(context.Background(), r); err != nil {
		b.failf("Return: %w", err)
	}
}

// fails wants a call to fail in one way, with nothing written.
func (b *bench) fails(what string, kind error, takes []weir.Take, decisions int) {
	if b.err != nil {
		return
	}
	out := make([]weir.Decision, decisions)
	for i := range out {
		out[i] = untouched()
	}
	_, _, err := b.store.Take(context.Background(), takes, out)
	if !errors.Is(err, kind) {
		b.failf("%s: got error %v, want %w", what, err, kind)
	}
	if err := written(out); err != nil {
		b.failf("%s: %w", what, err)
	}
}
