package listen_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

func open(t *testing.T, c listen.Config) *listen.Listener {
	t.Helper()
	if c.Address == "" {
		c.Address = "127.0.0.1:0"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	l, err := listen.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve serves h until the test ends.
func serve(t *testing.T, l *listen.Listener, h http.HandlerFunc) *listen.Server {
	t.Helper()
	s, served := l.Server(h), make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

func ok(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RequestURI) }

func dial(t *testing.T, l *listen.Listener) net.Conn {
	t.Helper()
	c, err := net.DialTimeout(l.Addr().Network(), l.Addr().String(), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c
}

// send writes raw bytes, with \r\n for each line end.
func send(t *testing.T, c io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
}

func answer(t *testing.T, c io.Reader) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// ends checks that the other side closes the connection.
func ends(t *testing.T, what string, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		t.Errorf("%s: the connection goes on", what)
	}
}

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

// certified is a TLS server of httptest, for its certificate and its client.
func certified(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
