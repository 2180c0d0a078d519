package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A request that makes the upstream break its connections is carried out three times at
// most, however many are kept; one that changes something, once.
func TestBrokenConnectionsAreTriedTwice(t *testing.T) {
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
	var answered sync.WaitGroup
	for range kept {
		answered.Go(func() {
			res, err := http.Get("http://" + r.address + "/warm")
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		})
	}
	warm.Wait() // each has a connection of its own
	close(together)
	answered.Wait()
	for _, c := range []struct {
		method, key string
		most        int64
	}{{"GET", "", 3}, {"POST", "", 1}, {"POST", "x", 3}, {"DELETE", "", 1}} {
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
		if n := executed.Load(); res.StatusCode != http.StatusBadGateway || n < 1 || n > c.most {
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
