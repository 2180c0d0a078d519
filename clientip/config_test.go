package clientip

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigErrors(t *testing.T) {
	f := func(c Config, want ...string) {
		t.Helper()
		r, err := New(c)
		if err == nil {
			t.Error("no error")
			return
		}
		if r != nil {
			t.Error("a Resolver beside an error")
		}
		if diff := cmp.Diff(strings.Join(want, "\n"), err.Error()); diff != "" {
			t.Error(diff)
		}
	}
	ten := prefixes("10.0.0.0/8")

	trusted := func(ps ...string) Config { return Config{Trusted: prefixes(ps...), Header: "Forwarded"} }
	f(trusted("0.0.0.0/0"), "clientip: Trusted 0.0.0.0/0: trusts everyone; list your proxies' networks")
	f(trusted("::/0"), "clientip: Trusted ::/0: trusts everyone; list your proxies' networks")
	f(trusted("::ffff:0:0/96"), "clientip: Trusted ::ffff:0.0.0.0/96: trusts everyone; list your proxies' networks")
	f(trusted("0.0.0.0/1", "128.0.0.0/1"),
		"clientip: Trusted 0.0.0.0/1: is wider than /8, no one operator's network; list your proxies' networks",
		"clientip: Trusted 128.0.0.0/1: is wider than /8, no one operator's network; list your proxies' networks")
	f(trusted("2000::/3"), "clientip: Trusted 2000::/3: is wider than /7, no one operator's network; list your proxies' networks")
	f(trusted("::ffff:10.0.0.0/8"),
		"clientip: Trusted ::ffff:10.0.0.0/8: is wider than the IPv4-mapped ::ffff:0:0/96 it begins in; write the IPv4 network itself")
	f(Config{Trusted: make([]netip.Prefix, 1), Header: "Forwarded"},
		"clientip: Trusted invalid Prefix: is no network; write it like 10.0.0.0/8 or 2001:db8::/32")
	f(Config{Trusted: ten},
		"clientip: Trusted [10.0.0.0/8]: there is no Header to believe; name the header your proxies write, or leave Trusted empty")

	const nobody = "nobody is trusted to write it; list your proxies' networks in Trusted, or set TrustUnix or TrustAnyPeer"
	f(Config{Header: "X-Forwarded-For"}, "clientip: Header X-Forwarded-For: "+nobody)
	f(Config{Header: "X-Forwarded-For", Hops: 1}, "clientip: Header X-Forwarded-For: "+nobody)
	f(Config{Header: "X-Real-IP"}, "clientip: Header X-Real-IP: "+nobody)
	const one = "is no header's name; name exactly one header, such as X-Forwarded-For"
	f(Config{Trusted: ten, Header: "X-Forwarded-For, X-Real-IP"}, `clientip: Header "X-Forwarded-For, X-Real-IP": `+one)
	f(Config{Trusted: ten, Header: " Forwarded", Hops: 1}, `clientip: Header " Forwarded": `+one)
	f(Config{Trusted: ten, Header: "X_Forwarded_For", Hops: 1}, "clientip: Header X_Forwarded_For: has an underscore, "+
		"which some servers take for a hyphen, so that a caller's header passes for the proxy's; write X-Forwarded-For")
	f(Config{Trusted: ten, Header: "X-Azure-ClientIP"}, "clientip: Header X-Azure-ClientIP: "+
		"may hold what the caller wrote into X-Forwarded-For; use X-Azure-SocketIP")
	f(Config{TrustUnix: true}, "clientip: TrustUnix true: there is no Header to believe; "+
		"name exactly one header, such as X-Forwarded-For")

	f(Config{Hops: 1}, "clientip: Hops 1: there is no Header to count in; name the header your proxies append to")
	f(Config{Trusted: ten, Header: "X-Real-IP", Hops: 1}, "clientip: Hops 1: X-Real-IP holds one address and no list; leave it at 0")
	f(Config{Trusted: ten, Header: "Forwarded", Hops: -1},
		"clientip: Hops -1: is negative; count the proxies that append to the list, or leave it at 0 to walk")
	f(Config{Trusted: ten, Header: "Forwarded", Hops: 33}, "clientip: Hops 33: is above MaxHops, 32; raise MaxHops")
	f(Config{Trusted: ten, Header: "Forwarded", Hops: 3, MaxHops: 2}, "clientip: Hops 3: is above MaxHops, 2; raise MaxHops")
	f(Config{MaxHops: -1}, "clientip: MaxHops -1: is outside 0 to 256; leave it at 0 for the default")
	f(Config{MaxHops: 257}, "clientip: MaxHops 257: is outside 0 to 256; leave it at 0 for the default")

	f(Config{TrustAnyPeer: true}, "clientip: TrustAnyPeer true: there is no Header to believe; name the header your proxy writes")
	f(Config{TrustAnyPeer: true, Trusted: ten, Header: "X-Real-IP"},
		"clientip: TrustAnyPeer true: makes Trusted say nothing; leave out one of the two")
	f(Config{TrustAnyPeer: true, Header: "X-Forwarded-For"},
		"clientip: TrustAnyPeer true: leaves no networks to walk past; set Hops, or list Trusted instead")

	f(Config{IPv4Bits: -1, IPv6Bits: -1},
		"clientip: IPv4Bits -1: is outside 0 to 32; leave it at 0 for the default",
		"clientip: IPv6Bits -1: is outside 0 to 128; leave it at 0 for the default")
	f(Config{IPv4Bits: 33, IPv6Bits: 129},
		"clientip: IPv4Bits 33: is outside 0 to 32; leave it at 0 for the default",
		"clientip: IPv6Bits 129: is outside 0 to 128; leave it at 0 for the default")

	const nat64 = ": is no IPv6 /96; give the 96 bits before the IPv4 address, like 2001:db8:64::/96"
	f(Config{NAT64: prefixes("64:ff9b:1::/48", "10.0.0.0/8", "::ffff:0:0/96")},
		"clientip: NAT64 64:ff9b:1::/48"+nat64, "clientip: NAT64 10.0.0.0/8"+nat64, "clientip: NAT64 ::ffff:0.0.0.0/96"+nat64)
	f(Config{NAT64: make([]netip.Prefix, 1)}, "clientip: NAT64 invalid Prefix"+nat64)
}

