package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/httplimit"
)

const down = http.StatusServiceUnavailable

var errDown = errors.New("connection refused to cache-7")

// failing makes a rig whose store answers every take with err.
func failing(t *testing.T, err error, rules ...httplimit.Rule) *rig {
	t.Helper()
	return rigged(t, httplimit.Config{
		Rules: rules,
		Store: &broken{Store: memory(t), take: func([]weir.Take) error { return err }},
	})
}

func faulty(name string, onError weir.Mode) httplimit.Rule {
	return httplimit.Rule{Name: name, Limits: []string{"1/day"}, OnError: onError}
}

func TestStoreFailsAsTold(t *testing.T) {
	f := func(want int, err error, rules ...httplimit.Rule) {
		t.Helper()
		g := failing(t, err, rules...)
		res := g.expect(get("/"), want)
		field(t, res, "RateLimit", "")
		g.seen.is(t, want == ok, weir.ByFault)
		if !errors.Is(g.seen.last.Err, err) {
			t.Errorf("observed %v", g.seen.last.Err)
		}
		if b := body(t, res); contains(b, "cache-7") {
			t.Errorf("body: %s", b)
		}
		if retry := res.Header.Get("Retry-After"); (retry != "") != (want == down) {
			t.Errorf("Retry-After: %q", retry)
		}
	}
	f(down, errDown, faulty("a", weir.Exact))
	f(down, errDown, faulty("a", weir.Closed))
	f(ok, errDown, faulty("a", weir.Open))
	f(ok, errDown, faulty("a", weir.Open), faulty("b", weir.Open))
	f(down, errDown, faulty("a", weir.Open), faulty("b", weir.Closed))
	g := failing(t, errDown, faulty("a", weir.Open), faulty("b", weir.Closed))
	g.expect(get("/"), down)
	g.seen.names(t, "b")
	f(down, errDown, faulty("a", weir.Closed), faulty("b", weir.Open))
	f(down, weir.ErrUnknown, faulty("a", weir.Closed))
	f(ok, weir.ErrUnknown, faulty("a", weir.Open))
	f(down, weir.ErrClosed, faulty("a", weir.Closed))

	shadow := faulty("c", weir.Closed)
	shadow.Shadow = true
	f(ok, errDown, shadow)
	f(ok, errDown, shadow, faulty("a", weir.Open))

	// A rule that has no part in the request has none in its fault.
	skipped := faulty("d", weir.Closed)
	skipped.Key, skipped.Missing = []httplimit.Key{httplimit.ByHeader("K")}, httplimit.Skip
	f(ok, errDown, skipped, faulty("a", weir.Open))
}

func TestStoreIsNotAskedForNothing(t *testing.T) {
	free := httplimit.Rule{Name: "free", Limits: []string{"unlimited"}}
	failing(t, errDown, free).expect(get("/"), ok)
	denied := httplimit.Rule{Name: "denied", Limits: []string{"deny"}}
	failing(t, errDown, denied).expect(get("/"), http.StatusForbidden)
	off := failing(t, errDown, faulty("a", weir.Closed))
	off.SetEnforce(httplimit.Off)
	off.expect(get("/"), ok)
	off.SetEnforce(httplimit.Shadow)
	off.expect(get("/"), ok)
}

// One state that cannot be read must not take the other rules away.
func TestUnreadableStateIsItsOwnRulesAffair(t *testing.T) {
	unreadable := func(onError weir.Mode, others ...httplimit.Rule) *rig {
		return rigged(t, httplimit.Config{
			Rules: append([]httplimit.Rule{{Name: "torn", Limits: []string{"a: 1/day", "b: 2/day"}, OnError: onError}}, others...),
			Store: &broken{Store: memory(t), take: func(takes []weir.Take) error {
				for i, take := range takes {
					if take.Limit.Name() == "torn/b" {
						return &weir.StateError{Limit: "torn/b", Take: i, Err: errors.New("version 9")}
					}
				}
				return nil
			}},
		})
	}
	g := unreadable(weir.Open, httplimit.Rule{Name: "wall", Limits: []string{"1/day"}})
	g.expect(get("/"), ok)
	g.seen.is(t, true, weir.ByFault)
	g.expect(get("/"), limited)
	g.seen.is(t, false, weir.ByLimits)
	unreadable(weir.Closed, httplimit.Rule{Name: "wall", Limits: []string{"1/day"}}).expect(get("/"), down)
	unreadable(weir.Open).expect(get("/"), ok, ok, ok)
}

