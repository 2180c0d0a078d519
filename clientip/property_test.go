package clientip

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// genAddr draws an address outside the trusted networks, or inside them.
func genAddr(trusted bool) *rapid.Generator[netip.Addr] {
	return rapid.Custom(func(t *rapid.T) netip.Addr {
		b := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "v4") {
			b[12] = 203
			if trusted {
				b[12] = 10
			}
			return netip.AddrFrom4([4]byte(b[12:]))
		}
		b[0] = 0x20
		if trusted {
			b[0] = 0xfd
		}
		return netip.AddrFrom16(b)
	})
}

// written draws one of the ways in which proxies write an address.
func written(t *rapid.T, a netip.Addr) string {
	port := rapid.Uint16().Draw(t, "port")
	ways := []string{a.String(), netip.AddrPortFrom(a, port).String()}
	v6 := netip.AddrFrom16(a.As16())
	if a.Is4() {
		b := a.As4()
		ways = append(ways, v6.String(), fmt.Sprintf("::FFFF:%x%02x:%x%02x", b[0], b[1], b[2], b[3]))
	}
	ways = append(ways, v6.StringExpanded(), fmt.Sprintf("[%s]", v6), netip.AddrPortFrom(v6, port).String())
	return rapid.SampledFrom(ways).Draw(t, "written")
}

// quoted draws a way to write s as a quoted string.
func quoted(t *rapid.T, s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' || rapid.IntRange(0, 9).Draw(t, "escape") == 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return `"` + b.String() + `"`
}

// genNoise draws what a caller may write into a field to confuse a parser.
func genNoise() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		`"`, `\`, `,`, `;`, `=`, `for=`, `for="`, `6.6.6.6`, `,for=6.6.6.6`, `, 6.6.6.6`, `host="`, `x="`, ` `, "\t",
		`10.9.9.9`, `for=10.9.9.9`, `[`, `]`, `:`, `[2001:666::6]:6`, `_`, `%`, `z`, "\x00", "é",
	})
	return rapid.Map(rapid.SliceOfN(pieces, 0, 12), func(s []string) string { return strings.Join(s, "") })
}

// genSpace draws what may stand between two elements besides the comma.
func genSpace() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", " ", "\t", " \t ", " ,", ", ,"})
}

// drawChain draws the field lines of a caller behind proxies: noise, then the
// caller's element, then those of trusted proxies. element writes one.
func drawChain(t *rapid.T, caller netip.Addr, element func(netip.Addr) string) []string {
	lines := rapid.SliceOfN(genNoise(), 1, 3).Draw(t, "noise")
	hops := append([]netip.Addr{caller}, rapid.SliceOfN(genAddr(true), 0, 5).Draw(t, "proxies")...)
	for _, hop := range hops {
		text := genSpace().Draw(t, "before") + element(hop) + genSpace().Draw(t, "after")
		if rapid.Bool().Draw(t, "own line") {
			lines = append(lines, text)
		} else {
			lines[len(lines)-1] += "," + text
		}
	}
	return lines
}

// resolved gives the answer for lines that come from a trusted peer.
func resolved(t *rapid.T, header string, lines []string) Answer {
	r, err := New(Config{Trusted: prefixes("10.0.0.0/8", "fc00::/7"), Header: header})
	if err != nil {
		t.Fatal(err)
	}
	return r.Resolve("10.0.0.1:1", map[string][]string{header: lines})
}

// TestNoiseDoesNotMoveTheCaller: whatever a caller writes into X-Forwarded-For,
// it is found where the first proxy put it.
func TestNoiseDoesNotMoveTheCaller(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		caller := genAddr(false).Draw(t, "caller")
		lines := drawChain(t, caller, func(a netip.Addr) string { return written(t, a) })
		if got := resolved(t, "X-Forwarded-For", lines); got != (Answer{Addr: caller, Sure: true}) {
			t.Errorf("%q: got %+v, want %v", lines, got, caller)
		}
	})
}

// TestNoiseInForwardedNamesNobodyElse: in Forwarded a caller can open a quoted
// string that swallows what a proxy appends to the line, and can choose the
// host that proxies quote. It can spoil the answer so, but not choose it.
func TestNoiseInForwardedNamesNobodyElse(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		caller, host := genAddr(false).Draw(t, "caller"), genNoise().Draw(t, "host")
		host = strings.Map(func(r rune) rune {
			if r == 0 {
				return -1 // no server takes it
			}
			return r
		}, host)
		lines := drawChain(t, caller, func(a netip.Addr) string {
			return fmt.Sprintf("host=%s;for=%s;proto=https", quoted(t, host), quoted(t, written(t, a)))
		})
		got := resolved(t, "Forwarded", lines)
		if got.Addr == caller {
			found++
		} else if got != (Answer{Addr: netip.MustParseAddr("10.0.0.1"), Reason: InvalidHop}) {
			t.Errorf("%q: got %+v, want %v or the peer", lines, got, caller)
		}
	})
	if found == 0 {
		t.Error("the caller was never found")
	}
}

// TestNetworksHoldWhatTheirPrefixesHold checks the search against asking each.
func TestNetworksHoldWhatTheirPrefixesHold(t *testing.T) {
	// Few bits vary, so that networks nest and touch.
	genNear := rapid.Custom(func(t *rapid.T) netip.Addr {
		b := [4]byte{10, 0, 0, rapid.Byte().Draw(t, "low")}
		if rapid.Bool().Draw(t, "v4") {
			return netip.AddrFrom4(b)
		}
		return netip.AddrFrom16([16]byte{0x20, 12: b[0], 15: b[3]})
	})
	rapid.Check(t, func(t *rapid.T) {
		var ps []netip.Prefix
		for _, a := range rapid.SliceOfN(genNear, 0, 12).Draw(t, "networks") {
			ps = append(ps, netip.PrefixFrom(a, a.BitLen()-rapid.IntRange(0, 8).Draw(t, "host bits")))
		}
		n := newNetworks(ps)
		for range 20 {
			a := genNear.Draw(t, "address")
			if n.contains(a) != within(ps, a) {
				t.Errorf("%v in %v: %v", a, ps, n.contains(a))
			}
		}
	})
}

// TestOneCallerHasOnePrefix: however an address is written, its key is the same,
// and it holds the address.
func TestOneCallerHasOnePrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := genAddr(rapid.Bool().Draw(t, "trusted")).Draw(t, "address")
		r, err := New(Config{
			IPv4Bits: rapid.IntRange(0, 32).Draw(t, "IPv4Bits"),
			IPv6Bits: rapid.IntRange(0, 128).Draw(t, "IPv6Bits"),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := r.Prefix(a)
		if !want.Contains(a) || want != want.Masked() {
			t.Errorf("%v has the prefix %v", a, want)
		}
		same := []netip.Addr{netip.AddrFrom16(a.As16()), netip.AddrFrom16(a.As16()).WithZone("eth0")}
		if a.Is4() {
			nat64 := wellKnownNAT64().Addr().As16()
			copy(nat64[12:], a.AsSlice())
			same = append(same, netip.AddrFrom16(nat64))
		}
		for _, b := range same {
			if got := r.Prefix(b); got != want {
				t.Errorf("%v has the prefix %v, and %v has %v", b, got, a, want)
			}
		}
	})
}
