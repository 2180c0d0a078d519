package clientip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// fuzzConfigs are those a fuzzer chooses from.
func fuzzConfigs() []Config {
	trusted := prefixes("10.0.0.0/8", "2001:db8::/32", "fe80::/10", "192.0.2.128/25")
	return []Config{
		{},
		{Trusted: trusted, Header: "X-Forwarded-For"},
		{Trusted: trusted, Header: "X-Forwarded-For", MaxHops: 3},
		{Trusted: trusted, Header: "X-Forwarded-For", Hops: 2},
		{TrustAnyPeer: true, Header: "X-Forwarded-For", Hops: 1},
		{Trusted: trusted, Header: "Forwarded"},
		{Trusted: trusted, Header: "Forwarded", Hops: 2},
		{TrustUnix: true, Header: "Forwarded"},
		{Trusted: trusted, Header: "X-Real-Ip"},
		{TrustAnyPeer: true, Header: "Cf-Connecting-Ip"},
		{Trusted: trusted, Header: "Cloudfront-Viewer-Address"},
	}
}

// FuzzResolve checks what must hold of any request: a stranger's header changes
// nothing; the answer is the peer or an address that stands in the header and is
// not trusted; only a sure answer is not the peer; and what lists give is what
// the reference gives. Field lines are separated by "\n".
func FuzzResolve(f *testing.F) {
	for i := range fuzzConfigs() {
		for _, peer := range []string{"10.0.0.1:1", "198.51.100.9:1", "[fe80::1%eth0]:1", "@", "", "::ffff:10.0.0.1"} {
			for _, lines := range []string{
				"203.0.113.7", "1.1.1.1, 203.0.113.7\n 10.0.0.2,,", "[2001:db9::7]:443", "2001:db9::7:443",
				`for=1.1.1.1, for="[2001:db9::7]:_p";host="a,b\""` + "\nfor=10.0.0.2", "unknown", "", "::ffff:203.0.113.7%x",
			} {
				f.Add(uint8(i), peer, lines)
			}
		}
	}
	configs, ref := fuzzConfigs(), newReference()
	f.Fuzz(func(t *testing.T, choice uint8, remoteAddr, text string) {
		c := configs[int(choice)%len(configs)]
		lines := strings.Split(text, "\n")
		checkAnswer(t, ref, c, remoteAddr, lines)
	})
}

func checkAnswer(t *testing.T, ref reference, c Config, remoteAddr string, lines []string) {
	t.Helper()
	r := mustNew(t, c)
	got := r.Resolve(remoteAddr, map[string][]string{c.Header: lines})
	peer := ref.peer(remoteAddr)
	unix := remoteAddr == "" || strings.ContainsAny(remoteAddr[:1], "@/")
	believed := peer.IsValid() && (c.TrustAnyPeer || within(c.Trusted, peer)) || unix && c.TrustUnix

	if !believed && (got.Addr != peer || got != r.Resolve(remoteAddr, nil)) {
		t.Errorf("a stranger's header changes the answer: %+v", got)
	}
	if got.Addr != peer && !got.Sure {
		t.Errorf("%+v is not sure, and not the peer %v", got, peer)
	}
	if got.Addr != peer && (within(c.Trusted, got.Addr) || !slices.Contains(ref.anywhere(c.Header, lines), got.Addr)) {
		t.Errorf("%+v is no caller that stands in the header", got)
	}
	if got.Sure && got.Reason != None && got.Reason != UntrustedPeer || !got.Sure && got.Reason == None {
		t.Errorf("%+v: the reason does not fit", got)
	}
	if got.Addr.Is4In6() || r.Prefix(got.Addr).IsValid() != got.Addr.IsValid() {
		t.Errorf("%+v has the prefix %v", got, r.Prefix(got.Addr))
	}
	if len(strings.Join(lines, "")) > maxHeaderBytes {
		return // the reference has no bounds
	}
	if want := ref.answer(c, peer, lines); believed && c.Header != "" && got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// anywhere returns the addresses that stand in the header as its elements.
func (ref reference) anywhere(header string, lines []string) []netip.Addr {
	all := ref.hops(header, lines)
	for _, line := range lines {
		if i := strings.LastIndexByte(line, ':'); i >= 0 && header == "Cloudfront-Viewer-Address" {
			all = append(all, plain(strings.Trim(line[:i], "[] \t")))
		}
	}
	return all
}

// FuzzForwarded checks the tokenizer of Forwarded against the reference, on all
// elements of a line.
func FuzzForwarded(f *testing.F) {
	for _, line := range []string{
		`for="[2001:db8:cafe::17]:4711"`, `For=192.0.2.43;by=203.0.113.43;proto=http, for=198.51.100.17`,
		`for=192.0.2.1;host="a,for=9.9.9.9"`, `for=_SEVKISEK`, `for=192.0.2.1;for=192.0.2.2`,
		`for="192.0.2.1, for=192.0.2.9`, `for=[2001:db8::1]:80`, `for="192.0.2.1:_p9"`, `for="192\.0.2.1"`,
		` , ;; for=192.0.2.1 ; x="\"" ,`, `for="192.0.2.1\`, `a\"b,for=192.0.2.1`, `for="::ffff:192.0.2.1"`,
	} {
		f.Add(line)
	}
	ref := newReference()
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 1<<10 {
			return // all elements are cut off, and each reads the line again
		}
		want := ref.hops("Forwarded", []string{line})
		slices.Reverse(want)
		var got []netip.Addr
		for _, e := range elements(chain{lines: []string{line}, room: maxHeaderBytes, quoted: true}) {
			addr, ok := parseForwarded(e)
			if !ok {
				addr = netip.Addr{}
			}
			got = append(got, addr)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
