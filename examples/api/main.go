// Command api is a small server behind weir: POST /api/v1/jobs may be called five
// times a second by each address, everything else is free.
//
//	go run ./examples/api
//	curl -i -X POST 'localhost:8000/api/v1/jobs?n=[1-6]'
//
// The sixth answer is 429 and says when to come back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weirhq/weir/memstore"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run serves until ctx is done, and says on stdout where.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }() // memory has nothing to lose
	handler, err := newAPI(o, store)
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", o.addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "listening on http://%s; %s is limited to %q\n", l.Addr(), o.match, []string(o.limits))
	return serve(ctx, newServer(handler), l)
}

// newServer bounds how long a client may take: net/http by itself waits for
// ever.
func newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// grace is how long requests in flight may take once the server is stopped.
const grace = 10 * time.Second

func serve(ctx context.Context, s *http.Server, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.Shutdown(ctx)
}
