package clientip

import (
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// maxParams bounds the parameters of an element of Forwarded: four are
// registered, and a proxy may add some of its own.
const maxParams = 16

// forNode returns the value of the one for= parameter in an element of
// Forwarded (RFC 7239 section 4), unquoted. An element without one, with a
// parameter that comes twice, or not well formed as a whole has none.
func forNode(element string) (node string, ok bool) {
	var seen [maxParams]string
	for n := 0; ; n++ {
		element = strings.TrimLeft(element, ";"+ows)
		if element == "" {
			return node, ok
		}
		name, value, rest, valid := cutPair(element)
		if !valid || n == maxParams || containsName(seen[:n], name) {
			return "", false
		}
		seen[n] = name
		if strings.EqualFold(name, "for") {
			node, ok = unquote(value), true
		}
		element = rest
	}
}

func containsName(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// cutPair cuts the first name=value off s, up to a semicolon or the end. The
// value is as written, with its quotes.
func cutPair(s string) (name, value, rest string, ok bool) {
	name, rest = cutSpan(s, httpsyntax.IsTokenByte)
	if name == "" || !strings.HasPrefix(rest, "=") {
		return "", "", "", false
	}
	value, rest = cutValue(rest[1:])
	rest = strings.TrimLeft(rest, ows)
	return name, value, rest, value != "" && (rest == "" || rest[0] == ';')
}

// cutValue cuts a token or a quoted string off s, and returns "" for neither.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		return cutSpan(s, isValueChar)
	}
	for i := 1; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return s[:i+1], s[i+1:]
		}
		if c == '\\' && i+1 < len(s) {
			i++
			c = s[i]
		}
		if c < ' ' && c != '\t' || c == 0x7f {
			break
		}
	}
	return "", s
}

// cutSpan cuts off s what consists of bytes that are such.
func cutSpan(s string, such func(byte) bool) (span, rest string) {
	i := 0
	for i < len(s) && such(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// unquote returns what a value of cutValue means.
func unquote(value string) string {
	if value[0] != '"' {
		return value
	}
	value = value[1 : len(value)-1]
	if strings.IndexByte(value, '\\') < 0 {
		return value
	}
	plain := make([]byte, 0, len(value))
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' {
			i++
		}
		plain = append(plain, value[i])
	}
	return string(plain)
}

// isValueChar says whether c may be in a value outside quotes. By the standard
// that is a token, but proxies write IPv6 addresses and ports without quotes.
func isValueChar(c byte) bool {
	return httpsyntax.IsTokenByte(c) || c == '[' || c == ']' || c == ':'
}
