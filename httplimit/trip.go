package httplimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/weirhq/weir"
)

// trip is the way of one request through a Transport.
type trip struct {
	*Transport

	part     weir.Part
	lane     *lane
	patience patience
	outcome  weir.Outcome
}

// run sends the request, and again while it is refused and may be. A refusal is its
// answer where it is not sent again after all.
func (t *trip) run(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	var refusal *http.Response
	for attempt := 0; ; attempt++ {
		number, err := t.enter(ctx)
		if err != nil {
			closeBody(r)
			return unsent(refusal, err)
		}
		res, refused, err := t.send(r, number)
		if !refused || attempt >= t.retries || !t.worthwhile(ctx) {
			return res, err
		}
		next := again(r)
		if next == nil {
			return res, nil
		}
		t.keep(res)
		refusal, r = res, next
	}
}

// unsent is what a request gets that may not be sent: why, or the refusal that it
// has got before. Whoever has left is told that alone.
func unsent(refusal *http.Response, err error) (*http.Response, error) {
	if refusal != nil && errors.As(err, new(*NotSentError)) {
		return refusal, nil
	}
	return nil, err
}

// send sends the request and learns from its answer. One that a Transport behind
// this one has not sent costs nothing here either.
func (t *trip) send(r *http.Request, number uint64) (res *http.Response, refused bool, err error) {
	known := false
	defer func() {
		if !known { // what became of it: or the base has panicked
			t.lanes.lose(t.lane)
		}
	}()
	res, err = t.base.RoundTrip(r)
	if errors.As(err, new(*NotSentError)) {
		known = true
		t.lanes.withdraw(t.lane, number, now())
		_ = t.giveBack(r.Context()) // that nothing was sent is the news; what a store kept, time gives back
		return res, false, err
	}
	if err != nil || res == nil {
		return res, false, err
	}
	a := readAdvice(res.StatusCode, res.Header, now())
	t.lanes.learn(t.lane, number, a, now(), t.maxPause)
	known = true
	return res, a.refused, nil
}

// worthwhile reports whether the wait that a refusal asks for is one that this
// request can bear. If not, the refusal is its answer.
func (t *trip) worthwhile(ctx context.Context) bool {
	return t.patience.refuses(ctx, t.lanes.closed(t.lane, now())) == nil
}

// enter waits until a request may be sent: until the far side wants one again, and
// there is room under the limit of one's own, which is charged last. The number is
// that of the request on its lane.
//
// All requests of a key go through here one by one, in the order in which they
// came, so that one alone looks when there is room and none is overtaken for ever.
func (t *trip) enter(ctx context.Context) (number uint64, err error) {
	if !t.patience.failFast {
		if err := t.queue(ctx); err != nil {
			return 0, err
		}
		defer func() { <-t.lane.turn }()
	}
	for {
		if err := t.awaitFarSide(ctx); err != nil {
			return 0, err
		}
		if err := t.awaitRoom(ctx); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			_ = t.giveBack(ctx) // that nothing was sent is the news; what a store kept, time gives back
			return 0, context.Cause(ctx)
		}
		if number, ok := t.lanes.admit(t.lane, now()); ok {
			return number, nil
		}
		if err := t.giveBack(ctx); err != nil { // an answer that came meanwhile has closed the lane
			return 0, err
		}
	}
}

// queue waits for the turn, unless it is certain already that it would be in vain.
func (t *trip) queue(ctx context.Context) error {
	if d := t.lanes.shut(t.lane, now()); d > 0 {
		if err := t.bear(ctx, d, nil); err != nil {
			return err
		}
	}
	err := t.patience.queue(ctx, t.lane.turn)
	if errors.Is(err, errMaxWait) {
		return t.notSent(t.lanes.closed(t.lane, now()), nil, err)
	}
	return err
}

// awaitFarSide waits for as long as the far side wants to be left alone.
func (t *trip) awaitFarSide(ctx context.Context) error {
	for {
		d := t.lanes.closed(t.lane, now())
		if d == 0 {
			return nil
		}
		if err := t.await(ctx, d, t.lane.news, nil); err != nil {
			return err
		}
	}
}

