package proxy_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/header"
)

// A fixed decider lets everything pass, with the same limit and no allocation.
type fixed struct {
	limit   *weir.Limit
	allowed bool
}

func (f fixed) Decide(_ context.Context, _ *weir.Request, o *weir.Outcome) {
	o.Reset()
	o.Takes = append(o.Takes, weir.Take{Limit: f.limit, Join: weir.All})
	o.Decisions = append(o.Decisions, weir.Decision{Allowed: f.allowed, Remaining: 4, RetryAfter: 180_000})
	o.Allowed, o.Binding, o.RetryAfter = f.allowed, 0, 180_000
}

func (fixed) Keep(*weir.Outcome) *weir.Slots                { return nil }
func (fixed) GiveBack(context.Context, *weir.Outcome) error { return nil }

func fixedProxy(b testing.TB, o proxy.Options, allowed bool) *proxy.Proxy {
	b.Helper()
	o.Decider = fixed{jobs(), allowed}
	settings := settingsOf(b, o)
	p, err := proxy.New(proxy.Config{
		Settings: func() *proxy.Settings { return settings },
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// bare is the ReverseProxy that one would write without limits, with the same
// transport settings, and the fields of one decision on each answer.
func bare(b *testing.B, target *url.URL) http.Handler {
	b.Helper()
	w, err := header.New(header.Config{})
	if err != nil {
		b.Fatal(err)
	}
	var o weir.Outcome
	fixed{jobs(), true}.Decide(b.Context(), nil, &o)
	return &httputil.ReverseProxy{
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ModifyResponse: func(res *http.Response) error {
			w.Write(res.Header, &o)
			return nil
		},
	}
}

// BenchmarkForward compares the proxy with a bare ReverseProxy: over real
// connections on loopback, client and upstream in the same process.
func BenchmarkForward(b *testing.B) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "served")
	}))
	defer up.Close()
	target, err := url.Parse(up.URL)
	if err != nil {
		b.Fatal(err)
	}
	for _, body := range []string{"", strings.Repeat("x", 1000)} {
		name := map[bool]string{true: "GET", false: "POST"}[body == ""]
		for kind, h := range map[string]http.Handler{
			"bare": bare(b, target), "weir": fixedProxy(b, proxy.Options{Upstream: target}, true),
		} {
			b.Run(name+"/"+kind, func(b *testing.B) { drive(b, h, name, body, http.StatusOK) })
		}
	}
	b.Run("refused", func(b *testing.B) {
		drive(b, fixedProxy(b, proxy.Options{Upstream: target}, false), "GET", "", http.StatusTooManyRequests)
	})
}

func drive(b *testing.B, h http.Handler, method, body string, want int) {
	b.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	client := &http.Transport{MaxIdleConnsPerHost: 256}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), method, s.URL+"/api/v1/jobs?x=y", strings.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			res, err := client.RoundTrip(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != want {
				b.Error(res.Status)
				return
			}
		}
	})
}

// A discard is a writer that keeps nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// What the proxy does around the decision costs no more than the controller of
// deadlines and what package header writes.
func TestAllocationsOfTheProxy(t *testing.T) {
	p := fixedProxy(t, proxy.Options{Demo: true}, false)
	r := httptest.NewRequest(http.MethodHead, "/x", http.NoBody)
	w := discard{http.Header{}}
	h, err := header.New(header.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var o weir.Outcome
	fixed{jobs(), false}.Decide(t.Context(), nil, &o)
	alone := testing.AllocsPerRun(1000, func() {
		clear(w.header)
		h.Refuse(w, r, &o)
	})
	whole := testing.AllocsPerRun(1000, func() {
		clear(w.header)
		p.ServeHTTP(w, r)
	})
	const around = 3 // the controller; its two errors, since this writer knows no deadlines
	if whole > alone+around {
		t.Errorf("%v allocations, %v of them of package header", whole, alone)
	}
}
