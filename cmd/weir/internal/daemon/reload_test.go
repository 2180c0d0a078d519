package daemon_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReloadWhileServing changes limits, fields, the upstream and a token: what
// comes next meets all of it.
func TestReloadWhileServing(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("another upstream")) }))
	defer other.Close()
	rules := func(upstream, token, more string) string {
		return "version: 1\nlisten: {proxy: '127.0.0.1:0', ops: {address: '127.0.0.1:0', token: " + token + "}}\nupstream: " + upstream + "\n" + more
	}
	const first, second = "aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"
	r := newRig(t, rules("demo", first, ""))
	r.begin(r.config())
	ops, proxy := r.log.url("ops")+"/metrics", r.log.url("proxy")
	r.want(401, "", ops)
	r.want(200, "", ops, "Authorization", "Bearer "+first)
	r.want(200, "weir demo", proxy)

	r.write("weir.yaml", rules(other.URL, second, "rules: [{name: closed, match: GET /closed, limit: deny}]\n"))
	r.tick(2)
	r.want(401, "", ops, "Authorization", "Bearer "+first)
	r.want(200, "", ops, "Authorization", "Bearer "+second)
	r.want(200, "another upstream", proxy)
	r.want(403, "", proxy+"/closed")

	r.write("weir.yaml", rules(other.URL, second, "rules: [{name: closed, match: GET /closed, limit: denied}]\n"))
	r.tick(2)
	r.want(200, `"ready":true,"last_reload_error":"`, strings.Replace(ops, "metrics", "readyz", 1), "Authorization", "Bearer "+second)
	r.want(403, "", proxy+"/closed")
}

// TestListenerThatIsNamedNoMore goes on until a restart, by what it was.
func TestListenerThatIsNamedNoMore(t *testing.T) {
	r := newRig(t, open+"demo\n")
	r.begin(r.config())
	r.write("weir.yaml", "version: 1\nlisten: {http: '127.0.0.1:0'}\nrules: [{name: closed, match: GET /closed, limit: deny}]\n")
	r.tick(2)
	r.want(200, "weir demo", r.log.url("proxy"))
	r.want(403, "", r.log.url("proxy")+"/closed")
	r.want(200, "", r.log.url("ops")+"/readyz")
	for _, field := range []string{"listen.proxy", "listen.http", "listen.ops"} {
		if !strings.Contains(r.log.String(), fmt.Sprintf(`"field":%q`, field)) {
			t.Errorf("not told that %s needs a restart:\n%s", field, &r.log)
		}
	}
}

// TestCertificate changes the files of a listener's certificate, first one of the
// pair and then the other, as whoever renews them does.
func TestCertificate(t *testing.T) {
	r := newRig(t, "version: 1\nupstream: demo\nlisten:\n  ops: 127.0.0.1:0\n  proxy: {address: '127.0.0.1:0', tls: {cert: cert.pem, key: key.pem}}\n")
	cert, key := certificate(t, 1)
	r.write("cert.pem", cert)
	r.write("key.pem", key)
	r.begin(r.config())
	address := strings.TrimPrefix(r.log.url("proxy"), "https://")
	wantSerial(t, address, 1)

	cert, key = certificate(t, 2)
	r.write("cert.pem", cert)
	r.tick(2)
	wantSerial(t, address, 1) // the pair does not fit
	r.write("key.pem", key)
	r.tick(2)
	wantSerial(t, address, 2)
}

