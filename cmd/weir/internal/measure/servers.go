package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// upstream answers with a kilobyte, as a small API does.
func upstream() http.Handler {
	body := []byte(strings.Repeat("x", 1024))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(body)
	})
}

// bare is a reverse proxy of the standard library's that adds the fields that
// weir's answers carry, with values that never change. It pools its buffers, as
// weir does.
func bare(to string) (http.Handler, error) {
	target, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header.Set("RateLimit", `"a";r=999999999;t=1, "b";r=999999999;t=1, "c";r=999999999;t=1`)
			r.Header.Set("RateLimit-Policy", `"a";q=1000000000;w=1, "b";q=1000000000;w=1, "c";q=1000000000;w=1`)
			r.Header.Set("X-RateLimit-Limit", "1000000000")
			r.Header.Set("X-RateLimit-Remaining", "999999999")
			r.Header.Set("X-RateLimit-Reset", "1")
			return nil
		},
		BufferPool: &buffers{},
		Transport:  &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: 90 * time.Second, DisableCompression: true},
	}, nil
}

// serve serves on a free port, which it prints, until the context ends.
func serve(ctx context.Context, h http.Handler) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = s.Close()
	}()
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// buffers is a pool of copy buffers.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }
