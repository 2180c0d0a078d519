package policy

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// The addresses that are listened on where the file names none.
const (
	defaultProxy = ":8000"
	defaultOps   = "127.0.0.1:9090"
)

// Listeners are the addresses to listen on, with what they are by default: without
// any, the proxy is on :8000 if there is an upstream, and ops on 127.0.0.1:9090.
func (c *Config) Listeners() Listen {
	if c.Listen != (Listen{}) {
		return c.Listen
	}
	l := Listen{Ops: &Listener{Address: defaultOps}}
	if c.Upstream != "" {
		l.Proxy = &Listener{Address: defaultProxy}
	}
	return l
}

// bearer is what a listener demands of its clients.
type bearer struct {
	token string
	tls   *tls.Config
}

// Token is the token that callers of a listener have to send; "" if it demands
// none. The Listener is one of Config().Listeners().
func (p *Policy) Token(l *Listener) string { return p.bearers[l].token }

// TLS is how a listener speaks TLS, with its certificate and, where clients must
// have one, the CAs for those; nil if it does not. The Listener is one of
// Config().Listeners(). The result is shared: clone it to change it.
func (p *Policy) TLS(l *Listener) *tls.Config { return p.bearers[l].tls }

// A surface is a listener with what may be said of it.
type surface struct {
	name     string
	listener *Listener
	decides  bool // whoever may call it is believed: not for everybody
	tokens   bool // it may demand a token
}

// surfaces are the listeners that are there.
func (c *compiler) surfaces() (list []surface) {
	l := c.config.Listeners()
	for _, s := range [...]surface{
		{name: "proxy", listener: l.Proxy},
		{name: "http", listener: l.HTTP, decides: true, tokens: true},
		{name: "ops", listener: l.Ops, tokens: true},
	} {
		if s.listener != nil {
			list = append(list, s)
		}
	}
	return list
}

// listen checks the listeners and reads what they demand.
func (c *compiler) listen() {
	c.policy.bearers = map[*Listener]bearer{}
	var before []endpoint
	for _, s := range c.surfaces() {
		path := "listen." + s.name
		at, ok := c.address(path, s.listener.Address)
		c.secureListener(path, s, at, ok)
		if l := s.listener; l.MaxConnsPerIP > cmp.Or(l.MaxConns, defaultMaxConns) {
			c.refuse("bad-number", path+".max_conns_per_ip", Span{}, fmt.Sprintf("max_conns_per_ip %d is more than the %d connections that can be open at all", l.MaxConnsPerIP, cmp.Or(l.MaxConns, defaultMaxConns)),
				"write a smaller one, or raise max_conns")
		}
		if !ok {
			continue
		}
		at.name = path
		for _, other := range before {
			if at.meets(other) {
				c.refuse("same-address", path, Span{}, fmt.Sprintf("%s listens on %s, and so does %s", path, s.listener.Address, other.name), "give it a port of its own")
			}
		}
		before = append(before, at)
	}
	if c.config.Listen.Proxy != nil && c.config.Upstream == "" {
		c.refuse("no-upstream", "listen.proxy", Span{}, "the proxy has nothing to stand in front of", "write upstream: http://127.0.0.1:3000, or `upstream: demo` to try it out")
	}
}

// defaultMaxConns is how many connections a listener has that is told no number.
const defaultMaxConns = 10_000

// endpoint is an address that was read.
type endpoint struct {
	name, host, port, unix string
}

