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
