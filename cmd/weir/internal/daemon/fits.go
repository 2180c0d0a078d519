package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// Fits says how the store that a daemon would make for a policy takes it: it is what
// [policy.Source].Fits wants. It makes that store, in which nobody has used anything, and
// has it told what an engine tells it.
func Fits(p *policy.Policy) policy.Fit {
	store, err := standIn(p)
	if err != nil {
		return policy.Fit{Misfits: refused(p, err)}
	}
	return policy.Fit{Shares: store.Shares(), Misfits: cramped(p, store.Cramped())}
}

// standIn makes the store that a daemon would make for a policy, and has it told what
// to expect.
func standIn(p *policy.Policy) (*memstore.Store, error) {
	store, err := memstore.New(StoreConfig(p.Config().Memory))
	if err != nil {
		return nil, err
	}
	brought := guests(p)
	if _, err = policy.NewEngine(policy.EngineConfig{Policy: p, Store: store, Guests: brought}); err != nil {
		return nil, err
	}
	for _, rule := range brought {
		if err := store.Expect(few(rule)...); err != nil {
			return nil, &guestError{err}
		}
	}
	return store, nil
}

// few are as many limits as callers may bring at least that are in use at a time: some,
// for a daemon that has room for one alone is of use to nobody.
func few(rule string) []*weir.Limit {
	var limits [4]*weir.Limit
	for i := range limits {
		limits[i] = weir.MustLimit(rule, fmt.Sprintf("%d/s", i+1))
	}
	return limits[:]
}

// guestError says that the rules leave no room for the limits that callers bring.
type guestError struct{ err error }

func (e *guestError) Error() string {
	return fmt.Sprintf("the rules' limits take the room of those that callers of /v1/take bring: %v", e.err)
}

// refused makes misfits of what a store says.
func refused(p *policy.Policy, err error) (list []policy.Misfit) {
	for _, one := range apart(err) {
		var room *memstore.RoomError
		var field *weir.FieldError
		var guest *guestError
		m := policy.Misfit{Message: one.Error()}
		switch {
		case errors.As(one, &guest):
			m.Message = "the rules have so many limits that none is left for those that callers of /v1/take bring"
			m.Hint = "write fewer limits, or leave listen.http out"
		case errors.As(one, &room) && errors.Is(one, weir.ErrInvalid):
			m.Limit = written(p, room.Limit)
			m.Message = fmt.Sprintf("limit %s: %s", m.Limit, room.Problem)
			m.Hint = "lower its count"
			if room.Limit.Spec().Algorithm == weir.SlidingLog {
				m.Hint = "write sliding-window, which takes no such room"
			}
		case errors.As(one, &room):
			m.Limit = written(p, room.Limit)
			m.Message = fmt.Sprintf("limit %s, of %s, is one more than the table has room for: %s", m.Limit, m.Limit.Name(), room.Problem)
			m.Hint = "write fewer limits"
		case errors.As(one, &field):
			m.Message = fmt.Sprintf("the rules keep %s of memory.max_keys for themselves, rounded up for each part of the table: %s", field.Value, field.Problem)
			m.Hint = "let the rules keep less"
		}
		list = append(list, m)
	}
	return list
}

// written is the limit of the file that a store speaks of: itself, or that of which it
// is the penalty.
func written(p *policy.Policy, l *weir.Limit) *weir.Limit {
	for _, known := range p.Limits() {
		if known.Penalty() == l {
			return known
		}
	}
	return l
}

// apart gives the errors that an error joins, or itself.
func apart(err error) []error {
	if list, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// cramped makes misfits of the rules for which less is kept than one of their keys
// takes in each part of the table.
func cramped(p *policy.Policy, names []string) (list []policy.Misfit) {
	for _, r := range p.Rules() {
		if !slices.Contains(names, r.Name) {
			continue
		}
		l := slices.MaxFunc(r.Limits, func(a, b *weir.Limit) int { return cmp.Compare(a.Memory(), b.Memory()) })
		list = append(list, policy.Misfit{
			Severity: policy.Warning, Limit: l, Hint: "lower its count",
			Message: fmt.Sprintf("limit %s: what the table keeps for rule %s is less, in each of its parts, than one caller takes: when others have filled the rest, new callers find no room", l, r.Name),
		})
	}
	return list
}
