package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/memstore"
)

// A gatekeeper decides by one limit in a store in memory, on the real clock.
type gatekeeper struct {
	weir.Store
	t        *testing.T
	limit    atomic.Pointer[weir.Limit]
	renewals atomic.Int64
	releases atomic.Int64
}

func newGatekeeper(t *testing.T, limit string) *gatekeeper {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	g := &gatekeeper{Store: store, t: t}
	g.set(limit)
	return g
}

// set changes the limit, as a reload does.
func (g *gatekeeper) set(limit string) { g.limit.Store(weir.MustLimit("api", limit)) }

func (g *gatekeeper) Return(ctx context.Context, returns []weir.Return) (weir.Stamp, error) {
	for _, r := range returns {
		if r.Renew {
			g.renewals.Add(1)
		} else {
			g.releases.Add(1)
		}
	}
	return g.Store.Return(ctx, returns)
}

func (g *gatekeeper) Decide(ctx context.Context, _ *weir.Request, o *weir.Outcome) {
	o.Reset()
	o.Takes = append(o.Takes, weir.Take{Limit: g.limit.Load(), Cost: 1})
	if err := weir.Decide(ctx, g, o); err != nil {
		o.Fail(weir.Closed, err)
	}
}

func (g *gatekeeper) GiveBack(ctx context.Context, o *weir.Outcome) error {
	return weir.GiveBack(ctx, g, o)
}

func (g *gatekeeper) Keep(o *weir.Outcome) *weir.Slots { return weir.Keep(g, o) }

// holds is how many slots are held.
func (g *gatekeeper) holds() int64 {
	l, o := g.limit.Load(), new(weir.Outcome)
	o.Takes = append(o.Takes, weir.Take{Limit: l, How: weir.Peek})
	if err := weir.Decide(context.Background(), g.Store, o); err != nil {
		g.t.Error(err)
	}
	return l.Capacity() - o.Decision().Remaining
}

// waits waits until so many slots are held.
func (g *gatekeeper) waits(want int64) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("%d slots are held", want), func() bool { return g.holds() == want })
}

// A hall is an upstream that keeps its requests until they are let go.
type hall struct {
	inside, most atomic.Int64
	gate         chan struct{}
}

func newHall() *hall { return &hall{gate: make(chan struct{})} }

func (h *hall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := h.inside.Add(1)
	defer h.inside.Add(-1)
	for most := h.most.Load(); now > most && !h.most.CompareAndSwap(most, now); most = h.most.Load() {
		continue
	}
	_, _ = io.WriteString(w, "begun\n")
	_ = http.NewResponseController(w).Flush()
	select {
	case <-h.gate:
		_, _ = io.WriteString(w, "served")
	case <-r.Context().Done():
	}
}

// A visit is a request on its way.
type visit struct {
	*http.Response

	leave context.CancelFunc
}

// visit sends a request and reads the header of its answer.
func (r *rig) visit(tr *http.Transport) visit {
	r.t.Helper()
	ctx, leave := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/x", http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		leave()
		r.t.Fatal(err)
	}
	return visit{res, leave}
}

// Of a hundred requests at once five are served, and the others refused.
func TestAHundredRequestsInFlight(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		defer tr.CloseIdleConnections()
		g, h := newGatekeeper(t, "5 concurrent"), newHall()
		p := plan{upstream: h, decider: g}
		p.listen.TLS = tls
		r := newRig(t, p)
		for range 2 {
			var wg sync.WaitGroup
			var served, refused atomic.Int64
			for range 100 {
				wg.Go(func() {
					v := r.visit(tr)
					defer v.leave()
					defer v.Body.Close()
					switch v.StatusCode {
					case http.StatusOK:
						served.Add(1)
						_, _ = io.Copy(io.Discard, v.Body)
					case http.StatusTooManyRequests:
						refused.Add(1)
					default:
						t.Errorf("answered %s", v.Status)
					}
				})
			}
			eventually(t, "95 are refused", func() bool { return refused.Load() == 95 && h.inside.Load() == 5 })
			for range 5 {
				h.gate <- struct{}{}
			}
			wg.Wait()
			if served.Load() != 5 || h.most.Load() != 5 {
				t.Errorf("%d were served, %d at once", served.Load(), h.most.Load())
			}
			g.waits(0)
		}
		if n := g.releases.Load(); n != 10 {
			t.Errorf("%d slots were released, want 10", n)
		}
	})
}

