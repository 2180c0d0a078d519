package token

import (
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// FromAuthorization returns the token in a field value of Authorization with the
// scheme Bearer, in any case of letters (RFC 6750 section 2.1). ok is false for
// another scheme, for anything beside the token, and for a token with
// characters that no token has.
func FromAuthorization(value string) (token string, ok bool) {
	scheme, rest, found := strings.Cut(value, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	token = strings.TrimLeft(rest, " ") // one space or more (RFC 9110 section 11.4)
	if !isToken68(token) {
		return "", false
	}
	return token, true
}

// Garbled reports whether a field value of Authorization has the scheme Bearer, and
// behind it something that FromAuthorization does not read: a server that is less
// strict may.
func Garbled(value string) bool {
	const scheme = "Bearer"
	if len(value) <= len(scheme) || !strings.EqualFold(value[:len(scheme)], scheme) || httpsyntax.IsTokenByte(value[len(scheme)]) {
		return false
	}
	_, ok := FromAuthorization(value)
	return !ok && strings.Trim(value[len(scheme):], " \t") != ""
}

// isToken68 reports whether s is a token68 of RFC 9110 section 11.2, which RFC
// 6750 calls b64token.
func isToken68(s string) bool {
	s = strings.TrimRight(s, "=")
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return s != ""
}
