package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// A failure is why a request that was let in has no answer of the upstream's.
type failure struct {
	kind   string // for the log
	status int
	detail string // for the caller
}

// fail answers for the upstream. ReverseProxy calls it.
func (c *call) fail(_ http.ResponseWriter, out *http.Request, err error) {
	f := c.failure(out, err)
	if f.status < http.StatusInternalServerError && c.in.ProtoMajor == 1 {
		c.out.Header().Set("Connection", "close") // the rest of the body is no request
	}
	if c.in.Context().Err() == nil && c.unsent() {
		c.giveBack()
	} else {
		c.settings.header.Write(c.out.Header(), &c.outcome)
		c.settings.header.Expose(c.out.Header(), c.in)
	}
	c.proxy.logger.DebugContext(c.in.Context(), "request not served", "kind", f.kind, "status", f.status)
	c.problem(f.status, f.detail)
}

// failure tells whose fault it was, and counts it. The client's body comes first:
// when it fails, the transport and the context of the request fail with it.
func (c *call) failure(out *http.Request, err error) failure {
	p, state := c.proxy, reading
	if c.body != nil {
		state = c.body.progress()
	}
	var timeout net.Error
	switch {
	case state == late:
		p.slowClients.Add(1)
		return failure{"slow client", http.StatusRequestTimeout, "the body stopped coming"}
	case state == broken:
		p.badClients.Add(1)
		return failure{"bad body", http.StatusBadRequest, "the body broke off, or is not what HTTP allows"}
	case c.in.Context().Err() != nil:
		p.gone.Add(1)
		return failure{"client gone", http.StatusBadGateway, "the request was given up"}
	case c.unsent(), undialled(err):
		p.lost(c.in.Context(), err)
		if errors.As(err, &timeout) && timeout.Timeout() {
			return failure{"unreachable", http.StatusGatewayTimeout, "the upstream cannot be reached"}
		}
		return failure{"unreachable", http.StatusBadGateway, "the upstream cannot be reached"}
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(context.Cause(out.Context()), errStalled):
		p.slowUpstream.Add(1)
		return failure{"slow upstream", http.StatusGatewayTimeout, "the upstream did not answer in time"}
	}
	p.badUpstream.Add(1)
	return failure{"bad upstream", http.StatusBadGateway, "the upstream broke off, or answered what is not HTTP"}
}

// undialled reports whether err says that a connection could not be made.
func undialled(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// lost notes that the upstream cannot be reached. The log hears of it once, not
// with every request.
func (p *Proxy) lost(ctx context.Context, err error) {
	p.unreachable.Add(1)
	if !p.down.Swap(true) {
		p.logger.WarnContext(ctx, "the upstream cannot be reached", "error", err)
	}
}

// reached notes that the upstream answers.
func (p *Proxy) reached() {
	if p.down.Load() && p.down.Swap(false) {
		p.logger.Info("the upstream can be reached again")
	}
}

// problem answers with a problem (RFC 9457) of the proxy's own.
func (c *call) problem(status int, detail string) {
	c.leaveBody()
	problem.Write(&c.out, c.in, problem.Problem{Status: status, Detail: detail})
}
