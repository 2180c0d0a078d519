package daemon

import (
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
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
	proxied  bool                    // there is a proxy
	handlers map[string]http.Handler // by listener; they do not change once it is served
	bound    map[string]bound        // by listener; empty while the first policy is prepared
	ready    *ops.Readiness
	clock    func() time.Time                  // the daemon's
	view     func(*policy.Policy) *policy.View // the engine's
	timed    func(weir.Decider) weir.Decider   // the metrics'
	now      atomic.Pointer[settings]
}

// settings are what a policy makes of the surfaces. They do not change.
type settings struct {
	rules    decide.Rules
	proxy    *proxy.Settings  // nil without a proxy
	upstream string           // what the proxy passes on to; "" without one
	guards   map[string]guard // of listeners, by name
	kept     []string         // fields that the file has no more and that hold until a restart
}

// prepare makes settings of a policy, and changes nothing.
func (s *surfaces) prepare(p *policy.Policy) (*settings, error) {
	c := p.Config()
	w, err := header.New(HeaderConfig(c.Headers))
	if err != nil {
		return nil, fmt.Errorf("headers: %w", err)
	}
	view := s.view(p)
	made := &settings{rules: decide.Rules{Decider: s.timed(view.WithoutSlots()), Explain: view.Explain, Header: w}}
	made.guards, made.kept = s.guards(p)
	if !s.proxied {
		return made, nil
	}
	made.upstream = c.Upstream
	if old := s.now.Load(); made.upstream == "" && old != nil { // the listener stays until a restart, and so does what is behind it
		made.upstream = old.upstream
	}
	o := proxy.Options{Decider: s.timed(view), Header: w, Trusts: p.Resolver().TrustsPeer, Strip: c.ClientIP.TrustedHeaders}
	if c.ClientIP.Header != "" {
		o.Strip = append([]string{c.ClientIP.Header}, o.Strip...)
	}
	if o.Demo = made.upstream == demo; !o.Demo {
		if o.Upstream, err = url.Parse(made.upstream); err != nil {
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
	d.surfaces.proxied = listeners.Proxy != nil
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
		d.metrics.Proxy(d.proxy.Stats, d.proxy.Waiting)
	}
	d.decides, err = decide.New(decide.Config{
		Rules:  func() decide.Rules { return d.surfaces.now.Load().rules },
		Store:  d.counted,
		Logger: d.config.Log.With("listener", httpName),
		Took:   d.metrics.Took,
	})
	return err
}

// wanted lists the endpoints that a policy wants served, the operators' last. None
// is open yet.
func (d *daemon) wanted(p *policy.Policy) []*endpoint {
	listeners := p.Config().Listeners()
	var list []*endpoint
	add := func(name string, config *policy.Listener, handler http.Handler, streams bool) {
		if config != nil {
			list = append(list, &endpoint{name: name, config: *config, handler: handler, streams: streams, done: make(chan struct{})})
		}
	}
	add(proxyName, listeners.Proxy, d.proxy, true)
	add(httpName, listeners.HTTP, d.decides, false)
	add(opsName, listeners.Ops, ops.Handler(&d.ready, d.metrics.Handler()), false)
	return list
}
