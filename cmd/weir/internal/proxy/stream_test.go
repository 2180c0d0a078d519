package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Events arrive one by one, and a stream that is silent for longer than a write
// may take goes on: by HTTP/1 and by HTTP/2.
func TestEventsArriveOneByOne(t *testing.T) {
	byEach(t, func(t *testing.T, tls *tls.Config, tr *http.Transport) {
		next := make(chan string)
		p := plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for event := range next {
				fmt.Fprintf(w, "data: %s\n\n", event)
				_ = http.NewResponseController(w).Flush()
			}
		})}
		p.config.Timeouts.Write = outlasted
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
		from := bufio.NewReader(res.Body)
		for _, event := range []string{"one", "two"} {
			<-time.After(2 * p.config.Timeouts.Write) // silence is what is tested
			next <- event
			for _, want := range []string{"data: " + event + "\n", "\n"} {
				if line, err := from.ReadString('\n'); err != nil || line != want {
					t.Fatalf("got %q, %v", line, err)
				}
			}
		}
		close(next)
		if rest, err := io.ReadAll(from); err != nil || len(rest) > 0 {
			t.Errorf("at the end %q, %v", rest, err)
		}
		res.Body.Close()
		tr.CloseIdleConnections()
	})
}

// A large upload is streamed: the upstream has read its beginning before the
// client has sent its end.
func TestUploadIsStreamed(t *testing.T) {
	const size = 8 << 20
	begun, total := make(chan struct{}), make(chan int64, 1)
	r := newRig(t, plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 1000))
		close(begun)
		n, _ := io.Copy(io.Discard, r.Body)
		total <- n + 1000
	})})
	c := r.dial()
	write(t, c, fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Length: %d\n\n", size))
	part := strings.Repeat("x", size/8)
	for i := range 8 {
		if i == 1 {
			receive(t, begun)
		}
		write(t, c, part)
	}
	res, _ := answerOf(t, bufio.NewReader(c), http.MethodPost)
	if n := receive(t, total); n != size || res.StatusCode != http.StatusOK || res.Close {
		t.Errorf("upstream got %d; %s, close %t", n, res.Status, res.Close)
	}
}

// Both directions at once: each part is answered before the next is sent.
func TestStreamsBothWays(t *testing.T) {
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		_ = control.Flush()
		for buffer := make([]byte, 4); ; {
			n, err := r.Body.Read(buffer)
			_, _ = w.Write(buffer[:n])
			_ = control.Flush()
			if err != nil {
				return
			}
		}
	})})
	c := r.dial()
	write(t, c, "POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n")
	from := bufio.NewReader(c)
	res, err := http.ReadResponse(from, nil)
	if err != nil || !res.Close {
		t.Fatalf("%v %v", res, err)
	}
	for _, part := range []string{"ping", "pong"} {
		write(t, c, "4\n"+part+"\n")
		got := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != part {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	write(t, c, "0\n\n")
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Errorf("at the end %q, %v", rest, err)
	}
}

// An upstream that answers without the body is heard at once, and what comes of
// the body afterwards is no request.
func TestEarlyAnswer(t *testing.T) {
	p := plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // or net/http waits for the body
		w.WriteHeader(http.StatusForbidden)
	})}
	p.config.Timeouts.Drain = 20 * time.Millisecond
	r := newRig(t, p)
	for _, announce := range []string{"Content-Length: 100000", "Transfer-Encoding: chunked"} {
		c := r.dial()
		write(t, c, "POST / HTTP/1.1\nHost: h\n"+announce+"\n\n")
		from := bufio.NewReader(c)
		res, _ := answerOf(t, from, http.MethodPost)
		if res.StatusCode != http.StatusForbidden || !res.Close {
			t.Errorf("%s: %s, close %t", announce, res.Status, res.Close)
		}
		_, _ = io.WriteString(c, "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
		if _, err := from.ReadByte(); err == nil || os.IsTimeout(err) {
			t.Errorf("%s: the connection goes on: %v", announce, err)
		}
	}
	if n := len(r.script.asked()); n != 2 {
		t.Errorf("decided %d", n)
	}
}

// The client is asked for its body when the upstream asks, or reads.
func TestContinue(t *testing.T) {
	r := newRig(t, plan{upstream: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })})
	c := r.dial()
	write(t, c, "POST / HTTP/1.1\nHost: h\nContent-Length: 4\nExpect: 100-continue\n\n")
	from := bufio.NewReader(c)
	if line, err := from.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = from.ReadString('\n')
	write(t, c, "body")
	if res, text := answerOf(t, from, http.MethodPost); text != "body" || res.Close {
		t.Errorf("%s %q, close %t", res.Status, text, res.Close)
	}
}

// echo answers an upgrade and sends back what it reads.
func echo(upgraded chan<- http.Header) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		upgraded <- r.Header
		if r.Header.Get("Upgrade") == "" {
			return
		}
		c, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n")
		_, _ = io.Copy(c, buffered)
	})
}

// A WebSocket is let through, decided once, and outlives all deadlines.
func TestUpgrade(t *testing.T) {
	came := make(chan http.Header, 1)
	p := plan{upstream: echo(came)}
	p.config.Timeouts.Read, p.config.Timeouts.Write = outlasted, outlasted
	r := newRig(t, p)
	c := r.dial()
	write(t, c, "GET /chat HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\n\n")
	from := bufio.NewReader(c)
	res, err := http.ReadResponse(from, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", res, err)
	}
	field(t, res.Header, "X-RateLimit-Remaining", "4")
	field(t, res.Header, "Upgrade", "websocket")
	for _, message := range []string{"one", "two"} {
		<-time.After(2 * p.config.Timeouts.Write) // silence is what is tested
		write(t, c, message)
		got := make([]byte, len(message))
		if _, err := io.ReadFull(from, got); err != nil || string(got) != message {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	if n := len(r.script.asked()); n != 1 {
		t.Errorf("decided %d", n)
	}
}

// S21: an upgrade to HTTP/2 would carry requests past the decider.
func TestNoUpgradeToHTTP2(t *testing.T) {
	for _, protocols := range []string{"h2c", "H2C", "websocket, h2c", "HTTP/2.0", "TLS/1.2", "h2"} {
		came := make(chan http.Header, 1)
		r := newRig(t, plan{upstream: echo(came)})
		res, _ := r.send("GET / HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: " + protocols + "\nHTTP2-Settings: AAMAAABk\n\n")
		up := receive(t, came)
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", protocols, res.Status)
		}
		for _, name := range []string{"Upgrade", "Connection", "HTTP2-Settings"} {
			field(t, up, name, "")
		}
	}
	came := make(chan http.Header, 1)
	r := newRig(t, plan{upstream: echo(came)})
	res, _ := r.send("GET / HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websock\u00e9t\n\n")
	if res.StatusCode != http.StatusBadRequest || len(came) > 0 {
		t.Errorf("a protocol without a name: %s", res.Status)
	}
}
