package clientip

import (
	"net/netip"
	"strings"
	"testing"
)

func prefixes(list ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range list {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

func mustNew(t testing.TB, c Config) *Resolver {
	t.Helper()
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text writes an answer as the tables do: the address, a question mark if it is
// not sure, and the reason if there is one. "-" is no address.
func text(a Answer) string {
	s := "-"
	if a.Addr.IsValid() {
		s = a.Addr.String()
	}
	if !a.Sure {
		s += "?"
	}
	if a.Reason != None {
		s += " " + a.Reason.String()
	}
	return s
}

// none stands in the tables for a header that is absent.
const none = "(none)"

// fields makes a header of the field lines in lines, which are separated by
// " | ".
func fields(name, lines string) map[string][]string {
	if lines == none {
		return nil
	}
	return map[string][]string{canonical(name): strings.Split(lines, " | ")}
}

// vectors runs rows of a table: whom to believe, the peer, the field lines, the
// answer and why it is right.
type vectors struct {
	*testing.T
	seen map[int]bool
}

func (v vectors) f(row int, c Config, peer, lines, want, why string) {
	v.Helper()
	v.seen[row] = true
	got := text(mustNew(v, c).Resolve(peer, fields(c.Header, lines)))
	if got != want {
		v.Errorf("row %d: got %q, want %q: %s", row, got, want, why)
	}
}

func TestVectors(t *testing.T) {
	v := vectors{t, map[int]bool{}}
	f := v.f
	ten := prefixes("10.0.0.0/8")
	xff := Config{Trusted: ten, Header: "X-Forwarded-For"}
	fwd := Config{Trusted: ten, Header: "Forwarded"}

	f(1, xff, "198.51.100.9:1", "1.2.3.4", "198.51.100.9 untrusted-peer", "a stranger's header is not read")
	f(2, xff, "10.0.0.1:1", "203.0.113.7", "203.0.113.7", "one proxy, one caller")
	f(3, xff, "10.0.0.1:1", "1.1.1.1, 203.0.113.7", "203.0.113.7", "the left is the caller's to write")
	f(4, xff, "10.0.0.1:1", "1.1.1.1 | 203.0.113.7, 10.0.0.2", "203.0.113.7", "all lines count, right to left")
	f(5, xff, "10.0.0.1:1", "10.1.1.1, 10.0.0.2", "10.0.0.1? no-untrusted-hop", "a caller from within")
	f(6, xff, "10.0.0.1:1", none, "10.0.0.1? no-untrusted-hop", "the proxy wrote no header")
	f(7, xff, "10.0.0.1:1", "203.0.113.7, , , | ", "203.0.113.7", "empty elements are none")
	f(8, xff, "10.0.0.1:1", "203.0.113.7:52211", "203.0.113.7", "the port is not part of it")
	f(9, xff, "10.0.0.1:1", "2001:db8::7", "2001:db8::7", "v6 without brackets")
	f(10, xff, "10.0.0.1:1", "[2001:db8::7]:443", "2001:db8::7", "v6 with brackets and port")
	f(11, xff, "10.0.0.1:1", "[2001:db8::7]:xyz", "10.0.0.1? invalid-hop", "xyz is no port")
	f(12, xff, "[::ffff:10.0.0.1]:1", "203.0.113.7", "203.0.113.7", "a mapped peer is in the v4 network")
	f(13, xff, "10.0.0.1:1", "::ffff:cb00:7107", "203.0.113.7", "mapped, in hexadecimal")
	f(14, xff, "10.0.0.1:1", "203.0.113.7, ::ffff:10.0.0.9", "203.0.113.7", "a mapped hop is trusted")
	f(15, xff, "10.0.0.1:1", "unknown", "10.0.0.1? invalid-hop", "no address")
	f(16, xff, "10.0.0.1:1", "<script>, 203.0.113.7", "203.0.113.7", "nothing left of the answer is parsed")
	f(17, xff, "10.0.0.1:1", "203.0.113.007", "10.0.0.1? invalid-hop", "leading zeros: decimal or octal?")
	f(18, Config{Trusted: prefixes("fe80::/10"), Header: "X-Forwarded-For"},
		"[fe80::1%eth0]:1", "203.0.113.7", "203.0.113.7", "zones do not matter to trust")
	f(19, xff, "[fe80::5%eth0]:1", none, "fe80::5%eth0 untrusted-peer", "the peer keeps its zone")
	f(20, xff, "10.0.0.1:1", "0.0.0.0", "10.0.0.1? invalid-hop", "nobody's address")
	f(21, fwd, "10.0.0.1:1", `for="[2001:db8:cafe::17]:4711"`, "2001:db8:cafe::17", "the example of RFC 7239")
	f(22, fwd, "10.0.0.1:1", `For=192.0.2.43;by=203.0.113.43;proto=http, for=198.51.100.17`, "198.51.100.17",
		"names in any case; the last element")
	f(23, fwd, "10.0.0.1:1", `for=192.0.2.1;host="a,for=9.9.9.9"`, "192.0.2.1", "a comma in quotes is text")
	f(24, fwd, "10.0.0.1:1", `for=_SEVKISEK`, "10.0.0.1? invalid-hop", "a name in place of an address")
	f(25, fwd, "10.0.0.1:1", `for=unknown`, "10.0.0.1? invalid-hop", "the proxy did not know")
	f(26, fwd, "10.0.0.1:1", `for=192.0.2.1;for=192.0.2.2`, "10.0.0.1? invalid-hop", "a parameter comes once")
	f(27, fwd, "10.0.0.1:1", `for="192.0.2.1, for=192.0.2.9`, "10.0.0.1? invalid-hop", "the quotes do not close")
	f(28, fwd, "10.0.0.1:1", `for=[2001:db8::1]:80`, "2001:db8::1", "v6 without quotes is common")
	f(29, fwd, "10.0.0.1:1", `for="192.0.2.1:_p9"`, "192.0.2.1", "a name in place of the port is allowed")
	f(30, xff, "@", "203.0.113.7", "-? no-peer", "a Unix socket is not trusted")
	f(30, Config{TrustUnix: true, Header: "X-Forwarded-For"}, "@", "203.0.113.7", "203.0.113.7", "unless the operator says so")
	if _, err := New(Config{Trusted: prefixes("0.0.0.0/0"), Header: "X-Forwarded-For"}); err == nil {
		t.Error("row 31: 0.0.0.0/0 was accepted")
	}
	v.seen[31] = true
	f(32, fwd, "10.0.0.1:1", `for=192.0.2.1, by=10.0.0.2`, "10.0.0.1? invalid-hop", "the last element names no caller")
	f(33, fwd, "10.0.0.1:1", `for="192\.0.2.1"`, "192.0.2.1", "a quoted pair")
	f(34, xff, "10.0.0.1:1", "203.0.113.7\t,\t10.0.0.2", "203.0.113.7", "tabs are white space")
	f(35, xff, "10.0.0.1:1", "203.0.113.7/24", "10.0.0.1? invalid-hop", "a network is no address")
	f(36, xff, "10.0.0.1:1", "0x7f000001", "10.0.0.1? invalid-hop", "a number is no address")
	f(37, xff, "10.0.0.1:1", "::ffff:203.0.113.7%eth0", "203.0.113.7", "the zone goes with the mapping")
	f(38, Config{Trusted: prefixes("173.245.48.0/20"), Header: "CF-Connecting-IP"},
		"198.51.100.9:1", "203.0.113.7", "198.51.100.9? untrusted-peer", "somebody went around the CDN")
	f(39, Config{Trusted: ten, Header: "X-Real-IP"},
		"10.0.0.1:1", "203.0.113.7 | 1.1.1.1", "10.0.0.1? duplicate", "which of them is the proxy's?")
	fly := Config{TrustAnyPeer: true, Header: "X-Forwarded-For", Hops: 2}
	f(40, fly, "172.16.5.2:1", "1.1.1.1, 203.0.113.7, 77.83.142.1", "203.0.113.7", "the last is the app's own address")
	f(41, fly, "172.16.5.2:1", "4.4.4.4", "172.16.5.2? too-few-hops", "shorter than the count")
	f(42, xff, "10.0.0.1:1", strings.Repeat("10.0.0.3, ", 10_000), "10.0.0.1? too-many-hops", "the walk has an end")

	for row := 1; row <= 42; row++ {
		if !v.seen[row] {
			t.Errorf("row %d is missing", row)
		}
	}
}

// TestOtherWays has what the numbered rows leave open.
func TestOtherWays(t *testing.T) {
	v := vectors{t, map[int]bool{}}
	f := func(c Config, peer, lines, want, why string) { t.Helper(); v.f(0, c, peer, lines, want, why) }
	ten := prefixes("10.0.0.0/8")

	f(Config{}, "192.0.2.1:80", none, "192.0.2.1", "no header is configured")
	f(Config{}, "", none, "-? no-peer", "a Unix socket has no address")
	f(Config{}, "pipe", none, "-? no-peer", "nor has a pipe")
	f(Config{}, "::ffff:192.0.2.1", none, "192.0.2.1", "a peer without a port, unmapped")

	unix := Config{TrustUnix: true, Header: "X-Real-IP"}
	f(unix, "", "203.0.113.7", "203.0.113.7", "a Unix socket without a name")
	f(unix, "/run/proxy.sock", "203.0.113.7", "203.0.113.7", "and with one")
	f(unix, "", none, "-? missing", "nothing to fall back to")
	f(unix, "pipe", "203.0.113.7", "-? no-peer", "only Unix sockets have files with permissions")
	f(unix, "127.0.0.1:9", "203.0.113.7", "127.0.0.1? untrusted-peer", "TrustUnix is not TrustAnyPeer")

	hops := Config{Trusted: ten, Header: "X-Forwarded-For", Hops: 2}
	f(hops, "10.0.0.1:1", "1.1.1.1, 203.0.113.7, unknown", "203.0.113.7", "what comes after it is not parsed")
	f(hops, "10.0.0.1:1", "1.1.1.1 | 203.0.113.7 | 10.0.0.2", "203.0.113.7", "all lines count")
	f(hops, "198.51.100.9:1", "1.1.1.1, 203.0.113.7", "198.51.100.9? untrusted-peer", "a count makes no stranger trusted")
	f(hops, "10.0.0.1:1", none, "10.0.0.1? too-few-hops", "an absent list is an empty one")
	f(hops, "10.0.0.1:1", "10.0.0.7, 10.0.0.2", "10.0.0.1? no-untrusted-hop", "a proxy's address is no caller's")
	f(hops, "10.0.0.1:1", "evil, 10.0.0.2", "10.0.0.1? invalid-hop", "the element is no address")
	f(Config{Trusted: ten, Header: "Forwarded", Hops: 1}, "10.0.0.1:1", `for=1.1.1.1, for="203.0.113.7:80"`,
		"203.0.113.7", "Forwarded can be counted too")

	one := Config{Trusted: ten, Header: "x-real-ip"}
	f(one, "10.0.0.1:1", " [2001:db8::7]:443 ", "2001:db8::7", "white space, brackets, port")
	f(one, "10.0.0.1:1", "", "10.0.0.1? missing", "an empty value")
	f(one, "10.0.0.1:1", none, "10.0.0.1? missing", "no value")
	f(one, "10.0.0.1:1", "1.1.1.1, 203.0.113.7", "10.0.0.1? duplicate", "two lines joined by a hop between")
	f(one, "10.0.0.1:1", "fe80::7%eth0", "fe80::7", "a zone is the proxy's name for a network")
	f(one, "10.0.0.1:1", "10.0.0.9", "10.0.0.1? no-untrusted-hop", "a proxy's address is no caller's")
	f(one, "[fe80::1%eth0]:1", "1.1.1.1", "fe80::1%eth0? untrusted-peer", "a stranger's zone is kept")

	viewer := Config{Trusted: ten, Header: "CloudFront-Viewer-Address"}
	f(viewer, "10.0.0.1:1", "203.0.113.7:46532", "203.0.113.7", "v4 and port")
	f(viewer, "10.0.0.1:1", "2001:db8::7:46532", "2001:db8::7", "v6 and port, no brackets")
	f(viewer, "10.0.0.1:1", "203.0.113.7", "10.0.0.1? invalid-hop", "there is always a port")
	f(viewer, "10.0.0.1:1", "2001:db8::7:x", "10.0.0.1? invalid-hop", "x is no port")
	f(viewer, "10.0.0.1:1", "203.0.113.7:1:2", "10.0.0.1? invalid-hop", "one port only")

	few := Config{Trusted: ten, Header: "X-Forwarded-For", MaxHops: 2}
	f(few, "10.0.0.1:1", "203.0.113.7, 10.0.0.2", "203.0.113.7", "as many as MaxHops")
	f(few, "10.0.0.1:1", "10.0.0.3, 10.0.0.2", "10.0.0.1? no-untrusted-hop", "as many and no more")
	f(few, "10.0.0.1:1", "203.0.113.7, 10.0.0.3, 10.0.0.2", "10.0.0.1? too-many-hops", "one more")
}

func TestKeyVectors(t *testing.T) {
	f := func(c Config, addr, want string) {
		t.Helper()
		if got := mustNew(t, c).Prefix(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("Prefix(%s) = %s, want %s", addr, got, want)
		}
	}
	def := Config{}
	f(def, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64")
	f(Config{IPv6Bits: 56}, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/56")
	f(Config{IPv6Bits: 48}, "2001:db8:1:2:3:4:5:6", "2001:db8:1::/48")
	f(Config{IPv6Bits: 128}, "2001:db8::6", "2001:db8::6/128")
	f(def, "192.0.2.33", "192.0.2.33/32")
	f(Config{IPv4Bits: 24}, "192.0.2.33", "192.0.2.0/24")
	f(def, "::ffff:192.0.2.33", "192.0.2.33/32")
	f(def, "64:ff9b::c000:221", "192.0.2.33/32")
	f(def, "64:ff9b::c000:221%eth0", "192.0.2.33/32")
	f(Config{IPv4Bits: 24}, "64:ff9b::c000:221", "192.0.2.0/24")
	f(def, "64:ff9b:0:0:0:1:c000:221", "64:ff9b::/64") // not in the /96
	f(def, "2001:db8::1.2.3.4", "2001:db8::/64")
	f(def, "::1.2.3.4", "::/64")
	f(def, "fe80::5%eth0", "fe80::/64")
	f(def, "2001:db8:64::c000:221", "2001:db8:64::/64")
	f(Config{NAT64: prefixes("2001:db8:63::/96", "2001:db8:64::/96")}, "2001:db8:64::c000:221", "192.0.2.33/32")
	f(def, "2002:c000:221::1", "2002:c000:221::/64") // 6to4 keeps its IPv4 bits
}

// A peer is trusted iff what the header says can change the answer, and that is so
// iff its header is believed.
func TestTrustsPeer(t *testing.T) {
	f := func(r *Resolver, peer string, want bool) {
		t.Helper()
		if got := r.TrustsPeer(peer); got != want {
			t.Errorf("%q: got %t, want %t", peer, got, want)
		}
		if r == nil || r.header == "" {
			return
		}
		a := r.Resolve(peer, map[string][]string{r.header: {"203.0.113.7"}})
		if believed := a.Sure && a.Addr == netip.MustParseAddr("203.0.113.7"); believed != want {
			t.Errorf("%q: TrustsPeer gives %t, Resolve %s", peer, want, text(a))
		}
	}
	list := mustNew(t, Config{Trusted: prefixes("10.0.0.0/8", "fe80::/10"), Header: "X-Forwarded-For"})
	f(list, "10.0.0.1:80", true)
	f(list, "10.0.0.1", true)
	f(list, "[::ffff:10.0.0.1]:80", true)
	f(list, "[fe80::1%eth0]:80", true)
	f(list, "192.0.2.1:80", false)
	f(list, "@", false)
	f(list, "", false)
	f(list, "10.0.0.1:http", false)
	unix := mustNew(t, Config{TrustUnix: true, Header: "X-Real-IP"})
	f(unix, "@", true)
	f(unix, "", true)
	f(unix, "/run/api.sock", true)
	f(unix, "127.0.0.1:80", false)
	f(unix, "nonsense", false)
	everybody := mustNew(t, Config{TrustAnyPeer: true, Header: "X-Real-IP"})
	f(everybody, "192.0.2.1:80", true)
	f(everybody, "[2001:db8::1]:80", true)
	f(everybody, "@", false)
	f(everybody, "nonsense", false)
	for _, nobody := range []*Resolver{nil, {}, mustNew(t, Config{})} {
		f(nobody, "10.0.0.1:80", false)
		f(nobody, "@", false)
	}
}
