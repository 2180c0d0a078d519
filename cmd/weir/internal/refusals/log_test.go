package refusals_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/cmd/weir/internal/refusals"
	"github.com/weirhq/weir/policy"
)

// A rig is a Log whose clock is turned by hand, and what it wrote.
type rig struct {
	*refusals.Log
	t   *testing.T
	now time.Time
	out bytes.Buffer
}

func rigged(t *testing.T, c refusals.Config, level slog.Level) *rig {
	t.Helper()
	g := &rig{t: t, now: time.Unix(1_796_025_966, 0)}
	c.Now = func() time.Time { return g.now }
	c.Logger = slog.New(slog.NewJSONHandler(&g.out, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
	var err error
	if g.Log, err = refusals.New(c); err != nil {
		t.Fatal(err)
	}
	return g
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func (g *rig) observe(f *policy.Finding) { g.Observe(g.t.Context(), f) }

// wrote checks the lines since it was asked last.
func (g *rig) wrote(want ...string) {
	g.t.Helper()
	got := g.out.String()
	g.out.Reset()
	text := strings.Join(want, "\n")
	if len(want) > 0 {
		text += "\n"
	}
	if diff := cmp.Diff(text, got); diff != "" {
		g.t.Errorf("want (-), got (+):\n%s", diff)
	}
}

var key = [...]byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3}

// refused makes what was found of a request that one rule refuses for 180 ms and
// a bit.
func refused(rule, method string) *policy.Finding {
	o := &weir.Outcome{
		RetryAfter: 180_001,
		Takes:      []weir.Take{{Limit: weir.MustLimit(rule+"/1s", "5/s"), Cost: 2}},
		Decisions:  []weir.Decision{{RetryAfter: 180_001}},
	}
	a := policy.Applied{Rule: &policy.RuleInfo{Name: rule}, Plan: "free", Kinds: "jwt:sub", Takes: 1}
	copy(a.Key[:], key[:])
	return &policy.Finding{Request: &weir.Request{Method: method}, Outcome: o, Applied: []policy.Applied{a}}
}

const line = `{"level":"INFO","msg":"refused","method":"GET","key_kind":"jwt:sub","key":"deadbeef","plan":"free","rule":"api",` +
	`"reason":"limits","status":429,"shadow":false,"limit":"api/1s","cost":2,"mode":"exact","retry_after_ms":181}`

func TestARefusal(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelInfo)
	g.observe(refused("api", http.MethodGet))
	g.wrote(line)
}

func TestWhatIsToldOfEach(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelInfo)
	never := refused("api", "BREW")
	never.Outcome.Never, never.Outcome.Decisions[0] = true, weir.Decision{Never: true, Mode: weir.Overflow}
	g.observe(never)
	g.wrote(`{"level":"INFO","msg":"refused","method":"other","key_kind":"jwt:sub","key":"deadbeef","plan":"free","rule":"api",` +
		`"reason":"limits","status":422,"shadow":false,"limit":"api/1s","cost":2,"mode":"overflow","never":true}`)

	blocked := refused("api", http.MethodGet)
	blocked.Outcome.Decisions[0].Blocked = true
	g.observe(blocked)
	g.wrote(strings.Replace(line, `"retry_after_ms"`, `"blocked":true,"retry_after_ms"`, 1))

	g.observe(&policy.Finding{
		Request: &weir.Request{Method: http.MethodPost}, Reason: policy.ReasonMissing,
		Outcome: &weir.Outcome{Cause: weir.ByMissing, Binding: -1, Rule: "api", Err: errors.New("no X-Api-Key")},
		Applied: []policy.Applied{{Rule: &policy.RuleInfo{Name: "api"}, Kinds: "header:X-Api-Key", Missing: "header:X-Api-Key"}},
	})
	g.wrote(`{"level":"INFO","msg":"refused","method":"POST","rule":"api",` +
		`"reason":"missing","status":400,"shadow":false,"missing":"header:X-Api-Key","mode":"exact"}`)

	g.observe(&policy.Finding{
		Request: &weir.Request{Method: http.MethodPost}, Reason: policy.ReasonRequest,
		Outcome: &weir.Outcome{Cause: weir.ByRequest, Binding: -1, Err: weir.Invalid("path", "/a%2fb", "ambiguous", "")},
	})
	g.wrote(`{"level":"INFO","msg":"refused","method":"POST","rule":"","reason":"request","status":400,"shadow":false,"mode":"exact"}`)
}