// A slot is held while the answer is on its way, for longer than its lease, and until
// the client has it all, or has left.
func TestASlotLastsAsLongAsItsAnswer(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		defer tr.CloseIdleConnections()
		g, h := newGatekeeper(t, "1 concurrent lease 1s"), newHall()
		p := plan{upstream: h, decider: g}
		p.listen.TLS = tls
		r := newRig(t, p)
		for i := range 2 {
			v := r.visit(tr)
			renewed := g.renewals.Load()
			eventually(t, "it lasts longer than its lease", func() bool { return g.renewals.Load() > renewed+3 })
			if other := r.visit(tr); other.StatusCode != http.StatusTooManyRequests {
				t.Errorf("another was answered %s", other.Status)
			}
			if i == 0 {
				h.gate <- struct{}{}
				if text, err := io.ReadAll(v.Body); err != nil || string(text) != "begun\nserved" {
					t.Errorf("got %q, %v", text, err)
				}
			}
			v.leave()
			g.waits(0)
			v.Body.Close()
		}
		if n := g.releases.Load(); n != 2 {
			t.Errorf("%d slots were released, want 2", n)
		}
	})
}

// A slot is held while the body is still coming.
func TestASlotLastsAsLongAsItsUpload(t *testing.T) {
	g := newGatekeeper(t, "1 concurrent")
	r := newRig(t, plan{decider: g, upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })})
	c := r.dial()
	write(t, c, "POST /x HTTP/1.1\nHost: h\nContent-Length: 8\n\nhalf")
	g.waits(1)
	if res, _ := r.send("GET /x HTTP/1.1\nHost: h\n\n"); res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("another was answered %s", res.Status)
	}
	write(t, c, "done")
	if res, _ := answerOf(t, bufio.NewReader(c), http.MethodPost); res.StatusCode != http.StatusOK {
		t.Errorf("answered %s", res.Status)
	}
	g.waits(0)

	c = r.dial()
	write(t, c, "POST /x HTTP/1.1\nHost: h\nContent-Length: 8\n\nhalf")
	g.waits(1)
	_ = c.Close()
	g.waits(0)
}

// A slot of an upgraded connection is held until that is closed, by either side.
func TestASlotLastsAsLongAsItsUpgrade(t *testing.T) {
	g := newGatekeeper(t, "1 concurrent")
	far := make(chan net.Conn, 1)
	r := newRig(t, plan{decider: g, upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		far <- c
		_, _ = io.Copy(io.Discard, c) // until the client has closed it
		_ = c.Close()
	})})
	for i := range 4 {
		near := r.dial()
		write(t, near, "GET /chat HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\n\n")
		res, err := http.ReadResponse(bufio.NewReader(near), &http.Request{Method: http.MethodGet})
		if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", res, err)
		}
		upstream := receive(t, far)
		if res, _ := r.send("GET /x HTTP/1.1\nHost: h\n\n"); res.StatusCode != http.StatusTooManyRequests || g.holds() != 1 {
			t.Errorf("another was answered %s beside %d", res.Status, g.holds())
		}
		if i%2 == 0 {
			_ = upstream.Close()
			if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the client reads %v", err)
			}
		}
		_ = near.Close()
		g.waits(0)
	}
}

