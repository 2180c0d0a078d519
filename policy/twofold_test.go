package policy_test

import (
	"strings"
	"testing"
)

// Some servers take a method in small letters for the one that a rule names.
func TestMethodsAreInCapitals(t *testing.T) {
	b := start(t, "rules: [{name: post, match: POST /x, limit: 1/h}]")
	b.want("allowed limits", "POST /x", peer)
	for _, method := range []string{"post", "Post", "POSt", "brew"} {
		b.want("refused request", method+" /x", peer)
	}
	b = start(t, "enforce: shadow\nrules: [{name: post, match: POST /x, limit: 1/h}]")
	b.want("allowed unmatched", "post /x", peer)
}

// A header that a rule counts by comes once: an application might read another line
// than weir, which would see none. Where no rule reads it, or the rule is in shadow,
// it may come as it likes.
func TestKeysComeOnce(t *testing.T) {
	b := start(t, `
rules:
- {name: wide, match: /, limit: 100/h}
- {name: ip, match: /ip, key: "header:X-Key", limit: 1/h}
- {name: skip, match: /skip, key: "header:X-Key", missing: skip, limit: 1/h}
- {name: deny, match: /deny, key: "header:X-Key", missing: deny, limit: 1/h}
- {name: basic, match: /basic, key: "basic:user", missing: skip, limit: 1/h}
- {name: shadow, match: /shadow, key: "header:X-Key", shadow: true, limit: 1/h}
`)
	for _, path := range []string{"/ip", "/skip", "/deny"} {
		b.want("refused request", "GET "+path, peer, "X-Key: a", "X-Key: a")
	}
	b.want("refused request", "GET /basic", peer, "Authorization: Basic dTpw", "Authorization: Basic dTpw")
	b.want("allowed limits", "GET /shadow", peer, "X-Key: a", "X-Key: b")
	b.want("allowed limits", "GET /other", peer, "X-Key: a", "X-Key: b")
}

// A token that is over its limit stays so however it is written.
func TestTokensComeOnce(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: file:secret, algorithms: [HS256], issuer: https://id.example}
rules:
- {name: wide, match: /, limit: 100/h}
- {name: api, match: /, key: "jwt:sub", missing: skip, limit: 1/h}
`)
	line := token(t, secret, "sub", "ann")
	b.want("allowed limits", "GET /", peer, line)
	b.want("refused limits", "GET /", peer, line)
	b.want("refused request", "GET /", peer, line, line)
	for _, other := range []string{"Bearer\t", "bearer\t ", "Bearer =", "Bearer x "} {
		b.want("refused request", "GET /", peer, strings.Replace(line, "Bearer ", other, 1))
	}
	b.want("allowed limits", "GET /", peer, "Authorization: Bearer")
	b.want("allowed limits", "GET /", peer, "Authorization: Basic dTpw")
}

// Browsers send a cookie twice where two folders of a site have set it. A rule that
// skips who has none counts him by address all the same.
func TestCookiesAndParametersThatComeTwice(t *testing.T) {
	b := start(t, `
rules:
- {name: wide, match: /, limit: 100/h}
- {name: cookie, match: /c, key: "cookie:s", missing: skip, limit: 1/h}
- {name: query, match: /q, key: "query:k", missing: skip, limit: 1/h}
`)
	b.want("allowed limits", "GET /c", peer, "Cookie: s=a; s=b")
	b.want("refused limits", "GET /c", peer, "Cookie: s=c; s=d")
	b.want("allowed limits", "GET /c", peer, "Cookie: t=c")
	b.want("allowed limits", "GET /q?k=1&k=2", peer)
	b.want("refused limits", "GET /q?k=3&k=4", peer)
	b.want("allowed limits", "GET /q", peer)
}
