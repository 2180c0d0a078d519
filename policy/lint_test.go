package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// invented is the rule that most cases are about: it counts by a name that callers
// invent.
const invented = "  - {name: name, match: POST /login, key: 'header:X-Login', limit: 5/min}\n"

// Which rules are a wall for one that callers can get around by inventing names.
func TestWalls(t *testing.T) {
	for _, c := range []struct {
		what, rules string
		wall        bool
	}{
		{"nothing", invented, false},
		{"by address, the same pattern", "- {name: w, match: POST /login, limit: 20/min}\n" + invented, true},
		{"by address, everything", "- {name: w, limit: 20/min}\n" + invented, true},
		{"by address, below a path", "- {name: w, match: /login/, limit: 20/min}\n" + invented, true},
		{"behind the rule", invented + "- {name: w, limit: 20/min}\n", true},
		{"for everybody together", "- {name: w, key: 'const:all', limit: 20/s}\n" + invented, true},
		{"by claim, else by address", "- {name: w, key: 'jwt:sub', limit: 20/min}\n" + invented, true},
		{"by claim, else refused", "- {name: w, key: 'jwt:sub', missing: deny, limit: 20/min}\n" + invented, true},
		{"by claim, else not at all", "- {name: w, key: 'jwt:sub', missing: skip, limit: 20/min}\n" + invented, false},
		{"another path", "- {name: w, match: POST /logout, limit: 20/min}\n" + invented, false},
		{"another method", "- {name: w, match: GET /login, limit: 20/min}\n" + invented, false},
		{"one host", "- {name: w, match: a.example/, limit: 20/min}\n" + invented, false},
		{"some addresses", "- {name: w, ip: 10.0.0.0/8, limit: 20/min}\n" + invented, false},
		{"some headers", "- {name: w, headers: {X-A: true}, limit: 20/min}\n" + invented, false},
		{"invented as well", "- {name: w, key: 'header:X-Other', limit: 20/min}\n" + invented, false},
		{"address and what is invented", "- {name: w, key: [ip, 'cookie:a'], limit: 20/min}\n" + invented, false},
		{"in shadow", "- {name: w, limit: 20/min, shadow: true}\n" + invented, false},
		{"both in shadow", "- {name: w, limit: 20/min, shadow: true}\n" + strings.Replace(invented, "limit:", "shadow: true, limit:", 1), true},
		{"limits nothing", "- {name: w, limit: unlimited}\n" + invented, false},
		{"refuses everything", "- {name: w, limit: deny}\n" + invented, true},
		{"by a plan with limits", "- {name: w, plan: {ip: {10.0.0.0/8: free}}, default_plan: free}\n" + invented, true},
		{"the same conditions", "- {name: w, headers: {X-A: true}, limit: 20/min}\n" + strings.Replace(invented, "limit:", "headers: {X-A: true}, limit:", 1), true},
	} {
		_, found := loadText("version: 1\njwt: {keys: env:K, algorithms: [HS256]}\nplans: {free: 10/min}\nrules:\n"+strings.ReplaceAll("  "+strings.TrimLeft(c.rules, " "), "\n-", "\n  -"),
			"K=0123456789abcdef0123456789abcdef")
		i := slices.IndexFunc(found, func(d Diagnostic) bool { return d.Severity == Error })
		switch {
		case i >= 0 && found[i].Code != "no-wall":
			t.Errorf("%s: %s", c.what, found[i].String())
		case (i < 0) != c.wall:
			t.Errorf("%s: a wall: %v, want %v", c.what, i < 0, c.wall)
		}
	}
}

// dayRules are rules that remember callers for a day.
func dayRules(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, match: /r%d, limit: 30/day fixed-window}\n", i, i)
	}
	return b.String()
}

