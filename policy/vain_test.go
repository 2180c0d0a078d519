package policy_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/policy"
)

const (
	right = "X-Api-Key: right"
	wrong = "X-Api-Key: guess"
)

// told is all that a caller hears of the last outcome.
func (b *bench) told() string {
	b.t.Helper()
	return told(b.t, &b.last)
}

func told(t testing.TB, o *weir.Outcome) string {
	t.Helper()
	w, err := header.New(header.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	w.Write(h, o)
	text := fmt.Sprint(header.Status(o))
	for _, name := range []string{"Ratelimit", "Ratelimit-Policy", "Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		text += fmt.Sprintf("; %s: %s", name, h.Get(name))
	}
	return text
}

// Where a wrong key has a plan that only limits, it is the limit that refuses who
// tries many: each of them fills the wall all the same.
func TestGuessesUnderALimitFillTheWall(t *testing.T) {
	f := func(file string, header ...string) {
		t.Helper()
		b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {free: 5/h, premium: 1000/h}
rules:
`+file)
		by := map[string]int{}
		for i := range 1000 {
			b.Decide(context.Background(), request("GET /", peer, append(header, fmt.Sprintf("X-Api-Key: guess %d", i))...), &b.last)
			if !b.last.Allowed {
				by[b.last.Rule]++
			}
		}
		if want := map[string]int{"api": 15, "wall": 980}; !maps.Equal(by, want) {
			t.Errorf("refused by %v, want %v", by, want)
		}
		b.want("refused limits", "GET /", peer, right)
		if b.last.Rule != "wall" || strings.Contains(b.told(), "api") {
			t.Errorf("the right key is refused by %s, and told %s", b.last.Rule, b.told())
		}
		b.want("allowed limits", "GET /", "192.0.2.2:1", right)
	}
	const wall, api = "- {name: wall, key: ip, limit: 20/h}\n", `- {name: api, key: ip, plan: {"header:X-Api-Key": {right: premium}}, default_plan: free}` + "\n"
	f(wall + api)
	f(api + wall)
	f(wall+api+`- {name: users, key: "jwt:sub", limit: 1000/h}`, "Authorization: Bearer x.y.z") // refused before the token is looked at
	f(wall + api + "- {name: trial, key: ip, limit: 1/h, shadow: true}")
}

// A guess that another limit refuses, or the lack of something else, is a guess.
func TestGuessesThatOthersRefuseFillTheWall(t *testing.T) {
	f := func(wall, rule, want string, header ...string) {
		t.Helper()
		fill := func() *bench {
			b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {free: 100/h, shut: deny}
rules:
- {name: api, match: /, key: ip, plan: {"header:X-Api-Key": {right: free, old: shut}}, default_plan: free}
- {name: wall, match: /, key: ip, limit: `+wall+`}
`+rule)
			for range 5 {
				b.want(want, "GET /", peer, append(header, wrong)...)
			}
			return b
		}
		b := fill()
		b.want("refused limits", "GET /", peer, append(header, wrong)...)
		full := b.told()
		for _, key := range []string{"right", "old"} {
			for what, b := range map[string]*bench{"after a wrong one": b, "as the first": fill()} {
				if b.ask("GET /", peer, append(header, "X-Api-Key: "+key)...); b.told() != full {
					t.Errorf("%s, %s: %s %s, and a wrong key %s", wall, key, what, b.told(), full)
				}
			}
		}
		for range 10 {
			b.want(want, "GET /", "192.0.2.2:1", append(header, right)...) // which is no guess
		}
		if b.ask("GET /", "192.0.2.2:1"); b.last.Cause == weir.ByLimits && b.last.Rule == "wall" {
			t.Error("right keys have filled the wall")
		}
	}
	for _, wall := range []string{"5/h", "5/h block 2h"} {
		f(wall, "- {name: closed, match: /, limit: deny}", "refused deny")
		f(wall, `- {name: account, match: /, key: "jwt:sub", missing: deny, limit: 1/h}`, "refused missing")
		f(wall, `- {name: page, match: /, key: "header:X-Page", missing: deny, limit: 1/h}`, "refused missing")
	}
}

