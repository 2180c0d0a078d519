package policy_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy"
	"github.com/weirhq/weir/storetest"
)

// model decides as ARCHITECTURE.md's way of a request says, without care for time or
// space, and shares with the engine only the words of the Config. What limits
// answer, it asks the oracle.
type model struct {
	config policy.Config
	oracle *storetest.Oracle
	keys   map[string]weir.Key
}

// A verdict is what the model expects.
type verdict struct {
	Allowed bool
	Reason  policy.Reason
	Binding string // the limit that decided, or the rule that refused
	Retry   weir.Micros
	Limits  []string // with what was left of each

	whole   bool // all limits were asked: the wait is when the request passes
	blocked bool // a limit that was asked has blocked, so that the wait is not that of a look
	charged bool // though it is refused
}

// A query is a request in the model's words.
type query struct {
	method, path, peer string
	header             map[string]string
	token              string // whose it is; "bogus" is nobody's, "" none
}

// A part is what one matching rule comes to.
type part struct {
	rule           *policy.Rule
	takes          []weir.Take
	refusal        policy.Reason // ReasonLimits for none
	shown, guessed bool          // an API key was presented to it, which its table does not have
	bogus          bool          // a token was verified for it, in vain
}

func (m *model) decide(now weir.Micros, q query) verdict {
	ip, sure := m.caller(q.peer, q.header)
	if sure && slices.ContainsFunc(m.config.Exempt, func(e policy.Exempt) bool { return e.IP[0].Contains(ip) }) {
		return verdict{Allowed: true, Reason: policy.ReasonExempt}
	}
	var all []part
	for i := range m.config.Rules {
		r := &m.config.Rules[i]
		if m.matches(r, q.method, q.path) && (len(r.IP) == 0 || sure && r.IP[0].Contains(ip)) {
			all = append(all, m.part(r, ip, q))
		}
	}
	if len(all) == 0 {
		return verdict{Allowed: true, Reason: policy.ReasonUnmatched}
	}
	v, asked, seen := m.refuse(now, all, q)
	if v.Allowed {
		return v
	}
	return m.settle(now, v, asked, all, seen)
}

// refuse is the decision but for what becomes of a refusal, with the parts whose
// limits were asked for it, and those that were looked at.
func (m *model) refuse(now weir.Micros, all []part, q query) (v verdict, asked, seen []part) {
	var early, late []part
	for _, p := range all {
		if needsToken(p.rule) {
			late = append(late, p)
		} else {
			early = append(early, p)
		}
	}
	if q.token == "" || len(late) == 0 {
		early, late = nil, all
	}
	for _, p := range early {
		if seen = append(seen, p); p.refuses() {
			return verdict{Reason: p.refusal, Binding: p.rule.Name}, nil, seen
		}
		if !p.rule.Shadow {
			asked = append(asked, p)
		}
	}
	if v := m.judge(now, takesOf(asked), weir.Peek|weir.Strike); !v.Allowed {
		return v, asked, seen
	}
	for _, p := range late {
		if seen = append(seen, p); p.refuses() {
			return verdict{Reason: p.refusal, Binding: p.rule.Name}, nil, seen
		}
	}
	v = m.judge(now, takesOf(all), 0)
	v.whole = true
	return v, all, all
}

func (p part) refuses() bool { return p.refusal != policy.ReasonLimits && !p.rule.Shadow }

func takesOf(parts []part) (takes []weir.Take) {
	for _, p := range parts {
		takes = append(takes, p.takes...)
	}
	return takes
}

func needsToken(r *policy.Rule) bool { return slices.Contains(r.Key, "jwt:sub") }

// secret reports a rule in which an API key has a say: all tables look one up.
func (m *model) secret(r *policy.Rule) bool {
	tables := slices.ContainsFunc(m.config.Rules, func(r policy.Rule) bool { return r.Plan != nil && !r.Shadow })
	return r.Plan != nil || tables && slices.Contains(r.Key, "header:X-K")
}

