package daemon

import (
	"sync/atomic"

	"github.com/weirhq/weir/cmd/weir/internal/reload"
)

// state is what /readyz tells.
type state struct {
	ready atomic.Bool                   // everything is served, and it is not yet time to end
	last  atomic.Pointer[reload.Result] // of the latest reload; nil before the first
}

func (s *state) reloaded(r reload.Result) { s.last.Store(&r) }