// local reports whether only this machine reaches it.
func (e endpoint) local() bool {
	addr, err := netip.ParseAddr(e.host)
	return e.unix != "" || e.host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// wide reports whether it is every address of the machine.
func (e endpoint) wide() bool {
	addr, err := netip.ParseAddr(e.host)
	return e.unix == "" && (e.host == "" || err == nil && addr.IsUnspecified())
}

// meets reports whether two endpoints cannot be listened on at once. Port 0 is
// another each time.
func (e endpoint) meets(o endpoint) bool {
	if e.unix != "" || o.unix != "" {
		return e.unix == o.unix
	}
	return e.port == o.port && e.port != "0" && (e.host == o.host || e.wide() || o.wide() || e.local() && o.local())
}

// address reads an address to listen on.
func (c *compiler) address(path, text string) (endpoint, bool) {
	const example = "write host:port, :port or unix:PATH, such as 127.0.0.1:9090"
	bad := func(problem, hint string) (endpoint, bool) {
		c.refuse("bad-address", path, Span{}, fmt.Sprintf("%s %q: %s", path, text, problem), hint)
		return endpoint{}, false
	}
	if name, ok := strings.CutPrefix(text, "unix:"); ok {
		if name == "" {
			return bad("the socket has no path", "write unix:PATH, such as unix:/run/weir/http.sock")
		}
		return endpoint{unix: name}, true
	}
	if _, rest, ok := strings.Cut(text, "://"); ok {
		return bad("an address has no scheme", "write "+rest)
	}
	host, port, err := net.SplitHostPort(text)
	switch n, numeric := strconv.Atoi(port); {
	case text == "":
		return bad("there is no address", example)
	case err != nil && strings.Trim(text, "0123456789") == "":
		return bad("a port alone", "write :"+text+" for every interface, or 127.0.0.1:"+text)
	case err != nil:
		return bad("it is no host and port", example)
	case numeric != nil || n < 0 || n > 65535:
		return bad(fmt.Sprintf("%q is no port", port), "write a number from 1 to 65535, or 0 for any that is free")
	case host != "" && !isHost(host):
		return bad(fmt.Sprintf("%q is no host", host), example)
	}
	return endpoint{host: host, port: port}, true
}

// isPort reports whether a text is the number of a port that something listens on.
func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isHost reports whether a text is an address or a host's name.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.'
	}
	letters := strings.Trim(text, "0123456789.") != "" // else it would be an address, and is none
	return letters && strings.IndexFunc(text, odd) < 0 && len(text) < 254
}

// secureListener checks who may use a listener.
func (c *compiler) secureListener(path string, s surface, at endpoint, known bool) {
	l := s.listener
	demands := bearer{tls: c.tls(path+".tls", l.TLS)}
	switch {
	case l.Token == "":
	case !s.tokens:
		c.refuse("misplaced-field", path+".token", Span{}, "the proxy asks for no token: its callers are the upstream's", "leave it out; a token is for http and ops")
	default:
		demands.token = c.token(path+".token", l.Token)
	}
	if l.Open && !s.decides {
		c.refuse("misplaced-field", path+".open", Span{}, path+" needs no `open`: it decides nothing for its callers", "leave it out; it is for http")
	}
	guarded := l.Token != "" || l.TLS != nil && l.TLS.ClientCA != "" || l.Open
	if s.decides && known && !at.local() && !guarded {
		c.refuse("open-listener", path, Span{}, fmt.Sprintf("%s on %s can be reached from elsewhere: whoever reaches it may spend anybody's quota", path, l.Address),
			"listen on 127.0.0.1, or add token, tls.client_ca, or `open: true` if the network lets nobody else in")
	}
	c.policy.bearers[l] = demands
}

// token reads the token of a listener.
func (c *compiler) token(path, text string) string {
	value, ok := c.secret(path, text)
	value = strings.TrimSpace(value)
	const shortest = 16
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case !ok:
	case !named(text) && expansion.MatchString(text):
		c.refuse("bad-token", path, Span{}, path+": it is no token, but a variable that something should expand", "write env:NAME")
	case len(value) < shortest:
		c.refuse("bad-token", path, Span{}, fmt.Sprintf("%s: a token of %d characters can be guessed", path, len(value)), fmt.Sprintf("use %d or more at random, as `openssl rand -hex 32` gives", shortest))
	case strings.IndexFunc(value, odd) >= 0:
		c.refuse("bad-token", path, Span{}, path+": it has characters that no header can carry", "use letters, digits and - . _ ~ + /")
	}
	return value
}

