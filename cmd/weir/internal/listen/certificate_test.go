package listen_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

// today is when the certificates of these tests are looked at; they hold for an
// hour before and after it.
func today() time.Time { return time.Unix(1_796_025_966, 0) }

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// signed makes a certificate of a name, signed by an authority or, with nil, by
// its own key.
func signed(t testing.TB, by *authority, name string, serial int64, key *ecdsa.PrivateKey, ca bool) *x509.Certificate {
	t.Helper()
	made := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             today().Add(-time.Hour),
		NotAfter:              today().Add(time.Hour),
		IsCA:                  ca,
		BasicConstraintsValid: true,
	}
	if !ca {
		made.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	parent := &authority{made, key}
	if by != nil {
		parent = by
	}
	der, err := x509.CreateCertificate(rand.Reader, made, parent.cert, key.Public(), parent.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key := newKey(t)
	return &authority{signed(t, nil, name, 1, key, true), key}
}

func pool(list ...*x509.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	for _, cert := range list {
		p.AddCert(cert)
	}
	return p
}

// shown is what a connection is known by whose client has shown these, the CA last.
func shown(chain ...*x509.Certificate) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: chain[:len(chain)-1], VerifiedChains: [][]*x509.Certificate{chain}}
}

// A connection passes where a handshake would accept now what it has shown, and
// only there.
func TestACertificateIsLookedAtAgain(t *testing.T) {
	a, b := newAuthority(t, "a"), newAuthority(t, "b")
	renewed := signed(t, nil, "a", 2, a.key, true) // the same key
	namesake := newAuthority(t, "a")               // another one
	middle := &authority{key: newKey(t)}
	middle.cert = signed(t, a, "middle", 3, middle.key, true)
	leaf := signed(t, a, "leaf", 4, newKey(t), false)
	deep := signed(t, middle, "deep", 5, newKey(t), false)
	two := shown(leaf, a.cert) // chains, of which the second holds
	two.VerifiedChains = append([][]*x509.Certificate{{leaf, b.cert}}, two.VerifiedChains...)
	for _, test := range []struct {
		name   string
		state  *tls.ConnectionState
		cas    *x509.CertPool
		later  time.Duration
		passes bool
	}{
		{"no TLS", nil, pool(a.cert), 0, false},
		{"no certificate", &tls.ConnectionState{}, pool(a.cert), 0, false},
		{"one that nobody verified", &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}, pool(a.cert), 0, false},
		{"as it was", shown(leaf, a.cert), pool(a.cert), 0, true},
		{"over another", shown(deep, middle.cert, a.cert), pool(a.cert), 0, true},
		{"a CA was added", shown(leaf, a.cert), pool(b.cert, a.cert), 0, true},
		{"the CA was replaced", shown(leaf, a.cert), pool(b.cert), 0, false},
		{"the CA was renewed", shown(leaf, a.cert), pool(renewed), 0, true},
		{"over another, and renewed", shown(deep, middle.cert, a.cert), pool(renewed), 0, true},
		{"a CA of the same name", shown(leaf, a.cert), pool(namesake.cert), 0, false},
		{"the CA is the one between", shown(deep, middle.cert, a.cert), pool(middle.cert), 0, true},
		{"and not that of others", shown(leaf, a.cert), pool(middle.cert), 0, false},
		{"one of two", two, pool(a.cert), 0, true},
		{"no CA at all", shown(leaf, a.cert), pool(), 0, false},
		{"it has run out", shown(leaf, a.cert), pool(a.cert), 2 * time.Hour, false},
		{"it does not hold yet", shown(leaf, a.cert), pool(a.cert), -2 * time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := listen.RequireCertificate(test.cas, func() time.Time { return today().Add(test.later) }, http.HandlerFunc(ok))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
			r.TLS = test.state
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			switch {
			case test.passes && w.Code != http.StatusOK:
				t.Errorf("%d: %s", w.Code, w.Body)
			case !test.passes && (w.Code != http.StatusMisdirectedRequest || w.Header().Get("Connection") != "close" ||
				w.Header().Get("Content-Type") != "application/problem+json"):
				t.Errorf("%d %v: %s", w.Code, w.Header(), w.Body)
			}
		})
	}
}

// Who is sent away holds no connection by a body that never comes, at a listener
// without a deadline of its own.
func TestWhoIsSentAwayIsNotWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		guard  func(http.Handler) http.Handler
		status int
	}{
		"certificate": {func(h http.Handler) http.Handler { return listen.RequireCertificate(pool(), today, h) }, http.StatusMisdirectedRequest},
		"token":       {func(h http.Handler) http.Handler { return listen.RequireToken("s3cret", h) }, http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t, listen.Config{Streams: true})
			serve(t, l, test.guard(http.HandlerFunc(ok)).ServeHTTP)
			for _, rest := range []string{
				"Content-Length: 100\n\n", "Content-Length: 100\n\nhalf of it", "Content-Length: 4\n\nbody",
				"Transfer-Encoding: chunked\n\n", "Transfer-Encoding: chunked\n\n5\nab", "Content-Length: 100\nExpect: 100-continue\n\n",
			} {
				c := dial(t, l)
				send(t, c, "POST / HTTP/1.1\nHost: h\n"+rest)
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || res.StatusCode != test.status {
					t.Fatalf("%q: %v %v", rest, res, err)
				}
				ends(t, rest, c)
			}
		})
	}
}

func BenchmarkCertificate(b *testing.B) {
	a := newAuthority(b, "a")
	leaf := signed(b, a, "leaf", 2, newKey(b), false)
	renewed := signed(b, nil, "a", 3, a.key, true)
	for name, cas := range map[string]*x509.CertPool{"same": pool(a.cert), "renewed": pool(renewed)} {
		b.Run(name, func(b *testing.B) {
			h := listen.RequireCertificate(cas, today, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
			r.TLS = shown(leaf, a.cert)
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
