package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/storetest"
)

const secret = "a secret of at least thirty-two bytes, for tests"

const tokenRules = `
jwt: {keys: "file:secret", algorithms: [HS256], issuer: https://id.example}
plans: {free: 2/h, premium: 4/h}
rules:
- {name: wide, match: /, key: ip, limit: 5/min}
- {name: api, match: /api/, key: "jwt:sub", plan: "jwt:plan", default_plan: free}
- {name: account, match: /account/, key: "jwt:sub", missing: deny, limit: 100/h}
`

// startTokens is start for rules with tokens under secret.
func startTokens(t testing.TB, file string) *bench {
	t.Helper()
	store, clock := memory(t)
	return startTokensOn(t, file, store, clock)
}

func startTokensOn(t testing.TB, file string, store weir.Store, clock *storetest.Clock) *bench {
	t.Helper()
	b := &bench{t: t, clock: clock, store: store, now: time.Unix(1_790_000_000, 0)}
	b.run(loadWith(t, file, map[string]string{"secret": secret}))
	return b
}

// token signs a token of https://id.example with these claims, as a line of a
// header.
func token(t testing.TB, secret string, claims ...any) string {
	t.Helper()
	c := jwt.MapClaims{"iss": "https://id.example"}
	for i := 0; i < len(claims); i += 2 {
		c[claims[i].(string)] = claims[i+1]
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + text
}

func TestTokenNamesCallerAndPlan(t *testing.T) {
	b := startTokens(t, tokenRules)
	ann := token(t, secret, "sub", "ann", "plan", "premium")
	for range 4 {
		b.want("allowed limits", "GET /api/x", peer, ann)
	}
	b.want("refused limits", "GET /api/x", "192.0.2.2:1", ann)
	if a := b.seen.applied[1]; a.Kinds != "jwt:sub" || a.Plan != "premium" || b.last.Rule != "api" {
		t.Errorf("%+v, decided by %s", a, b.last.Rule)
	}
	bob := token(t, secret, "sub", "bob")
	b.want("allowed limits", "GET /api/x", "192.0.2.3:1", bob)
	if a := b.seen.applied[1]; a.Plan != "free" {
		t.Errorf("%+v", a)
	}
}

func TestS46UnverifiedTokenIsNone(t *testing.T) {
	b := startTokens(t, tokenRules)
	for name, header := range map[string]string{
		"another secret": token(t, "another secret of at least thirty-two bytes", "sub", "ann"),
		"another issuer": token(t, secret, "sub", "ann", "iss", "https://elsewhere.example"),
		"expired":        token(t, secret, "sub", "ann", "exp", 1_789_999_000),
		"no bearer":      strings.Replace(token(t, secret, "sub", "ann"), "Bearer", "Token", 1),
		"no subject":     token(t, secret, "plan", "premium"),
		"no text":        token(t, secret, "sub", []string{"ann"}),
		"empty":          token(t, secret, "sub", ""),
	} {
		b.clock.Advance(3_600_000_000)
		b.want("refused missing", "GET /account/", peer, header)
		if name == "no bearer" {
			continue
		}
		b.want("allowed limits", "GET /api/", peer, header)
		if a := b.seen.applied[1]; a.Kinds != "ip" || a.Missing != "jwt:sub" {
			t.Errorf("%s: counted by %s", name, a.Kinds)
		}
	}
}

func TestTokenOfANumberIsAnotherCaller(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
rules: [{name: wide, match: /, limit: 100/h}, {name: api, match: /, key: "jwt:sub", limit: 1/h}]
`)
	b.want("allowed limits", "GET /", peer, token(t, secret, "sub", "1"))
	b.want("allowed limits", "GET /", peer, token(t, secret, "sub", 1))
	b.want("refused limits", "GET /", peer, token(t, secret, "sub", 1))
	b.want("allowed limits", "GET /", peer, token(t, secret, "sub", "1", "iss", "https://other.example"))
	b.want("refused limits", "GET /", peer, token(t, secret, "sub", "1"))
}

// Each bogus token is counted by address, whatever rule refuses it, so that one
// caller makes us compute no more signatures than his limit has units.
func TestS46AddressLimitAnswersBeforeAnySignature(t *testing.T) {
	b := startTokens(t, tokenRules)
	ann := token(t, secret, "sub", "ann")
	for i := range 1000 {
		want := "refused limits"
		if i < 5 {
			want = "refused missing"
		}
		b.want(want, "GET /account/", peer, token(t, "another secret of at least thirty-two bytes", "sub", i))
	}
	if b.asked != 5 || b.last.Rule != "wide" {
		t.Errorf("%d tokens were verified for a caller whose limit is 5; decided by %s", b.asked, b.last.Rule)
	}
	b.want("allowed limits", "GET /account/", "192.0.2.2:1", ann)
	// Who sends no token costs no signature, and is counted by nothing.
	for range 10 {
		b.want("refused missing", "GET /account/", "192.0.2.3:1")
	}
	b.want("allowed limits", "GET /account/", "192.0.2.3:1", ann)
}

// Keys that are guessed are counted by address, though each is refused.
func TestGuessedKeysAreCounted(t *testing.T) {
	b := start(t, `
plans: {none: deny, partner: 100/h}
rules:
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: none}
- {name: wall, match: /, key: ip, limit: 5/h}
`)
	for i := range 10 {
		want := "refused limits"
		if i < 5 {
			want = "refused deny"
		}
		b.want(want, "GET /", peer, "X-Api-Key: guess")
	}
	b.want("refused limits", "GET /", peer, "X-Api-Key: right")
	// A token beside the key, for another rule, makes no difference.
	b = startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {none: deny, partner: 100/h}
rules:
- {name: users, match: /, key: "jwt:sub", limit: 100/h}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: none}
- {name: wall, match: /, key: ip, limit: 5/h}
`)
	for i := range 10 {
		want := "refused limits"
		if i < 5 {
			want = "refused deny"
		}
		b.want(want, "GET /", peer, "X-Api-Key: guess", "Authorization: Bearer x.y.z")
	}
	if b.asked != 0 {
		t.Errorf("%d tokens were verified for refused requests", b.asked)
	}
	b.want("refused deny", "GET /", "192.0.2.2:1") // who presents nothing guesses nothing
	b.want("allowed limits", "GET /", "192.0.2.2:1", "X-Api-Key: right")
}

// A rule that counts who has no token by address refuses a bogus one for nothing:
// the wall is charged all the same, and ends the computing of signatures.
func TestS46BogusTokensFillTheWall(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
rules:
- {name: api, match: /, key: "jwt:sub", limit: 2/h}
- {name: wall, match: /, key: ip, limit: 20/h}
`)
	for i := range 300 {
		want := "refused limits"
		if i < 2 {
			want = "allowed limits"
		}
		b.want(want, "GET /", peer, token(t, "another secret of at least thirty-two bytes", "sub", i))
	}
	if b.asked != 20 || b.last.Rule != "wall" {
		t.Errorf("%d tokens were verified for a caller whose limit is 20; decided by %s", b.asked, b.last.Rule)
	}
	b.want("refused limits", "GET /", peer) // without a token, counted by api alone
	b.want("allowed limits", "GET /", "192.0.2.2:1", token(t, secret, "sub", "ann"))
}
