package httplimit

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/internal/hold"
)

// Middleware limits the requests that are routed to it. Make it with New; it is
// safe for concurrent use, and one may wrap several handlers, which then share
// its limits.
type Middleware struct {
	engine   engine
	header   *header.Writer
	deny     func(http.ResponseWriter, *http.Request, *weir.Outcome)
	observer weir.Observer
	waiting  *hold.Room
	enforce  atomic.Uint32
	calls    sync.Pool // *call, so that a decision allocates nothing
}

// SetEnforce turns the switch while requests are served; those that are being
// decided finish as they began. It is how limits are tried (Shadow), and taken
// out of the way at once (Off). What is no position counts as On.
func (m *Middleware) SetEnforce(e Enforce) {
	if e > Off {
		e = On
	}
	m.enforce.Store(uint32(e))
}

// Enforce is where the switch stands.
func (m *Middleware) Enforce() Enforce { return Enforce(m.enforce.Load()) }

// Check decides r and charges it, fills in o, which must not be nil, and reports
// whether the request may go on: at once, or after o's Delay, which [Middleware.Hold]
// waits for. It neither writes an answer nor gives anything back: that is the
// caller's, by package header, [Middleware.GiveBack] and, where there are concurrency
// limits, [Middleware.Keep]. An Outcome that is used again costs no allocation.
//
// With the switch off, o passes without key or store being touched. A panic of
// the Observer reaches the caller, with o as it was decided.
func (m *Middleware) Check(r *http.Request, o *weir.Outcome) bool {
	e := m.Enforce()
	if e == Off {
		o.Pass()
		return true
	}
	c, _ := m.calls.Get().(*call)
	defer m.release(c)
	o.Reset()
	m.check(c, r, o, e)
	return o.Allowed
}

// Keep renews the slots that Check was given by concurrency limits, until they are
// released: call it before Hold, and defer the Release. It is nil where there are none.
func (m *Middleware) Keep(o *weir.Outcome) *weir.Slots { return m.engine.keep(o) }

// GiveBack refunds what Check charged, slots too, once, for a request that was let in and
// then not served. The context may have been cancelled: the refund is not the
// caller's to prevent.
func (m *Middleware) GiveBack(ctx context.Context, o *weir.Outcome) error {
	return m.engine.giveBack(context.WithoutCancel(ctx), o)
}

// Hold keeps a request that Check has let in until its turn comes under a leaky
// bucket, and returns nil at once where there is none to wait for. On an error it is
// not to go on: its context has ended, as many wait already as may
// ([Config].MaxWaiting), or [Middleware.Drain] was called. What it was charged has
// been given back then, and o is a refusal.
func (m *Middleware) Hold(ctx context.Context, o *weir.Outcome) error {
	err := m.waiting.Wait(ctx, o.Delay.Duration())
	if err != nil {
		_ = m.GiveBack(ctx, o) // what a store kept, time gives back
		o.RefuseDelay()
	}
	return err
}

// Waiting is how many requests wait for their turn now.
func (m *Middleware) Waiting() int { return m.waiting.Waiting() }

// Drain sends away those who wait for their turn, and lets nobody wait from now on:
// they are refused, and get back what they were charged. All other requests go on
// being served. It is meant for the end of a server, which would otherwise wait for
// them: server.RegisterOnShutdown(m.Drain).
func (m *Middleware) Drain() { m.waiting.End() }

// Handler wraps next: a request that may not go on is answered and does not
// reach it, and one that a leaky bucket delays reaches it when its turn comes. The
// fields of package header are written before next runs, which may
// still change them.
//
// Slots of concurrency limits are kept until next has returned, and are released
// whatever it does.
//
// If next panics, or the Observer or Deny does, the request's charge is given
// back, and the panic goes on. A panic with [http.ErrAbortHandler] gives nothing back: a proxy raises it when
// the client has left, so that a caller could take for nothing by hanging up.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := m.Enforce()
		if e == Off {
			next.ServeHTTP(w, r)
			return
		}
		c, _ := m.calls.Get().(*call)
		defer m.release(c)
		o := &c.outcome
		defer m.undo(r, o)
		if m.check(c, r, o, e); !o.Allowed {
			m.refuse(w, r, o)
			return
		}
		if slots := m.Keep(o); slots != nil {
			defer func() { _ = slots.Release(r.Context()) }() // what a store keeps, time gives back
		}
		if m.Hold(r.Context(), o) != nil {
			m.refuse(w, r, o)
			return
		}
		m.header.Write(w.Header(), o)
		m.header.Expose(w.Header(), r)
		next.ServeHTTP(w, r)
	})
}

func (m *Middleware) release(c *call) {
	c.end()
	m.calls.Put(c)
}

func (m *Middleware) check(c *call, r *http.Request, o *weir.Outcome, e Enforce) {
	c.request = r
	ctx := r.Context()
	m.engine.decide(ctx, c, o, e == Shadow)
	if m.observer != nil {
		m.observer.Observe(ctx, o)
	}
}

// undo gives the charge back when a panic passes, and lets it go on. It is to be
// deferred by who may have charged.
func (m *Middleware) undo(r *http.Request, o *weir.Outcome) {
	v := recover()
	if v == nil {
		return
	}
	if err, ok := v.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		_ = m.GiveBack(r.Context(), o) // the panic is the news; what a store kept, time gives back
	}
	mustGoOn(v)
}

// mustGoOn panics with what was recovered. The frames of who panicked are still on the stack, and in the trace that the server logs.
func mustGoOn(v any) { panic(v) }

// maxUnread is the longest body that a refused request may leave on a
// connection that is used again.
const maxUnread = 64 << 10

// refuse answers a request that may not go on.
func (m *Middleware) refuse(w http.ResponseWriter, r *http.Request, o *weir.Outcome) {
	h := w.Header()
	if unread := r.ContentLength; r.ProtoMajor == 1 && (unread > maxUnread || unread < 0) {
		h.Set("Connection", "close")
	}
	if m.deny == nil {
		m.header.Refuse(w, r, o)
		return
	}
	m.header.Write(h, o)
	m.header.Expose(h, r)
	h.Set("Cache-Control", "no-store") // RFC 6585, section 4
	m.deny(w, r, o)
}
