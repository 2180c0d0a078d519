package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/proxy"
)

// A client that stops sending its body is answered 408, by HTTP/1 and HTTP/2;
// one that is slow but moves is served.
func TestSlowBody(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		p := plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })}
		p.config.Timeouts.Read = outlasted
		p.listen.TLS = tls
		r := newRig(t, p)
		for _, test := range []struct {
			parts, want int
			stalls      bool
		}{{6, http.StatusOK, false}, {1, http.StatusRequestTimeout, true}} {
			from, to := io.Pipe()
			go func() {
				for range test.parts {
					_, _ = to.Write([]byte("x"))
					<-time.After(p.config.Timeouts.Read / 3)
				}
				if !test.stalls {
					to.Close()
				}
			}()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, from)
			if err != nil {
				t.Fatal(err)
			}
			res, _ := roundTrip(t, tr, req)
			if res.StatusCode != test.want {
				t.Errorf("stalls %t: %s", test.stalls, res.Status)
			}
			from.Close()
		}
		if got := r.proxy.Stats(); got != (proxy.Stats{SlowClients: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// The deadline of a body that has been read is over: the answer to an upload may
// take longer than a read.
func TestAnswerAfterUploadMayBeLate(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		p := plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-time.After(2 * outlasted)
			_, _ = io.WriteString(w, "late")
		})}
		p.config.Timeouts.Read = outlasted
		p.listen.TLS = tls
		r := newRig(t, p)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		if res, text := roundTrip(t, tr, req); text != "late" {
			t.Errorf("%s %q", res.Status, text)
		}
	})
}

// A client that takes nothing of its answer loses the connection, and the
// upstream its request.
func TestSlowReader(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		ended := make(chan struct{})
		p := plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})}
		p.config.Timeouts.Write = 100 * time.Millisecond
		p.listen.TLS = tls
		r := newRig(t, p)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		receive(t, ended)
		res.Body.Close()
		tr.CloseIdleConnections()
	})
}

// An upstream may take its time over an upload: only the client's silence counts,
// by HTTP/1 and HTTP/2.
func TestUpstreamReadsSlowly(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		const size = 16 << 20 // more than all buffers on the way hold
		total := make(chan int64, 1)
		p := plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.CopyN(io.Discard, r.Body, 1000)
			<-time.After(2 * outlasted)
			rest, _ := io.Copy(io.Discard, r.Body)
			total <- n + rest
		})}
		p.config.Timeouts.Read = outlasted
		p.listen.TLS = tls
		r := newRig(t, p)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url, io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		res, _ := roundTrip(t, tr, req)
		if n := receive(t, total); res.StatusCode != http.StatusOK || n != size {
			t.Errorf("%s, the upstream got %d", res.Status, n)
		}
	})
}

// A client that asks and asks, and reads none of the refusals, is cut off: the
// deadline holds for what net/http writes after the handler, too.
func TestUnreadRefusals(t *testing.T) {
	p := plan{decide: refuse}
	p.config.Timeouts.Write = 50 * time.Millisecond
	r := newRig(t, p)
	c := r.dial()
	for {
		_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		if os.IsTimeout(err) {
			t.Fatal("the connection goes on")
		}
		if err != nil {
			return
		}
	}
}

// 1,000 requests that are given up leave nothing behind.
func TestNothingIsLeftBehind(t *testing.T) {
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // net/http tells of a client that has left only behind a whole body
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})})
	abort := func() {
		c, err := net.Dial("tcp", r.address)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")
		_, _ = bufio.NewReader(c).ReadString('\n')
	}
	abort()
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	slots := make(chan struct{}, 50)
	var aborted sync.WaitGroup
	for range 1000 {
		slots <- struct{}{}
		aborted.Go(func() {
			abort()
			<-slots
		})
	}
	aborted.Wait()  // a few that are still to come would be within the slack
	const slack = 8 // connections that are just closing, the runtime's own
	eventually(t, "goroutines and descriptors are given back", func() bool {
		return runtime.NumGoroutine() <= goroutines+slack && descriptors(t) <= files+slack
	})
	if n := len(r.script.asked()); n != 1001 {
		t.Errorf("decided %d", n)
	}
}

// descriptors is the number of files that the process has open, where the
// system tells.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

// At the end a request in flight is answered, and a WebSocket is closed when
// patience ends.
func TestShutdownEndsUpgrades(t *testing.T) {
	came := make(chan http.Header, 1)
	r := newRig(t, plan{upstream: echo(came)})
	c := r.dial()
	write(t, c, "GET /chat HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\n\n")
	from := bufio.NewReader(c)
	if res, err := http.ReadResponse(from, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", res, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.server.Shutdown(ctx); err == nil {
		t.Error("the shutdown did not wait for the WebSocket")
	}
	if _, err := from.ReadByte(); err == nil || os.IsTimeout(err) {
		t.Errorf("the WebSocket goes on: %v", err)
	}
}
