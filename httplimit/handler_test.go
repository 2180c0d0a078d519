package httplimit_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
)

func TestAnswersCarryTheContract(t *testing.T) {
	g := rigged(t, httplimit.Config{
		Rules:  []httplimit.Rule{{Name: "create-job", Limits: []string{"5/s burst 5"}}},
		Header: header.Config{Debug: true},
	})
	res := g.expect(post(), ok)
	field(t, res, "RateLimit-Policy", `"create-job";q=5;w=1`)
	field(t, res, "RateLimit", `"create-job";r=4;t=1`)
	field(t, res, "X-RateLimit-Limit", "5")
	field(t, res, "X-RateLimit-Remaining", "4")
	field(t, res, "X-RateLimit-Reset", "1")
	field(t, res, "Retry-After", "")
	field(t, res, "X-Weir-Decided", fmt.Sprint(int64(start)))
	field(t, res, "Access-Control-Expose-Headers", "")
	page := from("192.0.2.2:1", http.MethodPost, jobs, "Origin: https://app.example")
	if res := g.expect(page, ok); !contains(res.Header.Get("Access-Control-Expose-Headers"), "RateLimit") {
		t.Error("a page cannot read the fields")
	}

	res = g.expect(post(), ok, ok, ok, ok, limited)
	field(t, res, "RateLimit-Policy", `"create-job";q=5;w=1`)
	field(t, res, "RateLimit", `"create-job";r=0;t=1`)
	field(t, res, "X-RateLimit-Remaining", "0")
	field(t, res, "Retry-After", "1")
	field(t, res, "Cache-Control", "no-store")
	field(t, res, "Content-Type", "application/problem+json")
	if b := body(t, res); !contains(b, `"status":429`, `"violated-policies":["create-job"]`) {
		t.Errorf("body: %s", b)
	}
	r := post()
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Origin", "https://app.example")
	res = g.expect(r, limited)
	field(t, res, "Content-Type", "text/plain; charset=utf-8")
	if !contains(res.Header.Get("Access-Control-Expose-Headers"), "RateLimit") {
		t.Error("a page cannot read the fields")
	}
}

func TestDenyHookWritesTheRefusal(t *testing.T) {
	g := rigged(t, httplimit.Config{
		Rules: []httplimit.Rule{once()},
		Deny: func(w http.ResponseWriter, r *http.Request, o *weir.Outcome) {
			http.Error(w, o.Limit().Name()+" says no to "+r.Method, header.Status(o)+70)
		},
	})
	g.expect(get("/"), ok)
	res := g.expect(get("/"), 499)
	field(t, res, "RateLimit", `"once";r=0;t=86400`)
	field(t, res, "Retry-After", "86400")
	field(t, res, "Cache-Control", "no-store")
	if b := body(t, res); b != "once says no to GET\n" {
		t.Errorf("body: %s", b)
	}
}

// panicking serves one request whose handler panics with v, in a context that
// is cancelled first if the client has left. It checks that v comes through.
func panicking(t *testing.T, g *rig, v any, left bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if left {
			cancel()
		}
		panic(v)
	}))
	defer func() {
		t.Helper()
		if got := recover(); got != v {
			t.Errorf("panicked with %v, want %v", got, v)
		}
	}()
	h.ServeHTTP(httptest.NewRecorder(), get("/").WithContext(ctx))
}

func TestPanicGivesTheChargeBack(t *testing.T) {
	two := []httplimit.Rule{
		{Name: "a", Limits: []string{"1/day", "2/h fixed-window"}},
		{Name: "b", Limits: []string{"1/day"}, Key: []httplimit.Key{httplimit.Everyone()}},
	}
	g := rigged(t, httplimit.Config{Rules: two, Store: &broken{Store: memory(t)}})
	for range 10 {
		panicking(t, g, "handler", false)
		panicking(t, g, "handler", true)
		panicking(t, g, errDown, false)
	}
	g.expect(get("/"), ok, limited)
}

// A panic beside the handler is our side's fault as much as one in it.
func TestPanickingObserverGivesTheChargeBack(t *testing.T) {
	g := rigged(t, httplimit.Config{
		Rules:    []httplimit.Rule{{Name: "a", Limits: []string{"1/day"}}},
		Observer: &explosive{},
	})
	for range 3 {
		if v := caught(func() { g.ServeHTTP(httptest.NewRecorder(), get("/")) }); v != "watching" {
			t.Fatalf("panicked with %v", v)
		}
	}
	if n := g.served.Load(); n != 0 {
		t.Errorf("%d were served", n)
	}
	o := new(weir.Outcome)
	if v := caught(func() { g.Check(get("/"), o) }); v != "watching" || !o.Allowed {
		t.Errorf("panicked with %v, allowed %t: nothing had been used", v, o.Allowed)
	}
}

type explosive struct{}

func (*explosive) Observe(context.Context, *weir.Outcome) { panic("watching") }

