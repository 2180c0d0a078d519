package house

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
)

// home is the import path of the repository's root. The import path of any
// other folder is home, a slash and the folder.
const home = "github.com/weirhq/weir"

// A tree is what the rules see of a repository, or of a fixture that stands
// for one. All names are slash-separated and start from its root.
type tree struct {
	fset    *token.FileSet
	modules []string  // folders that hold a go.mod
	folders []*folder // folders that hold Go files
	sources []*source // every file that people write: Go, scripts, settings, pages
}

// A source is the text of one file.
type source struct {
	name string
	text []byte
	tok  *token.File
}

// A folder is one package together with its tests.
type folder struct {
	path   string
	module string
	files  []*file
}

// A file is one Go file.
type file struct {
	*source
	*folder
	ast *ast.File
}

// load reads the tree that begins at the root of fsys.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && foreign(name):
			return fs.SkipDir
		case d.IsDir() || !written(name):
			return nil
		}
		return t.add(fsys, name)
	})
	for _, d := range t.folders {
		d.module = t.moduleOf(d.path)
	}
	return t, err
}

// foreign reports whether a folder holds what nobody here has written, or the
// fixtures, which break the rules on purpose.
func foreign(name string) bool {
	switch base := path.Base(name); base {
	case "bin", "dist", "node_modules", "vendor":
		return true
	case ".", ".ci", ".github":
		return false
	default:
		return strings.HasPrefix(base, ".") || name == "internal/house/testdata"
	}
}

// written reports whether a file's name is that of a text for people.
func written(name string) bool {
	switch path.Ext(name) {
	case ".go", ".mod", ".work", ".md", ".sh", ".lua", ".yml", ".yaml", ".toml", ".conf", ".service",
		".txtar", ".html", ".css", ".js":
		return true
	}
	return slices.Contains([]string{"Makefile", "Dockerfile", ".ci/run", ".golangci.yml"}, name)
}

func (t *tree) add(fsys fs.FS, name string) error {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	s := &source{name: name, text: text}
	t.sources = append(t.sources, s)
	if path.Base(name) == "go.mod" {
		t.modules = append(t.modules, path.Dir(name))
	}
	if path.Ext(name) == ".go" && !strings.Contains(name, "testdata/") {
		return t.addGo(s)
	}
	s.tok = t.fset.AddFile(name, -1, len(text))
	s.tok.SetLinesForContent(text)
	return nil
}

func (t *tree) addGo(s *source) error {
	parsed, err := parser.ParseFile(t.fset, s.name, s.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	s.tok = t.fset.File(parsed.FileStart)
	d := t.folderAt(path.Dir(s.name))
	d.files = append(d.files, &file{source: s, folder: d, ast: parsed})
	return nil
}

func (t *tree) folderAt(dir string) *folder {
	for _, d := range t.folders {
		if d.path == dir {
			return d
		}
	}
	d := &folder{path: dir}
	t.folders = append(t.folders, d)
	return d
}

// moduleOf returns the folder of the module that dir belongs to.
func (t *tree) moduleOf(dir string) string {
	for !slices.Contains(t.modules, dir) && dir != "." {
		dir = path.Dir(dir)
	}
	return dir
}

// code yields the files of the tree that are not tests.
func (t *tree) code() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, d := range t.folders {
			for f := range d.code() {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// code yields the files of the package that are not tests.
func (d *folder) code() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, f := range d.files {
			if !f.test() && !yield(f) {
				return
			}
		}
	}
}

// all yields every Go file of the tree.
func (t *tree) all() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, d := range t.folders {
			for _, f := range d.files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// source returns the file of that name, or nil.
func (t *tree) source(name string) *source {
	for _, s := range t.sources {
		if s.name == name {
			return s
		}
	}
	return nil
}

// importPath returns the import path of a folder.
func importPath(dir string) string { return path.Join(home, dir) }

// inHouse returns the folder of an import path of this repository.
func inHouse(imp string) (dir string, ok bool) {
	rest, ok := strings.CutPrefix(imp, home)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return cmp.Or(strings.TrimPrefix(rest, "/"), "."), true
}

// standard reports whether an import path is of the standard library: the
// first element of any other has a dot, and cgo's "C" is not a library at all.
func standard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".") && imp != "C"
}

// below reports whether an import path lies in a module or folder.
func below(imp, root string) bool {
	return imp == root || strings.HasPrefix(imp, root+"/")
}

func (f *file) test() bool { return strings.HasSuffix(f.name, "_test.go") }

// main reports whether f belongs to a command.
func (f *file) main() bool { return f.ast.Name.Name == "main" }

// imports yields what f imports.
func (f *file) imports() iter.Seq2[*ast.ImportSpec, string] {
	return func(yield func(*ast.ImportSpec, string) bool) {
		for _, spec := range f.ast.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err == nil && !yield(spec, imp) {
				return
			}
		}
	}
}

// local returns the name under which f knows a package, or "" when f does not
// import it. The name that the package gives itself is taken to be the last
// element of its path.
func (f *file) local(imp string) string {
	for spec, found := range f.imports() {
		switch {
		case found != imp:
		case spec.Name != nil:
			return spec.Name.Name
		default:
			return path.Base(imp)
		}
	}
	return ""
}

// selectors yields each use in f of a name of the package imp.
func (f *file) selectors(imp string) iter.Seq[*ast.SelectorExpr] {
	return func(yield func(*ast.SelectorExpr) bool) {
		local := f.local(imp)
		if local == "" {
			return
		}
		for sel := range nodes[*ast.SelectorExpr](f.ast) {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && !yield(sel) {
				return
			}
		}
	}
}

// nodes yields the nodes of one type below root.
func nodes[N ast.Node](root ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		for n := range ast.Preorder(root) {
			if n, ok := n.(N); ok && !yield(n) {
				return
			}
		}
	}
}

// comments yields each comment of f, the lines of a group one by one.
func (f *file) comments() iter.Seq[*ast.Comment] {
	return func(yield func(*ast.Comment) bool) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// line returns the number of the line that holds a position.
func (s *source) line(at token.Pos) int { return s.tok.Line(at) }

// span counts the lines that a node stands on.
func (s *source) span(n ast.Node) int { return s.line(n.End()-1) - s.line(n.Pos()) + 1 }

// each yields the lines of s and where each begins.
func (s *source) each() iter.Seq2[token.Pos, []byte] {
	return func(yield func(token.Pos, []byte) bool) {
		n := 0
		for line := range bytes.Lines(s.text) {
			n++
			if !yield(s.tok.LineStart(n), line) {
				return
			}
		}
	}
}
