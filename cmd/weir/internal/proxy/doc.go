// Package proxy is the daemon's reverse proxy: it asks a weir.Decider about each
// request, answers those that are refused, and hands the others to the upstream.
//
//	p, err := proxy.New(proxy.Config{Decider: engine, Settings: current.Load})
//	…
//	server := listener.Server(p) // a listen.Config with Streams: true
//
// # What the upstream sees
//
// Path and query byte for byte as they came, and Host too: the upstream is
// meant to answer for the public name. Header fields that say who is calling
// (Forwarded, X-Forwarded-…, X-Real-IP, and the names in [Options].Strip) are
// believed of trusted peers alone; from others they are removed, and
// X-Forwarded-For, -Host and -Proto are written afresh. Spellings that some
// servers take for the same name, X_Forwarded_For, are removed whoever sends
// them, and so are the names that package header writes.
//
// The Decider sees the request as it came, before anything is removed: a client
// cannot make its own address vanish by naming the field under Connection.
//
// # What the client sees
//
// The upstream's answer with the fields of package header. RateLimit items of
// the upstream stay, ours follow; X-RateLimit is replaced where there is one of ours. Bodies are streamed
// both ways, events are passed on as they come, and so are trailers and
// informational answers. A connection upgrade is passed on unless it is to
// HTTP/2: what follows such an upgrade would reach the upstream undecided.
//
// # Who waits
//
// A request that a leaky bucket lets in later is kept until then, before its body is
// read. A client that leaves meanwhile is given back its charge, and nothing is sent
// on; one that has sent a body is seen to have left when that is read. So many wait
// at once as [Config] says, and a Drain sends them away: both are refusals by that
// limit, with its status.
//
// # How many at once
//
// A request that holds a slot of a concurrency limit holds it until its answer has been
// copied to the last byte, the client has left, or an upgraded connection is closed; and
// while it waits for its turn as well. The slot is renewed until then.
//
// # What is charged
//
// A request is charged when it is decided, before its body is read. The charge
// is given back when no connection to the upstream could be made, or when a request
// that waited does not go on, and in no other case: a client that leaves later, or an
// upstream that answers late, has cost what it cost. Nor does what a caller has
// presented in vain, a token or a key, come back to the limits that count it: that is
// the Decider's to say. Nothing is sent again but requests without a body: what is
// safe to repeat, where a kept connection turned out closed, and over HTTP/2 what the
// upstream says it has not begun (repeat.go).
//
// # Time
//
// A body or an answer may take as long as it keeps moving: a deadline runs
// while a read from the client or a write to it is pending, and not between
// them. An event stream may be silent for hours. Upgraded connections have no
// deadline. An upstream that neither reads on nor answers is given up.
package proxy