func TestConfigErrorsComeAllAtOnce(t *testing.T) {
	_, err := New(Config{
		Trusted:  prefixes("10.0.0.0/8", "::/0"),
		Header:   "Host, Forwarded",
		Hops:     -1,
		MaxHops:  -1,
		IPv4Bits: 99,
		NAT64:    prefixes("2001:db8::/32"),
	})
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok {
		t.Fatalf("%v does not hold several errors", err)
	}
	type place struct {
		Field string
		Index int
	}
	var got []place
	for _, e := range joined.Unwrap() {
		c, ok := errors.AsType[*ConfigError](e)
		if !ok {
			t.Fatalf("%v is no ConfigError", e)
		}
		got = append(got, place{c.Field, c.Index})
	}
	want := []place{{"Trusted", 1}, {"Header", -1}, {"MaxHops", -1}, {"Hops", -1}, {"IPv4Bits", -1}, {"NAT64", 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigAccepted(t *testing.T) {
	f := func(c Config) {
		t.Helper()
		mustNew(t, c)
	}
	ten := prefixes("10.0.0.0/8")
	f(Config{})
	f(Config{IPv4Bits: 24, IPv6Bits: 48, NAT64: prefixes("2001:db8:64::1.2.3.4/96")})
	f(Config{Trusted: prefixes("10.0.0.0/8", "fc00::/7", "::ffff:192.168.0.0/112", "192.0.2.1/32"), Header: "forwarded"})
	f(Config{Trusted: ten, Header: "X-Forwarded-For", Hops: 256, MaxHops: 256})
	f(Config{TrustUnix: true, Header: "X-Forwarded-For"})
	f(Config{TrustUnix: true, Trusted: ten, Header: "X-Real-IP"})
	f(Config{TrustAnyPeer: true, Header: "CF-Connecting-IP"})
	f(Config{TrustAnyPeer: true, TrustUnix: true, Header: "X-Forwarded-For", Hops: 2})
}

func TestTrustedIsNormalised(t *testing.T) {
	f := func(trusted, peer string) {
		t.Helper()
		r := mustNew(t, Config{Trusted: prefixes(trusted), Header: "X-Real-IP"})
		if got := text(r.Resolve(peer, fields("X-Real-IP", "203.0.113.7"))); got != "203.0.113.7" {
			t.Error(got)
		}
	}
	f("::ffff:10.0.0.0/104", "10.9.9.9:1")
	f("::ffff:10.0.0.0/104", "[::ffff:10.9.9.9]:1")
	f("10.0.0.5/8", "10.9.9.9:1")
	f("2001:db8::5/32", "[2001:db8:9::9]:1")
	f("::ffff:10.0.0.1/128", "10.0.0.1:1")
}

func TestResolverKeepsNothingOfItsConfig(t *testing.T) {
	c := Config{Trusted: prefixes("10.0.0.0/8"), Header: "X-Real-IP", NAT64: prefixes("2001:db8:64::/96")}
	r := mustNew(t, c)
	c.Trusted[0] = netip.MustParsePrefix("198.51.100.0/24")
	c.NAT64[0] = netip.MustParsePrefix("2001:db8:65::/96")
	if got := text(r.Resolve("198.51.100.9:1", fields("X-Real-IP", "203.0.113.7"))); got != "198.51.100.9? untrusted-peer" {
		t.Error(got)
	}
	if got := r.Prefix(netip.MustParseAddr("2001:db8:65::1")); !got.Addr().Is6() {
		t.Error(got)
	}
}

func TestNilAndZeroResolverBelieveNobody(t *testing.T) {
	for _, r := range []*Resolver{nil, {}} {
		header := fields("X-Forwarded-For", "1.1.1.1")
		if got := text(r.Resolve("[::ffff:192.0.2.1]:1", header)); got != "192.0.2.1" {
			t.Error(got)
		}
		if got := text(r.Resolve("@", header)); got != "-? no-peer" {
			t.Error(got)
		}
		if got := r.Prefix(netip.MustParseAddr("2001:db8::1")).String(); got != "2001:db8::/64" {
			t.Error(got)
		}
		if got := r.Prefix(netip.Addr{}); got.IsValid() {
			t.Error(got)
		}
	}
}

func TestReasonString(t *testing.T) {
	seen := map[string]bool{"unknown": true}
	for r := None; r <= NoPeer; r++ {
		s := r.String()
		if seen[s] || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") != "" || s == "" {
			t.Errorf("Reason(%d) is %q", r, s)
		}
		seen[s] = true
	}
	if got := (NoPeer + 1).String(); got != "unknown" {
		t.Error(got)
	}
}

func TestResolverIsSafeForConcurrentUse(t *testing.T) {
	r := mustNew(t, Config{Trusted: prefixes("10.0.0.0/8"), Header: "Forwarded"})
	header := fields("Forwarded", `for="\1.1.1.1", for="[2001:db8::7]:_p"`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				a := r.Resolve("10.0.0.1:1", header)
				if got := r.Prefix(a.Addr).String(); got != "2001:db8::/64" {
					t.Error(got)
					return
				}
			}
		})
	}
	wg.Wait()
}
