//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A raw connection sends bytes as they are.
type raw struct {
	net.Conn
	in *bufio.Reader
}

// open connects to a listener of the daemon.
func (p *testProcess) open(listener, from string) (*raw, error) {
	conn, err := dialerFrom(from).Dial("tcp", p.host(listener))
	if err != nil {
		return nil, err
	}
	return &raw{conn, bufio.NewReader(conn)}, conn.SetDeadline(time.Now().Add(testPatience))
}

// mustOpen connects, or ends the test.
func (p *testProcess) mustOpen(listener, from string) *raw {
	p.Helper()
	c, err := p.open(listener, from)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { c.Close() })
	return c
}

// ask sends a request and reads the answer.
func (c *raw) ask(request string) (*http.Response, error) {
	_ = c.SetDeadline(time.Now().Add(testPatience))
	if _, err := io.WriteString(c, request); err != nil {
		return nil, err
	}
	return c.answer()
}

// answer reads an answer to its end.
func (c *raw) answer() (*http.Response, error) {
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// A flood is many requests over some connections, each of which waits for its
// answers.
type flood struct {
	listener, from string
	connections    int
	requests       int
	request        func(i int) string
	got            func(i, status int) // status 0: no answer; nil looks at none
}

// pour sends a flood. A connection that the daemon closes is opened anew.
func (p *testProcess) pour(f flood) {
	p.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range f.connections {
		all.Go(func() {
			var c *raw
			for i := int(next.Add(1)) - 1; i < f.requests; i = int(next.Add(1)) - 1 {
				status := 0
				if c == nil {
					c, _ = p.open(f.listener, f.from) // nil is tried again with the next
				}
				if c != nil {
					res, err := c.ask(f.request(i))
					if err == nil {
						status = res.StatusCode
					}
					if err != nil || res.Close {
						c.Close()
						c = nil
					}
				}
				if f.got != nil {
					f.got(i, status)
				}
			}
			if c != nil {
				c.Close()
			}
		})
	}
	all.Wait()
}

// A tally counts answers by status.
type tally struct {
	mu sync.Mutex
	by map[int]int
}

func (c *tally) add(_, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[int]int{}
	}
	c.by[status]++
}

// only checks that no other statuses came.
func (c *tally) only(t *testing.T, statuses ...int) {
	t.Helper()
	rest := 0
	for status, n := range c.by {
		rest += n
		for _, s := range statuses {
			if s == status {
				rest -= n
			}
		}
	}
	if rest > 0 || len(c.by) == 0 {
		t.Errorf("answers by status: %v, want only %v", c.by, statuses)
	}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// publicPEM is the public half of a key, as jwt.keys takes it.
func publicPEM(t *testing.T, key *ecdsa.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// signed is a token for a subject, by ES256.
func signed(t *testing.T, key *ecdsa.PrivateKey, subject string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"ES256","typ":"JWT"}`)) + "." + encode(fmt.Appendf(nil, `{"sub":%q}`, subject))
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature[:])
}

// certified makes the files of a certificate for the loopback address, and what a
// client needs to trust it.
func certified(t *testing.T) (cert, key string, client *tls.Config) {
	t.Helper()
	private := newKey(t)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "weir"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:         true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(cert))
	return cert, key, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}
