package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
)

const (
	ok      = http.StatusOK
	limited = http.StatusTooManyRequests
)

// once is a rule of one request a day.
func once(key ...httplimit.Key) httplimit.Rule {
	return httplimit.Rule{Name: "once", Limits: []string{"1/day"}, Key: key}
}

func TestKeys(t *testing.T) {
	user := httplimit.By("user", func(r *http.Request) (string, bool) {
		name, _, found := r.BasicAuth()
		return name, found
	})
	login := func(name string) *http.Request {
		r := get("/")
		r.SetBasicAuth(name, "x")
		return r
	}
	path := func(name string) *http.Request {
		r := get("/")
		r.SetPathValue("name", name)
		return r
	}
	// f says whether two requests are counted as one caller's.
	f := func(name string, keys []httplimit.Key, a, b *http.Request, same bool) {
		t.Helper()
		g := ruled(t, once(keys...))
		want := ok
		if same {
			want = limited
		}
		g.expect(a, ok, limited)
		g.expect(b, want)
		if t.Failed() {
			t.Log(name)
		}
	}
	keys := func(k ...httplimit.Key) []httplimit.Key { return k }
	f("the port of an address", nil, get("/"), from("192.0.2.1:99", "GET", "/"), true)
	f("two addresses", nil, get("/"), from("192.0.2.2:1234", "GET", "/"), false)
	f("two addresses, named", keys(httplimit.ByIP()), get("/"), from("192.0.2.2:1234", "GET", "/"), false)
	f("one IPv6 subnet", nil, from("[2001:db8::1]:1", "GET", "/"), from("[2001:db8::2]:1", "GET", "/"), true)
	f("two IPv6 subnets", nil, from("[2001:db8:0:1::1]:1", "GET", "/"), from("[2001:db8:0:2::1]:1", "GET", "/"), false)
	f("everyone", keys(httplimit.Everyone()), get("/"), from("192.0.2.2:1234", "GET", "/"), true)
	f("a header's value", keys(httplimit.ByHeader("X-Api-Key")), get("/", "X-Api-Key: a"), get("/", "X-Api-Key: b"), false)
	f("a header from two addresses", keys(httplimit.ByHeader("X-Api-Key")), get("/", "X-Api-Key: a"), from("192.0.2.2:1", "GET", "/", "X-Api-Key: a"), true)
	f("a header's name in any case", keys(httplimit.ByHeader("x-aPI-key")), get("/", "X-API-KEY: a"), get("/", "x-api-key: a"), true)
	f("a header's value in another case", keys(httplimit.ByHeader("X-Api-Key")), get("/", "X-Api-Key: a"), get("/", "X-Api-Key: A"), false)
	f("header and address", keys(httplimit.ByIP(), httplimit.ByHeader("X-Api-Key")), get("/", "X-Api-Key: a"), from("192.0.2.2:1", "GET", "/", "X-Api-Key: a"), false)
	f("a path value", keys(httplimit.ByPathValue("name")), path("a"), path("b"), false)
	f("a path value spelled otherwise", keys(httplimit.ByPathValue("name")), path("abc"), path("%61b%63"), true)
	f("a path value with a stray %", keys(httplimit.ByPathValue("name")), path("100%"), path("100%25"), true)
	f("a function's value", keys(user), login("a"), login("b"), false)
	f("a function's empty value", keys(user), login(""), get("/"), false)
	f("two parts, cut differently", keys(httplimit.ByHeader("A"), httplimit.ByHeader("B")), get("/", "A: x", "B: yz"), get("/", "A: xy", "B: z"), false)
	f("two parts, exchanged", keys(httplimit.ByHeader("A"), httplimit.ByHeader("B")), get("/", "A: x", "B: y"), get("/", "A: y", "B: x"), false)
}

