package match

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A reading is what a path comes down to, by the reference: slow, on strings,
// sharing nothing with the code that it checks.
type reading struct {
	segments   []string
	open, star bool
	ambiguous  map[Ambiguity]bool
}

var (
	escape    = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	control   = regexp.MustCompile(`[\x00-\x1f\x7f]`)
	pieces    = regexp.MustCompile(`(?s)^(?:([^ \t/]+)[ \t]+)?([^/]*)(/.*)$`)
	wholePath = regexp.MustCompile(`^/(\{[^}]*\.\.\.\})?$`)
	bracket   = regexp.MustCompile(`(?s)^\[([^]]*)\]`)
	reg       = regexp.MustCompile(`(?s)^([^:\[][^:]*?)\.?(:.*)?$`)
)

func decoded(raw string) string {
	return escape.ReplaceAllStringFunc(raw, func(e string) string {
		n, _ := strconv.ParseUint(e[1:], 16, 8)
		return string([]byte{byte(n)})
	})
}

func reference(escaped string) reading {
	r := reading{ambiguous: map[Ambiguity]bool{}}
	if escaped == "*" {
		r.star = true
		return r
	}
	mark := func(a Ambiguity, when bool) {
		if when {
			r.ambiguous[a] = true
		}
	}
	mark(NoSlash, escaped != "" && escaped[0] != '/')
	mark(EncodedSlash, strings.Contains(strings.ToLower(strings.Join(escape.FindAllString(escaped, -1), "")), "%2f"))
	mark(InvalidEscape, strings.Contains(escape.ReplaceAllString(escaped, ""), "%"))
	mark(Backslash, strings.Contains(decoded(escaped), `\`))
	mark(ControlByte, control.MatchString(decoded(escaped)))
	mark(QueryMark, strings.ContainsAny(escaped, "?#"))
	for raw := range strings.SplitSeq(strings.TrimPrefix(escaped, "/"), "/") {
		name, _, _ := strings.Cut(decoded(raw), ";")
		dots := name == "." || name == ".."
		mark(DotSegment, dots)
		mark(BareParameters, name == "" && raw != "")
		r.open = name != "" && !dots
		if name == ".." && len(r.segments) > 0 {
			r.segments = r.segments[:len(r.segments)-1]
		}
		if r.open {
			r.segments = append(r.segments, name)
		}
	}
	return r
}

// fits says whether a request fits a pattern that is right.
func (r reading) fits(pattern, method, host string, o Options) bool {
	part := pieces.FindStringSubmatch(pattern)
	if part[1] != "" && part[1] != method && part[1]+method != "GETHEAD" {
		return false
	}
	if part[2] != "" && !same(hostOf(part[2]), hostOf(host), true) {
		return false
	}
	if r.star {
		return wholePath.MatchString(part[3])
	}
	return r.walk(strings.Split(part[3][1:], "/"), r.segments, o)
}

// walk compares what is left of a pattern with what is left of a path.
func (r reading) walk(pattern, path []string, o Options) bool {
	head := pattern[0]
	closed := !o.KeepSlash || !r.open
	switch {
	case head == "{$}":
		return len(path) == 0 && closed
	case head == "" || strings.HasSuffix(head, "...}"):
		return len(path) > 0 || closed
	case len(path) == 0 || head[0] != '{' && !same(decoded(head), path[0], o.Fold):
		return false
	case len(pattern) == 1:
		return len(path) == 1 && (!o.KeepSlash || r.open)
	}
	return r.walk(pattern[1:], path[1:], o)
}

// same compares segments; without regard to case, rune by rune, where a byte
// that is no UTF-8 is only the same as itself.
func same(a, b string, fold bool) bool {
	if !fold || a == "" || b == "" {
		return a == b
	}
	x, n := utf8.DecodeRuneInString(a)
	y, m := utf8.DecodeRuneInString(b)
	if x == utf8.RuneError && n == 1 || y == utf8.RuneError && m == 1 {
		return a[:n] == b[:m] && same(a[n:], b[m:], fold)
	}
	return strings.EqualFold(string(x), string(y)) && same(a[n:], b[m:], fold)
}

// hostOf gives the spellings of one host one text, but for the case of letters.
func hostOf(host string) string {
	if m := bracket.FindStringSubmatch(host); m != nil {
		addr, err := netip.ParseAddr(m[1])
		if err != nil || addr.Zone() != "" {
			return "no host"
		}
		return "[" + addr.String() + "]"
	}
	m := reg.FindStringSubmatch(host)
	if m == nil {
		return "no host"
	}
	return m[1]
}
