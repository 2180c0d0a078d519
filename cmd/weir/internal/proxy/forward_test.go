package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
)

// seen is an upstream that hands on what it was sent.
func seen() (http.Handler, <-chan *http.Request) {
	ch := make(chan *http.Request, 1000)
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		ch <- r
	}), ch
}

// S16, S17, S18: decider and upstream get the same bytes, those that came.
func TestTargetsAsTheyCame(t *testing.T) {
	upstream, came := seen()
	r := newRig(t, plan{upstream: upstream})
	for _, target := range []string{
		"/", "/x", "//x", "///", "/a%2Fb?x;y", "/a%2fb", "/a/../b", "/%2e%2e/b", "/./", "/login;x=1", "/login%00",
		"/login%2F", "/a\\b", "/a|b", "/a%2Fb|c", "/%7euser", "/é", "/\"<>^`{}", "/x?", "/x??", "/x?a=%zz&b=;c", "/x?a#b",
		"/x?%", "//admin/x?y=//z", "/[1]", "/x:y@z",
	} {
		res, _ := r.send("GET " + target + " HTTP/1.1\nHost: shop.example:81\n\n")
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", target, res.Status)
			continue
		}
		up := receive(t, came)
		if up.RequestURI != target || up.Host != "shop.example:81" {
			t.Errorf("%s: upstream got %s of %s", target, up.RequestURI, up.Host)
		}
		asked := r.script.asked()
		last := asked[len(asked)-1]
		path, query, _ := strings.Cut(target, "?")
		if last.Path != path || last.Query != query || last.Host != "shop.example:81" {
			t.Errorf("%s: decided %q, query %q, host %q", target, last.Path, last.Query, last.Host)
		}
	}
}

