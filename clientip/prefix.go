package clientip

import (
	"cmp"
	"net/netip"
	"slices"
)

// Prefix returns what a key is made of for a caller at a: its IPv4 address or
// IPv6 network, cut to Config.IPv4Bits or IPv6Bits. IPv4-mapped and NAT64
// addresses give the prefix of the IPv4 address in them, and zones do not
// count, so that one caller has one prefix however its address is written. The
// prefix of an invalid address is invalid.
//
// It does not allocate.
func (r *Resolver) Prefix(a netip.Addr) netip.Prefix {
	if r == nil {
		r = &Resolver{}
	}
	a = a.Unmap()
	if !a.Is4() {
		a = r.unwrap(a.WithZone(""))
	}
	bits := cmp.Or(r.ipv6Bits, defaultIPv6Bits)
	if a.Is4() {
		bits = cmp.Or(r.ipv4Bits, defaultIPv4Bits)
	}
	p := netip.PrefixFrom(a, bits)
	if p.IsSingleIP() {
		return p // nothing to cut off, as of most callers
	}
	return p.Masked()
}

// unwrap returns the IPv4 address that a NAT64 address stands for, and a itself
// if it stands for none.
func (r *Resolver) unwrap(a netip.Addr) netip.Addr {
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	if !contains(wellKnownNAT64()) && !slices.ContainsFunc(r.nat64, contains) {
		return a
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// wellKnownNAT64 returns 64:ff9b::/96, by which any translator may write IPv4
// addresses (RFC 6052 section 2.1).
func wellKnownNAT64() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x00, 0x64, 0xff, 0x9b}), 96)
}

// networks is a set of addresses: prefixes in order, none within another, so
// that only one of them can hold a given address.
type networks []netip.Prefix

func newNetworks(prefixes []netip.Prefix) networks {
	sorted := make([]netip.Prefix, len(prefixes))
	for i, p := range prefixes {
		sorted[i] = unmapPrefix(p).Masked()
	}
	// A prefix comes before those within it: it starts no later and is shorter.
	slices.SortFunc(sorted, netip.Prefix.Compare)
	var n networks
	for _, p := range sorted {
		if len(n) == 0 || !n[len(n)-1].Overlaps(p) {
			n = append(n, p)
		}
	}
	return n
}

// contains says whether a, unmapped and without a zone, is in the set.
func (n networks) contains(a netip.Addr) bool {
	i, found := slices.BinarySearchFunc(n, a, func(p netip.Prefix, a netip.Addr) int {
		return p.Addr().Compare(a)
	})
	return found || i > 0 && n[i-1].Contains(a)
}

// unmapPrefix returns the IPv4 network that an IPv4-mapped one stands for, p
// itself if it is none, and an invalid prefix if p begins in the mapped range
// and is wider than it.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if !p.Addr().Is4In6() {
		return p
	}
	return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
}
