package policy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// certificate makes a certificate and its key, in PEM.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<33, 0), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", pkcs)
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	_, other := certificate(t)
	files := map[string]string{"cert.pem": cert, "key.pem": key, "other.pem": other, "junk.pem": "junk"}
	load := func(tls string) (*Policy, Diagnostics) {
		return Load(Source{
			Name: "-", Stdin: []byte("version: 1\nlisten: {http: {address: :8443, tls: {" + tls + "}}}\n"),
			ReadFile: func(name string) ([]byte, error) {
				if text, ok := files[name]; ok {
					return []byte(text), nil
				}
				return nil, fs.ErrNotExist
			},
		})
	}
	p, found := load("cert: cert.pem, key: key.pem, client_ca: cert.pem")
	if p == nil {
		t.Fatal(found)
	}
	c := p.TLS(p.Config().Listen.HTTP)
	if len(c.Certificates) != 1 || c.ClientCAs == nil || c.ClientAuth != tls.RequireAndVerifyClientCert || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v", c)
	}
	if want := []string{"cert.pem", "key.pem"}; !slices.Equal(p.Files(), want) {
		t.Errorf("files %q, want %q", p.Files(), want)
	}
	for _, c := range []struct {
		tls  string
		want []string
	}{
		{"cert: cert.pem, key: key.pem", []string{"open-listener"}}, // a certificate of the server's keeps nobody out
		{"cert: cert.pem, key: other.pem, client_ca: cert.pem", []string{"bad-tls"}},
		{"cert: cert.pem, key: key.pem, client_ca: junk.pem", []string{"bad-tls"}},
		{"cert: cert.pem, key: none.pem, client_ca: cert.pem", []string{"unreadable-file"}},
		{"cert: cert.pem, client_ca: cert.pem", []string{"bad-tls"}},
	} {
		p, found := load(c.tls)
		if p != nil || !slices.Equal(codes(found), c.want) {
			t.Errorf("%s: %v, want %v", c.tls, found, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		listen string
		want   []string
	}{
		{"http: 127.0.0.1:8080", nil},
		{"http: 127.9.9.9:8080", nil},
		{"http: '[::1]:8080'", nil},
		{"http: localhost:8080", nil},
		{"http: unix:/run/weir.sock", nil},
		{"http: 127.0.0.1:0", nil},
		{"http: ':8080'", []string{"open-listener"}},
		{"http: 0.0.0.0:8080", []string{"open-listener"}},
		{"http: '[::]:8080'", []string{"open-listener"}},
		{"http: 192.0.2.1:8080", []string{"open-listener"}},
		{"http: localhost.example:8080", []string{"open-listener"}},
		{"http: {address: ':8080', open: true}", nil},
		{"http: {address: ':8080', token: 0123456789abcdef}", nil},
		{"ops: ':9090'", nil},
		{"http: localhost:8080, ops: 127.0.0.1:8080", []string{"same-address"}},
		{"http: '127.0.0.1:8080', ops: ':8080'", []string{"same-address"}},
		{"http: 127.0.0.1:0, ops: 127.0.0.1:0", nil},
		{"http: 127.0.0.1:8080, ops: 192.0.2.1:8080", nil},
		{"http: unix:/a, ops: unix:/a", []string{"same-address"}},
		{"http: unix:/a, ops: unix:/b", nil},
		{"http: 127.0.0.1", []string{"bad-address"}},
		{"http: '::1:8080'", []string{"bad-address"}},
		{"http: 127.0.0.1:http", []string{"bad-address"}},
		{"http: 'my host:80'", []string{"bad-address"}},
		{"http: unix://run/weir.sock", nil}, // a path that begins with two slashes
	} {
		_, found := loadText("version: 1\nlisten: {" + c.listen + "}\n")
		if !slices.Equal(codes(found), c.want) {
			t.Errorf("%s: found %v, want %v\n%v", c.listen, codes(found), c.want, found)
		}
	}
}

func TestUpstreams(t *testing.T) {
	for _, c := range []struct {
		upstream string
		want     string
	}{
		{"demo", ""},
		{"http://127.0.0.1:3000", ""},
		{"https://app.example/", ""},
		{"http://[::1]:3000", ""},
		{"http://127.0.0.1:8001", ""},
		{"http://127.0.0.1:8000", "upstream-loop"},
		{"http://localhost:8000", "upstream-loop"},
		{"http://app.example:8000", ""},
		{"127.0.0.1:3000", "bad-upstream"},
		{"http://", "bad-upstream"},
		{"http://a b", "bad-upstream"},
		{"http://a:port", "bad-upstream"},
		{"http://a/?q", "bad-upstream"},
		{"http://a?", "bad-upstream"},
		{"http://a#f", "bad-upstream"},
		{"unix:/run/app.sock", "bad-upstream"},
	} {
		_, found := loadText("version: 1\nupstream: '" + c.upstream + "'\n")
		if strings.Join(codes(found), " ") != c.want {
			t.Errorf("%s: found %v, want %q", c.upstream, found, c.want)
		}
	}
}
