package httplimit_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/storetest"
)

// start is when the clocks of these tests begin.
const start = weir.Micros(1_796_000_000_000_000)

// A rig is a middleware on a store whose clock is turned by hand.
type rig struct {
	*httplimit.Middleware
	t      *testing.T
	clock  *storetest.Clock
	store  *memstore.Store
	seen   *watcher
	served atomic.Int64 // requests that reached the handler
}

// rigged makes a rig of a config without a store.
func rigged(t *testing.T, c httplimit.Config) *rig {
	t.Helper()
	g := &rig{t: t, clock: storetest.NewClock(start), seen: &watcher{}}
	var err error
	if g.store, err = memstore.New(memstore.Config{Now: g.clock.Now}); err != nil {
		t.Fatal(err)
	}
	if c.Decider == nil && c.Store == nil {
		c.Store = g.store
	}
	if c.Observer == nil {
		c.Observer = g.seen
	}
	if g.Middleware, err = httplimit.New(c); err != nil {
		t.Fatal(err)
	}
	return g
}

// ruled makes a rig of rules alone.
func ruled(t *testing.T, rules ...httplimit.Rule) *rig {
	t.Helper()
	return rigged(t, httplimit.Config{Rules: rules})
}

// ServeHTTP makes the rig the limited handler itself.
func (g *rig) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.Handler(http.HandlerFunc(g.count)).ServeHTTP(w, r)
}

// count is the handler behind the middleware.
func (g *rig) count(w http.ResponseWriter, _ *http.Request) {
	g.served.Add(1)
	_, _ = io.WriteString(w, "served")
}

// wait turns the clock.
func (g *rig) wait(d time.Duration) { g.clock.Advance(weir.Micros(d / time.Microsecond)) }

// expect sends requests made from one and checks each status.
func (g *rig) expect(r *http.Request, want ...int) *http.Response {
	g.t.Helper()
	return expect(g.t, g, r, want...)
}

// expect serves a request once for each status that is wanted, and gives the
// last answer.
func expect(t *testing.T, h http.Handler, r *http.Request, want ...int) *http.Response {
	t.Helper()
	var res *http.Response
	for i, status := range want {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if res = w.Result(); res.StatusCode != status {
			t.Fatalf("answer %d to %s %s: %d, want %d; %s", i+1, r.Method, r.RequestURI, res.StatusCode, status, w.Body)
		}
	}
	return res
}

// field checks one field of an answer; "" means that it is not there.
func field(t *testing.T, res *http.Response, name, want string) {
	t.Helper()
	if got := strings.Join(res.Header.Values(name), " | "); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// get makes a request from 192.0.2.1. Headers are written "Name: value".
func get(target string, headers ...string) *http.Request {
	return from("192.0.2.1:1234", http.MethodGet, target, headers...)
}

// from makes a request of a peer.
func from(peer, method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, http.NoBody)
	r.RemoteAddr = peer
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
	}
	return r
}

// copies makes n of a status, for expect.
func copies(n, status int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = status
	}
	return s
}

// A watcher remembers what the observer was told last.
type watcher struct {
	mu    sync.Mutex
	calls int
	last  weir.Outcome
}

func (w *watcher) Observe(_ context.Context, o *weir.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.last.Allowed, w.last.Cause, w.last.Err, w.last.Never = o.Allowed, o.Cause, o.Err, o.Never
	w.last.Rule = o.Rule
	w.last.Takes = append(w.last.Takes[:0], o.Takes...)
	w.last.Decisions = append(w.last.Decisions[:0], o.Decisions...)
}

// is checks the outcome that was seen last.
func (w *watcher) is(t *testing.T, allowed bool, cause weir.Cause) {
	t.Helper()
	if w.last.Allowed != allowed || w.last.Cause != cause {
		t.Errorf("observed allowed %t, cause %d (error %v); want %t, %d", w.last.Allowed, w.last.Cause, w.last.Err, allowed, cause)
	}
}

// names checks which rule the outcome that was seen last was decided by, where no
// limit did.
func (w *watcher) names(t *testing.T, rule string) {
	t.Helper()
	if w.last.Rule != rule {
		t.Errorf("observed rule %q, want %q", w.last.Rule, rule)
	}
}

// A broken store fails as it is told to, and as one does across a network when
// its context is cancelled.
type broken struct {
	weir.Store
	take func(takes []weir.Take) error // nil: passes on
	back func() error
}

func (b *broken) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	if b.take != nil {
		if err := b.take(takes); err != nil {
			return false, weir.Stamp{}, err
		}
	}
	return b.Store.Take(ctx, takes, out)
}

func (b *broken) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	if err := ctx.Err(); err != nil {
		return weir.Stamp{}, fmt.Errorf("%w: %w", weir.ErrNotApplied, err)
	}
	if b.back != nil {
		if err := b.back(); err != nil {
			return weir.Stamp{}, err
		}
	}
	return b.Store.Return(ctx, returns)
}

// memory is an empty store.
func memory(t testing.TB) *memstore.Store {
	t.Helper()
	s, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newLog makes the log of a server.
func newLog(w io.Writer) *log.Logger { return log.New(w, "", 0) }

// contains reports whether s holds all of parts.
func contains(s string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}
