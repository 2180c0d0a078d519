package decide_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/policy"
)

// ruled makes a rig whose requests are decided by rules.
func ruled(t *testing.T, rules ...policy.Rule) *rig {
	t.Helper()
	g := rigged(t, nil)
	p, err := policy.Compile(policy.Config{Version: 1, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.NewEngine(policy.EngineConfig{Policy: p, Store: g.store})
	if err != nil {
		t.Fatal(err)
	}
	w, err := header.New(header.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g.Handler, err = decide.New(decide.Config{
		Rules: func() decide.Rules { return decide.Rules{Decider: e, Explain: e.Explain, Header: w} }, Store: g.store, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The request of docs/api.md, by the rule of its answer.
func TestTheExampleOfThePage(t *testing.T) {
	g := ruled(t, policy.Rule{Name: "create-job", Match: []string{"POST /api/v1/jobs"}, Limit: "5/s burst 5"})
	const ask = `{"method":"POST","host":"api.example","path":"/api/v1/jobs","headers":{"X-Api-Key":["k"]},"ip":"203.0.113.7","cost":1}`
	for range 5 {
		g.refuses("/v1/check", ask, 200, `"allowed":true,"status":200`)
	}
	g.clock.Advance(20_000)
	const want = `{"allowed":false,"status":429,"binding":"create-job","retry_after_ms":180,"decided_at":1796022366143456,` +
		`"headers":{"Cache-Control":"no-store","Ratelimit":"\"create-job\";r=0;t=1","Ratelimit-Policy":"\"create-job\";q=5;w=1","Retry-After":"1","X-Ratelimit-Limit":"5","X-Ratelimit-Remaining":"0","X-Ratelimit-Reset":"1"},` +
		`"policies":[{"rule":"create-job","limit":"create-job","shadow":false,"allowed":false,"count":5,"capacity":5,"remaining":0,"retry_after_ms":180,"reset_after_ms":980,"mode":"exact"}]}`
	g.answers("/v1/check", ask, 200, want)

	// An explanation says the same, charges nothing, and why.
	for range 2 {
		w := g.post("/v1/explain", ask)
		for _, part := range []string{`"allowed":false`, `"binding":"create-job"`, `"status":429`, `"headers":{"Cache-Control":"no-store","Ratelimit":`, `"retry_after_ms":180`} {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s lacks %s", w.Body, part)
			}
		}
	}
	g.answers("/v1/check", ask, 200, want)
	// Another caller, and another path.
	g.refuses("/v1/check", strings.Replace(ask, "113.7", "113.8", 1), 200, `"allowed":true,"status":200,"binding":"create-job"`)
	g.answers("/v1/check", strings.Replace(ask, "/jobs", "/other", 1), 200, `{"allowed":true,"status":200,"retry_after_ms":0,"headers":{},"policies":[]}`)
}

// Who has no address cannot be counted by it; a path that can be read in two ways
// is not judged.
func TestRequestsThatCannotBeJudged(t *testing.T) {
	g := ruled(t, policy.Rule{Name: "all", Limit: "5/s"})
	g.refuses("/v1/check", `{"method":"GET","path":"/"}`, 200, `"allowed":false,"status":400,`, `"reason":"request","detail":"address: the peer has none; connect over IP`)
	g.refuses("/v1/check", `{"method":"GET","path":"/a%2fb","ip":"203.0.113.7"}`, 200, `"allowed":false,"status":400,"reason":"request","detail":"path: it can be read in two ways (encoded slash); send it in its plain form","never":true`)
	g.refuses("/v1/explain", `{"method":"GET","path":"/a%2fb","ip":"203.0.113.7"}`, 200, `"status":400`, `"reason":"request"`)
}
