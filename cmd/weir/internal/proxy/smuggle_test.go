package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// S22: whatever two readers might cut in different places is refused, or goes
// on as exactly one request. The next request stands hidden in each.
func TestSmuggling(t *testing.T) {
	const hidden = "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
	const chunked = "Transfer-Encoding: chunked\r\n"
	for name, lines := range map[string]string{
		"length and chunked":       "Content-Length: 6\r\n" + chunked + "\r\n0\r\n\r\n" + hidden,
		"chunked and length":       chunked + "Content-Length: 6\r\n\r\n0\r\n\r\n" + hidden,
		"chunked twice":            chunked + chunked + "\r\n0\r\n\r\n" + hidden,
		"chunked, chunked":         "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + hidden,
		"chunked and identity":     chunked + "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n" + hidden,
		"another coding":           "Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
		"a tab before chunked":     "Transfer-Encoding:\tchunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + hidden,
		"a bare LF after a size":   chunked + "\r\n1\na\r\n0\r\n\r\n" + hidden,
		"a bare LF in an ext.":     chunked + "\r\n1;x\na\r\n0\r\n\r\n" + hidden,
		"a bare LF after a chunk":  chunked + "\r\n1\r\na\n0\r\n\r\n" + hidden,
		"a size too large":         chunked + "\r\nfffffffffffffffff\r\na\r\n0\r\n\r\n" + hidden,
		"a negative size":          chunked + "\r\n-1\r\na\r\n0\r\n\r\n" + hidden,
		"two lengths":              "Content-Length: 0\r\nContent-Length: 35\r\n\r\n" + hidden,
		"two lengths on one line":  "Content-Length: 0, 35\r\n\r\n" + hidden,
		"a length with a sign":     "Content-Length: +0\r\n\r\n" + hidden,
		"a space before the colon": "Content-Length : 35\r\n\r\n" + hidden,
		"a folded line":            "X: y\r\n Content-Length: 35\r\n\r\n" + hidden,
		"a CR in a value":          "X: y\rContent-Length: 35\r\n\r\n" + hidden,
		"a NUL in a value":         "X: y\x00\r\n\r\n" + hidden,
		"underscores":              "Content_Length: 35\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" + hidden,
		"two hosts":                "Host: other\r\n\r\n" + hidden,
		"h2c preface":              "Content-Length: 0\r\nConnection: close\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var mu atomic.Int64
			p := plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if mu.Add(1) > 1 || r.URL.Path != "/" {
					t.Errorf("the upstream got %s", r.RequestURI)
				}
			})}
			p.config.Timeouts.Drain, p.config.Timeouts.Read = 20*time.Millisecond, 50*time.Millisecond
			r := newRig(t, p)
			c := r.dial()
			// The connection is closed after the first request, so that what
			// stands behind its end honestly is not taken for hidden.
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+lines)
			from := bufio.NewReader(c)
			res, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			refused := res.StatusCode == http.StatusBadRequest || res.StatusCode == http.StatusNotImplemented
			if !refused && (res.StatusCode != http.StatusOK || mu.Load() != 1) {
				t.Errorf("%s, the upstream got %d", res.Status, mu.Load())
			}
			if rest, _ := io.ReadAll(from); len(rest) > 0 {
				t.Errorf("and then %q", rest)
			}
		})
	}
}

// A body that is refused on its way is the client's fault, not the upstream's.
func TestBadBody(t *testing.T) {
	r := newRig(t, plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })})
	res, text := r.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n1\na\nnot a size\n")
	if res.StatusCode != http.StatusBadRequest || !res.Close || !strings.Contains(text, "the body broke off") {
		t.Errorf("%s, close %t: %s", res.Status, res.Close, text)
	}
	if got := r.proxy.Stats().BadClients; got != 1 {
		t.Errorf("counted %d", got)
	}
}