func TestTargetsOfOtherForms(t *testing.T) {
	for _, test := range []struct{ request, path, host, upstream string }{
		{"GET http://other.example/a%2Fb?q HTTP/1.1\nHost: h\n\n", "/a%2Fb", "other.example", "/a%2Fb?q"},
		{"GET http://other.example HTTP/1.1\nHost: h\n\n", "/", "other.example", "/"},
		{"GET https://other.example?q HTTP/1.1\nHost: h\n\n", "/", "other.example", "/?q"},
		{"OPTIONS * HTTP/1.1\nHost: h\n\n", "*", "h", "*"},
		{"GET * HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET ftp://x/y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET http:/y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET http:y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET http://user:pass@x/y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET /x#y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET //x|y HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"GET x HTTP/1.1\nHost: h\n\n", "", "", ""},
		{"PRI * HTTP/2.0\n\n", "", "", ""}, // S21: HTTP/2 in cleartext
	} {
		upstream, came := seen()
		r := newRig(t, plan{upstream: upstream})
		res, _ := r.send(test.request)
		asked := r.script.asked()
		if test.path == "" {
			if res.StatusCode != http.StatusBadRequest || len(asked) > 0 || len(came) > 0 {
				t.Errorf("%q: %s, decided %d, sent on %d", test.request, res.Status, len(asked), len(came))
			}
			continue
		}
		up := receive(t, came)
		if len(asked) != 1 || asked[0].Path != test.path || asked[0].Host != test.host {
			t.Errorf("%q: decided %+v", test.request, asked)
		}
		if up.RequestURI != test.upstream || up.Host != test.host {
			t.Errorf("%q: upstream got %s of %s", test.request, up.RequestURI, up.Host)
		}
	}
}

func TestConnectIsNotServed(t *testing.T) {
	r := newRig(t, plan{})
	for _, target := range []string{"x.example:443", "/x"} {
		res, _ := r.send("CONNECT " + target + " HTTP/1.1\nHost: h\n\n")
		if res.StatusCode != http.StatusNotImplemented || len(r.script.asked()) > 0 {
			t.Errorf("CONNECT %s: %s", target, res.Status)
		}
	}
}

// S05, S06, S07, S47: what the upstream is told of callers.
func TestFieldsAboutCallers(t *testing.T) {
	const named = "X-Real-IP: 6.6.6.6\nX-Real-IP: 7.7.7.7\nForwarded: for=6.6.6.6\nX-Plan: gold\n" +
		"X-Forwarded-For: 6.6.6.6\nX-Forwarded-For: 7.7.7.7\nX-Forwarded-Host: evil\nX-Forwarded-Proto: https\nX-Forwarded-User: root\n"
	const spelled = "X_Forwarded_For: 6.6.6.6\nX_real-ip: 6.6.6.6\nX.Plan: gold\nX-Forwarded_Host: evil\nX_RateLimit_Limit: 9\n"
	const own = "RateLimit: \"x\";r=9\nRateLimit-Policy: \"x\";q=9\nX-RateLimit-Limit: 9\nX-Weir-Decided: 9\nX-Weir-Key: k\n"
	for _, test := range []struct {
		name, lines string
		trusts      func(string) bool
		want        map[string]string
	}{
		{"stranger", named + spelled + own, nil, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "h", "X-Forwarded-Proto": "http",
		}},
		{"proxy", named + spelled + own, loopback, map[string]string{
			"X-Forwarded-For": "6.6.6.6, 7.7.7.7, 127.0.0.1", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https",
			"X-Real-Ip": "6.6.6.6 | 7.7.7.7", "Forwarded": "for=6.6.6.6", "X-Plan": "gold", "X-Forwarded-User": "root",
		}},
		{"proxy that says nothing", own, loopback, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "h", "X-Forwarded-Proto": "http",
		}},
		{"S06 stranger", named + "Connection: close, x-forwarded-for\n", nil, map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "h", "X-Forwarded-Proto": "http",
		}},
		{"S06 proxy", "X-Forwarded-For: 6.6.6.6\nX-Plan: gold\nOther: x\nConnection: x-forwarded-for, X-Plan, other\n", loopback, map[string]string{
			"X-Forwarded-For": "6.6.6.6, 127.0.0.1", "X-Forwarded-Host": "h", "X-Forwarded-Proto": "http", "X-Plan": "gold",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			upstream, came := seen()
			r := newRig(t, plan{upstream: upstream, options: proxy.Options{Trusts: test.trusts, Strip: []string{"x-plan"}}})
			r.send("GET / HTTP/1.1\nHost: h\n" + test.lines + "\n")
			up := receive(t, came).Header
			for name := range up {
				if _, ok := test.want[name]; !ok {
					t.Errorf("upstream got %s: %q", name, up[name])
				}
			}
			for name, want := range test.want {
				field(t, up, name, want)
			}
			// The decider has seen all of it, hop-by-hop or not.
			got := len(r.script.asked()[0].Header)
			if want := len(distinct(test.lines)); got != want {
				t.Errorf("decided with %d names, want %d", got, want)
			}
		})
	}
}

func distinct(lines string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(lines) {
		name, _, _ := strings.Cut(line, ":")
		names[http.CanonicalHeaderKey(name)] = true
	}
	return names
}

// S47: fields of answers, the upstream's and ours.
func TestFieldsOfAnswers(t *testing.T) {
	upstream := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("RateLimit", `"inner";r=1;t=1`)
		h.Set("RateLimit-Policy", `"inner";q=1;w=1`)
		h.Set("X-RateLimit-Limit", "999")
		h.Set("Access-Control-Expose-Headers", "X-Own")
		w.WriteHeader(http.StatusTeapot)
	})
	r := newRig(t, plan{upstream: upstream})
	res, _ := r.do(http.MethodGet, nil, "Origin: https://page.example")
	if res.StatusCode != http.StatusTeapot {
		t.Errorf("status %d", res.StatusCode)
	}
	field(t, res.Header, "RateLimit", `"inner";r=1;t=1 | "create-job";r=4;t=1`)
	field(t, res.Header, "RateLimit-Policy", `"inner";q=1;w=1 | "create-job";q=5;w=1`)
	field(t, res.Header, "X-RateLimit-Limit", "5")
	field(t, res.Header, "X-RateLimit-Remaining", "4")
	if got := strings.Join(res.Header.Values("Access-Control-Expose-Headers"), ", "); !strings.Contains(got, "X-Own") || !strings.Contains(got, "RateLimit-Policy") {
		t.Errorf("exposed %q", got)
	}

	// Where no limit decided, the answer is the upstream's.
	r = newRig(t, plan{upstream: upstream, decide: func(_ *weir.Request, o *weir.Outcome) { o.Pass() }})
	res, _ = r.do(http.MethodGet, nil)
	field(t, res.Header, "RateLimit", `"inner";r=1;t=1`)
	field(t, res.Header, "X-RateLimit-Limit", "999")
}

