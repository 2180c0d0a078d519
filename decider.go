package weir

import (
	"context"
	"net/netip"
)

// Request is what a surface knows of a call, before anything is decided. A
// surface fills in what it has; a Decider takes from it what its rules name.
type Request struct {
	Method string // GET, POST, …
	Host   string // as it came, with the port where it has one
	Path   string // as it came, still escaped
	Query  string // as it came, without the question mark

	// Header holds the header's or metadata's field lines, with the names in
	// canonical form (X-Api-Key). It is not changed.
	Header map[string][]string

	// RemoteAddr is the peer as net/http writes it, `address:port`; "@" or ""
	// for a peer without an address.
	RemoteAddr string

	// Addr is the caller's address where the surface has already found it;
	// invalid where the Decider is to find it from RemoteAddr and Header. With
	// AddrUnsure it was got by falling back, and matches no exemption.
	Addr       netip.Addr
	AddrUnsure bool

	// PathValue gives the values of the wildcards of the surface's own router;
	// nil where it has none.
	PathValue func(name string) string

	// Cost is the units that the surface asks for; 0 leaves it to the rules.
	Cost int64
}

// Decider decides requests: a rules engine, or anything that answers like one.
// Implementations are safe for concurrent use.
type Decider interface {
	// Decide judges r and charges what its rules say, filling in o, which is
	// emptied first. Failures of a store or of a rule are part of the outcome
	// (Cause, Err): a Decider has no error of its own, because each rule says
	// for itself what a failure means. Neither r nor o is kept: surfaces use
	// them again.
	Decide(ctx context.Context, r *Request, o *Outcome)

	// GiveBack refunds what o was charged, and releases its slots, once, when
	// the request was let in and then not served. A Decider may keep what counts
	// all the same, such as a charge for a wrong key.
	GiveBack(ctx context.Context, o *Outcome) error

	// Keep renews the slots that concurrency limits have given o, until they
	// are released. A surface keeps them for as long as the request lasts, and
	// releases them whatever has ended it. It is nil where there are none.
	Keep(o *Outcome) *Slots
}

// Observer is told of every decision of a middleware or an engine that was given one, for
// metrics and logs. It is called on the
// request's own goroutine, must be fast and safe for concurrent use, and must
// neither change nor keep o.
type Observer interface {
	Observe(ctx context.Context, o *Outcome)
}
