package httplimit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// A crowd is a handler that holds its requests until they are let go, and counts how
// many it holds.
type crowd struct {
	gate         chan struct{} // a request for each that is sent; closed: all
	inside, most atomic.Int64
}

func newCrowd() *crowd { return &crowd{gate: make(chan struct{})} }

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := c.inside.Add(1)
	defer c.inside.Add(-1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
		continue
	}
	select {
	case <-c.gate:
	case <-r.Context().Done():
	}
	_, _ = io.WriteString(w, "served")
}

// enter serves a request on a goroutine of its own, until it waits or is answered.
func enter(ctx context.Context, h http.Handler) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		defer func() {
			_ = recover() // as net/http does
			done <- w
		}()
		h.ServeHTTP(w, get("/").WithContext(ctx))
	}()
	synctest.Wait()
	return done
}

// Of a hundred requests at once five are served, and the others refused; then the next
// five.
func TestAHundredRequestsInFlight(t *testing.T) {
	bubbled(t, queued("5 concurrent"), func(t *testing.T, g *rig) {
		c := newCrowd()
		h := g.Handler(c)
		for range 3 {
			var inside []<-chan *httptest.ResponseRecorder
			refused := 0
			for range 100 {
				from := enter(t.Context(), h)
				select {
				case w := <-from:
					if refused++; w.Code != http.StatusTooManyRequests {
						t.Errorf("answered %d", w.Code)
					}
				default:
					inside = append(inside, from)
				}
			}
			if refused != 95 || len(inside) != 5 || c.most.Load() != 5 {
				t.Fatalf("%d refused, %d inside, %d at most", refused, len(inside), c.most.Load())
			}
			for _, from := range inside {
				c.gate <- struct{}{}
				_ = from
			}
			for _, from := range inside {
				if w := <-from; w.Code != http.StatusOK {
					t.Errorf("answered %d", w.Code)
				}
			}
		}
	})
}

// What a refusal says of slots: how many there are, and no window.
func TestFieldsOfSlots(t *testing.T) {
	bubbled(t, queued("2 concurrent lease 30s"), func(t *testing.T, g *rig) {
		c := newCrowd()
		h := g.Handler(c)
		first := enter(t.Context(), h)
		second := enter(t.Context(), h)
		res := (<-enter(t.Context(), h)).Result()
		field(t, res, "RateLimit-Policy", `"api";q=2;qu="concurrent-requests"`)
		field(t, res, "RateLimit", `"api";r=0`)
		field(t, res, "Retry-After", "30")
		close(c.gate)
		field(t, (<-first).Result(), "RateLimit", `"api";r=1`)
		field(t, (<-second).Result(), "RateLimit", `"api";r=0`)
	})
}

// A request holds its slot for longer than a lease, and gives it back in whatever way
// it ends.
func TestSlotsLastAsLongAsTheRequest(t *testing.T) {
	bubbled(t, queued("1 concurrent lease 5s"), func(t *testing.T, g *rig) {
		c := newCrowd()
		h := g.Handler(c)
		free := func(end func()) {
			t.Helper()
			for range 20 {
				time.Sleep(3 * time.Second)
				if w := <-enter(t.Context(), h); w.Code != http.StatusTooManyRequests {
					t.Fatalf("answered %d", w.Code)
				}
			}
			end()
			synctest.Wait()
			o := new(weir.Outcome)
			if !g.Check(get("/"), o) || g.GiveBack(t.Context(), o) != nil {
				t.Errorf("the slot is held on: %+v", o)
			}
		}
		served := enter(t.Context(), h)
		free(func() { c.gate <- struct{}{}; <-served })
		ctx, leave := context.WithCancel(t.Context())
		left := enter(ctx, h)
		free(func() { leave(); <-left })
		for _, v := range []any{"at work", http.ErrAbortHandler} {
			crash := make(chan struct{})
			crashed := enter(t.Context(), g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				<-crash
				panic(v)
			})))
			free(func() { close(crash); <-crashed })
		}
	})
}

