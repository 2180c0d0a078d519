package policy

import (
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// source is the text of a rules file, and where in it every field stands.
type source struct {
	name   string
	text   string
	lines  []int         // where each line begins
	marks  map[int][]int // where every hundredth character of a line begins; of lines that were asked for
	places map[string]place

	// tabWidth is how wide the tabs were taken that indent, 0 where the text was
	// read as it stands.
	tabWidth int

	// variables are the environment variables that say what a field holds, by
	// the field's path.
	variables map[string]string

	// secrets are the parts of the text that nobody is shown.
	secrets []stretch

	// unread says that no parser told what belongs to what, so that more than the
	// secrets is hidden.
	unread bool

	// quoted are the paths of names that are written in brackets and quotes, by
	// the same paths without.
	quoted map[string]string

	// unspoken are the paths that hold a secret, and are not shown either.
	unspoken []string
}

// place is where a field stands: its name, nil for an element of a list, and
// its value.
type place struct{ key, value *yaml.Node }

// stretch is a part of a text, in bytes.
type stretch struct{ from, to int }

func newSource(name string, text []byte) *source {
	s := &source{
		name: name, text: string(text), lines: []int{0}, marks: map[int][]int{},
		places: map[string]place{}, variables: map[string]string{}, quoted: map[string]string{},
	}
	for i, c := range text {
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// line is a line's text, counted from 1, without its end.
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	text := s.text[s.lines[n-1]:]
	if n < len(s.lines) {
		text = s.text[s.lines[n-1] : s.lines[n]-1]
	}
	return strings.TrimSuffix(text, "\r")
}

// column turns a node's column, which counts characters, into one of bytes.
func (s *source) column(line, characters int) int {
	if s.tabWidth > 0 {
		characters = s.written(line, characters)
	}
	text, marks := s.line(line), s.marksOf(line)
	before := max(characters-1, 0) // the characters before the column
	i := min(before/markEvery, len(marks)-1)
	at := marks[i]
	for range before - i*markEvery {
		if at >= len(text) {
			break
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at + 1
}

// markEvery is how many characters of a line are counted at once: a file may be
// one line.
const markEvery = 100

// marksOf is where every hundredth character of a line begins.
func (s *source) marksOf(line int) []int {
	if marks, ok := s.marks[line]; ok {
		return marks
	}
	var marks []int
	n := 0
	for at := range s.line(line) {
		if n%markEvery == 0 {
			marks = append(marks, at)
		}
		n++
	}
	if n == 0 {
		marks = []int{0}
	}
	s.marks[line] = marks
	return marks
}

// locate finds where a diagnostic's path stands. A field that is not there is
// looked for where it belongs.
func (s *source) locate(d *Diagnostic) {
	for path := d.Path; path != ""; path = parentOf(path) {
		if known, ok := s.quoted[path]; ok {
			d.Path = known + d.Path[len(path):]
		}
	}
	for path := d.Path; ; path = parentOf(path) {
		if name := s.variables[path]; name != "" {
			d.Path, d.Span = name, Span{}
			return
		}
		if p, ok := s.places[path]; ok {
			if path != d.Path {
				d.Span = Span{}
			}
			s.mark(d, p)
			return
		}
		if path == "" {
			break
		}
	}
	d.Span = Span{}
	s.put(d, 1, 1, 1)
}

// mark puts a diagnostic under a value, or a part of it. What takes several
// lines is marked by its name, or by its beginning.
func (s *source) mark(d *Diagnostic, p place) {
	n := p.value
	if n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode || n.Value == "" && n.Style == 0 {
		s.markName(d, p)
		return
	}
	line, column := n.Line, s.column(n.Line, n.Column)
	length, quote, plain := s.extent(n, line, column)
	if d.Span != (Span{}) && plain {
		column += quote + d.Span.Offset
		length = max(1, min(d.Span.Length, len(n.Value)-d.Span.Offset))
	} else {
		d.Span = Span{}
	}
	s.put(d, line, column, length)
}

// markName puts a diagnostic under the name of a field, or the beginning of an
// element.
func (s *source) markName(d *Diagnostic, p place) {
	d.Span = Span{}
	n := p.key
	if n == nil {
		n = p.value
		for n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0 {
			n = n.Content[0]
		}
	}
	column := s.column(n.Line, n.Column)
	length := 1
	if n.Kind == yaml.ScalarNode {
		length, _, _ = s.extent(n, n.Line, column)
	}
	s.put(d, n.Line, column, length)
}

// extent is how long a scalar is in its line, how much of that is the quote
// before it, and whether the text stands there as its value has it, byte for
// byte.
func (s *source) extent(n *yaml.Node, line, column int) (length, quote int, plain bool) {
	text := s.line(line)
	text = text[min(column-1, len(text)):]
	switch n.Style &^ yaml.FlowStyle {
	case 0:
		if n.Kind == yaml.AliasNode {
			return len(n.Value) + 1, 0, false
		}
		if strings.HasPrefix(text, n.Value) {
			return len(n.Value), 0, true
		}
	case yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle:
		if text == "" {
			break
		}
		if mark := text[:1]; strings.HasPrefix(text, mark+n.Value+mark) {
			return len(n.Value) + 2, 1, true
		}
		return quoted(text), 1, false
	default: // a block, or behind a tag: its first word
		if word, _, _ := strings.Cut(text, " "); word != "" {
			return len(word), 0, false
		}
	}
	return max(1, len(strings.TrimRight(text, " \t"))), 0, false
}

// quoted is the length of a quoted text that may hold escapes; to the end of the
// line if it does not end there.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && text[0] == '"':
			i++
		case text[i] == text[0] && i+1 < len(text) && text[i+1] == text[0] && text[0] == '\'':
			i++
		case text[i] == text[0]:
			return i + 1
		}
	}
	return len(text)
}

// put places a diagnostic.
func (s *source) put(d *Diagnostic, line, column, length int) {
	line = min(max(line, 1), len(s.lines))
	text := s.line(line)
	d.File, d.Line, d.Column = s.name, line, min(max(column, 1), len(text)+1)
	d.Length = max(1, min(length, len(text)-d.Column+1))
}

// hide keeps a scalar's text from being shown.
func (s *source) hide(n *yaml.Node) {
	from := s.lines[n.Line-1] + s.column(n.Line, n.Column) - 1
	to := from + len(s.line(n.Line)[min(s.column(n.Line, n.Column)-1, len(s.line(n.Line))):])
	if length, _, plain := s.extent(n, n.Line, s.column(n.Line, n.Column)); plain {
		to = from + length
	}
	s.secrets = append(s.secrets, stretch{from, to})
}

// blot is a line with its secrets made illegible, each as long as before.
func (s *source) blot(line int) string {
	text := []byte(s.line(line))
	begin, secrets := s.lines[line-1], s.secrets
	if s.unread {
		secrets = append(slices.Clip(secrets), s.likely(line)...)
	}
	for _, secret := range secrets {
		for i := max(secret.from-begin, 0); i < min(secret.to-begin, len(text)); i++ {
			text[i] = '*'
		}
	}
	return string(text)
}

// parentOf is the path that a field belongs to: rules[2] of rules[2].limit, rules
// of rules[2], "" of rules.
func parentOf(path string) string {
	if strings.HasSuffix(path, `"]`) {
		if i := strings.LastIndex(path, `["`); i >= 0 {
			return path[:i]
		}
	}
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

// within reports whether a path is another, or lies inside it.
func within(path, outer string) bool {
	rest, ok := strings.CutPrefix(path, outer)
	return ok && (rest == "" || outer == "" || rest[0] == '.' || rest[0] == '[')
}
