package match

import (
	"bytes"
	"strings"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// Options says how paths are read and compared. All paths, patterns and sets
// that meet must have the same.
type Options struct {
	// Pass takes a path that is ambiguous in its decode-once reading, instead
	// of refusing it. An encoded slash is then part of its segment.
	Pass bool

	// Fold compares paths without regard to the case of letters, by Unicode's
	// simple folding. Bytes that are no UTF-8 are compared as they are.
	Fold bool

	// KeepSlash tells "/login/" from "/login": each fits only patterns that
	// are written like it, and "/api/" does not fit "/api". Without it a
	// trailing slash says nothing: many upstreams serve both.
	KeepSlash bool
}

// Path is the canonical form of a request's path. The zero Path is "/". It is
// meant to be used again: Parse allocates nothing once it has seen a path as
// long. It is not safe for concurrent use while Parse runs.
type Path struct {
	options  Options
	text     string // what was parsed
	buf      []byte // decoded: a slash and a segment, again and again
	segments []span
	open     bool // does not end in a slash
	star     bool // "*": no path at all
	found    Ambiguity
}

// span is where a segment stands: buf[start:end] is made from what begins at
// text[from].
type span struct{ start, end, from int }

// Parse reads a path as it came in the request line, still escaped and without
// the query. It returns None, or why the request is to be refused, which never
// happens with o.Pass. A path that is refused has been read nevertheless, for
// those who want to show it.
//
// Each segment is decoded exactly once; what follows a semicolon in it is cut,
// an encoded semicolon's too, since something on the way may have decoded it;
// empty segments vanish and dot segments, where they are let by, are resolved, never
// above the root.
//
// The empty path is "/" (RFC 9110 section 4.2.3). "*", as OPTIONS has it, is no
// path but the whole server: it fits only patterns over everything ("/",
// "/{rest...}"). A CONNECT in authority form has no path either; its caller
// gives "*".
//
// The escaped text is kept until the next Parse.
func (p *Path) Parse(escaped string, o Options) Ambiguity {
	*p = Path{options: o, text: escaped, buf: p.buf[:0], segments: p.segments[:0]}
	if escaped == "*" {
		p.star = true
		return None
	}
	at := 0
	switch {
	case strings.HasPrefix(escaped, "/"):
		at = 1
	case escaped != "":
		p.note(NoSlash)
	}
	for at <= len(escaped) {
		end := len(escaped)
		if i := strings.IndexByte(escaped[at:], '/'); i >= 0 {
			end = at + i
		}
		p.add(at, end)
		at = end + 1
	}
	if o.Pass {
		return None
	}
	return p.found
}

// Ambiguous returns the first ambiguity that Parse met, also where Options.Pass
// let it go by.
func (p *Path) Ambiguous() Ambiguity { return p.found }

// note remembers the first ambiguity.
func (p *Path) note(a Ambiguity) {
	if p.found == None {
		p.found = a
	}
}

// add reads the segment text[from:end].
func (p *Path) add(from, end int) {
	raw, start := p.text[from:end], len(p.buf)+1
	p.buf = append(p.buf, '/')
	p.decode(raw)
	segment := p.buf[start:]
	if i := bytes.IndexByte(segment, ';'); i >= 0 {
		segment = segment[:i]
	}
	p.open = false
	switch string(segment) {
	case "":
		if raw != "" {
			p.note(BareParameters)
		}
		p.buf = p.buf[:start-1]
	case ".", "..":
		p.note(DotSegment)
		up := len(segment) == 2
		p.buf = p.buf[:start-1]
		if up {
			p.leave()
		}
	default:
		if p.options.Fold {
			segment = fold(segment)
		}
		p.buf = p.buf[:start+len(segment)]
		p.segments = append(p.segments, span{start, len(p.buf), from})
		p.open = true
	}
}

// leave goes up one segment, if there is one.
func (p *Path) leave() {
	if n := len(p.segments); n > 0 {
		p.buf = p.buf[:p.segments[n-1].start-1]
		p.segments = p.segments[:n-1]
	}
}

// decode appends a segment to buf, and notes what in it is ambiguous.
func (p *Path) decode(raw string) {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch c {
		case '%':
			decoded, ok := unescape(raw[i:])
			if !ok {
				p.note(InvalidEscape)
				break
			}
			if decoded == '/' {
				p.note(EncodedSlash)
			}
			c = decoded
			i += 2
		case '?', '#':
			p.note(QueryMark)
		}
		switch {
		case c == '\\':
			p.note(Backslash)
		case c < ' ' || c == 0x7f:
			p.note(ControlByte)
		}
		p.buf = append(p.buf, c)
	}
}

// unescape decodes the "%41" at the beginning of s.
func unescape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok := digit(s[1])
	low, too := digit(s[2])
	return high<<4 | low, ok && too
}

// digit returns the value of a hexadecimal digit.
func digit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// segment returns the decoded segment i.
func (p *Path) segment(i int) []byte { return p.buf[p.segments[i].start:p.segments[i].end] }

// between returns the segments from i to before j, with slashes between them.
// It is a part of the text where that says the same, which costs nothing. (The
// text is never shorter than what was made of it.)
func (p *Path) between(i, j int) string {
	if i >= j {
		return ""
	}
	from, value := p.segments[i].from, p.buf[p.segments[i].start:p.segments[j-1].end]
	if written := p.text[from : from+len(value)]; written == string(value) {
		return written
	}
	return string(value)
}

// String returns the canonical path, escaped so that it parses to itself. (Where
// Pass let an encoded slash, backslash or control byte by, it is still in it.)
func (p *Path) String() string {
	if p.star {
		return "*"
	}
	b := make([]byte, 0, len(p.buf)+1)
	for i := range p.segments {
		b = appendEscaped(append(b, '/'), p.segment(i))
	}
	if !p.open {
		b = append(b, '/')
	}
	return string(b)
}

// appendEscaped writes a segment: what RFC 3986 admits in one, but for the
// semicolon, stands for itself.
func appendEscaped(b, segment []byte) []byte {
	const plain, hexadecimal = "-._~!$&'()*+,=:@", "0123456789ABCDEF"
	for _, c := range segment {
		if httpsyntax.IsAlphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', hexadecimal[c>>4], hexadecimal[c&15])
	}
	return b
}