// A shadow rule beside one that refuses: both are told, each by its rule. The
// longest wait of several is meant, and never before all.
func TestWouldBeRefusals(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelInfo)
	f := refused("api", http.MethodGet)
	trial := policy.Applied{Rule: &policy.RuleInfo{Name: "trial", Shadow: true}, Kinds: "ip", Shadow: true, Take: 1, Takes: 3}
	for i, wait := range []weir.Micros{1000, 9000, 5000} {
		f.Outcome.Takes = append(f.Outcome.Takes, weir.Take{Limit: weir.MustLimit(fmt.Sprintf("trial/%d", i), "5/s"), Cost: 1, Join: weir.Advise})
		f.Outcome.Decisions = append(f.Outcome.Decisions, weir.Decision{RetryAfter: wait})
	}
	f.Applied = append(f.Applied, trial)
	g.observe(f)
	of := func(limit, end string, status int) string {
		return fmt.Sprintf(`{"level":"INFO","msg":"would refuse","method":"GET","rule":"trial",`+
			`"reason":"limits","status":%d,"shadow":true,"limit":"trial/%s","cost":1,"mode":"exact",%s}`, status, limit, end)
	}
	g.wrote(line, of("1", `"retry_after_ms":9`, 429))
	f.Outcome.Decisions[2].Blocked = true
	g.observe(f)
	g.wrote(line, of("1", `"blocked":true,"retry_after_ms":9`, 429))
	f.Outcome.Decisions[1] = weir.Decision{Never: true}
	g.observe(f)
	// Decision 1 is that of trial's first limit.
	g.wrote(line, of("0", `"never":true`, 422))
}

// What a shadow rule would refuse without its limits.
func TestWouldBeRefusalsWithoutTakes(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelInfo)
	f := func(cause weir.Cause, lacking, end string) {
		t.Helper()
		g.observe(&policy.Finding{
			Request: &weir.Request{Method: http.MethodGet}, Outcome: &weir.Outcome{Allowed: true, Cause: weir.ByNothing},
			Applied: []policy.Applied{{Rule: &policy.RuleInfo{Name: "trial"}, Shadow: true, Kinds: "ip", Cause: cause, Missing: lacking}},
		})
		if end == "" {
			g.wrote()
			return
		}
		g.wrote(`{"level":"INFO","msg":"would refuse","method":"GET","rule":"trial",` + end + `,"mode":"exact"}`)
	}
	f(weir.ByDeny, "", `"reason":"deny","status":403,"shadow":true`)
	f(weir.ByMissing, "header:X-Api-Key", `"reason":"missing","status":400,"shadow":true,"missing":"header:X-Api-Key"`)
	f(weir.ByMissing, "jwt:sub", `"reason":"missing","status":401,"shadow":true,"missing":"jwt:sub"`)
	f(weir.ByRequest, "", `"reason":"request","status":400,"shadow":true`)
	f(weir.ByFault, "", "") // no refusal: see failures
	f(weir.ByLimits, "", "")
}

func TestFailures(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelInfo)
	f := &policy.Finding{Request: &weir.Request{Method: http.MethodGet}, Reason: policy.ReasonFault, Outcome: &weir.Outcome{}}
	f.Outcome.Fail(weir.Open, fmt.Errorf("dial 10.0.0.1: %w", weir.ErrNotApplied))
	f.Outcome.Rule = "api"
	g.observe(f)
	g.wrote(`{"level":"WARN","msg":"could not decide","method":"GET","rule":"api","reason":"fault","kind":"not_applied","allowed":true,"status":200,"mode":"open"}`)
	f.Outcome.Fail(weir.Closed, &weir.StateError{Limit: "api/1d", Err: errors.New("torn")})
	g.observe(f)
	g.wrote(`{"level":"WARN","msg":"could not decide","method":"GET","rule":"","reason":"fault","kind":"state","allowed":false,"status":503,"mode":"closed","limit":"api/1d"}`)

	// A failure that was let pass is its rule's.
	passed := refused("api", http.MethodGet)
	passed.Outcome.Allowed, passed.Outcome.Err, passed.Outcome.Rule = true, errors.New("boom"), "api"
	passed.Applied = append(passed.Applied, policy.Applied{Rule: &policy.RuleInfo{Name: "torn"}, Kinds: "ip", Cause: weir.ByFault})
	g.observe(passed)
	g.wrote(`{"level":"WARN","msg":"could not decide","method":"GET","rule":"torn","reason":"fault","kind":"other","allowed":true,"status":200,"mode":"exact"}`)

	// A failure beside a refusal that it did not decide: two lines.
	both := refused("api", http.MethodGet)
	both.Outcome.Err = errors.New("boom")
	g.observe(both)
	g.wrote(`{"level":"WARN","msg":"could not decide","method":"GET","rule":"","reason":"fault","kind":"other","allowed":false,"status":429,"mode":"exact"}`, line)
}

