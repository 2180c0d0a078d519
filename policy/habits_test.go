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

// Who does as a hint says has the limit that he wrote in fields, and all of it.
func TestHintsOfLimitFieldsSayTheWholeLimit(t *testing.T) {
	f := func(rule, want string) {
		t.Helper()
		_, found := loadText("version: 1\nrules: [{name: a, " + rule + "}]\n")
		if len(found) == 0 {
			t.Fatalf("%s: nothing was found", rule)
		}
		for _, d := range found {
			if d.Code == "no-limit" || d.Code == "bad-limit" && len(found) > 1 {
				continue // which follows from it
			}
			hint := between(d.Hint, "`limit: ", "`")
			if such := strings.Contains(d.Hint, "such as `"); such != strings.HasPrefix(want, "such as ") || strings.TrimPrefix(want, "such as ") != hint {
				t.Errorf("%s: %s", rule, d.String())
				continue
			}
			_, after := loadText(fmt.Sprintf("version: 1\nrules: [{name: a, limit: %s}]\n", hint))
			wantCodes(t, after)
		}
	}
	// Fields of a rule.
	f("limit: 10/s, block: 5m", "10/s block 5m")
	f("limit: 10/s, ban: 5m, burst: 20", "10/s burst 20 block 5m")
	f("limit: 10/s, wait: 2s", "10/s leaky-bucket wait 2s")
	f("limit: 10/s leaky-bucket wait 2s, queue: 5", "10/s leaky-bucket wait 2s queue 5")
	f("limit: 5 concurrent, lease: 30s", "5 concurrent lease 30s")
	f("limit: 10/day, calendar: Europe/Paris", "10/day calendar Europe/Paris")
	f("limit: 10/s fixed-window, spread: true", "10/s fixed-window spread")
	f("limit: 10/s, overdraft: 50", "10/s overdraft 50")
	f("limit: 10, per: 1m", "10/min")
	f("rate: 10/s", "10/s")
	f("concurrent: 3", "3 concurrent")
	f("limit: 10/s, max: 5", "such as 10/min")
	f("limit: 10/s, wait: soon", "such as 10/s leaky-bucket wait 2s")
	f("limit: 10/s, wait: [2s]", "such as 10/s leaky-bucket wait 2s")
	f("limit: 10/s, block: 300", "such as 10/min block 5m")
	f("limit: 10/s, spread: true", "such as 10/min fixed-window spread")
	f("limit: 10/s, calendar: UTC", "such as 10/day calendar UTC")
	f("limit: 10/s, concurrent: 3", "such as 3 concurrent")
	f("limit: 10/s, lease: 1m", "such as 10 concurrent lease 1m")
	f("limits: [10/s, 100/h], block: 1h", "such as 10/min block 1h")
	f("limits: [10/s], rate: 5/s", "such as 5/s")
	// Fields of an entry of a list.
	f("limits: [{name: x, limit: 10/s, block: 5m}, 9/min]", "10/s block 5m")
	f("limits: {requests: 5, window: 10s}", "5 per 10s")
	// A mapping in the place of the text.
	f("limit: {rate: 10, per: 1m, block: 5m}", "10/min block 5m")
	f("limit: {requests: 100, window: 1m, algorithm: sliding-window}", "100/min sliding-window")
	f("limit: {requests: 100, window: 1m, algorithm: TOKEN_BUCKET}", "100/min")
	f("limit: {count: 5, unit: minute, burst: 10}", "5/min burst 10")
	f("limit: {concurrent: 10}", "10 concurrent")
	f("limit: {concurrent: 10, lease: 5m}", "10 concurrent lease 5m")
	f("limit: {average: 10, period: 1s, burst: 20}", "10/s burst 20")
	f("limit: {requests_per_unit: 10, unit: SECOND}", "10/s")
	f("limits: [9/h, {limit: {rate: 10, per: 1m}}]", "10/min")
	const form = "such as 10/min burst 20"
	f("limit: {count: 5, unit: minute, burst: 10, concurrent: 3}", form)
	f("limit: {rate: 10/s, per: 1m}", form)
	f("limit: {rate: 10, count: 10, per: 1m}", form)
	f("limit: {rate: 10, per: 1m, jitter: 5s}", form)
	f("limit: {rate: 10, per: 1m, burst: {max: 5}}", form)
	f("limit: {rate: 10, per: 1m, burst: \"\"}", form)
	f("limit: {rate: 10, per: 1M}", form)
	f("limit: {rate: 10, window: 60}", form)
	f("limit: {average: 10}", form)
	f("limit: {rate: 10, per: 1m, algorithm: gcra}", form)
}

