package header

import (
	"cmp"
	"net/http"
	"time"

	"github.com/weirhq/weir"
)

// The wait that a fault of the store names: something between one second and
// three, because nobody knows how long it lasts, and all callers were told at
// once.
const (
	faultWait   weir.Micros = 1 * second
	faultJitter weir.Micros = 2 * second
)

// Refuse answers r with the refusal o: [Status], the fields of [Writer.Write]
// and [Writer.Expose], Cache-Control: no-store, and a body, which a HEAD request
// is spared. It writes the whole answer; nothing may have been written to rw.
//
// The body is application/problem+json (RFC 9457), or one line of text/plain
// for a caller whose Accept excludes JSON. It names the limits that refused,
// under violated-policies, and never the caller's key nor the text of an error,
// but for a [*weir.FieldError] about the request: which field, and why.
//
// Retry-After is written with 429 and 503 alone. With 503 it is at random
// between one second and three, or further apart with a larger Jitter.
//
// Where a rule has words of its own for its callers (weir.Outcome.Refusal), the
// status and the detail are those. Everything else stays that of the true cause: a
// 429 that is told as a 403 has its Retry-After, its RateLimit fields and the type
// of its problem.
//
// A refusal has a status from 400 to 599. An outcome that is allowed has none;
// refused all the same, it is 403, unless [Config].Problem says another.
func (w *Writer) Refuse(rw http.ResponseWriter, r *http.Request, o *weir.Outcome) {
	var (
		list   [refuseFields]field
		buffer [textRoom]byte
		room   [weir.MaxTakes]member
	)
	f := fields{list: list[:]}
	members, retry := w.members(o, room[:0]), w.retryAfter(o)
	text := w.collect(&f, buffer[:0], o, members, retry)
	if w.exposes(r) {
		f.add(keyExpose, w.exposed)
	}
	p := w.problem(r, o, retry)
	if p.Status == http.StatusUnauthorized {
		f.add(keyChallenge, cmp.Or(challenge(o.Err), bearer)) // RFC 9110, section 15.5.2, wants one
	}
	h := rw.Header()
	body := p.body(&f, r, o, members)
	text = finish(&f, text, h, len(body))
	f.write(h, text)
	rw.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = rw.Write(body) // the client has gone: nobody to tell
	}
}

// finish gathers the fields that go with every refusal's body. Where someone
// further out encodes the body, its length is not ours to tell.
func finish(f *fields, text []byte, h http.Header, length int) []byte {
	f.set(keyCacheControl, "no-store") // RFC 6585, section 4, for 429; said of all
	f.set(keyOptions, "nosniff")
	if !lists(h[keyVary], "Accept") {
		f.add(keyVary, "Accept")
	}
	if len(h[keyEncoding]) > 0 {
		delete(h, keyLength)
		return text
	}
	return f.number(text, keyLength, int64(length))
}

// retryAfter is the seconds of Retry-After, 0 for none.
func (w *Writer) retryAfter(o *weir.Outcome) int64 {
	jitter := weir.Micros(w.config.Jitter / time.Microsecond)
	switch causeStatus(o) { // a wait is a wait, whatever status the caller is told
	case http.StatusTooManyRequests:
		return max(1, sum(longest(o), w.upTo(jitter)).Ceil(time.Second))
	case http.StatusServiceUnavailable:
		// From 1 µs, so that each whole second is as likely as the next.
		spread := 1 + w.upTo(faultWait+max(jitter, faultJitter)-1)
		return sum(max(0, o.RetryAfter), spread).Ceil(time.Second)
	}
	return 0
}

// longest is the wait that ends all refusals, no shorter than any of them.
func longest(o *weir.Outcome) weir.Micros {
	m := max(0, o.RetryAfter)
	for i := range min(len(o.Takes), len(o.Decisions)) {
		if o.Takes[i].Join == weir.All && !o.Decisions[i].Allowed {
			m = max(m, o.Decisions[i].RetryAfter)
		}
	}
	return m
}

// upTo is a random span from 0 to m.
func (w *Writer) upTo(m weir.Micros) weir.Micros {
	if m <= 0 {
		return 0
	}
	return weir.Micros(w.random(int64(m) + 1))
}
