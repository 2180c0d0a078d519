package policy_test

import (
	"context"
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

const (
	second = 1_000_000
	hour   = 3600 * second
)

// blockedFor holds the last outcome against how long its caller is blocked.
func (b *bench) blockedFor(wait weir.Micros) {
	b.t.Helper()
	if o := &b.last; o.Allowed || !o.Decision().Blocked || o.RetryAfter != wait {
		b.t.Errorf("got %+v, retry after %d; want it blocked for %d", o.Decision(), o.RetryAfter, wait)
	}
}

// A block begins whatever the caller shows beside: a token that awaits its check does
// not make the refusal a look.
func TestBlocksBeginBesideATokenRule(t *testing.T) {
	const rules = `
jwt: {keys: "file:secret", algorithms: [HS256]}
rules:
- {name: wall, match: /, limit: 2/s block 1h}
- {name: api, match: /api/, key: "jwt:sub", limit: 100/s}
`
	b := startTokens(t, rules)
	const bogus = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA"
	for range 2 {
		b.want("allowed limits", "GET /api/x", peer, bogus)
	}
	b.want("refused limits", "GET /api/x", peer, bogus)
	b.blockedFor(hour)
}

// The refusal and the block are one call of the store: what comes between two could be
// charged, and not given back. A rule that did not refuse is not charged, nor is one in
// shadow.
func TestALookThatBlocksIsOneCall(t *testing.T) {
	store, clock := memory(t)
	var calls [][]weir.Take
	b := startTokensOn(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
rules:
- {name: wall, match: /, limit: 1/s block 1h}
- {name: wide, match: /, limit: 100/h}
- {name: trial, match: /, limit: 1/h block 2h, shadow: true}
- {name: api, match: /, key: "jwt:sub", limit: 100/s}
`, &troubled{store, func(takes []weir.Take) error {
		calls = append(calls, slices.Clone(takes))
		return nil
	}}, clock)
	const bogus = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA"
	b.want("allowed limits", "GET /", peer, bogus)
	calls = nil
	b.want("refused limits", "GET /", peer, bogus)
	b.blockedFor(hour)
	if len(calls) != 1 || len(calls[0]) != 2 || len(b.last.Decisions) != 2 || b.last.Decisions[1].Remaining != 99 {
		t.Errorf("%d calls of the store, %+v", len(calls), b.last.Decisions)
	}
}

// To explain blocks nobody, however often; and says who is blocked.
func TestExplanationsOfBlocks(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
rules:
- {name: wall, match: /, limit: 1/min block 1h}
- {name: api, match: /, key: "jwt:sub", limit: 100/s}
`)
	const bogus = "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.AAAA"
	b.want("allowed limits", "GET /", peer)
	for _, header := range [][]string{nil, {bogus}} {
		for range 3 {
			x := b.Explain(context.Background(), request("GET /", peer, header...))
			if l := x.Rules[0].Limits[0]; x.Allowed || l.Blocked || l.RetryAfterMS != 60_000 {
				t.Errorf("%q: %+v", header, l)
			}
		}
	}
	b.want("refused limits", "GET /", peer)
	if l := b.Explain(context.Background(), request("GET /", peer)).Rules[0].Limits[0]; !l.Blocked || l.RetryAfterMS != 3_600_000 {
		t.Errorf("of who is blocked: %+v", l)
	}
}

// A rule in shadow lets pass whom it would block, and says which of both it would do.
// In earnest its blocks hold on.
func TestBlocksInShadow(t *testing.T) {
	const trial, wide = "rules:\n- {name: trial, limit: 1/h block 2h x 2 max 1d", "}\n- {name: wide, limit: 1/h, shadow: true}"
	b := start(t, trial+", shadow: true"+wide)
	for i := range 3 {
		b.want("allowed limits", "GET /", peer)
		if d := b.last.Decisions; d[0].Blocked != (i > 0) || d[1].Blocked || d[0].Allowed != d[1].Allowed {
			t.Errorf("request %d: %+v", i, d)
		}
	}
	b.clock.Advance(hour)
	b.want("allowed limits", "GET /", peer)
	if d := b.last.Decisions; !d[0].Blocked || d[0].RetryAfter != hour || !d[1].Allowed {
		t.Errorf("when the limit has room again: %+v", d)
	}
	if err := b.Swap(load(t, trial+wide)); err != nil {
		t.Fatal(err)
	}
	b.want("refused limits", "GET /", peer)
	b.blockedFor(hour)
}

// A block is the caller's: under the same name it goes with him to another plan, and
// through a reload and a new name. A plan without a block does not ask for it.
func TestBlocksAcrossPlans(t *testing.T) {
	const plans = `
plans: {free: 1/min block 1h x 3 max 1d, paid: 100/s block 10m, staff: 100/s}
rules: [{name: api, key: "const:c", plan: {"header:X-Key": {p: paid, s: staff}}, default_plan: free`
	b := start(t, plans+"}]")
	paid, staff := "X-Key: p", "X-Key: s"
	b.want("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	b.blockedFor(hour)
	b.clock.Advance(hour / 2)
	b.want("refused limits", "GET /", peer, paid)
	b.blockedFor(hour / 2)
	b.want("allowed limits", "GET /", peer, staff)
	b.want("refused limits", "GET /", peer)
	b.blockedFor(hour / 2)
	b.clock.Advance(hour / 2)
	for b.ask("GET /", peer, paid) == "allowed limits" {
	}
	b.blockedFor(hour / 6) // that of free was longer than any that paid has
	if err := b.Swap(load(t, `
plans: {free: 2/min block 5m, paid: 50/s block 1m}
rules: [{name: renamed, was: api, key: "const:c", plan: {"header:X-Key": {p: paid}}, default_plan: free}]`)); err != nil {
		t.Fatal(err)
	}
	b.want("refused limits", "GET /", peer, paid)
	b.blockedFor(hour / 6)
	b.want("refused limits", "GET /", peer)
	b.blockedFor(hour / 6)
}