// settle says what becomes of a refusal: what was presented in vain is charged to
// the limits that need no token. Who presents an API key, and is refused by a rule
// in which neither key nor token has a say, hears of no others.
func (m *model) settle(now weir.Micros, v verdict, asked, all, seen []part) verdict {
	blind := func(p part) bool { return !p.rule.Shadow && !needsToken(p.rule) && !m.secret(p.rule) }
	vain, shown := false, false
	for _, p := range seen {
		vain = vain || p.bogus || p.guessed && !p.rule.Shadow
		shown = shown || p.shown && !p.rule.Shadow
	}
	for _, p := range asked {
		if !blind(p) || m.judge(now, p.takes, weir.Peek).Allowed {
			continue
		}
		if shown {
			v = m.judge(now, takesOf(slices.DeleteFunc(slices.Clone(asked), func(p part) bool { return needsToken(p.rule) || m.secret(p.rule) })), weir.Peek)
		}
		return v
	}
	if !vain && (!shown || v.Reason == policy.ReasonLimits) {
		return v
	}
	var walls, others []weir.Take
	for _, p := range all {
		switch {
		case blind(p):
			walls = append(walls, p.takes...)
		case !needsToken(p.rule):
			others = append(others, p.takes...)
		}
	}
	for i := range others {
		others[i].Join = weir.Advise
	}
	how := weir.How(0)
	if !vain {
		how = weir.Peek | weir.Strike // who is refused by a look is refused
	}
	if len(walls)+len(others) > 0 && !m.judge(now, slices.Concat(walls, others), how).Allowed {
		return m.judge(now, walls, weir.Peek)
	}
	if v.Reason == policy.ReasonLimits {
		whole := v.whole
		v = m.judge(now, takesOf(asked), weir.Peek)
		v.whole = whole
	}
	v.charged = vain
	return v
}

func (m *model) caller(peer string, header map[string]string) (netip.Addr, bool) {
	ip := netip.MustParseAddr(peer)
	if !strings.HasPrefix(peer, "10.") {
		return ip, false // the header names one address: whoever comes without the proxy has gone around it
	}
	if named, err := netip.ParseAddr(header["X-Real-Ip"]); err == nil {
		return named, true
	}
	return ip, false
}

// matches knows the few patterns that the test draws.
func (m *model) matches(r *policy.Rule, method, path string) bool {
	switch r.Match[0] {
	case "/":
		return true
	case "/a/":
		return path == "/a" || strings.HasPrefix(path, "/a/")
	case "GET /a/{x}":
		return (method == "GET" || method == "HEAD") && strings.HasPrefix(path, "/a/") && strings.Count(path, "/") == 2
	case "POST /a/b":
		return method == "POST" && path == "/a/b"
	}
	panic(r.Match[0])
}

// part is what a rule asks for, or why it refuses.
func (m *model) part(r *policy.Rule, ip netip.Addr, q query) part {
	p := part{rule: r, refusal: policy.ReasonLimits}
	texts := []string{r.Limit}
	if r.Plan != nil {
		plan, ok := r.Plan.Table[q.header["X-K"]]
		p.shown = q.header["X-K"] != ""
		p.guessed = p.shown && !ok
		if !ok {
			plan = r.DefaultPlan
		}
		texts = nil
		for _, l := range m.config.Plans[plan] {
			texts = append(texts, l.Limit)
		}
	}
	switch texts[0] {
	case "unlimited":
		return p
	case "deny":
		p.refusal = policy.ReasonDeny
		return p
	}
	key := ""
	for _, word := range r.Key {
		value := map[string]string{"ip": ip.String(), "const:c": "c", "header:X-K": q.header["X-K"], "jwt:sub": strings.TrimPrefix(q.token, "bogus")}[word]
		p.bogus = p.bogus || word == "jwt:sub" && q.token == "bogus"
		switch {
		case value != "":
			key += "/" + word + " " + value
			continue
		case r.Missing == policy.MissingSkip:
			return p
		case r.Missing == policy.MissingDeny:
			p.refusal = policy.ReasonMissing
			return p
		}
		key = "/ip " + ip.String() // a missing part is counted by address alone, as a rule without other parts is
		break
	}
	p.shown = p.shown || strings.Contains(key, "header:X-K") && m.secret(r)
	p.takes = m.takes(r, texts, key)
	return p
}

func (m *model) takes(r *policy.Rule, texts []string, key string) []weir.Take {
	id, ok := m.keys[key]
	if !ok {
		binary.LittleEndian.PutUint64(id[:], uint64(len(m.keys)+1))
		m.keys[key] = id
	}
	var takes []weir.Take
	for _, text := range texts {
		spec, err := weir.ParseSpec(text)
		if err != nil {
			panic(err)
		}
		name := r.Name
		if r.Plan != nil {
			name += "/" + spec.Slot() // one of the plans has several limits
		}
		l, err := weir.NewLimit(name, spec)
		if err != nil {
			panic(err)
		}
		take := weir.Take{Limit: l, Key: id, Cost: max(1, r.Cost)}
		if r.Shadow {
			take.Join = weir.Advise
		}
		takes = append(takes, take)
	}
	return takes
}