func TestPanicInARuleIsItsOnError(t *testing.T) {
	boom := func() { panic("the caller is hunter2") }
	parts := map[string]func(*httplimit.Rule){
		"key": func(r *httplimit.Rule) {
			r.Key = []httplimit.Key{httplimit.By("user", func(*http.Request) (string, bool) { boom(); return "", true })}
		},
		"plan": func(r *httplimit.Rule) {
			r.Plan, r.Plans, r.DefaultPlan, r.Limits = func(*http.Request) string { boom(); return "" }, map[string][]string{"a": r.Limits}, "a", nil
		},
		"cost": func(r *httplimit.Rule) {
			r.Cost = func(*http.Request) (int64, error) { boom(); return 1, nil }
		},
		"abort": func(r *httplimit.Rule) {
			r.Cost = func(*http.Request) (int64, error) { panic(http.ErrAbortHandler) }
		},
	}
	for name, spoil := range parts {
		t.Run(name, func(t *testing.T) {
			closed, open := faulty("torn", weir.Closed), faulty("torn", weir.Open)
			spoil(&closed)
			spoil(&open)
			wall := httplimit.Rule{Name: "wall", Limits: []string{"1/day"}}

			g := ruled(t, wall, closed)
			res := g.expect(get("/"), down, down)
			if b := body(t, res); contains(b, "hunter2") {
				t.Errorf("body: %s", b)
			}
			g.seen.is(t, false, weir.ByFault)
			var p *httplimit.PanicError
			if !errors.As(g.seen.last.Err, &p) || p.In != "rule torn" || p.Value == nil || !contains(string(p.Stack), "failure_test.go") {
				t.Errorf("observed %v", g.seen.last.Err)
			}
			if contains(p.Error(), "hunter2") {
				t.Error("the panic's text is in the error's")
			}
			if n := g.store.Stats().Keys; n != 0 {
				t.Errorf("%d keys charged", n)
			}

			g = ruled(t, open, wall) // the other rule still decides
			g.expect(get("/"), ok)
			g.seen.is(t, true, weir.ByFault)
			g.expect(get("/"), limited)
			g.seen.is(t, false, weir.ByLimits)
		})
	}
}

// Calls are pooled: what one has met is not the next one's.
func TestFaultOfOneRequestIsNotTheNextOnes(t *testing.T) {
	rule := faulty("torn", weir.Open)
	rule.Cost = func(r *http.Request) (int64, error) {
		if r.Header.Get("Boom") != "" {
			panic("cost")
		}
		return 1, nil
	}
	g := ruled(t, rule)
	for i := range 20 {
		g.expect(get("/", "Boom: x"), ok)
		g.seen.is(t, true, weir.ByFault)
		g.expect(from(fmt.Sprintf("192.0.2.%d:1", i), "GET", "/"), ok)
		if g.seen.is(t, true, weir.ByLimits); g.seen.last.Err != nil {
			t.Fatalf("observed %v", g.seen.last.Err)
		}
	}
}

func TestPanicInTheStoreIsTheOnError(t *testing.T) {
	f := func(want int, onError weir.Mode) {
		t.Helper()
		g := rigged(t, httplimit.Config{
			Rules: []httplimit.Rule{faulty("a", onError)},
			Store: &broken{Store: memory(t), take: func([]weir.Take) error { panic("store") }},
		})
		g.expect(get("/"), want, want)
		if !errors.Is(g.seen.last.Err, weir.ErrUnknown) {
			t.Errorf("observed %v", g.seen.last.Err)
		}
	}
	f(down, weir.Closed)
	f(ok, weir.Open)
}

// scripted is a Decider that does as it is told.
type scripted struct {
	seen   weir.Request
	decide func(r *weir.Request, o *weir.Outcome)
	backs  int
}

func (s *scripted) Decide(_ context.Context, r *weir.Request, o *weir.Outcome) {
	s.seen = *r
	o.Reset()
	o.Allowed = true
	if s.decide != nil {
		s.decide(r, o)
	}
}

func (s *scripted) Keep(*weir.Outcome) *weir.Slots { return nil }

