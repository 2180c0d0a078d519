package daemon

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/ops"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/policy"
)

// The names of listeners, as the rules file has them.
const (
	proxyName = "proxy"
	httpName  = "http"
	opsName   = "ops"
)

// surfaces are what a reload changes beside the engine.
type surfaces struct {
	upstream string                  // what the proxy was started with; "" without one
	handlers map[string]http.Handler // by listener; they do not change once it is served
	ready    *ops.Readiness
	view     func(*policy.Policy) *policy.View // the engine's
	timed    func(weir.Decider) weir.Decider   // the metrics'
	now      atomic.Pointer[settings]
}

// settings are what a policy makes of the surfaces. They do not change.
type settings struct {
	rules decide.Rules
	proxy *proxy.Settings // nil without a proxy
	doors map[string]door // of listeners, by name
}

// door is what a listener demands of its clients, as far as a reload changes it.
type door struct {
	handler http.Handler // behind the token, where there is one
	tls     *tls.Config  // nil without TLS
}

// doors are those of a policy. A listener that it has no more keeps what it had
// until a restart, and so does one that loses its certificate.
func (s *surfaces) doors(p *policy.Policy) map[string]door {
	l := p.Config().Listeners()
	all := map[string]door{}
	if old := s.now.Load(); old != nil {
		maps.Copy(all, old.doors)
	}
	for name, of := range map[string]*policy.Listener{proxyName: l.Proxy, httpName: l.HTTP, opsName: l.Ops} {
		if of == nil {
			continue
		}
		made := door{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handlers[name].ServeHTTP(w, r) }), tls: all[name].tls}
		if token := p.Token(of); token != "" {
			made.handler = listen.RequireToken(token, made.handler)
			if name == opsName {
				made.handler = ops.Probes(s.ready, made.handler)
			}
		}
		if c := p.TLS(of); c != nil {
			made.tls = c.Clone()
			made.tls.NextProtos = []string{"h2", "http/1.1"} // a server adds them to its own configuration alone
		}
		all[name] = made
	}
	return all
}

// tls is for a listener: each handshake gets the certificate of the policy that
// holds then.
func (s *surfaces) tls(name string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.now.Load().doors[name].tls, nil },
	}
}

// handler answers at a listener, with what the policy that holds then demands.
func (s *surfaces) handler(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.now.Load().doors[name].handler.ServeHTTP(w, r) })
}

// prepare makes settings of a policy, and changes nothing.
func (s *surfaces) prepare(p *policy.Policy) (*settings, error) {
	c := p.Config()
	w, err := header.New(HeaderConfig(c.Headers))
	if err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	view := s.view(p)
	made := &settings{rules: decide.Rules{Decider: s.timed(view), Explain: view.Explain, Header: w}, doors: s.doors(p)}
	if s.upstream == "" {
		return made, nil
	}
	upstream := c.Upstream
	if upstream == "" { // the listener stays until a restart, and so does what is behind it
		upstream = s.upstream
	}
	o := proxy.Options{Decider: made.rules.Decider, Header: w, Trusts: p.Resolver().TrustsPeer, Strip: c.ClientIP.TrustedHeaders}
	if c.ClientIP.Header != "" {
		o.Strip = append([]string{c.ClientIP.Header}, o.Strip...)
	}
	if o.Demo = upstream == demo; !o.Demo {
		if o.Upstream, err = url.Parse(upstream); err != nil {
			return nil, fmt.Errorf("upstream: %w", err)
		}
	}
	if made.proxy, err = proxy.NewSettings(o); err != nil {
		return nil, err
	}
	return made, nil
}

// demo is the upstream that is none.
const demo = "demo"

// use puts settings in place.
func (s *surfaces) use(made *settings) { s.now.Store(made) }

// buildSurfaces makes what the first policy needs.
func (d *daemon) buildSurfaces(p *policy.Policy) error {
	listeners := p.Config().Listeners()
	if listeners.Proxy != nil {
		d.surfaces.upstream = p.Config().Upstream
	}
	made, err := d.surfaces.prepare(p)
	if err != nil {
		return err
	}
	d.surfaces.use(made)
	if listeners.Proxy != nil {
		d.proxy, err = proxy.New(proxy.Config{
			Settings: func() *proxy.Settings { return d.surfaces.now.Load().proxy },
			Logger:   d.config.Log.With("listener", proxyName),
		})
		if err != nil {
			return err
		}
		d.metrics.Proxy(d.proxy.Stats)
	}
	d.decides, err = decide.New(decide.Config{
		Rules:  func() decide.Rules { return d.surfaces.now.Load().rules },
		Store:  d.counted,
		Logger: d.config.Log.With("listener", httpName),
		Took:   d.metrics.Took,
	})
	return err
}

// faces lists the surfaces that a policy wants served, the operators' last.
func (d *daemon) faces(p *policy.Policy) []face {
	listeners := p.Config().Listeners()
	var list []face
	add := func(name string, config *policy.Listener, handler http.Handler, streams bool) {
		if config != nil {
			list = append(list, face{name, config, handler, streams})
		}
	}
	add(proxyName, listeners.Proxy, d.proxy, true)
	add(httpName, listeners.HTTP, d.decides, false)
	add(opsName, listeners.Ops, ops.Handler(&d.ready, d.metrics.Handler()), false)
	return list
}