func TestMissingPartOfTheKey(t *testing.T) {
	byKey := func(m httplimit.Missing) httplimit.Rule {
		r := once(httplimit.ByHeader("X-Api-Key"))
		r.Missing = m
		return r
	}
	t.Run("by address", func(t *testing.T) {
		g := ruled(t, byKey(httplimit.ByAddress))
		g.expect(get("/"), ok, limited)
		g.expect(get("/", "X-Api-Key: "), limited)
		g.expect(from("192.0.2.2:1234", "GET", "/"), ok, limited)
	})
	t.Run("by address, apart from every value", func(t *testing.T) {
		g := ruled(t, byKey(httplimit.ByAddress))
		g.expect(get("/"), ok, limited)
		for _, value := range []string{"192.0.2.1", "192.0.2.1/32", "missing", "ip"} {
			g.expect(get("/", "X-Api-Key: "+value), ok, limited)
		}
	})
	t.Run("skip", func(t *testing.T) {
		g := ruled(t, byKey(httplimit.Skip))
		res := g.expect(get("/"), ok, ok, ok)
		field(t, res, "RateLimit", "")
		g.seen.is(t, true, weir.ByNothing)
		g.expect(get("/", "X-Api-Key: a"), ok, limited)
	})
	t.Run("reject", func(t *testing.T) {
		g := ruled(t, byKey(httplimit.Reject))
		res := g.expect(get("/"), http.StatusBadRequest)
		field(t, res, "Www-Authenticate", "")
		if b := body(t, res); !contains(b, "header:X-Api-Key", "it is missing") {
			t.Errorf("body: %s", b)
		}
		g.seen.is(t, false, weir.ByMissing)
		g.seen.names(t, "once")
		g.expect(get("/", "X-Api-Key: a"), ok, limited)
	})
	t.Run("challenge", func(t *testing.T) {
		rule := byKey(httplimit.Reject)
		rule.Challenge = `Basic realm="api"`
		g := ruled(t, rule)
		field(t, g.expect(get("/"), http.StatusUnauthorized), "Www-Authenticate", `Basic realm="api"`)
	})
	t.Run("of two parts", func(t *testing.T) {
		rule := once(httplimit.ByHeader("A"), httplimit.ByHeader("B"))
		g := ruled(t, rule)
		g.expect(get("/", "A: x"), ok, limited)
		g.expect(get("/", "B: y"), limited) // lacking one is lacking the key
		g.expect(get("/", "A: x", "B: y"), ok, limited)
	})
	t.Run("a path value before the router", func(t *testing.T) {
		rule := once(httplimit.ByPathValue("name"))
		rule.Missing = httplimit.Reject
		ruled(t, rule).expect(get("/"), http.StatusBadRequest)
	})
}

// plans is a rule whose plan is named by a header, which only a test may do.
func plans() httplimit.Rule {
	return httplimit.Rule{
		Name: "api",
		Key:  []httplimit.Key{httplimit.ByHeader("User")},
		Plan: func(r *http.Request) string { return r.Header.Get("Plan") },
		Plans: map[string][]string{
			"free":    {"2/min"},
			"premium": {"10/min"},
			"staff":   {"unlimited"},
			"banned":  {"deny"},
		},
		DefaultPlan: "free",
	}
}

func TestPlans(t *testing.T) {
	g := ruled(t, plans())
	g.expect(get("/", "User: a", "Plan: free"), ok, ok, limited)
	g.expect(get("/", "User: b", "Plan: premium"), append(copies(10, ok), limited)...)
	g.expect(get("/", "User: c", "Plan: unheard-of"), ok, ok, limited)
	g.expect(get("/", "User: d"), ok, ok, limited)
	field(t, g.expect(get("/", "User: e", "Plan: staff"), copies(20, ok)...), "RateLimit", "")
	g.seen.is(t, true, weir.ByNothing)
	field(t, g.expect(get("/", "User: f", "Plan: banned"), http.StatusForbidden), "Retry-After", "")
	g.seen.is(t, false, weir.ByDeny)
	g.seen.names(t, "api")
	// unlimited and deny are limits, no plans that every rule has.
	g.expect(get("/", "User: g", "Plan: unlimited"), ok, ok, limited)
	g.expect(get("/", "User: h", "Plan: deny"), ok, ok, limited)
}

