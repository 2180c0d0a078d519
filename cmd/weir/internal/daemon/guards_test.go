package daemon_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
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
