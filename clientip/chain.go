package clientip

import "strings"

const (
	// ows is the white space around the members of a list (RFC 9110 5.6.3).
	ows = " \t"

	// maxHeaderBytes bounds what is read of a list header. Servers commonly
	// allow 8 KiB for a field line, and 32 elements of Forwarded, each with a
	// node, a protocol and a long host name, fit.
	maxHeaderBytes = 8 << 10
)

// A chain cuts the elements off a list header, the last one first. Only what
// stands to the right of an element has been looked at when it comes, but for
// lines with quoted strings: where those end shows only from the left.
type chain struct {
	lines  []string // field lines not yet begun
	line   string   // the rest of the one that is
	room   int      // bytes that may still be read
	quoted bool     // commas in quoted strings are no separators
	short  bool     // a line did not fit into it
}

// prev returns the element before the one it returned last, without the white
// space around it, and false when there is none. Empty elements are no
// elements (RFC 9110 section 5.6.1).
func (c *chain) prev() (element string, ok bool) {
	for {
		// This cannot alter where a quoted string ends: no quote is trimmed.
		c.line = strings.TrimRight(c.line, ","+ows)
		if c.line != "" {
			break
		}
		if len(c.lines) == 0 || c.short {
			return "", false
		}
		c.enter()
	}
	i := c.lastComma()
	element = strings.Trim(c.line[i+1:], ows)
	c.line = c.line[:max(i, 0)]
	return element, true
}

// enter begins the last of the lines. If there is no room for all of it, the
// whole elements at its end are kept; with quoted strings nobody can tell where
// those begin.
func (c *chain) enter() {
	last := len(c.lines) - 1
	c.line, c.lines = c.lines[last], c.lines[:last]
	if over := len(c.line) - c.room; over > 0 {
		c.short = true
		_, c.line, _ = strings.Cut(c.line[over:], ",")
		if c.quoted {
			c.line = ""
		}
	}
	c.room -= len(c.line)
}

// end returns why there are no more elements: r, or that room was short.
func (c *chain) end(r Reason) Reason {
	if c.short {
		return TooManyHops
	}
	return r
}

func (c *chain) lastComma() int {
	if c.quoted {
		return lastUnquotedComma(c.line)
	}
	return strings.LastIndexByte(c.line, ',')
}

// lastUnquotedComma returns where the last comma outside quoted strings is, or
// -1. A string that does not end reaches to the end of s.
func lastUnquotedComma(s string) int {
	last, inside := -1, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			inside = !inside
		case s[i] == '\\' && inside:
			i++
		case s[i] == ',' && !inside:
			last = i
		}
	}
	return last
}
