package clientip

import (
	"fmt"
	"net/netip"
	"testing"
)

// The tests here are named for mistakes that others made: R for one that shows
// when the library is run, S for one that has an advisory.

// keys collects what requests are counted under.
type keys struct {
	r    *Resolver
	seen map[netip.Prefix]int
}

func newKeys(t *testing.T, c Config) keys {
	t.Helper()
	return keys{mustNew(t, c), map[netip.Prefix]int{}}
}

// add counts a request. A key that is not valid is a request that a limiter
// might skip.
func (k keys) add(t *testing.T, peer string, header map[string][]string) {
	t.Helper()
	key := k.r.Prefix(k.r.Resolve(peer, header).Addr)
	if !key.IsValid() {
		t.Errorf("peer %s, header %q: no key", peer, header)
	}
	k.seen[key]++
}

// want checks that all requests fell under the one key.
func (k keys) want(t *testing.T, key string, count int) {
	t.Helper()
	if len(k.seen) != 1 || k.seen[netip.MustParsePrefix(key)] != count {
		t.Errorf("keys %v, want only %s, %d times", k.seen, key, count)
	}
}

// identityHeaders are the names under which addresses travel.
func identityHeaders() []string {
	return []string{
		"X-Forwarded-For", "Forwarded", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
		"Cf-Connecting-Ipv6", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip",
		"X-Azure-Clientip", "X-Azure-Socketip", "X-Envoy-External-Address", "X-Original-Forwarded-For",
		"Cloudfront-Viewer-Address", "X-Forwarded", "Forwarded-For", "X_forwarded_for",
	}
}

// spoofed is the value that a caller writes to be taken for another each time.
func spoofed(name string, i int) string {
	addr := fmt.Sprintf("203.0.%d.%d", i/250, i%250+1)
	switch name {
	case "Forwarded":
		return "for=" + addr
	case "Cloudfront-Viewer-Address":
		return addr + ":443"
	}
	return addr
}

func tenXFF() Config {
	return Config{Trusted: prefixes("10.0.0.0/8"), Header: "X-Forwarded-For"}
}

// httprate v0.15.0 and tollbooth v8.0.1 gave both the key "::".
func TestR30MappedClientsDoNotShareOneBucket(t *testing.T) {
	k := newKeys(t, Config{})
	k.add(t, "[::ffff:203.0.113.7]:1", nil)
	k.add(t, "203.0.113.7:1", nil)
	k.want(t, "203.0.113.7/32", 2)
	k.add(t, "[::ffff:198.51.100.9]:1", nil)
	if len(k.seen) != 2 {
		t.Errorf("two callers have the keys %v", k.seen)
	}
}

// httprate v0.15.0, KeyByRealIP.
func TestR31SpoofedTrueClientIPIsNotAKey(t *testing.T) {
	k := newKeys(t, Config{Trusted: prefixes("10.0.0.0/8"), Header: "True-Client-IP"})
	for i := range 100 {
		k.add(t, "198.51.100.9:1", fields("True-Client-IP", spoofed("", i)))
		k.add(t, "198.51.100.9:1", fields("True-Client-IP", fmt.Sprint("no address ", i)))
	}
	k.want(t, "198.51.100.9/32", 200)
}

// tollbooth v8.0.1 let all of them through.
func TestR34AbsentOrEmptyHeaderDoesNotSkipTheLimiter(t *testing.T) {
	k := newKeys(t, tenXFF())
	for _, lines := range []string{none, "", ",", " , \t,", " | "} {
		k.add(t, "10.0.0.1:1", fields("X-Forwarded-For", lines))
	}
	k.want(t, "10.0.0.1/32", 5)

	trailing := newKeys(t, tenXFF())
	trailing.add(t, "10.0.0.1:1", fields("X-Forwarded-For", "203.0.113.7, "))
	trailing.want(t, "203.0.113.7/32", 1)
}

// tollbooth v8.0.1 let all of them through.
func TestR35VaryingPortIsNotANewCaller(t *testing.T) {
	k := newKeys(t, tenXFF())
	for port := range 100 {
		k.add(t, "10.0.0.1:1", fields("X-Forwarded-For", fmt.Sprint("203.0.113.7:", 40000+port)))
	}
	k.want(t, "203.0.113.7/32", 100)
}

