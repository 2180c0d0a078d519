package daemon_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
)

const secret = "aaaaaaaaaaaaaaaa"

// here is the way to a listener of all interfaces, over loopback.
func (r *rig) here(name string) string {
	r.Helper()
	url := r.log.url(name)
	_, port, err := net.SplitHostPort(url[strings.LastIndex(url, "/")+1:])
	if err != nil {
		r.Fatalf("%s listens at %q: %v", name, url, err)
	}
	return url[:strings.Index(url, "//")+2] + "127.0.0.1:" + port
}

// toldToRestart reports whether a field was said to need a restart.
func (r *rig) toldToRestart(field string) bool {
	return strings.Contains(r.log.String(), fmt.Sprintf(`"field":%q`, field))
}

// TestTheGuardStaysWithTheSocket changes a listener of all interfaces to one of
// loopback, which the socket does not follow, without the token. A file that
// means the socket as it is has its way.
func TestTheGuardStaysWithTheSocket(t *testing.T) {
	f := func(listener, before, after string, kept bool) {
		t.Helper()
		listeners := func(text string) string { return "version: 1\nlisten: {" + listener + ": " + text + "}\n" }
		r := newRig(t, listeners(before))
		r.begin(r.config())
		url, want := r.here(listener)+"/nowhere", http.StatusUnauthorized
		r.want(want, "", url)
		for n := range 2 { // what is kept once is kept on
			r.write("weir.yaml", listeners(after)+strings.Repeat("memory: {max_keys: 5000}\n", n))
			r.tick(2)
			if !kept {
				want = http.StatusNotFound
			}
			r.want(want, "", url)
			r.want(http.StatusNotFound, "", url, "Authorization", "Bearer "+secret)
		}
		if field := "listen." + listener + ".token"; r.toldToRestart(field) != kept {
			t.Errorf("from %s to %s: told that %s needs a restart: %t\n%s", before, after, field, !kept, &r.log)
		}
	}
	const wide, narrow = "{address: '0.0.0.0:0', token: " + secret + "}", "{address: '127.0.0.1:0', token: " + secret + "}"
	f("http", wide, "'127.0.0.1:0'", true)
	f("http", wide, "'unix:weir.sock'", true)
	f("http", wide, "{address: '0.0.0.0:0', open: true}", false)
	f("http", wide, "{address: '127.0.0.1:0', open: true}", true) // open means another address
	f("http", narrow, "'127.0.0.1:0'", false)
	f("ops", wide, "'127.0.0.1:0'", true)
	f("ops", wide, "'0.0.0.0:0'", false) // that is what the file says of this very socket
}

// TestAClientCAThatGuardsNothing comes in the place of a token, at a socket that
// does not speak TLS.
func TestAClientCAThatGuardsNothing(t *testing.T) {
	r := newRig(t, "version: 1\nlisten: {http: {address: '0.0.0.0:0', token: "+secret+"}}\n")
	cert, key := certificate(t, 1)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.begin(r.config())
	r.write("weir.yaml", "version: 1\nlisten: {http: {address: '0.0.0.0:0', tls: {cert: cert.pem, key: key.pem, client_ca: cert.pem}}}\n")
	r.tick(2)
	r.want(http.StatusUnauthorized, "", r.here("http")+"/nowhere")
	if !r.toldToRestart("listen.http.token") {
		t.Error(&r.log)
	}
}

// TestTheClientCAStaysWithTheSocket drops the CA along with the address, and
// renews the certificate, which is taken.
func TestTheClientCAStaysWithTheSocket(t *testing.T) {
	rules := func(address, more string) string {
		return "version: 1\nlisten: {http: {address: '" + address + "', tls: {cert: cert.pem, key: key.pem" + more + "}}}\n"
	}
	r := newRig(t, rules("0.0.0.0:0", ", client_ca: ca.pem"))
	cert, key := certificate(t, 1)
	r.write("ca.pem", cert)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.begin(r.config())
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	cert, key = certificate(t, 2)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.write("weir.yaml", rules("127.0.0.1:0", ""))
	r.tick(2)
	wantSerial(t, strings.TrimPrefix(r.here("http"), "https://"), 2)
	if res, err := client.Get(r.here("http") + "/nowhere"); err == nil {
		res.Body.Close()
		t.Errorf("served without a certificate: %s", res.Status)
	}
	if !r.toldToRestart("listen.http.tls.client_ca") {
		t.Error(&r.log)
	}
}

// visitor asks on one connection for as long as it is open.
type visitor struct {
	*http.Client
	again bool // the last answer came on the same connection as the one before
}

// visits makes a visitor of a listener who shows a certificate, or none.
func (r *rig) visits(two bool, shows ...tls.Certificate) *visitor {
	tr := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: shows}, ForceAttemptHTTP2: two,
	}
	r.Cleanup(tr.CloseIdleConnections)
	return &visitor{Client: &http.Client{Transport: tr}}
}

