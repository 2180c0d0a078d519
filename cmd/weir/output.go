package main

import (
	"encoding/json"
	"fmt"
	"io"
)

// printJSON writes v indented, with a newline behind it. Paths and texts are for
// people and programs, not for HTML.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// count gives "1 rule" and "2 rules".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
