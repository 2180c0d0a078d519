package decide_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
	"github.com/weirhq/weir/storetest"
)

// start is when the clocks of these tests begin.
const start = weir.Micros(1_796_022_366_123_456)

// engine decides by a function, and explains nothing but the request.
type engine struct {
	decide func(*weir.Request, *weir.Outcome)
	asked  *weir.Request
}

func (e *engine) Decide(_ context.Context, r *weir.Request, o *weir.Outcome) {
	e.asked = r
	e.decide(r, o)
}

func (e *engine) Keep(*weir.Outcome) *weir.Slots { return nil }

func (e *engine) GiveBack(context.Context, *weir.Outcome) error { return nil }

func (e *engine) Explain(_ context.Context, r *weir.Request) *policy.Explanation {
	o := &weir.Outcome{}
	e.asked = r
	e.decide(r, o)
	return &policy.Explanation{Method: r.Method, Path: r.Path, Allowed: o.Allowed, Outcome: o, Rules: []policy.RuleExplanation{}}
}

// A rig is a Handler over a store whose clock is turned by hand.
type rig struct {
	*decide.Handler
	t      testing.TB
	clock  *storetest.Clock
	store  weir.Store
	engine *engine
	limits [2]*weir.Limit
	took   int
	log    strings.Builder
}

// rigged makes a rig; a nil store is one in memory.
func rigged(t testing.TB, store weir.Store) *rig {
	t.Helper()
	g := &rig{t: t, clock: storetest.NewClock(start), store: store}
	if store == nil {
		m, err := memstore.New(memstore.Config{Now: g.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		g.store = m
	}
	g.engine = &engine{decide: g.create}
	g.limits = [...]*weir.Limit{weir.MustLimit("create-job", "5/s burst 5"), weir.MustLimit("trial/1d", "1/day fixed-window")}
	w, err := header.New(header.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g.Handler, err = decide.New(decide.Config{
		Rules:  func() decide.Rules { return decide.Rules{Decider: g.engine, Explain: g.engine.Explain, Header: w} },
		Store:  g.store,
		Logger: slog.New(slog.NewTextHandler(&g.log, nil)),
		Took:   func(*weir.Outcome) { g.took++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// create is a rule of 5/s for each address, and one in shadow of 1/day.
func (g *rig) create(r *weir.Request, o *weir.Outcome) {
	o.Reset()
	create, trial := g.limits[0], g.limits[1]
	key, tag := g.store.Keyer().Key(weir.Addr(r.Addr))
	cost := max(1, r.Cost)
	o.Takes = append(o.Takes,
		weir.Take{Limit: create, Key: key, Tag: tag, Cost: cost},
		weir.Take{Limit: trial, Key: key, Tag: tag, Cost: cost, Join: weir.Advise})
	if err := weir.Decide(context.Background(), g.store, o); err != nil {
		o.Fail(weir.Closed, err)
	}
}

// post sends a body as JSON and gives the answer.
func (g *rig) post(path, body string) *httptest.ResponseRecorder {
	return g.send(http.MethodPost, path, "application/json", strings.NewReader(body))
}

func (g *rig) send(method, path, contentType string, body io.Reader) *httptest.ResponseRecorder {
	g.t.Helper()
	r := httptest.NewRequest(method, path, body)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		g.t.Errorf("%s %s: Cache-Control: %q", method, path, got)
	}
	return w
}

// answers checks status and body of an answer.
func (g *rig) answers(path, body string, status int, want string) {
	g.t.Helper()
	w := g.post(path, body)
	if got := strings.TrimSuffix(w.Body.String(), "\n"); w.Code != status || got != want {
		g.t.Errorf("%s %s\ngot  %d %s\nwant %d %s", path, body, w.Code, got, status, want)
	}
	kind := "application/json"
	if status >= 400 {
		kind = "application/problem+json"
	}
	if got := w.Header().Get("Content-Type"); got != kind {
		g.t.Errorf("%s %s: Content-Type: %s", path, body, got)
	}
}

// refuses checks that a body is refused, and what is said of it.
func (g *rig) refuses(path, body string, status int, parts ...string) {
	g.t.Helper()
	w := g.post(path, body)
	if w.Code != status {
		g.t.Errorf("%s %.200s\ngot %d %s, want %d", path, body, w.Code, w.Body, status)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			g.t.Errorf("%s %.200s\n%s\nlacks %s", path, body, w.Body, part)
		}
	}
}

// failing is a store that fails, or panics.
type failing struct {
	err   error
	panic any
}

func (s failing) Take(context.Context, []weir.Take, []weir.Decision) (bool, weir.Stamp, error) {
	if s.panic != nil {
		panic(s.panic)
	}
	return false, weir.Stamp{}, s.err
}

func (s failing) Return(context.Context, []weir.Return) (weir.Stamp, error) {
	return weir.Stamp{}, s.err
}
func (s failing) Reset(context.Context, *weir.Limit, weir.Key) error { return s.err }
func (s failing) Keyer() weir.Keyer                                  { return weir.Keyer{} }
func (s failing) Close() error                                       { return nil }