// ask gives the status of an answer, 0 where there is none.
func (v *visitor) ask(t *testing.T, url string) int {
	t.Helper()
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { v.again = c.Reused }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := v.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

// TestOpenConnectionsMeetTheNewClientCA changes what a listener demands while
// connections are open: they get what a new connection would, and are closed where
// that is nothing.
func TestOpenConnectionsMeetTheNewClientCA(t *testing.T) {
	certA, keyA := certificate(t, 1)
	certB, keyB := certificate(t, 2)
	pair := func(cert, key string) tls.Certificate {
		made, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	none, a, b := []tls.Certificate(nil), []tls.Certificate{pair(certA, keyA)}, []tls.Certificate{pair(certB, keyB)}
	const (
		token = "}, token: " + secret
		caA   = ", client_ca: a.pem}"
		caB   = ", client_ca: b.pem}"
		both  = ", client_ca: both.pem}"
	)
	for _, test := range []struct {
		name, listener, before, after, path string
		shows                               []tls.Certificate
		first, then                         int // on one connection
		come                                int // on a new one
	}{
		{"a token to a CA", "http", token, caA, "/nowhere", none, 401, 421, 0},
		{"a token to a CA, with a certificate", "http", token, caA, "/nowhere", a, 401, 421, 404},
		{"nothing to a CA", "proxy", "}", caA, "/", none, 200, 421, 0},
		{"another CA", "http", caA, caB, "/nowhere", a, 404, 421, 0},
		{"another CA at the proxy", "proxy", caA, caB, "/", a, 200, 421, 0},
		{"one of both CAs goes", "http", both, caB, "/nowhere", a, 404, 421, 0},
		{"the other stays", "http", both, caB, "/nowhere", b, 404, 404, 404},
		{"a CA is added", "http", caA, both, "/nowhere", a, 404, 404, 404},
		{"a CA is added to a token", "ops", token, caA + ", token: " + secret, "/healthz", none, 200, 421, 0},
		{"a CA to a token", "http", caA, token, "/nowhere", a, 404, 401, 401},
	} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %t", test.name, two), func(t *testing.T) {
				rules := func(guard string) string {
					return "version: 1\nupstream: demo\nlisten: {" + test.listener + ": {address: '0.0.0.0:0', tls: {cert: a.pem, key: key.pem" + guard + "}}\n"
				}
				r := newRig(t, rules(test.before))
				r.write("a.pem", certA)
				r.write("key.pem", keyA)
				r.write("b.pem", certB)
				r.write("both.pem", certA+certB)
				r.begin(r.config())
				url := r.here(test.listener) + test.path
				v := r.visits(two, test.shows...)
				if got := v.ask(t, url); got != test.first {
					t.Fatalf("at first: %d, want %d", got, test.first)
				}
				r.write("weir.yaml", rules(test.after))
				r.tick(2)
				if got := v.ask(t, url); got != test.then || !v.again {
					t.Errorf("then: %d, want %d; on the same connection: %t\n%s", got, test.then, v.again, &r.log)
				}
				if got := v.ask(t, url); got != test.come || v.again == (test.then == 421) {
					t.Errorf("after it: %d, want %d; on the same connection: %t", got, test.come, v.again)
				}
				if got := r.visits(two, test.shows...).ask(t, url); got != test.come {
					t.Errorf("to somebody new: %d, want %d", got, test.come)
				}
			})
		}
	}
}

// TestAKeptClientCAIsLookedAt has a guard that stays for the sake of the socket,
// which a connection of its time has passed and may pass on.
func TestAKeptClientCAIsLookedAt(t *testing.T) {
	rules := func(address, more string) string {
		return "version: 1\nlisten: {http: {address: '" + address + "', tls: {cert: cert.pem, key: key.pem" + more + "}}}\n"
	}
	r := newRig(t, rules("0.0.0.0:0", ", client_ca: cert.pem"))
	cert, key := certificate(t, 1)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.begin(r.config())
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	v := r.visits(true, pair)
	for i, address := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		r.write("weir.yaml", rules(address, []string{", client_ca: cert.pem", ""}[i])+"rules: []\n")
		r.tick(2)
		if got := v.ask(t, r.here("http")+"/nowhere"); got != 404 || v.again != (i > 0) {
			t.Errorf("with its CA kept: %d, on the same connection: %t", got, v.again)
		}
	}
	if got := r.visits(true).ask(t, r.here("http")+"/nowhere"); got != 0 {
		t.Errorf("without a certificate: %d", got)
	}
}

// TestAClientCABehindAPlainSocket is for a restart: nobody could show a
// certificate before it.
func TestAClientCABehindAPlainSocket(t *testing.T) {
	r := newRig(t, "version: 1\nlisten: {http: '127.0.0.1:0'}\n")
	cert, key := certificate(t, 1)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.begin(r.config())
	r.write("weir.yaml", "version: 1\nlisten: {http: {address: '127.0.0.1:0', tls: {cert: cert.pem, key: key.pem, client_ca: cert.pem}}}\n")
	r.tick(2)
	r.want(http.StatusNotFound, "", r.here("http")+"/nowhere")
	if !r.toldToRestart("listen.http.tls") {
		t.Error(&r.log)
	}
}
