package metrics

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/policy"
)

// busy is Metrics that have seen one of everything.
func busy(t *testing.T, c Config) *Metrics {
	t.Helper()
	c.Version, c.Revision = "1.2.3", "abcdef0"
	c.Stats, c.Enforce = stats, func() policy.Enforce { return policy.Shadow }
	m := made(t, c)
	m.sampled = func() bool { return true }
	api := info(0, "api", false, "api 5/s block 1m")
	login := info(1, "login", true, "login/1m 20/min", "login/1d 200/day")
	vault := info(2, "vault", false, "vault deny")
	m.loaded([]*policy.RuleInfo{api, login, vault}, "0123456789ab")
	m.Proxy(
		func() proxy.Stats {
			return proxy.Stats{Unreachable: 7, Malformed: 8, Gone: 6, Crowded: 5, Drained: 4, SlotsLost: 2}
		},
		func() (now, most int) { return 3, 1000 },
	)
	m.Listener("ops", func() listen.Counts { return listen.Counts{Accepted: 9, RefusedFull: 2, RefusedPeer: 1, Open: 3} })

	m.Observe(t.Context(), judged("", api, login))
	m.Observe(t.Context(), judged("login", api, login))
	overflow := judged("api", api)
	overflow.Outcome.Decisions[0].Mode = weir.Overflow
	overflow.Outcome.Decisions[0].Blocked = true
	m.Observe(t.Context(), overflow)
	m.Observe(t.Context(), without(policy.ReasonDeny, weir.ByDeny, vault))
	m.Observe(t.Context(), without(policy.ReasonMissing, weir.ByMissing, api))
	m.Observe(t.Context(), without(policy.ReasonFault, weir.ByFault, api))
	m.Observe(t.Context(), without(policy.ReasonRequest, weir.ByRequest, nil))
	m.Observe(t.Context(), without(policy.ReasonUnmatched, weir.ByNothing, nil))
	m.Observe(t.Context(), without(policy.ReasonExempt, weir.ByNothing, nil))
	fallen := judged("", api)
	fallen.Caller.Sure, fallen.Caller.Reason = false, clientip.InvalidHop
	m.Observe(t.Context(), fallen)

	store := m.Store(failing{weir.ErrUnknown})
	if _, _, err := store.Take(t.Context(), nil, nil); err == nil {
		t.Fatal("the store's error is lost")
	}
	m.Timed(instant{}).Decide(t.Context(), &weir.Request{}, &weir.Outcome{})
	m.LoadFailed()
	return m
}

func TestWhatAScrapeSays(t *testing.T) {
	c := newClock()
	c.step = 3 * time.Microsecond
	got := strings.ReplaceAll(scrape(t, busy(t, Config{Now: c.now})), runtime.Version(), "GOVERSION")
	golden(t, "metrics.txt", got)
}

func TestLint(t *testing.T) {
	m := busy(t, Config{Runtime: true})
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if own, err := testutil.CollectAndLint(m); err != nil || len(own) > 0 {
		t.Errorf("%v, %v", own, err)
	}
	if text := scrape(t, m); len(lines(text, "go_goroutines ")) == 0 || len(lines(text, "process_start_time_seconds ")) == 0 {
		t.Error("nothing of the runtime, or of the process")
	}
}

// What the page promises and what a scrape says are the same names.
func TestThePageNamesThemAll(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../../../docs/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("\\| `(weir_[a-z_]+)").FindAllStringSubmatch(string(page), -1) {
		told[name[1]] = true
	}
	made := map[string]bool{}
	for _, line := range lines(scrape(t, busy(t, Config{})), "# TYPE ") {
		made[strings.Fields(line)[2]] = true
	}
	if diff := cmp.Diff(told, made); diff != "" {
		t.Errorf("docs/metrics.md (-) and a scrape (+):\n%s", diff)
	}
}

func TestReload(t *testing.T) {
	m := made(t, Config{})
	api, login := info(0, "api", false, "api 5/s"), info(1, "login", false, "login/1m 20/min", "login/1d 200/day")
	m.loaded([]*policy.RuleInfo{api, login}, "first")
	m.Observe(t.Context(), judged("", api, login))
	login2, api2 := info(0, "login", false, "login/1d 300/day"), info(1, "new", false, "new 1/s")
	m.loaded([]*policy.RuleInfo{login2, api2}, "second")
	// One request that began under the old rules ends now.
	m.Observe(t.Context(), judged("", api, login))

	if gone := append(lines(scrape(t, m), `weir_decisions_total{limit="api"`), lines(scrape(t, m), `weir_decisions_total{limit="login/1m"`)...); len(gone) > 0 {
		t.Errorf("what was removed is still told of: %s", gone)
	}
	has(t, m, `weir_decisions_total{limit="login/1d",mode="exact",outcome="allowed",rule="login",shadow="false"} 2`)
	has(t, m, `weir_decisions_total{limit="new",mode="exact",outcome="refused",rule="new",shadow="false"} 0`)
	has(t, m, `weir_rule_last_match_timestamp_seconds{rule="login"} 1.796025966e+09`)
	has(t, m, `weir_rule_last_match_timestamp_seconds{rule="new"} 0`)
	has(t, m, `weir_config_info{digest="second"} 1`)
	has(t, m, `weir_config_last_reload_successful 1`)
	m.LoadFailed()
	has(t, m, `weir_config_last_reload_successful 0`)
	m.loaded([]*policy.RuleInfo{login2}, "third")
	has(t, m, `weir_config_last_reload_successful 1`)
}

func TestBeforeAnyRules(t *testing.T) {
	m := made(t, Config{})
	has(t, m, `weir_config_last_reload_successful 0`)
	has(t, m, `weir_config_last_reload_success_timestamp_seconds 0`)
	if found := lines(scrape(t, m), "weir_keys"); len(found) > 0 {
		t.Errorf("no store is known, and yet %s", found)
	}
}

