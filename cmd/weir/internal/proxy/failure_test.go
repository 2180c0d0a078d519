package proxy_test

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
)

// nowhere is an address on which nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
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

// An upstream that cannot be reached costs nobody anything; the log hears of it
// once, and nothing of callers.
func TestUpstreamUnreachable(t *testing.T) {
	log := &ledger{}
	p := plan{target: nowhere(t)}
	p.config.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := newRig(t, p)
	for range 3 {
		res, text := r.send("GET /secret?token=secret HTTP/1.1\nHost: secret\nCookie: secret\n\n")
		if res.StatusCode != http.StatusBadGateway || !strings.Contains(text, "the upstream cannot be reached") {
			t.Errorf("%s: %s", res.Status, text)
		}
		field(t, res.Header, "RateLimit", "") // what was charged has been given back
	}
	if got := r.script.refunds(); got != 3 {
		t.Errorf("%d refunds", got)
	}
	if got := r.proxy.Stats(); got != (proxy.Stats{Unreachable: 3}) {
		t.Errorf("%+v", got)
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Contains(got, "secret") || strings.Contains(got, r.address) {
		t.Errorf("log: %s", got)
	}
}

// accepting is the address of a listener that serves each connection and closes it.
func accepting(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// brokenUpstream reads a header and then does as it is told.
func brokenUpstream(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	return "http://" + accepting(t, func(c net.Conn) {
		from := bufio.NewReader(c)
		for line := "-"; line != "\r\n"; {
			var err error
			if line, err = from.ReadString('\n'); err != nil {
				return
			}
		}
		answer(c)
	})
}

// unasked switches to a protocol that nobody has asked for.
func unasked(c net.Conn) {
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
}

// An upstream that switches protocols while the body is still coming has not been
// asked to any more than behind a whole one.
func TestUpgradeUnaskedAmidTheBody(t *testing.T) {
	r := newRig(t, plan{target: brokenUpstream(t, unasked)})
	c := r.dial()
	write(t, c, "POST / HTTP/1.1\nHost: h\nContent-Length: 4\n\nbo")
	if res, text := answerOf(t, bufio.NewReader(c), http.MethodPost); res.StatusCode != http.StatusBadGateway {
		t.Errorf("%s %s", res.Status, text)
	}
}

func TestUpstreamFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(net.Conn)
		status int
		want   proxy.Stats
	}{
		{"silent", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, http.StatusGatewayTimeout, proxy.Stats{SlowUpstream: 1}},
		{"closes", func(net.Conn) {}, http.StatusBadGateway, proxy.Stats{BadUpstream: 1}},
		{"talks", func(c net.Conn) { _, _ = io.WriteString(c, "220 mail.example ESMTP\r\n") }, http.StatusBadGateway, proxy.Stats{BadUpstream: 1}},
		{"header without end", func(c net.Conn) {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20))
			}
		}, http.StatusBadGateway, proxy.Stats{BadUpstream: 1}},
		{"upgrades unasked", unasked, http.StatusBadGateway, proxy.Stats{BadUpstream: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := plan{target: brokenUpstream(t, test.answer)}
			if test.want.SlowUpstream > 0 {
				p.config.Timeouts.Answer = 100 * time.Millisecond
			}
			r := newRig(t, p)
			res, text := r.do(http.MethodPost, strings.NewReader("body"))
			if res.StatusCode != test.status || res.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %s", res.Status, text)
			}
			field(t, res.Header, "X-RateLimit-Remaining", "4") // it was charged, and stays so
			if n := r.script.refunds(); n != 0 {
				t.Errorf("%d refunds", n)
			}
			if got := r.proxy.Stats(); got != test.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// An upstream that stops reading an upload is given up, like one that does not
// answer.
func TestUpstreamStopsReading(t *testing.T) {
	p := plan{target: brokenUpstream(t, func(net.Conn) { <-t.Context().Done() })}
	p.config.Timeouts.Answer = 100 * time.Millisecond
	r := newRig(t, p)
	c := r.dial()
	write(t, c, "POST / HTTP/1.1\nHost: h\nContent-Length: 1000000000\n\n")
	go func() { _, _ = io.CopyN(c, zeros{}, 1_000_000_000) }()
	res, _ := answerOf(t, bufio.NewReader(c), http.MethodPost)
	if res.StatusCode != http.StatusGatewayTimeout || !res.Close {
		t.Errorf("%s, close %t", res.Status, res.Close)
	}
	if got := r.proxy.Stats(); got != (proxy.Stats{SlowUpstream: 1}) {
		t.Errorf("%+v", got)
	}
}

// zeros has no end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A body that breaks off on its way is broken off for the client too.
func TestAnswerBreaksOff(t *testing.T) {
	r := newRig(t, plan{target: brokenUpstream(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
	})})
	c := r.dial()
	write(t, c, "GET / HTTP/1.1\nHost: h\n\n")
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.ReadAll(res.Body)
	}
	if err == nil {
		t.Error("the answer has an end")
	}
	if n := r.script.refunds(); n != 0 {
		t.Errorf("%d refunds", n)
	}
}

