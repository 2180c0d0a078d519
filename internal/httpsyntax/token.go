package httpsyntax

// IsToken reports whether s is a token, as methods and names of fields are: one
// byte of [IsTokenByte] or more (RFC 9110, section 5.6.2).
func IsToken(s string) bool {
	for i := range len(s) {
		if !IsTokenByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// IsTokenByte reports whether a token may hold c.
func IsTokenByte(c byte) bool {
	switch c {
	case '!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~':
		return true
	}
	return IsAlphanumeric(c)
}

// IsAlphanumeric reports whether c is a letter or a digit of ASCII.
func IsAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
