package proxy_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

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

// What is sent again is what was sent, byte for byte, and on a connection that does
// not break it is not sent any more, whatever comes back.
func TestRepeatedRequestsAreTheSame(t *testing.T) {
	for _, c := range []struct {
		head, third string
		times, want int
	}{
		{"GET /x HTTP/1.1\nHost: h\n", "", 3, http.StatusBadGateway},
		{"TRACE /x HTTP/1.1\nHost: h\n", "", 3, http.StatusBadGateway},
		{"POST /x HTTP/1.1\nHost: h\nIdempotency-Key: 1\nContent-Length: 0\n", "", 3, http.StatusBadGateway},
		{"PUT /x HTTP/1.1\nHost: h\nIdempotency-Key: 1\n", "", 3, http.StatusBadGateway},
		{"DELETE /x HTTP/1.1\nHost: h\nX-Idempotency-Key: 1\n", "", 3, http.StatusBadGateway},
		{"PATCH /x HTTP/1.1\nHost: h\n", "", 1, http.StatusBadGateway},
		{"POST /x HTTP/1.1\nHost: h\nIdempotency-Key: 1\n", "HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\n\r\n", 3, http.StatusLengthRequired},
		{"GET /x HTTP/1.1\nHost: h\n", "no HTTP\r\n\r\n", 3, http.StatusBadGateway},
	} {
		u := newBreaking(t, 4)
		u.answers[2] = c.third
		if res, _ := u.rig.send(c.head + "Connection: close\n\n"); res.StatusCode != c.want {
			t.Errorf("%q: %s, want %d", c.head, res.Status, c.want)
		}
		heads := u.seen()
		if len(heads) != c.times || len(slices.Compact(slices.Clone(heads))) != 1 {
			t.Errorf("%q: sent %d times, want %d the same: %q", c.head, len(heads), c.times, heads)
		}
	}
	// What is no answer on the second kept connection is an answer all the same.
	u := newBreaking(t, 4)
	u.answers[1] = "no HTTP\r\n\r\n"
	if res, _ := u.rig.send("GET /x HTTP/1.1\nHost: h\nConnection: close\n\n"); res.StatusCode != http.StatusBadGateway || len(u.seen()) != 2 {
		t.Errorf("%s, sent %d times", res.Status, len(u.seen()))
	}
}

// A breaking upstream answers with a text, or breaks the connection off, where a
// request is no first one of its connection, or no /warm.
type breaking struct {
	rig     *rig
	answers map[int]string // by how many came before

	mu    sync.Mutex
	heads []string
}

func (u *breaking) seen() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.heads)
}

// newBreaking is one that so many connections are kept to.
func newBreaking(t *testing.T, kept int) *breaking {
	t.Helper()
	u := &breaking{answers: map[int]string{}}
	var warm sync.WaitGroup
	warm.Add(kept)
	address := accepting(t, func(c net.Conn) {
		for from := bufio.NewReader(c); ; {
			head := headOf(from)
			switch {
			case head == "":
				return
			case strings.Contains(head, "/warm"):
				warm.Done()
				warm.Wait()
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				continue
			}
			u.mu.Lock()
			answer := u.answers[len(u.heads)]
			u.heads = append(u.heads, head)
			u.mu.Unlock()
			_, _ = io.WriteString(c, answer)
			return
		}
	})
	u.rig = newRig(t, plan{target: "http://" + address})
	u.rig.warm(kept, "/warm")
	return u
}

// headOf reads a request's head, "" where there is none any more.
func headOf(from *bufio.Reader) (head string) {
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := from.ReadString('\n')
		if err != nil {
			return ""
		}
		head += line
	}
	return head
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

// An HTTP/2 upstream that begins requests and then says that it has not is asked a few
// times at most, and never again where that might carry out twice what changes
// something. Where it has refused a stream it is asked again on the same connection.
func TestHTTP2UpstreamThatDeniesIsAskedAFewTimes(t *testing.T) {
	protocol := func(f *http2.Framer, id uint32, _ int64) { _ = f.WriteRSTStream(id, http2.ErrCodeProtocol) }
	goAway := func(f *http2.Framer, _ uint32, _ int64) { _ = f.WriteGoAway(0, http2.ErrCodeNo, nil) }
	refuses := func(f *http2.Framer, id uint32, n int64) {
		if n < 3 {
			_ = f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			return
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0x88}, EndHeaders: true, EndStream: true}) // 200
	}
	for _, c := range []struct {
		name, method, key string
		do                func(f *http2.Framer, id uint32, n int64)
		status            int
		times, conns      int64
	}{
		{"PROTOCOL_ERROR", "GET", "", protocol, 502, 8, 9},
		{"PROTOCOL_ERROR", "POST", "x", protocol, 502, 8, 9},
		{"PROTOCOL_ERROR", "POST", "", protocol, 502, 1, 2},
		{"GOAWAY", "GET", "", goAway, 502, 8, 9},
		{"GOAWAY", "DELETE", "", goAway, 502, 1, 2},
		{"REFUSED_STREAM", "GET", "", refuses, 200, 3, 1},
		{"REFUSED_STREAM", "POST", "", refuses, 200, 3, 1},
	} {
		t.Run(c.name+" "+c.method+c.key, func(t *testing.T) {
			t.Parallel()
			u := newDenying(t, c.do, false)
			var more []string
			if c.key != "" {
				more = append(more, "Idempotency-Key: "+c.key)
			}
			res, _ := u.rig.do(c.method, http.NoBody, more...)
			if times, conns := u.asked.Load(), u.conns.Load(); res.StatusCode != c.status || times != c.times || conns > c.conns {
				t.Errorf("%s, asked %d times on %d connections; want %d, %d on %d", res.Status, times, conns, c.status, c.times, c.conns)
			}
			if n := u.rig.script.refunds(); n != 0 {
				t.Errorf("%d charges were given back", n)
			}
		})
	}
}

// One that says goodbye as soon as it is connected to is not connected to without end.
func TestHTTP2UpstreamThatSaysGoodbye(t *testing.T) {
	u := newDenying(t, func(*http2.Framer, uint32, int64) {}, true)
	res, _ := u.rig.do(http.MethodGet, nil)
	if res.StatusCode != http.StatusBadGateway || u.conns.Load() > 100 || u.asked.Load() > 8 {
		t.Errorf("%s, %d connections, asked %d times", res.Status, u.conns.Load(), u.asked.Load())
	}
}

// A denying upstream speaks HTTP/2 and does with the n-th request as it is told.
type denying struct {
	rig          *rig
	do           func(f *http2.Framer, id uint32, n int64)
	goodbye      bool // GOAWAY comes first of all
	asked, conns atomic.Int64
}

func newDenying(t *testing.T, do func(f *http2.Framer, id uint32, n int64), goodbye bool) *denying {
	t.Helper()
	u := &denying{do: do, goodbye: goodbye}
	server, client := certified(t)
	server.NextProtos = []string{"h2"}
	address := accepting(t, func(c net.Conn) { u.serve(tls.Server(c, server)) })
	u.rig = newRig(t, plan{target: "https://" + address, config: proxy.Config{TLS: client}})
	return u
}

func (u *denying) serve(c net.Conn) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	u.conns.Add(1)
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings()
	if u.goodbye {
		_ = f.WriteGoAway(0, http2.ErrCodeNo, nil)
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			u.do(f, frame.StreamID, u.asked.Add(1))
		}
	}
}
