package memstore

import (
	"fmt"

	"github.com/weirhq/weir"
)

func invalid(field string, value any, problem, remedy string) error {
	return &weir.FieldError{Field: field, Value: fmt.Sprint(value), Problem: problem, Remedy: remedy, Offset: -1}
}

// checkTakes refuses calls that can never be right.
func checkTakes(takes []weir.Take, out []weir.Decision) error {
	if len(takes) > weir.MaxTakes {
		return invalid("takes", len(takes), "too many for one call", fmt.Sprintf("at most %d", weir.MaxTakes))
	}
	if len(out) != len(takes) {
		return invalid("decisions", len(out), fmt.Sprintf("there are %d takes", len(takes)), "make out as long as takes")
	}
	for i := range takes {
		if err := checkTake(&takes[i]); err != nil {
			return err
		}
		if err := checkTwin(takes[:i], &takes[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkTake(t *weir.Take) error {
	const every = weir.Peek | weir.Partial | weir.Always | weir.Force
	switch {
	case t.Limit == nil:
		return invalid("limit", "nil", "it was not built", "check the error of ParseLimit")
	case t.Limit.Algorithm() == nil:
		return invalid("limit", t.Limit.Name(), "unlimited and deny have no states", "decide them before the store")
	case t.Cost < 0:
		return invalid("cost", t.Cost, "a cost is not negative", "to give units back use Return")
	case t.Cost == 0 && t.How&weir.Peek == 0:
		return invalid("cost", 0, "a take asks for at least 1 unit", "to look without taking use Peek")
	case t.Join > weir.Alone:
		return invalid("join", t.Join, "no such join", "use All, Advise or Alone")
	case t.How&^every != 0:
		return invalid("how", t.How, "unknown bits", "use Peek, Partial, Always or Force")
	case t.How&weir.Force != 0 && t.How != weir.Force:
		return invalid("how", t.How, "Force goes with nothing else", "")
	case t.How&weir.Always != 0 && t.How != weir.Always:
		return invalid("how", t.How, "Always goes with nothing else", "")
	case t.Slot != weir.SlotID{}:
		return fmt.Errorf("%w: limit %s has no slots", weir.ErrUnsupported, t.Limit.Name())
	}
	return nil
}

// checkTwin refuses a second take on the same state with other numbers: one
// state is judged by one limit.
func checkTwin(before []weir.Take, t *weir.Take) error {
	for i := range before {
		b := &before[i]
		if b.Limit != t.Limit && b.Key == t.Key && b.Limit.ID() == t.Limit.ID() && b.Limit.Spec() != t.Limit.Spec() {
			return invalid("limit", t.Limit.Name(), "two takes of one call judge the same state by different numbers", "use one version of the limit in a call")
		}
	}
	return nil
}

// checkReturns refuses returns that can never be right.
func checkReturns(returns []weir.Return) error {
	for i := range returns {
		r := &returns[i]
		switch {
		case r.Limit == nil || r.Limit.Algorithm() == nil:
			return invalid("limit", "nil", "it has no states", "return what a take was given")
		case r.Slot != weir.SlotID{} || r.Renew:
			return fmt.Errorf("%w: limit %s has no slots", weir.ErrUnsupported, r.Limit.Name())
		case r.Units < 1 || r.Units > r.Receipt.Cost:
			return invalid("units", r.Units, fmt.Sprintf("the receipt is for %d", r.Receipt.Cost), "return 1 unit up to all of them")
		}
	}
	return nil
}
