package proxy_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/proxy"
)

// A request that makes the upstream break its connections is carried out three times
// at most, however many are kept; one that changes something, once.
func TestBrokenConnectionsAreTriedThreeTimes(t *testing.T) {
	var executed atomic.Int64
	together := make(chan struct{})
	var warm sync.WaitGroup
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/warm":
			warm.Done()
			<-together
		case "/break":
			executed.Add(1)
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "served")
	})})
	const kept = 20
	warm.Add(kept)
	go func() {
		warm.Wait() // each has a connection of its own
		close(together)
	}()
	r.warm(kept, "/warm")
	for _, c := range []struct {
		method, key string
		times       int64
	}{{"GET", "", 3}, {"HEAD", "", 3}, {"POST", "", 1}, {"POST", "x", 3}, {"DELETE", "", 1}} {
		executed.Store(0)
		req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+r.address+"/break", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if c.key != "" {
			req.Header.Set("Idempotency-Key", c.key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n := executed.Load(); res.StatusCode != http.StatusBadGateway || n != c.times {
			t.Errorf("%s %q: %d, carried out %d times", c.method, c.key, res.StatusCode, n)
		}
	}
	if n := r.script.refunds(); n != 0 {
		t.Errorf("%d charges were given back for what was carried out", n)
	}
}

// A connection that the upstream has closed while it was kept costs nobody an
// answer.
func TestKeptConnectionThatWasClosed(t *testing.T) {
	var conns atomic.Int64
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns.Add(1)
		if hijacker, ok := w.(http.Hijacker); ok && r.URL.Path == "/once" {
			c, _, err := hijacker.Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			c.Close() // without having said so
			return
		}
		_, _ = io.WriteString(w, "ok")
	})})
	for _, path := range []string{"/once", "/x", "/once", "/y"} {
		res, body := r.send("GET " + path + " HTTP/1.1\nHost: h\nConnection: close\n\n")
		if res.StatusCode != http.StatusOK || !strings.Contains(body, "ok") {
			t.Errorf("%s: %d %q", path, res.StatusCode, body)
		}
	}
}

// warm makes the proxy keep n connections to an upstream whose handler of /warm waits
// for all of them.
func (r *rig) warm(n int, path string) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			res, err := http.Get("http://" + r.address + path)
			if err != nil {
				r.t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		})
	}
	all.Wait()
}

// An upstream that has let all its connections go without a word costs no reader an
// answer, however many of them were kept.
func TestUpstreamThatForgotItsConnections(t *testing.T) {
	const kept = 20
	var warm sync.WaitGroup
	warm.Add(kept)
	var broken atomic.Int64
	address := accepting(t, func(c net.Conn) {
		from := bufio.NewReader(c)
		req, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		if req.URL.Path == "/warm" {
			warm.Done()
			warm.Wait()
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		if _, err := http.ReadRequest(from); err == nil {
			broken.Add(1) // a second request meets a connection that is none
		}
	})
	r := newRig(t, plan{target: "http://" + address})
	r.warm(kept, "/warm")
	res, body := r.send("GET /x HTTP/1.1\nHost: h\nConnection: close\n\n")
	if n := broken.Load(); res.StatusCode != http.StatusOK || body != "ok" || n != 2 {
		t.Errorf("%s %q, sent over %d broken connections", res.Status, body, n)
	}
}

// An upstream that speaks HTTP/2 shares its connections, and refuses what it does
// not begin: many first requests at once, and more of them than it takes streams.
func TestHTTP2UpstreamIsSharedByMany(t *testing.T) {
	for _, streams := range []uint32{1, 250} {
		var carried atomic.Int64
		up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			carried.Add(1)
			_, _ = io.WriteString(w, r.Proto)
		}))
		up.EnableHTTP2 = true
		up.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: int(streams)}
		up.StartTLS()
		t.Cleanup(up.Close)
		transport, _ := up.Client().Transport.(*http.Transport)
		r := newRig(t, plan{target: up.URL, config: proxy.Config{TLS: transport.TLSClientConfig}})
		const clients, each = 16, 20
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range each {
					res, err := http.Get("http://" + r.address + "/x")
					if err != nil {
						t.Errorf("%d streams: %v", streams, err)
						return
					}
					body, _ := io.ReadAll(res.Body)
					res.Body.Close()
					if res.StatusCode != http.StatusOK || string(body) != "HTTP/2.0" {
						t.Errorf("%d streams: %s %q", streams, res.Status, body)
					}
				}
			})
		}
		all.Wait()
		if n := carried.Load(); n != clients*each {
			t.Errorf("%d streams: carried out %d times, want %d", streams, n, clients*each)
		}
	}
}
