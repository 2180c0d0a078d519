package policy

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/expect"
)

// EngineConfig is what an Engine works with.
type EngineConfig struct {
	// Policy is what it decides by at first.
	Policy *Policy

	// Store keeps what has been used. It stays the caller's to close.
	Store weir.Store

	// Guests names the rules of limits that callers bring to the same store
	// beside the policy, such as `take`: each has a share of the room like that
	// of a rule without MaxKeys.
	Guests []string

	// Observe is told of every decision, on the request's own goroutine. It
	// must be fast, safe for concurrent use, and keep nothing of the Finding.
	// It may be nil. Where it panics, so does the Decide, and what the request
	// was charged has been given back.
	Observe func(context.Context, *Finding)

	// Now is the time that tokens are judged by; nil is the wall clock. Limits
	// are judged by the store's clock.
	Now func() time.Time
}

// Engine decides requests by a Policy: it is a [weir.Decider]. Make one with
// [NewEngine]; it is safe for concurrent use, and its decisions allocate nothing
// but what a request's own escapes and tokens need.
type Engine struct {
	store   weir.Store
	keyer   weir.Keyer
	guests  []string
	observe func(context.Context, *Finding)
	now     func() time.Time

	swapping sync.Mutex
	current  atomic.Pointer[Policy]
	position atomic.Pointer[Enforce] // of the switch
	calls    sync.Pool               // *call
}

var _ weir.Decider = (*Engine)(nil)

// NewEngine makes an Engine and tells the store which limits to expect.
func NewEngine(c EngineConfig) (*Engine, error) {
	switch {
	case c.Store == nil:
		return nil, weir.Invalid("Store", "nil", "an engine needs one", "make one with memstore.New")
	case c.Policy == nil:
		return nil, weir.Invalid("Policy", "nil", "an engine needs one", "make one with Load or Compile, and check the error")
	}
	e := &Engine{store: c.Store, keyer: c.Store.Keyer(), guests: c.Guests, observe: c.Observe, now: c.Now}
	if e.now == nil {
		e.now = wallClock
	}
	if e.observe == nil {
		e.observe = func(context.Context, *Finding) {}
	}
	e.calls.New = func() any { return new(call) }
	e.SetSwitch(On)
	if err := e.Swap(c.Policy); err != nil {
		return nil, err
	}
	return e, nil
}

// Policy is the one that decides now.
func (e *Engine) Policy() *Policy { return e.current.Load() }

// Swap puts another policy in place, for all requests that begin from now on.
// What callers have used under limits of the same names stays. On an error,
// which is the store's (it has no room for so many limits), the old policy
// stays.
func (e *Engine) Swap(p *Policy) error {
	if p == nil {
		return weir.Invalid("Policy", "nil", "an engine needs one", "check the error of Load or Compile")
	}
	e.swapping.Lock()
	defer e.swapping.Unlock()
	err := expect.Only(e.store, p.reserved(e.guests), p.Limits()...)
	if err != nil && len(e.guests) > 0 {
		err = expect.Only(e.store, p.reserved(nil), p.Limits()...) // what the rules ask for comes first
	}
	if err != nil {
		return err
	}
	e.current.Store(p)
	return nil
}

// SetSwitch turns the switch that wins over the policy's own Enforce where it is
// weaker: On leaves it to the policy. What is no position counts as On.
func (e *Engine) SetSwitch(to Enforce) { e.position.Store(&to) }

// Enforce is what holds now: the weaker of the policy's and the switch.
func (e *Engine) Enforce() Enforce { return weakest(e.Policy().enforce, *e.position.Load()) }

// weakest is the weaker of two positions of the switch.
func weakest(a, b Enforce) Enforce {
	switch {
	case a == Off || b == Off:
		return Off
	case a == Shadow || b == Shadow:
		return Shadow
	}
	return On
}

// Decide is [weir.Decider].Decide: the way of a request is in decide.go.
func (e *Engine) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {
	e.decide(ctx, e.current.Load(), r, o, false)
}

// Explain says how the request would be decided now, and why, by the same code
// that decides. Nothing is charged and nothing is observed.
func (e *Engine) Explain(ctx context.Context, r *weir.Request) *Explanation {
	return e.explain(ctx, e.current.Load(), r)
}

// By decides by one policy of the engine's, whatever Swap puts in place
// meanwhile: for a surface whose other settings come from that policy, so that
// no answer is half of one and half of another.
func (e *Engine) By(p *Policy) *View { return &View{engine: e, policy: p} }

// View is an Engine that decides by one policy: see [Engine.By]. It is a
// [weir.Decider].
type View struct {
	engine   *Engine
	policy   *Policy
	slotless bool
}

// WithoutSlots leaves limits that count requests in flight (5 concurrent) out of
// decisions: for a surface that is asked when a request begins and cannot tell when it
// is over. Rates beside them in the same rule count. An Explain says what all limits
// say even so.
func (v *View) WithoutSlots() *View {
	return &View{engine: v.engine, policy: v.policy, slotless: true}
}

// Decide is [weir.Decider].Decide.
func (v *View) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {
	v.engine.decide(ctx, v.policy, r, o, v.slotless)
}

// GiveBack is [weir.Decider].GiveBack.
func (v *View) GiveBack(ctx context.Context, o *weir.Outcome) error { return v.engine.GiveBack(ctx, o) }

// Keep is [weir.Decider].Keep.
func (v *View) Keep(o *weir.Outcome) *weir.Slots { return v.engine.Keep(o) }

// Explain is that of [Engine.Explain].
func (v *View) Explain(ctx context.Context, r *weir.Request) *Explanation {
	return v.engine.explain(ctx, v.policy, r)
}

func (e *Engine) decide(ctx context.Context, p *Policy, r *weir.Request, o *weir.Outcome, slotless bool) {
	c, _ := e.calls.Get().(*call)
	defer e.release(c)
	c.begin(e, p, r, o)
	c.slotless = slotless
	decided := false
	defer func() {
		if !decided { // a panic is on its way, and nobody above sees what was charged
			_ = e.GiveBack(context.WithoutCancel(ctx), o) // the panic is the news; what a store kept, time gives back
		}
	}()
	c.decide(ctx)
	e.observe(ctx, &c.found)
	decided = true
}

func (e *Engine) release(c *call) {
	c.end()
	e.calls.Put(c)
}

// GiveBack is [weir.Decider].GiveBack.
func (e *Engine) GiveBack(ctx context.Context, o *weir.Outcome) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanicError("store", v, weir.ErrUnknown)
		}
	}()
	return weir.GiveBack(ctx, e.store, o)
}

// Keep is [weir.Decider].Keep.
func (e *Engine) Keep(o *weir.Outcome) *weir.Slots { return weir.Keep(e.store, o) }

// PanicError is the Err of an outcome where something panicked that decides. The
// request was answered as the rule's choice for faults says.
type PanicError struct {
	In    string // whose code it was: "rule create-job", "store"
	Value any    // what it panicked with; may hold a caller's text
	Stack []byte // where, as debug.Stack prints it

	charged error
}

// newPanicError is called while the panicking functions are still on the stack.
func newPanicError(in string, value any, charged error) error {
	return &PanicError{In: in, Value: value, Stack: debug.Stack(), charged: charged}
}

// Error names where, and never the value.
func (e *PanicError) Error() string { return "policy: panic in " + e.In }

// Unwrap gives weir.ErrUnknown for a store, which may have charged first, and
// weir.ErrNotApplied for a rule.
func (e *PanicError) Unwrap() error { return e.charged }
