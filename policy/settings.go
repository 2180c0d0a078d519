package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/policy/internal/match"
)

// settings checks everything but rules, plans and exemptions, and compiles what
// the engine needs of it: the resolver, the verifier, how paths are read.
func (c *compiler) settings() {
	if c.size(); c.found.Err() != nil {
		return
	}
	c.values(reflect.ValueOf(c.config).Elem(), "", field{})
	c.listen()
	c.upstream()
	c.clientIP()
	c.jwt()
	c.patterns("routes", c.config.Routes)
	c.policy.path = match.Options{
		Pass:      c.config.Path.Ambiguous == AmbiguousPass,
		Fold:      c.config.Path.Fold,
		KeepSlash: c.config.Path.Slash == SlashKeep,
	}
	c.policy.enforce = weakest(c.config.Enforce, On)
}

// values checks each single value by its type and its tags, as the decoder does
// for a file: a Config may have been made in Go.
func (c *compiler) values(v reflect.Value, path string, f field) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.values(v.Elem(), path, f)
	case isPrefix(v.Type()):
		p, _ := reflect.TypeAssert[netip.Prefix](v)
		c.value(path, p.String(), f, v)
	case v.Kind() == reflect.Struct:
		for _, each := range fieldsOf(v.Type()) {
			at := member(path, each.name)
			if each.short {
				at = path
			}
			c.values(v.Field(each.index), at, each)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			c.values(v.Index(i), element(path, i), field{typ: v.Type().Elem()})
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			c.values(v.MapIndex(key), member(path, key.String()), field{})
		}
	case v.IsZero():
	case v.Kind() == reflect.String && wordsOf(v.Type()) != nil:
		c.value(path, v.String(), f, v)
	case isDuration(v.Type()) || v.CanInt():
		c.number(path, v, f)
	}
}

// value checks a text as the decoder would.
func (c *compiler) value(path, text string, f field, v reflect.Value) {
	if bad := setText(path, text, f, reflect.New(v.Type()).Elem()); bad != (complaint{}) {
		c.refuse(bad.code, path, Span{}, bad.message, bad.hint)
	}
}

// number holds a number against its range.
func (c *compiler) number(path string, v reflect.Value, f field) {
	if bad := checkRange(path, ranged(f, v.Int()), v.Int(), f); bad != (complaint{}) {
		c.refuse(bad.code, path, Span{}, bad.message, bad.hint)
	}
}

// secret reads a text that is named by where it is: env:NAME or file:PATH. What
// is neither stands for itself.
func (c *compiler) secret(path, text string) (string, bool) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		value := c.getenv(name)
		if value == "" {
			c.refuse("missing-secret", path, Span{}, fmt.Sprintf("%s: the variable %s is not set", path, name), "set it, or name another")
		}
		return value, value != ""
	}
	if name, ok := strings.CutPrefix(text, "file:"); ok {
		value, ok := c.file(path, name)
		return string(value), ok
	}
	return text, true
}

// file reads a file that a field names.
func (c *compiler) file(path, name string) ([]byte, bool) {
	if name == "" {
		c.refuse("unreadable-file", path, Span{}, path+": the file has no name", "write file:PATH")
		return nil, false
	}
	text, err := c.readFile(name)
	if err != nil {
		c.refuse("unreadable-file", path, Span{}, fmt.Sprintf("%s: cannot read %s: %s", path, name, reason(err)), "a name is taken from the folder of the rules file")
		return nil, false
	}
	return text, true
}

// joinedErrors are the errors that an error joins, or itself.
func joinedErrors(err error) []error {
	if err == nil {
		return nil
	}
	if list, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return list.Unwrap()
	}
	return []error{err}
}

// headerNames are those of the requests' own business, which no proxy may set for
// a caller.
var headerNames = [...]string{"Authorization", "Connection", "Content-Length", "Cookie", "Host", "Proxy-Authorization", "Transfer-Encoding"}

// oddInHeader reports a character that only some servers tell from a hyphen.
func oddInHeader(r rune) bool {
	return r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// trustedHeaderNames compiles the headers that only proxies may send.
func (c *compiler) trustedHeaderNames() {
	for i, name := range c.config.ClientIP.TrustedHeaders {
		path := element("client_ip.trusted_headers", i)
		key := canonicalHeader(name)
		switch {
		case !httpsyntax.IsToken(name):
			c.refuse("bad-header", path, Span{}, fmt.Sprintf("header %q: it is no name of a header", name), "write it like X-Plan")
		case strings.ContainsFunc(name, oddInHeader):
			c.refuse("bad-header", path, Span{}, "header "+name+": some servers take other characters for a hyphen, so that a caller's header passes for the proxy's", "use letters, digits and hyphens, such as X-Plan")
		case slices.Contains(headerNames[:], key):
			c.refuse("bad-header", path, Span{}, "header "+key+": callers themselves send it", "use one of the proxy's own, such as X-Plan")
		case slices.Contains(c.policy.trustedHeaders, key):
			c.refuse("duplicate-value", path, Span{}, "header "+key+" is listed twice", "leave it out")
		default:
			c.policy.trustedHeaders = append(c.policy.trustedHeaders, key)
		}
	}
}
