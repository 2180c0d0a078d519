package clientip

// Reason says why an [Answer] is not taken from the header. Its values are few
// and fixed, so that its text can be a metric label.
type Reason uint8

// The reasons. All but [None] and, with a walk, [UntrustedPeer] come with an
// Answer that is not sure.
const (
	// None: the header named the caller, or no header is configured and the
	// peer is the caller.
	None Reason = iota
	// NoUntrustedHop: every address in the header is a trusted proxy's, or
	// there is none at all.
	NoUntrustedHop
	// InvalidHop: a trusted hop wrote something that is no address.
	InvalidHop
	// TooFewHops: the list is shorter than Config.Hops.
	TooFewHops
	// TooManyHops: the list is longer than Config.MaxHops, or than the bytes
	// that are read of a header.
	TooManyHops
	// Duplicate: a header that holds one address came with several.
	Duplicate
	// Missing: a header that holds one address is absent or empty.
	Missing
	// UntrustedPeer: the peer is not a trusted proxy; the header was not read.
	UntrustedPeer
	// NoPeer: the peer has no address, and Config.TrustUnix is off or the
	// peer is no Unix socket.
	NoPeer
)

// String returns the reason in lower case with hyphens, such as "invalid-hop",
// and "unknown" for a value that is not among the constants.
func (r Reason) String() string {
	names := [...]string{
		None:           "none",
		NoUntrustedHop: "no-untrusted-hop",
		InvalidHop:     "invalid-hop",
		TooFewHops:     "too-few-hops",
		TooManyHops:    "too-many-hops",
		Duplicate:      "duplicate",
		Missing:        "missing",
		UntrustedPeer:  "untrusted-peer",
		NoPeer:         "no-peer",
	}
	if int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}
