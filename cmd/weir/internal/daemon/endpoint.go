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
	handler  http.Handler // behind the guard
	streams  bool         // the handler sets deadlines itself
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
	for _, e := range d.wanted(p) {
		c := listen.Config{
			Address:       e.config.Address,
			MaxConns:      e.config.MaxConns,
			MaxConnsPerIP: e.config.MaxConnsPerIP,
			Exempt:        p.Config().ClientIP.TrustedProxies,
			Streams:       e.streams,
			Logger:        d.config.Log.With("listener", e.name),
		}
		if e.config.TLS != nil {
			c.TLS = d.surfaces.tls(e.name)
		}
		if err := d.open(ctx, e, c); err != nil {
			return err
		}
	}
	return nil
}

// open binds one endpoint. Those that were opened before are closed by the
// daemon's end.
func (d *daemon) open(ctx context.Context, e *endpoint, c listen.Config) error {
	l, err := listen.Open(ctx, c)
	if err != nil {
		return unusable(e.name, e.config.Address, err)
	}
	d.metrics.Listener(e.name, l.Counts)
	d.surfaces.handlers[e.name] = e.handler
	d.surfaces.bound[e.name] = boundTo(&e.config, l.Addr())
	e.listener, e.server = l, l.Server(d.surfaces.handler(e.name))
	d.endpoints = append(d.endpoints, e)
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
