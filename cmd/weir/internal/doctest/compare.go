package doctest

import (
	"fmt"
	"slices"
	"strings"
)

// anything stands for any lines, or within a line for any text.
const anything = "…"

// compare says where what was printed is not what a page says.
func compare(want []string, printed string) error {
	got := linesOf(printed)
	want = linesOf(strings.Join(want, "\n"))
	if fits(want, got) {
		return nil
	}
	return fmt.Errorf("the page says\n%s\nand printed was\n%s", quoted(want), quoted(got))
}

// linesOf takes a text apart. Spaces at the end of lines, and empty lines at the
// end, are nobody's concern.
func linesOf(text string) []string {
	list := strings.Split(text, "\n")
	for i, line := range list {
		list[i] = strings.TrimRight(line, " \t\r")
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return list
}

// fits reports whether lines are those of a page. reached[i] says that all lines
// so far fit the first i of the page.
func fits(want, got []string) bool {
	reached := make([]bool, len(want)+1)
	reached[0] = true
	skip(want, reached)
	for _, line := range got {
		next := make([]bool, len(want)+1)
		for i, w := range want {
			next[i] = next[i] || reached[i] && w == anything
			next[i+1] = reached[i] && w != anything && fitsLine(w, line)
		}
		reached = next
		skip(want, reached)
	}
	return reached[len(want)]
}

// skip lets … stand for no lines.
func skip(want []string, reached []bool) {
	for i, w := range want {
		reached[i+1] = reached[i+1] || reached[i] && w == anything
	}
}

// fitsLine reports whether a line is one of a page, in which … is any text.
func fitsLine(want, got string) bool {
	parts := strings.Split(want, anything)
	last := len(parts) - 1
	if last == 0 {
		return want == got
	}
	rest, begins := strings.CutPrefix(got, parts[0])
	if !begins {
		return false
	}
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[last])
}

// quoted prints lines so that they can be told from what is said of them.
func quoted(lines []string) string {
	if len(lines) == 0 {
		return "    (nothing)"
	}
	out := slices.Clone(lines)
	for i := range out {
		out[i] = "    " + out[i]
	}
	return strings.Join(out, "\n")
}