func TestChangedPlanKeepsWhatWasUsed(t *testing.T) {
	g := ruled(t, plans())
	g.expect(get("/", "User: a", "Plan: free"), ok, ok, limited)
	// Two of ten are used: the state is the rule's, whatever the plan.
	g.expect(get("/", "User: a", "Plan: premium"), append(copies(8, ok), limited)...)
	g.expect(get("/", "User: a", "Plan: free"), limited)
}

func TestPlansWithDifferentNumbersOfLimitsShareNames(t *testing.T) {
	rule := plans()
	rule.Plans = map[string][]string{"free": {"2/min"}, "premium": {"10/min", "100/day"}}
	g := ruled(t, rule)
	field(t, g.expect(get("/", "User: a"), ok, ok), "RateLimit-Policy", `"api/1m";q=2;w=60`)
	res := g.expect(get("/", "User: a", "Plan: premium"), ok)
	field(t, res, "RateLimit", `"api/1m";r=7;t=42, "api/1d";r=99;t=85536`)
}

func TestSeveralLimits(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "api", Limits: []string{"burst: 2/s", "3/min fixed-window", "steady: 100/s burst 200"}})
	res := g.expect(get("/"), ok)
	field(t, res, "RateLimit-Policy", `"api/burst";q=2;w=1, "api/1m";q=3;w=60, "api/steady";q=100;w=1;weir-burst=200`)
	g.expect(get("/"), ok, limited)
	g.wait(time.Second)
	// The refused request was charged on none: one of three is left.
	g.expect(get("/"), ok, limited)
	// A name is kept where it is the only one.
	g = ruled(t, httplimit.Rule{Name: "api", Limits: []string{" burst : 2/s"}})
	field(t, g.expect(get("/"), ok), "RateLimit-Policy", `"api/burst";q=2;w=1`)
}

func TestSeveralRulesAreAllOrNothing(t *testing.T) {
	g := ruled(t,
		httplimit.Rule{Name: "address", Limits: []string{"3/day"}},
		httplimit.Rule{Name: "name", Limits: []string{"1/day"}, Key: []httplimit.Key{httplimit.ByHeader("Name")}, Missing: httplimit.Skip},
	)
	res := g.expect(get("/", "Name: a"), ok, limited, limited, limited)
	if b := body(t, res); !contains(b, `"violated-policies":["name"]`) {
		t.Errorf("body: %s", b)
	}
	g.expect(get("/", "Name: b"), ok) // the refused ones cost the address nothing
	g.expect(get("/"), ok, limited)
	g.expect(get("/", "Name: c"), limited)
	g.expect(from("192.0.2.2:1", "GET", "/", "Name: c"), ok) // and the address's refusals the name nothing
}

func TestCost(t *testing.T) {
	g := ruled(t, httplimit.Rule{
		Name: "work", Limits: []string{"10/min"},
		Cost: func(r *http.Request) (int64, error) { return strconv.ParseInt(r.FormValue("n"), 10, 64) },
	})
	res := g.expect(get("/?n=4"), ok)
	field(t, res, "X-RateLimit-Remaining", "6")
	g.expect(get("/?n=7"), limited)
	g.expect(get("/?n=6"), ok)
	field(t, g.expect(get("/?n=11"), http.StatusUnprocessableEntity), "Retry-After", "")
	g.expect(get("/?n=9223372036854775807"), http.StatusUnprocessableEntity)
	for _, bad := range []string{"0", "-1", "-9223372036854775808", "9223372036854775808", "x", "", "1.5", "NaN"} {
		res := g.expect(get("/?n="+bad), http.StatusBadRequest)
		field(t, res, "Retry-After", "")
		g.seen.is(t, false, weir.ByRequest)
	}
	g.wait(time.Minute)
	g.expect(get("/?n=10"), ok, limited) // nothing was charged or given by those
}

