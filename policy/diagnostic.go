package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a Diagnostic refuses a Config.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // the Config cannot be used
	Warning                 // it can, and something in it may do harm
)

// String is error or warning.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// MarshalText gives the word, for JSON.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Span is a part of a field's value: Length bytes, Offset from its beginning. A
// caret stands under it. The zero Span is the whole value.
type Span struct{ Offset, Length int }

// Diagnostic is one thing that is wrong with a Config or a rules file. Its JSON
// form, which `check --json` gives, is documented in docs/diagnostics.md. What is
// secret stands in none of its fields.
type Diagnostic struct {
	Severity Severity `json:"severity"`       // error or warning
	Code     string   `json:"code"`           // which kind of mistake: stable, listed in docs/diagnostics.md
	Path     string   `json:"path,omitempty"` // the field, as in rules[2].limit; a variable's name for what the environment says
	Span     Span     `json:"-"`              // the part of its value
	Message  string   `json:"message"`        // what is wrong, with the value
	Hint     string   `json:"hint,omitempty"` // what to write instead, or what was probably meant; may be empty

	File   string `json:"file,omitempty"`   // where it stands, "" for a Config made in Go
	Line   int    `json:"line,omitempty"`   // from 1; 0 where there is none
	Column int    `json:"column,omitempty"` // from 1, in bytes; 0 where there is none
	Length int    `json:"length,omitempty"` // of what the caret underlines, in bytes, at least 1
	Text   string `json:"-"`                // the whole line, with what is secret in it blotted out
}

// Diagnostics is everything that is wrong, in the order of the file. As an
// error, it holds at least one Error.
type Diagnostics []Diagnostic

// Error gives one line for each, without source text.
func (d Diagnostics) Error() string {
	var b strings.Builder
	for i := range d {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d[i].String())
	}
	return b.String()
}

// Err is d as an error, nil if d holds only warnings.
func (d Diagnostics) Err() error {
	for i := range d {
		if d[i].Severity == Error {
			return d
		}
	}
	return nil
}

// String gives one line: `weir.yaml:3:5: error: …; hint [code]`. Without a place
// in a file it begins with the path.
func (d *Diagnostic) String() string {
	line := d.head()
	if d.Hint != "" {
		line += "; " + visible(d.Hint)
	}
	return line + " [" + d.Code + "]"
}

// head is everything before the hint.
func (d *Diagnostic) head() string {
	where := d.where()
	if where != "" {
		where += ": "
	}
	return where + d.Severity.String() + ": " + visible(d.Message)
}

// where is the place: file, line and column, or the path.
func (d *Diagnostic) where() string {
	switch {
	case d.File != "" && d.Line > 0:
		return fmt.Sprintf("%s:%d:%d", visible(d.File), d.Line, d.Column)
	case d.File != "":
		return visible(d.File)
	}
	return visible(d.Path)
}

// longest is how much of a message or a hint is kept: they quote the file, which may
// hold anything in one line.
const longest = 1000

// shorter cuts the middle out of a text that is too long.
func shorter(s string) string {
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest/2], "") + "…" + strings.ToValidUTF8(s[len(s)-longest/2:], "")
}

// mostDiagnostics is more than anybody mends before looking again.
const mostDiagnostics = 100

// sorted gives the diagnostics in the order of the file, each once, errors before
// warnings of the same place, and no more than anybody reads. There are so many
// more that are not among them.
func (d Diagnostics) sorted(more int) Diagnostics {
	for i := range d {
		d[i].Message, d[i].Hint = shorter(d[i].Message), shorter(d[i].Hint)
	}
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Severity, b.Severity))
	})
	seen := map[Diagnostic]bool{}
	d = slices.DeleteFunc(d, func(one Diagnostic) bool {
		if one.Line > 0 {
			one.Path = "" // by an alias, one text stands in several places
		}
		again := seen[one]
		seen[one] = true
		return again
	})
	if len(d) <= mostDiagnostics && more == 0 {
		return d
	}
	// Errors first: a flood of warnings must not hide that the file is refused.
	slices.SortStableFunc(d, func(a, b Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
	kept := d[:min(len(d), mostDiagnostics):min(len(d), mostDiagnostics)]
	return append(kept, Diagnostic{
		Severity: Warning, Code: "too-many", File: d[0].File,
		Message: fmt.Sprintf("and %d more", len(d)-len(kept)+more), Hint: "mend these first",
	})
}
