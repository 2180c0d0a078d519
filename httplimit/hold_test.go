package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// bubbled runs a test in a bubble of time, with a middleware on a store whose clock
// is that of the bubble.
func bubbled(t *testing.T, c httplimit.Config, test func(t *testing.T, g *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return weir.Micros(time.Now().UnixMicro()) }})
		if err != nil {
			t.Fatal(err)
		}
		if c.Decider == nil {
			c.Store = store
		}
		test(t, rigged(t, c))
	})
}

func queued(limit string) httplimit.Config {
	return httplimit.Config{Rules: []httplimit.Rule{{Name: "api", Limits: []string{limit}}}}
}

// An arrival is an answer, and when it came.
type arrival struct {
	status int
	after  time.Duration
	fields http.Header
}

// send serves a request on a goroutine of its own, and waits until it waits.
func (g *rig) send(ctx context.Context) <-chan arrival {
	sent, got := time.Now(), make(chan arrival, 1)
	go func() {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, get("/").WithContext(ctx))
		got <- arrival{w.Code, time.Since(sent), w.Header()}
	}()
	synctest.Wait()
	return got
}

func (g *rig) arrives(from <-chan arrival, status int, after time.Duration) http.Header {
	g.t.Helper()
	a := <-from
	if a.status != status || a.after != after {
		g.t.Errorf("answered %d after %s, want %d after %s", a.status, a.after, status, after)
	}
	return a.fields
}

func TestRequestsWaitForTheirTurn(t *testing.T) {
	bubbled(t, queued("10/s leaky-bucket wait 300ms"), func(t *testing.T, g *rig) {
		var sent []<-chan arrival
		for range 5 {
			sent = append(sent, g.send(t.Context()))
		}
		if g.Waiting() != 3 || g.served.Load() != 1 {
			t.Errorf("%d wait, %d are served", g.Waiting(), g.served.Load())
		}
		for place, from := range sent[:4] {
			g.arrives(from, http.StatusOK, time.Duration(place)*100*time.Millisecond)
		}
		h := g.arrives(sent[4], http.StatusTooManyRequests, 0)
		if h.Get("Retry-After") != "1" || h.Get("X-Ratelimit-Limit") != "4" || h.Get("X-Ratelimit-Remaining") != "0" {
			t.Errorf("fields %v", h)
		}
		if g.seen.calls != 5 || g.Waiting() != 0 {
			t.Errorf("the observer was told %d times; %d wait", g.seen.calls, g.Waiting())
		}
	})
}

// Who leaves while he waits gets nothing, and the next one has his place.
func TestWhoLeavesIsNotServed(t *testing.T) {
	bubbled(t, queued("10/s leaky-bucket queue 2"), func(t *testing.T, g *rig) {
		g.arrives(g.send(t.Context()), http.StatusOK, 0)
		second := g.send(t.Context())
		ctx, leave := context.WithCancel(t.Context())
		third := g.send(ctx)
		g.arrives(g.send(t.Context()), http.StatusTooManyRequests, 0)
		leave()
		g.arrives(third, http.StatusTooManyRequests, 0) // which nobody hears
		g.arrives(g.send(t.Context()), http.StatusOK, 200*time.Millisecond)
		g.arrives(second, http.StatusOK, 100*time.Millisecond)
		if g.served.Load() != 3 {
			t.Errorf("%d were served, want 3", g.served.Load())
		}
	})
}

// As many wait as may; one more is refused, and keeps no place.
func TestAsManyWaitAsMay(t *testing.T) {
	c := queued("10/s leaky-bucket wait 1s")
	c.MaxWaiting = 2
	bubbled(t, c, func(t *testing.T, g *rig) {
		g.arrives(g.send(t.Context()), http.StatusOK, 0)
		second, third := g.send(t.Context()), g.send(t.Context())
		for range 3 {
			h := g.arrives(g.send(t.Context()), http.StatusTooManyRequests, 0)
			if h.Get("Ratelimit") != `"api";r=0;t=1` || h.Get("Retry-After") != "1" {
				t.Errorf("fields %v", h)
			}
		}
		g.arrives(second, http.StatusOK, 100*time.Millisecond)
		fourth := g.send(t.Context())
		g.arrives(third, http.StatusOK, 200*time.Millisecond)
		g.arrives(fourth, http.StatusOK, 200*time.Millisecond)
	})
}

// At the end of a server those who wait are sent away, and the others are served.
func TestDrainSendsAwayWhoWaits(t *testing.T) {
	bubbled(t, queued("1/min leaky-bucket wait 1h"), func(t *testing.T, g *rig) {
		g.arrives(g.send(t.Context()), http.StatusOK, 0)
		second, third := g.send(t.Context()), g.send(t.Context())
		g.Drain()
		if h := g.arrives(second, http.StatusTooManyRequests, 0); h.Get("Retry-After") != "60" {
			t.Errorf("fields %v", h)
		}
		g.arrives(third, http.StatusTooManyRequests, 0)
		g.arrives(g.send(t.Context()), http.StatusTooManyRequests, 0)
		time.Sleep(time.Hour)
		g.arrives(g.send(t.Context()), http.StatusOK, 0)
		if g.served.Load() != 2 {
			t.Errorf("%d were served, want 2", g.served.Load())
		}
	})
}

