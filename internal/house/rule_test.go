package house

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"
)

// A rule is one thing that holds everywhere in the repository.
type rule struct {
	name   string // also the name of its fixture in testdata
	remedy string // what to do about a finding
	check  func(*tree, reporter)
}

// A reporter takes one finding.
type reporter func(at token.Pos, format string, args ...any)

// repository is the tree that this package is a part of.
var repository = sync.OnceValues(func() (*tree, error) { return load(os.DirFS("../..")) })

// A rule that sees nothing finds nothing.
func TestRepositoryIsSeen(t *testing.T) {
	tr, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ci/run", "Makefile", "doc.go", "go.mod", "internal/house/rule_test.go", "tools/go.mod"} {
		if tr.source(name) == nil {
			t.Errorf("%s is not seen", name)
		}
	}
	if d := tr.folderAt("internal/house"); len(d.files) < 2 || d.module != "." {
		t.Errorf("package house is seen with %d files in module %q", len(d.files), d.module)
	}
}

// hold sees that r finds in its fixture what the fixture says, and nothing in
// the repository.
func hold(t *testing.T, r rule) {
	t.Helper()
	holdFixture(t, r)
	holdRepository(t, r)
}

func holdRepository(t *testing.T, r rule) {
	t.Helper()
	tr, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range r.findings(tr) {
		t.Errorf("%s\n\trule: %s. Remedy: %s.", finding, r.name, r.remedy)
	}
}

// holdFixture sees that r can fail, and that it does not where it should not.
func holdFixture(t *testing.T, r rule) {
	t.Helper()
	want, files := fixture(t, "testdata/"+strings.ReplaceAll(r.name, " ", "-")+".txtar")
	tr, err := load(files)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) == 0 {
		t.Fatalf("rule %q: its fixture breaks nothing", r.name)
	}
	if diff := gocmp.Diff(want, r.findings(tr)); diff != "" {
		t.Errorf("rule %q on its fixture (- want, + got):\n%s", r.name, diff)
	}
}

// A finding is one place where a rule is broken.
type finding struct {
	at   token.Position
	text string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.at.Filename, f.at.Line, f.text) }

// findings returns what r finds in tr, in the order of the files.
func (r rule) findings(tr *tree) []string {
	var found []finding
	r.check(tr, func(at token.Pos, format string, args ...any) {
		found = append(found, finding{tr.fset.Position(at), fmt.Sprintf(format, args...)})
	})
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset))
	})
	var lines []string
	for _, f := range found {
		lines = append(lines, f.String())
	}
	return lines
}

// fixture reads a small repository from one text file, in the txtar form: each
// file follows a line "-- name --". What stands before the first file is the
// list of findings that are due, and lines of prose that begin with "#".
func fixture(t *testing.T, name string) (findings []string, files fs.FS) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("each rule has a fixture that breaks it: %v", err)
	}
	m := fstest.MapFS{}
	var current *fstest.MapFile
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		line := scan.Text()
		if name, ok := marker(line); ok {
			current = &fstest.MapFile{}
			m[name] = current
		} else if current != nil {
			current.Data = append(append(current.Data, line...), '\n')
		} else if line != "" && !strings.HasPrefix(line, "#") {
			findings = append(findings, line)
		}
	}
	return findings, m
}

func marker(line string) (name string, ok bool) {
	name, ok = strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, " --")
}
