package httplimit_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

func anyone(*http.Request) (string, bool) { return "", true }

// refused checks that New refuses a config with these lines, or lines that begin
// so: what package weir says of a limit's text is its own.
func refused(t *testing.T, c httplimit.Config, want ...string) {
	t.Helper()
	m, err := httplimit.New(c)
	if err == nil {
		t.Fatalf("accepted; want\n%s", strings.Join(want, "\n"))
	}
	if m != nil {
		t.Error("a Middleware comes with the error")
	}
	if got := strings.Split(err.Error(), "\n"); !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRefusedConfigs(t *testing.T) {
	store := memory(t)
	refused(t, httplimit.Config{},
		"weir: Store nil: limits need one; make one with memstore.New, or set Decider")
	refused(t, httplimit.Config{Store: store, Enforce: 3, Header: header.Config{Jitter: -time.Second}},
		"weir: Rules: there are none; write one, or set Decider",
		"weir: Enforce 3: no such position; use On, Shadow or Off",
		"weir: header Jitter -1s: it is added to a wait and cannot be negative; write 0 for none")
	refused(t, httplimit.Config{Store: store, Decider: &scripted{}},
		"weir: Decider: it stands instead of Store and Rules; leave one or the other out")
	refused(t, httplimit.Config{Rules: []httplimit.Rule{once()}, Decider: &scripted{}},
		"weir: Decider: it stands instead of Store and Rules; leave one or the other out")
	small, err := memstore.New(memstore.Config{MaxKeys: 64})
	if err != nil {
		t.Fatal(err)
	}
	many := httplimit.Rule{Name: "many"}
	for i := range 10 {
		many.Limits = append(many.Limits, string(rune('a'+i))+": 1/s")
	}
	if _, err := httplimit.New(httplimit.Config{Store: small, Rules: []httplimit.Rule{many}}); !errors.Is(err, weir.ErrNotApplied) {
		t.Errorf("a store without room for the limits: %v", err)
	}
}

func TestRefusedRules(t *testing.T) {
	store := memory(t)
	f := func(r httplimit.Rule, want ...string) {
		t.Helper()
		refused(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{r}}, want...)
	}
	one := []string{"1/s"}
	plan := func(*http.Request) string { return "" }

	f(httplimit.Rule{Limits: one}, `weir: rule "": Name: a name is 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit`)
	f(httplimit.Rule{Name: "a/b", Limits: one}, `weir: rule "a/b": Name: a name is 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit`)
	f(httplimit.Rule{Name: "A\n", Limits: one}, `weir: rule "A\n": Name: a name is 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit`)
	f(httplimit.Rule{Name: "x"}, `weir: rule x: Limits: there are none; write a limit such as "10/min", or "unlimited", or set Plan`)
	f(httplimit.Rule{Name: "x", Limits: []string{"0/s", "5/parsec"}},
		`weir: rule x: Limits[0] "0/s": count 0: `,
		`weir: rule x: Limits[1] "5/parsec": period parsec: `)
	f(httplimit.Rule{Name: "x", Limits: []string{"5/min", "1 per 60s"}},
		`weir: rule x: Limits[1] "1 per 60s": another limit of the list is named 1m as well; name one of them, as in "burst: 20/s"`)
	f(httplimit.Rule{Name: "x", Limits: []string{"a: 5/min", "a: 1/h"}},
		`weir: rule x: Limits[1] "a: 1/h": another limit of the list is named a as well; name one of them, as in "burst: 20/s"`)
	f(httplimit.Rule{Name: "x", Limits: []string{": 5/min", "A: 1/h"}},
		`weir: rule x: Limits[0] ": 5/min": there is no name in front of the colon`,
		`weir: rule x: Limits[1] "A: 1/h": name "x/A": `)
	f(httplimit.Rule{Name: "x", Limits: []string{"unlimited", "1/s"}},
		`weir: rule x: Limits[0] "unlimited": it stands alone, without a name; leave it or the others out`)
	f(httplimit.Rule{Name: "x", Limits: []string{"a: deny"}},
		`weir: rule x: Limits[0] "a: deny": it stands alone, without a name; leave it or the others out`)

	f(httplimit.Rule{Name: "x", Limits: one, OnError: weir.Local}, `weir: rule x: OnError local: no choice for a store that fails; use weir.Closed or weir.Open`)
	f(httplimit.Rule{Name: "x", Limits: one, Missing: 3}, `weir: rule x: Missing 3: no such choice; use ByAddress, Skip or Reject`)
	f(httplimit.Rule{Name: "x", Limits: one, Challenge: "Bearer"}, `weir: rule x: Challenge "Bearer": only a refusal carries one; set Missing to Reject, or leave it out`)
	f(httplimit.Rule{Name: "x", Limits: one, Missing: httplimit.Reject, Challenge: "a\r\nb"}, `weir: rule x: Challenge "a\r\nb": a field holds printable ASCII; write it like Basic realm="api"`)

	f(httplimit.Rule{Name: "x", Limits: one, Plan: plan, Plans: map[string][]string{"a": one}, DefaultPlan: "a"},
		`weir: rule x: Limits: with Plan, each plan has its own; leave one of the two out`)
	f(httplimit.Rule{Name: "x", Plans: map[string][]string{"a": one}}, `weir: rule x: Plan nil: there are plans, and nothing says whose they are; set Plan`)
	f(httplimit.Rule{Name: "x", Plan: plan}, `weir: rule x: DefaultPlan "": it is not among Plans; name the plan of callers whose plan is not`)
	f(httplimit.Rule{Name: "x", Plan: plan, Plans: map[string][]string{"a": {}, "b": {"5/x"}}, DefaultPlan: "c"},
		`weir: rule x: Plans["a"]: there are no limits in it; write "unlimited" if that is meant`,
		`weir: rule x: Plans["b"][0] "5/x": period x: `,
		`weir: rule x: DefaultPlan "c": it is not among Plans; name the plan of callers whose plan is not`)
	f(httplimit.Rule{Name: "x", Plan: plan, Plans: map[string][]string{"staff": {"unlimited"}}, DefaultPlan: "staff"},
		`weir: rule x: DefaultPlan "staff": whoever names a plan that does not exist would be unlimited; name one that has limits, or one that is "deny"`)
}