// 100,000 requests, no two of which have a method, a path or a key in common.
func TestCallersMakeNoSeries(t *testing.T) {
	m := made(t, Config{})
	api := info(0, "api", false, "api 5/s")
	m.loaded([]*policy.RuleInfo{api}, "")
	f := judged("", api)
	m.Observe(t.Context(), f)
	before, err := testutil.GatherAndCount(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100_000 {
		f.Request.Method, f.Request.Path = fmt.Sprint("M", i), fmt.Sprint("/", i)
		f.Request.Host, f.Request.Query = fmt.Sprint(i, ".example"), fmt.Sprint("q=", i)
		f.Request.Header = map[string][]string{"User-Agent": {fmt.Sprint("ua/", i)}}
		f.Applied[0].Key = weir.Key{byte(i), byte(i >> 8), byte(i >> 16)}
		f.Caller.Reason = clientip.Reason(i) // what is none counts as the last
		m.Observe(t.Context(), f)
		m.Took(&weir.Outcome{ // a period of the caller's choice
			Takes:     []weir.Take{{Limit: f.Outcome.Takes[0].Limit}},
			Decisions: []weir.Decision{{Allowed: true}},
		})
	}
	after, err := testutil.GatherAndCount(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	if after != before+1 { // take's first
		t.Errorf("%d series before, %d after", before, after)
	}
	has(t, m, `weir_decisions_total{limit="take",mode="exact",outcome="allowed",rule="take",shadow="false"} 100000`)
}

// What no rule, limit, mode or reason stands for is not counted and does no harm.
func TestStrayFindings(t *testing.T) {
	m := made(t, Config{})
	api := info(0, "api", false, "api 5/s")
	m.loaded([]*policy.RuleInfo{api}, "")
	before := scrape(t, m)

	stray := judged("", info(7, "gone", false, "gone 5/s"))
	m.Observe(t.Context(), stray)
	mode := judged("", api)
	mode.Outcome.Decisions[0].Mode = 99
	m.Observe(t.Context(), mode)
	short := judged("", api)
	short.Outcome.Decisions = nil // a fault emptied it
	m.Observe(t.Context(), short)
	m.Observe(t.Context(), without(policy.ReasonFault, weir.ByFault, info(7, "gone", false)))
	m.Observe(t.Context(), &policy.Finding{Outcome: &weir.Outcome{}, Reason: policy.ReasonOff})
	m.Observe(t.Context(), &policy.Finding{Outcome: &weir.Outcome{}, Reason: 99})

	after := strings.ReplaceAll(scrape(t, m), `match_timestamp_seconds{rule="api"} 1.796025966e+09`, `match_timestamp_seconds{rule="api"} 0`)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
}

// What a rule says without its limits is counted once, for that rule; for shadow
// rules, too; and so is a store's failure, for the rule that it decided by.
func TestDecisionsWithoutTakes(t *testing.T) {
	m := made(t, Config{})
	api, trial := info(0, "api", false, "api 5/s"), info(1, "trial", true, "trial 5/s")
	m.loaded([]*policy.RuleInfo{api, trial}, "")

	f := judged("", api, trial) // trial would deny, and api lets pass
	f.Applied[1].Takes, f.Applied[1].Cause = 0, weir.ByDeny
	m.Observe(t.Context(), f)
	has(t, m, `weir_decisions_total{limit="",mode="exact",outcome="denied",rule="trial",shadow="true"} 1`)

	f = judged("", api, trial) // api fails and is let pass
	f.Applied[0].Takes, f.Applied[0].Cause = 0, weir.ByFault
	m.Observe(t.Context(), f)
	has(t, m, `weir_decisions_total{limit="",mode="open",outcome="fault",rule="api",shadow="false"} 1`)

	f = without(policy.ReasonFault, weir.ByFault, api) // api fails and refuses
	m.Observe(t.Context(), f)
	has(t, m, `weir_decisions_total{limit="",mode="closed",outcome="fault",rule="api",shadow="false"} 1`)

	f.Applied[0].Cause = weir.ByLimits // the store fails, and api refuses for it
	m.Observe(t.Context(), f)
	has(t, m, `weir_decisions_total{limit="",mode="closed",outcome="fault",rule="api",shadow="false"} 2`)

	f.Outcome.Allowed, f.Outcome.Rule = true, "" // or all let pass
	m.Observe(t.Context(), f)
	has(t, m, `weir_decisions_total{limit="",mode="open",outcome="fault",rule="",shadow="false"} 1`)
}

func TestEnforce(t *testing.T) {
	state := policy.Enforce("")
	m := made(t, Config{Enforce: func() policy.Enforce { return state }})
	has(t, m, `weir_enforce{state="on"} 1`)
	state = policy.Off
	has(t, m, `weir_enforce{state="on"} 0`)
	has(t, m, `weir_enforce{state="off"} 1`)
}

func TestARuleMayBeCalledTake(t *testing.T) {
	m := made(t, Config{})
	take := info(0, "take", false, "take 5/s")
	m.loaded([]*policy.RuleInfo{take}, "")
	m.Observe(t.Context(), judged("", take))
	m.Took(&weir.Outcome{Takes: make([]weir.Take, 1), Decisions: make([]weir.Decision, 1)})
	has(t, m, `weir_decisions_total{limit="take",mode="exact",outcome="allowed",rule="take",shadow="false"} 1`)
}

func TestAClockIsNeeded(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "time.Now") {
		t.Errorf("got %v", err)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("WEIR_UPDATE") != "" { // writes what is, to be looked at
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-) and what is (+):\n%s", path, diff)
	}
}