// Which codes a file gives, beside those above and in testdata.
func TestLints(t *testing.T) {
	const (
		wall    = "version: 1\nrules:\n  - {name: wall, limit: 100/min}\n"
		jwtWall = "version: 1\njwt: {keys: env:K, algorithms: [HS256]}\nrules:\n  - {name: wall, limit: 100/min}\n"
	)
	for _, c := range []struct {
		what, file string
		want       []string
	}{
		{"a user with the address", wall + "  - {name: u, key: ['basic:user', ip], limit: 5/min}", nil},
		{"a user's header", wall + "  - {name: u, key: 'header:X-User-Id', limit: 5/min}", []string{"victim-key"}},
		{"a user for everybody", wall + "  - {name: u, key: ['basic:user', 'const:x'], limit: 5/min}", []string{"victim-key"}},
		{"an account in the path", wall + "  - {name: u, match: '/a/{account}', key: 'path:account', limit: 5/min}", []string{"victim-key"}},
		{"a thing in the path", wall + "  - {name: u, match: '/a/{item}', key: 'path:item', limit: 5/min}", nil},
		{"a secret header", wall + "  - {name: u, key: 'header:X-Api-Key', limit: 5/min}", nil},

		{"a trusted header exempts", "version: 1\nclient_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8], trusted_headers: [X-In]}\nexempt: [{headers: {x-in: true}}]", nil},
		{"a header exempts some addresses", "version: 1\nexempt: [{ip: 192.0.2.0/24, headers: {X-In: true}}]", nil},
		{"a header exempts on some paths", "version: 1\nexempt: [{match: /a, headers: {X-In: true}}]", []string{"exempt-by-anybody"}},
		{"one of two values is short", "version: 1\nexempt: [{headers: {X-In: [short, 5d1fbb6c2f0e4d5bb07a3c1d9e8f7a60]}}]", []string{"guessable-exemption"}},

		{"exempt by address only", "version: 1\nexempt: [{match: /a/, ip: 192.0.2.0/24}]\nrules: [{name: a, match: /a/b, limit: 1/s}]", nil},
		{"half of the patterns exempt", "version: 1\nexempt: [{match: /a/}]\nrules: [{name: a, match: [/a/b, /c], limit: 1/s}]", nil},
		{"all patterns exempt", "version: 1\nexempt: [{match: /a/}, {match: [/c, /d]}]\nrules: [{name: a, match: [/a/b, /c], limit: 1/s}]", []string{"unreachable-rule"}},
		{"everything exempt", "version: 1\nexempt: [{match: /}]\nrules: [{name: a, limit: 1/s}]", []string{"unreachable-rule"}},
		{"proxies counted by hops", "version: 1\nclient_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8], hops: 1}\nrules: [{name: a, ip: 10.1.0.0/16, limit: 1/s}]", nil},
		{"wider than the proxies", "version: 1\nclient_ip: {header: X-Forwarded-For, trusted_proxies: [10.1.0.0/16]}\nrules: [{name: a, ip: 10.0.0.0/8, limit: 1/s}]", nil},

		{"stricter below", "version: 1\nrules: [{name: a, limit: 10/min}, {name: b, match: /b, limit: 5/min}]", nil},
		{"other keys", "version: 1\nrules: [{name: a, limit: 10/min}, {name: b, key: 'const:b', limit: 10/min}]", nil},
		{"twins", "version: 1\nrules: [{name: a, limit: 10/min}, {name: b, limit: 10/min}]", []string{"redundant-rule"}},
		{"one is in shadow", "version: 1\nrules: [{name: a, limit: 10/min, shadow: true}, {name: b, limit: 10/min}]", nil},
		{"the wider has conditions", "version: 1\nrules: [{name: a, ip: 192.0.2.0/24, limit: 10/min}, {name: b, match: /b, limit: 10/min}]", nil},
		{"the narrower has conditions", "version: 1\nrules: [{name: a, limit: 10/min}, {name: b, ip: 192.0.2.0/24, limit: 10/min}]", []string{"redundant-rule"}},
		{"other costs", "version: 1\nrules: [{name: a, limit: 10/min}, {name: b, match: /b, cost: 2, limit: 10/min}]", nil},

		{"a route for GET alone", "version: 1\nroutes: [/a]\nrules: [{name: a, match: GET /a, limit: 10/min}]", []string{"uncovered-route"}},
		{"a route of a host", "version: 1\nroutes: [api.example/a]\nrules: [{name: a, match: /a, limit: 10/min}]", nil},
		{"a rule for some addresses", "version: 1\nroutes: [/a]\nrules: [{name: a, ip: 192.0.2.0/24, limit: 10/min}]", []string{"uncovered-route"}},
		{"an exempt route", "version: 1\nroutes: [/a]\nexempt: [{match: /a}]", nil},

		{"a host that is named", wall + "  - {name: h, match: a.example/, key: host, limit: 50/min}", nil},
		{"a day", "version: 1\nrules: [{name: a, limit: 200/day}]", nil},
		{"two days", "version: 1\nrules: [{name: a, limit: 200 per 2d}]", []string{"long-period"}},
		{"a month", "version: 1\nrules: [{name: a, limit: 200/month calendar UTC}]", []string{"long-period"}},
		{"everybody in a small table", "version: 1\nmemory: {max_keys: 64}\nrules: [{name: a, key: 'const:x', limit: 10/h}]", nil},
		{"callers in a small table", "version: 1\nmemory: {max_keys: 1000}\nrules: [{name: a, limit: 10/h}]", []string{"little-room"}},
		{"fast limits in a small table", "version: 1\nmemory: {max_keys: 1000}\nrules: [{name: a, limit: 100/s}]", nil},
		{"twenty rules and a day each", "version: 1\nrules:\n" + dayRules(20), nil},

		{"a plan by address only", "version: 1\nplans: {a: 1/s, b: 2/s}\nrules: [{name: r, plan: {ip: {192.0.2.0/24: a}}, default_plan: b}]", nil},
		{"plans and no rule for them", "version: 1\nplans: {a: 1/s}\nrules: [{name: r, limit: 1/s}]", []string{"unused-plan"}},
		{"unlimited by address", "version: 1\nplans: {a: unlimited, b: 2/s}\nrules: [{name: r, plan: {ip: {192.0.2.0/24: a}}, default_plan: b}]", nil},
		{"unlimited by cookie", "version: 1\nplans: {a: unlimited, b: 2/s}\nrules: [{name: r, plan: {'cookie:c': {5d1fbb6c2f0e4d5bb: a}}, default_plan: b}]", []string{"unlimited-by-header"}},

		{"a host without a domain", "version: 1\nroutes: [GET api/x]\nexempt: [{match: auth/}]\nrules: [{name: a, match: api/x, limit: 1/s}]", []string{"odd-host", "odd-host", "odd-host"}},
		{"a host that is meant", "version: 1\nrules: [{name: a, match: [api./x, localhost/, '[::1]/', a.example/, GET  /x], limit: 1/s}]", nil},
		{"methods that are none", "version: 1\nrules: [{name: a, match: [PSOT /a, DELET /a, GTE /a, GETT /a, PATCG /a], limit: 1/s}]", []string{"odd-method", "odd-method", "odd-method", "odd-method", "odd-method"}},
		{"methods beyond the standard ones", "version: 1\nrules: [{name: a, match: [PURGE /a, LIST /a, PROPFIND /a, MOVE /a, COPY /a, SEARCH /a, QUERY /a, LINK /a, LOCK /a, REPORT /a, BAN /a], limit: 1/s}]", nil},
		{"segments that look like something else", "version: 1\nexempt: [{match: /login$, ip: 192.0.2.0/24}]\nrules: [{name: a, match: [GET /(v1)/x, a.example/$, '/$a/b$'], limit: 1/s}]", []string{"odd-path", "odd-path", "odd-path", "odd-path", "odd-path"}},
		{"segments that are meant", "version: 1\nrules: [{name: a, match: [/%24batch, /a%24, /%28a%29, '/Items(1)', /a$b, /$1, /v1.0, /a...b, /c++, /~u, /a%2A, '/{id}'], limit: 1/s}]", nil},
		{"a short secret has a plan", wall + "  - {name: r, plan: {'cookie:c': {hunter2: a, 5d1fbb6c2f0e4d5bb: a}}, default_plan: a}\nplans: {a: 1/s}", []string{"guessable-plan"}},
		{"a trusted header has a plan", "version: 1\nclient_ip: {header: X-Forwarded-For, trusted_proxies: [10.0.0.0/8], trusted_headers: [X-In]}\nplans: {a: 1/s}\nrules: [{name: r, plan: {'header:X-In': {gold: a}}, default_plan: a}]", nil},
		{"a short claim has a plan", jwtWall + "  - {name: r, key: 'jwt:sub', plan: {'jwt:org': {acme: a}}, default_plan: a}\nplans: {a: 1/s}", nil},

		{"tokens and keys, both by default", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, key: 'header:X-Api-Key', limit: 5/min}", []string{"counted-as-stranger", "counted-as-stranger"}},
		{"tokens by default", jwtWall + "  - {name: t, match: /a/, key: 'jwt:sub', limit: 5/min}\n  - {name: k, match: GET /a/b, key: ['basic:user', ip], missing: skip, limit: 5/min}", []string{"counted-as-stranger"}},
		{"keys by default", jwtWall + "  - {name: t, key: 'jwt:sub', missing: skip, limit: 5/min}\n  - {name: k, key: 'cookie:session', limit: 5/min}", []string{"counted-as-stranger"}},
		{"a plan by key", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, plan: {'header:X-Id': {5d1fbb6c2f0e4d5bb: a}}, default_plan: a}\nplans: {a: 1/s}", []string{"counted-as-stranger"}},
		{"tokens and keys, both skip", jwtWall + "  - {name: t, key: 'jwt:sub', missing: skip, limit: 5/min}\n  - {name: k, key: 'header:X-Api-Key', missing: skip, limit: 5/min}", nil},
		{"tokens and keys on other paths", jwtWall + "  - {name: t, match: /a/, key: 'jwt:sub', limit: 5/min}\n  - {name: k, match: /b/, key: 'header:X-Api-Key', limit: 5/min}", nil},
		{"two claims", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, key: 'jwt:org', limit: 50/min}", nil},
		{"tokens and a name", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, match: POST /login, key: 'header:X-Login-Name', missing: skip, limit: 5/min}", nil},
		{"both together", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, key: ['jwt:sub', 'header:X-Api-Key'], limit: 5/min}", nil},
		{"told apart by a header", jwtWall + "  - {name: t, key: 'jwt:sub', limit: 5/min}\n  - {name: k, headers: {X-Api-Key: true}, key: 'header:X-Api-Key', limit: 5/min}", nil},
	} {
		_, found := loadText(c.file+"\n", "K=0123456789abcdef0123456789abcdef")
		if !slices.Equal(codes(found), c.want) {
			t.Errorf("%s: found %v, want %v\n%v", c.what, codes(found), c.want, found)
		}
	}
}
