package header

// maxInteger is the largest integer of a structured field (RFC 9651, section
// 3.3.1): fifteen digits.
const maxInteger = 999_999_999_999_999

// clamp makes v an integer that a field may hold, and no negative one.
func clamp(v int64) int64 { return min(max(v, 0), maxInteger) }

// appendString appends s as a String of a structured field (RFC 9651, section
// 4.1.6). It reports false, and appends nothing, where s holds what a String
// cannot: control characters, or anything outside ASCII.
func appendString(b []byte, s string) ([]byte, bool) {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c > 0x7e {
			return b[:start], false
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"'), true
}