// A client that leaves has its request cancelled, and nothing given back.
func TestClientLeaves(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	r := newRig(t, plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})})
	c := r.dial()
	write(t, c, "GET / HTTP/1.1\nHost: h\n\n")
	receive(t, began)
	c.Close()
	receive(t, ended)
	eventually(t, "it is counted", func() bool { return r.proxy.Stats() == proxy.Stats{Gone: 1} })
	if n := r.script.refunds(); n != 0 {
		t.Errorf("%d refunds", n)
	}
}

// The upstream is asked once: what is not safe to repeat is not repeated, even
// on a kept connection that turns out closed.
func TestNothingIsSentTwice(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked++; asked == 2 {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
		}
	})})
	r.do(http.MethodPost, strings.NewReader("body"))
	res, _ := r.do(http.MethodPost, strings.NewReader("body"))
	mu.Lock()
	defer mu.Unlock()
	if res.StatusCode != http.StatusBadGateway || asked != 2 {
		t.Errorf("%s, asked %d times", res.Status, asked)
	}
}

// A panic of the decider is for net/http to report: the connection breaks, and
// the proxy serves on.
func TestDeciderPanics(t *testing.T) {
	r := newRig(t, plan{decide: func(q *weir.Request, o *weir.Outcome) {
		if q.Path == "/panic" {
			panic("no decision")
		}
		pass(o)
	}})
	c := r.dial()
	write(t, c, "GET /panic HTTP/1.1\nHost: h\n\n")
	if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
		t.Errorf("answered %s", res.Status)
	}
	if res, _ := r.send("GET / HTTP/1.1\nHost: h\n\n"); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s", res.Status)
	}
}

// An upstream with which no handshake of TLS comes to its end has seen no request:
// it cannot be reached, and nothing is charged.
func TestNoHandshake(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(net.Conn)
		status int
	}{
		{"silent", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, http.StatusGatewayTimeout},
		{"closes", func(net.Conn) {}, http.StatusBadGateway},
		{"plain HTTP", func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, http.StatusBadGateway},
		{"alert", func(c net.Conn) { _, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40}) }, http.StatusBadGateway},
	} {
		address := accepting(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1<<10))
			test.answer(c)
		})
		p := plan{target: "https://" + address}
		p.config.Timeouts.Dial = 200 * time.Millisecond
		r := newRig(t, p)
		res, text := r.do(http.MethodPost, strings.NewReader("body"))
		if res.StatusCode != test.status || !strings.Contains(text, "cannot be reached") {
			t.Errorf("%s: %s %s", test.name, res.Status, text)
		}
		if n := r.script.refunds(); n != 1 {
			t.Errorf("%s: %d refunds", test.name, n)
		}
		if got := r.proxy.Stats(); got != (proxy.Stats{Unreachable: 1}) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}
