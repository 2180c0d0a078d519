package policy_test

import "testing"

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
	if wait := b.last.RetryAfter; wait < 3_000_000_000 { // half a second is the bucket alone
		t.Errorf("refused for %d µs, want an hour", wait)
	}
}
