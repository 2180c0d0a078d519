package proxy

import (
	"context"
	"net/http"
	"net/http/httputil"
)

// rewrite makes the request that the upstream gets. ReverseProxy has removed the
// hop-by-hop fields, and put back those of an upgrade.
func (c *call) rewrite(r *httputil.ProxyRequest) {
	s := c.settings
	c.target.join(r.Out.URL, r.In.URL.RawQuery, s)
	r.Out.Host = c.host()
	s.forward(r.Out.Header, r.In, s.trusted(r.In.RemoteAddr))
	if undecided(r.Out.Header["Upgrade"]) {
		delete(r.Out.Header, "Upgrade")
		delete(r.Out.Header, "Connection")
		delete(r.Out.Header, "Http2-Settings")
	}
	// The values of an announced trailer come with the end of the body, into
	// the map of the request that came.
	s.clean(r.In.Trailer, false)
	r.Out.Trailer = r.In.Trailer
	if r.Out.Body != nil {
		c.sendBody(r)
	}
}

// sendBody gives the body its deadlines. It is not pooled: the transport may
// hold on to it.
func (c *call) sendBody(r *httputil.ProxyRequest) {
	in, s, t := r.In, c.settings, c.proxy.timeouts
	ctx, cancel := context.WithCancelCause(r.Out.Context())
	b := newBody(r.Out.Body, c.out.control, t.Read, t.Answer, func() { cancel(errStalled) })
	b.between = in.ProtoMajor != 1
	b.atEnd = func() { s.clean(in.Trailer, false) } // more may come than was announced
	c.body, c.release = b, cancel
	r.Out = r.Out.WithContext(ctx)
	r.Out.Body = b
}

// modify adds our fields to the upstream's answer.
func (c *call) modify(res *http.Response) error {
	c.proxy.reached()
	c.settings.header.Write(res.Header, &c.outcome)
	c.settings.header.Expose(res.Header, c.in)
	if c.body == nil {
		return nil
	}
	c.body.hasAnswer()
	// The Connection of a switch of protocols says whether it was asked for.
	if c.in.ProtoMajor == 1 && c.body.progress() != whole && res.StatusCode != http.StatusSwitchingProtocols {
		c.answerEarly(res.Header)
	}
	return nil
}

// answerEarly lets an answer out while the body is still coming. net/http would
// otherwise wait for the body first, and so for ever where each side waits for
// the other. The connection ends with the answer: nobody could say where the
// body ends and the next request begins.
func (c *call) answerEarly(h http.Header) {
	h.Set("Connection", "close")
	_ = c.out.control.EnableFullDuplex() // a writer of a test has no such question
}

// buffers lends what answers are copied through.
type buffers struct{ proxy *Proxy }

// copyBuffer is what ReverseProxy would allocate for each answer.
const copyBuffer = 32 << 10

// Get lends a buffer.
func (b buffers) Get() []byte {
	buffer, _ := b.proxy.buffers.Get().(*[copyBuffer]byte)
	return buffer[:]
}

// Put takes it back.
func (b buffers) Put(buffer []byte) { b.proxy.buffers.Put((*[copyBuffer]byte)(buffer)) }