// Limits that only advise keep nobody waiting, nor does a middleware in shadow.
func TestShadowsKeepNobodyWaiting(t *testing.T) {
	c := queued("1/min leaky-bucket wait 1h")
	c.Rules[0].Shadow = true
	bubbled(t, c, func(t *testing.T, g *rig) {
		for range 5 {
			g.arrives(g.send(t.Context()), http.StatusOK, 0)
		}
	})
	bubbled(t, queued("1/min leaky-bucket wait 1h"), func(t *testing.T, g *rig) {
		g.SetEnforce(httplimit.Shadow)
		for range 5 {
			g.arrives(g.send(t.Context()), http.StatusOK, 0)
		}
	})
}

// A request under several limits waits for the one that keeps it longest; one that
// is refused by another waits for none.
func TestTheLongestWaitCounts(t *testing.T) {
	c := queued("10/s leaky-bucket wait 1s")
	c.Rules = append(c.Rules,
		httplimit.Rule{Name: "slow", Limits: []string{"1/s leaky-bucket wait 9s"}},
		httplimit.Rule{Name: "few", Limits: []string{"3/min fixed-window"}})
	bubbled(t, c, func(t *testing.T, g *rig) {
		first, second, third := g.send(t.Context()), g.send(t.Context()), g.send(t.Context())
		g.arrives(g.send(t.Context()), http.StatusTooManyRequests, 0)
		for place, from := range []<-chan arrival{first, second, third} {
			g.arrives(from, http.StatusOK, time.Duration(place)*time.Second)
		}
	})
}

// Who asks by Check waits by Hold.
func TestHold(t *testing.T) {
	bubbled(t, queued("10/s leaky-bucket wait 1s"), func(t *testing.T, g *rig) {
		o := new(weir.Outcome)
		for range 2 {
			if !g.Check(get("/"), o) {
				t.Fatalf("got %+v", o)
			}
		}
		began := time.Now()
		if err := g.Hold(t.Context(), o); err != nil || time.Since(began) != 100*time.Millisecond || !o.Allowed {
			t.Errorf("%v after %s, allowed %t", err, time.Since(began), o.Allowed)
		}
		g.Check(get("/"), o)
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		leave(gone)
		if err := g.Hold(ctx, o); !errors.Is(err, gone) || o.Allowed || o.RetryAfter != 100_000 || o.Cause != weir.ByLimits {
			t.Errorf("%v: got %+v", err, o)
		}
		if err := g.Hold(ctx, o); err != nil {
			t.Errorf("a refusal waits for nothing: %v", err)
		}
	})
}

// A decider's delay is kept like any other.
func TestDecidersDelay(t *testing.T) {
	l := weir.MustLimit("queue", "1/s leaky-bucket queue 3")
	d := &holding{limit: l}
	bubbled(t, httplimit.Config{Decider: d}, func(t *testing.T, g *rig) {
		g.arrives(g.send(t.Context()), http.StatusOK, 250*time.Millisecond)
		g.Drain()
		g.arrives(g.send(t.Context()), http.StatusTooManyRequests, 0)
		if d.back != 1 {
			t.Errorf("%d charges came back, want 1", d.back)
		}
	})
}

// A holding decider lets everything in after a quarter of a second.
type holding struct {
	limit *weir.Limit
	back  int
}

func (d *holding) Decide(_ context.Context, _ *weir.Request, o *weir.Outcome) {
	o.Allowed, o.Binding, o.Delay = true, 0, 250_000
	o.Takes = append(o.Takes, weir.Take{Limit: d.limit, Cost: 1})
	o.Decisions = append(o.Decisions, weir.Decision{Allowed: true, Granted: 1, Delay: 250_000})
}

func (d *holding) Keep(*weir.Outcome) *weir.Slots { return nil }

func (d *holding) GiveBack(ctx context.Context, _ *weir.Outcome) error {
	d.back++
	return ctx.Err()
}

func TestMaxWaitingIsChecked(t *testing.T) {
	for _, most := range []int{-1, 1_000_001} {
		c := queued("10/s")
		c.Store, c.MaxWaiting = memory(t), most
		if _, err := httplimit.New(c); !errors.Is(err, weir.ErrInvalid) || !contains(err.Error(), "MaxWaiting", "1 to 1000000 requests can wait at once") {
			t.Errorf("%d: got error %v", most, err)
		}
	}
}
