package proxy

import (
	"io"
	"net/http"
	"net/http/httptrace"
)

// This file says how often a request is sent. net/http sends one without a body
// again as long as it finds connections that were kept from before, which break
// one after the other when it is the request that makes the upstream break them:
// one charge would be carried out as often as there are connections. Here it is
// sent again twice at most: once, and once more for who was unlucky enough to get
// a connection that another request had broken. Which requests net/http sends again at all it decides
// by their method, or an Idempotency-Key, and by how the connection ended.

// nothing is a body that is empty. Unlike none it keeps net/http from sending the
// request again.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

// RoundTrip is http.RoundTripper's, for this request.
func (c *call) RoundTrip(out *http.Request) (*http.Response, error) {
	c.sent, c.attempts = out, 0
	if trace := httptrace.ContextClientTrace(out.Context()); trace != nil && out.Body == nil {
		trace.GetConn = c.attempt // it is ReverseProxy's own, made for this request
	}
	return c.proxy.transport.RoundTrip(out)
}

// mostAttempts is how often a request is sent at most.
const mostAttempts = 3

// attempted is told whenever net/http looks for a connection for the request. From
// the second time on it asks for a new one, which it gets unless another request
// has just given one back, and it makes the third time the last: with a body of
// which nothing is written, its length being unknown and its coding plain.
// Nobody else looks at the request then: net/http has waited for who has written
// it.
func (c *call) attempted(string) {
	if c.attempts++; c.attempts > 1 {
		c.proxy.transport.CloseIdleConnections() // where one broke, so may the others have
	}
	if c.attempts == mostAttempts {
		c.sent.Body, c.sent.TransferEncoding = nothing{}, c.plain[:]
	}
}

// repeated reports whether the request was sent more than once.
func (c *call) repeated() bool { return c.attempts > 1 }
