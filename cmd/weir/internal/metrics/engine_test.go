package metrics

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// run decides by rules, counted by m.
func run(t *testing.T, m *Metrics, c policy.Config) weir.Decider {
	t.Helper()
	c.Version = 1
	p, err := policy.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		t.Fatal(err)
	}
	m.config.Stats = s.Stats
	m.Loaded(p)
	e, err := policy.NewEngine(policy.EngineConfig{Policy: p, Store: m.Store(s), Observe: m.Observe})
	if err != nil {
		t.Fatal(err)
	}
	return m.Timed(e)
}

// What an engine tells of is counted as the page says.
func TestByAnEngine(t *testing.T) {
	m := made(t, Config{})
	d := run(t, m, policy.Config{
		Rules: []policy.Rule{
			{Name: "api", Match: []string{"/api/"}, Limit: "2/min"},
			{Name: "day", Match: []string{"/api/"}, Limits: policy.Limits{{Limit: "1/day fixed-window"}, {Limit: "100/h"}}, Shadow: true},
			{Name: "vault", Match: []string{"/vault"}, Limit: "deny"},
			{Name: "trap", Match: []string{"/vault"}, Limit: "deny", Shadow: true},
		},
	})
	ask := func(path string, times int) {
		for range times {
			d.Decide(t.Context(), &weir.Request{Method: "GET", Path: path, Addr: netip.MustParseAddr("203.0.113.7")}, &weir.Outcome{})
		}
	}
	ask("/api/x", 3)
	ask("/vault", 2)
	ask("/elsewhere", 4)
	ask("/api/a%2fb", 1)
	for _, want := range []string{
		`weir_decisions_total{limit="api",mode="exact",outcome="allowed",rule="api",shadow="false"} 2`,
		`weir_decisions_total{limit="api",mode="exact",outcome="refused",rule="api",shadow="false"} 1`,
		`weir_decisions_total{limit="day/1d",mode="exact",outcome="allowed",rule="day",shadow="true"} 1`,
		`weir_decisions_total{limit="day/1d",mode="exact",outcome="refused",rule="day",shadow="true"} 2`,
		`weir_decisions_total{limit="",mode="exact",outcome="denied",rule="vault",shadow="false"} 2`,
		`weir_decisions_total{limit="",mode="exact",outcome="invalid",rule="",shadow="false"} 1`,
		`weir_unmatched_total 4`,
		`weir_decision_seconds_count 10`,
		`weir_keys{rule="api"} 1`,
	} {
		has(t, m, want)
	}
}

// Blocks are counted by limit, and those that a rule in shadow would make apart. Limits
// without one have no such series.
func TestBlocksAreCounted(t *testing.T) {
	m := made(t, Config{})
	d := run(t, m, policy.Config{
		Plans: map[string]policy.Limits{"free": {{Limit: "2/s block 1h"}}, "paid": {{Limit: "100/s"}}},
		Rules: []policy.Rule{
			{Name: "api", Match: []string{"/api/"}, Plan: &policy.Plan{From: "header:X-Key", Table: map[string]string{"0123456789abcdef": "paid"}}, DefaultPlan: "free"},
			{Name: "tried", Match: []string{"/api/"}, Limit: "2/s block 1h", Shadow: true},
			{Name: "plain", Match: []string{"/api/"}, Limit: "3/s"},
			{Name: "quiet", Match: []string{"/quiet"}, Limit: "3/s block 1h"},
		},
	})
	ask := func(times int, header map[string][]string) {
		for range times {
			d.Decide(t.Context(), &weir.Request{Method: "GET", Path: "/api/x", Header: header, Addr: netip.MustParseAddr("203.0.113.7")}, &weir.Outcome{})
		}
	}
	ask(1, map[string][]string{"X-Key": {"0123456789abcdef"}})
	ask(4, nil) // the first passes: under the other plan one of two was used
	for _, want := range []string{
		`weir_blocked_total{limit="api",rule="api",shadow="false"} 3`,
		`weir_blocked_total{limit="tried",rule="tried",shadow="true"} 3`,
		`weir_blocked_total{limit="quiet",rule="quiet",shadow="false"} 0`,
		`weir_decisions_total{limit="api",mode="exact",outcome="refused",rule="api",shadow="false"} 3`,
	} {
		has(t, m, want)
	}
	if n := len(lines(scrape(t, m), "weir_blocked_total{")); n != 3 {
		t.Errorf("%d series, want 3: those of the limits with a block", n)
	}
	m.Took(&weir.Outcome{Decisions: []weir.Decision{{Blocked: true, RetryAfter: 9}}})
	m.Took(&weir.Outcome{Decisions: []weir.Decision{{RetryAfter: 9}}})
	has(t, m, `weir_blocked_total{limit="take",rule="take",shadow="false"} 1`)
}

// 100,000 requests, no two of which have a method, a host, a path, a header or an
// address in common.
func TestRequestsMakeNoSeries(t *testing.T) {
	m := made(t, Config{})
	d := run(t, m, policy.Config{Rules: []policy.Rule{
		{Name: "all", Limit: "5/s"},
		{Name: "named", Key: []string{"header:X-Name", "host"}, Missing: policy.MissingSkip, Limit: "5/s"},
	}})
	o := &weir.Outcome{}
	request := func(i int) *weir.Request {
		text := fmt.Sprint("X", i)
		return &weir.Request{
			Method: "M" + text, Host: text + ".example", Path: "/" + text, Query: text,
			Header:     map[string][]string{"X-Name": {text}, "User-Agent": {text}},
			RemoteAddr: fmt.Sprintf("10.%d.%d.%d:%d", i>>16&255, i>>8&255, i&255, i&0xffff),
		}
	}
	d.Decide(t.Context(), request(0), o)
	before, err := testutil.GatherAndCount(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		d.Decide(t.Context(), request(i), o)
	}
	after, err := testutil.GatherAndCount(m.registry)
	if err != nil || before != after {
		t.Errorf("%d series before, %d after, %v", before, after, err)
	}
	has(t, m, `weir_keys{rule="all"} 100000`)
}
