package stanza

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Stanza is one paragraph.
type Stanza struct {
	Line   int     // where it begins, from 1
	Fields []Field // in their order
}

// A Field is one key and its value.
type Field struct {
	Key   string // what stands before the colon
	Value string // on one line, without blanks around it
}

// Get returns the value of the first field of that key, or "".
func (s Stanza) Get(key string) string {
	for _, f := range s.Fields {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// All returns the values of the fields of that key, in their order.
func (s Stanza) All(key string) []string {
	var all []string
	for _, f := range s.Fields {
		if f.Key == key {
			all = append(all, f.Value)
		}
	}
	return all
}

// Read returns the stanzas of a text. It reports at once every line that is no
// field, every key that is not among keys, and every stanza that has no value
// for one of them.
func Read(name, text string, keys ...string) ([]Stanza, error) {
	r := reader{name: name, keys: keys}
	n := 0
	for line := range strings.Lines(text) {
		n++
		r.line(n, strings.TrimRight(line, " \t\r\n"))
	}
	r.end()
	return r.stanzas, errors.Join(r.errs...)
}

type reader struct {
	name    string
	keys    []string
	open    *Stanza
	stanzas []Stanza
	errs    []error
}

func (r *reader) line(n int, line string) {
	key, value, ok := strings.Cut(line, ":")
	switch {
	case line == "":
		r.end()
	case strings.HasPrefix(line, "#"):
	case line[0] == ' ' || line[0] == '\t':
		r.more(n, strings.TrimSpace(line))
	case !ok || !slices.Contains(r.keys, key):
		r.fail(n, "%q: a line begins with one of %s and a colon", line, strings.Join(r.keys, ", "))
	default:
		if r.open == nil {
			r.open = &Stanza{Line: n}
		}
		r.open.Fields = append(r.open.Fields, Field{key, strings.TrimSpace(value)})
	}
}

// more appends to the value above.
func (r *reader) more(n int, text string) {
	if r.open == nil {
		r.fail(n, "%q: there is no value above that it could go on with", text)
		return
	}
	last := &r.open.Fields[len(r.open.Fields)-1]
	last.Value = strings.TrimSpace(last.Value + " " + text)
}

// end ends a stanza.
func (r *reader) end() {
	if r.open == nil {
		return
	}
	for _, key := range r.keys {
		if r.open.Get(key) == "" {
			r.fail(r.open.Line, "%s is missing: a paragraph has %s", key, strings.Join(r.keys, ", "))
		}
	}
	r.stanzas = append(r.stanzas, *r.open)
	r.open = nil
}

func (r *reader) fail(n int, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", r.name, n, fmt.Sprintf(format, args...)))
}
