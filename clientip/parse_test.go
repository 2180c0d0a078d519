package clientip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePeer(t *testing.T) {
	f := func(in, want string, wantUnix bool) {
		t.Helper()
		peer, unix := parsePeer(in)
		got := ""
		if peer.IsValid() {
			got = peer.String()
		}
		if got != want || unix != wantUnix {
			t.Errorf("%q: got %q, unix %v", in, got, unix)
		}
	}
	f("192.0.2.1:80", "192.0.2.1", false)
	f("192.0.2.1", "192.0.2.1", false)
	f("[2001:db8::1]:80", "2001:db8::1", false)
	f("[2001:db8::1]", "2001:db8::1", false)
	f("2001:db8::1", "2001:db8::1", false)
	f("[fe80::1%eth0]:80", "fe80::1%eth0", false)
	f("fe80::1%eth0", "fe80::1%eth0", false)
	f("[::ffff:192.0.2.1]:80", "192.0.2.1", false)
	f("[::ffff:192.0.2.1%eth0]:80", "192.0.2.1", false)
	f("[::1]:0", "::1", false)
	f("", "", true)
	f("@", "", true)
	f("@name", "", true)
	f("/run/weir.sock", "", true)
	f("pipe", "", false)
	f("localhost:80", "", false)
	f(" 192.0.2.1:80", "", false)
	f(":80", "", false)
	f("[]:80", "", false)
}

func TestParseHop(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := ""
		if addr, ok := parsePlain(in); ok {
			got = addr.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("203.0.113.7", "203.0.113.7")
	f("203.0.113.7:0", "203.0.113.7")
	f("203.0.113.7:65535", "203.0.113.7")
	f("203.0.113.7:00080", "203.0.113.7")
	f("2001:DB8::7", "2001:db8::7")
	f("2001:db8::7:443", "2001:db8::7:443") // not to be told from an address
	f("[2001:db8::7]", "2001:db8::7")
	f("[::ffff:203.0.113.7]:443", "203.0.113.7")
	f("fe80::7%eth0", "fe80::7")
	f("[fe80::7%25eth0]:443", "fe80::7")
	f("255.255.255.255", "255.255.255.255")
	f("fe80::7%"+strings.Repeat("z", maxNodeBytes-len("fe80::7%")), "fe80::7")
	f("fe80::7%"+strings.Repeat("z", maxNodeBytes), "")

	for _, bad := range []string{
		"", ":", "[", "]", "[]", "[]:80", ":80", "unknown", "_hidden", "localhost",
		"203.0.113.7:", "203.0.113.7:65536", "203.0.113.7:000080", "203.0.113.7:-1", "203.0.113.7:+1",
		"203.0.113.7:1_0", "203.0.113.7:_p9", "203.0.113.7:80:80", "203.0.113.7 ", "203.0.113.7%eth0",
		"203.0.113", "203.0.113.256", "203.0.113.7.7", "3405803783", "0xcb.0.113.7", "127.1",
		"[203.0.113.7]", "[203.0.113.7]:80", "[2001:db8::7", "2001:db8::7]", "[2001:db8::7]443", "[2001:db8::7]:",
		"[2001:db8::7]]", "[[2001:db8::7]]", "2001:db8::7/64", "fe80::7%", "2001:db8:::7", `"203.0.113.7"`,
		"0.0.0.0", "0.0.0.0:80", "::", "[::]:80", "::ffff:0.0.0.0", "::%eth0", "２０３.0.113.7",
	} {
		f(bad, "")
	}
}

func TestForNode(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		node, ok := forNode(in)
		if got := fmt.Sprint(node, ok); got != want+"true" && (want != "" || got != "false") {
			t.Errorf("%s: got %q %v, want %q", in, node, ok, want)
		}
	}
	f(`for=192.0.2.1`, "192.0.2.1")
	f(`FOR=192.0.2.1`, "192.0.2.1")
	f(`for="192.0.2.1:80"`, "192.0.2.1:80")
	f(`for="[2001:db8::1]:_p"`, "[2001:db8::1]:_p")
	f(`for=[2001:db8::1]:80`, "[2001:db8::1]:80")
	f(`proto=http;for=192.0.2.1;host="x;for=y"`, "192.0.2.1")
	f(`host="\";for=1.1.1.1;x=\"";for=192.0.2.1`, "192.0.2.1")
	f(`;;for=192.0.2.1;`, "192.0.2.1")
	f(`for=192.0.2.1 ; proto=http`, "192.0.2.1")
	f(`for="\1\9\2.0.2.1"`, "192.0.2.1")
	f(`for="a\"b\\c"`, `a"b\c`)
	f(`fort=1.1.1.1;for=192.0.2.1`, "192.0.2.1")
	f(`for=192.0.2.1;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=1;k=2;l=3;m=4;n=5;o=6`, "192.0.2.1")

	for _, bad := range []string{
		``, `;`, `by=192.0.2.1`, `for`, `for=`, `=192.0.2.1`, `for =192.0.2.1`, `for= 192.0.2.1`,
		`for=192.0.2.1;for=192.0.2.1`, `for=192.0.2.1;For=192.0.2.2`, `for=192.0.2.1;host=a;HOST=b`,
		`for=192.0.2.1;by`, `for=192.0.2.1;by=`, `for=192.0.2.1 by=x`, `for="192.0.2.1"x`, `for="192.0.2.1"":80"`,
		`for="192.0.2.1`, `for="192.0.2.1\`, `for="192.0.2.1\"`, `for=192.0.2.1"`, `for='192.0.2.1` + "\x00",
		"for=\"192.0.2.1\x7f\"", "for=\"192.0.2.1\\\x01\"", "for=192.0.2.1;x=\"\x1f\"", `for=192.0.2.1;x=é`,
		`for=192.0.2.1;a=1;b=2;c=3;d=4;e=5;f=6;g=7;h=8;i=9;j=1;k=2;l=3;m=4;n=5;o=6;p=7`,
	} {
		f(bad, "")
	}
}

