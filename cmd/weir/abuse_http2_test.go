//go:build linux

package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const secureRules = `
version: 1
listen:
  proxy: {address: '127.0.0.1:0', max_conns_per_ip: 100, tls: {cert: cert.pem, key: tls.pem}}
  ops: 127.0.0.1:0
upstream: demo # the environment says
rules:
  - {name: honest, match: /honest, limit: 100000/s}
  - {name: reset, match: /reset, limit: 1000000/day}
`

// A framing speaks HTTP/2 frame by frame.
type framing struct {
	*http2.Framer
	conn net.Conn
}

// frames opens a connection for HTTP/2.
func (a *abuse) frames(t *testing.T, client *tls.Config) framing {
	t.Helper()
	client = client.Clone()
	client.NextProtos = []string{"h2"}
	c, err := tls.DialWithDialer(dialerFrom(attacker), "tcp", a.host("proxy"), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(testPatience))
	f := framing{http2.NewFramer(c, c), c}
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return f
}

// drain reads until the daemon has had enough, and says how it ended.
func (f framing) drain() (end string) {
	for {
		frame, err := f.ReadFrame()
		if goAway, ok := frame.(*http2.GoAwayFrame); ok {
			end = goAway.ErrCode.String()
		}
		if err != nil {
			return end
		}
	}
}

func block(path string, more ...hpack.HeaderField) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "h"}, {Name: ":path", Value: path},
	}
	for _, f := range append(fields, more...) {
		_ = e.WriteField(f)
	}
	return b.Bytes()
}

// What strangers do to a daemon that speaks HTTP/2.
func TestProcessAbuseOfHTTP2(t *testing.T) {
	cert, key, client := certified(t)
	a := attacked(t, secureRules, map[string]string{"cert.pem": cert, "tls.pem": key})
	honestly := func() *http.Client {
		return clientFrom(friend, func(tr *http.Transport) { tr.TLSClientConfig, tr.ForceAttemptHTTP2 = client.Clone(), true })
	}
	for range 200 { // the first handshakes and buffers
		c := honestly()
		if status, err := get(c, a.url("proxy")+"/honest", nil); err != nil || status != http.StatusOK {
			t.Fatal(status, err)
		}
		c.CloseIdleConnections()
	}
	for _, attack := range []struct {
		name string
		run  func(*testing.T, *tls.Config)
	}{
		{"rapid reset", a.rapidReset},
		{"endless header", a.endlessHeader},
		{"settings", a.controlFrames},
		{"ten thousand streams", a.manyStreams},
		{"stalled handshakes", a.stalledHandshakes},
	} {
		a.under(t, honestly(), attack.name, func(t *testing.T) { attack.run(t, client) })
	}
}

// rapidReset opens streams and resets them at once: S23. The charge is made when the
// header has come, so that the limit counts each that was looked at.
func (a *abuse) rapidReset(t *testing.T, client *tls.Config) {
	streams, sent, connections := sized(10_000, 500_000), 0, 0
	began := a.metric(`weir_decisions_total{limit="reset",mode="exact",outcome="allowed",rule="reset",shadow="false"}`)
	ends := map[string]int{}
	for ; sent < streams; connections++ {
		f := a.frames(t, client)
		ended := make(chan string, 1)
		go func() { ended <- f.drain() }()
		for id := uint32(1); sent < streams; id += 2 {
			if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block("/reset"), EndHeaders: true, EndStream: true}) != nil ||
				f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
				break // the daemon has had enough of this one
			}
			sent++
		}
		f.conn.Close()
		ends[<-ended]++
	}
	charged := a.metric(`weir_decisions_total{limit="reset",mode="exact",outcome="allowed",rule="reset",shadow="false"}`) - began
	if charged == 0 || charged > float64(sent+connections) {
		t.Errorf("%d streams, %v decisions", sent, charged)
	}
	t.Logf("%d streams on %d connections, %v decisions, %d reached the upstream; ended by %v", sent, connections, charged, a.reached("/reset"), ends)
}

