package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhq/weir/bench/internal/measure"
)

// only chooses rows by their names: a regular expression whose alternatives are kept
// apart. As one expression it would say nothing of an alternative that matches nobody,
// and the row that was meant would be missing as if it could not be measured.
type only []*regexp.Regexp

// parseOnly reads alternatives. One ends at the first | up to which it is a regular
// expression by itself, so that a | in brackets parts nothing.
func parseOnly(text string) (list only, err error) {
	begun := ""
	for piece := range strings.SplitSeq(text, "|") {
		begun += piece
		if begun == "" {
			return nil, fmt.Errorf("-only %q: an alternative that is empty matches every row; leave it out", text)
		}
		var alternative *regexp.Regexp
		if alternative, err = regexp.Compile(begun); err != nil {
			begun += "|"
			continue
		}
		list, begun = append(list, alternative), ""
	}
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	return list, nil
}

// matches reports whether a row is chosen.
func (l only) matches(part, name string) bool {
	return slices.ContainsFunc(l, func(alternative *regexp.Regexp) bool { return match(alternative, part, name) })
}

// match reports whether an alternative chooses a row. The calls of several takes are
// weir's, though their names do not say so.
func match(alternative *regexp.Regexp, part, name string) bool {
	return alternative.MatchString(name) || part == measure.Calls && alternative.MatchString("weir "+name)
}

// checkOnly names the alternatives that match no row of the run, and the rows.
func (o *options) checkOnly() error {
	var rows, missed []string
	matched := make([]bool, len(o.only))
	for _, t := range o.tables() {
		for _, name := range contenders(t.part, t.set) {
			if !slices.Contains(rows, name) {
				rows = append(rows, name)
			}
			for i, alternative := range o.only {
				matched[i] = matched[i] || match(alternative, t.part, name)
			}
		}
	}
	for i, alternative := range o.only {
		if !matched[i] {
			missed = append(missed, strconv.Quote(alternative.String()))
		}
	}
	if len(missed) == 0 || len(rows) == 0 { // a run without rows measures nothing, and says so
		return nil
	}
	return fmt.Errorf("-only: no row matches %s; with -parts %s and -sizes %s there are\n  %s", strings.Join(missed, ", "), strings.Join(o.parts, ","), strings.Join(o.sizes, ","), strings.Join(rows, "\n  "))
}
