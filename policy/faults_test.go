package policy_test

import (
	"fmt"
	"strings"
	"testing"
)

// Names that callers invent are held by the address, and do not touch those whose
// tokens have been verified.
func TestS14InventedNames(t *testing.T) {
	b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256], issuer: https://id.example}
rules:
- {name: wall, match: /, limit: 20/h}
- {name: named, match: /named, key: "header:X-User-Id", limit: 3/h}
- {name: owned, match: /owned, key: "jwt:sub", limit: 3/h}
`)
	allowed := 0
	for i := range 100 {
		if strings.HasPrefix(b.ask("GET /named", peer, fmt.Sprint("X-User-Id: user", i)), "allowed") {
			allowed++
		}
	}
	if allowed != 20 {
		t.Errorf("with a new name in each request %d passed the 20 of the address", allowed)
	}
	const other, victim = "192.0.2.2:1", "192.0.2.3:1"
	for range 20 { // in the victim's name, and with a token that is none
		b.ask("GET /owned", other, "X-User-Id: ann", token(t, "another secret of at least thirty-two bytes", "sub", "ann"))
	}
	b.want("refused limits", "GET /owned", other)
	for range 3 {
		b.want("allowed limits", "GET /owned", victim, token(t, secret, "sub", "ann"))
	}
	b.want("refused limits", "GET /owned", victim, token(t, secret, "sub", "ann"))
}

// A method that a rule does not name is not the rule's; one that no client has is every
// rule's that names none. Fields that ask for another method mean nothing.
func TestS20MethodsOfRules(t *testing.T) {
	b := start(t, `
rules:
- {name: post, match: POST /x, limit: 1/h}
- {name: read, match: GET /x, limit: 2/h}
- {name: rest, match: /x, limit: 100/h}
`)
	b.want("allowed limits", "POST /x", peer)
	b.want("refused limits", "POST /x", peer)
	for _, line := range []string{"BREW /x", "PUT /x"} {
		b.want("allowed limits", line, peer, "X-HTTP-Method-Override: POST")
		if b.last.Rule != "rest" {
			t.Errorf("%s: decided by %s", line, b.last.Rule)
		}
	}
	b.want("allowed limits", "HEAD /x", peer)
	b.want("allowed limits", "GET /x?_method=POST", peer)
	b.want("refused limits", "HEAD /x", peer)
}

const countedByParts = `
rules:
- {name: wall, match: /, limit: 100/h}
- {name: cookies, match: /c, key: "cookie:sid", limit: 1/h}
- {name: queries, match: /q, key: "query:k", limit: 1/h}
`

func manyOfThem() (cookies, parameters string) {
	const many = 100_000
	return "Cookie: " + strings.Repeat("a=b; ", many) + "sid=1", strings.Repeat("a=b&", many) + "k=1"
}

// A cookie or a parameter is looked for in one pass, however many there are.
func TestS24ManyCookiesAndParameters(t *testing.T) {
	b := start(t, countedByParts)
	cookies, parameters := manyOfThem()
	b.want("allowed limits", "GET /c", peer, cookies)
	b.want("refused limits", "GET /c", peer, cookies)
	b.want("allowed limits", "GET /q?"+parameters, peer)
	b.want("refused limits", "GET /q?"+parameters, peer)
	// Twice is none, and counted by address.
	b.want("allowed limits", "GET /c", peer, cookies+"; sid=2")
	if a := b.seen.applied[1]; a.Missing != "cookie:sid" {
		t.Errorf("%+v", a)
	}
}

// Neither is looked for unless a rule that fits counts by it.
func TestAllocationsOfManyCookiesS24(t *testing.T) {
	b := start(t, countedByParts)
	cookies, parameters := manyOfThem()
	plain := testing.AllocsPerRun(100, func() { b.ask("GET /", peer) })
	with := testing.AllocsPerRun(100, func() { b.ask("GET /?"+parameters, peer, cookies) })
	if with > plain+4 { // what the test makes of the longer line
		t.Errorf("a rule that needs none of them: %v allocations, without %v", with, plain)
	}
}

// One request that stands for many operations costs what the rule says, or the surface
// that knows; it is charged before anything is done, and a cost beyond the limit passes
// never.
func TestS26CostOfABatch(t *testing.T) {
	b := start(t, `
rules:
- {name: batch, match: POST /batch, cost: 10, limit: 30/h burst 30}
`)
	for range 3 {
		b.want("allowed limits", "POST /batch", peer)
	}
	b.want("refused limits", "POST /batch", peer)
	r := request("POST /batch", "192.0.2.2:1")
	r.Cost = 100 // aliased logins
	if b.Decide(t.Context(), r, &b.last); b.last.Allowed || !b.last.Never {
		t.Errorf("a hundred operations under a limit of thirty: %+v", b.last)
	}
	b.want("allowed limits", "POST /batch", "192.0.2.2:1") // and nothing was charged
	if got := b.last.Decision().Remaining; got != 20 {
		t.Errorf("remaining %d", got)
	}
}

// Parts of a key are apart whatever they hold, and none is cut short.
func TestS41S42KeysOfParts(t *testing.T) {
	b := start(t, `
rules:
- {name: wall, match: /, limit: 100000/h}
- {name: pair, match: /, key: ["header:A", "header:B"], limit: 1/h}
`)
	long := strings.Repeat("x", 4096)
	for _, pair := range [][2]string{
		{"a:b", "c"},
		{"a", "b:c"},
		{"a|b", "c"},
		{"a", "b|c"},
		{"a\x00", "b"},
		{"a", "\x00b"},
		{"ab", "c"},
		{"a", "bc"},
		{"1_plan_free", "x"},
		{"1", "plan_free_x"},
		{"{a}", "b"},
		{"a", "{b}"},
		{"*", "?"},
		{long + "1", "x"},
		{long + "2", "x"},
		{long, "1x"},
	} {
		b.want("allowed limits", "GET /", peer, "A: "+pair[0], "B: "+pair[1])
		b.want("refused limits", "GET /", peer, "A: "+pair[0], "B: "+pair[1])
	}
}

// What looks alike is not made alike unless the rule says so, and then by letters alone.
func TestS43LookAlikes(t *testing.T) {
	b := start(t, `
rules:
- {name: wall, match: /, limit: 100000/h}
- {name: plain, match: /plain, key: "header:N", limit: 1/h}
- {name: lower, match: /lower, key: "header:N", normalize: lower, limit: 1/h}
`)
	names := []string{"a@x", "A@x", "a@x ", "a%40x", "\uff41@x", "\u0131@x", "i@x", "a\u0301@x", "\u00e1@x"}
	for _, n := range names {
		b.want("allowed limits", "GET /plain", peer, "N: "+n)
		b.want("refused limits", "GET /plain", peer, "N: "+n)
	}
	for _, n := range names {
		want := "allowed limits"
		if n == "A@x" {
			want = "refused limits"
		}
		b.want(want, "GET /lower", peer, "N: "+n)
	}
}
