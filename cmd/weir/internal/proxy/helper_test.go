package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/header"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

// outlasted is a timeout that a busy machine does not reach by itself, for tests of
// what goes on longer than a timeout.
const outlasted = time.Second

// byEach runs a test with and without TLS, which is by HTTP/2 and by HTTP/1, both
// at once: they wait for most of their time.
func byEach(t *testing.T, test func(t *testing.T, tls *tls.Config, tr *http.Transport)) {
	t.Helper()
	server, client := certified(t)
	t.Run("HTTP1", func(t *testing.T) {
		t.Parallel()
		test(t, nil, &http.Transport{})
	})
	t.Run("HTTP2", func(t *testing.T) {
		t.Parallel()
		test(t, server, &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true})
	})
}

// A script decides as it is told and remembers what it was asked.
type script struct {
	decide func(r *weir.Request, o *weir.Outcome) // nil: let pass

	mu       sync.Mutex
	requests []weir.Request
	returned int
}

func (s *script) Decide(_ context.Context, r *weir.Request, o *weir.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := *r
	seen.Header = http.Header(r.Header).Clone()
	s.requests = append(s.requests, seen)
	o.Reset()
	if s.decide == nil {
		pass(o)
		return
	}
	s.decide(r, o)
}

func (s *script) Keep(*weir.Outcome) *weir.Slots { return nil }

func (s *script) GiveBack(ctx context.Context, _ *weir.Outcome) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned++
	return ctx.Err()
}

// asked is what was decided so far.
func (s *script) asked() []weir.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *script) refunds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.returned
}

func jobs() *weir.Limit { return weir.MustLimit("create-job", "5/s burst 5") }

// decided makes an outcome of one limit.
func decided(o *weir.Outcome, d weir.Decision) {
	o.Takes = append(o.Takes, weir.Take{Limit: jobs(), Join: weir.All})
	o.Decisions = append(o.Decisions, d)
	o.Allowed, o.Binding, o.RetryAfter, o.Never = d.Allowed, 0, d.RetryAfter, d.Never
}

func pass(o *weir.Outcome) { decided(o, weir.Decision{Allowed: true, Remaining: 4}) }

// refuse is a decide of a script: the limit is used up for 180 ms and a bit.
func refuse(_ *weir.Request, o *weir.Outcome) { decided(o, weir.Decision{RetryAfter: 180_001}) }

// A rig is a proxy on a loopback listener, between a script and an upstream.
type rig struct {
	t       *testing.T
	proxy   *proxy.Proxy
	script  *script
	server  *listen.Server
	address string
	url     string
}

// A plan is what a rig differs in from the plainest one.
type plan struct {
	upstream http.Handler // nil: one that answers "served"
	target   string       // instead of upstream
	options  proxy.Options
	config   proxy.Config
	listen   listen.Config
	decide   func(r *weir.Request, o *weir.Outcome)
	decider  weir.Decider // nil: the script
}

func newRig(t *testing.T, p plan) *rig {
	t.Helper()
	r := &rig{t: t, script: &script{decide: p.decide}}
	if !p.options.Demo {
		p.options.Upstream = upstreamOf(t, p)
	}
	if p.options.Decider = p.decider; p.decider == nil {
		p.options.Decider = r.script
	}
	settings := settingsOf(t, p.options)
	p.config.Settings = func() *proxy.Settings { return settings }
	if p.config.Logger == nil {
		p.config.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.proxy, err = proxy.New(p.config); err != nil {
		t.Fatal(err)
	}
	p.listen.Address, p.listen.Streams, p.listen.Logger = "127.0.0.1:0", true, slog.New(slog.DiscardHandler)
	l, err := listen.Open(t.Context(), p.listen)
	if err != nil {
		t.Fatal(err)
	}
	r.server, r.address = l.Server(r.proxy), l.Addr().String()
	r.url = "http://" + r.address
	if p.listen.TLS != nil {
		r.url = "https://" + r.address
	}
	served := make(chan error, 1)
	go func() { served <- r.server.Serve() }()
	t.Cleanup(func() { r.stop(served) })
	return r
}

func upstreamOf(t *testing.T, p plan) *url.URL {
	t.Helper()
	if p.target == "" {
		if p.upstream == nil {
			p.upstream = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
		}
		up := httptest.NewUnstartedServer(p.upstream)
		up.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
		up.Config.DisableGeneralOptionsHandler = true
		up.Start()
		t.Cleanup(up.Close)
		p.target = up.URL
	}
	u, err := url.Parse(p.target)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func settingsOf(t testing.TB, o proxy.Options) *proxy.Settings {
	t.Helper()
	var err error
	if o.Header, err = header.New(header.Config{}); err != nil {
		t.Fatal(err)
	}
	s, err := proxy.NewSettings(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stop cuts off whatever a test has left open.
func (r *rig) stop(served <-chan error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.server.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		r.t.Error(err)
	}
	if err := <-served; err != nil {
		r.t.Error(err)
	}
	r.proxy.Close()
}

// dial opens a connection to the proxy, which ends with the test.
func (r *rig) dial() net.Conn {
	r.t.Helper()
	return dial(r.t, r.address)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// send writes raw bytes, with \r\n for each line end, and reads one answer.
func (r *rig) send(text string) (*http.Response, string) {
	r.t.Helper()
	c := r.dial()
	write(r.t, c, text)
	return answerOf(r.t, bufio.NewReader(c), method(text))
}

func method(text string) string {
	m, _, _ := strings.Cut(text, " ")
	return m
}

func write(t *testing.T, c io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
}

func answerOf(t *testing.T, from *bufio.Reader, method string) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(from, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// do sends a request through a client that follows and decodes nothing.
func (r *rig) do(method string, body io.Reader, headers ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+"/x", body)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header[name] = append(req.Header[name], value)
	}
	return roundTrip(r.t, &http.Transport{DisableCompression: true}, req)
}

func roundTrip(t *testing.T, tr *http.Transport, req *http.Request) (*http.Response, string) {
	t.Helper()
	defer tr.CloseIdleConnections()
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// field checks one field of a header; "" means that it is not there.
func field(t *testing.T, h http.Header, name, want string) {
	t.Helper()
	if got := strings.Join(h.Values(name), " | "); got != want {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// receive takes what must come from a channel.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

// loopback trusts the peers of these tests.
func loopback(remoteAddr string) bool {
	peer, err := netip.ParseAddrPort(remoteAddr)
	return err == nil && peer.Addr().IsLoopback()
}

// certified is a TLS configuration for a server, and one for its clients.
func certified(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	t.Cleanup(s.Close)
	tr, ok := s.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the client of httptest has another transport")
	}
	client = tr.TLSClientConfig.Clone()
	client.ServerName = "example.com"
	return &tls.Config{Certificates: s.TLS.Certificates}, client
}