// S36: slots that leak where a handler panics, until everything is refused.
func TestS36SlotsAreReleasedByPanics(t *testing.T) {
	for _, back := range []func() error{nil, func() error { return errors.New("down") }, func() error { panic("down") }} {
		g := rigged(t, httplimit.Config{
			Rules: []httplimit.Rule{{Name: "api", Limits: []string{"3 concurrent", "100000/s"}}},
			Store: &broken{Store: memory(t), back: back},
		})
		for i := range 3 {
			panicking(t, g, []any{"handler", http.ErrAbortHandler, errDown}[i%3], i%2 == 0)
		}
		want := ok
		if back != nil { // the store keeps them until their leases end
			want = limited
		}
		g.expect(get("/"), want)
	}
	g := ruled(t, httplimit.Rule{Name: "api", Limits: []string{"1 concurrent", "100000/s"}})
	for i := range 10_000 {
		panicking(t, g, []any{"handler", http.ErrAbortHandler, errDown}[i%3], false)
	}
	g.expect(get("/"), copies(100, ok)...)
}

// Who waits for his turn has a slot, and whoever leaves meanwhile gives it back, with
// his place.
func TestWhoWaitsHasASlot(t *testing.T) {
	c := queued("2 concurrent lease 5s")
	c.Rules = append(c.Rules, httplimit.Rule{Name: "queue", Limits: []string{"1/min leaky-bucket queue 9"}})
	bubbled(t, c, func(t *testing.T, g *rig) {
		crowd := newCrowd()
		h := g.Handler(crowd)
		enter(t.Context(), h)
		ctx, leave := context.WithCancel(t.Context())
		second := enter(ctx, h)
		if w := <-enter(t.Context(), h); w.Code != http.StatusTooManyRequests {
			t.Errorf("a third was answered %d", w.Code)
		}
		time.Sleep(40 * time.Second)
		leave()
		<-second
		third := enter(t.Context(), h)
		time.Sleep(20*time.Second - time.Nanosecond)
		synctest.Wait()
		if crowd.inside.Load() != 1 {
			t.Error("the third is served before its turn")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if crowd.inside.Load() != 2 {
			t.Error("the third is not served when its turn has come")
		}
		close(crowd.gate)
		<-third
	})
}

// Shadows take slots and give them back, and refuse nobody.
func TestSlotsInShadow(t *testing.T) {
	c := queued("2 concurrent")
	c.Rules[0].Shadow = true
	for _, enforce := range []httplimit.Enforce{httplimit.On, httplimit.Shadow} {
		c.Rules[0].Shadow = enforce == httplimit.On
		bubbled(t, c, func(t *testing.T, g *rig) {
			g.SetEnforce(enforce)
			crowd := newCrowd()
			h := g.Handler(crowd)
			var inside []<-chan *httptest.ResponseRecorder
			for i := range int64(5) {
				inside = append(inside, enter(t.Context(), h))
				if d := g.seen.last.Decisions[0]; d.Allowed != (i < 2) || d.Remaining != max(0, 1-i) {
					t.Errorf("%s, number %d: %+v", enforce, i, d)
				}
			}
			close(crowd.gate)
			for _, from := range inside {
				if w := <-from; w.Code != http.StatusOK {
					t.Errorf("answered %d", w.Code)
				}
			}
			crowd.gate = make(chan struct{})
			enter(t.Context(), h)
			if d := g.seen.last.Decisions[0]; !d.Allowed || d.Remaining != 1 {
				t.Errorf("%s: slots are held on: %+v", enforce, d)
			}
			close(crowd.gate)
		})
	}
}

// A cost does not multiply slots; a refusal by another limit takes none; and what a
// plan allows at once is its own affair.
func TestSlotsBesideRates(t *testing.T) {
	rule := httplimit.Rule{
		Name: "api", Plan: func(r *http.Request) string { return r.Header.Get("Plan") }, DefaultPlan: "free",
		Plans: map[string][]string{"free": {"1 concurrent", "20/h"}, "paid": {"3 concurrent", "20/h"}},
		Cost:  func(*http.Request) (int64, error) { return 5, nil },
	}
	g := ruled(t, rule)
	var held []*weir.Slots
	check := func(plan string, allowed bool) *weir.Outcome {
		t.Helper()
		o := new(weir.Outcome)
		if g.Check(get("/", "Plan: "+plan), o) != allowed {
			t.Fatalf("plan %s: %+v", plan, o)
		}
		held = append(held, g.Keep(o))
		return o
	}
	check("free", true)
	check("free", false)
	check("paid", true)
	check("free", false)
	o := check("paid", true)
	if o.Decisions[0].Remaining != 0 || o.Decisions[1].Remaining != 5 {
		t.Errorf("%+v", o.Decisions)
	}
	for _, slots := range held {
		if err := slots.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
	check("free", true)
	o = check("paid", false)
	if o.Limit().Name() != "api/1h" || o.Decisions[0].Remaining != 2 {
		t.Errorf("refused by %s: %+v", o.Limit().Name(), o.Decisions)
	}
}

// A decider's slots are kept by it.
func TestDecidersSlots(t *testing.T) {
	bubbled(t, queued("5/s"), func(t *testing.T, _ *rig) {
		store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return weir.Micros(time.Now().UnixMicro()) }})
		if err != nil {
			t.Fatal(err)
		}
		d := &holder{store: store, limit: weir.MustLimit("slots", "1 concurrent lease 3s")}
		g := rigged(t, httplimit.Config{Decider: d})
		c := newCrowd()
		h := g.Handler(c)
		first := enter(t.Context(), h)
		time.Sleep(time.Minute)
		if w := <-enter(t.Context(), h); w.Code != http.StatusTooManyRequests {
			t.Errorf("answered %d", w.Code)
		}
		c.gate <- struct{}{}
		<-first
		second := enter(t.Context(), h)
		c.gate <- struct{}{}
		if w := <-second; w.Code != http.StatusOK {
			t.Errorf("answered %d", w.Code)
		}
	})
}

