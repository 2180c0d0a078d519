package house

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// A budget is how many lines something may have; the wide one is for what says
// why in a comment that begins with "long:".
type budget struct{ plain, wide int }

type budgets struct {
	function budget
	file     budget // wide for one data structure, never for a mix of concerns
	testFile int
	header   int // within how many lines a file says why
}

func TestSizes(t *testing.T) {
	r := rule{
		name:   "sizes",
		remedy: "cut it where it has two subjects; what is one subject says so: // long: reason, above the function or at the top of the file",
	}
	r.check = budgets{
		function: budget{plain: 4, wide: 6},
		file:     budget{plain: 16, wide: 20},
		testFile: 24,
		header:   5,
	}.check
	holdFixture(t, r)
	r.check = budgets{
		function: budget{plain: 60, wide: 80},
		file:     budget{plain: 400, wide: 500},
		testFile: 600,
		header:   30,
	}.check
	holdRepository(t, r)
}

func (b budgets) check(tr *tree, report reporter) {
	for f := range tr.all() {
		lines, limit := f.tok.LineCount(), b.testFile
		if !f.test() {
			b.checkFunctions(f, report)
			limit = b.file.of(f.excused(f.ast.FileStart, f.tok.LineStart(min(b.header, lines))))
		}
		if lines > limit {
			report(f.ast.Package, "a file of %d lines, %d are allowed", lines, limit)
		}
	}
}

// checkFunctions takes the reason of a function from the comments between it
// and what is declared before it.
func (b budgets) checkFunctions(f *file, report reporter) {
	above := f.ast.Name.End()
	for _, decl := range f.ast.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			limit := b.function.of(f.excused(above, fn.Pos()))
			if n := f.span(fn); n > limit {
				report(fn.Pos(), "func %s has %d lines, %d are allowed", fn.Name.Name, n, limit)
			}
		}
		above = decl.End()
	}
}

func (b budget) of(excused bool) int {
	if excused {
		return b.wide
	}
	return b.plain
}

// excused reports whether a comment between two positions says why something
// is long.
func (f *file) excused(from, to token.Pos) bool {
	for c := range f.comments() {
		reason, ok := strings.CutPrefix(c.Text, "// long:")
		if ok && strings.TrimSpace(reason) != "" && from <= c.Pos() && c.Pos() < to {
			return true
		}
	}
	return false
}
