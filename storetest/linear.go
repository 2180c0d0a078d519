package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/weirhq/weir"
)

// undecided is how long the search for an order may take.
const undecided = 2 * time.Minute

// CheckLinearizable looks for an order of the calls of a history in which a
// store that decides one call after the other, by docs/stores.md, gives exactly
// the answers that were given: for each state, each call between its beginning
// and its end, at the Stamp.Now of its answer. The call's verdict is held
// against the takes that have joined as All.
//
// A call whose outcome is not known (any error that does not say that nothing
// was charged) may have been applied at any time after its beginning, or never.
//
// With monotone, an answer at an earlier Stamp.Now than that of a call before it
// on the same state is wrong, as docs/stores.md wants it. Without, the store's
// clock may run back.
//
// A limit with a block has a second state, which limits of its name share. A history
// with one is not judged: the error matches [weir.ErrUnsupported].
func CheckLinearizable(h History, monotone bool) error {
	for _, op := range h {
		if err := errors.Join(op.consistent(), op.judgeable()); err != nil {
			return fmt.Errorf("storetest: %w", err)
		}
	}
	for _, part := range partition(h) {
		m := model{monotone: monotone, limit: part[0].limit()}
		if err := m.check(part); err != nil {
			return fmt.Errorf("storetest: %w", err)
		}
	}
	return nil
}

// consistent holds a call's verdict against its own decisions.
func (op Operation) consistent() error {
	want := true
	for i, t := range op.Takes {
		want = want && (op.Err != nil || t.Join != weir.All || op.Decisions[i].Allowed)
	}
	if op.Takes != nil && op.Err == nil && want != op.Allowed {
		return fmt.Errorf("allowed is %t for a call whose decisions are %+v", op.Allowed, op.Decisions)
	}
	return nil
}

// judgeable refuses a call under limits whose answers do not follow from one state.
func (op Operation) judgeable() error {
	for _, t := range op.Takes {
		if t.Limit != nil && t.Limit.Penalty() != nil {
			return fmt.Errorf("%w: limit %s has a block, and histories of such are not put in order", weir.ErrUnsupported, t.Limit.Name())
		}
	}
	return nil
}

// refusedOutright reports an error that says that nothing has happened.
func refusedOutright(err error) bool {
	for _, kind := range []error{weir.ErrNotApplied, weir.ErrInvalid, weir.ErrUnsupported} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// A share is the part of an operation that is about one state.
type share struct {
	op      *Operation
	takes   []weir.Take
	told    []weir.Decision
	returns []weir.Return
	reset   bool
	hints   []weir.Micros // instants at which the call may have been applied, where it is not known
}

// unknown reports a call of which nobody knows whether it was applied. That a slot is
// lost is an answer.
func (s *share) unknown() bool { return s.op.Err != nil && !s.lost() }

// lost reports that the call was told of a slot that is not held.
func (s *share) lost() bool { return errors.Is(s.op.Err, weir.ErrLost) }

// limit is that of the share, for messages.
func (s *share) limit() *weir.Limit {
	switch {
	case s.reset:
		return s.op.Reset[0].Limit
	case len(s.returns) > 0:
		return s.returns[0].Limit
	}
	return s.takes[0].Limit
}

// partition cuts a history by state. What was refused outright is left out.
func partition(h History) [][]*share {
	var order []address
	shares := map[address][]*share{}
	for i := range h {
		if refusedOutright(h[i].Err) {
			continue
		}
		for at, s := range h[i].shares() {
			if shares[at] == nil {
				order = append(order, at)
			}
			shares[at] = append(shares[at], s)
		}
	}
	var parts [][]*share
	for _, at := range order {
		hint(shares[at])
		parts = append(parts, shares[at])
	}
	return parts
}

// hint tells the calls of a state of which nobody knows what came of them what the
// answers to all others say of it.
func hint(part []*share) {
	var hints []weir.Micros
	for _, s := range part {
		hints = append(hints, s.tells()...)
	}
	slices.Sort(hints)
	hints = slices.Compact(hints)
	for _, s := range part {
		if s.unknown() {
			s.hints = hints
		}
	}
}

func (op *Operation) shares() map[address]*share {
	shares := map[address]*share{}
	of := func(l *weir.Limit, k weir.Key) *share {
		at := address{l.ID(), k}
		if shares[at] == nil {
			shares[at] = &share{op: op}
		}
		return shares[at]
	}
	for i, t := range op.Takes {
		s := of(t.Limit, t.Key)
		s.takes = append(s.takes, t)
		if op.Err == nil {
			s.told = append(s.told, op.Decisions[i])
		}
	}
	for _, r := range op.Returns {
		s := of(r.Limit, r.Key)
		s.returns = append(s.returns, r)
	}
	for _, r := range op.Reset {
		of(r.Limit, r.Key).reset = true
	}
	return shares
}

// model is what porcupine searches with.
type model struct {
	monotone bool
	limit    *weir.Limit
}

func (m model) check(part []*share) error {
	var history []porcupine.Operation
	for i, s := range part {
		op := porcupine.Operation{ClientId: i, Input: s, Call: int64(s.op.Call), Return: int64(s.op.Return)}
		if s.unknown() {
			op.Return = math.MaxInt64
		}
		history = append(history, op)
	}
	n := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{known{}} },
		Step:  func(state, in, _ any) []any { return m.step(state, in) },
		Equal: func(a, b any) bool { return equalKnown(a, b) },
	}
	switch porcupine.CheckOperationsTimeout(n.ToModel(), history, undecided) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return fmt.Errorf("limit %s: no order of %d calls found in %v, and none ruled out", m.limit.Name(), len(part), undecided)
	default:
		return m.explain(n.ToModel(), history)
	}
}

// explain shows the calls with which the longest order found ends, and those
// that could not follow.
func (m model) explain(pm porcupine.Model, history []porcupine.Operation) error {
	_, info := porcupine.CheckOperationsVerbose(pm, history, undecided)
	var longest []porcupine.Operation
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(longest) {
			longest = partial
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "limit %s: %d calls cannot be put in order; after %d of them, ending with\n", m.limit.Name(), len(history), len(longest))
	placed := map[any]bool{}
	for i, op := range longest {
		placed[op.Input] = true
		if i >= len(longest)-3 {
			fmt.Fprintf(&b, "\t%v\n", describe(op.Input))
		}
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(min(max(a.Return-b.Return, -1), 1)) })
	b.WriteString("these come next, and none fits:\n")
	left := 3
	for _, op := range history {
		if !placed[op.Input] && left > 0 {
			left--
			fmt.Fprintf(&b, "\t%v\n", describe(op.Input))
		}
	}
	return errors.New(strings.TrimRight(b.String(), "\n"))
}

// describe shows a share in one line.
func describe(in any) string {
	s, _ := in.(*share)
	switch {
	case s == nil:
		return ""
	case s.reset:
		return fmt.Sprintf("[%v, %v] reset", s.op.Call, s.op.Return)
	case s.returns != nil:
		return fmt.Sprintf("[%v, %v] at %d: return %d of %+v", s.op.Call, s.op.Return, s.op.Stamp.Now, s.returns[0].Units, s.returns[0].Receipt)
	}
	t := s.takes[0]
	line := fmt.Sprintf("[%v, %v] at %d: take %d %s how %b", s.op.Call, s.op.Return, s.op.Stamp.Now, t.Cost, t.Limit, t.How)
	if s.unknown() {
		return line + ": " + s.op.Err.Error()
	}
	return fmt.Sprintf("%s: %+v", line, s.told[0])
}
