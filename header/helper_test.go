package header

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// now is when the outcomes of these tests were decided: 2026-11-30 08:06:06
// and a bit.
const now weir.Micros = 1_796_025_966_123_456

// answers is a store that gives the same decisions always, so that outcomes
// come about as they do elsewhere.
type answers []weir.Decision

func (a answers) Take(_ context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	copy(out, a)
	allowed := true
	for i := range takes {
		allowed = allowed && (takes[i].Join != weir.All || out[i].Allowed)
	}
	return allowed, weir.Stamp{Now: now, Epoch: 1}, nil
}

func (a answers) Return(context.Context, []weir.Return) (weir.Stamp, error) {
	return weir.Stamp{}, weir.ErrUnsupported
}

func (a answers) Reset(context.Context, *weir.Limit, weir.Key) error { return weir.ErrUnsupported }
func (a answers) Keyer() weir.Keyer                                  { return weir.Keyer{} }
func (a answers) Close() error                                       { return nil }

// A leg is one take and what it was answered.
type leg struct {
	limit, text string
	cost        int64 // 0 means 1
	join        weir.Join
	d           weir.Decision
}

// decide makes the outcome of its legs.
func decide(t testing.TB, legs ...leg) *weir.Outcome {
	t.Helper()
	o := new(weir.Outcome)
	var store answers
	for _, g := range legs {
		l, err := weir.ParseLimit(g.limit, g.text)
		if err != nil {
			t.Fatal(err)
		}
		o.Takes = append(o.Takes, weir.Take{Limit: l, Cost: max(1, g.cost), Join: g.join})
		store = append(store, g.d)
	}
	if err := weir.Decide(t.Context(), store, o); err != nil {
		t.Fatal(err)
	}
	return o
}

// allowed is one unit of five, taken.
func allowed(t testing.TB) *weir.Outcome {
	t.Helper()
	return decide(t, leg{limit: "create-job", text: "5/s", d: weir.Decision{Allowed: true, Granted: 1, Remaining: 4, ResetAfter: 200_000}})
}

// refused is one unit of five, when none is left.
func refused(t testing.TB) *weir.Outcome {
	t.Helper()
	return decide(t, leg{limit: "create-job", text: "5/s", d: weir.Decision{RetryAfter: 180_000, ResetAfter: 980_000}})
}

// threeLimits is an outcome of a burst, an hour and a day.
func threeLimits(t testing.TB) *weir.Outcome {
	return decide(t,
		leg{limit: "api/1s", text: "10/s burst 20", d: weir.Decision{Allowed: true, Remaining: 19, ResetAfter: 100_000}},
		leg{limit: "api/1h", text: "1000/h", d: weir.Decision{Allowed: true, Remaining: 731, ResetAfter: 968_400_000}},
		leg{limit: "api/1d", text: "5000/day fixed-window", d: weir.Decision{Allowed: true, Remaining: 3000, ResetAfter: 40_000 * second}},
	)
}

// failed is an outcome of another cause.
func failed(c weir.Cause, err error) *weir.Outcome {
	o := new(weir.Outcome)
	o.Refuse(c, err)
	return o
}

// writer makes a Writer whose random numbers are the largest there are.
func writer(t testing.TB, c Config) *Writer {
	t.Helper()
	w, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.random = func(n int64) int64 { return n - 1 }
	return w
}

// ask makes a request with fields given as name, value, name, value.
func ask(method string, fields ...string) *http.Request {
	r := httptest.NewRequest(method, "/api/v1/jobs", http.NoBody)
	for pair := range slices.Chunk(fields, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	return r
}

// written prints the fields of an outcome, sorted, one a line.
func written(w *Writer, o *weir.Outcome) string {
	h := make(http.Header)
	w.Write(h, o)
	return lines(h)
}

func lines(h http.Header) string {
	var b strings.Builder
	_ = h.Write(&b)
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// same compares two texts that begin and end with what a raw string does.
func same(t testing.TB, got, want string) {
	t.Helper()
	if got, want := strings.TrimSpace(got), strings.TrimSpace(want); got != want {
		t.Errorf("got:\n%s\n\nwant:\n%s", got, want)
	}
}
