package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"syscall"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/cmd/weir/internal/metrics"
	"github.com/weirhq/weir/cmd/weir/internal/ops"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/cmd/weir/internal/refusals"
	"github.com/weirhq/weir/cmd/weir/internal/reload"
	"github.com/weirhq/weir/memstore"
	"github.com/weirhq/weir/policy"
)

// daemon is what runs. All of it but the surfaces belongs to the goroutine of
// [Run].
type daemon struct {
	headroom []byte // never touched: see headroom
	config   Config
	watcher  *reload.Watcher
	turned   *reload.Switch // nil without a switch file
	store    *memstore.Store
	table    int        // memory.max_keys that the store was made with
	counted  weir.Store // the store, measured
	metrics  *metrics.Metrics
	engine   *policy.Engine
	refused  *refusals.Log

	proxy     *proxy.Proxy // nil without a listener for it
	decides   *decide.Handler
	surfaces  surfaces
	ready     ops.Readiness
	endpoints []*endpoint
	failed    chan error // what ended a listener that nobody had closed
}

// Run starts a daemon and returns when it has ended: nil after it was drained,
// [policy.Diagnostics] where the rules cannot be used, [ErrCut] after a second
// signal. The context's end is like a signal.
func Run(ctx context.Context, c Config) error {
	if err := c.validate(); err != nil {
		return err
	}
	d := &daemon{config: c, surfaces: surfaces{handlers: map[string]http.Handler{}, bound: map[string]bound{}, clock: c.Now}}
	d.surfaces.ready = &d.ready
	if c.Headroom {
		d.headroom = make([]byte, headroom)
	}
	defer d.close()
	if err := d.build(); err != nil {
		return err
	}
	if err := d.bind(ctx); err != nil {
		return err
	}
	d.serve()
	err := d.watch(ctx)
	return errors.Join(err, d.drain())
}

// build makes everything but listeners, from the store upwards.
func (d *daemon) build() error {
	d.watcher = reload.New(reload.Config{
		Source: d.config.Source,
		Apply:  d.apply,
		Report: d.reloaded,
		Log:    d.config.Log,
	})
	p, found := d.watcher.Load()
	if p == nil {
		return found
	}
	var err error
	d.table = p.Config().Memory.MaxKeys
	if d.store, err = memstore.New(StoreConfig(p.Config().Memory)); err != nil {
		return err
	}
	if err := d.buildEngine(p); err != nil {
		return err
	}
	if err := d.buildSurfaces(p); err != nil {
		return err
	}
	if d.config.SwitchFile != "" {
		d.turned = reload.NewSwitch(reload.SwitchConfig{
			File: d.config.SwitchFile, ReadFile: d.config.Source.ReadFile, Set: d.engine.SetSwitch, Log: d.config.Log,
		})
		d.turned.Check(context.Background())
	}
	return nil
}

func (d *daemon) buildEngine(p *policy.Policy) error {
	var err error
	d.metrics, err = metrics.New(metrics.Config{
		Now:      d.config.Now,
		Elapsed:  d.config.Elapsed,
		Stats:    d.store.Stats,
		Enforce:  func() policy.Enforce { return d.engine.Enforce() },
		Version:  d.config.Version,
		Revision: d.config.Revision,
		Runtime:  true,
	})
	if err != nil {
		return err
	}
	d.counted = d.metrics.Store(d.store)
	d.refused, err = refusals.New(refusals.Config{Logger: d.config.Log, Now: d.config.Now})
	if err != nil {
		return err
	}
	d.engine, err = policy.NewEngine(policy.EngineConfig{
		Policy: p,
		Store:  d.metrics.Store(d.store),
		Guests: guests(p),
		Observe: func(ctx context.Context, f *policy.Finding) {
			d.metrics.Observe(ctx, f)
			d.refused.Observe(ctx, f)
		},
		Now: d.config.Now,
	})
	if err != nil {
		return err
	}
	d.surfaces.view, d.surfaces.timed = d.engine.By, d.metrics.Timed
	d.metrics.Loaded(p)
	d.ready.Loaded()
	return nil
}

// guests are the rules under which callers bring limits of their own to the store.
func guests(p *policy.Policy) []string {
	if p.Config().Listeners().HTTP == nil {
		return nil
	}
	return []string{decide.Namespace}
}

