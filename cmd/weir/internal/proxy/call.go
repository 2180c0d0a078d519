package proxy

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/httpsyntax"
)

// maxLines bounds the field lines of a header: whoever sends more wants them
// parsed. Browsers send some twenty.
const maxLines = 256

// A call is one request at work. It is pooled, so that a decision allocates
// nothing, with a ReverseProxy of its own, so that the hooks know which request
// they are called for.
type call struct {
	proxy    *Proxy
	reverse  httputil.ReverseProxy
	settings *Settings
	in       *http.Request
	out      answer
	body     *body                   // of a request that is sent on with one
	release  context.CancelCauseFunc // of the context of such a request
	target   target
	request  weir.Request
	outcome  weir.Outcome
	slots    *weir.Slots                 // which the request holds until it is over; nil for none
	attempts attempts                    // to send it on
	connect  func(httptrace.GotConnInfo) // gotConn, bound once
}

func newCall(p *Proxy) *call {
	c := &call{proxy: p}
	c.connect = c.gotConn
	c.reverse = httputil.ReverseProxy{
		Rewrite:        c.rewrite,
		ModifyResponse: c.modify,
		ErrorHandler:   c.fail,
		Transport:      c,
		BufferPool:     buffers{p},
		ErrorLog:       slog.NewLogLogger(p.logger.Handler(), slog.LevelDebug),
	}
	return c
}

func (c *call) begin(w http.ResponseWriter, r *http.Request) {
	c.in, c.settings = r, c.proxy.settings()
	c.out.begin(w, c.proxy.timeouts.Write)
}

// end lets go of the request. What net/http does after the handler has its
// deadlines: the rest of the answer, and of a body that was not wanted.
func (c *call) end() {
	if c.body != nil {
		c.body.detach()
		c.release(nil)
		if c.in.ProtoMajor == 1 && c.body.progress() != whole {
			c.out.drainWithin(c.proxy.timeouts.Drain)
		}
	}
	c.out.last(c.in)
	c.letGo()
	c.outcome.Reset()
	c.request = weir.Request{}
	c.in, c.settings, c.body, c.release = nil, nil, nil, nil
	c.out, c.target, c.attempts = answer{}, target{}, attempts{}
	c.proxy.calls.Put(c)
}

func (c *call) serve() {
	if !c.accepts() {
		return
	}
	c.decide()
	switch {
	case !c.outcome.Allowed, !c.hold():
		c.refuse()
	case c.settings.upstream == nil:
		c.demo()
	default:
		c.reverse.ServeHTTP(&c.out, c.in)
	}
}

// accepts answers what cannot be decided: a request whose parts a decider and an
// upstream might read differently, or that asks for another kind of proxy.
func (c *call) accepts() bool {
	var ok bool
	c.target, ok = targetOf(c.in)
	switch {
	case lines(c.in.Header) > maxLines:
		c.problem(http.StatusRequestHeaderFieldsTooLarge, "the header has too many fields")
	case c.in.Method == http.MethodConnect:
		c.problem(http.StatusNotImplemented, "tunnels are not served here")
	case !ok || !c.target.sendable():
		c.problem(http.StatusBadRequest, "the request's target is not a path")
	case c.in.Host != "" && !httpsyntax.IsHost(c.in.Host):
		c.problem(http.StatusBadRequest, "the request's host is no name and no address")
	case strings.ContainsFunc(strings.Join(c.in.Header["Upgrade"], ""), unprintable):
		c.problem(http.StatusBadRequest, "the protocol to upgrade to has no such name")
	default:
		return true
	}
	c.proxy.malformed.Add(1)
	return false
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// lines is the number of field lines of a header.
func lines(h http.Header) int {
	n := 0
	for _, values := range h {
		n += len(values)
	}
	return n
}

// decide asks about the request as it came. A panic of who decides, or watches him,
// leaves nothing charged and no slot held.
func (c *call) decide() {
	r := c.in
	c.request = weir.Request{
		Method:     r.Method,
		Host:       c.host(),
		Path:       c.target.raw,
		Query:      r.URL.RawQuery,
		Header:     r.Header,
		RemoteAddr: r.RemoteAddr,
	}
	decided := false
	defer func() {
		if !decided {
			c.giveBack()
		}
	}()
	c.settings.decider.Decide(r.Context(), &c.request, &c.outcome)
	c.slots = c.settings.decider.Keep(&c.outcome)
	decided = true
}

// letGo releases the slots of the request, which is over: its answer has been
// written, or cannot be. What the store keeps is free when its lease ends.
func (c *call) letGo() {
	slots := c.slots
	if c.slots = nil; slots == nil {
		return
	}
	ctx := context.WithoutCancel(c.in.Context())
	if err := slots.Err(); err != nil {
		c.proxy.slotsLost.Add(1)
		c.proxy.logger.DebugContext(ctx, "a slot was lost while its request was served", "error", err)
	}
	if err := slots.Release(ctx); err != nil {
		c.proxy.logger.DebugContext(ctx, "a slot could not be released", "error", err)
	}
}

// giveBack refunds what a request was charged that has not reached the upstream.
// The client's leaving does not prevent it. What the store keeps, time gives
// back.
func (c *call) giveBack() {
	ctx := context.WithoutCancel(c.in.Context())
	if err := c.settings.decider.GiveBack(ctx, &c.outcome); err != nil {
		c.proxy.logger.DebugContext(ctx, "a charge could not be given back", "error", err)
	}
}
