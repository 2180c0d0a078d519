package header

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// A reader of RFC 9651 lists, step by step as section 4.2 has it, without a
// thought for speed: what the encoder is measured against. Inner lists are
// left out, since RateLimit and RateLimit-Policy have none.

type sfItem struct {
	value      any // string, int64, sfToken, bool or []byte
	parameters map[string]any
}

type sfToken string

// sfList reads the lines of one field.
func sfList(lines []string) (items []sfItem, err error) {
	defer func() {
		if r := recover(); r != nil {
			items, err = nil, fmt.Errorf("%v in %q", r, lines)
		}
	}()
	s := &sfReader{strings.Join(lines, ", ")}
	s.skip(" ")
	for s.text != "" {
		items = append(items, s.item())
		s.skip(" \t")
		if s.text == "" {
			return items, nil
		}
		s.want(',')
		s.skip(" \t")
		if s.text == "" {
			return nil, fmt.Errorf("trailing comma in %q", lines)
		}
	}
	return items, nil
}

type sfReader struct{ text string }

func (s *sfReader) skip(set string) { s.text = strings.TrimLeft(s.text, set) }

func (s *sfReader) peek() byte {
	if s.text == "" {
		return 0
	}
	return s.text[0]
}

func (s *sfReader) next() byte {
	c := s.peek()
	if c == 0 {
		panic("end of text")
	}
	s.text = s.text[1:]
	return c
}

func (s *sfReader) want(c byte) {
	if got := s.next(); got != c {
		panic(fmt.Sprintf("%q where %q was due", got, c))
	}
}

func (s *sfReader) item() sfItem {
	i := sfItem{s.bare(), map[string]any{}}
	for s.peek() == ';' {
		s.next()
		s.skip(" ")
		key := s.key()
		i.parameters[key] = true
		if s.peek() == '=' {
			s.next()
			i.parameters[key] = s.bare()
		}
	}
	return i
}

// span takes the longest run of bytes that ok admits.
func (s *sfReader) span(ok func(c byte) bool) string {
	n := 0
	for n < len(s.text) && ok(s.text[n]) {
		n++
	}
	taken := s.text[:n]
	s.text = s.text[n:]
	return taken
}

func within(sets ...string) func(byte) bool {
	all := strings.Join(sets, "")
	return func(c byte) bool { return strings.IndexByte(all, c) >= 0 }
}

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

func (s *sfReader) key() string {
	if !within(lower, "*")(s.peek()) {
		panic("no key")
	}
	return s.span(within(lower, digit, "_-.*"))
}

func (s *sfReader) bare() any {
	switch c := s.peek(); {
	case c == '"':
		return s.str()
	case c == '-' || within(digit)(c):
		return s.integer()
	case c == '?':
		s.next()
		flag := s.next()
		if flag != '0' && flag != '1' {
			panic("no boolean")
		}
		return flag == '1'
	case c == ':':
		s.next()
		text := s.span(within(lower, upper, digit, "+/="))
		s.want(':')
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			panic(err)
		}
		return b
	case within(lower, upper, "*")(c):
		return sfToken(s.span(within(lower, upper, digit, "!#$%&'*+-.^_`|~:/")))
	}
	panic(fmt.Sprintf("no item: %q", s.text))
}

func (s *sfReader) str() string {
	var b strings.Builder
	s.want('"')
	for {
		switch c := s.next(); {
		case c == '"':
			return b.String()
		case c == '\\':
			e := s.next()
			if e != '"' && e != '\\' {
				panic("escape of another character")
			}
			b.WriteByte(e)
		case c < 0x20 || c > 0x7e:
			panic("character outside the set")
		default:
			b.WriteByte(c)
		}
	}
}

// integer reads no decimals: ours are always whole.
func (s *sfReader) integer() int64 {
	sign := s.span(within("-"))
	digits := s.span(within(digit))
	if len(sign) > 1 || len(digits) < 1 || len(digits) > 15 || s.peek() == '.' {
		panic("no integer")
	}
	v, err := strconv.ParseInt(sign+digits, 10, 64)
	if err != nil {
		panic(err)
	}
	return v
}