// leastWait is how long it takes at least until a limit without room is asked
// again, whatever its store says.
const leastWait = time.Millisecond

// awaitRoom takes one unit under the limit of one's own, as soon as there is one.
func (t *trip) awaitRoom(ctx context.Context) error {
	if t.limiter == nil {
		return nil
	}
	for {
		o := &t.outcome
		err := t.limiter.Take(ctx, o, 1, t.part)
		switch {
		case err != nil:
			return &NotSentError{err: err}
		case o.Allowed:
			return t.hold(ctx, time.Duration(o.Delay)*time.Microsecond)
		case o.Never || o.Cause != weir.ByLimits:
			return &NotSentError{err: errDenied}
		}
		d := max(leastWait, time.Duration(o.RetryAfter)*time.Microsecond)
		if err := t.await(ctx, d, nil, o.Limit()); err != nil {
			return err
		}
	}
}

// hold keeps a request that was let in for as long as its limit says (a leaky bucket
// does), or gives its place up.
func (t *trip) hold(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	err := t.await(ctx, d, nil, t.outcome.Limit())
	if err != nil {
		_ = t.giveBack(ctx) // why it is not sent is the news; what a store kept, time gives back
	}
	return err
}

// await waits for d or for news, if this request can bear that.
func (t *trip) await(ctx context.Context, d time.Duration, news <-chan struct{}, limit *weir.Limit) error {
	if err := t.bear(ctx, d, limit); err != nil {
		return err
	}
	return t.patience.wait(ctx, d, news)
}

// bear says why this request cannot wait for d; nil where it can.
func (t *trip) bear(ctx context.Context, d time.Duration, limit *weir.Limit) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := t.patience.refuses(ctx, d); err != nil {
		return t.notSent(d, limit, err)
	}
	return nil
}

func (t *trip) notSent(d time.Duration, limit *weir.Limit, err error) error {
	return &NotSentError{RetryAt: now().Add(d), Limit: limit, wait: d, err: err}
}

// giveBack undoes what awaitRoom took. The context may have ended: the refund is
// not prevented by that.
func (t *trip) giveBack(ctx context.Context) error {
	if t.limiter == nil {
		return nil
	}
	if err := t.limiter.Refund(context.WithoutCancel(ctx), &t.outcome); err != nil {
		return &NotSentError{err: err}
	}
	return nil
}

// mostKept is how much is kept of the body of a refusal whose request waits to be
// sent again: more than such bodies commonly have.
const mostKept = 16 << 10

// errCut ends the body of a refusal of which not all was kept.
var errCut = errors.New("httplimit: the rest of this body was not kept while its request waited to be sent again")

// keep reads the body of a refusal, so that it can still be the answer without
// holding its connection meanwhile.
func (t *trip) keep(res *http.Response) {
	if res.Body == nil {
		return
	}
	text, end := t.patience.read(res.Body, mostKept)
	if end == nil {
		end = io.EOF
	}
	res.Body = &keptBody{text: bytes.NewReader(text), end: end}
}

// keptBody is the body of an answer whose connection is gone.
type keptBody struct {
	text *bytes.Reader
	end  error // io.EOF, or why the rest is missing
}

// Read reads what was kept.
func (b *keptBody) Read(p []byte) (n int, err error) {
	n, err = b.text.Read(p)
	if err != nil {
		err = b.end
	}
	return n, err
}

// Close has nothing to do.
func (b *keptBody) Close() error { return nil }

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // it was not read
	}
}

// again makes a request that is sent once more, and nil where that may not be.
func again(r *http.Request) *http.Request {
	if !idempotent(r) {
		return nil
	}
	next := r.WithContext(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return next
	}
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	next.Body = body
	return next
}

// idempotent reports whether sending a request twice does no more than sending it
// once: by its method (RFC 9110, section 9.2.2), or because it says so with a key
// that net/http knows as well.
func idempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return len(r.Header["Idempotency-Key"])+len(r.Header["X-Idempotency-Key"]) > 0
}
