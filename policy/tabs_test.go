package policy

import (
	"strings"
	"testing"
)

// Every place of a text is found again in the expanded one.
func TestTabsKeepPlaces(t *testing.T) {
	const text = "a: 1\n\tb: 2\n  \t- \tc:\td\n -\t-  e\n\t\n\t\tf\tg\n \t \t# h"
	for _, width := range tabWidths {
		s := newSource("-", []byte(text))
		expanded := newSource("-", []byte(s.expanded(width)))
		s.tabWidth = width
		for line := 1; line <= len(s.lines); line++ {
			wide, column := expanded.line(line), 1
			for i := range wide {
				if got := s.column(line, i+1); got < column || got > column+1 {
					t.Errorf("width %d, line %d: column %d is %d of the text, behind %d", width, line, i+1, got, column)
				} else {
					column = got
				}
				if c, was := wide[i], s.line(line)[column-1]; c != was && (c != ' ' || was != '\t') {
					t.Errorf("width %d, line %d: %q in column %d was %q in %d", width, line, c, i+1, was, column)
				}
			}
			if column != max(1, len(s.line(line))) {
				t.Errorf("width %d, line %d ends in column %d", width, line, column)
			}
		}
	}
}

// What is behind tabs is read as an editor shows it, if it can be.
func TestTabWidths(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
	}{
		{"version: 1\nlisten:\n\tproxy: :80\n", 8},
		{"version: 1\nrules:\n  - name: a\n\tlimit: 5/s\n", 4},
		{"version: 1\nlisten:\n  proxy: :80\n\tops: :81\n", 2},
		{"version: 1\nlisten:\n  proxy: :80\n \t\t  ops: :81\n", 0},
		{"version: 1\nroutes: [\n\t/a]\n", 0}, // which is YAML
		{"version: 1\nlisten:\n" + strings.Repeat("\t", 257) + "proxy: :80\n", 0},
	} {
		r := &reader{source: newSource("-", []byte(c.text))}
		if r.read(); r.tabWidth != c.width {
			t.Errorf("%q was read with tabs %d wide, not %d", c.text, r.tabWidth, c.width)
		}
	}
}

// A secret behind a tab is not shown either.
func TestTabsShowNoSecret(t *testing.T) {
	const secret = "5d1fbb6c2f0e4d5bb07a3c1d9e8f7a60"
	_, found := loadText("version: 1\nlisten:\n\thttp:\n\t\taddress: 80\n\t\ttoken: " + secret + "\n\t\topne: {token: " + secret + "}\nexempt:\n\t- headers: {X-Any: [" + secret + "]}\n\t  foo: 1\n")
	var b strings.Builder
	if err := found.Print(&b, false); err != nil {
		t.Fatal(err)
	}
	if len(found) < 3 || strings.Contains(b.String(), secret) {
		t.Error(b.String())
	}
}