func TestIsNodePort(t *testing.T) {
	f := func(in string, want bool) {
		t.Helper()
		if got := isNodePort(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
	f("80", true)
	f("_p9", true)
	f("_A.b_c-0", true)
	f("_", false)
	f("", false)
	f("p9", false)
	f("_p 9", false)
	f("65536", false)
}

// elements reads a chain to its end.
func elements(c chain) []string {
	var got []string
	for {
		e, ok := c.prev()
		if !ok {
			return got
		}
		got = append(got, e)
	}
}

func TestChain(t *testing.T) {
	f := func(quoted bool, lines string, want ...string) {
		t.Helper()
		c := chain{lines: strings.Split(lines, " | "), room: maxHeaderBytes, quoted: quoted}
		if diff := cmp.Diff(want, elements(c)); diff != "" {
			t.Errorf("%q: %s", lines, diff)
		}
	}
	f(false, "")
	f(false, " ,\t, | , | ")
	f(false, "a", "a")
	f(false, "a, b ,c", "c", "b", "a")
	f(false, ",a,,b\t,", "b", "a")
	f(false, "a, b |  | c,d", "d", "c", "b", "a")
	f(false, `a, "b, c"`, `c"`, `"b`, "a")
	f(true, `a, "b, c", d`, "d", `"b, c"`, "a")
	f(true, `a, "b\", c", d`, "d", `"b\", c"`, "a")
	f(true, `a, \"b, c`, `\"b, c`, "a") // a quoted pair is one only in quotes
	f(true, `a, "b, c,`, `"b, c`, "a")
	f(true, `"a, | b"`, `b"`, `"a`) // a string does not go on in the next line
}

// TestRoomIsBounded checks that the bytes read of a header are, that the
// elements within the bound are whole, and that what lies beyond is not taken
// for the end of the chain.
func TestRoomIsBounded(t *testing.T) {
	f := func(c Config, want string, lines ...string) {
		t.Helper()
		c.Trusted, c.MaxHops = prefixes("10.0.0.0/8"), mostMaxHops
		header := map[string][]string{canonical(c.Header): lines}
		if got := text(mustNew(t, c).Resolve("10.0.0.1:1", header)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	xff, fwd := Config{Header: "X-Forwarded-For"}, Config{Header: "Forwarded"}
	full := strings.Repeat("x", maxHeaderBytes)
	most := strings.Repeat(" ", maxHeaderBytes-len("203.0.113.7"))
	spaces := strings.Repeat(" ", maxHeaderBytes-len(",10.0.0.2"))

	f(xff, "203.0.113.7", full+",203.0.113.7")
	f(xff, "203.0.113.7", full, "203.0.113.7,10.0.0.2")
	f(xff, "203.0.113.7", "203.0.113.7"+most)
	f(xff, "10.0.0.1? too-many-hops", "203.0.113.7", full+",10.0.0.2") // what is cut off comes first
	f(xff, "10.0.0.1? too-many-hops", "1203.0.113.7"+most)             // not 203.0.113.7
	f(xff, "10.0.0.1? too-many-hops", "203.0.113.7,"+spaces+",10.0.0.2")
	f(xff, "10.0.0.1? too-many-hops", "203.0.113.7", strings.Repeat(",", maxHeaderBytes)) // no room for the first line
	f(xff, "10.0.0.1? too-many-hops", "203.0.113.7", strings.Repeat(",", maxHeaderBytes+1))
	f(Config{Header: "X-Forwarded-For", Hops: 2}, "10.0.0.1? too-many-hops", "203.0.113.7,"+spaces+",10.0.0.2")
	f(fwd, "203.0.113.7", full[len(",for=203.0.113.7"):]+",for=203.0.113.7")
	f(fwd, "10.0.0.1? too-many-hops", full+",for=203.0.113.7") // it may be in quotes
	f(fwd, "203.0.113.7", full, "for=203.0.113.7")
}

func TestNetworks(t *testing.T) {
	n := newNetworks(prefixes("10.1.0.0/16", "192.0.2.0/24", "10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/24",
		"2001:db8::/32", "2001:db8:1::/48", "::ffff:172.16.0.0/108", "fe80::/10"))
	want := networks(prefixes("10.0.0.0/8", "172.16.0.0/12", "192.0.2.0/24", "2001:db8::/32", "fe80::/10"))
	if diff := cmp.Diff(want, n, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}