// An upstream that cannot be reached, breaks off before its answer, or in the midst of
// it, keeps no slot.
func TestASlotOutlivesNoUpstream(t *testing.T) {
	var broken atomic.Int64
	kill := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Add(1)%2 == 0 {
			_, _ = io.WriteString(w, strings.Repeat("begun", 1000))
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	})
	for name, p := range map[string]plan{"killed": {upstream: kill}, "gone": {target: "http://127.0.0.1:1"}, "demo": {options: proxy.Options{Demo: true}}} {
		t.Run(name, func(t *testing.T) {
			g := newGatekeeper(t, "1 concurrent")
			p.decider = g
			r := newRig(t, p)
			for range 40 {
				g.waits(0)
				c := r.dial()
				write(t, c, "GET /x HTTP/1.1\nHost: h\nConnection: close\n\n")
				if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode == http.StatusTooManyRequests {
					t.Fatalf("%v, %v", res, err)
				}
				_ = c.Close()
			}
			g.waits(0)
			if n := g.releases.Load(); n != 40 {
				t.Errorf("%d slots were released, want 40", n)
			}
		})
	}
}

// Requests that a reload finds in flight hold their slots under the new limit.
func TestReloadWhileRequestsAreInFlight(t *testing.T) {
	g, h := newGatekeeper(t, "2 concurrent"), newHall()
	r, tr := newRig(t, plan{upstream: h, decider: g}), &http.Transport{}
	defer tr.CloseIdleConnections()
	first, second := r.visit(tr), r.visit(tr)
	g.set("1 concurrent")
	answered := func(want int) {
		t.Helper()
		v := r.visit(tr)
		defer v.leave()
		defer v.Body.Close()
		if v.StatusCode != want {
			t.Errorf("answered %s, want %d", v.Status, want)
		}
	}
	answered(http.StatusTooManyRequests)
	first.leave()
	eventually(t, "one has left", func() bool { return g.releases.Load() == 1 })
	answered(http.StatusTooManyRequests)
	h.gate <- struct{}{}
	if text, err := io.ReadAll(second.Body); err != nil || !bytes.HasSuffix(text, []byte("served")) {
		t.Errorf("got %q, %v", text, err)
	}
	second.leave()
	g.waits(0)
	answered(http.StatusOK)
	g.waits(0)
}

// A slot that is lost while its request is served is counted, once, and the request
// goes on.
func TestLostSlotsAreCounted(t *testing.T) {
	g, h := newGatekeeper(t, "1 concurrent lease 1s"), newHall()
	r, tr := newRig(t, plan{upstream: h, decider: g}), &http.Transport{}
	defer tr.CloseIdleConnections()
	v := r.visit(tr)
	defer v.leave()
	if n := r.proxy.Stats().SlotsLost; n != 0 {
		t.Errorf("%d are lost before", n)
	}
	if err := g.Reset(t.Context(), g.limit.Load(), weir.Key{}); err != nil {
		t.Fatal(err)
	}
	renewed := g.renewals.Load()
	eventually(t, "it was to be renewed", func() bool { return g.renewals.Load() > renewed })
	h.gate <- struct{}{}
	if text, err := io.ReadAll(v.Body); err != nil || !bytes.HasSuffix(text, []byte("served")) {
		t.Errorf("got %q, %v", text, err)
	}
	eventually(t, "one is counted", func() bool { return r.proxy.Stats().SlotsLost == 1 })
}

// A watched gatekeeper panics when it has decided, or when it is to keep slots.
type watched struct {
	*gatekeeper
	decide, keep bool
}

func (w watched) Decide(ctx context.Context, r *weir.Request, o *weir.Outcome) {
	w.gatekeeper.Decide(ctx, r, o)
	if w.decide {
		panic("watching")
	}
}

func (w watched) Keep(o *weir.Outcome) *weir.Slots {
	if w.keep {
		panic("keeping")
	}
	return w.gatekeeper.Keep(o)
}

// A panic behind the decision keeps neither slots nor units.
func TestAPanicKeepsNothing(t *testing.T) {
	for _, text := range []string{"3 concurrent", "3/day"} {
		for _, keep := range []bool{false, true} {
			g := newGatekeeper(t, text)
			r := newRig(t, plan{decider: watched{g, !keep, keep}})
			for range 5 {
				c := r.dial()
				write(t, c, "GET /x HTTP/1.1\nHost: h\n\n")
				if text, err := io.ReadAll(c); err != nil || len(text) > 0 {
					t.Errorf("answered %q, %v", text, err)
				}
				_ = c.Close()
			}
			g.waits(0)
		}
	}
}