// tollbooth v8.0.1, IndexFromRight.
func TestR35TooFewHopsIsThePeer(t *testing.T) {
	c := tenXFF()
	c.Hops = 2
	k := newKeys(t, c)
	for i := range 100 {
		k.add(t, "10.0.0.1:1", fields("X-Forwarded-For", spoofed("", i)))
	}
	k.want(t, "10.0.0.1/32", 100)
}

// httprate v0.16.1 kept both, and the address unmasked.
func TestR37ZonesAndBracketsAreNotPartOfAKey(t *testing.T) {
	k := newKeys(t, Config{})
	for _, peer := range []string{"fe80::1%eth0", "[fe80::1%eth0]:1", "[fe80::1%eth1]:1", "[fe80::1]", "fe80::1"} {
		k.add(t, peer, nil)
	}
	k.want(t, "fe80::/64", 5)

	behind := newKeys(t, tenXFF())
	for _, hop := range []string{"[2001:db8::1]", "2001:db8::1", "[2001:db8::1]:9", "2001:db8::1%x", "2001:DB8:0::1"} {
		behind.add(t, "10.0.0.1:1", fields("X-Forwarded-For", hop))
	}
	behind.want(t, "2001:db8::/64", 5)
}

// CVE-2020-28483, gin.
func TestS01ForwardedForIsNotTrustedByDefault(t *testing.T) {
	k := newKeys(t, Config{})
	for i := range 100 {
		k.add(t, "198.51.100.9:1", fields("X-Forwarded-For", spoofed("", i)))
	}
	k.want(t, "198.51.100.9/32", 100)
}

// CVE-2026-29794, Vikunja; CVE-2026-24000 and CVE-2026-46356, Fleet.
func TestS02S03NoHeaderIsReadUnlessNamed(t *testing.T) {
	for _, name := range identityHeaders() {
		t.Run(name, func(t *testing.T) {
			direct := newKeys(t, Config{})
			behind := newKeys(t, Config{Trusted: prefixes("10.0.0.0/8"), Header: "X-Weir-Caller"})
			for i := range 100 {
				header := map[string][]string{name: {spoofed(name, i)}}
				direct.add(t, "198.51.100.9:1", header)
				header["X-Weir-Caller"] = []string{"203.0.113.7"}
				behind.add(t, "10.0.0.1:1", header)
			}
			direct.want(t, "198.51.100.9/32", 100)
			behind.want(t, "203.0.113.7/32", 100)
		})
	}
}

