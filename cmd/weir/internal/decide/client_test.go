package decide_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
)

// served starts a daemon on loopback and gives a client of it.
func served(t *testing.T, h http.Handler) *decide.Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &decide.Client{URL: s.URL, HTTP: s.Client()}
}

func TestClientTake(t *testing.T) {
	c := served(t, rigged(t, nil))
	got, err := c.Take(t.Context(), decide.TakeRequest{Key: "user:42", Limit: "5/s", Cost: 2})
	want := &decide.TakeAnswer{
		Allowed: true, Limit: "take/1s", Count: 5, Capacity: 5, Remaining: 3, Granted: 2,
		ResetAfterMS: 400, DecidedAt: int64(start), Mode: "exact",
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	got, err = c.Take(t.Context(), decide.TakeRequest{Key: "user:42", Limit: "5/s", Cost: 9, Peek: true})
	if err != nil || got.Allowed || !got.Never || got.Remaining != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = c.Take(t.Context(), decide.TakeRequest{Key: "user:42", Limit: "deny"})
	if diff := cmp.Diff(&decide.TakeAnswer{Limit: "take/deny", Never: true, Mode: "exact"}, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestClientExplain(t *testing.T) {
	g := rigged(t, nil)
	c := served(t, g)
	got, err := c.Explain(t.Context(), decide.CheckRequest{
		Method: "GET", Host: "api.example", Path: "/a", Query: "q=1", Headers: map[string][]string{"x-a": {"1", "2"}}, IP: "203.0.113.7", Cost: 2,
	})
	if err != nil || !got.Allowed || got.Path != "/a" || got.Status != 200 || got.Headers["X-Ratelimit-Remaining"] != "3" {
		t.Errorf("%+v, %v", got, err)
	}
	if r := g.engine.asked; r.Query != "q=1" || r.Cost != 2 || len(r.Header["X-A"]) != 2 || r.Host != "api.example" {
		t.Errorf("the engine was asked %+v", r)
	}
}

// What the daemon refuses is the caller's to mend.
func TestClientIsRefused(t *testing.T) {
	c := served(t, rigged(t, nil))
	_, err := c.Take(t.Context(), decide.TakeRequest{Key: "", Limit: "5/m", Cost: -1})
	var refused *decide.RefusedError
	if !errors.As(err, &refused) || refused.Status != 400 || len(refused.Mistakes) != 3 {
		t.Fatalf("%#v", err)
	}
	for _, part := range []string{"weir: key: it is empty", "\nweir: limit: period m", "\nweir: cost: it cannot be below 0"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if _, err := c.Take(t.Context(), decide.TakeRequest{Key: "\xff", Limit: "5/s"}); !errors.Is(err, weir.ErrInvalid) {
		t.Errorf("bytes that JSON would replace: %v", err)
	}
	guarded := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(401)
			_, _ = w.Write([]byte(`{"status":401,"detail":"the token\u001b[31m is wrong"}`))
			return
		}
		_, _ = w.Write([]byte(`{"allowed":true,"limit":"take/1s","mode":"exact"}`))
	}))
	if _, err := guarded.Take(t.Context(), decide.TakeRequest{}); !errors.As(err, &refused) || err.Error() != "weir: the daemon answers 401: the token[31m is wrong" {
		t.Errorf("%v", err)
	}
	guarded.Token = "sesame"
	if a, err := guarded.Take(t.Context(), decide.TakeRequest{}); err != nil || !a.Allowed {
		t.Errorf("%v, %v", a, err)
	}
}