func TestTrailers(t *testing.T) {
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Announced")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("Announced", r.Trailer.Get("Checksum"))
		w.Header().Set(http.TrailerPrefix+"Unannounced", strings.Join(r.Trailer.Values("X-Forwarded-For"), ""))
		w.Header().Add(http.TrailerPrefix+"Unannounced", "end")
	})
	r := newRig(t, plan{upstream: upstream})
	res, text := r.send("POST / HTTP/1.1\nHost: h\nTE: trailers\nTrailer: Checksum\nTransfer-Encoding: chunked\n\n" +
		"4\nbody\n0\nChecksum: 42\nX-Forwarded-For: 6.6.6.6\n\n")
	if text != "body" {
		t.Errorf("body %q", text)
	}
	field(t, res.Trailer, "Announced", "42")
	field(t, res.Trailer, "Unannounced", " | end")
}

// HTTP/2 on both sides: the same handling, and the upstream is asked by HTTP/2.
func TestHTTP2(t *testing.T) {
	upstream, came := seen()
	up := httptest.NewUnstartedServer(upstream)
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	tr, ok := up.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("no transport")
	}
	server, client := certified(t)
	p := plan{target: up.URL}
	p.config.TLS, p.listen.TLS = tr.TLSClientConfig, server
	r := newRig(t, p)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"//a%2Fb?x;y", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", "6.6.6.6")
	res, _ := roundTrip(t, &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, req)
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", res.Proto, res.Status)
	}
	got := receive(t, came)
	if got.ProtoMajor != 2 || got.RequestURI != "//a%2Fb?x;y" {
		t.Errorf("upstream got %s of %s", got.RequestURI, got.Proto)
	}
	field(t, got.Header, "X-Forwarded-For", "127.0.0.1")
	field(t, got.Header, "X-Forwarded-Proto", "https")
	field(t, res.Header, "X-RateLimit-Remaining", "4")
}

func TestDemo(t *testing.T) {
	r := newRig(t, plan{options: proxy.Options{Demo: true}})
	res, text := r.send("GET /<script>\" HTTP/1.1\nHost: h\n\n")
	if want := `{"service":"weir demo","method":"GET","host":"h","path":"/\u003cscript\u003e\""}` + "\n"; text != want {
		t.Errorf("got %s", text)
	}
	field(t, res.Header, "Content-Type", "application/json")
	field(t, res.Header, "X-RateLimit-Remaining", "4")
	if _, text = r.do(http.MethodHead, nil); text != "" {
		t.Errorf("HEAD has a body: %s", text)
	}
}

// A request in flight ends with the settings it began with.
func TestReload(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = io.WriteString(w, "old")
	}))
	t.Cleanup(old.Close)
	target, err := url.Parse(old.URL)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[proxy.Settings]
	now.Store(settingsOf(t, proxy.Options{Decider: &script{}, Upstream: target}))
	p, err := proxy.New(proxy.Config{Settings: now.Load})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	get := func() string {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/x", http.NoBody))
		return w.Body.String()
	}
	first := make(chan string, 1)
	go func() { first <- get() }()
	receive(t, began)
	now.Store(settingsOf(t, proxy.Options{Decider: &script{}, Demo: true}))
	if got := get(); !strings.Contains(got, "weir demo") {
		t.Errorf("after the reload: %q", got)
	}
	close(finish)
	if got := receive(t, first); got != "old" {
		t.Errorf("from before the reload: %q", got)
	}
}
