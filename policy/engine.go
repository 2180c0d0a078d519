package policy

import (
	"context"
	"time"

	"github.com/weirhq/weir"
)

// EngineConfig is what an Engine works with.
type EngineConfig struct {
	// Policy is what it decides by at first.
	Policy *Policy

	// Store keeps what has been used. It stays the caller's to close.
	Store weir.Store

	// Observe is told of every decision, on the request's own goroutine. It
	// must be fast, safe for concurrent use, and keep nothing of the Finding.
	Observe func(context.Context, *Finding)

	// Now is the time that tokens are judged by; nil is the wall clock. Limits
	// are judged by the store's clock.
	Now func() time.Time
}

// Engine decides requests by a Policy: it is a [weir.Decider]. Make one with
// [NewEngine]; it is safe for concurrent use, and its decisions allocate nothing
// but what a request's own escapes and tokens need.
type Engine struct{}

// NewEngine makes an Engine and tells the store which limits to expect.
func NewEngine(c EngineConfig) (*Engine, error) { return nil, nil }

// Policy is the one that decides now.
func (e *Engine) Policy() *Policy { return nil }

// Swap puts another policy in place, for all requests that begin from now on.
// On an error, which is the store's (it has no room for so many limits), the
// old one stays.
func (e *Engine) Swap(p *Policy) error { return nil }

// SetSwitch turns the switch that wins over the policy's own Enforce where it is
// weaker: On leaves it to the policy.
func (e *Engine) SetSwitch(to Enforce) {}

// Enforce is what holds now: the weaker of the policy's and the switch.
func (e *Engine) Enforce() Enforce { return "" }

// Decide is weir.Decider's: the way of a request in package docs.
func (e *Engine) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {}

// GiveBack is weir.Decider's.
func (e *Engine) GiveBack(ctx context.Context, o *weir.Outcome) error { return nil }

// Explain says how the request would be decided now, and why, by the same code.
// Nothing is charged.
func (e *Engine) Explain(ctx context.Context, r *weir.Request) *Explanation { return nil }
