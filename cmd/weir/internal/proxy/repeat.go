package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
)

// This file says how often a request is sent. A kept connection may break because
// the upstream had just closed it, and an HTTP/2 upstream may say that it has not
// begun a request, so net/http sends what is safe to repeat once more. It does so as
// long as it finds connections, and where it is the request that breaks them, one
// charge would be carried out as often. Here it is sent a few times at most, byte for
// byte the same.
//
// Over HTTP/1 it gets two kept connections, and then one of its own. Over HTTP/2
// net/http repeats a request without a body whatever its method: one that changes
// something is sent again only on the connection that it was sent on, which takes
// another only where the upstream has refused the stream (REFUSED_STREAM). After a
// GOAWAY, or a reset with PROTOCOL_ERROR, the next is another one, and which of the two
// it was nobody learns: after the latter it may have been carried out.

const (
	// keptConns is how many kept HTTP/1 connections a request is sent over at most.
	keptConns = 2
	// mostShared is how often it is sent at most where HTTP/2 is spoken. Many who come
	// at once are refused by an upstream of few streams, and more than once.
	mostShared = 8
)

// errSentEnough is why a request is cancelled that is not to be sent again.
var errSentEnough = errors.New("proxy: the request has been sent as often as it may be")

// attempts are what net/http does to send one request.
type attempts struct {
	cancel  context.CancelCauseFunc // ends them
	bodied  bool                    // net/http repeats no body that has begun
	repeats bool                    // to carry it out twice does no harm
	sent    int                     // how often it may have been sent
	over    bool                    // cancelled: it is not sent any more
	own     bool                    // it is to have a connection of its own
	last    net.Conn                // that it was sent over
}

// RoundTrip is http.RoundTripper's, for this request.
func (c *call) RoundTrip(out *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(out.Context())
	c.attempts = attempts{cancel: cancel, bodied: out.Body != nil, repeats: repeatable(out)}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil {
		trace.GotConn = c.connect // it is ReverseProxy's own, made for this request
	}
	res, err := c.proxy.transport.RoundTrip(out.WithContext(ctx))
	if err == nil || !c.attempts.own {
		return res, err
	}
	c.attempts.over = false
	return c.proxy.fresh.RoundTrip(out.Clone(out.Context())) // net/http may not have let go of the other
}

// repeatable reports whether a request may be carried out twice, as net/http sees
// it: by its method, which must be one of those that change nothing, or because the
// client says so.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return len(r.Header["Idempotency-Key"]) > 0 || len(r.Header["X-Idempotency-Key"]) > 0
}

// gotConn is told of each connection that net/http has found for the request, before
// it is sent there: it is not, once the attempts are over. HTTP/2 looks whether a
// request is cancelled before it writes. HTTP/1 does not, but there the connection is
// this request's alone, and can be closed.
func (c *call) gotConn(info httptrace.GotConnInfo) {
	a, shared := &c.attempts, overHTTP2(info.Conn)
	switch {
	case a.over:
	case shared:
		a.over = !a.bodied && a.sent > 0 && (a.sent >= mostShared || !a.repeats && info.Conn != a.last)
	default:
		a.own = !a.bodied && info.Reused && a.sent >= keptConns
		a.over = a.own
	}
	if !a.over {
		a.sent, a.last = a.sent+1, info.Conn
		return
	}
	a.cancel(errSentEnough)
	if !shared {
		_ = info.Conn.Close() // it is given up either way
	}
}

func overHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// unsent reports that the request has never had a connection: no handshake, of TCP
// or of TLS, came to its end.
func (c *call) unsent() bool { return c.attempts.sent == 0 }
