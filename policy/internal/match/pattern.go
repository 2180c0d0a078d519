package match

import (
	"net/netip"
	"slices"
)

// Pattern says which requests a rule is about, by method, host and path. It is
// made by [ParsePattern], immutable, and safe for concurrent use. The zero
// Pattern is none.
type Pattern struct {
	method   string // "": any
	host     string // "": any; lower case, without a port
	addr     netip.Addr
	segments []segment
	tail     tail
	rest     string // the name in {name...}; "" for a trailing slash
}

// A segment of a pattern is a literal, or a wildcard with a name.
type segment struct {
	name   string // of the wildcard; "" for a literal
	text   string // the literal, decoded
	folded string // the same with Options.Fold
}

// A tail is how a pattern's path ends.
type tail uint8

const (
	exact tail = iota // after a segment: "/login"
	slash             // with {$}: "/login/{$}"
	below             // with a slash or {name...}: "/api/" and all that follows
)

// Method returns the method as it is written, "" for any. GET stands for HEAD
// as well.
func (p *Pattern) Method() string { return p.method }

// Host returns the host in lower case, without a final dot, "" for any.
func (p *Pattern) Host() string { return p.host }

// Wildcards returns the names of the wildcards, in the order of the path.
func (p *Pattern) Wildcards() []string {
	var names []string
	for _, s := range p.segments {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	if p.rest != "" {
		names = append(names, p.rest)
	}
	return names
}

// String returns the canonical text, which parses to the same Pattern.
func (p *Pattern) String() string {
	b := make([]byte, 0, 64)
	if p.method != "" {
		b = append(append(b, p.method...), ' ')
	}
	b = append(b, p.host...)
	for _, s := range p.segments {
		b = append(b, '/')
		if s.name != "" {
			b = append(append(append(b, '{'), s.name...), '}')
		} else {
			b = appendLiteral(b, s.text)
		}
	}
	switch {
	case p.tail == slash:
		b = append(b, "/{$}"...)
	case p.rest != "":
		b = append(append(append(b, "/{"...), p.rest...), "...}"...)
	case p.tail == below:
		b = append(b, '/')
	}
	return string(b)
}

// appendLiteral escapes also what ParsePattern takes for another notation.
func appendLiteral(b []byte, text string) []byte {
	switch {
	case text == "...":
		return append(b, "%2E%2E%2E"...)
	case text[0] == ':':
		b, text = append(b, "%3A"...), text[1:]
	}
	for i := range len(text) {
		switch {
		case text[i] == '*':
			b = append(b, "%2A"...)
		case text[i] == '+' && i > 0 && text[i-1] == '.':
			b = append(b, "%2B"...)
		default:
			b = appendEscaped(b, []byte{text[i]})
		}
	}
	return b
}

// Fits reports whether a request fits. The method is compared as it was sent;
// a GET pattern fits HEAD too, which asks for the same with less to carry back.
// Of the host, as the request names it, port and final dot are ignored, and the
// case of letters. The path must have been parsed. Fits does not allocate.
func (p *Pattern) Fits(method, host string, path *Path) bool {
	return p.fits(method, hostname(host), path)
}

// fits is Fits after the host has been cut.
func (p *Pattern) fits(method, name string, path *Path) bool {
	return p.fitsMethod(method) && p.fitsHost(name) && p.fitsPath(path)
}

func (p *Pattern) fitsMethod(method string) bool {
	return p.method == "" || p.method == method || p.method == "GET" && method == "HEAD"
}

func (p *Pattern) fitsPath(path *Path) bool {
	if path.star {
		return p.everywhere()
	}
	own, given := len(p.segments), len(path.segments)
	if own > given || own < given && p.tail != below {
		return false
	}
	if own == given && path.options.KeepSlash && path.open != (p.tail == exact) {
		return false
	}
	for i := range p.segments {
		if !p.segments[i].fits(path.segment(i), path.options.Fold) {
			return false
		}
	}
	return true
}

// everywhere reports whether the pattern fits every path.
func (p *Pattern) everywhere() bool { return len(p.segments) == 0 && p.tail == below }

func (s *segment) fits(given []byte, folded bool) bool {
	return s.name != "" || string(given) == s.literal(folded)
}

// literal returns the text to compare with.
func (s *segment) literal(folded bool) string {
	if folded {
		return s.folded
	}
	return s.text
}

// Value returns what a wildcard stands for in a path, decoded, and folded where
// the path is; for {name...} the rest, its segments joined by "/", without a
// trailing slash. It is false if there is no wildcard of that name or the path
// does not fit. It allocates only where the request wrote the value otherwise.
//
// The value may be a part of the text that was parsed.
func (p *Pattern) Value(path *Path, name string) (string, bool) {
	if name == "" || !p.fitsPath(path) {
		return "", false
	}
	if name == p.rest {
		return path.between(len(p.segments), len(path.segments)), true
	}
	i := slices.IndexFunc(p.segments, func(s segment) bool { return s.name == name })
	if i < 0 {
		return "", false
	}
	return path.between(i, i+1), true
}
