package policy_test

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/policy"
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

// What is no token and stands behind Bearer all the same is as none, whatever a rule
// makes of that; what some servers read a token from, by leaving out what is of none, is
// refused.
func TestOtherThingsBehindBearer(t *testing.T) {
	const file = `
jwt: {keys: file:secret, algorithms: [HS256], issuer: https://id.example}
rules:
- {name: wide, match: /, limit: 100/h}
- {name: ip, match: /ip, key: "jwt:sub", limit: 2/h}
- {name: skip, match: /skip, key: "jwt:sub", missing: skip, limit: 2/h}
- {name: deny, match: /deny, key: "jwt:sub", missing: deny, limit: 2/h}
`
	for _, other := range []string{
		"1|" + strings.Repeat("aB3", 14), "user:secret", `{"token":"abc"}`, `"abc"`, "abc, def", "a b", "\u00e9",
	} {
		b, line := startTokens(t, file), "Authorization: Bearer "+other
		for _, path := range []string{"/ip", "/skip"} {
			for _, want := range []string{"allowed limits", "allowed limits", "refused limits"} {
				b.want(want, "GET "+path, peer, line)
			}
		}
		b.want("refused missing", "GET /deny", peer, line)
	}
	b, line := startTokens(t, file), token(t, secret, "sub", "ann")
	end := len(line) - 20
	for _, other := range []string{line[:end] + "!" + line[end:], line[:40] + "{" + line[40:], line[:end] + " " + line[end:], line + "|"} {
		b.want("refused request", "GET /skip", peer, other)
	}
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

// skipping is a bench whose rule under test skips who has no part of its key.
func skipping(t *testing.T, key, more string) *bench {
	t.Helper()
	return startTokens(t, more+`
rules:
- {name: wide, match: /, limit: 1000/h}
- {name: narrow, match: /, key: "`+key+`", missing: skip, limit: 2/h}
`)
}

// Who is over his limit stays so however he writes his key: in a form that weir does not
// read, and an application does, he is counted by address, or answered 400. Who bears no
// trace of a key is skipped.
func TestKeysInOtherForms(t *testing.T) {
	f := func(limited bool, key, line string, headers ...string) {
		t.Helper()
		b := skipping(t, key, "")
		n := 0
		for range 20 {
			if b.ask(line, peer, headers...); b.last.Allowed {
				n++
			}
		}
		if limited && n > 2 || !limited && n != 20 {
			t.Errorf("%s: %s %.60q: %d of 20 allowed", key, line, headers, n)
		}
	}
	const basic = "Authorization: Basic "
	for _, cookies := range []string{
		"session=k", "session =k", "session\t=k", " session= k", `session="k"`, "a=1;session=k", "a=1, session=k", "a=1 session=k",
		"Session=k", "%73ession=k", "session=k; session=l",
	} {
		f(true, "cookie:session", "GET /", "Cookie: "+cookies)
	}
	for _, cookies := range []string{"session=", `session=""`, "session", "mysession=k", "a=session", ""} {
		f(false, "cookie:session", "GET /", "Cookie: "+cookies)
	}
	for _, line := range []string{
		basic + "YWxpY2U6cHd4", basic + "YWxpY2U6cHc", "Authorization: Basic\tYWxpY2U6cHc=", basic + "YWxp!Y2U6cHc=",
		basic + strings.Repeat(" ", 4100) + "YWxpY2U6cHc=", "Authorization: Foo YWxpY2U6cHc=", "Authorization: YWxpY2U6cHc=", basic + "OnB3",
	} {
		f(true, "basic:user", "GET /", line)
	}
	for _, line := range []string{"Authorization: Bearer abc", basic, "Authorization: ", "X-Other: a"} {
		f(false, "basic:user", "GET /", line)
	}
	f(true, "header:X-Api-Key", "GET /", "X_api_key: k")
	f(true, "header:X-Api-Key", "GET /", "X-Api_key: k")
	f(true, "header:X-Api-Key", "GET /", "X-Api-Key: 1", "X_api_key: k")
	f(false, "header:X-Api-Key", "GET /", "X-Api-Key: ")
	f(false, "header:X-Api-Key", "GET /", "X-Api-Keys: k")
	for _, query := range []string{"api_key=k", "a=1;api_key=k", "api_key=k;a=1", "api_key=%zz", "api.key=k", "API_KEY=k", "api_key[]=k", "api%5Fkey=k"} {
		f(true, "query:api_key", "GET /?"+query)
	}
	for _, query := range []string{"", "api_key", "api_key=", "a=api_key", "my_api_key=k"} {
		f(false, "query:api_key", "GET /?"+query)
	}
}

// A token as well.
func TestTokensInOtherForms(t *testing.T) {
	text := strings.TrimPrefix(token(t, secret, "sub", "ann"), "Authorization: Bearer ")
	stale := strings.TrimPrefix(token(t, secret, "sub", "ann", "exp", 1), "Authorization: Bearer ")
	f := func(limited bool, from, line string) {
		t.Helper()
		b := skipping(t, "jwt:sub", "jwt: {keys: file:secret, algorithms: [HS256], from: "+from+"}")
		n := 0
		for range 20 {
			if b.ask("GET /", peer, strings.NewReplacer("TOKEN", text, "STALE", stale).Replace(line)); b.last.Allowed {
				n++
			}
		}
		if limited && n > 2 || !limited && n != 20 {
			t.Errorf("%s: %q: %d of 20 allowed", from, line, n)
		}
	}
	for _, form := range []string{"Bearer TOKEN", "Bearer\tTOKEN", "Foo TOKEN", "TOKEN", "JWT TOKEN", "BearerTOKEN", `"Bearer" TOKEN`, "Token token=TOKEN", "Bearer TOKEN " + strings.Repeat("x", 9000)} {
		f(true, "header Authorization", "Authorization: "+form)
	}
	for _, form := range []string{"Basic dTpw", "Bearer", "", "Bearer opaque", "Bearer STALE", `Digest realm="key.example.com"`} {
		f(false, "header Authorization", "Authorization: "+form)
	}
	for _, form := range []string{"TOKEN", "Bearer TOKEN", `"TOKEN"`, "TOKEN,", "opaque", "TOKEN" + strings.Repeat("x", 9000)} {
		f(true, "header X-Token", "X-Token: "+form)
	}
	f(true, "header X-Token", "X_token: TOKEN")
	f(false, "header X-Token", "X-Token: STALE")
	f(false, "header X-Token", "Authorization: Bearer TOKEN")
	for _, form := range []string{"tok=TOKEN", "tok =TOKEN", "tok= TOKEN", `tok="TOKEN"`, "tok=x; tok=TOKEN", "Tok=TOKEN", "tok=Bearer TOKEN"} {
		f(true, "cookie tok", "Cookie: "+form)
	}
	f(false, "cookie tok", "Cookie: tok=STALE")
	f(false, "cookie tok", "Cookie: tok=")
}

// A second line, another spelling or a list frees nobody of a rule, and makes nobody
// exempt.
func TestConditionsOfHeaders(t *testing.T) {
	f := func(rule, exempt bool, headers ...string) {
		t.Helper()
		b := start(t, `
exempt: [{headers: {X-Probe: [a-long-secret-that-nobody-guesses]}}]
rules:
- {name: wide, match: /, limit: 1000/h}
- {name: narrow, match: /, headers: {X-Mode: [expensive, dear]}, limit: 2/h}
- {name: any, match: /, headers: {X-Any: true}, limit: 2/h}
`)
		b.ask("GET /", peer, headers...)
		if got := len(b.last.Takes) > 1; got != rule || b.seen.reason == policy.ReasonExempt != exempt {
			t.Errorf("%q: a rule %t, %s", headers, got, b.seen.reason)
		}
	}
	f(false, false)
	f(true, false, "X-Mode: expensive")
	f(true, false, "X-Mode: dear")
	f(true, false, "X-Mode: expensive", "X-Mode: cheap")
	f(true, false, "X-Mode: cheap", "X-Mode: expensive")
	f(true, false, "X-Mode: cheap, expensive")
	f(true, false, "X_mode: expensive")
	f(true, false, "X-Mode: cheap", "X_mode: expensive")
	f(true, false, "X-Any: ")
	f(true, false, "X_any: x")
	f(false, false, "X-Mode: cheap")
	f(false, false, "X-Mode: inexpensive")
	f(false, true, "X-Probe: a-long-secret-that-nobody-guesses")
	f(false, false, "X-Probe: a-long-secret-that-nobody-guesses", "X-Probe: x")
	f(false, false, "X-Probe: x, a-long-secret-that-nobody-guesses")
	f(false, false, "X_probe: a-long-secret-that-nobody-guesses")
}
