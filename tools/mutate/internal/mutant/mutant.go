package mutant

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Mutant is one change to one file. File, Func, Was and Now name it: they
// stay the same when lines above it come or go.
type Mutant struct {
	File string `json:"file"` // as the Source has it
	Line int    `json:"line"` // where the change begins, from 1
	Func string `json:"func"` // the function, Type.method, or constant or variable of the package
	Kind string `json:"kind"` // what was done, in a word or two
	Was  string `json:"was"`  // the line or lines that change, as one line
	Now  string `json:"now"`  // what they become; the second of its kind in a function ends in " // 2"

	change edit // what shows it best
	whole  edit // what compiles: more than change, where variables would be unused
}

// An edit replaces the bytes from from to to.
type edit struct {
	from, to int
	text     string
}

// Apply returns the text of the mutant's file with the change made; text is
// that of the Source and is not written to.
func (m Mutant) Apply(text []byte) []byte { return m.whole.apply(text) }

func (e edit) apply(text []byte) []byte {
	return slices.Concat(text[:e.from], []byte(e.text), text[e.to:])
}

// Name is what names the mutant among all.
func (m Mutant) Name() string {
	return strings.Join([]string{m.File, m.Func, m.Was, m.Now}, "\n")
}

// mostShown is the length, in bytes, from which a text of several lines is cut.
const mostShown = 200

// show fills in Was and Now.
func (m *Mutant) show(text []byte) {
	from := bytes.LastIndexByte(text[:m.change.from], '\n') + 1
	to := len(text)
	if n := bytes.IndexByte(text[m.change.to:], '\n'); n >= 0 {
		to = m.change.to + n
	}
	moved := edit{from: m.change.from - from, to: m.change.to - from, text: m.change.text}
	m.Was = oneLine(text[from:to])
	m.Now = oneLine(moved.apply(text[from:to]))
}

func oneLine(text []byte) string {
	line := strings.Join(strings.Fields(string(text)), " ")
	if bytes.Contains(text, []byte("\n")) && len(line) > mostShown {
		return strings.ToValidUTF8(line[:mostShown], "") + " …"
	}
	return line
}

// settle puts the mutants of a package in order, drops what was made twice, and
// numbers those that would have the same name.
func settle(all []Mutant) []Mutant {
	slices.SortStableFunc(all, func(a, b Mutant) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.change.from, b.change.from),
			cmp.Compare(a.change.to, b.change.to), cmp.Compare(a.change.text, b.change.text))
	})
	all = slices.CompactFunc(all, func(a, b Mutant) bool { return a.File == b.File && a.change == b.change })
	met := map[string]int{}
	for i := range all {
		name := all[i].Name()
		met[name]++
		if n := met[name]; n > 1 {
			all[i].Now += fmt.Sprintf(" // %d", n)
		}
	}
	return all
}
