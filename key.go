package weir

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"net/netip"
)

// Key is 128 bits that stand for a caller: a hash of typed parts, so that a
// store never sees a caller's text and every key is of one size.
type Key [16]byte

// Part is one typed part of a key: an address, a network or a text. Parts of
// different kinds, texts that look like addresses, and lists of parts that are
// cut differently never make the same key. The zero Part is an empty text of an
// empty kind.
type Part struct {
	kind    string
	value   string
	address bool // the part is net, which is invalid for no address
	net     netip.Prefix
}

// Addr makes a part of a single address. An IPv4-mapped address is IPv4, and a
// zone is dropped. The invalid Addr is a caller of its own, the same for all
// who have no address.
func Addr(a netip.Addr) Part {
	a = a.Unmap()
	return Part{kind: "ip", address: true, net: netip.PrefixFrom(a, a.BitLen())} // a Prefix has no zone
}

// Net makes a part of a network: all its addresses are one caller. The bits
// behind the prefix do not count; a network of IPv4-mapped addresses is IPv4, and
// one of a single address is that address. An invalid Prefix is as an invalid
// Addr.
func Net(p netip.Prefix) Part {
	a := p.Addr()
	if a.Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	if !p.IsSingleIP() {
		p = p.Masked()
	}
	return Part{kind: "ip", address: true, net: p}
}

// Text makes a part of a kind (`user`, `header:X-Api-Key`, `jwt:sub`) and a
// value. Bytes count as they are: no case is folded, no invalid UTF-8 replaced.
func Text(kind, value string) Part { return Part{kind: kind, value: value} }

// Kind is "ip" or what Text was told. It is safe to log; the value is not.
func (p Part) Kind() string { return p.kind }

// String is the kind, so that a log of parts names no caller.
func (p Part) String() string { return p.kind }

// GoString names no caller either.
func (p Part) GoString() string { return fmt.Sprintf("weir.Part{%q}", p.kind) }

// The first byte of an encoded part.
const (
	textPart = 1
	netPart  = 2
)

// appendPart writes a part so that it says itself where it ends; a list of
// parts is their concatenation, and two different lists never give the same
// bytes. An address is its length in bits, that of its prefix and its bytes, or
// a length of 0 and no more; a text is its kind and value, each behind its
// length.
func appendPart(b []byte, p *Part) []byte {
	if p.address {
		return appendNet(b, p.net)
	}
	b = append(b, textPart)
	b = binary.AppendUvarint(b, uint64(len(p.kind)))
	b = append(b, p.kind...)
	b = binary.AppendUvarint(b, uint64(len(p.value)))
	return append(b, p.value...)
}

func appendNet(b []byte, p netip.Prefix) []byte {
	a := p.Addr()
	b = append(b, netPart, byte(a.BitLen()))
	switch {
	case a.Is4():
		v := a.As4()
		return append(append(b, byte(p.Bits())), v[:]...)
	case a.Is6():
		v := a.As16()
		return append(append(b, byte(p.Bits())), v[:]...)
	}
	return b
}

// Keyer makes keys. Use the one of the store that will see them: the same parts
// give other keys by another. The zero Keyer hashes without a secret: it is good
// for tests only. Safe for concurrent use.
type Keyer struct {
	secret []byte
	seeds  *seeds // of a local one; else nil
}

// LocalKeyer makes keys for a store that lives and dies with this process: a
// fast hash under a random seed, another at each call. A store makes one and
// keeps it.
func LocalKeyer() Keyer {
	s := &seeds{low: maphash.MakeSeed(), hi: maphash.MakeSeed()}
	var random [len(s.words) * 8]byte
	_, _ = rand.Read(random[:]) // never fails
	for i := range s.words {
		s.words[i] = binary.LittleEndian.Uint64(random[i*8:])
	}
	return Keyer{seeds: s}
}

// String does not show the secret.
func (k Keyer) String() string { return "weir.Keyer" }

// GoString does not show it either.
func (k Keyer) GoString() string { return k.String() }