// Bytes that JSON would replace are not sent: another caller would be explained.
func TestClientExplainsNobodyElse(t *testing.T) {
	c := served(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked %s", r.URL) }))
	f := func(r decide.CheckRequest, wants ...string) {
		t.Helper()
		_, err := c.Explain(t.Context(), r)
		for _, want := range wants {
			if !errors.Is(err, weir.ErrInvalid) || !strings.Contains(err.Error(), "weir: "+want+": it is not UTF-8; ") {
				t.Errorf("%+v: %v, want %s", r, err, want)
			}
		}
	}
	f(decide.CheckRequest{Method: "G\xff", Host: "\xff", Path: "/\xff", Query: "\xff"}, "method", "host", "path", "query")
	f(decide.CheckRequest{Method: "GET", Path: "/", Headers: map[string][]string{"X-Key": {"a", "\xff"}, "X-\xff": {"b"}}}, "headers.X-Key", "headers")
}

// What gives no decision is not refused input, whatever it says.
func TestClientFindsNoDecision(t *testing.T) {
	ours := false // what answers may be a daemon's http listener
	f := func(h http.HandlerFunc, status int, part string) {
		t.Helper()
		_, err := served(t, h).Take(t.Context(), decide.TakeRequest{Key: "k", Limit: "5/s"})
		var unreachable *decide.UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Status != status || !strings.Contains(err.Error(), part) || unreachable.Foreign == ours {
			t.Errorf("%#v: %v, want %d and %q", unreachable, err, status, part)
		}
	}
	says := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	f(says(200, "text/html", "<html>"), 200, "none of weir's")
	f(says(200, "application/json", `{"allowed":true} x`), 200, "none of weir's")
	f(says(200, "application/json", `{}`), 200, "none of weir's")
	f(says(200, "application/json", `null`), 200, "none of weir's")
	f(says(200, "application/json", `{"allowed":true,"limit":"take/1s","rules":[]}`), 200, "none of weir's")
	f(says(200, "application/json", `{"allowed":1,"limit":"take/1s","mode":"exact"}`), 200, "none of weir's")
	f(says(404, "text/html", "no such page"), 404, "it answers 404")
	f(says(404, "application/problem+json", `{"detail":"nothing under this path"}`), 404, "it answers 404: nothing under this path")
	f(says(400, "text/plain", "bad"), 400, "it answers 400")
	for _, status := range []int{400, 403, 405, 422, 429, 431, 502, 503, 504} { // a proxy's, of weir too
		f(says(status, "application/problem+json", `{"detail":"no"}`), status, fmt.Sprintf("it answers %d: no", status))
	}
	f(says(501, "", ""), 501, "it answers 501")
	f(says(500, "", ""), 500, "it answers 500")
	f(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/followed") {
			t.Error("a redirect was followed")
		}
		http.Redirect(w, r, "/followed", http.StatusTemporaryRedirect)
	}, 307, "a redirect, which is not followed")
	f(says(404, "application/problem+json", `{"type":"about:blank","title":"Not Found","status":404,"detail":"nothing"}`), 404, "it answers 404: nothing")
	ours = true
	f(func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, 0, "EOF")
	f(says(500, "application/problem+json", `{"detail":"a defect"}`), 500, "it answers 500: a defect")
	f(says(503, "application/problem+json", `{"detail":"not applied\u001b: nothing was charged","retryable":true}`), 503, "it answers 503: not applied: nothing was charged")
}

// Any program answers with an object; an explanation is one with rules and a
// reason.
func TestClientBelievesNoOtherProgram(t *testing.T) {
	for _, body := range []string{
		`{}`, `[]`, `{"service":"weir demo","method":"POST","host":"localhost:8000","path":"/v1/explain"}`,
		`{"method":"GET","rules":[]}`, `{"method":"GET","reason":"limits"}`, `{"rules":[],"reason":"limits"}`,
	} {
		_, err := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(body))
		})).Explain(t.Context(), decide.CheckRequest{Method: "GET", Path: "/"})
		var unreachable *decide.UnreachableError
		if !errors.As(err, &unreachable) || !unreachable.Foreign || !strings.HasSuffix(err.Error(), ": its answer is none of weir's") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// An answer without end is not read to its end.
func TestClientReadsNoMoreThanItMust(t *testing.T) {
	sent := make(chan int, 2)
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, chunk := 0, []byte(strings.Repeat(" ", 64<<10))
		for n < 1<<30 {
			if _, err := w.Write(chunk); err != nil {
				break
			}
			n += len(chunk)
		}
		sent <- n
	}))
	if _, err := c.Take(t.Context(), decide.TakeRequest{Key: "k", Limit: "5/s"}); err == nil || !strings.Contains(err.Error(), "longer than 64 KiB") {
		t.Errorf("%v", err)
	}
	if n := <-sent; n >= 1<<30 {
		t.Errorf("%d bytes were taken", n)
	}
	if _, err := c.Explain(t.Context(), decide.CheckRequest{}); err == nil || !strings.Contains(err.Error(), "longer than 1024 KiB") {
		t.Errorf("%v", err)
	}
	<-sent
}

func TestClientWithoutAServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	c := decide.Client{URL: "http://" + l.Addr().String()}
	_, err = c.Take(t.Context(), decide.TakeRequest{Key: "k", Limit: "5/s"})
	var unreachable *decide.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Server != l.Addr().String() || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestClientGivesUp(t *testing.T) {
	release := make(chan struct{})
	c := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Take(ctx, decide.TakeRequest{Key: "k", Limit: "5/s"})
	var unreachable *decide.UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("too late: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err = c.Take(ctx, decide.TakeRequest{Key: "k", Limit: "5/s"}); errors.As(err, &unreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestClientURLs(t *testing.T) {
	for _, u := range []string{"", "127.0.0.1:8080", "localhost", "ftp://a/", "http://", "http://a/?q", "http://a/#f", "http://user:hunter2@/", "ht tp://hunter2"} {
		_, err := (&decide.Client{URL: u}).Take(t.Context(), decide.TakeRequest{})
		if !errors.Is(err, weir.ErrInvalid) || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: %v", u, err)
		}
	}
	paths := make(chan string, 1)
	c := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		_, _ = w.Write([]byte(`{"allowed":true,"limit":"take/1s","mode":"exact"}`))
	}))
	c.URL += "/limits/"
	if _, err := c.Take(t.Context(), decide.TakeRequest{}); err != nil {
		t.Fatal(err)
	}
	if got := <-paths; got != "/limits/v1/take" {
		t.Errorf("asked %s", got)
	}
}
