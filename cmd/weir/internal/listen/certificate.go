package listen

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// RequireCertificate lets only requests through whose connection has shown a
// certificate that these CAs vouch for at the time of the request. The handshake
// has looked already, but at the CAs of its own time: connections may be open for
// longer than those hold. Others are answered 421, and closed, so that whoever has
// a certificate comes again and shows it. cas are not changed any more.
//
// It costs half a microsecond a request; where the CAs have been renewed since the
// handshake, as much as the handshake's own look.
func RequireCertificate(cas *x509.CertPool, now func() time.Time, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if vouched(r.TLS, cas, now()) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close") // of HTTP/2 as well: net/http takes no new request on it
		leaveBody(w, r)
		problem.Write(w, r, problem.Problem{
			Status: http.StatusMisdirectedRequest,
			Detail: "this listener wants a client certificate that this connection has not shown; open another one",
		})
	})
}

// leaveBody gets ready for an answer to somebody whose body nobody wants, where the
// request goes no further. Over HTTP/1 net/http would read some of it before it
// answers, for as long as the client likes where the listener has no deadline of its
// own; now it reads no more, and closes the connection. HTTP/2 resets the stream.
func leaveBody(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 1 || r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(0, 1)) // long ago; a writer of a test knows none
}

// vouched reports whether a handshake of now would accept what a connection has
// shown, nil for one without TLS.
func vouched(c *tls.ConnectionState, cas *x509.CertPool, now time.Time) bool {
	if c == nil || len(c.VerifiedChains) == 0 {
		return false
	}
	for _, chain := range c.VerifiedChains {
		if current(chain, now) && holds(cas, chain[len(chain)-1], now) {
			return true
		}
	}
	others := x509.NewCertPool()
	for _, cert := range c.PeerCertificates[1:] {
		others.AddCert(cert)
	}
	_, err := c.PeerCertificates[0].Verify(x509.VerifyOptions{
		Roots: cas, Intermediates: others, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}

// current reports whether no certificate of a chain has run out.
func current(chain []*x509.Certificate, now time.Time) bool {
	for _, cert := range chain {
		if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
			return false
		}
	}
	return true
}

// holds reports whether a CA is one of these itself, and not signed by one: the
// whole chain has been verified then. A pool does not say so in fewer words.
func holds(cas *x509.CertPool, ca *x509.Certificate, now time.Time) bool {
	chains, err := ca.Verify(x509.VerifyOptions{Roots: cas, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err == nil && len(chains) == 1 && len(chains[0]) == 1
}
