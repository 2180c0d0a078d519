package httplimit

import (
	"net/http"
	"net/netip"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
)

// call is one request at work. It is pooled, so that a decision allocates
// nothing.
type call struct {
	outcome weir.Outcome // Handler's
	request *http.Request

	resolver *clientip.Resolver
	resolved bool
	caller   clientip.Answer

	parts  []weir.Part // of the key at work
	owners []*rule     // of the takes of the outcome, by index
	fault  error       // of a rule that lets faults pass
	open   bool        // the fault is of a rule that would otherwise have a say

	plain weir.Request // for a Decider
	room  room
}

// As many takes and parts as requests commonly need; more make room for
// themselves.
const (
	usualTakes = 4
	usualParts = 2
)

// room is where the slices of a call begin: in the call itself.
type room struct {
	takes     [usualTakes]weir.Take
	decisions [usualTakes]weir.Decision
	owners    [usualTakes]*rule
	parts     [usualParts]weir.Part
}

func newCall(resolver *clientip.Resolver) *call {
	c := &call{resolver: resolver}
	c.outcome.Takes, c.outcome.Decisions = c.room.takes[:0], c.room.decisions[:0]
	c.owners, c.parts = c.room.owners[:0], c.room.parts[:0]
	c.plain.PathValue = c.pathValue // bound once
	return c
}

// end lets go of everything that belongs to the request. It is field by field:
// to write the whole of a call costs a tenth of a microsecond.
func (c *call) end() {
	c.outcome.Reset()
	c.request, c.resolved = nil, false
	clear(c.parts)
	c.parts, c.owners = c.parts[:0], c.owners[:0]
	if c.fault != nil {
		c.fault, c.open = nil, false
	}
	if c.plain.Method != "" || c.plain.Header != nil {
		c.plain = weir.Request{PathValue: c.plain.PathValue}
	}
}

// answer is whose address the request is counted under, found once.
func (c *call) answer() clientip.Answer {
	if !c.resolved {
		c.caller, c.resolved = c.resolver.Resolve(c.request.RemoteAddr, c.request.Header), true
	}
	return c.caller
}

// network is what the caller is counted under; invalid where the peer has no
// address.
func (c *call) network() netip.Prefix { return c.resolver.Prefix(c.answer().Addr) }

func (c *call) addressPart() (weir.Part, bool) {
	p := c.network()
	return weir.Net(p), p.IsValid()
}

func (c *call) pathValue(name string) string { return c.request.PathValue(name) }

// plainRequest is the request as a Decider sees it. The address is filled in
// only where the middleware was told how to find it.
func (c *call) plainRequest() *weir.Request {
	r := c.request
	c.plain = weir.Request{
		Method:     r.Method,
		Host:       r.Host,
		Path:       r.URL.EscapedPath(),
		Query:      r.URL.RawQuery,
		Header:     r.Header,
		RemoteAddr: r.RemoteAddr,
		PathValue:  c.plain.PathValue,
	}
	if c.resolver != nil {
		a := c.answer()
		c.plain.Addr, c.plain.AddrUnsure = a.Addr, !a.Sure
	}
	return &c.plain
}
