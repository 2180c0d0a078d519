package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const page = "../docs/diagnostics.md"

// codesInSource are the codes that this package's code notes: the first argument
// of the functions that note, the first field of a complaint, the field Code.
func codesInSource(t *testing.T) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	add := func(x ast.Expr) {
		if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			codes[text] = true
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				notes := []string{"refuse", "warn", "refuseFields", "refuseNode", "refuseName", "add"}
				if ok && len(n.Args) > 2 && slices.Contains(notes, sel.Sel.Name) {
					add(n.Args[0])
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "complaint" && len(n.Elts) == 3 {
					add(n.Elts[0])
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok && id.Name == "Code" {
					add(n.Value)
				}
			}
			return true
		})
	}
	return codes
}

// section is one code's part of the page.
type section struct{ code, text string }

func sections(t *testing.T) (list []section) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n### `")
	for _, part := range parts[1:] {
		code, rest, _ := strings.Cut(part, "`")
		rest, _, _ = strings.Cut(rest, "\n## ")
		list = append(list, section{code, rest})
	}
	return list
}

// Each code of the source stands on the page, each of the page in the source, and
// each has a broken file that shows it.
func TestCodes(t *testing.T) {
	source := codesInSource(t)
	onPage := map[string]bool{}
	for _, s := range sections(t) {
		if onPage[s.code] {
			t.Errorf("%s stands on the page twice", s.code)
		}
		onPage[s.code] = true
	}
	shown := map[string]bool{}
	for _, name := range texts(t, "broken") {
		_, found := loadFile(t, name)
		for _, d := range found {
			shown[d.Code] = true
		}
	}
	shown["file-too-large"], shown["too-much"] = true, true // TestLargeFiles
	for code := range source {
		if !onPage[code] {
			t.Errorf("%s is not on the page %s", code, page)
		}
		if !shown[code] {
			t.Errorf("%s has no file in testdata/broken", code)
		}
	}
	for code := range onPage {
		if !source[code] {
			t.Errorf("%s is on the page, and nothing gives it", code)
		}
	}
	if len(source) < 60 {
		t.Errorf("only %d codes were found: %v", len(source), slices.Sorted(maps.Keys(source)))
	}
}

var pageExample = regexp.MustCompile("(?s)(Wrong|Right):\n\n```yaml\n(.*?)```")

// What the page calls wrong gives its code, and what it calls right loads
// without it.
func TestPageExamples(t *testing.T) {
	files := func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join("testdata", "valid", filepath.Base(name)))
	}
	for _, s := range sections(t) {
		for _, m := range pageExample.FindAllStringSubmatch(s.text, -1) {
			policy, found := Load(Source{Name: "-", Stdin: []byte("version: 1\n" + m[2]), ReadFile: files, Daemon: true})
			has := slices.ContainsFunc(found, func(d Diagnostic) bool { return d.Code == s.code })
			switch {
			case m[1] == "Wrong" && !has:
				t.Errorf("%s: what is wrong gives %v", s.code, found)
			case m[1] == "Right" && (has || policy == nil):
				t.Errorf("%s: what is right gives %v", s.code, found)
			}
		}
	}
}

// The page about rules files, and the hint for an unknown option, name the same
// options.
func TestOptionsOnPage(t *testing.T) {
	text, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^option +=.*$`).FindString(string(text))
	var onPage []string
	for _, m := range regexp.MustCompile(`"([a-z-]+)"`).FindAllStringSubmatch(line, -1) {
		onPage = append(onPage, m[1])
	}
	_, found := loadText("version: 1\nrules: [{name: a, limit: 5/s at}]")
	if len(found) != 1 || len(onPage) == 0 {
		t.Fatalf("%v, %q", found, line)
	}
	inHint := strings.Split(strings.TrimPrefix(found[0].Hint, "the options are "), ", ")
	if slices.Sort(onPage); !slices.Equal(onPage, slices.Sorted(slices.Values(inHint))) {
		t.Errorf("the page has %v, the hint %v", onPage, inHint)
	}
}
