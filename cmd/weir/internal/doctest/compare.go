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
	far, ok := fits(want, got)
	if ok {
		return nil
	}
	at := "nothing more"
	if far < len(want) {
		at = want[far]
	}
	return fmt.Errorf("the page says\n%s\nand printed was\n%s\nwhere the page goes on with\n    %s", quoted(want), quoted(got), at)
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

// fits reports whether lines are those of a page, and how many of the page's come
// before the first that does not. reached[i] says that all lines so far fit the
// first i of the page.
func fits(want, got []string) (far int, ok bool) {
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
		far = max(far, lastTrue(reached))
	}
	return max(far, lastTrue(reached)), reached[len(want)]
}

// lastTrue is the last place that holds true, 0 for none.
func lastTrue(list []bool) int {
	for i, v := range slices.Backward(list) {
		if v {
			return i
		}
	}
	return 0
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
