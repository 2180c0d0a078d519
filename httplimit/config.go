package httplimit

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/internal/expect"
	"github.com/weirhq/weir/internal/hold"
)

// Config says what a Middleware limits and how it answers. It needs a Store and
// Rules, or a Decider.
type Config struct {
	// Store keeps what has been used, for Rules. It stays the caller's to
	// close, after the server has stopped.
	Store weir.Store

	// Rules are what a request must pass, all of them in one call of the
	// store: at most 16 limits together.
	Rules []Rule

	// Decider decides instead of Store and Rules: a rules engine. It is given
	// the request as it came, and the caller's address if ClientIP is set.
	Decider weir.Decider

	// ClientIP finds the caller's address. nil believes no header: the peer is
	// the caller; a Decider is then left to find the address by itself.
	ClientIP *clientip.Resolver

	// Header says which fields answers carry. Its zero value writes RateLimit,
	// RateLimit-Policy and X-RateLimit; Debug adds X-Weir-Decided.
	Header header.Config

	// Deny writes refusals instead of header.Writer.Refuse. It must write a
	// status, such as that of header.Status; with none net/http sends 200. The
	// fields of package header and Cache-Control: no-store are set already. It
	// must not keep the outcome.
	Deny func(http.ResponseWriter, *http.Request, *weir.Outcome)

	// Observer is told of every decision, refused or not. Nothing is decided
	// while enforcement is off. An error in the outcome of a request that was
	// let pass is a fault that a rule's OnError, or its shadow, let through.
	Observer weir.Observer

	// MaxWaiting is how many requests may wait at once for their turn under leaky
	// buckets, 1 to 1,000,000; 0 means 1,000. One more is refused for as long as it
	// would have waited. Each that waits has a goroutine and keeps its connection.
	MaxWaiting int

	// Enforce is where the switch stands at first; see
	// [Middleware.SetEnforce].
	Enforce Enforce
}

// The bounds of Config.MaxWaiting.
const (
	usualWaiting = 1000
	mostWaiting  = 1_000_000
)

// Enforce is a Middleware's switch.
type Enforce uint8

// The positions of the switch.
const (
	On     Enforce = iota // limits are enforced
	Shadow                // all is decided, charged and observed, and nothing refused
	Off                   // requests pass as if there were no Middleware
)

// String is the word that metrics and rules files use: on, shadow or off.
func (e Enforce) String() string {
	switch e {
	case On:
		return "on"
	case Shadow:
		return "shadow"
	case Off:
		return "off"
	}
	return "unknown"
}

// New makes a Middleware. The error joins one [*weir.FieldError] for each thing
// that is wrong, and what a store says that has no room for so many limits.
func New(c Config) (*Middleware, error) {
	writer, headerErr := header.New(c.Header)
	list, rulesErr := compile(c.Rules)
	if err := errors.Join(c.validate(), headerErr, rulesErr); err != nil {
		return nil, err
	}
	m := &Middleware{header: writer, deny: c.Deny, observer: c.Observer, waiting: hold.New(cmp.Or(c.MaxWaiting, usualWaiting))}
	m.calls.New = func() any { return newCall(c.ClientIP) }
	m.SetEnforce(c.Enforce)
	if c.Decider != nil {
		m.engine = consulted{c.Decider}
		return m, nil
	}
	m.engine = &rules{store: c.Store, keyer: c.Store.Keyer(), list: list}
	if err := expect.Limits(c.Store, expected(list)...); err != nil {
		return nil, err
	}
	return m, nil
}

// validate checks what is not a rule's.
func (c Config) validate() error {
	var errs []error
	add := func(field string, value any, problem, remedy string) {
		errs = append(errs, weir.Invalid(field, value, problem, remedy))
	}
	switch {
	case c.Decider != nil && (c.Store != nil || len(c.Rules) > 0):
		add("Decider", "", "it stands instead of Store and Rules", "leave one or the other out")
	case c.Decider != nil:
	case c.Store == nil:
		add("Store", "nil", "limits need one", "make one with memstore.New, or set Decider")
	case len(c.Rules) == 0:
		add("Rules", "", "there are none", "write one, or set Decider")
	}
	if c.MaxWaiting < 0 || c.MaxWaiting > mostWaiting {
		add("MaxWaiting", c.MaxWaiting, fmt.Sprintf("1 to %d requests can wait at once", mostWaiting), "leave it out for 1000")
	}
	if c.Enforce > Off {
		add("Enforce", uint8(c.Enforce), "no such position", "use On, Shadow or Off")
	}
	return errors.Join(errs...)
}

// expected are all limits of all rules.
func expected(list []*rule) []*weir.Limit {
	var limits []*weir.Limit
	for _, l := range list {
		limits = append(limits, l.limits()...)
	}
	return limits
}
