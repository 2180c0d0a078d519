package httplimit_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/httplimit"
)

// CVE-2024-4629, Keycloak; CVE-2023-32320, Nextcloud: attempts that run together
// all read the old count.
func TestS34RequestsOnOneBarrierDoNotPassTogether(t *testing.T) {
	const requests, limit = 200, 5
	g := ruled(t, httplimit.Rule{Name: "login", Limits: []string{"5/day"}})
	barrier := make(chan struct{})
	var wg sync.WaitGroup
	var refused atomic.Int64
	for range requests {
		wg.Go(func() {
			r, w := get("/"), httptest.NewRecorder()
			<-barrier
			g.ServeHTTP(w, r)
			if w.Code == limited {
				refused.Add(1)
			}
		})
	}
	close(barrier)
	wg.Wait()
	if g.served.Load() != limit || refused.Load() != requests-limit {
		t.Errorf("%d served, %d refused", g.served.Load(), refused.Load())
	}
}

// settles waits until no more goroutines run than before.
func settles(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// GHSA-74m6-4hjp-7226, Klever-Go: what was taken leaked on an error path until
// everything was refused.
func TestS36NothingLeaksHoweverARequestEnds(t *testing.T) {
	const times = 1000
	before := runtime.NumGoroutine()
	g := ruled(t, httplimit.Rule{Name: "a", Limits: []string{"5/day"}})
	entered := make(chan struct{})
	end := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/panic":
			panic("handler")
		case "/write-panic":
			_, _ = io.WriteString(w, "half an ans")
			panic("handler")
		case "/leave":
			entered <- struct{}{}
			<-r.Context().Done()
			panic("handler, once the client has left")
		}
	}
	srv := httptest.NewUnstartedServer(g.Handler(http.HandlerFunc(end)))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	for _, path := range []string{"/panic", "/write-panic"} {
		for range times {
			if res, err := srv.Client().Get(srv.URL + path); err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err == nil {
					t.Fatal("the panic did not reach the server")
				}
			}
		}
	}
	for range times {
		leave(t, srv.Listener.Addr().String(), entered)
	}
	srv.CloseClientConnections()
	srv.Close()
	settles(t, before)
	if n := g.store.Stats().Keys; n != 0 {
		t.Errorf("%d keys are still charged", n)
	}
	// And all there is can still be had, once.
	g.expect(get("/"), append(copies(5, ok), limited)...)
}

// leave sends a request and closes the connection as soon as it is served.
func leave(t *testing.T, addr string, entered <-chan struct{}) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /leave HTTP/1.1\r\nHost: a\r\n\r\n")
	select {
	case <-entered:
	case <-time.After(10 * time.Second):
		t.Fatal("the request was not served")
	}
	conn.Close()
}

func TestAbortsAndEarlyReturnsLeakNothing(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "a", Limits: []string{"3000/day"}})
	for range 1000 {
		panicking(t, g, http.ErrAbortHandler, true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		g.expect(get("/").WithContext(ctx), ok)
		g.expect(get("/"), ok)
	}
	g.expect(get("/"), limited) // each was charged once, and none given back
}

// The switch and requests may come together.
func TestSwitchedWhileServing(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "a", Limits: []string{"1/day"}})
	var wg sync.WaitGroup
	for _, e := range []httplimit.Enforce{httplimit.On, httplimit.Shadow, httplimit.Off} {
		wg.Go(func() {
			for range 200 {
				g.SetEnforce(e)
				w := httptest.NewRecorder()
				g.ServeHTTP(w, get("/"))
				if w.Code != ok && w.Code != limited {
					t.Errorf("status %d", w.Code)
				}
			}
		})
	}
	wg.Wait()
}
