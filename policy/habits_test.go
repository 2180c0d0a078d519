package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhq/weir/policy/internal/match"
)

// Who does as a hint says protects what he meant to: all below a prefix, every path of
// a host, his method. What is no pattern yet is none that loads.
func TestHintsOfMatchProtectWhatWasMeant(t *testing.T) {
	f := func(kind, field, hint string, fits ...string) {
		t.Helper()
		file := "version: 1\nrules: [{name: a, limit: 1/s, " + field + "}]\n"
		if kind == "exempt" {
			file = "version: 1\nrules: [{name: a, limit: 1/s}]\nexempt: [{" + field + "}]\n"
		}
		_, found := loadText(file)
		wantCodes(t, found, "unknown-field")
		if got := found[0].Hint; !strings.HasSuffix(got, ": `match: "+hint+"`") && !strings.HasSuffix(got, "such as `match: "+hint+"`") {
			t.Fatalf("%s: %s", field, got)
		}
		patterns, more := loadText(fmt.Sprintf("version: 1\nrules: [{name: a, limit: 1/s, match: %s}]\n", quoteOne(hint)))
		if strings.Contains(hint, "…") {
			wantCodes(t, more, strings.Split(strings.Repeat("bad-pattern ", strings.Count(hint, "…")), " ")[:strings.Count(hint, "…")]...)
			return
		}
		wantCodes(t, more)
		for _, each := range fits {
			method, host, path := cut(each)
			var p match.Path
			p.Parse(path, patterns.path)
			if len(patterns.set.Match(method, host, &p, nil)) == 0 {
				t.Errorf("%s: %s is not under `match: %s`", field, each, hint)
			}
		}
	}
	f("rule", "prefix: /api", "/api/", "GET h/api", "POST h/api/x/y")
	f("rule", "prefix: GET /api/", "GET /api/", "GET h/api/x")
	f("rule", "prefix: [/a, '/b/']", "[/a/, /b/]", "GET h/a/x", "PUT h/b/x")
	f("rule", "prefix: /api/*", "/api/")
	f("rule", "host: api.example", "api.example/", "GET api.example/x", "PUT api.example:80/")
	f("rule", "hosts: [api.example, b.example/x]", "[api.example/, b.example/x]", "GET api.example/y", "GET b.example/x")
	f("rule", "host: '*.example'", "api.example/")
	f("rule", "path: /login", "/login", "GET h/login")
	f("rule", "paths: ['/users/{id}', /x]", `["/users/{id}", /x]`, "GET h/users/7", "GET h/x")
	f("rule", "path: ^/login", "POST /login")
	f("rule", "url: 'https://api.example/x'", "POST /login")
	f("rule", "path: {a: b}", "POST /login")
	f("rule", "path: [/a, [/b]]", "POST /login")
	f("rule", "path: []", "POST /login")
	f("rule", "method: PUT", "PUT /…")
	f("rule", "verb: put", "PUT /…")
	f("rule", "methods: [PUT, delete]", "[PUT /…, DELETE /…]")
	f("rule", "method: '*'", "POST /login")
	f("exempt", "prefix: /internal", "/internal/")
	f("exempt", "method: GET", "GET /…")
	f("exempt", "path: .*", "GET /healthz")
}

// quoteOne quotes a pattern, and no list of them.
func quoteOne(text string) string {
	if strings.HasPrefix(text, "[") {
		return text
	}
	return fmt.Sprintf("%q", text)
}

// cut takes `GET h/x` apart.
func cut(text string) (method, host, path string) {
	method, rest, _ := strings.Cut(text, " ")
	at := strings.IndexByte(rest, '/')
	return method, rest[:at], rest[at:]
}
