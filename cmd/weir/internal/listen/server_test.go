package listen_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

// S25: whatever is begun and not ended ends by itself.
func TestStalledClients(t *testing.T) {
	const short = 50 * time.Millisecond
	secure := &tls.Config{Certificates: certified(t).TLS.Certificates}
	for _, test := range []struct {
		name, text string
		config     listen.Config
	}{
		{"nothing", "", listen.Config{Streams: true, Timeouts: listen.Timeouts{Header: short}}},
		{"a header", "GET / HTTP/1.1\nHost:", listen.Config{Streams: true, Timeouts: listen.Timeouts{Header: short}}},
		{"a handshake", "\x16\x03", listen.Config{Streams: true, TLS: secure, Timeouts: listen.Timeouts{Header: short}}},
		{"no handshake", "", listen.Config{TLS: secure, Timeouts: listen.Timeouts{Header: short}}},
		{"a body", "POST / HTTP/1.1\nHost: h\nContent-Length: 9\n\nx", listen.Config{Timeouts: listen.Timeouts{Body: short}}},
		{"silence", "GET / HTTP/1.1\nHost: h\n\n", listen.Config{Streams: true, Timeouts: listen.Timeouts{Idle: short}}},
		{"no reading", "GET /large HTTP/1.1\nHost: h\n\n", listen.Config{Timeouts: listen.Timeouts{Answer: short, Idle: short}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := open(t, test.config)
			serve(t, l, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if r.URL.Path == "/large" {
					_, _ = w.Write(make([]byte, 64<<20))
				}
			})
			send(t, dial(t, l), test.text)
			eventually(t, "the connection is closed", func() bool {
				c := l.Counts()
				return c.Accepted == 1 && c.Open == 0
			})
		})
	}
}

// S21, S27: HTTP/2 by TLS alone, and nothing is answered past the handler.
func TestProtocols(t *testing.T) {
	l := open(t, listen.Config{})
	serve(t, l, ok)
	for text, want := range map[string]string{
		"OPTIONS * HTTP/1.1\nHost: h\n\n": "*",
		"PRI * HTTP/2.0\n\nSM\n\n":        "*",
		"GET /x HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAAA\n\n": "/x",
	} {
		c := dial(t, l)
		send(t, c, text)
		if res, got := answer(t, c); got != want || res.StatusCode != http.StatusOK {
			t.Errorf("%q: %s %q", text, res.Status, got)
		}
	}

	s := certified(t)
	l = open(t, listen.Config{TLS: &tls.Config{Certificates: s.TLS.Certificates}})
	serve(t, l, ok)
	tr := s.Client().Transport.(*http.Transport).Clone()
	tr.ForceAttemptHTTP2 = true
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+"/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.ProtoMajor != 2 {
		t.Errorf("with TLS: %s", res.Proto)
	}
}

func TestToken(t *testing.T) {
	l := open(t, listen.Config{})
	serve(t, l, listen.RequireToken("s3cret", http.HandlerFunc(ok)).ServeHTTP)
	for lines, want := range map[string]int{
		"":                                http.StatusUnauthorized,
		"Authorization: Bearer\n":         http.StatusUnauthorized,
		"Authorization: Bearer wrong\n":   http.StatusUnauthorized,
		"Authorization: Bearer s3cret1\n": http.StatusUnauthorized,
		"Authorization: Bearer s3cre\n":   http.StatusUnauthorized,
		"Authorization: Basic s3cret\n":   http.StatusUnauthorized,
		"Authorization: s3cret\n":         http.StatusUnauthorized,
		"Authorization: Bearer s3cret\nAuthorization: Bearer s3cret\n": http.StatusUnauthorized,
		"Authorization: Bearer s3cret\n":                               http.StatusOK,
		"Authorization: bearer  s3cret\n":                              http.StatusOK,
	} {
		c := dial(t, l)
		send(t, c, "GET / HTTP/1.1\nHost: h\n"+lines+"\n")
		res, text := answer(t, c)
		if res.StatusCode != want {
			t.Errorf("%q: %s", lines, res.Status)
		}
		if want == http.StatusUnauthorized && (res.Header.Get("WWW-Authenticate") != "Bearer" || !strings.Contains(text, `"status":401`)) {
			t.Errorf("%q: %v %s", lines, res.Header, text)
		}
	}
	c := dial(t, l)
	send(t, c, "POST / HTTP/1.1\nHost: h\nContent-Length: 1000\n\n")
	if res, _ := answer(t, c); !res.Close || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger's body: %s, close %t", res.Status, res.Close)
	}
	for _, carried := range []string{"", "Bearer ", "Bearer x"} {
		h := listen.RequireToken("", http.HandlerFunc(ok))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", carried)
		w := &status{}
		if h.ServeHTTP(w, r); w.code != http.StatusUnauthorized {
			t.Errorf("an empty token lets %q through", carried)
		}
	}
}

