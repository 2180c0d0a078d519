//go:build linux

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A wreck is an upstream that does whatever the path of a request names.
type wreck struct {
	address string

	mu    sync.Mutex
	inner net.Listener
	open  map[net.Conn]bool
	ended sync.WaitGroup
}

func newWreck(t *testing.T) *wreck {
	t.Helper()
	w := &wreck{address: "127.0.0.1:0", open: map[net.Conn]bool{}}
	w.up(t)
	t.Cleanup(w.down)
	return w
}

// up listens, again at the same address.
func (w *wreck) up(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	w.inner, w.address = l, l.Addr().String()
	w.ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.open[c] = true
			w.mu.Unlock()
			w.ended.Go(func() { w.serve(c) })
		}
	})
}

// down closes everything.
func (w *wreck) down() {
	w.inner.Close()
	w.drop()
	w.ended.Wait()
}

// drop closes all connections.
func (w *wreck) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.Close()
		delete(w.open, c)
	}
}

func (w *wreck) serve(c net.Conn) {
	defer func() {
		c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, c)
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if !w.answer(c, in, strings.Trim(r.URL.Path, "/")) {
			return
		}
	}
}

// answer writes what a path names. It reports whether the connection goes on.
func (w *wreck) answer(c net.Conn, in io.Reader, path string) (goOn bool) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	many := func(n int, line string) string { return strings.Repeat(line, n) }
	text := map[string]string{
		"ok":            ok,
		"down":          ok,
		"garbage":       "\x16\x03\x01 what? \x00\xff\r\n\r\n",
		"half":          "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
		"chunks":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n",
		"huge-header":   "HTTP/1.1 200 OK\r\nX-Huge: " + many(300<<10, "x") + "\r\nContent-Length: 2\r\n\r\nok",
		"many-fields":   "HTTP/1.1 200 OK\r\n" + many(200_000, "X-A: b\r\n") + "Content-Length: 2\r\n\r\nok",
		"informational": many(2000, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") + ok,
		"switch":        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n",
		"two-lengths":   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
		"long-status":   "HTTP/1.1 200 " + many(300<<10, "O") + "\r\n\r\n",
		"status":        "HTTP/1.1 99999 No\r\nContent-Length: 2\r\n\r\nok",
		"trailers":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n",
		"huge-trailers": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + many(300<<10, "X-A: b\r\n") + "\r\n",
	}[path]
	switch path {
	case "reset":
		_ = c.(*net.TCPConn).SetLinger(0)
		return false
	case "close":
		return false
	case "hang":
		_, _ = io.Copy(io.Discard, in) // until the other side leaves
		return false
	}
	_, err := io.WriteString(c, text)
	return err == nil && (path == "ok" || path == "down" || path == "trailers")
}

const chaosRules = `
version: 1
listen: {proxy: '127.0.0.1:0', ops: '127.0.0.1:0'}
upstream: demo # the environment says
rules:
  - {name: all, match: /, limit: 1000000/s}
  - {name: down, match: /down, limit: 3/day}
  - {name: reset, match: /reset, limit: 3/day}
`

// Whatever an upstream does, the daemon lives, says 502 where there was no answer, and
// keeps nothing.
func TestProcessChaos(t *testing.T) {
	w := newWreck(t)
	dir := folder(t, map[string]string{"weir.yaml": chaosRules})
	p := serving(t, build(t), dir, []string{"WEIR_UPSTREAM=http://" + w.address, noHeadroom}, "weir.yaml")
	client := clientFrom(attacker, nil)
	defer client.CloseIdleConnections()
	for range 200 {
		_, _ = get(client, p.url("proxy")+"/ok", nil)
	}
	w.drop()
	p.peak()
	before := p.vitals()
	h := (&honest{client: clientFrom(friend, nil), url: p.url("proxy") + "/ok"}).begin(t)
	p.wrecks(client)
	p.hangs(w)
	word := h.check(t, mostWait)
	p.refunds(w, client)
	client.CloseIdleConnections()
	w.drop()
	after := p.calm(vitals{before.memory + mostKept, before.files + mostLeft, before.goroutines + mostLeft})
	if peak := p.peak(); peak > before.memory+mostMemory {
		t.Errorf("at its most it held %d KiB", peak)
	} else {
		t.Logf("%s; before: %v; after: %v; peak %d KiB", word, before, after, peak)
	}
}

