package httplimit_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// pipes is a network in memory, so that a bubble's clock turns while a client and
// a server of net/http wait for each other.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.ended:
	case <-ctx.Done():
	}
	return nil, net.ErrClosed
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.ended) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }

// serving serves h in memory, until the test ends, and gives a client's base.
func serving(t *testing.T, h http.Handler) *http.Transport {
	t.Helper()
	network := newPipes()
	server := &http.Server{Handler: h}
	served := make(chan error, 1)
	go func() { served <- server.Serve(network) }()
	base := &http.Transport{DialContext: network.dial}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return base
}

// obeying is a client with a Transport of a server with a Middleware of some limits, and how
// many requests that has refused. The body of an answer comes at once.
func obeying(t *testing.T, limits ...string) (client *http.Client, refused *atomic.Int64) {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httplimit.New(httplimit.Config{
		Store: store,
		Rules: []httplimit.Rule{{Name: "api", Limits: limits, Key: []httplimit.Key{httplimit.Everyone()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	refused = new(atomic.Int64)
	base := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		m.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {})).ServeHTTP(answer, r)
		maps.Copy(w.Header(), answer.Header())
		if answer.Code == limited {
			refused.Add(1)
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, MaxWait: time.Hour, Retries: 3})
	if err != nil {
		t.Fatal(err)
	}
	client = &http.Client{Transport: tr}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = store.Close()
	})
	return client, refused
}

// A server whose slots are all taken by the request that is answered wants no pause: the
// next one finds a slot.
func TestTransportDoesNotWaitForSlots(t *testing.T) {
	for _, limits := range [][]string{{"1 concurrent"}, {"50/s", "1 concurrent"}, {"1 concurrent", "10/s burst 3"}} {
		synctest.Test(t, func(t *testing.T) {
			client, refused := obeying(t, limits...)
			begun := time.Now()
			for range 3 {
				askFor(t, client, ok, "http://api.example/")
			}
			if took := time.Since(begun); took > 0 || refused.Load() > 0 {
				t.Errorf("%v: three requests took %v, %d were refused", limits, took, refused.Load())
			}
		})
	}
}

// A client behind a Transport and a server behind a Middleware: who obeys what the
// server says is not refused, but for what was under way when he learnt of it.
func TestTransportAndMiddlewareAgree(t *testing.T) {
	for _, c := range []struct {
		limits []string
		before int // requests one by one, and then a pause
		most   time.Duration
	}{
		{[]string{"5/s"}, 1, 12 * s},
		{[]string{"10/min burst 3"}, 1, 6 * time.Minute},
		{[]string{"7 per 10s fixed-window"}, 1, 90 * s},
		{[]string{"10/s", "100/h"}, 95, 34 * time.Minute}, // of the second 5 are left when all of the first is there again
	} {
		t.Run(strings.Join(c.limits, ", "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, refused := obeying(t, c.limits...)
				for range c.before {
					askFor(t, client, ok, "http://api.example/")
				}
				if c.before > 1 {
					time.Sleep(3 * s)
				}
				begun := time.Now()
				if got := many(t, client, 60, "http://api.example/"); got[ok] != 60 {
					t.Errorf("%v", got)
				}
				if n := refused.Load(); n > 0 {
					t.Errorf("%d were refused", n)
				}
				if took := time.Since(begun); took > c.most {
					t.Errorf("60 requests took %v, want no more than %v", took, c.most)
				}
			})
		})
	}
}

// On a real connection: a refusal leaves it to the next request, and ends it where
// its body is long.
func TestTransportUsesConnectionsAgain(t *testing.T) {
	f := func(body string, want int64) {
		t.Helper()
		var conns, asked atomic.Int64
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) <= 3 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(limited)
				_, _ = io.WriteString(w, body)
			}
		}))
		server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		server.Start()
		defer server.Close()
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: &http.Transport{}, MaxPause: time.Millisecond, Retries: 3})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: tr}
		defer c.CloseIdleConnections()
		askFor(t, c, ok, server.URL)
		if asked.Load() != 4 || conns.Load() != want {
			t.Errorf("%d requests on %d connections, want 4 on %d", asked.Load(), conns.Load(), want)
		}
	}
	f("try again later", 1)
	f(strings.Repeat("x", 4<<10), 1)
	f(strings.Repeat("x", 1<<20), 4)
}

