package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
	"testing"
	"unicode"
)

func TestPackageComments(t *testing.T) {
	hold(t, rule{
		name:   "package comments",
		remedy: "say what the package is for in one comment, in doc.go (main.go for a command)",
		check:  checkPackageComments,
	})
}

func TestExportedNames(t *testing.T) {
	hold(t, rule{
		name:   "exported names",
		remedy: "write a comment above it; a field, or a member of a group that has a comment, may have one behind it",
		check:  checkExportedNames,
	})
}

func checkPackageComments(tr *tree, report reporter) {
	for _, d := range tr.folders {
		if outside(d.module) {
			continue
		}
		found := false
		for f := range d.code() {
			switch {
			case f.ast.Doc == nil:
			case path.Base(f.name) != f.docFile():
				report(f.ast.Package, "a package comment outside %s", f.docFile())
			case !f.main() && !strings.HasPrefix(f.ast.Doc.Text(), "Package "+f.ast.Name.Name+" "):
				report(f.ast.Package, "the package comment does not begin with its name")
			default:
				found = true
			}
		}
		if !found {
			report(d.files[0].ast.Package, "package %s has no comment in %s", d.path, d.files[0].docFile())
		}
	}
}

// docFile returns the name of the file that holds the package's comment.
func (f *file) docFile() string {
	if f.main() {
		return "main.go"
	}
	return "doc.go"
}

func checkExportedNames(tr *tree, report reporter) {
	for f := range tr.code() {
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				checkFuncDoc(decl, report)
			case *ast.GenDecl:
				checkGenDoc(f, decl, report)
			}
		}
	}
}

func checkFuncDoc(fn *ast.FuncDecl, report reporter) {
	if fn.Name.IsExported() && fn.Doc == nil && (fn.Recv == nil || ast.IsExported(receiver(fn))) {
		report(fn.Pos(), "%s has no comment", fn.Name.Name)
	}
}

// receiver returns the name of the type that fn is a method of.
func receiver(fn *ast.FuncDecl) string {
	for id := range nodes[*ast.Ident](fn.Recv.List[0].Type) {
		return id.Name
	}
	return ""
}

func checkGenDoc(f *file, decl *ast.GenDecl, report reporter) {
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			checkTypeDoc(f, decl, spec, report)
		case *ast.ValueSpec:
			checkValueDoc(decl, spec, report)
		}
	}
}

// checkValueDoc wants a comment above each constant and variable; in a group
// that has one of its own, a comment behind each is enough.
func checkValueDoc(decl *ast.GenDecl, spec *ast.ValueSpec, report reporter) {
	alone := decl.Lparen == token.NoPos
	if spec.Doc != nil || decl.Doc != nil && (alone || spec.Comment != nil) {
		return
	}
	for _, name := range spec.Names {
		if name.IsExported() {
			report(name.Pos(), "%s has no comment", name.Name)
		}
	}
}

func checkTypeDoc(f *file, decl *ast.GenDecl, spec *ast.TypeSpec, report reporter) {
	if !spec.Name.IsExported() {
		return
	}
	if spec.Doc == nil && (decl.Doc == nil || decl.Lparen != token.NoPos) {
		report(spec.Pos(), "%s has no comment", spec.Name.Name)
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		checkMembers(f, decl, spec, typ.Fields, report)
	case *ast.InterfaceType:
		if typ.Methods.NumFields() > 1 { // the comment of a type is that of its only method
			checkMembers(f, decl, spec, typ.Methods, report)
		}
	}
}

// checkMembers wants a comment for each exported field or method of a type:
// above it or behind it, or above the run of fields that it belongs to, or in
// the type's comment, by name. A field that has the name of its type needs
// none, and what is embedded has its comment where it is declared.
func checkMembers(f *file, decl *ast.GenDecl, spec *ast.TypeSpec, members *ast.FieldList, report reporter) {
	about := words(decl.Doc) + words(spec.Doc)
	headed, last := false, 0
	for _, m := range members.List {
		headed = m.Doc != nil || headed && f.line(m.Pos()) == last+1
		last = f.line(m.End())
		if headed || m.Comment != nil {
			continue
		}
		for _, name := range m.Names {
			if name.IsExported() && !named(m.Type, name.Name) && !strings.Contains(about, " "+name.Name+" ") {
				report(name.Pos(), "%s.%s has no comment", spec.Name.Name, name.Name)
			}
		}
	}
}

// words returns the words of a comment, each between spaces.
func words(doc *ast.CommentGroup) string {
	separates := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return " " + strings.Join(strings.FieldsFunc(doc.Text(), separates), " ") + " "
}

// named reports whether a type, or what a pointer to it points to, has the
// name.
func named(typ ast.Expr, name string) bool {
	full := types.ExprString(typ)
	return full[strings.LastIndexAny(full, "*.")+1:] == name
}
