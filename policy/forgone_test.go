package policy_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// This file is about requests that are let in and do not go on: they have waited in
// vain, or the upstream is out.

// forgo decides a request that gives its charge back, and is not served.
func (b *bench) forgo(line, peer string, header ...string) *weir.Outcome {
	b.t.Helper()
	o := new(weir.Outcome)
	b.Decide(b.t.Context(), request(line, peer, header...), o)
	if err := b.GiveBack(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
	return o
}

// Whatever ends a request, what it has presented in vain fills the wall; what was
// right, and who presents nothing, is charged nothing.
func TestWhatWasInVainStaysCharged(t *testing.T) {
	bogus := token(t, "another secret of at least thirty-two bytes", "sub", "x")
	f := func(rules, vain string, good ...string) {
		t.Helper()
		b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {free: 1000/h, partner: 500/h, twenty: 20/h}
rules:
`+rules)
		for i := range 25 {
			if o := b.forgo("GET /", peer, vain); o.Allowed != (i < 20) {
				t.Fatalf("%s%s, number %d: allowed %t by %s", rules, vain, i, o.Allowed, o.Rule)
			}
		}
		if b.asked > 20 {
			t.Errorf("%s%s: %d tokens were verified", rules, vain, b.asked)
		}
		const other = "192.0.2.2:1"
		for range 100 {
			for _, line := range good {
				if o := b.forgo("GET /", other, line); !o.Allowed {
					t.Fatalf("%s%s: refused by %s", rules, line, o.Rule)
				}
			}
			if o := b.forgo("GET /", other); !o.Allowed {
				t.Fatalf("%s: refused by %s", rules, o.Rule)
			}
		}
	}
	const (
		wall  = "- {name: wall, match: /, key: ip, limit: 20/h}\n"
		keys  = `- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: free}` + "\n"
		users = `- {name: users, match: /, key: "jwt:sub", limit: 1000/h}` + "\n"
		queue = `- {name: queue, match: /, key: "const:all", limit: 1/s leaky-bucket queue 500}` + "\n"
	)
	ann := token(t, secret, "sub", "ann")
	f(wall+keys, wrong, right)
	f(keys+wall+queue, wrong, right)
	f(wall+users, bogus, ann)
	f(wall+users+queue, bogus, ann)
	f(wall+keys+users, bogus, ann, right)
	f(keys+users+"- {name: wall, match: /, key: ip, limit: 1/min leaky-bucket queue 19}\n", wrong, ann, right) // a queue is a wall as well
	f(wall+keys+"- {name: trial, match: /, key: ip, limit: 1/h, shadow: true}\n", wrong, right)
	f(`- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: twenty}`+"\n", wrong, right)
}

// Slots are no charge: one that is not given back is held by nobody.
func TestSlotsOfWhatWasInVainComeBack(t *testing.T) {
	b := start(t, `
plans: {free: 1000/h, partner: 500/h}
rules:
- {name: wall, match: /, key: ip, limits: [20/h, 1 concurrent]}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: free}
`)
	for i := range 20 {
		if o := b.forgo("GET /", peer, wrong); !o.Allowed {
			t.Fatalf("number %d: refused by %s", i, o.Limit().Name())
		}
	}
	if o := b.forgo("GET /", peer, wrong); o.Allowed || o.Limit().Spec().Algorithm == weir.Concurrency {
		t.Errorf("allowed %t, by %s", o.Allowed, o.Limit().Name())
	}
}

// A refusal by a queue that a blind rule keeps is the same for all keys: it tells of
// blind rules alone.
func TestRefusalForADelayTellsNoKey(t *testing.T) {
	const file = `
plans: {free: 100/h, partner: 500/h, slow: 1 per 3s leaky-bucket queue 50}
rules:
- {name: wall, match: /, key: ip, limit: 200/h}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner, sluggish: slow}}, default_plan: free, refuse: {status: 404}}
- {name: queue, match: /, key: "const:all", limit: 1 per 3s leaky-bucket queue 90, refuse: {status: 403}}
`
	refusal := func(key string) (*weir.Outcome, string) {
		b := start(t, file)
		b.want("allowed limits", "GET /", peer, "X-Api-Key: sluggish")
		b.want("allowed limits", "GET /", peer, "X-Api-Key: sluggish")
		var o *weir.Outcome
		if key == "" {
			o = b.forgo("GET /", peer)
		} else {
			o = b.forgo("GET /", peer, "X-Api-Key: "+key)
		}
		if o.Delay == 0 || len(o.Takes) != 3 || o.Untold != 0 && !o.Allowed {
			t.Fatalf("%s: %+v", key, o)
		}
		o.RefuseDelay()
		return o, told(t, o)
	}
	o, want := refusal("guess")
	if len(o.Takes) != 2 || o.Rule != "queue" || o.RetryAfter != 6_000_000 || o.Refusal == nil || o.Refusal.Status != 403 || strings.Contains(want, "keys") {
		t.Errorf("%+v: %s", o, want)
	}
	for _, key := range []string{"right", "sluggish", "another"} {
		if _, got := refusal(key); got != want {
			t.Errorf("%s: %s\na wrong key: %s", key, got, want)
		}
	}
	if o, got := refusal(""); len(o.Takes) != 3 || !strings.Contains(got, "keys") {
		t.Errorf("who presents nothing is told %s", got)
	}
}

// Where only the queue of a plan delays, it is the one that refuses.
func TestRefusalForAPlansOwnDelay(t *testing.T) {
	b := start(t, `
plans: {free: 100/h, slow: 1 per 3s leaky-bucket queue 50}
rules:
- {name: wall, match: /, key: ip, limit: 200/h}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: slow}}, default_plan: free}
`)
	b.want("allowed limits", "GET /", peer, right)
	o := b.forgo("GET /", peer, right)
	if o.RefuseDelay(); o.Allowed || o.Rule != "keys" || o.RetryAfter != 3_000_000 || len(o.Takes) != 2 {
		t.Errorf("%+v", o)
	}
}
