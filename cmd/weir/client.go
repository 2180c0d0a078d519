package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// patience is how long a daemon may take to answer: it decides in milliseconds,
// or, with a store that is down, in what the store's timeout is.
const patience = 10 * time.Second

// mostAnswer bounds what is read of an answer. One about 16 limits has some
// kilobytes.
const mostAnswer = 4 << 20

// client asks a daemon.
type client struct {
	server string // as it was given, for messages
	base   string
	token  string
	http   *http.Client
}

// newClient takes http://host:port, https://host:port or unix:PATH, and a token
// as env:NAME or file:PATH; "" is none.
func newClient(env *Env, server, token string) (*client, error) {
	if server == "" {
		return nil, usagef("--server is missing: the URL of a daemon's http listener, such as http://127.0.0.1:8080")
	}
	secret, err := readToken(env, token)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	c := &client{server: server, token: secret, http: &http.Client{
		Transport: transport,
		Timeout:   patience,
		// A token is for the one who was named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		c.base = "http://weir"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}
		return c, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--server %s: use http://host:port, https://host:port or unix:PATH", server)
	}
	c.base = strings.TrimSuffix(u.String(), "/")
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

// post asks, and reads the answer into out.
func (c *client) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return usagef("--server %s: %w", c.server, err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if res.StatusCode != http.StatusOK {
		return c.refused(res.StatusCode, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s%s does not answer as a weir does: is it a daemon's http listener? %w", c.server, path, err)
	}
	return nil
}

func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var cause *url.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return exits(exitUnreachable, fmt.Errorf("%s cannot be reached: %w", c.server, err))
}

// refused is an answer that is no decision.
func (c *client) refused(status int, answer []byte) error {
	var problem struct{ Title, Detail string }
	_ = json.Unmarshal(answer, &problem) // what is no problem has no detail
	said := cmp.Or(problem.Detail, problem.Title, http.StatusText(status))
	err := fmt.Errorf("%s answers %d: %s", c.server, status, said)
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return exits(exitUsage, err)
	case http.StatusUnauthorized:
		return fmt.Errorf("%w (--token env:NAME or --token file:PATH gives one)", err)
	case http.StatusNotFound:
		return fmt.Errorf("%w: is it a daemon's http listener?", err)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exits(exitUnreachable, err)
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
