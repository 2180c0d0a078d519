package algorithm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrInvalid is what every refusal of a number matches with errors.Is.
var ErrInvalid = errors.New("weir: invalid")

// FieldError refuses one field of a limit: which, what it held, why that
// cannot be, and what to write instead.
type FieldError struct {
	Field   string // count, period, burst, overdraft, …
	Value   string // as it was given
	Problem string // why it cannot be
	Remedy  string // what would be accepted; may be empty
	Offset  int    // byte offset of the value in the limit's text, -1 when there is none
}

// Error gives one sentence, `weir: burst 0: a bucket must hold at least 1 unit`,
// followed by the remedy. A value that came from outside is cut to a line's
// length, and quoted where it is not plain text, so that it is safe to log.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString("weir: ")
	b.WriteString(e.Field)
	if e.Value != "" {
		b.WriteString(" " + plain(e.Value))
	}
	b.WriteString(": " + e.Problem)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	return b.String()
}

// longestValue is how many bytes of a value an error shows.
const longestValue = 120

// plain gives a text that can stand in one line of a log or a terminal.
func plain(s string) string {
	if len(s) > longestValue {
		end := longestValue
		for end > longestValue-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end-- // a letter is shown whole, or not
		}
		s = s[:end] + "…"
	}
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return strconv.Quote(s)
		}
	}
	return s
}

// Is reports that a FieldError is an ErrInvalid.
func (e *FieldError) Is(target error) bool { return target == ErrInvalid }

// refuse builds a FieldError for a number that came without a text.
func refuse(field string, value any, problem, remedy string) error {
	return &FieldError{Field: field, Value: fmt.Sprint(value), Problem: problem, Remedy: remedy, Offset: -1}
}