func caught(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func TestAbortedHandlerGivesNothingBack(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "a", Limits: []string{"2/day"}})
	panicking(t, g, http.ErrAbortHandler, false)
	panicking(t, g, fmt.Errorf("upstream: %w", http.ErrAbortHandler), true)
	g.expect(get("/"), limited)
}

func TestRefundThatFailsDoesNotHideThePanic(t *testing.T) {
	for name, back := range map[string]func() error{
		"error": func() error { return errors.New("connection reset") },
		"panic": func() error { panic("store") },
	} {
		t.Run(name, func(t *testing.T) {
			store := memory(t)
			g := rigged(t, httplimit.Config{Rules: []httplimit.Rule{once()}, Store: &broken{Store: store, back: back}})
			panicking(t, g, "handler", false)
			g.expect(get("/"), limited)
		})
	}
}

func TestDeciderIsAskedForTheRefund(t *testing.T) {
	d := &scripted{}
	g := rigged(t, httplimit.Config{Decider: d})
	panicking(t, g, "handler", true)
	panicking(t, g, http.ErrAbortHandler, false)
	if d.backs != 1 {
		t.Errorf("%d refunds", d.backs)
	}
}

// A panic's trace must still show where the handler panicked.
func TestTraceShowsTheHandler(t *testing.T) {
	var log strings.Builder
	g := ruled(t, once())
	srv := httptest.NewUnstartedServer(g.Handler(http.HandlerFunc(crash)))
	srv.Config.ErrorLog = newLog(&log)
	srv.Start()
	if _, err := srv.Client().Get(srv.URL); err == nil {
		t.Error("the connection lives")
	}
	srv.Close()
	if !contains(log.String(), "panic serving", "the job", "httplimit_test.crash") {
		t.Errorf("log: %s", log.String())
	}
}

func crash(http.ResponseWriter, *http.Request) { panic("the job") }

func TestRefusedBodyIsDrainedOrTheConnectionClosed(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "none", Limits: []string{"deny"}})
	// f sends a body and reports whether the answer closes the connection.
	f := func(proto, length int, chunked, want bool) {
		t.Helper()
		r := from("192.0.2.1:1", http.MethodPost, "/")
		r.ProtoMajor, r.ContentLength = proto, int64(length)
		if chunked {
			r.ContentLength = -1
		}
		res := g.expect(r, http.StatusForbidden)
		if got := res.Header.Get("Connection") == "close"; got != want {
			t.Errorf("HTTP/%d, %d bytes, chunked %t: closes %t", proto, length, chunked, got)
		}
	}
	f(1, 0, false, false)
	f(1, 64<<10, false, false)
	f(1, 64<<10+1, false, true)
	f(1, 1<<40, false, true)
	f(1, 0, true, true)
	f(2, 1<<40, false, false) // would take the streams of others along
	f(2, 0, true, false)
}

// dial opens a connection to a server, for what no client sends. It gives up
// after a while, and is closed before the server, which would wait for it.
func dial(t *testing.T, h http.Handler) net.Conn {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A body that stays on the connection must not be read as a request.
func TestRefusedBodyIsNoRequest(t *testing.T) {
	g := ruled(t, once())
	mux := http.NewServeMux()
	mux.Handle("POST /", g)
	mux.HandleFunc("GET /inner", func(http.ResponseWriter, *http.Request) { t.Error("the body was served") })
	mux.HandleFunc("GET /next", g.count)
	conn := dial(t, mux)
	inner := "GET /inner HTTP/1.1\r\nHost: a\r\n\r\n"
	requests := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(inner), inner)
	_, _ = io.WriteString(conn, requests+requests+"GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	in := bufio.NewReader(conn)
	for _, want := range []int{ok, limited, ok} {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		if res.StatusCode != want {
			t.Errorf("%d, want %d", res.StatusCode, want)
		}
	}
}

// A refused upload is answered without waiting for it.
func TestRefusedUploadIsAnsweredAtOnce(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "none", Limits: []string{"deny"}})
	for _, head := range []string{"Content-Length: 1000000000", "Content-Length: 100000", "Transfer-Encoding: chunked"} {
		conn := dial(t, g)
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\n"+head+"\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", head, err)
		}
		if res.StatusCode != http.StatusForbidden || !res.Close {
			t.Errorf("%s: %d, closes %t", head, res.StatusCode, res.Close)
		}
	}
}

func TestHandlersOfOneMiddlewareShareItsLimits(t *testing.T) {
	g := ruled(t, once())
	a, b := g.Handler(bare()), g.Handler(bare())
	expect(t, a, get("/a"), ok)
	expect(t, b, get("/b"), limited)
}

func TestHandlerHasTheLastWordOnFields(t *testing.T) {
	g := ruled(t, httplimit.Rule{Name: "a", Limits: []string{"5/s"}})
	h := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Del("RateLimit")
		w.Header().Set("X-RateLimit-Limit", "7")
	}))
	res := expect(t, h, get("/"), ok)
	field(t, res, "RateLimit", "")
	field(t, res, "X-RateLimit-Limit", "7")
}