// wrecks asks for each kind of answer that is none.
func (p *testProcess) wrecks(client *http.Client) {
	for _, test := range []struct {
		path   string
		status int
		whole  bool
	}{
		{"/close", 502, true},
		{"/garbage", 502, true},
		{"/half", 0, false}, // so little that it was not sent on yet
		{"/chunks", 200, false},
		{"/huge-header", 502, true},
		{"/many-fields", 502, true},
		{"/informational", 200, true},
		{"/switch", 502, true},
		{"/two-lengths", 502, true},
		{"/long-status", 502, true},
		{"/status", 502, true},
		{"/trailers", 200, true},
		{"/huge-trailers", 200, false},
	} {
		const clients = 4
		requests, before := sized(5, 200), p.cpu()
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for range requests {
					status, err := get(client, p.url("proxy")+test.path, nil)
					if status != test.status || (err == nil) != test.whole {
						p.Errorf("%s: %d, %v; want %d, whole: %t", test.path, status, err, test.status, test.whole)
						return
					}
				}
			})
		}
		all.Wait()
		p.Logf("%s: each computed for %v", test.path, (p.cpu()-before)/time.Duration(clients*requests))
	}
}

// hangs asks an upstream that says nothing, and leaves.
func (p *testProcess) hangs(w *wreck) {
	var all sync.WaitGroup
	for range sized(50, 500) {
		all.Go(func() {
			c, err := p.open("proxy", attacker)
			if err != nil {
				p.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, asks("/hang"))
			_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			if res, err := c.answer(); err == nil {
				p.Errorf("an upstream that says nothing: %s", res.Status)
			}
		})
	}
	all.Wait()
	if sized(0, 1) == 0 {
		return
	}
	c := p.mustOpen("proxy", attacker)
	_ = c.SetDeadline(time.Now().Add(4 * testPatience))
	_, _ = io.WriteString(c, asks("/hang"))
	if res, err := c.answer(); err != nil || res.StatusCode != http.StatusGatewayTimeout {
		p.Errorf("after a minute: %v, %v", res, err)
	}
}

// refunds checks that what never reached the upstream costs nothing, and the rest what
// it costs.
func (p *testProcess) refunds(w *wreck, client *http.Client) {
	for i, want := range []int{502, 502, 502, 429, 429} {
		if status, err := get(client, p.url("proxy")+"/reset", nil); status != want {
			p.Errorf("request %d that reached the upstream: %d, %v; want %d", i, status, err, want)
		}
	}
	w.down()
	// What goes out on a connection that was kept, and is found to be broken only then,
	// may have arrived: it is charged. Here that is over before the charges count.
	for refused := 0; refused < 5 && !p.Failed(); refused++ {
		if status, err := get(client, p.url("proxy")+"/ok", nil); status != http.StatusBadGateway {
			p.Errorf("without an upstream: %d, %v", status, err)
		}
	}
	for i := range sized(30, 3000) {
		if status, err := get(client, p.url("proxy")+"/down", nil); status != http.StatusBadGateway {
			p.Errorf("request %d without an upstream: %d, %v", i, status, err)
			break
		}
	}
	w.up(p.T)
	for i, want := range []int{200, 200, 200, 429} {
		if status, err := get(client, p.url("proxy")+"/down", nil); status != want {
			p.Errorf("request %d when it was back: %d, %v; want %d", i, status, err, want)
		}
	}
	if n := p.logged("the upstream cannot be reached"); n != 1 || p.logged("can be reached again") != 1 {
		p.Errorf("the log says %d times that the upstream cannot be reached", n)
	}
}
