// Package clientip answers one question: whose address is this request to be
// counted under?
//
// A server behind proxies sees the proxy as its peer and finds the caller in a
// header. A caller can write that header too, so believing it wrongly lets a
// stranger pick a new address for each request, or spend the quota of someone
// else. This package believes nobody until it is told whom to believe, reads
// exactly one header, and reads it from the end that the trusted proxies wrote.
//
//	r, err := clientip.New(clientip.Config{
//		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
//		Header:  "X-Forwarded-For",
//	})
//	…
//	answer := r.Resolve(req.RemoteAddr, req.Header)
//	key := r.Prefix(answer.Addr)
//
// # How the caller is found
//
// The peer is the address that opened the connection. If it is not trusted, the
// header is not read. Otherwise the elements of the header, over all its field
// lines, are taken from the last to the first: each was written by the hop
// after it, so it counts for as much as that hop is trusted. Trusted addresses
// are passed over; the first other address is the caller. What stands to the
// left of it may be anything and is never parsed.
//
// Two other ways are for proxies whose addresses do not tell: [Config.Hops]
// takes an element by its place, and a header that holds one address, such as
// CF-Connecting-IP, is taken whole.
//
// # When it cannot be found
//
// A trusted proxy that vouched for something unreadable leaves no safe guess.
// The answer is then the peer, [Answer.Sure] is false and [Answer.Reason] says
// why. There is always something to count under: a request is never skipped,
// and no text of a caller ever becomes an address by accident. The price is
// that all such requests of one proxy share one bucket, so the reason is worth
// a metric.
//
// # From an address to a key
//
// [Resolver.Prefix] cuts an address to what one subscriber holds: an IPv4
// address, or an IPv6 /64, since a subscriber may use every address in it.
// Addresses that stand for an IPv4 caller, IPv4-mapped and NAT64, are turned
// into that IPv4 address first: cut to 64 bits they would all be one key.
//
// The headers follow RFC 7239 (Forwarded), RFC 9110 section 5 (field lines and
// lists), RFC 6052 (NAT64) and, for X-Forwarded-For, which has no standard, the
// practice of proxies.
package clientip
