package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
)

// Options are what a reload may change.
type Options struct {
	// Decider decides each request, and takes charges back. It is required.
	Decider weir.Decider

	// Header tells callers what was decided. It is required.
	Header *header.Writer

	// Upstream is where requests go: http or https and a host. Exactly one of
	// Upstream and Demo is given.
	Upstream *url.URL

	// Demo answers requests here: 200 and a line of JSON.
	Demo bool

	// Trusts reports whether a peer, as net/http writes its address, is a
	// trusted proxy. nil trusts nobody.
	Trusts func(remoteAddr string) bool

	// Strip names further header fields that only trusted peers may send: the
	// configured client address header, those that name plans.
	Strip []string
}

// Settings are Options, checked. They come from [NewSettings], do not change,
// and are safe for concurrent use.
type Settings struct {
	decider  weir.Decider
	header   *header.Writer
	upstream *url.URL // nil: demo
	trusts   func(remoteAddr string) bool
	strip    map[string]bool // canonical names
}

// NewSettings checks o. The error joins a [*weir.FieldError] for each thing that
// is wrong.
func NewSettings(o Options) (*Settings, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Settings{decider: o.Decider, header: o.Header, trusts: o.Trusts, strip: map[string]bool{}}
	if o.Upstream != nil {
		upstream := *o.Upstream
		s.upstream = &upstream
	}
	for _, name := range o.Strip {
		s.strip[http.CanonicalHeaderKey(name)] = true
	}
	return s, nil
}

func (o Options) validate() error {
	var errs []error
	add := func(field string, value any, problem, remedy string) {
		errs = append(errs, weir.Invalid(field, value, problem, remedy))
	}
	if o.Decider == nil {
		add("Decider", "nil", "somebody has to decide", "hand in a policy's view")
	}
	if o.Header == nil {
		add("Header", "nil", "callers are told what was decided", "make one with header.New")
	}
	switch {
	case o.Upstream != nil && o.Demo:
		add("upstream", o.Upstream.Redacted(), "with demo nothing is sent on", "leave one of them out")
	case o.Upstream != nil:
		if problem := checkUpstream(o.Upstream); problem != "" {
			add("upstream", o.Upstream.Redacted(), problem, "write it like http://127.0.0.1:3000")
		}
	case !o.Demo:
		add("upstream", "", "there is nowhere to send requests", "name one, or demo")
	}
	for _, name := range o.Strip {
		if name == "" || strings.ContainsFunc(name, odd) {
			add("Strip", name, "it is no header field's usual name", "use letters, digits and hyphens")
		}
	}
	return errors.Join(errs...)
}

// checkUpstream says what is wrong with an upstream, "" for nothing.
func checkUpstream(u *url.URL) string {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "its scheme is neither http nor https"
	case u.Host == "" || u.Opaque != "":
		return "it names no host"
	case u.User != nil:
		return "credentials in it would be sent with every caller's request"
	case u.Path != "" && u.Path != "/":
		return "a path in it would make another target of what was decided"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "a query or a fragment cannot be joined with that of a request"
	}
	return ""
}

// trusted reports whether a peer is a trusted proxy.
func (s *Settings) trusted(remoteAddr string) bool {
	return s.trusts != nil && s.trusts(remoteAddr)
}
