package policy_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
)

// enter decides a request and keeps its slots.
func (b *bench) enter(want, line, peer string, header ...string) *weir.Slots {
	b.t.Helper()
	b.want(want, line, peer, header...)
	return b.Keep(&b.last)
}

// leave gives slots back.
func (b *bench) leave(all ...*weir.Slots) {
	b.t.Helper()
	for _, slots := range all {
		if err := slots.Release(b.t.Context()); err != nil {
			b.t.Error(err)
		}
	}
}

func TestRequestsInFlight(t *testing.T) {
	b := start(t, `
rules: [{name: api, key: ip, cost: 5, limits: [2 concurrent, 100/h]}]
`)
	first := b.enter("allowed limits", "GET /", peer)
	second := b.enter("allowed limits", "GET /", peer)
	if got := b.enter("refused limits", "GET /", peer); got != nil || b.last.Limit().Name() != "api/slots" || b.last.RetryAfter != 60_000_000 {
		t.Errorf("%v, %+v", got, b.last)
	}
	other := b.enter("allowed limits", "GET /", "192.0.2.2:1")
	b.leave(first, first, first)
	third := b.enter("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	b.leave(second, third, other)
	b.want("allowed limits", "GET /", peer)
	if left := b.last.Decisions[1].Remaining; left != 80 {
		t.Errorf("%d units left: a cost of 5 was charged four times", left)
	}
	if err := b.GiveBack(t.Context(), &b.last); err != nil {
		t.Fatal(err)
	}
	x := b.Explain(t.Context(), request("GET /", peer))
	if l := x.Rules[0].Limits; !x.Allowed || l[0].Cost != 1 || l[0].Remaining != 2 || l[1].Cost != 5 || l[1].Remaining != 85 {
		t.Errorf("explained %+v", x.Rules[0].Limits)
	}
}

// A surface that cannot tell when a request is over leaves such limits out, and what
// stands beside them counts.
func TestViewWithoutSlots(t *testing.T) {
	b := start(t, `
plans: {free: 1 concurrent, paid: [2 concurrent, 3/h]}
rules:
- {name: mixed, match: /mixed, limits: [1 concurrent, 3/h]}
- {name: alone, match: /alone, limit: 1 concurrent}
- {name: plan, match: /plan, plan: {"header:X-Key": {k: paid}}, default_plan: free}
`)
	held := b.enter("allowed limits", "GET /alone", peer)
	v := b.By(b.Policy()).WithoutSlots()
	f := func(path string, times int, limits string, header ...string) {
		t.Helper()
		for i := range times + 2 {
			o := new(weir.Outcome)
			v.Decide(t.Context(), request("GET "+path, peer, header...), o)
			var names []string
			for _, take := range o.Takes {
				names = append(names, take.Limit.Name())
			}
			allowed := i < times || times == 0
			if o.Allowed != allowed || strings.Join(names, " ") != limits || v.Keep(o) != nil {
				t.Errorf("%s, number %d: allowed %t under %v", path, i, o.Allowed, names)
			}
			if limits == "" && (b.seen.reason != policy.ReasonUnlimited || len(b.seen.applied) != 1) {
				t.Errorf("%s: %s, %+v", path, b.seen.reason, b.seen.applied)
			}
		}
	}
	f("/mixed", 3, "mixed/1h")
	f("/alone", 0, "")
	f("/plan", 0, "")
	f("/plan", 3, "plan/1h", "X-Key: k")
	if x := v.Explain(t.Context(), request("GET /alone", peer)); x.Allowed || len(x.Rules[1].Limits) != 1 {
		t.Errorf("explained %+v", x)
	}
	b.leave(held)
}

// Rules in shadow take slots and give them back, and refuse nobody.
func TestRequestsInFlightInShadow(t *testing.T) {
	f := func(file string, to policy.Enforce) {
		t.Helper()
		b := start(t, file)
		b.SetSwitch(to)
		for range 3 {
			first, second, third := b.enter("allowed limits", "GET /", peer), b.enter("allowed limits", "GET /", peer), b.enter("allowed limits", "GET /", peer)
			if first == nil || second == nil || third != nil || b.last.Decisions[0].Allowed {
				t.Errorf("%v, %v, %v, %+v", first, second, third, b.last.Decisions)
			}
			b.leave(first, second, third)
		}
	}
	f("\nrules: [{name: api, limit: 2 concurrent, shadow: true}]", policy.On)
	f("\nrules: [{name: api, limit: 2 concurrent}]", policy.Shadow)
}

// All plans count the same requests, each by its own number.
func TestRequestsInFlightUnderPlans(t *testing.T) {
	b := start(t, `
plans: {free: 1 concurrent, paid: 3 concurrent}
rules: [{name: api, key: ip, plan: {"header:X-Key": {k: paid}}, default_plan: free}]
`)
	const paid = "X-Key: k"
	first := b.enter("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	second := b.enter("allowed limits", "GET /", peer, paid)
	third := b.enter("allowed limits", "GET /", peer, paid)
	b.want("refused limits", "GET /", peer, paid)
	b.leave(first, second)
	b.want("refused limits", "GET /", peer)
	b.leave(third)
	b.leave(b.enter("allowed limits", "GET /", peer))
}

// A request that is refused holds no slot, whoever refuses it, and whatever is charged
// for it to the walls.
func TestRefusedRequestsHoldNoSlots(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {free: 5/h, premium: 1000/h}
rules:
- {name: wall, key: ip, limits: [1000/h, 2 concurrent]}
- {name: trial, key: ip, limit: 3 concurrent, shadow: true}
- {name: api, key: ip, plan: {"header:X-Api-Key": {right: premium}}, default_plan: free}
- {name: users, match: /users, key: "jwt:sub", missing: deny, limits: [100/h, 4 concurrent]}
- {name: closed, match: /closed, limit: deny}
`)
	for _, line := range []string{"GET /users", "GET /closed", "GET /", "GET /users"} {
		for range 8 {
			b.ask(line, peer, wrong, "Authorization: Bearer x.y.z")
			b.leave(b.Keep(&b.last))
		}
	}
	x := b.Explain(t.Context(), request("GET /", peer, right))
	if l, trial := x.Rules[0].Limits, x.Rules[1].Limits; !x.Allowed || l[0].Remaining != 1000-32 || l[1].Remaining != 2 || trial[0].Remaining != 3 {
		t.Errorf("explained %+v, %+v, allowed %t", l, trial, x.Allowed)
	}
}

// Requests that a reload finds in flight are counted by the new rules, and give their
// slots back under them.
func TestReloadWhileRequestsAreInFlight(t *testing.T) {
	b := start(t, "\nrules: [{name: api, limit: 3 concurrent}]")
	swap := func(file string) {
		t.Helper()
		if err := b.Swap(load(t, file)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := b.enter("allowed limits", "GET /", peer), b.enter("allowed limits", "GET /", peer)
	swap("\nrules: [{name: api, limit: 1 concurrent}]")
	b.want("refused limits", "GET /", peer)
	b.leave(first)
	b.want("refused limits", "GET /", peer)
	swap("\nrules: [{name: requests, was: api, limits: [2 concurrent]}]")
	third := b.enter("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	swap("\nrules: [{name: other, limit: 1/s}]")
	b.leave(second, third)
	swap("\nrules: [{name: api, limit: 1 concurrent}]")
	b.leave(b.enter("allowed limits", "GET /", peer))
	if first.Err() != nil || second.Err() != nil || third.Err() != nil {
		t.Error(first.Err(), second.Err(), third.Err())
	}
}