// tls reads the files of a certificate.
func (c *compiler) tls(path string, t *TLS) *tls.Config {
	if t == nil {
		return nil
	}
	if t.Cert == "" || t.Key == "" {
		c.refuse("bad-tls", path, Span{}, path+" needs both cert and key", "name the PEM files of the chain and of its private key")
		return nil
	}
	to := &tls.Config{MinVersion: tls.VersionTLS12}
	cert, haveCert := c.file(path+".cert", t.Cert)
	key, haveKey := c.file(path+".key", t.Key)
	if haveCert && haveKey {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			c.refuse("bad-tls", path+".cert", Span{}, fmt.Sprintf("%s: %s", path, strings.TrimPrefix(err.Error(), "tls: ")), "cert and key are PEM files of one pair, the server's own certificate first")
		}
		to.Certificates = []tls.Certificate{pair}
	}
	if t.ClientCA == "" {
		return to
	}
	if text, ok := c.file(path+".client_ca", t.ClientCA); ok {
		to.ClientCAs, to.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !to.ClientCAs.AppendCertsFromPEM(text) {
			c.refuse("bad-tls", path+".client_ca", Span{}, path+".client_ca: there is no certificate in "+t.ClientCA, "name a PEM file of CA certificates")
		}
	}
	return to
}

// upstream checks what the proxy stands in front of.
func (c *compiler) upstream() {
	const path = "upstream"
	text := c.config.Upstream
	if text == "" {
		return
	}
	if c.config.Listeners().Proxy == nil {
		c.warn("unused-upstream", path, "there is an upstream, and no proxy that listens", "add `proxy: :8000` to listen, or leave upstream out")
	}
	if text == "demo" {
		return
	}
	u, err := url.Parse(text)
	bad := func(problem, hint string) {
		c.refuse("bad-upstream", path, Span{}, problem, hint)
	}
	switch {
	case strings.Contains(text, "@"):
		bad("upstream: a URL with credentials in it", "leave them out: what callers send is passed on")
	case !strings.Contains(text, "://"):
		hint := "did you mean http://" + text + "?"
		if strings.EqualFold(text, "demo") {
			hint = "did you mean demo?"
		}
		bad(fmt.Sprintf("upstream %q has no scheme", text), hint)
	case err != nil:
		bad(fmt.Sprintf("upstream: it is no URL: %v", errors.Unwrap(err)), "write one such as http://127.0.0.1:3000")
	case u.Scheme != "http" && u.Scheme != "https":
		bad(fmt.Sprintf("upstream %q: its scheme is neither http nor https", text), "write http://"+u.Host)
	case u.Hostname() == "" || !isHost(u.Hostname()):
		bad(fmt.Sprintf("upstream %q: %q is no host", text, u.Hostname()), "write one such as http://127.0.0.1:3000")
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && !isPort(u.Port()):
		bad(fmt.Sprintf("upstream %q: a port is 1 to 65535", text), "write one such as http://127.0.0.1:3000")
	case u.Path != "" && u.Path != "/":
		bad(fmt.Sprintf("upstream %q has a path", text), "requests are passed on with the path that they came with: write "+u.Scheme+"://"+u.Host)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		bad(fmt.Sprintf("upstream %q has a query or a fragment", text), "write "+u.Scheme+"://"+u.Host)
	default:
		c.upstreamLoop(u)
	}
}

// upstreamLoop warns of a proxy that stands in front of itself.
func (c *compiler) upstreamLoop(u *url.URL) {
	l := c.config.Listeners().Proxy
	if l == nil {
		return
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host, own, err := net.SplitHostPort(l.Address)
	to, at := endpoint{host: u.Hostname(), port: port}, endpoint{host: host, port: own}
	if err == nil && own == port && (to.host == at.host || to.local() && (at.local() || at.wide())) {
		c.warn("upstream-loop", "upstream", fmt.Sprintf("upstream %s is the proxy's own address: each request would come back to it", u.Host), "write the address of the application")
	}
}
