package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// S27: a rule for all requests decides all requests, in whatever form they come: no
// method, target, upgrade or path of weir's own passes beside it.
func TestProcessS27EveryDoor(t *testing.T) {
	var came atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }))
	t.Cleanup(upstream.Close)
	p := serving(t, build(t), "testdata/doors", []string{"WEIR_UPSTREAM=" + upstream.URL}, "deny.yaml")
	_, host, _ := strings.Cut(p.url("proxy"), "://")
	want := func(status int, request string) {
		t.Helper()
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(testPatience))
		_, _ = io.WriteString(conn, strings.ReplaceAll(request, "\n", "\r\n"))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != status {
			t.Errorf("%.60q: %v, %v; want %d", request, res, err, status)
		}
	}
	const forbidden = http.StatusForbidden
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW"} {
		want(forbidden, method+" / HTTP/1.1\nHost: h\n\n")
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/v1/take", "/v1/check", "/debug/pprof/", "/favicon.ico", "/.well-known/x", "//x", "/a//b", "/%41"} {
		want(forbidden, "GET "+path+" HTTP/1.1\nHost: h\n\n")
	}
	want(forbidden, "OPTIONS * HTTP/1.1\nHost: h\n\n")
	want(forbidden, "GET http://elsewhere.example/x HTTP/1.1\nHost: h\n\n")
	want(forbidden, "GET / HTTP/1.0\n\n")
	want(forbidden, "GET / HTTP/1.1\nHost:\n\n")
	want(forbidden, "GET / HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\n\n")
	want(forbidden, "GET / HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABk\n\n")
	want(forbidden, "POST / HTTP/1.1\nHost: h\nContent-Length: 4\nExpect: 100-continue\n\n")
	want(forbidden, "POST / HTTP/1.1\nHost: h\nX-HTTP-Method-Override: GET\nContent-Length: 0\n\n")
	want(http.StatusBadRequest, "get / HTTP/1.1\nHost: h\n\n")
	want(http.StatusNotImplemented, "CONNECT h:443 HTTP/1.1\nHost: h:443\n\n")
	want(http.StatusBadRequest, "GET x HTTP/1.1\nHost: h\n\n")
	if n := came.Load(); n > 0 {
		t.Errorf("%d requests came to the upstream", n)
	}
}

// S49: nobody changes anything, and nobody learns of a caller, at the listener for
// operators; and at that for decisions there is nothing but decisions.
func TestProcessS49OperatorsListener(t *testing.T) {
	p := serving(t, build(t), "testdata/doors", []string{"WEIR_UPSTREAM=demo"}, "open.yaml")
	for i := range 10 { // callers, whose names must not be found
		wantStatus(t, "GET", fmt.Sprintf("%s/?k=tracer%d", p.url("proxy"), i), 200, "")
	}
	for _, path := range []string{"/", "/config", "/reset", "/keys", "/debug/pprof/", "/debug/vars", "/v1/take", "/metrics/", "/healthz/x"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			wantStatus(t, method, p.url("ops")+path, 404, "")
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "BREW"} {
			wantStatus(t, method, p.url("ops")+path, 405, "")
		}
		answer, _, err := send("GET", p.url("ops")+path)
		if err != nil || strings.Contains(answer, "tracer") || strings.Contains(answer, "127.0.0.1") {
			t.Errorf("%s tells of a caller: %v, %s", path, err, answer)
		}
	}
	for _, path := range []string{"/", "/metrics", "/readyz", "/debug/pprof/", "/v1/reset", "/v1/", "/v1/take/x"} {
		wantStatus(t, "POST", p.url("http")+path, 404, "")
	}
}
