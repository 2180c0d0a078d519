package match

import (
	"fmt"
	"strconv"
)

// PatternError is one mistake in a pattern. The error of [ParsePattern] joins
// them in the order of the text: errors.As finds the first, and its Unwrap()
// []error has them all.
type PatternError struct {
	Pattern string // the whole text
	Offset  int    // the byte at which the mistake begins
	Len     int    // how many bytes it has; 0 where something is missing
	Problem string // what is wrong, as the rest of a sentence
	Remedy  string // what to write instead
}

// Error returns the whole as one line that is safe to log, such as
// `pattern "post /login": "post" is not in capitals; write POST`.
func (e *PatternError) Error() string {
	place := "it"
	if e.Len > 0 {
		place = strconv.Quote(e.Pattern[e.Offset : e.Offset+e.Len])
	}
	return fmt.Sprintf("pattern %q: %s %s; %s", e.Pattern, place, e.Problem, e.Remedy)
}
