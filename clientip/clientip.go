package clientip

import (
	"net/netip"
	"strings"
)

// Resolver finds callers' addresses as one [Config] says. It is immutable and
// safe for concurrent use. A nil or zero Resolver is that of the zero Config:
// the peer is the caller, and prefixes have the default lengths.
type Resolver struct {
	trusted                 networks
	header                  string // canonical; "" for none
	dialect                 dialect
	hops, maxHops           int
	trustUnix, trustAnyPeer bool
	ipv4Bits, ipv6Bits      int // 0: default
	nat64                   []netip.Prefix
}

// Answer says whose address a request is counted under.
type Answer struct {
	// Addr is the caller's address, or the peer's if the answer is not Sure.
	// It is invalid only if it is the peer's and the peer has none. It is
	// never IPv4-mapped, and only a peer's has a zone.
	Addr netip.Addr

	// Sure says that Addr is the caller's. If it is false, Addr is what was
	// left to fall back to: enough to count under, but no ground for giving
	// the caller anything.
	Sure bool

	// Reason says why Addr is not taken from the header.
	//
	// A peer that is not trusted gives UntrustedPeer. With a walk, a stranger
	// is a caller who came without a proxy, and the answer is sure. With Hops
	// or a header that holds one address, all requests are meant to come by
	// the proxy; a stranger has gone around it, or is a proxy that nobody has
	// listed, and the answer is not sure.
	Reason Reason
}

// Resolve finds the caller of a request that came from remoteAddr with this
// header.
//
// The peer's address is written as the net package and net/http do:
// "192.0.2.1:80", "[fe80::1%eth0]:80", or without the port; "", "@…" and "/…"
// are Unix sockets. Any other text is a peer without an address, to which
// TrustUnix does not apply. The header's names are in canonical form, as those
// of an http.Header are. Header is read and not kept, and must be as it came
// from the peer: before fields named by Connection are removed.
//
// It does not allocate for well-formed input without zones and quoted pairs.
func (r *Resolver) Resolve(remoteAddr string, header map[string][]string) Answer {
	if r == nil {
		r = &Resolver{}
	}
	peer, unix := parsePeer(remoteAddr)
	switch {
	case !peer.IsValid() && !(unix && r.trustUnix):
		return Answer{Reason: NoPeer}
	case r.header == "":
		return Answer{Addr: peer, Sure: true}
	case peer.IsValid() && !r.trusts(peer):
		walks := r.dialect.list && r.hops == 0
		return Answer{Addr: peer, Sure: walks, Reason: UntrustedPeer}
	}
	addr, reason := r.find(header[r.header])
	if reason != None {
		return Answer{Addr: peer, Reason: reason}
	}
	return Answer{Addr: addr, Sure: true}
}

// TrustsPeer says whether the header of a request from remoteAddr, which is
// written as for Resolve, would be believed: the peer is among Trusted, or has an
// address and TrustAnyPeer is set, or is a Unix socket and TrustUnix is. It says
// nothing of whether the header holds a caller's address. Without a Header nobody
// is believed, and neither is anybody by a nil or zero Resolver.
//
// It does not allocate for well-formed input without zones.
func (r *Resolver) TrustsPeer(remoteAddr string) bool {
	if r == nil || r.header == "" {
		return false
	}
	peer, unix := parsePeer(remoteAddr)
	if !peer.IsValid() {
		return unix && r.trustUnix
	}
	return r.trusts(peer)
}

func (r *Resolver) trusts(peer netip.Addr) bool {
	return r.trustAnyPeer || r.trusted.contains(peer.WithZone(""))
}

// find reads the caller's address from the field lines of the one header.
func (r *Resolver) find(lines []string) (netip.Addr, Reason) {
	switch {
	case !r.dialect.list:
		return r.only(lines)
	case r.hops > 0:
		return r.count(lines)
	}
	return r.walk(lines)
}

// walk returns the last address that is not trusted. An element that is no
// address ends the walk: to step over it would be to believe the next one on
// the word of nobody.
func (r *Resolver) walk(lines []string) (netip.Addr, Reason) {
	c := chain{lines: lines, room: maxHeaderBytes, quoted: r.dialect.quoted}
	for hop := 0; ; hop++ {
		element, ok := c.prev()
		if !ok {
			return netip.Addr{}, c.end(NoUntrustedHop)
		}
		if hop == r.maxHops {
			return netip.Addr{}, TooManyHops
		}
		addr, reason := r.caller(element)
		if reason != NoUntrustedHop {
			return addr, reason
		}
	}
}

// count returns the address in the hops-th element from the right. The
// elements after it are not parsed: they need not be addresses.
func (r *Resolver) count(lines []string) (netip.Addr, Reason) {
	c := chain{lines: lines, room: maxHeaderBytes, quoted: r.dialect.quoted}
	var element string
	for range r.hops {
		var ok bool
		if element, ok = c.prev(); !ok {
			return netip.Addr{}, c.end(TooFewHops)
		}
	}
	return r.caller(element)
}

// only returns the address of a header that holds one. Two values, on two lines
// or joined by a comma, mean that one was there before the proxy came, and
// nothing says which (RFC 9110 section 5.3 lets anybody join them).
func (r *Resolver) only(lines []string) (netip.Addr, Reason) {
	if len(lines) > 1 {
		return netip.Addr{}, Duplicate
	}
	value := strings.Trim(strings.Join(lines, ""), ows)
	switch {
	case value == "":
		return netip.Addr{}, Missing
	case strings.Contains(value, ","):
		return netip.Addr{}, Duplicate
	}
	return r.caller(value)
}

// caller returns the address in an element. That of a trusted proxy is no
// caller's: a proxy that calls for itself cannot be told from one that was told
// nothing of the caller it serves.
func (r *Resolver) caller(element string) (netip.Addr, Reason) {
	addr, ok := r.dialect.parse(element)
	switch {
	case !ok:
		return netip.Addr{}, InvalidHop
	case r.trusted.contains(addr):
		return netip.Addr{}, NoUntrustedHop
	}
	return addr, None
}
