package httplimit

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weirhq/weir"
)

// TransportConfig says what a Transport keeps to. Its zero value has no limit of
// its own, and obeys what the far side says.
type TransportConfig struct {
	// Base sends what may be sent. nil is http.DefaultTransport. Behind a limit of
	// requests in flight it is best one whose MaxConnsPerHost is that number.
	Base http.RoundTripper

	// Limiter is a limit of one's own: each request takes one unit of the key,
	// and so does each time it is sent again. nil is none. Its store stays the
	// caller's to close. An error of it means that the request is not sent. Limits
	// of requests in flight (concurrent), and those that block, are refused.
	Limiter *weir.Limiter

	// Key says whose quota a request uses, both of Limiter and of the far side:
	// what the far side says of one key holds for this key alone. nil is
	// weir.Text("host", h), where h is the host that the request goes to, in small
	// letters, with the port unless it is the scheme's own. Set it where one host
	// has several quotas, or several hosts share one.
	//
	// It must be safe for concurrent use, and leave the request as it is.
	Key func(*http.Request) weir.Part

	// MaxWait is the longest that one request waits for its turn, in all, from 1
	// ns: 1 minute by default. One whose wait would be longer than what is left of
	// that, or than its context's deadline allows, fails at once with a
	// *NotSentError.
	MaxWait time.Duration

	// FailFast lets no request wait. Leave MaxWait and Retries out then.
	FailFast bool

	// MaxPause is the longest that one answer of the far side keeps requests of
	// its key back, from 1 ns: 1 hour by default. What asks for more is cut to
	// that, so that one absurd value does not stop a program for good. A far side
	// whose fields mean something else is best not listened to: below 1 ms nothing
	// that it says keeps anybody back.
	MaxPause time.Duration

	// Retries is how often one request that the far side has refused is sent
	// again when it may be, 0 to 10; by default its refusal is the answer. Nothing
	// is sent twice that could do harm by it: see the package comment.
	Retries int
}

// What a TransportConfig leaves out.
const (
	defaultMaxWait  = time.Minute
	defaultMaxPause = time.Hour
)

const (
	// maxRetries is more than helps anybody: whoever was refused so often is over
	// a limit that waiting does not get him under.
	maxRetries = 10

	// maxResting is of how many keys without a request a Transport knows what the
	// far side has said: 2 MB, or 6 where each names many quotas.
	maxResting = 4096
)

// Transport is an [http.RoundTripper] that keeps under a limit of one's own, and to
// what the far side says of its limits. Make it with [NewTransport]; the zero
// Transport answers every request with an error. It is safe for concurrent use.
type Transport struct {
	base     http.RoundTripper
	limiter  *weir.Limiter
	key      func(*http.Request) weir.Part
	patience patience // of each request
	maxPause time.Duration
	retries  int
	lanes    *lanes
}

// NewTransport makes a Transport. The error joins one [*weir.FieldError] for each
// thing that is wrong.
func NewTransport(c TransportConfig) (*Transport, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	t := &Transport{
		base:     c.Base,
		limiter:  c.Limiter,
		key:      c.Key,
		patience: patience{left: c.MaxWait, failFast: c.FailFast},
		maxPause: c.MaxPause,
		retries:  c.Retries,
		lanes:    newLanes(maxResting),
	}
	if t.base == nil {
		t.base = http.DefaultTransport
	}
	if t.key == nil {
		t.key = hostPart
	}
	if c.MaxWait == 0 {
		t.patience.left = defaultMaxWait
	}
	if c.MaxPause == 0 {
		t.maxPause = defaultMaxPause
	}
	return t, nil
}

func (c TransportConfig) validate() error {
	var errs []error
	add := func(field string, value any, problem, remedy string) {
		errs = append(errs, weir.Invalid(field, value, problem, remedy))
	}
	if c.MaxWait < 0 {
		add("MaxWait", c.MaxWait, "no wait is shorter than none", "leave it out for 1 minute, or set FailFast")
	}
	if c.MaxPause < 0 {
		add("MaxPause", c.MaxPause, "no pause is shorter than none", "leave it out for 1 hour")
	}
	if c.Retries < 0 || c.Retries > maxRetries {
		add("Retries", c.Retries, "outside 0 to 10", "use 2 or 3, or leave it out")
	}
	if c.FailFast && c.MaxWait > 0 {
		add("MaxWait", c.MaxWait, "with FailFast nothing waits", "leave one of the two out")
	}
	if c.FailFast && c.Retries > 0 {
		add("Retries", c.Retries, "a request is sent again after a wait, and with FailFast nothing waits", "leave one of the two out")
	}
	if c.Limiter != nil {
		for _, l := range c.Limiter.Limits() {
			if problem, remedy := unfit(l.Spec()); problem != "" {
				add("Limiter", l, problem, remedy)
			}
		}
	}
	return errors.Join(errs...)
}

// unfit says why a limit of one's own cannot be of a kind; "" where it can.
func unfit(s weir.Spec) (problem, remedy string) {
	switch {
	case s.Algorithm == weir.Concurrency:
		return "a Transport does not know when a caller is done with an answer", "use a rate; http.Transport.MaxConnsPerHost bounds what is in flight"
	case s.Block != (weir.Block{}):
		return "whoever waits for his turn is refused first, and would be blocked by that", "leave block out"
	}
	return "", ""
}

// hostPart is the key of a request where nothing else is set.
func hostPart(r *http.Request) weir.Part { return weir.Text("host", hostOf(r.URL)) }

// hostOf writes the host of a URL in one way.
func hostOf(u *url.URL) string {
	if u == nil {
		return "" // the base refuses it
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	port := u.Port()
	if port == "" || port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		return host
	}
	return net.JoinHostPort(host, port)
}

// RoundTrip sends a request when it may be sent, and waits for that, within MaxWait
// and the request's context. A request that is not sent costs nothing: its body is
// closed, and the error is a [*NotSentError], or the context's where that has ended.
// Once it is sent, its answer or error is that of the base, also where the answer
// is a refusal: one that was to be sent again and then may not be is answered with
// the refusal, of whose body 16 KiB are kept, as far as they come within a second.
// Where its context ends while it waits for that, the error is the context's.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t == nil || t.lanes == nil {
		closeBody(r)
		return nil, weir.Invalid("Transport", "", "it was not made", "make it with httplimit.NewTransport")
	}
	part := t.key(r)
	lane := t.lanes.enter(part)
	defer func() { t.lanes.leave(lane, now()) }()
	trip := trip{Transport: t, part: part, lane: lane, patience: t.patience}
	return trip.run(r)
}

// CloseIdleConnections closes those of the base, if it has any.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}
