package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
)

// This file says how often a request is sent. A kept connection may break because
// the upstream had just closed it, so net/http sends what is safe to repeat once
// more. It does so as long as it finds kept connections, and where it is the
// request that breaks them, one charge would be carried out as often as there are
// connections. Here it gets two of those, and then one of its own: it is sent three
// times at most. Over HTTP/2 net/http repeats only what the upstream says it has
// not begun.

// keptConns is how many kept connections a request is sent over at most.
const keptConns = 2

// RoundTrip is http.RoundTripper's, for this request.
func (c *call) RoundTrip(out *http.Request) (*http.Response, error) {
	c.sent, c.conns, c.kept = out, 0, 0
	c.repeats = out.Body == nil && repeatable(out)
	if trace := httptrace.ContextClientTrace(out.Context()); trace != nil {
		trace.GotConn = c.connect // it is ReverseProxy's own, made for this request
	}
	res, err := c.proxy.transport.RoundTrip(out)
	if err == nil || c.kept < keptConns || !brokeOff(out.Context(), err) {
		return res, err
	}
	again := out.Clone(out.Context()) // net/http may not have let go of the other
	again.Body, again.TransferEncoding = nil, nil
	return c.proxy.fresh.RoundTrip(again)
}

// repeatable reports whether net/http repeats a request without a body: by its
// method, which must be one of those that change nothing, or because the client
// says that it may be.
func repeatable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return len(r.Header["Idempotency-Key"]) > 0 || len(r.Header["X-Idempotency-Key"]) > 0
}

// gotConn is told of each connection that net/http has found for the request,
// before it is sent there. The last that was kept is made the last of all, with a
// body of which nothing is written, its length being unknown and its coding plain:
// such a request net/http does not send again.
func (c *call) gotConn(info httptrace.GotConnInfo) {
	c.conns++
	if !c.repeats || !info.Reused || overHTTP2(info.Conn) {
		return
	}
	if c.kept++; c.kept == keptConns {
		c.sent.Body, c.sent.TransferEncoding = nothing{}, c.plain[:]
	}
}

func overHTTP2(conn net.Conn) bool {
	secure, ok := conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

// nothing is a body that is empty. Unlike none it keeps net/http from sending the
// request again.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

// brokeOff reports whether err may be that of a kept connection which the upstream
// has closed: neither the client nor a timeout has ended the request.
func brokeOff(ctx context.Context, err error) bool {
	var timeout net.Error
	return ctx.Err() == nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

// unsent reports that the request has never had a connection: no handshake, of TCP
// or of TLS, came to its end.
func (c *call) unsent() bool { return c.conns == 0 }