// certificate makes one for loopback, with its key.
func certificate(t *testing.T, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, made, made, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// wantSerial shakes hands, and checks which certificate it is and that HTTP/2 is
// spoken.
func wantSerial(t *testing.T, address string, want int64) {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := c.ConnectionState()
	if got := s.PeerCertificates[0].SerialNumber.Int64(); got != want || s.NegotiatedProtocol != "h2" {
		t.Errorf("certificate %d, want %d; protocol %q", got, want, s.NegotiatedProtocol)
	}
}

// TestSwitchFile turns the switch while requests come, without watching anything
// else.
func TestSwitchFile(t *testing.T) {
	r := newRig(t, open+"demo\nrules: [{name: closed, limit: deny}]\n")
	c := r.config()
	c.SwitchFile, c.Watch = filepath.Join(r.dir, "switch"), false
	r.begin(c)
	f := func(position string, status int, state string) {
		t.Helper()
		r.write("switch", position)
		r.tick(1)
		r.want(status, "", r.log.url("proxy"))
		r.want(200, `weir_enforce{state="`+state+`"} 1`, r.log.url("ops")+"/metrics")
	}
	f("", 403, "on")
	f("off", 200, "off")
	f("nonsense", 200, "off")
	f("shadow", 200, "shadow")
	f("on", 403, "on")

	r.write("weir.yaml", open+"demo\n")
	r.tick(3)
	r.want(403, "", r.log.url("proxy"))
}

// TestTheUpstreamThatHoldsStays reloads twice: what a file without a proxy keeps is
// the upstream of the file before it, not the first one.
func TestTheUpstreamThatHoldsStays(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("another upstream")) }))
	defer other.Close()
	r := newRig(t, open+"demo\n")
	r.begin(r.config())
	for _, rules := range []string{open + other.URL + "\n", "version: 1\nlisten: {ops: '127.0.0.1:0'}\n", "version: 1\nlisten: {ops: ':0'}\n"} {
		r.write("weir.yaml", rules)
		r.tick(2)
		r.want(200, "another upstream", r.log.url("proxy"))
	}
}

// TestRulesThatNeedALargerTable come with one, which a reload cannot make.
func TestRulesThatNeedALargerTable(t *testing.T) {
	f := func(before, after, want string) {
		t.Helper()
		r := newRig(t, open+"demo\n"+before)
		r.begin(r.config())
		r.write("weir.yaml", open+"demo\n"+after+"rules: [{name: login, limit: deny}, {name: api, limit: 5/s, max_keys: 40000}]\n")
		r.tick(2)
		r.want(200, "weir demo", r.log.url("proxy"))
		r.want(200, want, r.log.url("ops")+"/readyz")
	}
	const larger = "memory: {max_keys: 100000}\n"
	f("memory: {max_keys: 1000}\n", larger, `"last_reload_error":"weir: memory.max_keys 100000: until a restart the table is that of 1000, `+
		`and too small for these rules; restart weir: a reload cannot change it (weir: memstore Reserved 40000: `)
	f("memory: {max_keys: 1000}\n", "", `"last_reload_error":"weir: memory.max_keys by default: until a restart`)
}

// hook is called before a record is logged.
type hook struct {
	slog.Handler
	before func(message string)
}

func (h hook) Handle(ctx context.Context, r slog.Record) error {
	h.before(r.Message)
	return h.Handler.Handle(ctx, r)
}

// TestNewRulesCountAtOnce asks when a policy has just been put in place, and before
// the reload has come to its end.
func TestNewRulesCountAtOnce(t *testing.T) {
	r := newRig(t, open+"demo\n")
	c := r.config()
	c.Log = slog.New(hook{c.Log.Handler(), func(message string) {
		if message == "the rules were reloaded" {
			r.want(200, "weir demo", r.log.url("proxy"))
		}
	}})
	r.begin(c)
	for _, c := range [...]struct{ rules, success string }{{"nonsense", "0"}, {open + "demo\n", "1"}, {"nonsense", "0"}} {
		r.write("weir.yaml", c.rules)
		r.tick(2)
		r.want(200, "\nweir_config_last_reload_successful "+c.success+"\n", r.log.url("ops")+"/metrics")
	}
	r.write("weir.yaml", open+"demo\nrules: [{name: fresh, limit: 5/s}]\n")
	r.tick(2)
	r.want(200, `weir_decisions_total{limit="fresh",mode="exact",outcome="allowed",rule="fresh",shadow="false"} 1`, r.log.url("ops")+"/metrics")
	r.want(200, "\nweir_config_last_reload_successful 1\n", r.log.url("ops")+"/metrics")
}
