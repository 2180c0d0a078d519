package daemon

import (
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// HeaderConfig says in package header's terms what a policy says of fields.
func HeaderConfig(h policy.Headers) header.Config {
	return header.Config{
		NoRateLimit: h.RateLimit == policy.RateLimitOff,
		NoLegacy:    h.Legacy == policy.LegacyOff,
		EpochReset:  h.Reset == policy.ResetEpoch,
		Jitter:      h.Jitter,
		Debug:       h.Debug,
	}
}

// StoreConfig says in package memstore's terms what a policy says of memory. What
// rules keep for themselves is told by the engine.
func StoreConfig(m policy.Memory) memstore.Config {
	c := memstore.Config{MaxKeys: m.MaxKeys}
	switch m.OnFull {
	case policy.OnFullRefuse:
		c.OnFull = memstore.Refuse
	case policy.OnFullAdmit:
		c.OnFull = memstore.Admit
	default:
		c.OnFull = memstore.Overflow
	}
	return c
}
