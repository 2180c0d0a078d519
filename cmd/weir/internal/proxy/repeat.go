package proxy

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// This file says how often a request is sent. net/http sends one without a body
// again as long as it finds connections that were kept from before, which break
// one after the other when it is the request that makes the upstream break them:
// one charge would be carried out as often as there are connections. Such a
// request is sent again once at most, on a new connection, and only where its
// method promises that this makes no difference (RFC 9110, section 9.2.2).

// nothing is a body that is empty. Unlike http.NoBody it keeps net/http from
// sending the request again.
type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }
func (nothing) Close() error             { return nil }

// once lets net/http send a request without a body once. Its length is said to be
// unknown, and its coding plain, so that nothing is written of it.
func (c *call) once(out *http.Request) {
	out.Body, out.TransferEncoding = nothing{}, c.plain[:]
}

// RoundTrip is http.RoundTripper's, for this request.
func (c *call) RoundTrip(out *http.Request) (*http.Response, error) {
	res, err := c.proxy.transport.RoundTrip(out)
	if err == nil || !repeatable(out, err) {
		return res, err
	}
	c.repeated = true
	c.proxy.transport.CloseIdleConnections() // where one broke, so may the others have
	return c.proxy.transport.RoundTrip(out)
}

// repeatable reports whether a request may be sent again: the connection broke
// before an answer came, as one that was kept does when the upstream closes it at
// that moment.
func repeatable(out *http.Request, err error) bool {
	if _, empty := out.Body.(nothing); !empty || out.Context().Err() != nil {
		return false
	}
	switch out.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
	default:
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "server closed idle connection") // net/http has no name for it
}
