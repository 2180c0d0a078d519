package policy_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// swap puts other rules in place.
func (b *bench) swap(file string) {
	b.t.Helper()
	if err := b.Swap(load(b.t, file)); err != nil {
		b.t.Fatal(err)
	}
}

func TestSwapKeepsBalances(t *testing.T) {
	b := start(t, `
rules:
- {name: same, match: /same, limit: 2/h}
- {name: changed, match: /changed, limit: 4/h}
- {name: gone, match: /gone, limit: 1/h}
- {name: old, match: /renamed, limit: 1/h}
- {name: lost, match: /lost, limit: 1/h}
`)
	for _, path := range []string{"/same", "/changed", "/changed", "/gone", "/renamed", "/lost"} {
		b.want("allowed limits", "GET "+path, peer)
	}
	b.swap(`
rules:
- {name: new, was: old, match: /renamed, limit: 1/h}
- {name: found, match: /lost, limit: 1/h}
- {name: changed, match: /changed, limit: 3/h}
- {name: same, match: /same, limit: 2/h}
`)
	b.want("allowed limits", "GET /same", peer)
	b.want("refused limits", "GET /same", peer)
	b.want("allowed limits", "GET /changed", peer) // 2 of 3 were used
	b.want("refused limits", "GET /changed", peer)
	b.want("allowed unmatched", "GET /gone", peer)
	b.want("refused limits", "GET /renamed", peer)
	if b.last.Limit().Name() != "new" || b.last.Rule != "new" {
		t.Errorf("a renamed rule is called %s", b.last.Limit().Name())
	}
	b.want("allowed limits", "GET /lost", peer) // another name is another state
}

func TestReloadingDoesNotRefill(t *testing.T) {
	const file = "rules: [{name: r, limit: 3/h}]"
	b := start(t, file)
	for i := range 1000 {
		if got := b.ask("GET /", peer) == "allowed limits"; got != (i < 3) {
			t.Fatalf("request %d: allowed %t", i, got)
		}
		b.swap(file)
	}
}

func TestChangedPlanKeepsTheDebt(t *testing.T) {
	b := start(t, `
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Forwarded-For, trusted_headers: [X-Plan]}
plans: {small: 2/h, large: 10/h}
rules: [{name: api, plan: "header:X-Plan", default_plan: small}]
`)
	f := func(want, plan string) {
		t.Helper()
		b.want(want, "GET /", "10.0.0.1:1", "X-Forwarded-For: 192.0.2.7", "X-Plan: "+plan)
	}
	f("allowed limits", "small")
	f("allowed limits", "small")
	f("refused limits", "small")
	for range 8 {
		f("allowed limits", "large")
	}
	f("refused limits", "large")
	f("refused limits", "small")
}

func TestSwapRefusesNil(t *testing.T) {
	b := start(t, "rules: [{name: r, limit: 1/h}]")
	before := b.Policy()
	if err := b.Swap(nil); !errors.Is(err, weir.ErrInvalid) {
		t.Errorf("Swap(nil) = %v", err)
	}
	if b.Policy() != before {
		t.Error("the policy has changed")
	}
	for _, c := range []policy.EngineConfig{{Policy: before}, {Store: b.store}} {
		if _, err := policy.NewEngine(c); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("NewEngine(%+v) = %v", c, err)
		}
	}
}

// P18: each request sees one policy whole. The two policies here would each
// decide by two rules; a mix would show one of each.
func TestRaceSwapNeverMixes(t *testing.T) {
	a, z := "rules: [{name: a1, limit: 1000000/s}, {name: a2, limit: 1000000/s}]", "rules: [{name: z1, limit: 1000000/s}, {name: z2, limit: 1000000/s}]"
	b := start(t, a)
	first, second := b.Policy(), load(t, z)
	engine, err := policy.NewEngine(policy.EngineConfig{Policy: first, Store: b.store})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var o weir.Outcome
			for range 2000 {
				engine.Decide(context.Background(), request("GET /", peer), &o)
				if len(o.Takes) != 2 || o.Takes[0].Limit.Name()[0] != o.Takes[1].Limit.Name()[0] {
					t.Errorf("decided by %d limits, %s first", len(o.Takes), o.Takes[0].Limit.Name())
					return
				}
			}
		})
	}
	for i := range 200 {
		p := first
		if i%2 == 0 {
			p = second
		}
		if err := engine.Swap(p); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
