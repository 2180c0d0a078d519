package policy_test

import (
	"context"
	"testing"
)

// An explanation says where a plan comes from, and no value of the request.
func TestWhyOfPlans(t *testing.T) {
	b := start(t, `
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Forwarded-For}
plans: {a: 5/s, b: 2/s}
rules:
- {name: all, limit: 100/s}
- {name: key, match: /key, key: ip, plan: {"header:X-Key": {k: a}}, default_plan: b}
- {name: net, match: /net, key: ip, plan: {ip: {192.0.2.0/24: a}}, default_plan: b}
`)
	f := func(line, from, want string, header ...string) {
		t.Helper()
		for _, r := range b.Explain(context.Background(), request(line, from, header...)).Rules[1:] {
			if r.Matched && r.PlanWhy != want {
				t.Errorf("%s %s %q: %q, want %q", from, line, header, r.PlanWhy, want)
			}
		}
	}
	f("GET /key", peer, "header:X-Key says so", "X-Key: k")
	f("GET /key", peer, "default_plan: header:X-Key names none")
	f("GET /key", peer, "default_plan: header:X-Key names none", "X-Key: k", "X-Key: k")
	f("GET /key", peer, "default_plan: header:X-Key names one that the file does not have", "X-Key: guess")
	f("GET /net", "192.0.2.1:1", "ip says so")
	f("GET /net", "198.51.100.1:1", "default_plan: the address is in none of the networks")
	f("GET /net", "10.0.0.1:1", "default_plan: the address is not sure", "X-Forwarded-For: nonsense")
}

// Of a request that is refused before rules are looked for, no rule is said to match,
// and its path is shown as it is.
func TestExplanationOfWhatIsRefusedUnseen(t *testing.T) {
	b := start(t, `
rules:
- {name: jobs, match: POST /jobs, limit: 2/h}
- {name: root, match: "/{$}", limit: 2/h}
- {name: all, limit: 2/h}
`)
	f := func(line, from, path, why string) {
		t.Helper()
		x := b.Explain(context.Background(), request(line, from))
		if x.Path != path || x.Reason != "request" || x.Allowed {
			t.Errorf("%s: path %q, %s", line, x.Path, x.Reason)
		}
		for _, r := range x.Rules {
			if r.Matched || r.Verdict != "not asked" || r.Why != why {
				t.Errorf("%s: %+v", line, r)
			}
		}
	}
	f("post /jobs", peer, "/jobs", "the method is not in capitals")
	f("PoST /a%2fb", peer, "/a%2Fb", "the method is not in capitals")
	f("POST /a%2fb", peer, "/a%2Fb", "the path can be read in two ways")
	f("POST /jobs", "@", "/jobs", "the caller has no address")
	for _, line := range []string{"POST /jobs", "GET /"} {
		if x := b.Explain(context.Background(), request(line, peer)); !x.Allowed || !x.Rules[2].Matched || x.Rules[0].Matched == x.Rules[1].Matched {
			t.Errorf("%s: %+v", line, x.Rules)
		}
	}
}
