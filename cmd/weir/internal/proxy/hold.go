package proxy

import (
	"errors"

	"github.com/weirhq/weir/internal/hold"
)

// hold keeps a request until its turn comes under a leaky bucket, and reports whether
// it goes on. One that does not has its charge back, and is a refusal.
func (c *call) hold() bool {
	err := c.proxy.waiting.Wait(c.in.Context(), c.outcome.Delay.Duration())
	if err == nil {
		return true
	}
	kind := c.proxy.notHeld(err)
	c.proxy.logger.DebugContext(c.in.Context(), "request not served", "kind", kind)
	c.giveBack()
	c.outcome.RefuseDelay()
	return false
}

// notHeld counts a request that was not kept waiting to its turn, and says why.
func (p *Proxy) notHeld(err error) (kind string) {
	switch {
	case errors.Is(err, hold.ErrFull):
		p.crowded.Add(1)
		return "crowded"
	case errors.Is(err, hold.ErrEnded):
		p.drained.Add(1)
		return "drained"
	}
	p.gone.Add(1)
	return "client gone"
}