// Once the wall refuses, a right key is answered as a wrong one is: by the wall
// alone.
func TestFullWallTellsNoKey(t *testing.T) {
	f := func(rules string) {
		t.Helper()
		b := start(t, "plans: {none: deny, free: 1000/h, partner: 100/h}\nrules:\n- {name: wall, match: /, key: ip, limit: 5/h}\n"+rules)
		for range 5 {
			b.ask("GET /", peer, wrong)
		}
		b.want("refused limits", "GET /", peer, wrong)
		want := b.told()
		for _, key := range []string{"right", "shut", "another"} {
			b.want("refused limits", "GET /", peer, "X-Api-Key: "+key)
			if got := b.told(); got != want || b.last.Rule != "wall" || b.last.RetryAfter != 720_000_000 {
				t.Errorf("%s: %s\n%s by %s, want\n%s", rules, key, got, b.last.Rule, want)
			}
		}
	}
	const keys = `- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner, shut: none}}, default_plan: `
	f(keys + "none}")
	f(keys + "free}")
	// Whether a key is in use is not told either.
	f(keys + "none}\n" + `- {name: each, match: /, key: "header:X-Api-Key", limit: 2/h}`)
}

// The same, of whatever rules and requests.
func TestFullWallsTellNoKeys(t *testing.T) {
	secretFile, tokens := drawnTokens(t)
	full := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := drawConfig(rt, secretFile)
		c.Exempt = nil
		if !slices.ContainsFunc(c.Rules, func(r policy.Rule) bool { return r.Plan != nil && !r.Shadow }) {
			return // nothing says that X-K is a key
		}
		p, err := policy.Compile(c)
		if err != nil {
			rt.Fatalf("the Config does not compile: %v", err)
		}
		store, clock := memory(t)
		b := &bench{t: t, clock: clock, store: store, now: time.Unix(1_790_000_000, 0)}
		b.run(p)
		for range 20 {
			q, lines := drawQuery(rt, tokens)
			b.ask(q.method+" "+q.path, q.peer+":1", lines...)
		}
		q, lines := drawQuery(rt, tokens)
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "X-K: ") })
		ask := func(key string) string {
			b.ask(q.method+" "+q.path, q.peer+":1", append(lines, "X-K: "+key)...)
			return b.told()
		}
		for range 8 {
			ask("c") // the one that fills the wall has paid for it, and is told so
		}
		first := ask("c")
		if b.last.Allowed || b.last.Rule != "wall" {
			return
		}
		full++
		for _, key := range []string{"a", "b", "d"} {
			if got := ask(key); got != first {
				rt.Fatalf("%+v %q, a key %s: %s\nc: %s", q, lines, key, got, first)
			}
		}
	})
	if full == 0 {
		t.Error("no wall was full")
	}
}

// meanwhile does something before the n-th call of the store.
func meanwhile(t *testing.T, file string, n int, do func(other *bench)) *bench {
	t.Helper()
	store, clock := memory(t)
	other, calls := startOn(t, file, store, clock), 0
	return startOn(t, file, &troubled{store, func([]weir.Take) error {
		if calls++; calls == n {
			do(other)
		}
		return nil
	}}, clock)
}

// Requests at the same instant gain nothing: a guess that finds the wall full when
// it is to be charged is refused by the wall, and told of nothing else.
func TestWallThatFillsMeanwhileTellsNoKey(t *testing.T) {
	f := func(plan string) {
		t.Helper()
		ask := func(key string) *bench {
			b := meanwhile(t, `
plans: {none: deny, free: 1/h, partner: 100/h}
rules:
- {name: wall, match: /, key: ip, limit: 20/h}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner, shut: none}}, default_plan: `+plan+"}\n", 1, func(other *bench) {
				for range 25 {
					other.ask("GET /", peer, wrong)
				}
			})
			b.want("refused limits", "GET /", peer, "X-Api-Key: "+key)
			return b
		}
		b := ask("guess")
		if b.last.Rule != "wall" || len(b.last.Takes) != 1 {
			t.Errorf("%s: told of %d limits, and refused by %s", plan, len(b.last.Takes), b.last.Rule)
		}
		for _, key := range []string{"right", "shut"} {
			if got := ask(key).told(); got != b.told() {
				t.Errorf("%s: a wrong key %s\n%s: %s", plan, b.told(), key, got)
			}
		}
	}
	f("none") // before it is charged for what was denied
	f("free") // before all limits are asked
}

