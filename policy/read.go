package policy

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/policy/internal/match"
	"github.com/weirhq/weir/policy/internal/token"
)

// This file reads values out of a request. Each is read only if a rule asks for
// it, from text whose length the server has bounded. A value that is there twice
// is not there: nothing says which of the two the application will read.

// value is what a part of a key or plan holds, and whether the request has it.
func (c *call) value(p part) (string, bool) {
	switch p.origin {
	case fromHeader:
		return only(c.header(p.name))
	case fromCookie:
		return once(cookie(c.found.Request.Header["Cookie"], p.name))
	case fromQuery:
		return once(query(c.found.Request.Query, p.name))
	case fromHost:
		host := match.Host(c.found.Request.Host)
		return host, host != ""
	case fromBasic:
		return basicUser(c.found.Request.Header["Authorization"])
	case fromJWT:
		return c.claim(p.name)
	case fromConst:
		return p.name, true
	case fromIP, fromPath: // an address is no text; a path's value is the rule's
	}
	return "", false
}

// header is the lines of a header. One that only trusted proxies may send is not
// there where somebody else has sent it.
func (c *call) header(name string) []string {
	if !c.believed && slices.Contains(c.found.Policy.trustedHeaders, name) {
		return nil
	}
	return c.found.Request.Header[name]
}

func only(lines []string) (string, bool) {
	if len(lines) != 1 || lines[0] == "" {
		return "", false
	}
	return lines[0], true
}

// cookie finds the value of a cookie, as net/http reads it, and how often the name is
// there with a value, in whatever spelling.
func cookie(lines []string, name string) (value string, count int) {
	for _, line := range lines {
		count += spellings(line, name, ";", blank+quotes)
		for pair := range strings.SplitSeq(line, ";") {
			n, v, _ := strings.Cut(pair, "=")
			if v = strings.Trim(v, blank+quotes); strings.Trim(n, blank) == name && v != "" {
				value = v
			}
		}
	}
	return value, count
}

// query finds the value of a query parameter, as url.ParseQuery reads it, and how
// often the name is there with a value, in whatever spelling: pairs that hold a
// semicolon or a bad escape have no value here, and may have one elsewhere.
func query(raw, name string) (value string, count int) {
	count = spellings(raw, name, "&;", "")
	for pair := range strings.SplitSeq(raw, "&") {
		n, v, _ := strings.Cut(pair, "=")
		if strings.Contains(pair, ";") || !sameName(n, name) {
			continue
		}
		if decoded, err := url.QueryUnescape(v); err == nil && decoded != "" {
			value = decoded
		}
	}
	return value, count
}

// once is a value that is there, and only once.
func once(value string, count int) (string, bool) { return value, count == 1 && value != "" }

// sameName compares a name as it came with the one that is looked for.
func sameName(escaped, name string) bool {
	if escaped == name {
		return !strings.ContainsAny(name, "%+")
	}
	if !strings.ContainsAny(escaped, "%+") {
		return false
	}
	decoded, err := url.QueryUnescape(escaped)
	return err == nil && decoded == name
}

// maxBasic bounds the credentials that are decoded.
const maxBasic = 4096

// basicUser is the user of basic credentials (RFC 7617). They are not verified.
func basicUser(lines []string) (string, bool) {
	line, ok := only(lines)
	if !ok || len(line) > maxBasic {
		return "", false
	}
	scheme, credentials, _ := strings.Cut(line, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials))
	if err != nil {
		return "", false
	}
	user, _, is := strings.Cut(string(decoded), ":")
	return user, is && user != ""
}

// lower lower-cases a value. Bytes that are no UTF-8 stay as they are: to
// replace them would make one value of many.
func lower(s string) string {
	if utf8.ValidString(s) {
		return strings.ToLower(s)
	}
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// claim is a claim of the request's token that is a string and not empty. The
// token is verified at the first question.
func (c *call) claim(name string) (string, bool) {
	value, text, ok := c.verified().Value(name)
	return value, ok && text && value != ""
}

// verified are the claims of the request's token; nil where there is none that
// verifies.
func (c *call) verified() *token.Claims {
	if c.token == tokenUnread {
		c.token, c.why = tokenRefused, token.Missing
		if text, ok := c.tokenText(); ok {
			c.verify(text)
		}
	}
	return c.claims
}

func (c *call) verify(text string) {
	claims, err := c.found.Policy.tokens.Verify(text, c.engine.now())
	if err != nil {
		if refused, ok := errors.AsType[token.RefusedError](err); ok {
			c.why = refused.Reason
		}
		return
	}
	c.claims, c.token, c.why = claims, tokenVerified, token.None
}

// tokenText is the token as it came.
func (c *call) tokenText() (string, bool) {
	p := c.found.Policy
	if p.tokens == nil {
		return "", false
	}
	if p.tokenFrom.origin == fromCookie {
		return c.value(p.tokenFrom)
	}
	line, ok := only(c.header(p.tokenFrom.name))
	if !ok || p.tokenFrom.name != "Authorization" {
		return line, ok
	}
	return token.FromAuthorization(line)
}
