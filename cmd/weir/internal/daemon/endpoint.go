package daemon

import (
	"context"
	"net"
	"net/http"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/policy"
)

// endpoint is a listener with what answers there.
type endpoint struct {
	name     string // as the rules file has it: proxy, http or ops
	config   policy.Listener
	listener *listen.Listener
	server   *listen.Server
	done     chan struct{} // closed when the server has ended
}

// url is where the endpoint is found from this machine.
func (e *endpoint) url() string {
	scheme := "http"
	if e.config.TLS != nil {
		scheme = "https"
	}
	tcp, ok := e.listener.Addr().(*net.TCPAddr)
	if !ok {
		return e.config.Address
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(tcp.String())
	return scheme + "://" + net.JoinHostPort(host, port)
}

// bind opens every listener, and serves none yet.
func (d *daemon) bind(ctx context.Context) error {
	p := d.engine.Policy()
	for _, f := range d.faces(p) {
		c := listen.Config{
			Address:       f.config.Address,
			MaxConns:      f.config.MaxConns,
			MaxConnsPerIP: f.config.MaxConnsPerIP,
			Exempt:        p.Config().ClientIP.TrustedProxies,
			Streams:       f.streams,
			Logger:        d.config.Log.With("listener", f.name),
		}
		if f.config.TLS != nil {
			c.TLS = d.surfaces.tls(f.name)
		}
		if err := d.open(ctx, f, c); err != nil {
			return err
		}
	}
	return nil
}

// face is a surface that is to be served.
type face struct {
	name    string
	config  *policy.Listener
	handler http.Handler
	streams bool // it sets deadlines itself
}

// open binds one listener. Those that were opened before are closed by the
// daemon's end.
func (d *daemon) open(ctx context.Context, f face, c listen.Config) error {
	l, err := listen.Open(ctx, c)
	if err != nil {
		return unusable(f.name, f.config.Address, err)
	}
	d.metrics.Listener(f.name, l.Counts)
	d.surfaces.handlers[f.name] = f.handler
	d.surfaces.bound[f.name] = boundTo(f.config, l.Addr())
	d.endpoints = append(d.endpoints, &endpoint{
		name: f.name, config: *f.config, listener: l, server: l.Server(d.surfaces.handler(f.name)), done: make(chan struct{}),
	})
	return nil
}

// serve begins to answer, everywhere at once, and says so when it is so.
func (d *daemon) serve() {
	d.failed = make(chan error, len(d.endpoints))
	for _, e := range d.endpoints {
		go func() {
			defer close(e.done)
			if err := e.server.Serve(); err != nil {
				d.failed <- unusable(e.name, e.config.Address, err)
			}
		}()
	}
	ctx := context.Background()
	for _, e := range d.endpoints {
		d.config.Log.InfoContext(ctx, "listening", "listener", e.name, "address", e.listener.Addr().String(), "tls", e.config.TLS != nil)
	}
	d.ready.Listening()
	d.logStart(ctx)
}
