// Package listen opens the daemon's listeners and serves HTTP on them, with
// every bound that a caller could otherwise stretch: how many connections there
// are, how many of them one caller holds, how long a handshake, a header, a
// body and the reading of an answer may take, how large a header may be.
//
//	l, err := listen.Open(ctx, listen.Config{Address: ":8000", Streams: true})
//	…
//	s := l.Server(handler)
//	go func() { done <- s.Serve() }()
//	…
//	err = s.Shutdown(ctx) // requests in flight end, then hijacked connections
//
// A connection above a cap is closed at once, before anything of it is read, and
// counted. HTTP/2 is spoken over TLS alone: upgrades to cleartext HTTP/2 have
// carried requests past whoever looked at the first one.
package listen
