package httplimit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// A scanner reads structured fields (RFC 9651, section 4.2) from left to right.
// Each method takes what it has read off text, and reports false where that is not
// there: the whole field is malformed then, and says nothing.
type scanner struct{ text string }

// member is one of a list, a String, or of a dictionary, a key with a value.
type member struct {
	name   string
	value  bare
	params []param
}

// param is one parameter of a member.
type param struct {
	key   string
	value bare
}

// bare is a bare item, in so far as anything here asks for it.
type bare struct {
	integer bool   // it is an Integer
	number  int64  // of an Integer
	text    string // of a String
}

// count is what an Integer says that is not negative.
func (b bare) count() (n int64, ok bool) { return b.number, b.integer && b.number >= 0 }

// param is the value of a parameter; of two of a name the last counts.
func (m *member) param(key string) bare {
	for _, p := range slices.Backward(m.params) {
		if p.key == key {
			return p.value
		}
	}
	return bare{}
}

// The most members of a list, and parameters of a member. The draft has a handful of
// both; whoever sends more means something else, or harm.
const (
	mostMembers = 32
	mostParams  = 32
)

// readList reads a List whose members are Strings, as RateLimit and
// RateLimit-Policy are: from all lines of the field, or nothing.
func readList(lines []string) []member {
	s := scanner{strings.Join(lines, ", ")}
	return s.members(func() (m member, ok bool) {
		if m.name, ok = s.quoted(); !ok {
			return m, false
		}
		m.params, ok = s.params()
		return m, ok
	})
}

// readDictionary reads a Dictionary of bare items, as RateLimit was in revision 07
// of the draft.
func readDictionary(lines []string) []member {
	s := scanner{strings.Join(lines, ", ")}
	return s.members(func() (m member, ok bool) {
		if m.name, ok = s.key(); !ok {
			return m, false
		}
		if s.next('=') {
			if m.value, ok = s.bare(); !ok {
				return m, false
			}
		}
		m.params, ok = s.params()
		return m, ok
	})
}

// members reads what stands between commas.
func (s *scanner) members(read func() (member, bool)) (all []member) {
	s.text = strings.TrimLeft(s.text, " ")
	for s.text != "" {
		m, ok := read()
		if !ok || len(all) == mostMembers {
			return nil
		}
		all = append(all, m)
		s.text = strings.TrimLeft(s.text, " \t")
		if s.text == "" {
			return all
		}
		if !s.next(',') {
			return nil
		}
		if s.text = strings.TrimLeft(s.text, " \t"); s.text == "" {
			return nil // a comma at the end
		}
	}
	return nil
}

// next takes one byte, if it is c.
func (s *scanner) next(c byte) bool {
	if s.text == "" || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

// span takes the longest run of bytes that fit.
func (s *scanner) span(fits func(c byte) bool) string {
	n := 0
	for n < len(s.text) && fits(s.text[n]) {
		n++
	}
	taken := s.text[:n]
	s.text = s.text[n:]
	return taken
}

func (s *scanner) params() (all []param, ok bool) {
	for s.next(';') {
		s.text = strings.TrimLeft(s.text, " ")
		var p param
		if p.key, ok = s.key(); !ok || len(all) == mostParams {
			return nil, false
		}
		if s.next('=') {
			if p.value, ok = s.bare(); !ok {
				return nil, false
			}
		}
		all = append(all, p)
	}
	return all, true
}

func (s *scanner) key() (string, bool) {
	if s.text == "" || s.text[0] != '*' && !isLower(s.text[0]) {
		return "", false
	}
	return s.span(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 }), true
}

// bare takes a bare item of any type.
func (s *scanner) bare() (v bare, ok bool) {
	if s.text == "" {
		return v, false
	}
	switch c := s.text[0]; {
	case c == '"':
		v.text, ok = s.quoted()
	case c == '-' || isDigit(c):
		return s.number()
	case c == '*' || isLower(c|0x20):
		s.span(func(c byte) bool { return httpsyntax.IsTokenByte(c) || c == ':' || c == '/' })
		ok = true
	case c == '?':
		s.text = s.text[1:]
		ok = s.next('0') || s.next('1')
	case c == ':':
		s.text = s.text[1:]
		s.span(func(c byte) bool { return httpsyntax.IsAlphanumeric(c) || strings.IndexByte("+/=", c) >= 0 })
		ok = s.next(':')
	case c == '@':
		s.text = s.text[1:]
		v, ok = s.number()
		return bare{}, ok && v.integer // a Date
	case c == '%':
		ok = s.display()
	}
	return v, ok
}

// The most digits of an Integer, and of a Decimal before and behind its point.
const (
	integerDigits  = 15
	wholeDigits    = 12
	fractionDigits = 3
)

// number takes an Integer or a Decimal.
func (s *scanner) number() (v bare, ok bool) {
	sign := ""
	if s.next('-') {
		sign = "-"
	}
	digits := s.span(isDigit)
	if s.next('.') {
		fraction := s.span(isDigit)
		return v, 1 <= len(digits) && len(digits) <= wholeDigits && 1 <= len(fraction) && len(fraction) <= fractionDigits
	}
	if len(digits) < 1 || len(digits) > integerDigits {
		return v, false
	}
	n, err := strconv.ParseInt(sign+digits, 10, 64)
	return bare{integer: true, number: n}, err == nil
}

// quoted takes a String.
func (s *scanner) quoted() (string, bool) {
	if !s.next('"') {
		return "", false
	}
	var b strings.Builder
	for s.text != "" {
		c := s.text[0]
		s.text = s.text[1:]
		switch {
		case c == '"':
			return b.String(), true
		case c < ' ' || c > '~':
			return "", false
		case c == '\\':
			if s.text == "" || s.text[0] != '"' && s.text[0] != '\\' {
				return "", false
			}
			c = s.text[0]
			s.text = s.text[1:]
		}
		b.WriteByte(c)
	}
	return "", false
}

// display takes a Display String. Whether what it encodes is UTF-8 is not looked
// at: nothing here shows it.
func (s *scanner) display() bool {
	if s.text = s.text[1:]; !s.next('"') {
		return false
	}
	for s.text != "" {
		c := s.text[0]
		s.text = s.text[1:]
		switch {
		case c == '"':
			return true
		case c < ' ' || c > '~':
			return false
		case c == '%':
			if len(s.text) < 2 || !isHex(s.text[0]) || !isHex(s.text[1]) {
				return false
			}
			s.text = s.text[2:]
		}
	}
	return false
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' }