// judge asks the oracle.
func (m *model) judge(now weir.Micros, takes []weir.Take, how weir.How) verdict {
	if len(takes) == 0 {
		return verdict{Allowed: true, Reason: policy.ReasonUnlimited}
	}
	takes = slices.Clone(takes)
	for i := range takes {
		takes[i].How = how
	}
	allowed, out, err := m.oracle.Take(now, takes)
	if err != nil {
		panic(err)
	}
	v := verdict{Allowed: allowed, Reason: policy.ReasonLimits}
	best := -1
	for i, d := range out {
		v.Limits = append(v.Limits, fmt.Sprintf("%s %d", takes[i].Limit.Name(), d.Remaining))
		v.blocked = v.blocked || d.Blocked
		if takes[i].Join != weir.All || d.Allowed != allowed {
			continue
		}
		if best < 0 || allowed && d.Remaining*takes[best].Limit.Capacity() < out[best].Remaining*takes[i].Limit.Capacity() ||
			!allowed && d.RetryAfter > out[best].RetryAfter {
			best = i
		}
	}
	if best >= 0 {
		v.Binding = takes[best].Limit.Name()
		v.Retry = out[best].RetryAfter
	}
	return v
}

func drawConfig(t *rapid.T, secretFile string) policy.Config {
	c := policy.Config{
		Version:  1,
		ClientIP: policy.ClientIP{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Real-IP"},
		JWT:      &policy.JWT{Keys: "file:" + secretFile, Algorithms: []string{"HS256"}},
		Plans:    map[string]policy.Limits{"small": {{Limit: rapid.SampledFrom([]string{"2/h", "2/h block 30m"}).Draw(t, "small")}}, "large": {{Limit: "3/s"}, {Limit: "6/h"}}, "shut": {{Limit: "deny"}}},
	}
	wall := rapid.SampledFrom([]string{"1000/s", "4/h burst 8", "6/h fixed-window", "6/h sliding-window", "4/h block 1h x 2 max 3h"}).Draw(t, "wall")
	c.Rules = []policy.Rule{{Name: "wall", Match: []string{"/"}, Key: []string{"ip"}, Limit: wall}}
	if rapid.Bool().Draw(t, "exempt") {
		c.Exempt = []policy.Exempt{{IP: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
		r := policy.Rule{
			Name:    fmt.Sprintf("r%d", i),
			Match:   []string{rapid.SampledFrom([]string{"/", "/a/", "GET /a/{x}", "POST /a/b"}).Draw(t, "match")},
			Key:     rapid.SampledFrom([][]string{{"ip"}, {"header:X-K"}, {"ip", "header:X-K"}, {"const:c"}, {"jwt:sub"}}).Draw(t, "key"),
			Missing: rapid.SampledFrom([]policy.Missing{"", policy.MissingIP, policy.MissingSkip, policy.MissingDeny}).Draw(t, "missing"),
			Shadow:  rapid.IntRange(0, 3).Draw(t, "shadow") == 0,
			Cost:    rapid.Int64Range(0, 2).Draw(t, "cost"),
		}
		if rapid.Bool().Draw(t, "networks") {
			r.IP = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/31")}
		}
		if rapid.Bool().Draw(t, "planned") {
			r.Plan = &policy.Plan{From: "header:X-K", Table: map[string]string{"a": "large", "b": "shut"}}
			r.DefaultPlan = rapid.SampledFrom([]string{"small", "small", "shut"}).Draw(t, "default")
		} else {
			r.Limit = rapid.SampledFrom([]string{"2/h", "3/min burst 5", "2/min block 1h", "unlimited", "deny"}).Draw(t, "limit")
		}
		c.Rules = append(c.Rules, r)
	}
	if rapid.Bool().Draw(t, "wall last") {
		c.Rules = append(c.Rules[1:], c.Rules[0])
	}
	return c
}

// drawQuery draws a request, and its lines of a header.
func drawQuery(t *rapid.T, tokens map[string]string) (q query, lines []string) {
	q = query{
		method: rapid.SampledFrom([]string{"GET", "POST", "HEAD"}).Draw(t, "method"),
		path:   rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a/b/c", "/z"}).Draw(t, "path"),
		peer:   rapid.SampledFrom([]string{"10.0.0.1", "192.0.2.1", "192.0.2.2"}).Draw(t, "peer"),
		header: map[string]string{},
		token:  rapid.SampledFrom([]string{"", "", "bogus", "ann", "bob"}).Draw(t, "token"),
	}
	if q.token != "" {
		lines = append(lines, tokens[q.token])
	}
	for _, h := range []struct {
		name   string
		values []string
	}{{"X-K", []string{"", "a", "b", "c"}}, {"X-Real-Ip", []string{"", "192.0.2.1", "192.0.2.3", "no address"}}} {
		if value := rapid.SampledFrom(h.values).Draw(t, h.name); value != "" {
			q.header[h.name] = value
			lines = append(lines, h.name+": "+value)
		}
	}
	return q, lines
}

// drawnTokens are the tokens of queries, and the file with the secret under which
// they verify.
func drawnTokens(t *testing.T) (secretFile string, tokens map[string]string) {
	t.Helper()
	secretFile = filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secretFile, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return secretFile, map[string]string{
		"bogus": token(t, "another secret of at least thirty-two bytes", "sub", "ann"),
		"ann":   token(t, secret, "sub", "ann"),
		"bob":   token(t, secret, "sub", "bob"),
	}
}

func TestEngineAgreesWithTheModel(t *testing.T) {
	secretFile, tokens := drawnTokens(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := drawConfig(rt, secretFile)
		p, err := policy.Compile(c)
		if err != nil {
			rt.Fatalf("the Config does not compile: %v", err)
		}
		store, clock := memory(t)
		b := &bench{t: t, clock: clock, store: store, now: time.Unix(1_790_000_000, 0)}
		b.run(p)
		m := &model{config: c, oracle: storetest.NewOracle(), keys: map[string]weir.Key{}}
		for range 40 {
			clock.Advance(weir.Micros(rapid.SampledFrom([]int64{0, 0, 1, 400_000, 60_000_000, 1_800_000_000}).Draw(rt, "pause")))
			q, lines := drawQuery(rt, tokens)
			want := b.agrees(rt, m, q, lines)
			// The wait that was told is true, whatever a refusal has charged.
			if want.whole && !want.Allowed && rapid.Bool().Draw(rt, "come back") {
				clock.Advance(want.Retry)
				if again := b.agrees(rt, m, q, lines); !again.Allowed {
					rt.Fatalf("%+v %q\ntold %+v\nthen %+v", q, lines, want, again)
				}
			}
		}
	})
}

// agrees explains and decides a request, and holds both against the model.
func (b *bench) agrees(rt *rapid.T, m *model, q query, lines []string) verdict {
	r := request(q.method+" "+q.path, q.peer+":1", lines...)
	x := b.Explain(context.Background(), r)
	b.Decide(context.Background(), r, &b.last)
	want := m.decide(b.clock.Now(), q)
	if got := b.verdict(); !got.equal(want) {
		rt.Fatalf("%+v %q\n got %+v\nwant %+v", q, lines, got, want)
	}
	// What is left after a charge, and so what binds, an explanation does not say.
	bound := !want.Allowed && !want.charged && !want.blocked
	if x.Allowed != want.Allowed || bound && x.Binding != want.Binding || x.Reason != want.Reason.String() {
		rt.Fatalf("%+v %q\nexplained %+v\nwant %+v", q, lines, x, want)
	}
	return want
}

// verdict is what the engine found last, in the model's words.
func (b *bench) verdict() verdict {
	v := verdict{Allowed: b.last.Allowed, Reason: b.seen.reason, Binding: b.last.Rule, Retry: b.last.RetryAfter}
	if l := b.last.Limit(); l != nil {
		v.Binding = l.Name()
	}
	for i, d := range b.last.Decisions {
		v.Limits = append(v.Limits, fmt.Sprintf("%s %d", b.last.Takes[i].Limit.Name(), d.Remaining))
	}
	return v
}

func (v verdict) equal(w verdict) bool {
	return v.Allowed == w.Allowed && v.Reason == w.Reason && v.Binding == w.Binding && v.Retry == w.Retry && slices.Equal(v.Limits, w.Limits)
}