// A holder is a decider of one limit.
type holder struct {
	store weir.Store
	limit *weir.Limit
}

func (d *holder) Decide(ctx context.Context, _ *weir.Request, o *weir.Outcome) {
	o.Reset()
	o.Takes = append(o.Takes, weir.Take{Limit: d.limit, Cost: 1})
	if err := weir.Decide(ctx, d.store, o); err != nil {
		o.Fail(weir.Closed, err)
	}
}

func (d *holder) GiveBack(ctx context.Context, o *weir.Outcome) error {
	return weir.GiveBack(ctx, d.store, o)
}

func (d *holder) Keep(o *weir.Outcome) *weir.Slots { return weir.Keep(d.store, o) }

// Over a network, with as many clients as come: never more at work than may, and none
// held when all have gone.
func TestManyClientsInFlight(t *testing.T) {
	const most = 5
	g := ruled(t, httplimit.Rule{Name: "api", Limits: []string{"5 concurrent"}})
	c := newCrowd()
	close(c.gate)
	srv := httptest.NewServer(g.Handler(c))
	defer srv.Close()
	client := srv.Client()
	var wg sync.WaitGroup
	var served atomic.Int64
	for range 20 {
		wg.Go(func() {
			for range 20 {
				res, err := client.Get(srv.URL)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				if res.StatusCode == http.StatusOK {
					served.Add(1)
				}
			}
		})
	}
	wg.Wait()
	srv.Close() // every handler has returned
	if c.most.Load() > most || served.Load() < most {
		t.Errorf("%d at once, %d served", c.most.Load(), served.Load())
	}
	r := get("/")
	r.RemoteAddr = "127.0.0.1:1"
	var held []*weir.Slots
	for range most {
		o := new(weir.Outcome)
		if !g.Check(r, o) {
			t.Fatalf("a slot is held on: %+v", o)
		}
		held = append(held, g.Keep(o))
	}
	for _, slots := range held {
		_ = slots.Release(t.Context())
	}
}