func TestRefusedKeys(t *testing.T) {
	store := memory(t)
	f := func(k httplimit.Key, want string) {
		t.Helper()
		r := httplimit.Rule{Name: "x", Limits: []string{"1/s"}, Key: []httplimit.Key{httplimit.ByIP(), k}}
		refused(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{r}}, "weir: rule x: Key[1]"+want)
	}
	f(httplimit.Key{}, ": it is empty; make it with ByIP, ByHeader, ByPathValue, By or Everyone")
	f(httplimit.ByHeader(""), `: ByHeader "": it is no name of a header; write it like X-Api-Key`)
	f(httplimit.ByHeader("X Api"), `: ByHeader "X Api": it is no name of a header; write it like X-Api-Key`)
	f(httplimit.ByHeader("X-Api:"), `: ByHeader "X-Api:": it is no name of a header; write it like X-Api-Key`)
	f(httplimit.ByHeader("host"), `: ByHeader host: net/http keeps it apart from the header; use By("host", …) with r.Host`)
	f(httplimit.ByPathValue(""), `: ByPathValue "path:": a kind has 1 to 64 characters; name what the value is, such as user`)
	f(httplimit.By("", anyone), `: By "": a kind has 1 to 64 characters; name what the value is, such as user`)
	f(httplimit.By(strings.Repeat("x", 65), anyone), `: By "`+strings.Repeat("x", 64)+`": a kind has 1 to 64 characters; name what the value is, such as user`)
	f(httplimit.By("a b", anyone), `: By "a b": a kind is letters, digits and :._-`)
	f(httplimit.By("ip", anyone), `: By ip: the kind has a meaning of its own; choose another`)
	f(httplimit.By("everyone", anyone), `: By everyone: the kind has a meaning of its own; choose another`)
	f(httplimit.By("user", nil), `: By user nil: there is no function to find the value`)
}

func TestRulesTogether(t *testing.T) {
	store := memory(t)
	rule := func(name string, n int) httplimit.Rule {
		r := httplimit.Rule{Name: name}
		for i := range n {
			r.Limits = append(r.Limits, string(rune('a'+i))+": 1/s")
		}
		return r
	}
	refused(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule("x", 1), rule("x", 1)}},
		"weir: rule x: Name: another rule has the same; limits under one name share their states: choose another")
	refused(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule("x", 9), rule("y", 8)}},
		"weir: Rules 17: so many limits could apply to one request; at most 16, over all rules: use fewer, or two Middlewares")
	refused(t, httplimit.Config{Store: store, Rules: []httplimit.Rule{rule("x", 17)}},
		"weir: rule x: Limits 17: too many limits; at most 16")
	// Of a rule's plans only one applies to a request.
	planned := httplimit.Rule{
		Name: "y", Plan: func(*http.Request) string { return "" }, DefaultPlan: "a",
		Plans: map[string][]string{"a": rule("", 8).Limits, "b": rule("", 8).Limits},
	}
	g := ruled(t, rule("x", 8), planned)
	g.expect(get("/"), ok, limited)
	if n := len(g.seen.last.Takes); n != weir.MaxTakes {
		t.Errorf("%d takes", n)
	}
}
