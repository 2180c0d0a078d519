package ops_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/ops"
)

func metrics(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("weir_keys 1\n")) }

// ask sends a request and gives status and body.
func ask(t *testing.T, h http.Handler, method, path string) (int, string, http.Header) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	for name, want := range map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s %s: %s: %q, want %q", method, path, name, got, want)
		}
	}
	return w.Code, w.Body.String(), w.Header()
}

func TestPaths(t *testing.T) {
	r := new(ops.Readiness)
	h := ops.Handler(r, http.HandlerFunc(metrics))
	f := func(method, path string, status int, body string) {
		t.Helper()
		if code, got, _ := ask(t, h, method, path); code != status || !strings.Contains(got, body) {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, code, got, status, body)
		}
	}
	f("GET", "/healthz", 200, `{"status":"ok"}`)
	f("HEAD", "/healthz", 200, "")
	f("GET", "/metrics", 200, "weir_keys 1")
	f("GET", "/readyz", 503, `{"ready":false,"reasons":["no rules are loaded","not listening yet"]}`)
	f("GET", "/", 404, `"status":404`)
	f("GET", "/healthz/", 404, `"title":"Not Found"`)
	f("GET", "/debug/pprof/", 404, "")
	f("POST", "/nothing", 404, "")
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"} {
		for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
			f(method, path, 405, `"status":405`)
		}
	}
	if _, _, header := ask(t, h, "POST", "/readyz"); header.Get("Allow") != "GET, HEAD" || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%v", header)
	}
	if code, _, _ := ask(t, ops.Handler(r, nil), "GET", "/metrics"); code != 404 {
		t.Errorf("metrics that nobody counts: %d", code)
	}
}

func TestReadiness(t *testing.T) {
	r := new(ops.Readiness)
	h := ops.Handler(r, nil)
	f := func(status int, body string) {
		t.Helper()
		code, got, header := ask(t, h, "GET", "/readyz")
		if code != status || got != body+"\n" || header.Get("Content-Type") != "application/json" {
			t.Errorf("%d %s %v, want %d %s", code, got, header, status, body)
		}
		if code, _, _ := ask(t, h, "GET", "/healthz"); code != 200 {
			t.Errorf("it lives all the while: %d", code)
		}
	}
	r.LoadFailed(errors.New("weir.yaml:3:5: error: no such field"))
	f(503, `{"ready":false,"reasons":["no rules are loaded","not listening yet"],"last_reload_error":"weir.yaml:3:5: error: no such field"}`)
	r.Loaded()
	f(503, `{"ready":false,"reasons":["not listening yet"]}`)
	r.Listening()
	f(200, `{"ready":true}`)
	r.LoadFailed(errors.New("torn"))
	f(200, `{"ready":true,"last_reload_error":"torn"}`)
	r.Loaded()
	f(200, `{"ready":true}`)
	r.Draining()
	f(503, `{"ready":false,"reasons":["draining"]}`)
}

func TestALongErrorIsCut(t *testing.T) {
	r := new(ops.Readiness)
	r.LoadFailed(errors.New(strings.Repeat("x", 1<<20)))
	if got := len(r.State().ReloadError); got > 5000 {
		t.Errorf("%d bytes", got)
	}
}

func TestManyAtOnce(t *testing.T) {
	r := new(ops.Readiness)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			r.Loaded()
			r.LoadFailed(errors.New("torn"))
			r.Listening()
			r.State()
		})
	}
	all.Wait()
	if s := r.State(); !s.Ready {
		t.Errorf("%+v", s)
	}
}

// A probe has no token: it is told whether, and nothing else.
func TestProbes(t *testing.T) {
	var r ops.Readiness
	r.Loaded()
	r.Listening()
	r.LoadFailed(errors.New("rules[0].limit: five"))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	h := ops.Probes(&r, guarded)
	f := func(method, path, authorization string, status int, body string) {
		t.Helper()
		w, req := httptest.NewRecorder(), httptest.NewRequest(method, path, http.NoBody)
		if authorization != "" {
			req.Header.Set("Authorization", authorization)
		}
		h.ServeHTTP(w, req)
		if w.Code != status || strings.TrimSpace(w.Body.String()) != body {
			t.Errorf("%s %s: %d %s, want %d %s", method, path, w.Code, w.Body, status, body)
		}
	}
	f("GET", "/healthz", "", 200, `{"status":"ok"}`)
	f("GET", "/readyz", "", 200, `{"ready":true}`)
	f("GET", "/readyz", "Bearer x", 401, "")
	f("POST", "/readyz", "", 401, "")
	f("GET", "/metrics", "", 401, "")
	r.Draining()
	f("GET", "/readyz", "", 503, `{"ready":false}`)
}
