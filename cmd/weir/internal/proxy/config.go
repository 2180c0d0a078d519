package proxy

import (
	"cmp"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"github.com/weirhq/weir"
)

// Config says what a Proxy works with. Settings are required.
type Config struct {
	// Settings gives what holds for the next request. It is called once for
	// each, so that a request sees the settings from before a reload or from
	// after it, never a mix; it must be safe for concurrent use and never
	// return nil.
	Settings func() *Settings

	// Timeouts are how long upstream and client may take.
	Timeouts Timeouts

	// MaxWaiting is how many requests may wait at once for their turn under leaky
	// buckets, 1 or more; 0 means 1,000. One more is refused for as long as it would
	// have waited. Each that waits keeps its connection.
	MaxWaiting int

	// TLS is for an https upstream; nil trusts the system's authorities.
	TLS *tls.Config

	// Logger is told when the upstream cannot be reached and when it can be
	// again, and of each other failure at debug level: never of addresses of
	// callers, paths, queries or header fields. nil is slog.Default.
	Logger *slog.Logger
}

// Timeouts are how long upstream and client may take. The zero value of each
// field is its default; a negative one is refused.
type Timeouts struct {
	// Dial is the time for a connection to the upstream, and again for its TLS
	// handshake; 5 s.
	Dial time.Duration

	// Answer is the time from the end of the request to the header of the
	// upstream's answer, and for which it may leave the rest of a body unread
	// before; 60 s. The answer's body may take any time.
	Answer time.Duration

	// Kept is how long an idle connection to the upstream is kept; 90 s.
	Kept time.Duration

	// Read is how long the client may let the proxy wait for the next bytes of
	// a body; 30 s.
	Read time.Duration

	// Write is how long the client may take nothing of what is written to it;
	// 30 s.
	Write time.Duration

	// Drain is how long the rest of a refused request's body is waited for;
	// 2 s.
	Drain time.Duration
}

const (
	defaultDial   = 5 * time.Second
	defaultAnswer = 60 * time.Second
	defaultKept   = 90 * time.Second
	defaultRead   = 30 * time.Second
	defaultWrite  = 30 * time.Second
	defaultDrain  = 2 * time.Second // for what is on its way already

	// A tenth of the connections that a listener has by default: those that wait
	// leave room for those that do not.
	defaultWaiting = 1000
)

func (c Config) complete() (Config, error) {
	if err := c.validate(); err != nil {
		return c, err
	}
	t := &c.Timeouts
	t.Dial = cmp.Or(t.Dial, defaultDial)
	t.Answer = cmp.Or(t.Answer, defaultAnswer)
	t.Kept = cmp.Or(t.Kept, defaultKept)
	t.Read = cmp.Or(t.Read, defaultRead)
	t.Write = cmp.Or(t.Write, defaultWrite)
	t.Drain = cmp.Or(t.Drain, defaultDrain)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, defaultWaiting)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

func (c Config) validate() error {
	var errs []error
	add := func(field string, value any, problem, remedy string) {
		errs = append(errs, weir.Invalid(field, value, problem, remedy))
	}
	if c.Settings == nil {
		add("Settings", "nil", "there is nothing to work by", "hand in a function that returns what NewSettings made")
	}
	if c.MaxWaiting < 0 {
		add("MaxWaiting", c.MaxWaiting, "requests are kept waiting, or a limit would have to refuse them", "leave it out for 1000")
	}
	t := c.Timeouts
	for i, d := range [...]time.Duration{t.Dial, t.Answer, t.Kept, t.Read, t.Write, t.Drain} {
		if d < 0 {
			name := [...]string{"Dial", "Answer", "Kept", "Read", "Write", "Drain"}[i]
			add("Timeouts."+name, d, "time does not run back", "leave it out for the default")
		}
	}
	return errors.Join(errs...)
}
