package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"net/http"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/ops"
	"github.com/weirhq/weir/policy"
)

// guard is what a listener demands of its clients, as far as a reload changes it.
type guard struct {
	handler http.Handler // behind all of it
	tls     *tls.Config  // nil without TLS
	token   string       // "" for none
}

// clientCAs sign the certificates of clients; nil where none are demanded.
func (g *guard) clientCAs() *x509.CertPool {
	if g.tls == nil {
		return nil
	}
	return g.tls.ClientCAs
}

// bound is what a listener's socket was opened with: it stays so until a restart,
// whatever the file says by then.
type bound struct {
	address string // as the file had it
	wide    bool   // others than this machine can reach it
	tls     bool
}

// boundTo is what an endpoint has been opened with.
func boundTo(config *policy.Listener, at net.Addr) bound {
	tcp, ok := at.(*net.TCPAddr) // a Unix socket is this machine's
	return bound{address: config.Address, wide: ok && !tcp.IP.IsLoopback(), tls: config.TLS != nil}
}

// exposed reports whether a listener that a file describes would be without a
// guard on the socket that is open, where that is another than the file means: the
// file may say 127.0.0.1 and no token, or `open`, while the socket is still that
// of 0.0.0.0. A client CA guards nothing where the socket does not speak TLS.
func (b bound) exposed(of *policy.Listener) bool {
	ca := of.TLS != nil && of.TLS.ClientCA != ""
	switch {
	case !b.wide, of.Token != "", ca && b.tls:
		return false
	case of.Address != b.address:
		return true
	}
	return ca && !of.Open
}

// guards are those of a policy. A listener that it has no more keeps what it had
// until a restart, and so does one that loses its certificate. One that would be
// exposed keeps its guard; kept names the fields that hold for that reason.
func (s *surfaces) guards(p *policy.Policy) (all map[string]guard, kept []string) {
	l := p.Config().Listeners()
	all = map[string]guard{}
	if old := s.now.Load(); old != nil {
		maps.Copy(all, old.guards)
	}
	for _, of := range [...]struct {
		name   string
		config *policy.Listener
	}{{proxyName, l.Proxy}, {httpName, l.HTTP}, {opsName, l.Ops}} {
		if of.config == nil {
			continue
		}
		made, old := demands(p, of.config), all[of.name]
		if made.tls == nil {
			made.tls = old.tls
		}
		if s.bound[of.name].exposed(of.config) {
			kept = append(kept, made.keep("listen."+of.name, &old)...)
		}
		made.handler = s.behind(of.name, &made)
		all[of.name] = made
	}
	return all, kept
}

// demands are what a policy wants of a listener's clients.
func demands(p *policy.Policy, of *policy.Listener) guard {
	made := guard{token: p.Token(of)}
	if c := p.TLS(of); c != nil {
		made.tls = c.Clone()
		made.tls.NextProtos = []string{"h2", "http/1.1"} // a server adds them to its own configuration alone
	}
	return made
}

// behind puts what answers at a listener behind its guard. Certificates are looked
// at with each request, as tokens are: a connection may have been opened when the
// guard was another.
func (s *surfaces) behind(name string, g *guard) http.Handler {
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handlers[name].ServeHTTP(w, r) })
	if g.token != "" {
		h = listen.RequireToken(g.token, h)
		if name == opsName {
			h = ops.Probes(s.ready, h)
		}
	}
	socket, open := s.bound[name]
	if cas := g.clientCAs(); cas != nil && (socket.tls || !open) { // without TLS it has no certificates, until a restart
		h = listen.RequireCertificate(cas, s.clock, h)
	}
	return h
}

// keep takes over what the guard before demanded, and names it. The certificate is
// the new one all the same.
func (g *guard) keep(path string, old *guard) (kept []string) {
	if old.token != "" {
		g.token = old.token
		kept = append(kept, path+".token")
	}
	if old.clientCAs() != nil {
		g.tls = g.tls.Clone()
		g.tls.ClientCAs, g.tls.ClientAuth = old.tls.ClientCAs, old.tls.ClientAuth
		kept = append(kept, path+".tls.client_ca")
	}
	return kept
}

// tls is for a listener: each handshake gets the certificate of the policy that
// holds then.
func (s *surfaces) tls(name string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.now.Load().guards[name].tls, nil },
	}
}

// handler answers at a listener, with what the policy that holds then demands.
func (s *surfaces) handler(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.now.Load().guards[name].handler.ServeHTTP(w, r) })
}
