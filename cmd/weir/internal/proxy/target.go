package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// asterisk is the target of an OPTIONS that asks about the whole server.
const asterisk = "*"

// A target is the path that a request asks for.
type target struct {
	raw   string // the bytes that came
	plain bool   // net/url would write the same bytes
}

// targetOf finds the path in the bytes of the request line: net/url writes some
// paths anew (a `|` becomes %7C, and a %2F beside it a slash). It reports false
// for a target that no server should have to guess about.
func targetOf(r *http.Request) (target, bool) {
	uri := r.RequestURI
	switch {
	case uri == "": // a request that came over no wire
		return target{r.URL.EscapedPath(), true}, strings.HasPrefix(r.URL.Path, "/")
	case uri == asterisk:
		return target{asterisk, true}, r.Method == http.MethodOptions
	case uri[0] != '/':
		var ok bool
		if uri, ok = withoutOrigin(r, uri); !ok {
			return target{}, false
		}
	}
	path, _, _ := strings.Cut(uri, "?")
	if path == "" {
		path = "/"
	}
	written := r.URL.EscapedPath()
	t := target{path, written == path || written == ""}
	// No target has a fragment (RFC 9112, section 3.2): who finds one may cut
	// the path there, or not. A space, which HTTP/2 lets through, ends it in
	// the request line of HTTP/1.
	return t, strings.IndexByte(path, '#') < 0 && !strings.ContainsFunc(uri, blank)
}

// blank is a byte that a request line ends at, or that is no part of one.
func blank(r rune) bool { return r <= ' ' || r == 0x7f }

// withoutOrigin takes scheme and host off a target in absolute form, which
// HTTP/1 has for proxies (RFC 9112, section 3.2.2). net/http has put the host
// where that of others stands.
func withoutOrigin(r *http.Request, uri string) (string, bool) {
	u := r.URL
	if r.ProtoMajor != 1 || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", false
	}
	_, rest, ok := strings.Cut(uri, "://")
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		return rest[i:], ok
	}
	return "", ok
}

// sendable reports whether the target can be written as it came. A path that
// net/url would change is written as an opaque one, which may not look like a
// host.
func (t target) sendable() bool {
	return t.plain || !strings.HasPrefix(t.raw, "//")
}

// join makes out, a copy of the request's URL, that of the same target at the
// upstream.
func (t target) join(out *url.URL, query string, s *Settings) {
	out.Scheme, out.Host, out.User = s.upstream.Scheme, s.upstream.Host, nil
	out.RawQuery = query
	if t.raw == asterisk {
		out.Path, out.RawPath = asterisk, ""
		return
	}
	if out.Path == "" {
		out.Path = "/"
	}
	out.RawPath = t.raw
	if !t.plain {
		out.Opaque = out.RawPath
	}
}
