package proxy_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A framer speaks HTTP/2 frame by frame.
type framer struct {
	*http2.Framer
	conn *tls.Conn
}

func (r *rig) framer(config *tls.Config) framer {
	r.t.Helper()
	config = config.Clone()
	config.NextProtos = []string{"h2"}
	c, err := tls.Dial("tcp", r.address, config)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		r.t.Fatal(err)
	}
	f := framer{http2.NewFramer(c, c), c}
	if err := f.WriteSettings(); err != nil {
		r.t.Fatal(err)
	}
	return f
}

func headers(path string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [...][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "h"}, {":path", path}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return b.Bytes()
}

// ask opens a stream.
func (f framer) ask(id uint32, path string) error {
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(path), EndHeaders: true, EndStream: true})
}

// S23: streams that are reset as soon as they are opened cost at most a decision
// each, and nobody else notices.
func TestRapidReset(t *testing.T) {
	server, client := certified(t)
	p := plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			<-r.Context().Done()
		}
	})}
	p.listen.TLS = server
	r := newRig(t, p)
	f := r.framer(client)
	go func() { // or the server could not write
		for {
			if _, err := f.ReadFrame(); err != nil {
				return
			}
		}
	}()
	const streams = 1000
	for i := range uint32(streams) {
		id := 2*i + 1
		if f.ask(id, "/reset") != nil || f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break // the server has had enough of us
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/other", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := roundTrip(t, &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, req); res.StatusCode != http.StatusOK {
		t.Errorf("another client: %s", res.Status)
	}
	if n := len(r.script.asked()); n > streams+1 {
		t.Errorf("decided %d", n)
	}
}

// S24: a header without an end, in ever more frames, is refused and costs no
// decision.
func TestContinuationFlood(t *testing.T) {
	server, client := certified(t)
	p := plan{}
	p.listen.TLS = server
	r := newRig(t, p)
	f := r.framer(client)
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers("/x"), EndStream: true}); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	_ = e.WriteField(hpack.HeaderField{Name: "x-large", Value: string(bytes.Repeat([]byte("x"), 8<<10)), Sensitive: true})
	ended := make(chan string, 1)
	go func() { ended <- f.answer(t) }()
	sent := 0
	for ; sent < 10_000 && f.WriteContinuation(1, false, b.Bytes()) == nil; sent++ {
		continue
	}
	if status := receive(t, ended); status == "200" || sent == 10_000 {
		t.Errorf("%d frames were taken: %s", sent, status)
	}
	if n := len(r.script.asked()); n != 0 {
		t.Errorf("decided %d", n)
	}
}

// S15: a path without its slash, or a whole URL, is no path of HTTP/2.
func TestPathsOfHTTP2(t *testing.T) {
	server, client := certified(t)
	p := plan{}
	p.listen.TLS = server
	r := newRig(t, p)
	for _, path := range []string{"Svc/M", "", "*", "https://h/x", "h/x", "/login x", "/login HTTP/1.1", "/o?a b", "/a\tb"} {
		f := r.framer(client)
		if err := f.ask(1, path); err != nil {
			t.Fatal(err)
		}
		if status := f.answer(t); status == "200" {
			t.Errorf("path %q is served", path)
		}
	}
	if n := len(r.script.asked()); n != 0 {
		t.Errorf("decided %d", n)
	}
}

// answer is the status of stream 1, or how it ended otherwise.
func (f framer) answer(t *testing.T) string {
	t.Helper()
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return err.Error()
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return frame.Header().Type.String()
		}
	}
}