// endlessHeader goes on with a header in frame after frame: S24. Each connection is
// told to go away, and closed a second later.
func (a *abuse) endlessHeader(t *testing.T, client *tls.Config) {
	const enough = 10_000 // frames, of 8 KiB each
	more := block("/endless", hpack.HeaderField{Name: "x-large", Value: strings.Repeat("x", 8<<10), Sensitive: true})
	var all sync.WaitGroup
	var frames atomic.Int64
	for range sized(20, 90) {
		f := a.frames(t, client)
		ended := make(chan string, 1)
		all.Go(func() { ended <- f.drain() })
		all.Go(func() {
			defer f.conn.Close()
			n, err := 0, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block("/endless"), EndStream: true})
			for ; n < enough && len(ended) == 0 && err == nil; n++ {
				err = f.WriteContinuation(1, false, more)
			}
			if frames.Add(int64(n)); n == enough {
				t.Error("a header of 80 MiB was taken")
			}
		})
	}
	all.Wait()
	if n := a.reached("/endless"); n > 0 {
		t.Errorf("%d reached the upstream", n)
	}
	t.Logf("%d frames were written", frames.Load())
}

// controlFrames sends what must be answered, and reads no answer.
func (a *abuse) controlFrames(t *testing.T, client *tls.Config) {
	n, wanted := sized(100_000, 2_000_000), 0
	for _, write := range []func(f framing) error{
		func(f framing) error {
			return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16})
		},
		func(f framing) error { return f.WritePing(false, [8]byte{}) },
	} {
		f := a.frames(t, client)
		_ = f.conn.SetDeadline(time.Now().Add(5 * time.Second)) // who is not read is not written to for ever
		sent := 0
		for ; sent < n && write(f) == nil; sent++ {
			continue
		}
		wanted += sent
		f.conn.Close()
	}
	t.Logf("%d frames were taken", wanted)
}

// manyStreams opens as many requests at once as it can.
func (a *abuse) manyStreams(t *testing.T, client *tls.Config) {
	f := a.frames(t, client)
	var mu sync.Mutex
	answers := map[string]int{}
	ended := make(chan struct{})
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	go func() {
		defer close(ended)
		for {
			frame, err := f.ReadFrame()
			var stream http2.StreamError
			switch {
			case errors.As(err, &stream):
			case err != nil:
				return
			}
			mu.Lock()
			switch frame := frame.(type) {
			case *http2.MetaHeadersFrame:
				answers[frame.PseudoValue("status")]++
			case *http2.RSTStreamFrame:
				answers[frame.ErrCode.String()]++
			case *http2.GoAwayFrame:
				answers[frame.ErrCode.String()]++
			}
			mu.Unlock()
		}
	}()
	const streams = 10_000
	sent := 0
	for ; sent < streams; sent++ {
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*sent + 1), BlockFragment: block("/honest"), EndHeaders: true, EndStream: true}) != nil {
			break
		}
	}
	sum := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range answers {
			n += c
		}
		return n
	}
	within(2*time.Second, func() bool { return sum() >= sent })
	f.conn.Close()
	<-ended
	for word, n := range answers {
		if status, err := strconv.Atoi(word); err == nil && status != http.StatusOK {
			t.Errorf("%d answers of status %s", n, word)
		}
	}
	if answers["200"] == 0 {
		t.Errorf("no stream was answered: %v", answers)
	}
	t.Logf("%d of %d streams were sent: %v", sent, streams, answers)
}

// stalledHandshakes connects and does not go on: S25.
func (a *abuse) stalledHandshakes(t *testing.T, _ *tls.Config) {
	refused := func() float64 {
		return a.metric(`weir_listener_refused_total{bound="max_conns_per_ip",listener="proxy"}`)
	}
	before := refused()
	const clients, allowed = 200, 100
	for i := range clients {
		c, err := a.open("proxy", attacker)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, []string{"", "\x16\x03\x01", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}[i%3])
	}
	if !within(testPatience, func() bool { return refused()-before >= clients-allowed }) {
		t.Errorf("%v connections were closed, want %d", refused()-before, clients-allowed)
	}
	if sized(0, 1) == 0 {
		return
	}
	a.alone(t) // the daemon has closed them all
}
