package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
)

// Play plays the tape to a store and compares every field of every answer with
// the oracle, asked at the Stamp.Now that the store gave. The clock is the one
// that the store reads; nil leaves the store to its own. The error is the first
// difference, with the event and its number. The store is to be empty.
func (t *Tape) Play(s weir.Store, clock *Clock) error {
	_, err := t.play(s, clock)
	return err
}

// play also gives how many events passed before the difference.
func (t *Tape) play(s weir.Store, clock *Clock) (passed int, err error) {
	p := &player{tape: t, store: s, clock: clock, oracle: NewOracle(), told: map[int][]weir.Decision{}}
	for i, e := range t.events {
		if err := p.play(e); err != nil {
			return i, fmt.Errorf("event %v\n%w", e, err)
		}
	}
	return len(t.events), nil
}

// player is a tape being played.
type player struct {
	tape   *Tape
	store  weir.Store
	clock  *Clock
	oracle *Oracle
	told   map[int][]weir.Decision // by event
	latest weir.Micros             // the highest instant so far
	epoch  uint64
	begun  bool

	takes []weir.Take // used again and again: a store keeps neither slice
	out   []weir.Decision
}

func (p *player) play(e event) error {
	if p.clock != nil {
		p.clock.Set(e.at)
		p.latest = max(p.latest, e.at)
	}
	switch e.verb {
	case verbTake:
		return p.take(e)
	case verbReturn:
		return p.giveBack(e)
	case verbReset:
		l := p.tape.limits[e.reset.limit]
		k, _ := key(e.reset.key)
		p.oracle.Reset(l, k)
		return p.store.Reset(context.Background(), l, k)
	}
	return fmt.Errorf("unknown verb %q", e.verb)
}

// untouched is what a decision holds before a call: no store would answer it.
func untouched() weir.Decision { return weir.Decision{Granted: -1, Remaining: -1, Delay: -1} }

func (p *player) take(e event) error {
	p.takes, p.out = p.takes[:0], p.out[:0]
	for _, a := range e.takes {
		p.takes, p.out = append(p.takes, p.tape.take(a)), append(p.out, untouched())
	}
	asked := slices.Clone(p.takes) // what the store makes of its own is its affair
	allowed, stamp, err := p.store.Take(context.Background(), p.takes, p.out)
	wantAllowed, want, wantErr := p.oracle.Take(stamp.Now, asked)
	if diff := compareErrors(err, wantErr); diff != nil {
		return diff
	}
	if errors.Is(err, weir.ErrInvalid) || errors.Is(err, weir.ErrUnsupported) {
		return written(p.out)
	}
	if err := p.checkStamp(e.at, stamp); err != nil || wantErr != nil {
		return err
	}
	p.told[e.id] = append([]weir.Decision(nil), p.out...)
	return compareAnswers(stamp.Now, allowed, wantAllowed, p.out, want)
}

// written refuses an answer where there should be none.
func written(out []weir.Decision) error {
	for i, d := range out {
		if d != untouched() {
			return fmt.Errorf("the call was refused outright, and yet decision %d was written", i)
		}
	}
	return nil
}

func (p *player) giveBack(e event) error {
	var returns []weir.Return
	for _, g := range e.returns {
		var r weir.Receipt
		if told := p.told[g.event]; g.take >= 0 && g.take < len(told) {
			r = told[g.take].Receipt
		}
		returns = append(returns, p.tape.giveBack(g, r))
	}
	stamp, err := p.store.Return(context.Background(), returns)
	wantErr := p.oracle.Return(stamp.Now, returns)
	if diff := compareErrors(err, wantErr); diff != nil || err != nil && !errors.Is(err, weir.ErrLost) {
		return diff
	}
	return p.checkStamp(e.at, stamp)
}

// checkStamp wants the clock's reading, or an earlier one where the clock has
// run back since.
func (p *player) checkStamp(at weir.Micros, s weir.Stamp) error {
	if p.begun && s.Epoch != p.epoch {
		return fmt.Errorf("epoch %d after %d: the store says that it has lost its state", p.epoch, s.Epoch)
	}
	p.begun, p.epoch = true, s.Epoch
	if p.clock != nil && (s.Now < at || s.Now > p.latest) {
		return fmt.Errorf("decided at %d; the clock reads %d and was never ahead of %d", s.Now, at, p.latest)
	}
	return nil
}

// compareErrors compares by kind.
func compareErrors(got, want error) error {
	for _, kind := range []error{weir.ErrInvalid, weir.ErrUnsupported, weir.ErrStale, weir.ErrLost} {
		if errors.Is(want, kind) && errors.Is(got, kind) {
			return nil
		}
	}
	if got == nil && want == nil {
		return nil
	}
	return fmt.Errorf("got error %w, want %w", orNothing(got), orNothing(want))
}

// orNothing names the error that there is not.
func orNothing(err error) error {
	if err == nil {
		return errors.New("none")
	}
	return err
}

// compareAnswers compares everything a call has answered.
func compareAnswers(now weir.Micros, allowed, wantAllowed bool, got, want []weir.Decision) error {
	var diff []string
	if allowed != wantAllowed {
		diff = append(diff, fmt.Sprintf("the call: got allowed %t, want %t", allowed, wantAllowed))
	}
	for i := range want {
		if got[i] != want[i] {
			diff = append(diff, fmt.Sprintf("take %d:%s", i, compareDecisions(got[i], want[i])))
		}
	}
	if diff == nil {
		return nil
	}
	return fmt.Errorf("decided at %d\n%s", now, strings.Join(diff, "\n"))
}

// compareDecisions lists the fields that differ.
func compareDecisions(got, want weir.Decision) string {
	var b strings.Builder
	field := func(name string, got, want any) {
		if got != want {
			fmt.Fprintf(&b, " %s: got %v, want %v;", name, got, want)
		}
	}
	field("Allowed", got.Allowed, want.Allowed)
	field("Never", got.Never, want.Never)
	field("Blocked", got.Blocked, want.Blocked)
	field("Granted", got.Granted, want.Granted)
	field("Remaining", got.Remaining, want.Remaining)
	field("RetryAfter", got.RetryAfter, want.RetryAfter)
	field("ResetAfter", got.ResetAfter, want.ResetAfter)
	field("Delay", got.Delay, want.Delay)
	field("Receipt", got.Receipt, want.Receipt)
	field("Mode", got.Mode, want.Mode)
	return strings.TrimSuffix(b.String(), ";")
}
