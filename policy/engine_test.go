package policy_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
	"github.com/weirhq/weir/storetest"
)

// bench is an engine on a store whose clock stands still, and what it found last.
type bench struct {
	*policy.Engine
	t     testing.TB
	clock *storetest.Clock
	store weir.Store
	now   time.Time // that tokens are judged by
	asked int       // how often it was asked for

	last weir.Outcome
	seen seen
}

// seen is what is kept of a Finding.
type seen struct {
	reason  policy.Reason
	applied []policy.Applied
	sure    bool
}

// start makes a bench of a rules file.
func start(t testing.TB, file string) *bench {
	t.Helper()
	store, clock := memory(t)
	return startOn(t, file, store, clock)
}

// memory makes a store whose clock stands still.
func memory(t testing.TB) (weir.Store, *storetest.Clock) {
	t.Helper()
	clock := storetest.NewClock(1_790_000_000_000_000)
	store, err := memstore.New(memstore.Config{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return store, clock
}

func startOn(t testing.TB, file string, store weir.Store, clock *storetest.Clock) *bench {
	t.Helper()
	b := &bench{t: t, clock: clock, store: store, now: time.Unix(1_790_000_000, 0)}
	b.run(load(t, file))
	return b
}

// run makes the engine.
func (b *bench) run(p *policy.Policy) {
	b.t.Helper()
	var err error
	b.Engine, err = policy.NewEngine(policy.EngineConfig{
		Policy: p, Store: b.store,
		Observe: func(_ context.Context, f *policy.Finding) {
			b.seen = seen{f.Reason, append([]policy.Applied(nil), f.Applied...), f.Caller.Sure}
		},
		Now: func() time.Time { b.asked++; return b.now },
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// load reads a rules file that has no mistakes. Its warnings are not looked at.
func load(t testing.TB, file string) *policy.Policy {
	t.Helper()
	return loadWith(t, file, nil)
}

func loadWith(t testing.TB, file string, files map[string]string) *policy.Policy {
	t.Helper()
	p, found := policy.Load(policy.Source{Name: "weir.yaml", ReadFile: func(name string) ([]byte, error) {
		if name == "weir.yaml" {
			return []byte("version: 1\n" + strings.ReplaceAll(file, "\t", "  ")), nil
		}
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("%s: no such file", name)
	}})
	if err := found.Err(); err != nil {
		t.Fatalf("the file does not load: %v", err)
	}
	return p
}

// request makes a request from a peer: `POST /jobs`, and lines of a header.
func request(line, peer string, header ...string) *weir.Request {
	method, target, _ := strings.Cut(line, " ")
	path, query, _ := strings.Cut(target, "?")
	r := &weir.Request{Method: method, Host: "api.example", Path: path, Query: query, RemoteAddr: peer, Header: map[string][]string{}}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header[name] = append(r.Header[name], value)
	}
	return r
}

// ask decides a request and says what came of it, as in `allowed limits` or
// `refused missing`.
func (b *bench) ask(line, peer string, header ...string) string {
	b.t.Helper()
	b.Decide(context.Background(), request(line, peer, header...), &b.last)
	word := "refused "
	if b.last.Allowed {
		word = "allowed "
	}
	return word + b.seen.reason.String()
}

// want asks and compares.
func (b *bench) want(want, line, peer string, header ...string) {
	b.t.Helper()
	if got := b.ask(line, peer, header...); got != want {
		b.t.Errorf("%s from %s %q: %s, want %s (%v)", line, peer, header, got, want, b.last.Err)
	}
}

const peer = "192.0.2.1:1000"

func TestWayOfARequest(t *testing.T) {
	b := start(t, `
exempt:
- match: GET /healthz
- ip: 198.51.100.7
rules:
- {name: jobs, match: POST /jobs, key: ip, limit: 2/h}
- {name: all, match: /jobs, limit: 3/h}
- {name: closed, match: /closed, limit: deny}
- {name: free, match: /free, limit: unlimited}
`)
	b.want("allowed unmatched", "GET /elsewhere", peer)
	b.want("allowed exempt", "GET /healthz", peer)
	b.want("allowed exempt", "POST /closed", "198.51.100.7:1")
	b.want("refused deny", "GET /closed", peer)
	b.want("allowed unlimited", "GET /free", peer)
	b.want("allowed limits", "POST /jobs", peer)
	b.want("allowed limits", "POST /jobs", peer)
	b.want("refused limits", "POST /jobs", peer)
	if b.last.Rule != "jobs" || b.last.Limit().Name() != "jobs" {
		t.Errorf("decided by %q", b.last.Rule)
	}
	b.want("allowed limits", "GET /jobs", peer) // a refusal has cost the other rule nothing
	b.want("refused limits", "GET /jobs", peer)
	if b.last.Rule != "all" {
		t.Errorf("decided by %q", b.last.Rule)
	}
	b.want("allowed limits", "GET /jobs", "192.0.2.2:1000")
	b.want("refused request", "GET /jobs%2f", "192.0.2.2:1000")
	b.want("refused request", "GET /jobs", "@")
}

func TestAmbiguousPathMayPass(t *testing.T) {
	b := start(t, `
path: {ambiguous: pass}
rules: [{name: all, match: "/{a}", limit: 1/h}]
`)
	b.want("allowed limits", "GET /a%2fb", peer)
	b.want("refused limits", "GET /c", peer)
}

func TestUnsureAddressHasNoPrivilege(t *testing.T) {
	b := start(t, `
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Real-IP}
exempt: [{ip: 192.0.2.0/24}, {match: GET /healthz}]
plans: {few: 1/h, many: 100/h}
rules:
- {name: inside, match: /inside, ip: 192.0.2.0/24, limit: deny}
- {name: plan, match: /plan, plan: {ip: {192.0.2.0/24: many}}, default_plan: few}
`)
	b.want("allowed exempt", "GET /plan", "10.0.0.1:1", "X-Real-Ip: 192.0.2.9")
	// A stranger who goes around the proxy is not sure.
	b.want("allowed unmatched", "GET /healthz", "192.0.2.9:1")
	b.want("allowed unmatched", "GET /inside", "192.0.2.9:1")
	b.want("allowed limits", "GET /plan", "192.0.2.9:1")
	b.want("refused limits", "GET /plan", "192.0.2.9:1")
	if b.seen.applied[0].Plan != "few" || b.seen.sure {
		t.Errorf("plan %q, sure %t", b.seen.applied[0].Plan, b.seen.sure)
	}
}

func TestMissing(t *testing.T) {
	b := start(t, `
rules:
- {name: wide, match: /, limit: 100/h}
- {name: ip, match: /ip, key: "header:X-Key", limit: 1/h}
- {name: skip, match: /skip, key: "header:X-Key", missing: skip, limit: 1/h}
- {name: deny, match: /deny, key: "header:X-Key", missing: deny, limit: 1/h}
- {name: basic, match: /basic, key: "basic:user", missing: deny, limit: 1/h}
`)
	b.want("allowed limits", "GET /ip", peer)
	b.want("refused limits", "GET /ip", peer)
	b.want("allowed limits", "GET /ip", peer, "X-Key: k") // another namespace
	b.want("refused limits", "GET /ip", "192.0.2.2:1", "X-Key: k")
	for range 2 {
		b.want("allowed limits", "GET /skip", peer)
	}
	b.want("refused missing", "GET /deny", peer)
	b.want("refused missing", "GET /deny", peer, "X-Key: ")
	b.want("allowed limits", "GET /deny", peer, "X-Key: a")
	b.want("refused missing", "GET /basic", peer, "Authorization: Bearer x")
	b.want("allowed limits", "GET /basic", peer, "Authorization: Basic dTpw")
	b.want("refused limits", "GET /basic", peer, "Authorization: basic dTp4")
}

func TestKeyKinds(t *testing.T) {
	f := func(key, match string, same, other *weir.Request) {
		t.Helper()
		b := start(t, fmt.Sprintf("rules:\n- {name: wide, match: /, limit: 100/h}\n- {name: r, match: %q, key: %q, missing: deny, limit: 1/h}\n", match, key))
		r := request("GET /a/1?k=v&l=w", peer, "X-Key: v", "Cookie: s=v; t=w", "Authorization: Basic dTpw")
		for i, c := range []struct {
			r    *weir.Request
			want bool
		}{{r, true}, {same, false}, {other, true}} {
			b.Decide(context.Background(), c.r, &b.last)
			if b.last.Allowed != c.want {
				t.Errorf("key %s, request %d: allowed %t (%v)", key, i, b.last.Allowed, b.last.Err)
			}
		}
	}
	f("ip", "/", request("POST /x", peer), request("GET /a/1?k=v", "192.0.2.2:1"))
	f("header:x-key", "/", request("GET /", "192.0.2.2:1", "X-Key: v"), request("GET /", peer, "X-Key: V"))
	f("cookie:s", "/", request("GET /", "192.0.2.2:1", `Cookie: x; s="v"`), request("GET /", peer, "Cookie: s=V"))
	f("query:k", "/", request("GET /?a=b&%6b=%76", peer), request("GET /?k=w", peer))
	f("host", "/", request("GET /", "192.0.2.2:1", "Host: API.example.:80"), request("GET /", peer, "Host: other.example"))
	f("path:id", "/a/{id}", request("POST /a/%31/", "192.0.2.2:1"), request("GET /a/2", peer))
	f("basic:user", "/", request("GET /", "192.0.2.2:1", "Authorization: Basic dTpvdGhlcg=="), request("GET /", peer, "Authorization: Basic djpw"))
	f("const:everybody", "/a/", request("GET /a/2", "192.0.2.2:1"), request("GET /b", peer))
}

func TestNormalize(t *testing.T) {
	b := start(t, `
rules:
- {name: wide, match: /, limit: 100/h}
- {name: r, match: /, key: "header:X-Name", normalize: lower, limit: 1/h}
`)
	b.want("allowed limits", "POST /", peer, "X-Name: A@Example")
	b.want("refused limits", "POST /", peer, "X-Name: a@eXAMPLE")
	// S43: what is no UTF-8 is not made alike.
	b.want("allowed limits", "POST /", peer, "X-Name: \xff")
	b.want("allowed limits", "POST /", peer, "X-Name: \xfe")
	b.want("refused limits", "POST /", peer, "X-Name: \xff")
}

func TestPlanHeaderFromStrangersMeansNothing(t *testing.T) {
	b := start(t, `
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Forwarded-For, trusted_headers: [X-Plan]}
plans: {free: 1/h, premium: 100/h}
rules: [{name: api, key: ip, plan: "header:X-Plan", default_plan: free}]
`)
	f := func(plan, peer string, header ...string) {
		t.Helper()
		b.ask("GET /", peer, header...)
		if got := b.seen.applied[0].Plan; got != plan {
			t.Errorf("%s %q: plan %s, want %s", peer, header, got, plan)
		}
	}
	f("free", peer, "X-Plan: premium")
	f("premium", "10.0.0.1:1", "X-Plan: premium", "X-Forwarded-For: 192.0.2.7")
	f("free", "10.0.0.1:1", "X-Plan: premium", "X-Plan: premium", "X-Forwarded-For: 192.0.2.7")
	f("free", "10.0.0.1:1", "X-Plan: gold", "X-Forwarded-For: 192.0.2.7")
	f("free", "10.0.0.1:1", "X-Forwarded-For: 192.0.2.7")
	// Who asks for a decision and names the caller is believed.
	r := request("GET /", "", "X-Plan: premium")
	r.Addr = netip.MustParseAddr("192.0.2.9")
	b.Decide(context.Background(), r, &b.last)
	if got := b.seen.applied[0].Plan; got != "premium" {
		t.Errorf("a decision surface: plan %s", got)
	}
}

func TestShadow(t *testing.T) {
	file := `
rules:
- {name: shut, match: /shut, limit: deny, shadow: true}
- {name: key, match: /key, key: "header:X-Key", missing: deny, limit: 1/h, shadow: true}
- {name: wide, limit: 5/h}
- {name: trial, match: /trial, limit: 1/h, shadow: true}
`
	b := start(t, file)
	b.want("allowed limits", "GET /shut", peer)
	if c := b.seen.applied[0].Cause; c != weir.ByDeny {
		t.Errorf("the shadow of deny: %v", c)
	}
	b.want("allowed limits", "GET /key", peer)
	b.want("allowed limits", "GET /trial", peer)
	b.want("allowed limits", "GET /trial", peer)
	if a := b.seen.applied[1]; a.Rule.Name != "trial" || b.last.Decisions[a.Take].Allowed {
		t.Errorf("the shadow of a limit: %+v", a)
	}
	b.want("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	b.SetSwitch(policy.Shadow)
	b.want("allowed limits", "GET /", peer)
	b.want("allowed unlimited", "GET /", "@") // without an address there is nothing to count by
	b.SetSwitch(policy.Off)
	b.want("allowed off", "GET /", peer)
	b.SetSwitch(policy.On)
	b.want("refused limits", "GET /", peer)

	b = start(t, "enforce: shadow\n"+file)
	b.SetSwitch(policy.On)
	if got := b.Enforce(); got != policy.Shadow {
		t.Errorf("the switch strengthens the file: %s", got)
	}
}

func TestRefuse(t *testing.T) {
	b := start(t, `
rules: [{name: r, limit: 1/h, refuse: {status: 403, detail: call us}}]
`)
	b.ask("GET /", peer)
	if b.last.Refusal != nil {
		t.Error("an allowed outcome has a refusal")
	}
	b.ask("GET /", peer)
	if r := b.last.Refusal; r == nil || r.Status != 403 || r.Detail != "call us" {
		t.Errorf("refusal %+v", r)
	}
}

func TestCost(t *testing.T) {
	b := start(t, `
rules: [{name: r, limit: 10/h, cost: 4}]
`)
	b.want("allowed limits", "GET /", peer)
	b.want("allowed limits", "GET /", peer)
	b.want("refused limits", "GET /", peer)
	r := request("GET /", peer)
	r.Cost = 2
	if b.Decide(context.Background(), r, &b.last); !b.last.Allowed || b.last.Decision().Remaining != 0 {
		t.Errorf("the surface's cost: %+v", b.last.Decision())
	}
	r.Cost = 11
	if b.Decide(context.Background(), r, &b.last); b.last.Allowed || !b.last.Never {
		t.Errorf("a cost beyond the capacity: %+v", b.last)
	}
}

func TestSlots(t *testing.T) {
	b := start(t, `
plans: {a: [2/s, 100/day fixed-window], b: 5/s}
rules:
- {name: one, match: /one, limit: 5/s}
- {name: many, match: /many, limits: [5/s, {name: burst, limit: 1/min burst 20}, 30/day fixed-window]}
- {name: plan, match: /plan, plan: {"header:X-Key": {k: a}}, default_plan: b}
`)
	f := func(path, want string, header ...string) {
		t.Helper()
		b.ask("GET "+path, peer, header...)
		var names []string
		for _, take := range b.last.Takes {
			names = append(names, take.Limit.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	f("/one", "one")
	f("/many", "many/1s many/burst many/1d")
	f("/plan", "plan/1s plan/1d", "X-Key: k")
	f("/plan", "plan/1s", "X-Key: other")
}

// quiet makes an engine on the real clock that nobody watches.
func quiet(t testing.TB, file string) *policy.Engine {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := policy.NewEngine(policy.EngineConfig{Policy: load(t, file), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