// All at once, under a limit and against a far side that refuses: nothing is lost
// and, with -race, nothing is torn.
func TestTransportInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "")
		base := tripper(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Duration(len(r.URL.Host)) * ms)
			return u.RoundTrip(r)
		})
		for i := range 50 {
			u.answers = append(u.answers, []string{"", "", "429 + Retry-After: 1", "200 + X-RateLimit-Remaining: 5 + X-RateLimit-Reset: 2"}[i%4])
		}
		u.answers = append(u.answers, "")
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, Limiter: limiting(t, "20/s burst 5"), MaxWait: time.Hour, Retries: 10})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: tr}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				for j := range 10 {
					ctx := t.Context()
					if (i+j)%7 == 0 {
						short, cancel := context.WithTimeout(ctx, time.Duration(j)*30*ms)
						defer cancel()
						ctx = short
					}
					r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+strings.Repeat("a", 1+i%4)+".example/", nil)
					res, err := c.Do(r)
					if err != nil {
						if ctx == t.Context() || !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("%v", err)
						}
						continue
					}
					res.Body.Close()
					if res.StatusCode != ok {
						t.Errorf("%d", res.StatusCode)
					}
				}
			})
		}
		all.Wait()
		if u.open != 0 {
			t.Errorf("%d answers were left open", u.open)
		}
	})
}

// A slow store: an answer that comes while it is asked closes the lane, and the
// charge goes back; so it does where the context ends meanwhile.
func TestTransportGivesBackWhatItDoesNotUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &broken{Store: memory(t), take: func([]weir.Take) error {
			time.Sleep(10 * s)
			return nil
		}}
		l, err := weir.New(store, weir.MustLimit("upstream", "100/day fixed-window"))
		if err != nil {
			t.Fatal(err)
		}
		u := newUpstream(t, "429 + Retry-After: 60", "")
		u.takes = 15 * s
		c := u.client(httplimit.TransportConfig{Limiter: l, MaxWait: time.Hour})
		var all sync.WaitGroup
		for _, want := range []int{limited, ok, ok} {
			all.Go(func() { ask(t, c, want) })
			synctest.Wait()
		}
		all.Wait()
		// The third has asked from 20s to 30s, and at 25s the first was refused.
		u.arrived(10*s, 20*s, 95*s)

		ctx, cancel := context.WithTimeout(t.Context(), 5*s)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
		if _, err := c.Do(r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if len(u.times()) != 3 {
			t.Error("it was sent behind its deadline")
		}
		var o weir.Outcome
		if err := l.Peek(t.Context(), &o, 0, weir.Text("host", "api.example")); err != nil || o.Decision().Remaining != 97 {
			t.Errorf("%d of 100 left, want 97; %v", o.Decision().Remaining, err)
		}
	})
}

// A store that keeps what is given back: the request says so instead of trying on.
func TestTransportCannotGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		store := &broken{Store: memory(t), back: func() error { return errDown }, take: func([]weir.Take) error {
			if asked++; asked == 3 {
				time.Sleep(10 * s)
			}
			return nil
		}}
		l, err := weir.New(store, weir.MustLimit("upstream", "100/day"))
		if err != nil {
			t.Fatal(err)
		}
		u := newUpstream(t, "429 + Retry-After: 60", "")
		u.takes = 5 * s
		c := u.client(httplimit.TransportConfig{Limiter: l, MaxWait: time.Hour})
		var all sync.WaitGroup
		for _, want := range []int{limited, ok, 0} {
			all.Go(func() {
				if e := ask(t, c, want); e != nil && !errors.Is(e, errDown) {
					t.Error(e)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		u.arrived(0, 0)
	})
}

// A limit that lets a request in and holds it, as a leaky bucket does.
func TestTransportHoldsWhatIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := weir.New(delaying{memory(t), 3 * s}, weir.MustLimit("upstream", "100/day fixed-window"))
		if err != nil {
			t.Fatal(err)
		}
		u := newUpstream(t)
		ask(t, u.client(httplimit.TransportConfig{Limiter: l}), ok)
		e := ask(t, u.client(httplimit.TransportConfig{Limiter: l, FailFast: true}), 0)
		if e == nil || !e.RetryAt.Equal(time.Now().Add(3*s)) {
			t.Errorf("%v", e)
		}
		u.arrived(3 * s)
		var o weir.Outcome
		if err := l.Peek(t.Context(), &o, 0, weir.Text("host", "api.example")); err != nil || o.Decision().Remaining != 99 {
			t.Errorf("%d of 100 left, want 99; %v", o.Decision().Remaining, err)
		}
	})
}

// delaying is a store whose takes are all let in later.
type delaying struct {
	weir.Store
	d time.Duration
}

func (s delaying) Take(ctx context.Context, takes []weir.Take, out []weir.Decision) (bool, weir.Stamp, error) {
	allowed, stamp, err := s.Store.Take(ctx, takes, out)
	for i := range out {
		out[i].Delay = weir.Micros(s.d / time.Microsecond)
	}
	return allowed, stamp, err
}