// apply puts a policy in place: what can fail comes first, and what counts its
// decisions before what makes them. It names the fields that the policy has no
// more and that hold until a restart.
func (d *daemon) apply(p *policy.Policy) (kept []string, err error) {
	made, err := d.surfaces.prepare(p)
	if err != nil {
		return nil, err
	}
	if err := d.engine.Swap(p); err != nil {
		return nil, d.crowded(p, err)
	}
	d.metrics.Loaded(p)
	d.surfaces.use(made)
	for _, e := range d.endpoints {
		e.listener.SetExempt(p.Config().ClientIP.TrustedProxies)
	}
	return made.kept, nil
}

// crowded is the error of a policy that the table is too small for. It may fit the
// one that its own file wants: that is made at the start alone.
func (d *daemon) crowded(p *policy.Policy, err error) error {
	wants := p.Config().Memory.MaxKeys
	if wants == d.table {
		return err
	}
	return fmt.Errorf("%w (%w)", weir.Invalid("memory.max_keys", keys(wants),
		"until a restart the table is that of "+keys(d.table)+", and too small for these rules", "restart weir: a reload cannot change it"), err)
}

// keys writes memory.max_keys, which may be left out.
func keys(n int) string {
	if n == 0 {
		return "by default"
	}
	return strconv.Itoa(n)
}

// reloaded tells how an attempt to load the rules ended.
func (d *daemon) reloaded(r reload.Result) {
	if r.OK {
		d.metrics.LoadSucceeded()
		d.ready.Loaded()
		return
	}
	d.metrics.LoadFailed()
	d.ready.LoadFailed(errors.Join(r.Found.Err(), r.Err))
}

// watch acts on signals and on what files say, until it is time to end. The
// error is of a listener that failed.
func (d *daemon) watch(ctx context.Context) error {
	ticks, stop := d.config.Every(look)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-d.failed:
			return err
		case s := <-d.config.Signals:
			if s != syscall.SIGHUP {
				d.config.Log.InfoContext(ctx, "ending", "signal", s.String())
				return nil
			}
			d.watcher.Reload(ctx, "SIGHUP")
		case <-ticks:
			d.look(ctx)
		}
	}
}

// look is what a tick is for.
func (d *daemon) look(ctx context.Context) {
	d.tend(ctx)
	if d.config.Watch {
		d.watcher.Check(ctx)
	}
}

// tend is what a tick is for while requests are answered, draining or not.
func (d *daemon) tend(ctx context.Context) {
	d.refused.Flush(ctx)
	if d.turned != nil {
		d.turned.Check(ctx)
	}
}

// close ends what drain has not: everything, where the start failed.
func (d *daemon) close() {
	for _, e := range d.endpoints {
		_ = e.listener.Close() // what has been served has closed it already
	}
	if d.proxy != nil {
		d.proxy.Close()
	}
	if d.store != nil {
		_ = d.store.Close() // memory has nothing to lose
	}
}

// logStart tells what is served.
func (d *daemon) logStart(ctx context.Context) {
	p := d.engine.Policy()
	said := []any{
		"file", d.config.Source.Name, "digest", p.Digest(), "rules", len(p.Rules()), "limits", len(p.Limits()),
		"enforce", string(d.engine.Enforce()), "version", d.config.Version,
	}
	if d.config.SwitchFile != "" {
		said = append(said, "switch", d.config.SwitchFile)
	}
	d.config.Log.InfoContext(ctx, "weir serves", said...)
	if len(p.Rules()) == 0 {
		d.config.Log.WarnContext(ctx, "there are no rules: everything passes")
	}
	if p.Config().Listeners().HTTP != nil {
		d.logInFlight(ctx, p)
	}
	d.config.welcome(p, d.endpoints)
}

// logInFlight names the rules that the http listener cannot keep to.
func (d *daemon) logInFlight(ctx context.Context, p *policy.Policy) {
	for _, r := range p.Rules() {
		if r.InFlight() {
			d.config.Log.InfoContext(ctx, "the rule counts requests in flight: only the proxy does that", "rule", r.Name, "listener", httpName)
		}
	}
}

// unusable is an error about a listener, with the field and the remedy.
func unusable(name, address string, err error) error {
	remedy := "write another address, or find out what keeps weir from it"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		remedy = "end what listens there already, or write another address"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		remedy = "write a port above 1023, or give the process the right to it"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		remedy = "write an address that this machine has"
	}
	return fmt.Errorf("listen.%s: cannot listen on %s: %w; %s", name, address, err, remedy)
}
