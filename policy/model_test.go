package policy_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

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
}

func (m *model) decide(now weir.Micros, method, path, peer string, header map[string]string) verdict {
	ip, sure := m.caller(peer, header)
	if sure && slices.ContainsFunc(m.config.Exempt, func(e policy.Exempt) bool { return e.IP[0].Contains(ip) }) {
		return verdict{Allowed: true, Reason: policy.ReasonExempt}
	}
	var takes []weir.Take
	matched := false
	for i := range m.config.Rules {
		r := &m.config.Rules[i]
		if !m.matches(r, method, path) || len(r.IP) > 0 && !(sure && r.IP[0].Contains(ip)) {
			continue
		}
		matched = true
		more, refusal := m.takes(r, ip, header)
		if refusal != policy.ReasonLimits && !r.Shadow {
			return verdict{Reason: refusal, Binding: r.Name}
		}
		takes = append(takes, more...)
	}
	switch {
	case !matched:
		return verdict{Allowed: true, Reason: policy.ReasonUnmatched}
	case len(takes) == 0:
		return verdict{Allowed: true, Reason: policy.ReasonUnlimited}
	}
	return m.judge(now, takes)
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

// takes is what a rule asks for, or why it refuses.
func (m *model) takes(r *policy.Rule, ip netip.Addr, header map[string]string) ([]weir.Take, policy.Reason) {
	texts := []string{r.Limit}
	if r.Plan != nil {
		plan, ok := r.Plan.Table[header["X-K"]]
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
		return nil, policy.ReasonLimits
	case "deny":
		return nil, policy.ReasonDeny
	}
	key := ""
	for _, part := range r.Key {
		switch value := header["X-K"]; {
		case part == "ip":
			key += "/ip " + ip.String()
		case part == "const:c":
			key += "/c"
		case value != "":
			key += "/k " + value
		case r.Missing == policy.MissingSkip:
			return nil, policy.ReasonLimits
		case r.Missing == policy.MissingDeny:
			return nil, policy.ReasonMissing
		default:
			key = "/missing " + ip.String()
		}
		if strings.HasPrefix(key, "/missing") {
			break
		}
	}
	// A missing part is counted by address alone, as a rule without other parts is.
	key = strings.Replace(key, "/missing ", "/ip ", 1)
	return m.takesOf(r, texts, key), policy.ReasonLimits
}

func (m *model) takesOf(r *policy.Rule, texts []string, key string) []weir.Take {
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

func (m *model) judge(now weir.Micros, takes []weir.Take) verdict {
	allowed, out, err := m.oracle.Take(now, takes)
	if err != nil {
		panic(err)
	}
	v := verdict{Allowed: allowed, Reason: policy.ReasonLimits}
	best := -1
	for i, d := range out {
		v.Limits = append(v.Limits, fmt.Sprintf("%s %d", takes[i].Limit.Name(), d.Remaining))
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

func drawConfig(t *rapid.T) policy.Config {
	c := policy.Config{
		Version:  1,
		ClientIP: policy.ClientIP{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Real-IP"},
		Plans:    map[string]policy.Limits{"small": {{Limit: "2/h"}}, "large": {{Limit: "3/s"}, {Limit: "6/h"}}, "shut": {{Limit: "deny"}}, "free": {{Limit: "unlimited"}}},
		Rules:    []policy.Rule{{Name: "wall", Match: []string{"/"}, Key: []string{"ip"}, Limit: "1000/s"}},
	}
	if rapid.Bool().Draw(t, "exempt") {
		c.Exempt = []policy.Exempt{{IP: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "rules") {
		r := policy.Rule{
			Name:    fmt.Sprintf("r%d", i),
			Match:   []string{rapid.SampledFrom([]string{"/", "/a/", "GET /a/{x}", "POST /a/b"}).Draw(t, "match")},
			Key:     rapid.SampledFrom([][]string{{"ip"}, {"header:X-K"}, {"ip", "header:X-K"}, {"const:c"}}).Draw(t, "key"),
			Missing: rapid.SampledFrom([]policy.Missing{"", policy.MissingIP, policy.MissingSkip, policy.MissingDeny}).Draw(t, "missing"),
			Shadow:  rapid.Bool().Draw(t, "shadow"),
			Cost:    rapid.Int64Range(0, 2).Draw(t, "cost"),
		}
		if rapid.Bool().Draw(t, "networks") {
			r.IP = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/31")}
		}
		if rapid.Bool().Draw(t, "planned") {
			r.Plan = &policy.Plan{From: "header:X-K", Table: map[string]string{"a": "large", "b": "shut"}}
			r.DefaultPlan = "small"
		} else {
			r.Limit = rapid.SampledFrom([]string{"2/h", "3/min burst 5", "unlimited", "deny"}).Draw(t, "limit")
		}
		c.Rules = append(c.Rules, r)
	}
	return c
}

func TestEngineAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawConfig(rt)
		p, err := policy.Compile(c)
		if err != nil {
			rt.Fatalf("the Config does not compile: %v", err)
		}
		store, clock := memory(t)
		b := &bench{t: t, clock: clock, store: store}
		b.run(p)
		m := &model{config: c, oracle: storetest.NewOracle(), keys: map[string]weir.Key{}}
		for range 40 {
			clock.Advance(weir.Micros(rapid.SampledFrom([]int64{0, 1, 400_000, 60_000_000, 1_800_000_000}).Draw(rt, "pause")))
			method := rapid.SampledFrom([]string{"GET", "POST", "HEAD"}).Draw(rt, "method")
			path := rapid.SampledFrom([]string{"/", "/a", "/a/b", "/a/b/c", "/z"}).Draw(rt, "path")
			peer := rapid.SampledFrom([]string{"10.0.0.1", "192.0.2.1", "192.0.2.2"}).Draw(rt, "peer")
			header := map[string]string{}
			var lines []string
			for name, values := range map[string][]string{"X-K": {"", "a", "b", "c"}, "X-Real-Ip": {"", "192.0.2.1", "192.0.2.3", "no address"}} {
				if value := rapid.SampledFrom(values).Draw(rt, name); value != "" {
					header[name] = value
					lines = append(lines, name+": "+value)
				}
			}
			r := request(method+" "+path, peer+":1", lines...)
			x := b.Explain(context.Background(), r)
			b.Decide(context.Background(), r, &b.last)
			want := m.decide(clock.Now(), method, path, peer, header)
			if got := b.verdict(); !got.equal(want) {
				rt.Fatalf("%s %s from %s %q\n got %+v\nwant %+v", method, path, peer, lines, got, want)
			}
			// What is left after a charge, and so what binds an allowed request, an explanation does not say.
			if x.Allowed != want.Allowed || !want.Allowed && x.Binding != want.Binding || x.Reason != want.Reason.String() {
				rt.Fatalf("%s %s from %s %q\nexplained %+v\nwant %+v", method, path, peer, lines, x, want)
			}
		}
	})
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
