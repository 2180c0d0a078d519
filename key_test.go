package weir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// encode is what a Keyer hashes, without its secret.
func encode(parts ...Part) []byte {
	var b []byte
	for _, p := range parts {
		b = appendPart(b, &p)
	}
	return b
}

// decode reads an encoding back. That it can is why two different lists never
// give the same bytes.
func decode(b []byte) (parts []Part, ok bool) {
	for len(b) > 0 {
		var p Part
		switch kind := b[0]; kind {
		case textPart:
			p, b, ok = decodeText(b[1:])
		case netPart:
			p, b, ok = decodeNet(b[1:])
		default:
			return nil, false
		}
		if !ok {
			return nil, false
		}
		parts = append(parts, p)
	}
	return parts, true
}

func decodeText(b []byte) (p Part, rest []byte, ok bool) {
	if p.kind, b, ok = decodeString(b); !ok {
		return p, b, false
	}
	p.value, b, ok = decodeString(b)
	return p, b, ok
}

// decodeString accepts the shortest form of a length only, which is what is
// written.
func decodeString(b []byte) (s string, rest []byte, ok bool) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) || !bytes.Equal(binary.AppendUvarint(nil, length), b[:n]) {
		return "", nil, false
	}
	b = b[n:]
	return string(b[:length]), b[length:], true
}

func decodeNet(b []byte) (p Part, rest []byte, ok bool) {
	if len(b) == 0 || b[0]%8 != 0 {
		return p, nil, false
	}
	p = Part{kind: "ip", address: true}
	bits, b := int(b[0]), b[1:]
	if bits == 0 {
		return p, b, true
	}
	if bits != 32 && bits != 128 || len(b) < 1+bits/8 {
		return p, nil, false
	}
	a, _ := netip.AddrFromSlice(b[1 : 1+bits/8])
	p.net = netip.PrefixFrom(a, int(b[0]))
	return p, b[1+bits/8:], p.net.IsValid() && p.net.Masked() == p.net && Net(p.net) == p
}

// drawText draws values that have broken encodings elsewhere.
func drawText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", ":", "a:b", "|", "a|b", "\x00", "\x01", "\x02", "\xff", "\xff\xfe", "\x01\x01a", "{user}", "127.0.0.1", "é", "e\u0301", strings.Repeat("x", 127), strings.Repeat("x", 128), strings.Repeat("x", 64<<10)}),
		rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	).Draw(t, label)
}

func drawAddr(t *rapid.T, label string) netip.Addr {
	n := rapid.SampledFrom([]int{0, 4, 16}).Draw(t, label+" length")
	a, _ := netip.AddrFromSlice(rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, label))
	if n == 16 && rapid.Bool().Draw(t, label+" mapped") {
		b := a.As16()
		copy(b[:], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})
		a = netip.AddrFrom16(b)
	}
	return a
}

func drawPart(t *rapid.T, label string) Part {
	switch rapid.IntRange(0, 2).Draw(t, label+" is") {
	case 0:
		return Addr(drawAddr(t, label))
	case 1:
		a := drawAddr(t, label)
		return Net(netip.PrefixFrom(a, rapid.IntRange(-1, a.BitLen()).Draw(t, label+" bits")))
	}
	return Text(drawText(t, label+" kind"), drawText(t, label))
}

func drawParts(t *rapid.T, label string) []Part {
	var parts []Part
	for i := range rapid.IntRange(0, 4).Draw(t, label+" count") {
		parts = append(parts, drawPart(t, fmt.Sprint(label, i)))
	}
	return parts
}

// Two different lists of parts never give the same bytes, and the same list
// always does.
func TestEncodingIsUniquelyDecodable(t *testing.T) {
	keyers := []Keyer{LocalKeyer(), sharedKeyer(t)}
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawParts(t, "a"), drawParts(t, "b")
		if got, ok := decode(encode(a...)); !ok || !slices.Equal(got, a) {
			t.Fatalf("%#v decodes as %#v, %v", a, got, ok)
		}
		equal := slices.Equal(a, b)
		if bytes.Equal(encode(a...), encode(b...)) != equal {
			t.Fatalf("%#v and %#v: the same list %v, the same bytes %v", a, b, equal, !equal)
		}
		for _, k := range keyers {
			keyA, tagA := k.Key(a...)
			keyB, tagB := k.Key(b...)
			if (keyA == keyB) != equal {
				t.Fatalf("%#v and %#v: the same list %v, the same key %v", a, b, equal, !equal)
			}
			if first := len(a) > 0 && len(b) > 0 && a[0] == b[0] || len(a) == 0 && len(b) == 0; (tagA == tagB) != first {
				t.Fatalf("%#v and %#v: the same first part %v, the same tag %v", a, b, first, !first)
			}
		}
	})
}

