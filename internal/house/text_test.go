package house

import (
	"bytes"
	"go/ast"
	"go/format"
	"path"
	"regexp"
	"slices"
	"testing"
)

var (
	unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	silencing  = regexp.MustCompile(`^//\s*(nolint|lint:(file-)?ignore)\b`)
	// A path is absolute where nothing that could belong to it stands before.
	personal = regexp.MustCompile(`(^|[^\w.~$})/-])/(work|root|home)/\w`)
)

func TestFormat(t *testing.T) {
	hold(t, rule{
		name:   "format",
		remedy: "run make fmt",
		check:  checkFormat,
	})
}

func TestMarkers(t *testing.T) {
	hold(t, rule{
		name:   "markers",
		remedy: "finish it, or open an issue; a linter's exception is granted in .golangci.yml, with its reason",
		check:  checkMarkers,
	})
}

func TestSkips(t *testing.T) {
	hold(t, rule{
		name:   "skips",
		remedy: "make the test run, or move it to the tier that runs it; what rapid draws is filtered, not skipped",
		check:  checkSkips,
	})
}

func TestPaths(t *testing.T) {
	hold(t, rule{
		name:   "paths",
		remedy: "use a path relative to the repository, a temporary folder, or an example nobody lives in",
		check:  checkPaths,
	})
}

func checkFormat(tr *tree, report reporter) {
	for f := range tr.all() {
		want, err := format.Source(f.text)
		if err != nil || bytes.Equal(want, f.text) {
			continue
		}
		wanted := bytes.SplitAfter(want, []byte("\n"))
		n := 0
		for at, line := range f.each() {
			if n >= len(wanted) || !bytes.Equal(line, wanted[n]) {
				report(at, "not as gofmt has it")
				break
			}
			n++
		}
	}
}

// checkMarkers looks at the comments of Go files, and at all of what is no
// page: a page may have to name the words.
func checkMarkers(tr *tree, report reporter) {
	for f := range tr.all() {
		for c := range f.comments() {
			if unfinished.MatchString(c.Text) || silencing.MatchString(c.Text) {
				report(c.Pos(), "%s", c.Text)
			}
		}
	}
	for _, s := range tr.sources {
		if slices.Contains([]string{".go", ".md", ".html"}, path.Ext(s.name)) {
			continue
		}
		for at, line := range s.each() {
			if unfinished.Match(line) {
				report(at, "%s", bytes.TrimSpace(line))
			}
		}
	}
}

func checkSkips(tr *tree, report reporter) {
	for f := range tr.all() {
		if f.local("testing") == "" && f.local("pgregory.net/rapid") == "" {
			continue
		}
		for call := range nodes[*ast.CallExpr](f.ast) {
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				report(call.Pos(), "%s", sel.Sel.Name)
			}
		}
	}
}

func checkPaths(tr *tree, report reporter) {
	for _, s := range tr.sources {
		for at, line := range s.each() {
			if personal.Match(line) {
				report(at, "a path of one machine")
			}
		}
	}
}
