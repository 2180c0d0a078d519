package listen

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// Server serves HTTP on a Listener. It comes from [Listener.Server].
type Server struct {
	listener *Listener
	http     *http.Server
	cancel   context.CancelFunc // of the context that all requests stem from
}

// Server serves h on the listener. It belongs to this one server then.
func (l *Listener) Server(h http.Handler) *Server {
	base, cancel := context.WithCancel(context.Background())
	s := &Server{listener: l, cancel: cancel}
	t := l.config.Timeouts
	s.http = &http.Server{
		Handler:           h,
		TLSConfig:         l.config.TLS,
		ReadHeaderTimeout: t.Header, // covers the handshake too
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    maxHeaderBytes,
		Protocols:         l.protocols(),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      t.Ping,
			PingTimeout:          t.Ping,
			WriteByteTimeout:     t.Ping,
		},
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    errorLog(l.config.Logger),

		// Nothing is answered past the handler, and so past its limits.
		DisableGeneralOptionsHandler: true,
	}
	if !l.config.Streams {
		s.http.ReadTimeout, s.http.WriteTimeout = t.Body, t.Answer
	}
	return s
}

func (l *Listener) protocols() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(l.config.TLS != nil)
	p.SetUnencryptedHTTP2(false)
	return &p
}

// Serve accepts connections until Shutdown, and returns nil then.
func (s *Server) Serve() error {
	var err error
	if s.listener.config.TLS != nil {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops listening, waits until all requests in flight have been
// answered and all hijacked connections (WebSockets) have ended, and returns
// nil. When ctx ends first, what is left is cut off: connections are closed, and
// then the contexts of requests cancelled, so that nothing more is answered; the
// error is that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.cancel()
	err := s.http.Shutdown(ctx)
	if ctx.Err() == nil {
		select {
		case <-s.listener.drained(): // but for hijacked ones it is by now
			return err
		case <-ctx.Done():
		}
	}
	// Connections first: a handler that sees its context end before would write an
	// answer to it, and some callers would be told of a fault that nobody had.
	s.listener.closeAll()
	return errors.Join(ctx.Err(), s.http.Close())
}
