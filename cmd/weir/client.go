package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
)

// patience is how long a daemon may take to answer: it decides in microseconds,
// and whoever has waited this long asks somebody.
const patience = 10 * time.Second

// newClient takes http://host:port, https://host:port or unix:PATH, and a token
// as env:NAME or file:PATH; "" is none.
func newClient(env *Env, server, token string) (*decide.Client, error) {
	if server == "" {
		return nil, usagef("--server is missing: the URL of a daemon's http listener, such as http://127.0.0.1:8080")
	}
	secret, err := readToken(env, token)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	c := &decide.Client{URL: server, Token: secret, HTTP: &http.Client{Transport: transport, Timeout: patience}}
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		c.URL = "http://unix"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
	}
	return c, nil
}

// readToken never takes the token itself: other users see a command's arguments.
func readToken(env *Env, from string) (string, error) {
	if from == "" {
		return "", nil
	}
	if name, ok := strings.CutPrefix(from, "env:"); ok {
		if v := env.Getenv(name); v != "" {
			return v, nil
		}
		return "", usagef("--token %s: the variable is not set", from)
	}
	if name, ok := strings.CutPrefix(from, "file:"); ok {
		b, err := env.ReadFile(name)
		if err != nil {
			return "", usagef("--token: %w", err)
		}
		return strings.TrimSpace(string(b)), nil
	}
	return "", usagef("--token: use env:NAME or file:PATH; a token on the command line can be seen by others")
}

// asked gives what a client returned its exit code.
func asked(err error) error {
	var field *weir.FieldError
	var refused *decide.RefusedError
	var unreachable *decide.UnreachableError
	switch {
	case errors.As(err, &unreachable) && unreachable.Foreign:
		return exits(exitUnreachable, fmt.Errorf("%w; --server is the http listener (listen.http in the rules file), not the proxy or ops", err))
	case errors.As(err, &unreachable):
		return exits(exitUnreachable, err)
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; --token env:NAME or --token file:PATH gives one", err)
	case errors.As(err, &refused), errors.As(err, &field):
		return exits(exitUsage, err)
	}
	return err
}

// interruptible gives a context that ends with SIGINT.
func (e *Env) interruptible(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	got, ignore := e.Signals(os.Interrupt)
	go func() {
		select {
		case <-got:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { ignore(); cancel() }
}
