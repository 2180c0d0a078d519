package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// troubled is a store that fails for takes of some rules.
type troubled struct {
	weir.Store
	fail func(takes []weir.Take) error
}

func (s *troubled) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	if err := s.fail(takes); err != nil {
		return false, weir.Stamp{}, err
	}
	return s.Store.Take(ctx, takes, out)
}

func trouble(t *testing.T, file string, fail func(takes []weir.Take) error) *bench {
	t.Helper()
	store, clock := memory(t)
	return startOn(t, file, &troubled{store, fail}, clock)
}

func TestFaultOfTheStoreIsClosed(t *testing.T) {
	failing := true
	b := trouble(t, "rules: [{name: r, limit: 1/h}]", func([]weir.Take) error {
		if failing {
			return weir.ErrUnknown
		}
		return nil
	})
	b.want("refused fault", "GET /", peer)
	if b.last.Rule != "r" || !errors.Is(b.last.Err, weir.ErrUnknown) || b.last.Mode() != weir.Closed {
		t.Errorf("%+v", b.last)
	}
	failing = false
	b.want("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	if b.last.Err != nil {
		t.Errorf("an old fault is still there: %v", b.last.Err)
	}
}

func TestP19PanicOfTheStoreIsAFault(t *testing.T) {
	b := trouble(t, "rules: [{name: r, limit: 1/h}]", func([]weir.Take) error { panic("store is on fire") })
	b.want("refused fault", "GET /", peer)
	var p *policy.PanicError
	if !errors.As(b.last.Err, &p) || p.In != "store" || !errors.Is(p, weir.ErrUnknown) || strings.Contains(p.Error(), "fire") {
		t.Errorf("%v", b.last.Err)
	}
}

// A state that cannot be read concerns its own rule alone: a shadow rule's does
// not keep the others from deciding.
func TestFaultOfAShadowRuleDecidesNothing(t *testing.T) {
	b := trouble(t, "rules: [{name: r, limit: 1/h}, {name: trial, limit: 1/h, shadow: true}]", func(takes []weir.Take) error {
		for i, take := range takes {
			if take.Limit.Name() == "trial" {
				return &weir.StateError{Limit: "trial", Take: i, Err: errors.New("unreadable")}
			}
		}
		return nil
	})
	b.want("allowed limits", "GET /", peer)
	if b.last.Err == nil || len(b.last.Takes) != 1 || b.seen.applied[1].Cause != weir.ByFault {
		t.Errorf("%v, %d takes, %+v", b.last.Err, len(b.last.Takes), b.seen.applied)
	}
	b.want("refused limits", "GET /", peer)
	if b.last.Rule != "r" {
		t.Errorf("decided by %s", b.last.Rule)
	}
}

func TestTooManyLimitsIsAFault(t *testing.T) {
	var file strings.Builder
	file.WriteString("rules:\n")
	for i := range 17 {
		fmt.Fprintf(&file, "- {name: r%d, headers: {X-%d: true}, limit: 100/h burst %d}\n", i, i/9, 100+i)
	}
	b := start(t, file.String())
	b.want("allowed limits", "GET /", peer, "X-0: x")
	b.want("refused fault", "GET /", peer, "X-0: x", "X-1: x")
	if b.last.Err == nil || b.last.Rule != "r0" {
		t.Errorf("%q refused: %v", b.last.Rule, b.last.Err)
	}
	b = start(t, file.String()+"- {name: trial, shadow: true, limits: [1/s, 2/min, 3/h, 4/day, 5/week]}\n- {name: trial2, shadow: true, limits: [1/s, 2/min, 3/h, 4/day]}\n")
	b.want("allowed limits", "GET /", peer, "X-0: x") // those that only advise are left out first
	if len(b.last.Takes) != 9 || b.last.Err == nil {
		t.Errorf("%d takes, %v", len(b.last.Takes), b.last.Err)
	}
}

func TestGiveBack(t *testing.T) {
	b := start(t, "rules: [{name: r, limit: 1/h}]")
	b.want("allowed limits", "GET /", peer)
	if err := b.GiveBack(context.Background(), &b.last); err != nil {
		t.Fatal(err)
	}
	b.want("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
}

// Who watches decisions and panics leaves nothing charged and no slot held; the panic
// goes on to whoever asked.
func TestPanicOfTheObserverGivesTheChargeBack(t *testing.T) {
	store, _ := memory(t)
	panics := true
	e, err := policy.NewEngine(policy.EngineConfig{
		Policy: load(t, "\nrules: [{name: r, limits: [1/h, 1 concurrent]}]"), Store: store,
		Observe: func(context.Context, *policy.Finding) {
			if panics {
				panic("watching")
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := new(weir.Outcome)
	for range 3 {
		func() {
			defer func() {
				if v := recover(); v != "watching" {
					t.Errorf("panicked with %v", v)
				}
			}()
			e.Decide(t.Context(), request("GET /", peer), o)
		}()
	}
	panics = false
	e.Decide(t.Context(), request("GET /", peer), o)
	if !o.Allowed {
		t.Errorf("something stayed charged: %+v", o)
	}
}