func TestCostErrorReachesTheObserverOnly(t *testing.T) {
	secret := errors.New("no such coupon: hunter2")
	g := ruled(t, httplimit.Rule{
		Name: "work", Limits: []string{"10/min"},
		Cost: func(*http.Request) (int64, error) { return 0, secret },
	})
	if b := body(t, g.expect(get("/"), http.StatusBadRequest)); contains(b, "hunter2") {
		t.Errorf("body: %s", b)
	}
	if !errors.Is(g.seen.last.Err, secret) {
		t.Errorf("observed %v", g.seen.last.Err)
	}
}

func TestShadowRuleNeverRefuses(t *testing.T) {
	g := ruled(t,
		httplimit.Rule{Name: "wall", Limits: []string{"5/day"}},
		httplimit.Rule{Name: "trial", Limits: []string{"1/day"}, Shadow: true},
		httplimit.Rule{Name: "denied", Limits: []string{"deny"}, Shadow: true},
		httplimit.Rule{Name: "keyed", Limits: []string{"1/day"}, Key: []httplimit.Key{httplimit.ByHeader("K")}, Missing: httplimit.Reject, Shadow: true},
		httplimit.Rule{Name: "priced", Limits: []string{"1/day"}, Cost: func(*http.Request) (int64, error) { return 0, nil }, Shadow: true},
		httplimit.Rule{Name: "wild", Limits: []string{"1/day"}, Plan: nil, Cost: func(*http.Request) (int64, error) { panic("cost") }, Shadow: true},
	)
	res := g.expect(get("/"), ok, ok, ok)
	field(t, res, "RateLimit-Policy", `"wall";q=5;w=86400`)
	if d := g.seen.last.Decisions[1]; g.seen.last.Takes[1].Join != weir.Advise || d.Allowed {
		t.Errorf("the trial joined as %d and was allowed %t", g.seen.last.Takes[1].Join, d.Allowed)
	}
	g.seen.is(t, true, weir.ByLimits)
	if g.seen.last.Err == nil {
		t.Error("the panic in a shadow rule is not observed")
	}
	g.expect(get("/"), ok, ok, limited)
}

func TestSwitch(t *testing.T) {
	g := ruled(t, once())
	g.expect(get("/"), ok, limited)
	g.SetEnforce(httplimit.Shadow)
	field(t, g.expect(get("/"), ok, ok), "RateLimit", "")
	if g.seen.last.Decisions[0].Allowed {
		t.Error("in shadow, nothing was judged")
	}
	g.SetEnforce(httplimit.Off)
	calls := g.seen.calls
	g.expect(get("/"), ok, ok)
	if g.seen.calls != calls {
		t.Error("switched off, something was decided")
	}
	g.SetEnforce(httplimit.On)
	g.expect(get("/"), limited)
	g.SetEnforce(77)
	g.expect(get("/"), limited)
	for e, word := range map[httplimit.Enforce]string{httplimit.On: "on", httplimit.Shadow: "shadow", httplimit.Off: "off", 77: "unknown"} {
		if e.String() != word {
			t.Errorf("%d is %q, want %q", e, e, word)
		}
	}
}

func TestShadowChargesAsIfEnforced(t *testing.T) {
	g := ruled(t, once())
	g.SetEnforce(httplimit.Shadow)
	g.expect(get("/"), ok, ok)
	g.SetEnforce(httplimit.On)
	g.expect(get("/"), limited)
}

func TestCheckIsTheDecisionAlone(t *testing.T) {
	g := ruled(t, once())
	var o weir.Outcome
	if !g.Check(get("/"), &o) || !o.Allowed {
		t.Fatal("the first is refused")
	}
	first := o
	var second weir.Outcome
	if g.Check(get("/"), &second) || second.Cause != weir.ByLimits {
		t.Fatal("the second is let in")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.GiveBack(ctx, &first); err != nil {
		t.Fatal(err)
	}
	if !g.Check(get("/"), &o) {
		t.Error("nothing was given back")
	}
	g.SetEnforce(httplimit.Off)
	if !g.Check(get("/"), &o) || o.Cause != weir.ByNothing || len(o.Takes) != 0 {
		t.Error("switched off, Check decides")
	}
}