// Between the refusal and the charge.
func TestWallThatFillsBeforeTheChargeRefuses(t *testing.T) {
	b := meanwhile(t, `
plans: {free: 1/h, partner: 100/h}
rules:
- {name: wall, match: /, key: ip, limit: 20/h}
- {name: keys, match: /, key: "const:all", plan: {"header:X-Api-Key": {right: partner}}, default_plan: free}
`, 3, func(other *bench) {
		for range 25 {
			other.ask("GET /", peer, wrong)
		}
	})
	b.want("allowed limits", "GET /", peer, wrong)
	b.want("refused limits", "GET /", peer, wrong)
	if b.last.Rule != "wall" || len(b.last.Takes) != 1 || b.last.RetryAfter != 180_000_000 {
		t.Errorf("told of %d limits, and refused by %s for %d", len(b.last.Takes), b.last.Rule, b.last.RetryAfter)
	}
}

// What only trusted proxies may send is no guess, and what a rule in shadow does
// not know makes no difference.
func TestNoGuesses(t *testing.T) {
	f := func(from, header string, more string) {
		t.Helper()
		b := startTokens(t, `
client_ip: {trusted_proxies: [10.0.0.0/8], header: X-Real-IP, trusted_headers: [X-Tier]}
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {free: 100/h, gold: 1000/h}
rules:
- {name: users, match: /, key: "jwt:sub", limit: 2/h}
- {name: wall, match: /, key: ip, limit: 5/h}
- {name: tiers, match: /, key: ip, plan: {"header:`+header+`": {gold: gold}}, default_plan: free`+more+`}
`)
		for i := range 10 {
			b.Decide(context.Background(), request("GET /", from, header+": silver", "X-Real-Ip: 192.0.2.9"), &b.last)
			if b.last.Allowed != (i < 2) || b.last.Takes[1].Limit.Name() != "wall" || b.last.Decisions[1].Remaining != max(3, int64(4-i)) {
				t.Fatalf("request %d: %s", i, b.told())
			}
		}
	}
	f("10.0.0.1:1", "X-Tier", "")
	f("10.0.0.1:1", "X-Key", ", shadow: true")
}

// Of several walls the one with the longest wait decides, as among all limits.
func TestLongestWaitOfFullWallsIsTold(t *testing.T) {
	f := func(walls string, wait weir.Micros, never bool, cost int64) {
		t.Helper()
		b := start(t, `
plans: {free: 1/day, partner: 100/h}
rules:
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: free}
`+walls)
		b.want("allowed limits", "GET /", peer, wrong)
		r := request("GET /", peer, wrong)
		r.Cost = cost
		if b.Decide(context.Background(), r, &b.last); b.last.RetryAfter != wait || b.last.Never != never || b.last.Rule != "long" || len(b.last.Takes) != 2 {
			t.Errorf("%s: refused by %s for %d, never %t, among %d", walls, b.last.Rule, b.last.RetryAfter, b.last.Never, len(b.last.Takes))
		}
	}
	const short, long, large = "- {name: short, match: /, limit: 1/min}\n", "- {name: long, match: /, limit: 1/h}\n", "- {name: short, match: /, limit: 2/day burst 2}\n"
	f(short+long, 3_600_000_000, false, 1)
	f(long+short, 3_600_000_000, false, 1)
	f(large+long, 0, true, 2)
	f(long+large, 0, true, 2)
}