func (s *scripted) GiveBack(context.Context, *weir.Outcome) error {
	s.backs++
	return nil
}

func TestDeciderSeesTheRequestAsItCame(t *testing.T) {
	d := &scripted{decide: func(r *weir.Request, _ *weir.Outcome) {
		if r.PathValue("id") != "a b" {
			t.Errorf("path value %q", r.PathValue("id"))
		}
	}}
	g := rigged(t, httplimit.Config{Decider: d})
	mux := http.NewServeMux()
	mux.Handle("/users/{id}", g)
	r := from("192.0.2.1:1234", http.MethodPut, "http://api.example:8080/users/a%20b?q=%31", "X-Api-Key: k", "X-Api-Key: l")
	expect(t, mux, r, ok)
	s := &d.seen
	if s.Method != "PUT" || s.Host != "api.example:8080" || s.Path != "/users/a%20b" || s.Query != "q=%31" ||
		s.RemoteAddr != "192.0.2.1:1234" || len(s.Header["X-Api-Key"]) != 2 || s.Addr.IsValid() || s.Cost != 0 {
		t.Errorf("%+v", s)
	}
}

func TestDeciderIsToldTheAddressWhereTheMiddlewareFindsIt(t *testing.T) {
	d := &scripted{}
	resolver, err := clientip.New(clientip.Config{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Header: "X-Forwarded-For"})
	if err != nil {
		t.Fatal(err)
	}
	g := rigged(t, httplimit.Config{Decider: d, ClientIP: resolver})
	g.expect(get("/", "X-Forwarded-For: 203.0.113.7"), ok)
	if d.seen.Addr.String() != "203.0.113.7" || d.seen.AddrUnsure {
		t.Errorf("%s, unsure %t", d.seen.Addr, d.seen.AddrUnsure)
	}
	g.expect(get("/", "X-Forwarded-For: nonsense"), ok)
	if d.seen.Addr.String() != "192.0.2.1" || !d.seen.AddrUnsure {
		t.Errorf("%s, unsure %t", d.seen.Addr, d.seen.AddrUnsure)
	}
}

func TestDeciderInShadowRefusesNothing(t *testing.T) {
	limit := weir.MustLimit("x", "1/day")
	d := &scripted{decide: func(_ *weir.Request, o *weir.Outcome) {
		o.Allowed, o.Binding, o.RetryAfter = false, 0, 5_000_000
		o.Takes = append(o.Takes, weir.Take{Limit: limit, Cost: 1})
		o.Decisions = append(o.Decisions, weir.Decision{RetryAfter: 5_000_000})
	}}
	g := rigged(t, httplimit.Config{Decider: d})
	field(t, g.expect(get("/"), limited), "Retry-After", "5")
	g.SetEnforce(httplimit.Shadow)
	res := g.expect(get("/"), ok)
	field(t, res, "Retry-After", "")
	field(t, res, "RateLimit", "")
	if g.seen.last.Decisions[0].Allowed || g.seen.last.Takes[0].Join != weir.Advise {
		t.Error("what would have been refused is not observed")
	}
}

// A watched decider panics when it has charged.
type watched struct {
	holder
	panics bool
}

func (d *watched) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {
	d.holder.Decide(ctx, r, o)
	if d.panics {
		panic("watching")
	}
}

// What a decider has charged before it panics is given back, slots too.
func TestPanicInADeciderGivesTheChargeBack(t *testing.T) {
	for _, text := range []string{"1/day", "1 concurrent"} {
		d := &watched{holder: holder{store: memory(t), limit: weir.MustLimit("api", text)}, panics: true}
		g := rigged(t, httplimit.Config{Decider: d})
		for range 3 {
			g.expect(get("/"), down)
		}
		g.SetEnforce(httplimit.Shadow)
		g.expect(get("/"), ok)
		g.SetEnforce(httplimit.On)
		d.panics = false
		g.expect(get("/"), ok)
	}
}

func TestPanicInADeciderIsAFault(t *testing.T) {
	g := rigged(t, httplimit.Config{Decider: &scripted{decide: func(*weir.Request, *weir.Outcome) { panic("rules") }}})
	g.expect(get("/"), down)
	g.seen.is(t, false, weir.ByFault)
	g.SetEnforce(httplimit.Shadow)
	g.expect(get("/"), ok)
	g.seen.is(t, true, weir.ByFault)
}
