package policy

import (
	"net/netip"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/match"
	"github.com/weirhq/weir/policy/internal/token"
)

// call is one request at work. It is pooled, so that a decision allocates
// nothing of its own.
type call struct {
	found    Finding
	path     match.Path
	believed bool // the surface or the peer is believed: trusted headers count
	engine   *Engine
	peek     bool // nothing is charged: an explanation
	slotless bool // the surface cannot tell when the request is over, so that it gets no slots

	matched []int
	work    []work
	parts   []weir.Part

	claims *token.Claims
	token  tokenState
	why    token.Reason // why there are no claims

	vain weir.Outcome // of what is asked beside a refusal

	exempt *exemption // the one that fits
	passed error      // the first fault that was let pass
}

// tokenState is how far the request's token has come.
type tokenState uint8

// The states of a token.
const (
	tokenUnread tokenState = iota
	tokenRefused
	tokenVerified
)

// work is what one matching rule comes to.
type work struct {
	rule  *rule
	key   weir.Key
	tag   uint64
	quota *quota // nil: the rule does not apply, or has no limit for the request
	ready bool   // resolved already

	shown   bool // a secret was presented that has a say in it
	guessed bool // one that its table does not have
}

// begin takes a request up.
func (c *call) begin(e *Engine, p *Policy, r *weir.Request, o *weir.Outcome) {
	o.Reset()
	c.engine = e
	c.found.Policy, c.found.Request, c.found.Outcome = p, r, o
	c.found.Enforce = weakest(p.enforce, *e.position.Load())
	c.believed = r.RemoteAddr == "" && r.Addr.IsValid() || len(p.trustedHeaders) > 0 && p.resolver.TrustsPeer(r.RemoteAddr)
}

// end lets go of everything that belongs to the request.
func (c *call) end() {
	clear(c.found.Applied)
	applied := c.found.Applied[:0]
	c.found = Finding{Applied: applied}
	clear(c.work)
	c.work = c.work[:0]
	clear(c.parts)
	c.parts, c.matched = c.parts[:0], c.matched[:0]
	c.claims, c.token, c.why, c.peek, c.slotless = nil, tokenUnread, 0, false, false
	c.exempt, c.passed = nil, nil
	if len(c.vain.Takes) > 0 { // seldom
		c.vain.Reset()
	}
}

// outcome is what the surface is told.
func (c *call) outcome() *weir.Outcome { return c.found.Outcome }

// shadow reports that nothing may be refused.
func (c *call) shadow() bool { return c.found.Enforce == Shadow }

// network is what the caller's address counts under; invalid where there is
// none.
func (c *call) network() netip.Prefix { return c.found.Policy.resolver.Prefix(c.found.Caller.Addr) }

func (c *call) keyer() weir.Keyer { return c.engine.keyer }