// A panic says where it was, and what its value is but not what it holds; its stack
// comes once in a second.
func TestPanics(t *testing.T) {
	g := rigged(t, refusals.Config{PerSecond: 2}, slog.LevelInfo)
	f := &policy.Finding{Request: &weir.Request{Method: http.MethodGet}, Outcome: &weir.Outcome{}}
	f.Outcome.Fail(weir.Closed, &policy.PanicError{In: "rule api", Value: errors.New("a caller's text"), Stack: []byte("engine.go:7")})
	f.Outcome.Rule = "api"
	const start = `{"level":"WARN","msg":"could not decide","method":"GET","rule":"api","reason":"fault","kind":"panic",` +
		`"allowed":false,"status":503,"mode":"closed","in":"rule api","panic":"*errors.errorString"`
	for range 3 {
		g.observe(f)
	}
	g.wrote(start+`,"stack":"engine.go:7"}`, start+`}`)
	g.now = g.now.Add(time.Second)
	g.observe(f)
	g.wrote(`{"level":"WARN","msg":"failures left out","rule":"api","left_out":1}`, start+`,"stack":"engine.go:7"}`)
}

func TestAllocationsOfWhatPasses(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelDebug)
	f := refused("api", http.MethodGet)
	f.Outcome.Allowed, f.Outcome.Decisions[0] = true, weir.Decision{Allowed: true}
	f.Applied[0].Shadow = true
	g.observe(f)
	f.Outcome.Decisions = nil // emptied after the rules had been asked
	g.observe(f)
	g.wrote()
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() { g.Observe(ctx, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSampling(t *testing.T) {
	g := rigged(t, refusals.Config{PerSecond: 2}, slog.LevelInfo)
	f, other := refused("api", http.MethodGet), refused("other", http.MethodGet)
	for range 7 {
		g.observe(f)
	}
	g.observe(other) // another rule has lines of its own
	otherLine := strings.ReplaceAll(line, "api", "other")
	g.wrote(line, line, otherLine)

	failed := refused("api", http.MethodGet) // and so have failures
	failed.Outcome.Fail(weir.Closed, weir.ErrUnknown)
	failed.Outcome.Rule = "api"
	g.observe(failed)
	if !strings.Contains(g.out.String(), "could not decide") {
		t.Error("a failure is left out for the sake of refusals")
	}
	g.out.Reset()

	g.now = g.now.Add(time.Second)
	g.observe(f)
	g.wrote(`{"level":"INFO","msg":"refusals left out","rule":"api","left_out":5}`, line)
	g.now = g.now.Add(time.Hour)
	g.observe(f)
	g.wrote(line) // nothing was left out

	for range 3 {
		g.observe(f)
	}
	g.out.Reset()
	g.Flush(t.Context())
	g.wrote(`{"level":"INFO","msg":"refusals left out","rule":"api","left_out":2}`)
	g.Flush(t.Context())
	g.wrote()
}

// What a rule lets through has lines of its own, and so does what it refuses beside
// it: the file's enforce may have changed within the second.
func TestWouldBeRefusalsAreSampledApart(t *testing.T) {
	g := rigged(t, refusals.Config{PerSecond: 1}, slog.LevelInfo)
	f := &policy.Finding{
		Request: &weir.Request{Method: http.MethodGet}, Outcome: &weir.Outcome{Allowed: true, Cause: weir.ByNothing},
		Applied: []policy.Applied{{Rule: &policy.RuleInfo{Name: "api"}, Shadow: true, Cause: weir.ByDeny}},
	}
	const would = `{"level":"INFO","msg":"would refuse","method":"GET","rule":"api","reason":"deny","status":403,"shadow":true,"mode":"exact"}`
	for range 4 {
		g.observe(f)
	}
	g.observe(refused("api", http.MethodGet))
	g.wrote(would, line)
	g.now = g.now.Add(time.Second)
	g.observe(f)
	g.wrote(`{"level":"INFO","msg":"would-be refusals left out","rule":"api","left_out":3}`, would)
}

func TestAllocationsForADeafLogger(t *testing.T) {
	g := rigged(t, refusals.Config{}, slog.LevelError)
	f, ctx := refused("api", http.MethodGet), t.Context()
	if n := testing.AllocsPerRun(100, func() { g.Observe(ctx, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	g.wrote()
}

// What is sampled out costs a lock and a look at the clock.
func TestAllocationsOfALeftOutRefusal(t *testing.T) {
	g := rigged(t, refusals.Config{PerSecond: 1}, slog.LevelInfo)
	f, ctx := refused("api", http.MethodGet), t.Context()
	g.observe(f)
	if n := testing.AllocsPerRun(100, func() { g.Observe(ctx, f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Texts that would end a line, colour a terminal or leave a quotation, in every
// place that a caller writes to.
func TestNothingOfACallersReachesTheLog(t *testing.T) {
	for _, evil := range []string{
		"a\nlevel=INFO msg=admin", `","level":"ERROR","x":"`, "\x1b[31mred", "nul\x00nul", "\u2028", "\xff\xfe", strings.Repeat("long", 1000),
	} {
		f := refused("api", evil)
		f.Request.Host, f.Request.Path, f.Request.Query = evil, "/"+evil, evil
		f.Request.Header = map[string][]string{"X-Api-Key": {evil}, evil: {evil}}
		f.Request.RemoteAddr = evil
		f.Caller = clientip.Answer{}
		f.Outcome.Err = errors.New(evil)
		for name, h := range map[string]func(*bytes.Buffer) slog.Handler{
			"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
			"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		} {
			var out bytes.Buffer
			l, err := refusals.New(refusals.Config{Logger: slog.New(h(&out)), Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			l.Observe(t.Context(), f)
			for _, part := range []string{evil, "admin", "red", "nul", "long", "ERROR", "\x1b", "\x00", "\\u", "\\x"} {
				if strings.Contains(out.String(), part) {
					t.Errorf("%s: %q reached the log: %s", name, part, out.String())
				}
			}
			if got := strings.Count(out.String(), "\n"); got != 2 { // the failure and the refusal
				t.Errorf("%s: %d lines for %q", name, got, evil)
			}
			if name == "json" && !json.Valid(bytes.Split(out.Bytes(), []byte("\n"))[0]) {
				t.Errorf("no JSON: %s", out.String())
			}
		}
	}
}

// Names that come and go with reloads are not remembered for ever.
func TestRulesAreForgotten(t *testing.T) {
	g := rigged(t, refusals.Config{PerSecond: 1}, slog.LevelInfo)
	f := refused("api", http.MethodGet)
	info := f.Applied[0].Rule
	for i := range 10_000 {
		if i%1000 == 0 {
			g.now = g.now.Add(time.Second)
		}
		f.Outcome.Rule, info.Name = fmt.Sprint("r", i), fmt.Sprint("r", i)
		g.observe(f)
	}
	g.out.Reset()
	f.Outcome.Rule, info.Name = "api", "api"
	g.observe(f)
	g.wrote(line)
}

func TestConfig(t *testing.T) {
	for _, c := range []refusals.Config{
		{Now: time.Now},
		{Logger: slog.Default()},
		{Logger: slog.Default(), Now: time.Now, PerSecond: -1},
	} {
		if _, err := refusals.New(c); !errors.Is(err, weir.ErrInvalid) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	l, err := refusals.New(refusals.Config{Logger: slog.New(slog.NewJSONHandler(struct{ io.Writer }{io.Discard}, nil)), Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	f := refused("api", http.MethodGet)
	b.ReportAllocs()
	for b.Loop() {
		l.Observe(b.Context(), f)
	}
}