// TestS03NamedHeadersAreRead shows that the tests around it can fail: each name
// is read where it is the one configured and the peer is trusted.
func TestS03NamedHeadersAreRead(t *testing.T) {
	for _, name := range identityHeaders() {
		r, err := New(Config{Trusted: prefixes("10.0.0.0/8"), Header: name})
		if name == "X_forwarded_for" || name == "X-Azure-Clientip" {
			if err == nil {
				t.Errorf("%s was accepted", name)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		header := map[string][]string{name: {spoofed(name, 0)}}
		if got := text(r.Resolve("10.0.0.1:1", header)); got != "203.0.0.1" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// GHSA-9g5q-2w5x-hmxf and GHSA-rjr7-jggh-pgcp, chi.
func TestS04LeftmostForwardedForIsNotTheCaller(t *testing.T) {
	k := newKeys(t, tenXFF())
	for i := range 100 {
		k.add(t, "10.0.0.1:1", fields("X-Forwarded-For", spoofed("", i)+", 203.0.113.7"))
		k.add(t, "10.0.0.1:1", fields("X-Forwarded-For", spoofed("", i)+" | 203.0.113.7, 10.0.0.2"))
	}
	k.want(t, "203.0.113.7/32", 200)
}

// CVE-2026-45045, Fiber: a proxy that adds its line leaves the caller's first.
func TestS05TwoRealIPLinesAreNotBelieved(t *testing.T) {
	k := newKeys(t, Config{Trusted: prefixes("10.0.0.0/8"), Header: "X-Real-IP"})
	for i := range 100 {
		k.add(t, "10.0.0.1:1", fields("X-Real-IP", spoofed("", i)+" | 203.0.113.7"))
		k.add(t, "10.0.0.1:1", fields("X-Real-IP", spoofed("", i)+", 203.0.113.7"))
	}
	k.want(t, "10.0.0.1/32", 200)
}

// CVE-2024-45410 and CVE-2026-29054, Traefik; CVE-2022-31813, httpd: a caller
// names the proxy's header as hop-by-hop, in any case of letters.
func TestS06HeaderNamedByConnectionStillNamesTheCaller(t *testing.T) {
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip"} {
		c := Config{Trusted: prefixes("10.0.0.0/8"), Header: name}
		for _, token := range []string{"X-Forwarded-For", "x-forwarded-for", "X-Real-Ip", "x-real-ip"} {
			k := newKeys(t, c)
			k.add(t, "10.0.0.1:1", map[string][]string{
				"Connection": {"close, " + token},
				name:         {"203.0.113.7"},
			})
			k.want(t, "203.0.113.7/32", 1)
		}
	}
}

// The same, where it was the proxy before this server that fell for it.
func TestS06HeaderStrippedByTheProxyIsThePeer(t *testing.T) {
	f := func(header, want string) {
		t.Helper()
		r := mustNew(t, Config{Trusted: prefixes("10.0.0.0/8"), Header: header})
		stripped := map[string][]string{"Connection": {"close, " + header}}
		if got := text(r.Resolve("10.0.0.1:1", stripped)); got != want {
			t.Errorf("%s: got %s, want %s", header, got, want)
		}
	}
	f("X-Real-IP", "10.0.0.1? missing")
	f("X-Forwarded-For", "10.0.0.1? no-untrusted-hop")
}

// CVE-2025-64484, oauth2-proxy; CVE-2026-54763, Traefik.
func TestS07UnderscoresAreNotHyphens(t *testing.T) {
	k := newKeys(t, tenXFF())
	for i := range 100 {
		k.add(t, "10.0.0.1:1", map[string][]string{
			"X_forwarded_for": {spoofed("", i)},
			"X_Forwarded_For": {spoofed("", i)},
			"X-Forwarded_for": {spoofed("", i)},
			"X-Forwarded-For": {"203.0.113.7"},
		})
	}
	k.want(t, "203.0.113.7/32", 100)
}

// express-rate-limit before 8.0.
func TestS08AddressesOfOneSubscriberShareOneBucket(t *testing.T) {
	k, behind := newKeys(t, Config{}), newKeys(t, tenXFF())
	for i := range 1000 {
		addr := fmt.Sprintf("2001:db8:1:2:%x:%x:0:1", i, i*7)
		k.add(t, "["+addr+"]:1", nil)
		behind.add(t, "10.0.0.1:1", fields("X-Forwarded-For", addr))
	}
	k.want(t, "2001:db8:1:2::/64", 1000)
	behind.want(t, "2001:db8:1:2::/64", 1000)
}

// CVE-2026-30827, express-rate-limit 8.0 to 8.2.
func TestS09MappedIsDecidedByBitsNotText(t *testing.T) {
	r := mustNew(t, Config{})
	f := func(addr, want string) {
		t.Helper()
		if got := r.Prefix(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("%s: got %s, want %s", addr, got, want)
		}
	}
	f("1.2.3.4", "1.2.3.4/32")
	f("::ffff:1.2.3.4", "1.2.3.4/32")
	f("::ffff:102:304", "1.2.3.4/32")
	f("5.6.7.8", "5.6.7.8/32")
	f("2001:db8::1.2.3.4", "2001:db8::/64")
}

// CVE-2024-24790, net/netip; GHSA-7jmw-8259-q9jx, Traefik.
func TestS10MappedAddressesAreInIPv4Networks(t *testing.T) {
	allowed := netip.MustParsePrefix("10.0.0.0/8")
	for _, c := range []Config{{}, {Trusted: prefixes("192.0.2.0/24"), Header: "X-Forwarded-For"}} {
		for _, peer := range []string{"[::ffff:10.0.0.1]:1", "[::ffff:a00:1%eth0]:1", "10.0.0.1:1"} {
			answer := mustNew(t, c).Resolve(peer, nil)
			if !answer.Sure || !allowed.Contains(answer.Addr) {
				t.Errorf("peer %s: %s is not in %s", peer, text(answer), allowed)
			}
		}
	}
}
