package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
)

// A Source is one file of a package, tests left out.
type Source struct {
	Name string // how mutants name it
	Text []byte // all of it
}

// Of returns the mutants of a package, by file and place. Importer knows what
// the package imports. The error is that of the parser or the type checker.
func Of(path string, sources []Source, importer types.Importer) ([]Mutant, error) {
	fset := token.NewFileSet()
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	var files []*ast.File
	for _, s := range sources {
		f, err := parser.ParseFile(fset, s.Name, s.Text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer}
	pkg, err := conf.Check(path, fset, files, info)
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for i, f := range files {
		m := maker{source: sources[i], pkg: pkg, info: info, ast: f, tok: fset.File(f.FileStart), settled: map[ast.Node]bool{}}
		all = append(all, m.make()...)
	}
	return settle(all), nil
}

// A maker makes the mutants of one file. Path leads from the file to the node
// that is looked at.
type maker struct {
	source  Source
	pkg     *types.Package
	info    *types.Info
	ast     *ast.File
	tok     *token.File
	path    []ast.Node
	settled map[ast.Node]bool // what stays as it is
	found   []Mutant
}

func (m *maker) make() []Mutant {
	ast.Inspect(m.ast, func(n ast.Node) bool {
		if n == nil {
			m.path = m.path[:len(m.path)-1]
			return true
		}
		if m.settled[n] {
			return false
		}
		m.path = append(m.path, n)
		m.visit(n)
		return true
	})
	return m.found
}

// visit makes what changes at one node.
func (m *maker) visit(n ast.Node) {
	switch n := n.(type) {
	case ast.Expr:
		m.visitExpr(n)
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.ForStmt:
		m.negate(n.Cond)
	case *ast.BlockStmt:
		m.leaveOut(n.List)
	case *ast.CaseClause:
		m.cases(n)
		m.leaveOut(n.Body)
	case *ast.CommClause:
		m.leaveOut(n.Body)
	case *ast.AssignStmt:
		m.assignment(n)
	case *ast.IncDecStmt:
		m.step(n)
	case *ast.ReturnStmt:
		m.results(n)
	}
}

func (m *maker) visitExpr(n ast.Expr) {
	switch n := n.(type) {
	case *ast.ArrayType:
		m.settled[n.Len] = n.Len != nil
	case *ast.BinaryExpr:
		m.operator(n)
	case *ast.UnaryExpr:
		m.sign(n)
	case *ast.BasicLit:
		m.number(n)
	case *ast.Ident:
		m.truth(n)
	case *ast.CallExpr:
		m.call(n)
	}
}

// replace makes a mutant that has another text in the place of a node.
func (m *maker) replace(kind string, n ast.Node, text string) {
	e := m.edit(n, text)
	m.add(kind, e, e)
}

func (m *maker) add(kind string, change, whole edit) {
	mut := Mutant{
		File: m.source.Name, Line: m.tok.Line(m.tok.Pos(change.from)), Func: m.where(), Kind: kind,
		change: change, whole: whole,
	}
	mut.show(m.source.Text)
	m.found = append(m.found, mut)
}

func (m *maker) edit(n ast.Node, text string) edit {
	return edit{from: m.tok.Offset(n.Pos()), to: m.tok.Offset(n.End()), text: text}
}

// token makes a mutant that has another token at a place.
func (m *maker) token(kind string, at token.Pos, was, now token.Token) {
	from := m.tok.Offset(at)
	e := edit{from: from, to: from + len(was.String()), text: now.String()}
	m.add(kind, e, e)
}

func (m *maker) text(n ast.Node) string {
	return string(m.source.Text[m.tok.Offset(n.Pos()):m.tok.Offset(n.End())])
}

// where names what the node belongs to.
func (m *maker) where() string {
	for _, n := range m.path {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				return receiver(n.Recv.List[0].Type) + "." + n.Name.Name
			}
			return n.Name.Name
		case *ast.ValueSpec:
			return n.Names[0].Name
		case *ast.TypeSpec:
			return n.Name.Name
		}
	}
	return ""
}

func receiver(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return types.ExprString(t)
		}
	}
}
