package proxy

import (
	"net"
	"net/http"
	"time"
)

const (
	// idlePerHost keeps the connections of a busy upstream; net/http's own two
	// would open and close one for almost each request.
	idlePerHost = 256
	// idleAll is for the upstreams of before a reload.
	idleAll = 512
	// maxAnswerHeader bounds what an upstream's header can take up here.
	maxAnswerHeader = 256 << 10
	// continueWait is how long the upstream may take to say whether it wants a
	// body that the client asks about first; then it is sent.
	continueWait = time.Second
	// upstreamPing finds out whether a silent HTTP/2 upstream is still there.
	upstreamPing = 30 * time.Second
)

// newTransport makes the way to the upstream. No proxy of the environment stands
// in between, and answers are not unpacked: bytes pass as they are.
func newTransport(c Config) *http.Transport {
	t := c.Timeouts
	dialer := &net.Dialer{Timeout: t.Dial}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        c.TLS.Clone(),
		TLSHandshakeTimeout:    t.Dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           idleAll,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        t.Kept,
		ResponseHeaderTimeout:  t.Answer,
		ExpectContinueTimeout:  continueWait,
		MaxResponseHeaderBytes: maxAnswerHeader,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: upstreamPing},
	}
}

// newFresh makes the way to the upstream for a request whose kept connections have
// broken. It has spoken HTTP/1 there.
func newFresh(c Config) *http.Transport {
	t := newTransport(c)
	t.MaxIdleConnsPerHost = -1 // unlike DisableKeepAlives it leaves the request as it is
	t.ForceAttemptHTTP2 = false
	return t
}
