package daemon

import (
	"github.com/weirhq/weir/header"
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
