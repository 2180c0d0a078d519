package daemon

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

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
	upstream string // what the proxy was started with
	now      atomic.Pointer[settings]
}

// settings are what a policy makes of the surfaces. They do not change.
type settings struct {
	header *header.Writer
	proxy  *proxy.Settings // nil without a proxy
}

// prepare makes settings of a policy, and changes nothing.
func (s *surfaces) prepare(p *policy.Policy) (*settings, error) {
	c := p.Config()
	w, err := header.New(HeaderConfig(c.Headers))
	if err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	made := &settings{header: w}
	if s.upstream == "" {
		return made, nil
	}
	upstream := c.Upstream
	if upstream == "" { // the listener stays until a restart, and so does what is behind it
		upstream = s.upstream
	}
	o := proxy.Options{Header: w, Trusts: p.Resolver().TrustsPeer, Strip: c.ClientIP.TrustedHeaders}
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
	listeners := listenersOf(p.Config())
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
			Decider:  d.decider,
			Settings: func() *proxy.Settings { return d.surfaces.now.Load().proxy },
			Logger:   d.config.Log.With("listener", proxyName),
		})
	}
	return err
}

// listenersOf are the listeners of a policy, or the usual ones where it names
// none.
func listenersOf(c *policy.Config) policy.Listen {
	l := c.Listen
	if l != (policy.Listen{}) {
		return l
	}
	if c.Upstream != "" {
		l.Proxy = &policy.Listener{Address: ":8000"}
	}
	l.Ops = &policy.Listener{Address: "127.0.0.1:9090"}
	return l
}

// faces lists the surfaces that a policy wants served, the operators' last.
func (d *daemon) faces(p *policy.Policy) []face {
	listeners := listenersOf(p.Config())
	var list []face
	add := func(name string, config *policy.Listener, handler http.Handler, streams bool) {
		if config != nil {
			list = append(list, face{name, config, handler, streams})
		}
	}
	add(proxyName, listeners.Proxy, d.proxy, true)
	return list
}
