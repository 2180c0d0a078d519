package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
	"testing"
)

// variables lists the package-level variables that are neither an error nor a
// table, and why each may exist. They may not be assigned to either.
var variables = map[string]string{
	"cmd/weir/linkedVersion":  "the linker writes it",
	"cmd/weir/linkedRevision": "the linker writes it",
}

func TestState(t *testing.T) {
	hold(t, rule{
		name:   "package state",
		remedy: "make it a constant, an array, a field or an argument; one that must be is listed with its reason in variables, internal/house/state_test.go",
		check:  checkState,
	})
}

func TestWrites(t *testing.T) {
	hold(t, rule{
		name:   "writes to package state",
		remedy: "pass the value as a field or an argument",
		check:  checkWrites,
	})
}

func TestInit(t *testing.T) {
	hold(t, rule{
		name:   "init",
		remedy: "call it from where its result is needed, or from the constructor",
		check:  checkInit,
	})
}

func checkInit(tr *tree, report reporter) {
	for f := range tr.all() {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report(fn.Pos(), "func init")
			}
		}
	}
}

func checkState(tr *tree, report reporter) {
	for f := range tr.code() {
		for _, decl := range f.ast.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
				checkVars(f, decl, report)
			}
		}
	}
}

func checkVars(f *file, decl *ast.GenDecl, report reporter) {
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok || embedded(decl.Doc) || embedded(spec.Doc) {
			continue
		}
		for i, name := range spec.Names {
			if name.Name != "_" && variables[path.Join(f.path, name.Name)] == "" && !settled(spec, i) {
				report(name.Pos(), "package-level variable %s", name.Name)
			}
		}
	}
}

// embedded reports whether a variable's comment holds a go:embed directive.
func embedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, "//go:embed ") {
			return true
		}
	}
	return false
}

// settled reports whether the i-th variable of spec is a value for good: an
// error, a regular expression or an array.
func settled(spec *ast.ValueSpec, i int) bool {
	if i >= len(spec.Values) {
		return false
	}
	switch v := spec.Values[i].(type) {
	case *ast.SelectorExpr:
		return strings.HasPrefix(v.Sel.Name, "Err") // another package's error under our name
	case *ast.CompositeLit:
		array, ok := v.Type.(*ast.ArrayType)
		return ok && array.Len != nil
	case *ast.CallExpr:
		switch types.ExprString(v.Fun) {
		case "errors.New", "fmt.Errorf", "regexp.MustCompile":
			return true
		}
	}
	return false
}

// checkWrites finds what changes a package-level variable, be it of the same
// package, its tests included, or of another. A test may change what a test
// has declared.
func checkWrites(tr *tree, report reporter) {
	for _, d := range tr.folders {
		scope := d.resolve(tr.fset)
		for _, f := range d.files {
			for n := range ast.Preorder(f.ast) {
				for _, x := range targets(n) {
					if name := scope.variable(x); name != "" {
						report(x.Pos(), "a write to %s", name)
					}
				}
			}
		}
	}
}

// targets returns what a node writes to, or lets others write to.
func targets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Lhs
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		return []ast.Expr{n.Key, n.Value}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		switch types.ExprString(n.Fun) {
		case "clear", "copy", "delete":
			return n.Args[:1]
		}
	}
	return nil
}

// A scope knows what the names in a package's files stand for.
type scope struct {
	fset *token.FileSet
	uses map[*ast.Ident]types.Object
}

// resolve looks the package's names up. Imported packages stay unknown, and so
// do types: neither is needed to tell a variable of the package from a local.
func (d *folder) resolve(fset *token.FileSet) scope {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: blind{}, Error: func(error) {}}
	byName := map[string][]*ast.File{}
	for _, f := range d.files {
		byName[f.ast.Name.Name] = append(byName[f.ast.Name.Name], f.ast)
	}
	for name, files := range byName {
		_, _ = conf.Check(name, fset, files, info) // what the compiler would say is not asked here
	}
	return scope{fset, info.Uses}
}

// blind imports every package as an empty one.
type blind struct{}

func (blind) Import(imp string) (*types.Package, error) {
	p := types.NewPackage(imp, path.Base(imp))
	p.MarkComplete()
	return p, nil
}

// variable returns the name of the package-level variable that a write to x
// changes, in whole or in part, or "".
func (s scope) variable(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		if v, ok := s.uses[x].(*types.Var); ok && s.packageLevel(v) {
			return x.Name
		}
	case *ast.SelectorExpr:
		if s.isPackage(x.X) {
			return types.ExprString(x)
		}
		return s.variable(x.X)
	case *ast.IndexExpr:
		return s.variable(x.X)
	case *ast.SliceExpr:
		return s.variable(x.X)
	case *ast.ParenExpr:
		return s.variable(x.X)
	case *ast.StarExpr:
		return s.variable(x.X)
	}
	return ""
}

func (s scope) packageLevel(v *types.Var) bool {
	return v.Kind() == types.PackageVar && !strings.HasSuffix(s.fset.Position(v.Pos()).Filename, "_test.go")
}

func (s scope) isPackage(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = s.uses[id].(*types.PkgName)
	return ok
}
