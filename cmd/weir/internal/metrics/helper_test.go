package metrics

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// now is when the decisions of these tests were made, in microseconds.
const now weir.Micros = 1_796_025_966_123_456

// A clock is turned by hand, and by itself with each reading.
type clock struct {
	at   atomic.Int64 // nanoseconds since 1970
	step time.Duration
}

func newClock() *clock {
	c := &clock{}
	c.at.Store(int64(now) * 1000)
	return c
}

func (c *clock) now() time.Time { return time.Unix(0, c.at.Add(int64(c.step))) }

func made(t testing.TB, c Config) *Metrics {
	t.Helper()
	if c.Now == nil {
		c.Now = newClock().now
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// info makes a rule of limits: `api 5/s`, `api/1d 100/day`.
func info(index int, name string, shadow bool, limits ...string) *policy.RuleInfo {
	r := &policy.RuleInfo{Index: index, Name: name, Shadow: shadow}
	for _, text := range limits {
		limit, spec, _ := strings.Cut(text, " ")
		r.Limits = append(r.Limits, weir.MustLimit(limit, spec))
	}
	return r
}

// judged makes what was found of rules that match: each with one take for each of
// its limits, of which none passes where refuse names the rule.
func judged(refuse string, rules ...*policy.RuleInfo) *policy.Finding {
	o := &weir.Outcome{Allowed: refuse == "", Binding: 0, Stamp: weir.Stamp{Now: now}}
	f := &policy.Finding{Request: &weir.Request{}, Outcome: o, Caller: sure()}
	for _, r := range rules {
		a := policy.Applied{Rule: r, Kinds: "ip", Shadow: r.Shadow, Take: len(o.Takes), Takes: len(r.Limits)}
		for _, l := range r.Limits {
			o.Takes = append(o.Takes, weir.Take{Limit: l, Cost: 1})
			o.Decisions = append(o.Decisions, weir.Decision{Allowed: r.Name != refuse, Granted: 1})
		}
		f.Applied = append(f.Applied, a)
	}
	return f
}

// without makes what was found of one rule that made no take.
func without(reason policy.Reason, cause weir.Cause, r *policy.RuleInfo) *policy.Finding {
	f := &policy.Finding{Request: &weir.Request{}, Outcome: &weir.Outcome{Cause: cause, Binding: -1}, Reason: reason, Caller: sure()}
	if r != nil {
		f.Outcome.Rule = r.Name
		f.Applied = []policy.Applied{{Rule: r, Shadow: r.Shadow, Cause: cause}}
	}
	return f
}

func sure() clientip.Answer {
	return clientip.Answer{Addr: netip.AddrFrom4([4]byte{203, 0, 113, 7}), Sure: true}
}

// scrape gives the text of /metrics.
func scrape(t testing.TB, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// lines gives the series whose name begins so.
func lines(text, prefix string) (found []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// has checks one series of a scrape.
func has(t testing.TB, m *Metrics, want string) {
	t.Helper()
	if text := scrape(t, m); !strings.Contains("\n"+text, "\n"+want+"\n") {
		name, _, _ := strings.Cut(want, "{")
		t.Errorf("no %s\namong %s", want, strings.Join(lines(text, name), "\n      "))
	}
}

func stats() memstore.Stats {
	return memstore.Stats{Keys: 7, MaxKeys: 875_000, Evicted: 12, ClockSteps: 1, Rules: map[string]memstore.RuleStats{
		"api": {Keys: 5, Used: 105, Slots: 9, HasSlots: true, Overflow: 3}, "login": {Keys: 2, Used: 2},
	}}
}