// A field that is no part of a limit, and is like another field, is asked for as that; no
// part of a limit is.
func TestPartsOfLimitsAreNoOtherFields(t *testing.T) {
	for _, f := range limitFields {
		for _, name := range f.names {
			if name == "limit" {
				continue
			}
			for _, file := range []string{"rules: [{name: a, limit: 1/s, %s: 2s}]", "rules: [{name: a, limits: [{limit: 1/s, %s: 2s}]}]", "rules: []\nplans: {free: {limit: 1/s, %s: 2s}}"} {
				_, found := loadText(fmt.Sprintf("version: 1\n"+file+"\n", name))
				if wantCodes(t, found, "unknown-field"); !strings.HasPrefix(found[0].Hint, "it is said in ") {
					t.Error(found[0].String())
				}
			}
		}
	}
	_, found := loadText("version: 1\nrules: [{name: a, limit: 1/s, tag: 2s, tags: [a]}]\n")
	wantCodes(t, found, "unknown-field", "unknown-field")
	if !strings.Contains(found[0].Hint, "no tags") {
		t.Error(found[0].Hint)
	}
}

// Where a text holds several limits, the hint says where they go: followed, the file
// loads. So does the hint for a list in a list.
func TestSeveralLimitsStandInOneList(t *testing.T) {
	f := func(file, hint, followed string) {
		t.Helper()
		_, found := loadText("version: 1\n" + file + "\n")
		if len(found) == 0 || found[0].Hint != hint {
			t.Errorf("%s: %v", file, found)
		}
		_, after := loadText("version: 1\n" + followed + "\n")
		wantCodes(t, after)
	}
	rule := func(fields string) string { return "rules: [{name: a, " + fields + "}]" }
	planned := func(plan string) string {
		return "plans: {free: " + plan + "}\n" + rule("plan: {ip: {10.0.0.0/8: free}}, default_plan: free")
	}
	const list, each, outer = "in a rules file several are a list: ", "write each as an element of the list: ", "write its elements in the outer list"
	f(rule(`limit: "10/s, 100/min"`), list+"limits: [10/s, 100/min]", rule("limits: [10/s, 100/min]"))
	f(rule(`limits: "10/s, 100/min"`), list+"limits: [10/s, 100/min]", rule("limits: [10/s, 100/min]"))
	f(rule(`limits: ["10/s, 100/min"]`), list+"limits: [10/s, 100/min]", rule("limits: [10/s, 100/min]"))
	f(rule(`limits: [{limit: "10/s, 100/min"}]`), list+"limits: [10/s, 100/min]", rule("limits: [10/s, 100/min]"))
	f(rule(`limits: [{name: slow, limit: "100/min, 1000/day"}]`), each+"100/min, 1000/day", rule("limits: [100/min, 1000/day]"))
	f(rule(`limits: [9/h, "10/s, 100/min"]`), each+"10/s, 100/min", rule("limits: [9/h, 10/s, 100/min]"))
	f(planned(`"10/s, 100/min"`), list+"free: [10/s, 100/min]", planned("[10/s, 100/min]"))
	f(planned(`["10/s, 100/min"]`), list+"free: [10/s, 100/min]", planned("[10/s, 100/min]"))
	f(planned(`[9/h, {name: x, limit: "10/s, 100/min"}]`), each+"10/s, 100/min", planned("[9/h, 10/s, 100/min]"))
	f(rule("limits: [[10/s, 100/min]]"), outer, rule("limits: [10/s, 100/min]"))
	f(rule("limits: [9/h, {name: x, limit: [10/s, 100/min]}]"), outer, rule("limits: [9/h, 10/s, 100/min]"))
	f(planned("[[10/s, 100/min]]"), outer, planned("[10/s, 100/min]"))
	f(rule("limit: 10/s, match: [[/a, /b]]"), outer, rule("limit: 10/s, match: [/a, /b]"))
	f(rule("limit: 10/s, ip: [[10.0.0.0/8]]"), outer, rule("limit: 10/s, ip: [10.0.0.0/8]"))
	f("rules: [[{name: a, limit: 10/s}]]", outer, rule("limit: 10/s"))
}

// between is what stands in a text between two others; "" where they do not.
func between(text, before, behind string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, behind)
	return found
}