// NewKeyer makes keys for a shared store: the first 128 bits of SHA-256(secret
// ‖ parts). Every replica needs the same secret, of at least 16 bytes; a shorter
// one is a [*FieldError] that does not show it.
func NewKeyer(secret []byte) (Keyer, error) {
	if len(secret) < 16 {
		return Keyer{}, Invalid("key secret", "", "shorter than 16 bytes", "make one with 32 random bytes")
	}
	return Keyer{secret: append([]byte(nil), secret...)}, nil
}

// keyBuffer holds the encoding of everyday keys without an allocation: a
// secret and a few parts of a few dozen bytes.
const keyBuffer = 192

// Key hashes the parts, in their order, and gives the tag of the first one:
// keys whose first part is the same have the same tag. No parts make the key of
// everybody. It allocates only where secret and parts together have more than
// about 180 bytes.
func (k Keyer) Key(parts ...Part) (key Key, tag uint64) {
	tag = k.put(&key, parts)
	return key, tag
}

// put is Key, written to where it is needed.
func (k Keyer) put(key *Key, parts []Part) (tag uint64) {
	if k.seeds == nil {
		*key, tag = k.shared(parts)
		return tag
	}
	low, hi, tag := k.seeds.local(parts)
	binary.LittleEndian.PutUint64(key[:8], low)
	binary.LittleEndian.PutUint64(key[8:], hi)
	return tag
}

// shared makes a key as every replica does that has the secret.
func (k Keyer) shared(parts []Part) (Key, uint64) {
	var buf [keyBuffer]byte
	b := append(buf[:0], k.secret...)
	first := 0
	for i := range parts {
		b = appendPart(b, &parts[i])
		if i == 0 {
			first = len(b)
		}
	}
	key := sum(b)
	if len(parts) < 2 {
		return key, tagOf(key)
	}
	return key, tagOf(sum(b[:first]))
}

func tagOf(k Key) uint64 { return binary.LittleEndian.Uint64(k[:8]) }

// sum hashes an encoding that begins with the secret.
func sum(b []byte) (key Key) {
	h := sha256.Sum256(b)
	copy(key[:], h[:])
	return key
}

// seeds are what a local key hangs on, and nobody outside the process can foresee.
type seeds struct {
	low, hi maphash.Seed // of texts
	words   [4]uint64    // of addresses: two of each half
}

// local makes the halves of a key that never leaves this process, and its tag. They are hashes of their
// own, into which the hashes of all that the parts say are folded one after the
// other: that is as good as hashing an encoding of them, and needs none.
func (s *seeds) local(parts []Part) (low, hi, tag uint64) {
	for i := range parts {
		if p := &parts[i]; p.address {
			kind, a, b := flat(p.net)
			low = fold(low, kind, multiply(a^s.words[0], b^s.words[1]))
			hi = fold(hi, kind, multiply(a^s.words[2], b^s.words[3]))
		} else {
			kind := maphash.String(s.low, p.kind) | textPart
			low = fold(low, kind, maphash.String(s.low, p.value))
			hi = fold(hi, kind, maphash.String(s.hi, p.value))
		}
		if i == 0 {
			tag = low
		}
	}
	return low, hi, tag
}

// fold takes two words into a hash, each in a place of its own. The low bits of a
// product hang on the low bits of its factors alone, so that the high ones are laid
// over them at the end: who counts by a few bits of a tag may take any.
func fold(h, kind, value uint64) uint64 {
	const odd, other = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h = (bits.RotateLeft64(h, 29) ^ kind) * odd
	h = (h ^ h>>32 ^ value) * other
	return h ^ h>>32
}

// multiply gives the halves of a product in one word.
func multiply(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// flat gives all that appendNet tells of a network, in words. The first is even, and
// that of a text odd.
func flat(p netip.Prefix) (kind, a, b uint64) {
	addr := p.Addr()
	if !addr.IsValid() {
		return netPart, 0, 0
	}
	kind = netPart | uint64(addr.BitLen())<<8 | uint64(uint8(p.Bits()))<<16
	if addr.Is4() {
		v := addr.As4()
		return kind, 0, uint64(binary.BigEndian.Uint32(v[:]))
	}
	v := addr.As16()
	return kind, binary.BigEndian.Uint64(v[:8]), binary.BigEndian.Uint64(v[8:])
}
