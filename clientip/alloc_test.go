package clientip

import (
	"net/netip"
	"testing"
)

// A load is a request as it commonly comes.
type load struct {
	name     string
	resolver *Resolver
	peer     string
	header   map[string][]string
}

func loads(tb testing.TB) []load {
	tb.Helper()
	// As many networks as a CDN publishes.
	var cdn []netip.Prefix
	for i := range 200 {
		cdn = append(cdn, netip.PrefixFrom(netip.AddrFrom4([4]byte{104, byte(i), 0, 0}), 16))
	}
	cdn = append(cdn, prefixes("10.0.0.0/8", "2001:db8::/32")...)
	behind := func(header string) *Resolver { return mustNew(tb, Config{Trusted: cdn, Header: header}) }
	counted := mustNew(tb, Config{Trusted: cdn, Header: "X-Forwarded-For", Hops: 2})

	one := func(name, line string) map[string][]string { return map[string][]string{name: {line}} }
	return []load{
		{"peer only", mustNew(tb, Config{}), "192.0.2.1:4711", nil},
		{"peer only v6", nil, "[2001:db8::1]:4711", nil},
		{"stranger", behind("X-Forwarded-For"), "192.0.2.1:4711", one("X-Forwarded-For", "203.0.113.7")},
		{"XFF one hop", behind("X-Forwarded-For"), "10.0.0.1:4711", one("X-Forwarded-For", "203.0.113.7")},
		{
			"XFF three hops", behind("X-Forwarded-For"), "10.0.0.1:4711",
			one("X-Forwarded-For", "1.1.1.1, [2001:db9::7]:443, 104.7.0.1, 10.0.0.2"),
		},
		{"XFF counted", counted, "10.0.0.1:4711", one("X-Forwarded-For", "1.1.1.1, 203.0.113.7, 104.7.0.1")},
		{
			"Forwarded one hop", behind("Forwarded"), "10.0.0.1:4711",
			one("Forwarded", `for="[2001:db9::7]:4711";by=10.0.0.1;proto=https;host=api.example`),
		},
		{
			"Forwarded three hops", behind("Forwarded"), "10.0.0.1:4711",
			one("Forwarded", `for=1.1.1.1, for="203.0.113.7:4711";host="a,b", for=104.7.0.1, for=10.0.0.2;proto=https`),
		},
		{"CF-Connecting-IP", behind("CF-Connecting-IP"), "104.7.0.1:4711", one("Cf-Connecting-Ip", "203.0.113.7")},
		{
			"CloudFront", behind("CloudFront-Viewer-Address"), "104.7.0.1:4711",
			one("Cloudfront-Viewer-Address", "2001:db9::7:46532"),
		},
	}
}

func TestAllocationsForCommonRequests(t *testing.T) {
	for _, l := range loads(t) {
		answer := l.resolver.Resolve(l.peer, l.header)
		if !answer.Sure {
			t.Errorf("%s: %s", l.name, text(answer))
		}
		n := testing.AllocsPerRun(100, func() {
			l.resolver.Prefix(l.resolver.Resolve(l.peer, l.header).Addr)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", l.name, n)
		}
	}
}

func TestAllocationsOfPrefix(t *testing.T) {
	r := mustNew(t, Config{NAT64: prefixes("2001:db8:64::/96")})
	for _, s := range []string{"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "2001:db8:64::1", "fe80::1%eth0"} {
		addr := netip.MustParseAddr(s)
		if n := testing.AllocsPerRun(100, func() { r.Prefix(addr) }); n != 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func TestAllocationsOfTrustsPeer(t *testing.T) {
	for _, l := range loads(t) {
		if got := testing.AllocsPerRun(100, func() { l.resolver.TrustsPeer(l.peer) }); got != 0 {
			t.Errorf("%s: %v allocations", l.name, got)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	for _, l := range loads(b) {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.resolver.Resolve(l.peer, l.header)
			}
		})
	}
}

func BenchmarkPrefix(b *testing.B) {
	r := mustNew(b, Config{NAT64: prefixes("2001:db8:64::/96")})
	for _, s := range []string{"192.0.2.1", "2001:db8::1", "2001:db8:64::1"} {
		b.Run(s, func(b *testing.B) {
			addr := netip.MustParseAddr(s)
			b.ReportAllocs()
			for b.Loop() {
				r.Prefix(addr)
			}
		})
	}
}
