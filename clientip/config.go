package clientip

import (
	"cmp"
	"net/netip"
	"slices"
)

// Config says whom to believe about a caller's address. The zero Config
// believes nobody: the peer is the caller.
type Config struct {
	// Trusted lists the networks of the proxies whose header is believed. List
	// them narrowly: every address in them can name any caller it likes, and
	// is never itself taken for a caller found in the header. IPv4-mapped
	// networks are turned into IPv4, host bits are cleared. Refused are
	// networks wider than IPv4 /8 or IPv6 /7, which are no one operator's.
	Trusted []netip.Prefix

	// Header names the one header that is believed, in any case of letters.
	// X-Forwarded-For and Forwarded (RFC 7239) are lists. Any other name is a
	// header that holds one address, with or without a port, such as
	// CF-Connecting-IP, True-Client-IP, Fly-Client-IP, X-Azure-SocketIP or
	// X-Real-IP; CloudFront-Viewer-Address is read in its own form. The proxies
	// must overwrite or append to this header on every path to the server: one
	// that a proxy passes on as it came is the caller's to write. There is no
	// default, and it needs Trusted, TrustUnix or TrustAnyPeer.
	Header string

	// Hops, for a list header, takes the element at this place counted from
	// the right, 1 being the last, instead of walking past trusted addresses.
	// It is for proxies that append addresses which cannot be listed; 0, the
	// default, walks. Trusted still decides which peers are believed. The
	// count must be the same on every path: behind two proxies, a caller who
	// can reach the second one directly writes the element that is taken.
	Hops int

	// MaxHops bounds the elements of a list header that are read, 1 to 256;
	// 0 means 32. Longer chains end in TooManyHops.
	MaxHops int

	// TrustUnix believes the header when the peer is a Unix socket, which has
	// no address: the permissions of the socket's file decide who may connect.
	// Off, such a request gets no address and the reason NoPeer.
	TrustUnix bool

	// TrustAnyPeer believes the header whatever the peer's address is. Say so
	// only where nothing but the proxy can connect: the listener demands the
	// proxy's client certificate, or the network lets nobody else in. It
	// stands in the place of Trusted, for Hops or a header with one address.
	// Peers without an address are TrustUnix's concern.
	TrustAnyPeer bool

	// IPv4Bits and IPv6Bits are the lengths of the prefixes that
	// Resolver.Prefix cuts, 1 to 32 and 1 to 128; 0 means 32 and 64. IPv6
	// subscribers get a /64 at the least, often a /56 or /48 (RFC 6177):
	// longer prefixes than 64 let a caller change its key at will, shorter ones
	// may put neighbours together.
	IPv4Bits, IPv6Bits int

	// NAT64 lists the /96 prefixes by which the operator's own translators
	// write IPv4 callers as IPv6 addresses. The well-known 64:ff9b::/96 (RFC
	// 6052) is always among them.
	NAT64 []netip.Prefix
}

const (
	// defaultIPv4Bits keys by the address: IPv4 is given out one at a time.
	defaultIPv4Bits = 32
	// defaultIPv6Bits keys by the subnet: the least that a subscriber gets, so
	// that no two subscribers share a key (RFC 6177).
	defaultIPv6Bits = 64
	// defaultMaxHops is several times the longest chain of proxies in use.
	defaultMaxHops = 32
	// mostMaxHops bounds the work for one request: cutting an element off a
	// Forwarded line reads the line again, so that at most this many times
	// maxHeaderBytes are read.
	mostMaxHops = 256
)

// New checks c and returns its Resolver, which keeps nothing of c's slices.
// The error joins one [*ConfigError] for each thing that is wrong.
func New(c Config) (*Resolver, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	name := canonical(c.Header)
	return &Resolver{
		trusted:      newNetworks(c.Trusted),
		header:       name,
		dialect:      dialectOf(name),
		hops:         c.Hops,
		maxHops:      cmp.Or(c.MaxHops, defaultMaxHops),
		trustUnix:    c.TrustUnix,
		trustAnyPeer: c.TrustAnyPeer,
		ipv4Bits:     c.IPv4Bits,
		ipv6Bits:     c.IPv6Bits,
		nat64:        slices.Clone(c.NAT64),
	}, nil
}
