package policy

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/policy/internal/token"
)

// This file finds traces: what weir cannot read, and an application may. Where a
// request bears a trace of what a rule counts by, a rule that skips who has none counts
// him by address, since he may well have it. No trace is read for its value.

const (
	blank  = " \t"
	quotes = `"`
)

// traced reports whether there is a trace of a part of the key that is not to be read.
func (c *call) traced(p part) bool {
	count := 0
	switch p.origin {
	case fromHeader:
		return c.spelt(p.name) || slices.ContainsFunc(c.header(p.name), func(line string) bool { return line != "" })
	case fromCookie:
		_, count = cookie(c.found.Request.Header["Cookie"], p.name)
	case fromQuery:
		_, count = query(c.found.Request.Query, p.name)
	case fromHost:
		return c.found.Request.Host != ""
	case fromBasic:
		return slices.ContainsFunc(c.found.Request.Header["Authorization"], mayBeBasic)
	case fromJWT:
		return c.tokenTraced()
	case fromIP, fromPath, fromConst: // there is one way to read them
	}
	return count > 0
}

// tokenTraced reports whether there is a token that has not been read. One that was
// read and is not believed is as none.
func (c *call) tokenTraced() bool {
	from := c.found.Policy.tokenFrom
	switch {
	case c.why != token.Missing && c.why != token.TooLong && c.why != token.Malformed:
		return false
	case from.origin == fromHeader && from.name == "Authorization":
		return slices.ContainsFunc(c.header(from.name), mayBeBearer) // others have schemes of their own
	}
	return c.traced(from)
}

// mayBeBearer reports whether an application may find a token in a line of
// Authorization: in any scheme where it looks like a signed one, and behind Bearer
// whatever it is that cannot be read here.
func mayBeBearer(line string) bool { return mayHoldToken(line) || token.Garbled(line) }

// spelt reports whether a header is there under a name that some servers take for the
// same.
func (c *call) spelt(name string) bool {
	if slices.Contains(c.found.Policy.trustedHeaders, name) { // of which the proxy passes none on
		return false
	}
	for other, lines := range c.found.Request.Header {
		if len(lines) > 0 && otherSpelling(other, name) {
			return true
		}
	}
	return false
}

// otherSpelling reports whether two names differ, and are the same to servers that keep
// headers as CGI does: whatever is no letter and no digit looks alike there.
func otherSpelling(a, b string) bool {
	if len(a) != len(b) || a == b {
		return false
	}
	for i := range len(a) {
		if x, y := plain(a[i]), plain(b[i]); x != y {
			return false
		}
	}
	return true
}

// plain is a small letter, a digit, or - for whatever else there is in ASCII.
func plain(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c | 0x20
	case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c >= utf8.RuneSelf:
		return c
	}
	return '-'
}

// spellings is how often a text holds `name=value` in a way that some application may
// read: between these separators, or behind a blank or a comma, with quotes around it,
// under a name that differs in the case of letters, in escapes, or in what is no letter.
// A value of which nothing is left without what surrounds it is none.
func spellings(text, name, separators, around string) (count int) {
	for text != "" {
		pair := text
		if i := strings.IndexAny(text, separators); i >= 0 {
			pair, text = text[:i], text[i+1:]
		} else {
			text = ""
		}
		for before, rest, is := strings.Cut(pair, "="); is; before, rest, is = strings.Cut(rest, "=") {
			word := strings.TrimRight(before, blank+quotes)
			word = word[strings.LastIndexAny(word, blank+quotes+",")+1:]
			if (mayBeNamed(word, name) || mayBeNamed(before, name)) && strings.Trim(rest, around) != "" {
				count++
			}
		}
	}
	return count
}

// mayBeNamed reports whether an application may take what came for this name. Some
// cut a name at a bracket or at NUL, and spaces before it.
func mayBeNamed(came, name string) bool {
	for came != "" && unescaped(came) == ' ' {
		came = came[escapeLen(came):]
	}
	name = strings.TrimLeft(name, " ")
	for i := range len(name) {
		if came == "" || plain(unescaped(came)) != plain(name[i]) {
			return false
		}
		came = came[escapeLen(came):]
	}
	return came == "" || unescaped(came) == '[' || unescaped(came) == 0
}

// unescaped is the first character of a text that is not empty, as a query has it.
func unescaped(s string) byte {
	switch {
	case s[0] == '+':
		return ' '
	case escapeLen(s) == 3:
		return hexValue(s[1])<<4 | hexValue(s[2])
	}
	return s[0]
}

// escapeLen is how long the first character is.
func escapeLen(s string) int {
	if len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2]) {
		return 3
	}
	return 1
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// mayBeBasic reports whether an application may find basic credentials in a line of
// Authorization: behind their scheme, whatever separates it, or behind any other, or
// none, where something reads as a user and a password.
func mayBeBasic(line string) bool {
	const scheme = "basic"
	line = strings.Trim(line, blank)
	if len(line) >= len(scheme) && strings.EqualFold(line[:len(scheme)], scheme) {
		return len(line) > len(scheme)
	}
	last := strings.Trim(line[strings.LastIndexAny(line, blank)+1:], quotes+"=")
	for _, encoding := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		text, err := encoding.DecodeString(last)
		if err == nil && utf8.Valid(text) && strings.IndexByte(string(text), ':') > 0 {
			return true
		}
	}
	return false
}

// The least that a signed token is made of: a header that names an algorithm, and the
// 32 bytes of a signature, or more.
const (
	leastTokenHeader    = 16
	leastTokenSignature = 40
)

// mayHoldToken reports whether something in a line looks like a signed token: three
// parts of which the first is an object of JSON.
func mayHoldToken(line string) bool {
	for line != "" {
		word := line
		if i := strings.IndexFunc(line, notOfToken); i >= 0 {
			word, line = line[:i], line[i+1:]
		} else {
			line = ""
		}
		header, rest, _ := strings.Cut(word, ".")
		_, signature, _ := strings.Cut(rest, ".")
		if len(signature) >= leastTokenSignature && (begins(header, "ey") || begins(header, "ew")) {
			return true
		}
	}
	return false
}

// begins reports whether a token's header begins somewhere in a word: with a brace, and
// a quote or the end of a line, in base64.
func begins(word, brace string) bool {
	i := strings.Index(word, brace)
	return i >= 0 && len(word)-i >= leastTokenHeader
}

// notOfToken reports a character that no token has, in any alphabet of base64.
func notOfToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_+/=.", r)
}
