package decide

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/problem"
	"github.com/weirhq/weir/internal/httpsyntax"
)

// CheckRequest describes a request to decide. Method and Path must be there.
type CheckRequest struct {
	Method  string              `json:"method"`
	Host    string              `json:"host,omitempty"`    // with the port where there is one
	Path    string              `json:"path"`              // as it is on the wire; it may have its query behind a question mark
	Query   string              `json:"query,omitempty"`   // without the question mark
	Headers map[string][]string `json:"headers,omitempty"` // by name, in any case
	IP      string              `json:"ip,omitempty"`      // the caller's address; it is believed
	Cost    int64               `json:"cost,omitempty"`    // units; 0 leaves it to the rules
}

const (
	longestMethod = 64
	longestPath   = maxBody
	mostLines     = 256 // of headers
)

// readRequest makes a request of a body.
func readRequest(body []byte) (*weir.Request, *problem.Problem) {
	m := &mistakes{}
	f := fields{parse(body, m).members, m}
	if p := m.problem(); p != nil && f.members == nil {
		return nil, p // of what is no object nothing is missing
	}
	f.only("method", "host", "path", "query", "headers", "ip", "cost")
	r := &weir.Request{Method: f.method(), Host: f.host(), Cost: f.cost("cost"), Addr: f.address()}
	r.Path, r.Query = f.target()
	r.Header = f.headers()
	if p := m.problem(); p != nil {
		return nil, p
	}
	return r, nil
}

func (f fields) method() string {
	method, ok := f.needed("method", longestMethod, "write one, as in GET")
	if ok && !httpsyntax.IsToken(method) {
		f.add("method", "it is no token of HTTP", "write it as on the wire, as in GET")
	}
	return method
}

func (f fields) host() string {
	host := f.text("host")
	if host != "" && !httpsyntax.IsHost(host) {
		f.add("host", "it is no host", "write a name or an address, with the port where there is one")
	}
	return host
}

func (f fields) address() netip.Addr {
	v, ok := f.find("ip", text)
	if !ok {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(v.text)
	switch {
	case err != nil:
		f.add("ip", "it is no address", "write it without port, brackets and prefix, as in 203.0.113.7 or 2001:db8::1")
	case addr.Zone() != "":
		f.add("ip", "an address with a zone means another on each machine", "leave the zone out")
	}
	return addr.Unmap()
}

// target gives path and query.
func (f fields) target() (path, query string) {
	path, ok := f.needed("path", longestPath, "write it as on the wire, as in /api/v1/jobs")
	query = f.text("query")
	if ok && path[0] != '/' {
		f.add("path", "it does not begin with a slash", "write the path alone, as in /api/v1/jobs")
	}
	before, after, both := strings.Cut(path, "?")
	switch {
	case both && f.has("query"):
		f.add("query", "the path has one already", "write it in one place")
	case both:
		path, query = before, after
	}
	if ok && !visible(path) {
		f.add("path", "it holds what no request line does", "escape it, as in %20 for a space")
	}
	if !visible(query) {
		f.add("query", "it holds what no request line does", "escape it, as in %20 for a space")
	}
	if strings.HasPrefix(query, "?") && !both {
		f.add("query", "it begins with a question mark", "leave that out")
	}
	return path, query
}

// headers gives the field lines, under canonical names.
func (f fields) headers() map[string][]string {
	v, ok := f.find("headers", object)
	if !ok {
		return nil
	}
	h, lines := make(map[string][]string, len(v.members)), 0
	for _, m := range v.members {
		at, name := join("headers", m.name), http.CanonicalHeaderKey(m.name)
		_, twice := h[name]
		switch {
		case !httpsyntax.IsToken(m.name):
			f.add(at, "no header has such a name", "")
		case name == "Host":
			f.add(at, "the host is no header here", "write it in the field host")
		case twice:
			f.add(at, "it stands there in another case as well", "write all its values in one list")
		}
		h[name] = f.values(at, m.value)
		lines += len(h[name])
	}
	if lines > mostLines {
		f.add("headers", fmt.Sprintf("there are %d lines", lines), fmt.Sprintf("send at most %d", mostLines))
	}
	return h
}

// values gives the values of one header: a text, or a list of texts.
func (f fields) values(at string, v value) []string {
	elements := v.list
	switch {
	case v.kind == text:
		elements = []value{v}
	case v.kind != list:
		f.add(at, "it must be a text or a list of texts, not "+v.kind.String(), "")
	case len(v.list) == 0:
		f.add(at, "it has no value", "leave it out")
	}
	values := make([]string, 0, len(elements))
	for i, e := range elements {
		if e.kind != text {
			f.add(fmt.Sprintf("%s[%d]", at, i), "it must be a text, not "+e.kind.String(), "")
			continue
		}
		if strings.ContainsFunc(e.text, isControl) {
			f.add(at, "it holds a control character, which no header does", "")
		}
		values = append(values, strings.Trim(e.text, " \t"))
	}
	return values
}

// isControl reports what no field value may hold (RFC 9110, section 5.5).
func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// visible reports that a text holds neither spaces nor control characters. Other
// bytes than ASCII are no part of a URI, and come all the same.
func visible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