type status struct{ code int }

func (s *status) Header() http.Header         { return http.Header{} }
func (s *status) Write(p []byte) (int, error) { return len(p), nil }
func (s *status) WriteHeader(code int)        { s.code = code }

// A request in flight is answered before Shutdown returns.
func TestShutdownWaits(t *testing.T) {
	l := open(t, listen.Config{})
	began, finish := make(chan struct{}), make(chan struct{})
	s := serve(t, l, func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		_, _ = io.WriteString(w, "answered")
	})
	c := dial(t, l)
	send(t, c, "GET / HTTP/1.1\nHost: h\n\n")
	<-began
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	close(finish)
	if _, text := answer(t, c); text != "answered" {
		t.Errorf("got %q", text)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := l.Counts().Open; got != 0 {
		t.Errorf("%d open", got)
	}
}

// What does not end in time is cut off: the request's context, its connection,
// and a hijacked one, which is waited for like the rest.
func TestShutdownCutsOff(t *testing.T) {
	l := open(t, listen.Config{})
	began := make(chan struct{}, 2)
	cancelled := make(chan struct{})
	s := serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hijack" {
			_, _, _ = http.NewResponseController(w).Hijack()
			began <- struct{}{}
			return
		}
		began <- struct{}{}
		<-r.Context().Done()
		close(cancelled)
	})
	hijacked, hanging := dial(t, l), dial(t, l)
	send(t, hijacked, "GET /hijack HTTP/1.1\nHost: h\n\n")
	send(t, hanging, "GET / HTTP/1.1\nHost: h\n\n")
	<-began
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("nothing was cut off")
	}
	<-cancelled
	ends(t, "hijacked", hijacked)
	ends(t, "hanging", hanging)
	eventually(t, "nothing is open", func() bool { return l.Counts().Open == 0 })
}

// Who is cut off gets no answer: not that of a handler that gives up because its
// context ends.
func TestShutdownAnswersNoMore(t *testing.T) {
	const callers = 30
	l := open(t, listen.Config{})
	began := make(chan struct{}, callers)
	sent := make(chan error, callers)
	s := serve(t, l, func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		<-r.Context().Done()
		w.WriteHeader(http.StatusBadGateway)
		sent <- http.NewResponseController(w).Flush()
	})
	for range callers {
		send(t, dial(t, l), "GET / HTTP/1.1\nHost: h\n\n")
		<-began
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shut down with %v", err)
	}
	for range callers {
		if err := <-sent; err == nil {
			t.Error("answered after all")
		}
	}
}

// ledger is a log that tests read.
type ledger struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *ledger) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// S45: a scanner does not fill the log; a panic is told; addresses of callers
// are not.
func TestLog(t *testing.T) {
	log := &ledger{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := certified(t)
	l := open(t, listen.Config{Logger: logger, TLS: &tls.Config{Certificates: s.TLS.Certificates}})
	serve(t, l, ok)
	send(t, dial(t, l), "GET / HTTP/1.1\n\n")
	eventually(t, "a failed handshake is noted", func() bool { return strings.Contains(log.String(), "handshake error") })
	if got := log.String(); !strings.Contains(got, "level=DEBUG") || strings.Contains(got, "127.0.0.1") {
		t.Errorf("log: %s", got)
	}

	l = open(t, listen.Config{Logger: logger})
	serve(t, l, func(http.ResponseWriter, *http.Request) { panic("broken") })
	send(t, dial(t, l), "GET / HTTP/1.1\nHost: h\n\n")
	eventually(t, "a panic is told", func() bool { return strings.Contains(log.String(), "level=ERROR") })
	if got := log.String(); !strings.Contains(got, "broken") || strings.Contains(got, "127.0.0.1") {
		t.Errorf("log: %s", got)
	}
}
