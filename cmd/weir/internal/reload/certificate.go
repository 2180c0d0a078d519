package reload

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/weirhq/weir/policy"
)

// Certificate is a listener's certificate, which can be loaded again while
// connections are made. Load belongs to one goroutine; the rest is safe for
// concurrent use.
type Certificate struct {
	name  string
	names policy.TLS
	files tracker
	now   atomic.Pointer[tls.Config]
}

// NewCertificate makes a Certificate and loads it. The name is the listener's,
// for messages; a nil read is os.ReadFile.
func NewCertificate(name string, files policy.TLS, read func(string) ([]byte, error)) (*Certificate, error) {
	if read == nil {
		read = os.ReadFile
	}
	c := &Certificate{name: name, names: files, files: tracker{read: read}}
	return c, c.Load()
}

// Load reads the files again. After an error what was loaded before stays.
func (c *Certificate) Load() error {
	read := c.files.begin()
	cert, err := read(c.names.Cert)
	if err != nil {
		return fmt.Errorf("%s.tls.cert: %w", c.name, err)
	}
	key, err := read(c.names.Key)
	if err != nil {
		return fmt.Errorf("%s.tls.key: %w", c.name, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s.tls: %s and %s: %w", c.name, c.names.Cert, c.names.Key, err)
	}
	made := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if err := c.loadClientCA(read, made); err != nil {
		return err
	}
	c.now.Store(made)
	return nil
}

func (c *Certificate) loadClientCA(read reader, made *tls.Config) error {
	if c.names.ClientCA == "" {
		return nil
	}
	pem, err := read(c.names.ClientCA)
	if err != nil {
		return fmt.Errorf("%s.tls.client_ca: %w", c.name, err)
	}
	made.ClientCAs = x509.NewCertPool()
	if !made.ClientCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("%s.tls.client_ca: %s: no certificate in it; it must hold PEM blocks of CERTIFICATE", c.name, c.names.ClientCA)
	}
	made.ClientAuth = tls.RequireAndVerifyClientCert
	return nil
}

// TLS is for a listener: each handshake gets what is loaded at that time.
func (c *Certificate) TLS() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.now.Load(), nil },
	}
}
