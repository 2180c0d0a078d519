package policy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/policy/internal/match"
)

// fail says why the conditions do not hold; "" where they do.
func (k *conditions) fail(c *call) string {
	if len(k.networks) > 0 {
		switch a := c.found.Caller; {
		case !a.Sure:
			return "the address is not sure"
		case !slices.ContainsFunc(k.networks, func(n netip.Prefix) bool { return n.Contains(a.Addr) }):
			return "the address is in none of its networks"
		}
	}
	for i := range k.headers {
		if h := &k.headers[i]; !h.holds(c) {
			return "header " + h.name + " is absent or holds something else"
		}
	}
	return ""
}

// hold reports whether the conditions hold.
func (k *conditions) hold(c *call) bool { return k.fail(c) == "" }

// holds reports whether the header is there, and holds what it must. What makes a
// request exempt must be one line. A rule applies where any line holds, in whatever
// spelling of the name, and any element of a list: lest a second line free of it.
func (h *headerCondition) holds(c *call) bool {
	lines := c.header(h.name)
	if h.once {
		return len(lines) > 0 && len(h.values) == 0 || len(lines) == 1 && slices.Contains(h.values, lines[0])
	}
	if h.among(lines) {
		return true
	}
	if slices.Contains(c.found.Policy.trustedHeaders, h.name) {
		return false
	}
	for name, lines := range c.found.Request.Header {
		if otherSpelling(name, h.name) && h.among(lines) {
			return true
		}
	}
	return false
}

// among reports whether one of these lines holds what the header must.
func (h *headerCondition) among(lines []string) bool {
	for _, line := range lines {
		if len(h.values) == 0 || slices.Contains(h.values, line) {
			return true
		}
		for element := range strings.SplitSeq(line, ",") {
			if slices.Contains(h.values, strings.Trim(element, blank)) {
				return true
			}
		}
	}
	return false
}

// patterns reads the patterns of a field.
func (c *compiler) patterns(field string, texts []string) []*match.Pattern {
	var list []*match.Pattern
	for i, text := range texts {
		p, err := match.ParsePattern(text)
		if err != nil {
			c.refusePattern(element(field, i), err)
			continue
		}
		list = append(list, p)
	}
	return list
}

// refusePattern notes each mistake of a pattern at its place.
func (c *compiler) refusePattern(path string, err error) {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range list.Unwrap() {
			c.refusePattern(path, e)
		}
		return
	}
	var e *match.PatternError
	if !errors.As(err, &e) {
		c.refuse("bad-pattern", path, Span{}, err.Error(), "")
		return
	}
	message := "pattern: it " + e.Problem
	if part := e.Pattern[e.Offset : e.Offset+e.Len]; part != "" {
		message = fmt.Sprintf("pattern: %q %s", part, e.Problem)
	}
	c.refuse("bad-pattern", path, Span{e.Offset, max(1, e.Len)}, message, e.Remedy)
}

// conditions compiles what a rule or an exemption demands beside its patterns.
func (c *compiler) conditions(field string, networks []netip.Prefix, headers map[string]HeaderMatch) conditions {
	k := conditions{networks: networks}
	if networks != nil && len(networks) == 0 {
		c.refuse("empty-value", field+".ip", Span{}, "ip lists nothing, which is not the same as everything", "leave it nil, or list networks")
	}
	if headers != nil && len(headers) == 0 {
		c.refuse("empty-value", field+".headers", Span{}, "headers holds nothing, which is not the same as everything", "leave it nil, or write what must be there")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		path, m := member(field+".headers", name), headers[name]
		key, ok := c.headerName(path, name)
		switch {
		case !ok:
		case !m.Any && len(m.Values) == 0:
			c.refuse("bad-header", path, Span{}, "header "+name+": there is no value to compare with", "write true for any value, or a list")
		default:
			for _, value := range m.Values {
				if strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					c.refuse("bad-header", path, Span{}, "header "+name+": no request can hold a value with line ends, or with spaces around it", "write it on one line")
				}
			}
			k.headers = append(k.headers, headerCondition{name: key, values: m.Values})
		}
	}
	return k
}

// headerName is the canonical form of the name of a header that a request can
// have.
func (c *compiler) headerName(path, name string) (string, bool) {
	key := textproto.CanonicalMIMEHeaderKey(name)
	switch {
	case key == "Host":
		c.refuse("bad-header", path, Span{}, "header Host: it is kept apart from the header", "use a host in match, or the key `host`")
	case !httpsyntax.IsToken(name):
		c.refuse("bad-header", path, Span{}, fmt.Sprintf("header %q: it is no name of a header", name), "write it like X-Api-Key")
	default:
		return key, true
	}
	return "", false
}

// exemptions compiles Config.Exempt.
func (c *compiler) exemptions() {
	for i := range c.config.Exempt {
		e, field := &c.config.Exempt[i], element("exempt", i)
		if len(e.Match) == 0 && len(e.IP) == 0 && len(e.Headers) == 0 {
			c.refuse("empty-exempt", field, Span{}, "exempt: an entry without fields would exempt every request", "write match, ip or headers, or `enforce: off`")
		}
		made := &exemption{
			index:      i,
			patterns:   c.patterns(field+".match", e.Match),
			conditions: c.conditions(field, e.IP, e.Headers),
		}
		for i := range made.headers {
			made.headers[i].once = true
		}
		c.policy.exempt = append(c.policy.exempt, made)
	}
}
