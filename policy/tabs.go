package policy

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// This file reads on behind tabs that indent, which YAML does not have: one of
// them would hide all else that is wrong with a file.

// indentation is what may stand before the first word of a line.
var indentation = regexp.MustCompile(`^[ \t]*(?:-[ \t]+)*`)

// tabWidths are the widths that a tab is tried with, as editors show it. The
// widest comes first: the narrower one may say something else where it fits as
// well, and what is indented farther belongs to the line above for certain.
var tabWidths = [...]int{8, 4, 2}

// deepestTab is farther than anything is indented: each place that is shown in
// such a line is looked for from its beginning.
const deepestTab = 256

// untabbed parses the text with spaces in the place of the tabs that indent. The
// result is nil where it cannot be read with any width.
func (r *reader) untabbed() []*yaml.Node {
	for i := range r.lines {
		if len(indentation.FindString(r.line(i+1))) > deepestTab {
			return nil
		}
	}
	for _, width := range tabWidths {
		if list, err := parseYAML(r.expanded(width)); err == nil {
			r.tabWidth = width
			return list
		}
	}
	return nil
}

// expanded is the text with tabs that indent expanded.
func (s *source) expanded(width int) string {
	var b strings.Builder
	for line := range strings.Lines(s.text) {
		before := indentation.FindString(line)
		column := 0
		for _, c := range before {
			next := after(c, column, width)
			if c == '\t' {
				c = ' '
			}
			b.WriteRune(c)
			b.WriteString(strings.Repeat(" ", next-column-1))
			column = next
		}
		b.WriteString(line[len(before):])
	}
	return b.String()
}

// after is the column behind a character of the indentation.
func after(c rune, column, width int) int {
	if c == '\t' {
		return (column/width + 1) * width
	}
	return column + 1
}

// written is the column, counted from 1, that a place of the expanded text has in
// the text itself.
func (s *source) written(line, characters int) int {
	before, column := indentation.FindString(s.line(line)), 0
	for i, c := range before {
		if column = after(c, column, s.tabWidth); column >= characters {
			return i + 1
		}
	}
	return characters - column + len(before)
}

// tabbed says where else the text has tabs that indent, and how it was read on.
func (s *source) tabbed(first int) string {
	more := -1
	for i := first; i <= len(s.lines); i++ {
		if strings.Contains(indentation.FindString(s.line(i)), "\t") {
			more++
		}
	}
	hint := "indent with spaces"
	switch {
	case more == 1:
		hint += ", here and in another line"
	case more > 1:
		hint += fmt.Sprintf(", here and in %d more lines", more)
	}
	if s.tabWidth == 0 {
		return hint + "; what stands below has not been looked at"
	}
	return hint + fmt.Sprintf("; the rest was read with tabs %d wide", s.tabWidth)
}