// What is charged beside a refusal counts in the wait that is told.
func TestWaitAfterAChargeIsTrue(t *testing.T) {
	f := func(file string, header string) {
		t.Helper()
		b := startTokens(t, file)
		b.want("allowed limits", "GET /", peer, header)
		b.want("refused limits", "GET /", peer, header)
		if b.last.Rule != "wall" || b.last.RetryAfter != 1_800_000_000 || b.last.Limit().Name() != "wall" {
			t.Errorf("refused by %s for %d", b.last.Rule, b.last.RetryAfter)
		}
		b.clock.Advance(b.last.RetryAfter - 1)
		b.want("refused limits", "GET /", peer, header)
		if b.last.RetryAfter != 1 {
			t.Errorf("refused for %d", b.last.RetryAfter)
		}
		b.clock.Advance(1)
		b.want("allowed limits", "GET /", peer, header)
	}
	f(`
jwt: {keys: "file:secret", algorithms: [HS256]}
rules:
- {name: api, match: /, key: "jwt:sub", limit: 1/s burst 1}
- {name: wall, match: /, key: ip, limit: 2/h burst 2}
`, token(t, "another secret of at least thirty-two bytes", "sub", "x"))
	f(`
plans: {free: 1/s burst 1, premium: 1000/h}
rules:
- {name: api, match: /, key: ip, plan: {"header:X-Api-Key": {right: premium}}, default_plan: free}
- {name: wall, match: /, key: ip, limit: 2/h burst 2}
`, wrong)
}

// An explanation refuses as the decision does.
func TestExplanationOfAGuessBehindAFullWall(t *testing.T) {
	b := start(t, `
plans: {none: deny, partner: 100/h}
rules:
- {name: wall, match: /, key: ip, limit: 5/h}
- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: partner}}, default_plan: none}
`)
	f := func(key, binding, reason string) {
		t.Helper()
		x := b.Explain(context.Background(), request("GET /", peer, key))
		b.ask("GET /", peer, key)
		if got := told(t, x.Outcome); x.Binding != binding || x.Reason != reason || got != b.told() {
			t.Errorf("%s: explained %s by %s, %s\ndecided %s", key, x.Reason, x.Binding, got, b.told())
		}
	}
	for range 5 {
		f(wrong, "keys", "deny")
	}
	f(wrong, "wall", "limits")
	f(right, "wall", "limits")
	if got := b.Explain(context.Background(), request("GET /", peer, right)).Rules[1].Verdict; got != "not asked" {
		t.Errorf("the rule that is not told of: %s", got)
	}
}

// Shadow rules, which may bring the sum over what one call holds, keep nothing
// from being charged.
func TestBogusTokensAreCountedBesideManyTrials(t *testing.T) {
	f := func(wall string) {
		t.Helper()
		b := startTokens(t, `
jwt: {keys: "file:secret", algorithms: [HS256]}
plans: {many: [5/min, 6/h, 7/day, 5 per 2m, 5 per 3m, 5 per 4m, 5 per 5m, 5 per 6m, 5 per 7m, 5 per 8m, 5 per 9m, 5 per 10m, 5 per 11m, 5 per 12m]}
rules:
- {name: trial, match: /, ip: [0.0.0.0/0], key: ip, shadow: true, limits: [5/min, 6/h, 7/day]}
- {name: account, match: /, key: "jwt:sub", missing: deny, limit: 100/h}
`+wall)
		for i := range 100 {
			want := "refused limits"
			if i < 5 {
				want = "refused missing"
			}
			header := token(t, "another secret of at least thirty-two bytes", "sub", i)
			if x := b.Explain(context.Background(), request("GET /", peer, header)); "refused "+x.Reason != want {
				t.Fatalf("request %d: explained by %s (%s), want %s", i, x.Reason, x.Error, want)
			}
			b.want(want, "GET /", peer, header)
		}
		if b.asked != 10 { // five were explained as well
			t.Errorf("%d tokens were verified", b.asked)
		}
	}
	f("- {name: wall, match: /, key: ip, limits: [5/min, 6/h, 7/day, 5 per 2m, 5 per 3m, 5 per 4m, 5 per 5m, 5 per 6m, 5 per 7m, 5 per 8m, 5 per 9m, 5 per 10m, 5 per 11m, 5 per 12m]}")
	f(`- {name: keys, match: /, key: ip, plan: {"header:X-Api-Key": {right: many}}, default_plan: many}`)
}