func FuzzKeyEncoding(f *testing.F) {
	f.Add("user", "42", []byte{127, 0, 0, 1}, 24, encode(Text("a", "b"), Net(netip.MustParsePrefix("10.0.0.0/8"))))
	f.Add("", "", []byte{}, 0, encode(Addr(netip.Addr{}), Text("", "")))
	f.Add("\x00", "\xff", bytes.Repeat([]byte{0xff}, 16), 128, []byte{textPart, 0x80, 0x00, 0x00})
	f.Fuzz(func(t *testing.T, kind, value string, address []byte, bits int, raw []byte) {
		a, _ := netip.AddrFromSlice(address)
		parts := []Part{Text(kind, value), Addr(a), Net(netip.PrefixFrom(a, bits)), Text(value, kind)}
		if got, ok := decode(encode(parts...)); !ok || !slices.Equal(got, parts) {
			t.Errorf("%#v decodes as %#v, %v", parts, got, ok)
		}
		// What decodes at all is the encoding of what it decodes to, and of
		// nothing else.
		if got, ok := decode(raw); ok && !bytes.Equal(encode(got...), raw) {
			t.Errorf("%x decodes as %#v, which encodes as %x", raw, got, encode(got...))
		}
	})
}

func sharedKeyer(t testing.TB) Keyer {
	t.Helper()
	k, err := NewKeyer([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// eachKeyer runs a test on both kinds of keyer.
func eachKeyer(t *testing.T, test func(t *testing.T, k Keyer)) {
	t.Helper()
	t.Run("local", func(t *testing.T) { test(t, LocalKeyer()) })
	t.Run("shared", func(t *testing.T) { test(t, sharedKeyer(t)) })
}

// apart checks that lists of parts are different callers.
func apart(t *testing.T, lists ...[]Part) {
	t.Helper()
	eachKeyer(t, func(t *testing.T, k Keyer) {
		t.Helper()
		seen := map[Key]int{}
		for i, parts := range lists {
			key, _ := k.Key(parts...)
			if j, ok := seen[key]; ok {
				t.Errorf("%#v and %#v are one caller", lists[j], parts)
			}
			seen[key] = i
		}
	})
}

func list(parts ...Part) []Part { return parts }

func TestR32JoinedKeysDoNotShareABucket(t *testing.T) {
	apart(t,
		list(Text("k", "a:b"), Text("k", "c")),
		list(Text("k", "a"), Text("k", "b:c")),
		list(Text("k", "a:b:c")),
		list(Text("k", "a:b:c:")),
		list(Text("k", "a"), Text("k", "b"), Text("k", "c")),
		list(Text("k", ""), Text("k", "a:b:c")),
		list(Text("k", "a:b:c"), Text("k", "")),
	)
}

func TestR33PipesInKeysDoNotShareABucket(t *testing.T) {
	apart(t,
		list(Text("k", "a|b"), Text("k", "c")),
		list(Text("k", "a"), Text("k", "b|c")),
		list(Text("k", "a|b|c")),
		list(Text("k|a", "b"), Text("k", "c")),
		list(Text("k", "a"), Text("b|k", "c")),
	)
}

func TestS41AValueCannotForgeAnotherPart(t *testing.T) {
	ip := netip.MustParseAddr("127.0.0.1")
	apart(t,
		list(Text("user", "1_plan_free")),
		list(Text("user", "1"), Text("plan", "free")),
		list(Text("user", "1"), Text("plan", ""), Text("", "free")),
		list(Text("user", "127.0.0.1")),
		list(Text("ip", "127.0.0.1")),
		list(Text("ip", string(ip.AsSlice()))),
		list(Text("ip", "")),
		list(Addr(ip)),
		list(Addr(netip.Addr{})),
		list(Text("user", "{1}")),
		list(Text("user", "*")),
		list(Text("user", string(encode(Text("plan", "free"))))),
		list(),
		list(Part{}),
		list(Part{}, Part{}),
	)
}

func TestS42KeysWithACommonBeginningAreApart(t *testing.T) {
	prefix := strings.Repeat("p", 64)
	var lists [][]Part
	for i := range 1000 {
		lists = append(lists, list(Text("token", fmt.Sprint(prefix, i))), list(Text("token", fmt.Sprint(i, prefix))))
	}
	apart(t, lists...)
}

func TestS43SpellingsOfANameAreTheCallersBusiness(t *testing.T) {
	apart(t,
		list(Text("user", "a@x")), list(Text("user", "A@x")), list(Text("user", "a@x ")), list(Text("user", " a@x")), list(Text("user", "a%40x")),
		list(Text("user", "\uff41@x")), list(Text("user", "\u0131@x")), list(Text("user", "i@x")), list(Text("user", "a@x\x00")),
		list(Text("user", "\xff")), list(Text("user", "\xfe")), list(Text("user", "\ufffd")), list(Text("User", "a@x")),
	)
}

func TestR30MappedAddressesDoNotShareOneBucket(t *testing.T) {
	net := func(s string) []Part { return list(Net(netip.MustParsePrefix(s))) }
	apart(t,
		list(Addr(netip.MustParseAddr("::ffff:203.0.113.7"))),
		list(Addr(netip.MustParseAddr("::ffff:198.51.100.9"))),
		list(Addr(netip.MustParseAddr("2001:db8::1.2.3.4"))),
		list(Addr(netip.MustParseAddr("::1.2.3.4"))),
		list(Addr(netip.MustParseAddr("1.2.3.4"))),
		net("1.2.3.0/24"), net("1.2.3.0/25"), net("0.0.0.0/0"), net("::/0"), net("::ffff:0:0/95"), net("2001:db8::/32"), net("2001:db8::/64"),
		net("102:300::/24"), // the bytes of 1.2.3.0
	)
}

func TestSpellingsOfAnAddressAreOneCaller(t *testing.T) {
	f := func(parts ...Part) {
		t.Helper()
		eachKeyer(t, func(t *testing.T, k Keyer) {
			t.Helper()
			want, wantTag := k.Key(parts[0])
			for _, p := range parts[1:] {
				if got, tag := k.Key(p); got != want || tag != wantTag {
					t.Errorf("%#v and %#v are two callers", parts[0], p)
				}
			}
		})
	}
	addr := func(s string) Part { return Addr(netip.MustParseAddr(s)) }
	net := func(s string) Part { return Net(netip.MustParsePrefix(s)) }
	f(addr("1.2.3.4"), addr("::ffff:1.2.3.4"), addr("::ffff:102:304"), addr("::ffff:1.2.3.4%eth0"), net("1.2.3.4/32"), net("::ffff:1.2.3.4/128"))
	f(addr("2001:db8::1"), addr("2001:DB8:0:0::1"), addr("2001:db8::1%eth0"), net("2001:db8::1/128"))
	f(net("10.0.0.0/8"), net("10.1.2.3/8"), net("::ffff:10.0.0.0/104"), net("::ffff:10.9.9.9/104"))
	f(net("0.0.0.0/0"), net("::ffff:0.0.0.0/96"), net("1.2.3.4/0"))
	f(net("2001:db8::/64"), net("2001:db8::ffff/64"))
	f(net("::/64"), net("::ffff:1.2.3.4/64"))
	f(Addr(netip.Addr{}), Net(netip.Prefix{}), Net(netip.PrefixFrom(netip.MustParseAddr("1.2.3.4"), 33)))
}

func TestTagIsThatOfTheFirstPart(t *testing.T) {
	eachKeyer(t, func(t *testing.T, k Keyer) {
		one, tag := k.Key(Text("tenant", "7"))
		two, tag2 := k.Key(Text("tenant", "7"), Text("user", "42"))
		three, tag3 := k.Key(Text("tenant", "7"), Addr(netip.MustParseAddr("1.2.3.4")), Text("", ""))
		if tag != tag2 || tag != tag3 {
			t.Errorf("tags %x, %x and %x", tag, tag2, tag3)
		}
		if one == two || one == three || two == three {
			t.Errorf("keys %x, %x and %x", one, two, three)
		}
		if _, other := k.Key(Text("tenant", "8"), Text("user", "42")); other == tag {
			t.Error("another first part has the same tag")
		}
		everybody, tag := k.Key()
		if again, tag2 := k.Key([]Part{}...); again != everybody || tag2 != tag {
			t.Error("everybody has two keys")
		}
	})
}

// Both halves of a key are hashes of their own: 128 bits tell callers apart.
func TestHalvesOfAKeyDiffer(t *testing.T) {
	eachKeyer(t, func(t *testing.T, k Keyer) {
		key, tag := k.Key(Text("user", "42"))
		if bytes.Equal(key[:8], key[8:]) || binary.LittleEndian.Uint64(key[:8]) != tag {
			t.Errorf("key %x, tag %x", key, tag)
		}
	})
}

func TestKeyersOfDifferentSecretsDiffer(t *testing.T) {
	other, err := NewKeyer([]byte("0123456789abcdef0123456789abcdeF"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Key]bool{}
	for _, k := range []Keyer{{}, sharedKeyer(t), other, LocalKeyer(), LocalKeyer()} {
		key, _ := k.Key(Text("user", "42"))
		seen[key] = true
	}
	if len(seen) != 5 {
		t.Errorf("five keyers make %d keys", len(seen))
	}
	a, _ := sharedKeyer(t).Key(Text("user", "42"))
	if b, _ := sharedKeyer(t).Key(Text("user", "42")); a != b {
		t.Error("two replicas with one secret make different keys")
	}
}

// A shared store outlives the program: what stands in it must be found again.
func TestSharedKeysNeverChange(t *testing.T) {
	f := func(want string, parts ...Part) {
		t.Helper()
		key, tag := sharedKeyer(t).Key(parts...)
		if got := fmt.Sprintf("%x %016x", key, tag); got != want {
			t.Errorf("%#v: %s, was %s", parts, got, want)
		}
	}
	f("3eb1bd439947eb762998e566ccc2e099 76eb479943bdb13e")
	f("b24072f524cc07644c44caa23adc9e54 6407cc24f57240b2", Text("user", "42"))
	f("75de012b4e93992296d50d87323055bd 1230760a90810c51", Addr(netip.MustParseAddr("203.0.113.7")), Text("header:X-Api-Key", "k"))
	f("d1e2392dbf8e72a53bf992eca0dc86e4 a5728ebf2d39e2d1", Net(netip.MustParsePrefix("2001:db8::/64")))
}

func TestSecretsThatAreTooShort(t *testing.T) {
	for _, secret := range []string{"", "fifteen bytes!!"} {
		_, err := NewKeyer([]byte(secret))
		if !errors.Is(err, ErrInvalid) || err.Error() != "weir: key secret: shorter than 16 bytes; make one with 32 random bytes" {
			t.Errorf("%q: %v", secret, err)
		}
	}
	secret := []byte("sixteen bytes!!!")
	k, err := NewKeyer(secret)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := k.Key()
	clear(secret)
	if after, _ := k.Key(); after != before {
		t.Error("the keyer keeps the caller's slice")
	}
}

func TestKindsAreSafeToLog(t *testing.T) {
	f := func(p Part, want string) {
		t.Helper()
		if got := p.Kind(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(Text("jwt:sub", "secret"), "jwt:sub")
	f(Addr(netip.MustParseAddr("1.2.3.4")), "ip")
	f(Net(netip.MustParsePrefix("1.2.3.0/24")), "ip")
	f(Part{}, "")
	text := fmt.Sprint(Text("jwt:sub", "a secret"), Addr(netip.MustParseAddr("203.0.113.7")), sharedKeyer(t))
	if text != "jwt:sub ip weir.Keyer" {
		t.Errorf("printed as %s", text)
	}
}

func TestAllocationsOfEverydayKeys(t *testing.T) {
	v6 := netip.MustParseAddr("2001:db8::1")
	value := strings.Repeat("v", 64)
	eachKeyer(t, func(t *testing.T, k Keyer) {
		for _, parts := range [][]Part{{}, {Addr(v6)}, {Text("user", value)}, {Text("tenant", "acme"), Text("header:X-Api-Key", value), Addr(v6)}} {
			if n := testing.AllocsPerRun(100, func() { k.Key(parts...) }); n != 0 {
				t.Errorf("%d parts: %v allocations", len(parts), n)
			}
		}
		if n := testing.AllocsPerRun(100, func() { k.Key(Text("user", value), Addr(v6)) }); n != 0 {
			t.Errorf("parts made for the call: %v allocations", n)
		}
	})
}

// Whoever counts by the low bits of a tag, as a store does that puts keys into cells,
// finds neighbours spread over all of them, whatever the seed.
func TestTagsOfNeighboursAreSpread(t *testing.T) {
	const neighbours, cells, mean = 4096, 64, 4096 / 64
	v4 := func(i uint32) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}), 32)
	}
	far := func(i uint32) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 4), byte(i << 4), 7}), 32)
	}
	v6 := func(i uint32) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 0, byte(i >> 8), byte(i)}), 64)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		s := &seeds{words: [4]uint64{random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64()}}
		for kind, of := range map[string]func(uint32) netip.Prefix{"addresses": v4, "addresses afar": far, "networks": v6} {
			var held [cells]int
			for i := range uint32(neighbours) {
				_, _, tag := s.local([]Part{Net(of(i))})
				held[tag%cells]++
			}
			if least, most := slices.Min(held[:]), slices.Max(held[:]); least < mean/4 || most > 3*mean {
				t.Fatalf("%s: %d to %d in a cell, %d in the mean", kind, least, most, mean)
			}
		}
	}
}
