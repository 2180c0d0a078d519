package mutant

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// leaveOut makes, for each statement of a list that can be missed, a mutant in
// which it is never reached. It stays in the text, so that its variables are
// used.
func (m *maker) leaveOut(list []ast.Stmt) {
	for _, s := range list {
		if m.missable(s) {
			m.replace("left out", s, "if false { "+m.text(s)+" }")
		}
	}
}

func (m *maker) missable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE && !toNobody(s)
	case *ast.BranchStmt:
		return (s.Tok == token.BREAK || s.Tok == token.CONTINUE) && !m.pointless(s)
	case *ast.ReturnStmt:
		return !m.pointless(s)
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// toNobody reports whether all that is assigned is dropped: _ = x.
func toNobody(s *ast.AssignStmt) bool {
	for _, x := range s.Lhs {
		if id, ok := x.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// pointless reports whether a statement that leaves a function, a loop or a
// switch, and stands in the list that is looked at, is the last that would be
// done there anyway. A return of results in such a place cannot be missed.
func (m *maker) pointless(s ast.Stmt) bool {
	leaves := token.RETURN
	if b, ok := s.(*ast.BranchStmt); ok {
		if b.Label != nil {
			return false
		}
		leaves = b.Tok
	}
	var below ast.Node = s
	for _, n := range slices.Backward(m.path) {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if _, clause := below.(*ast.CaseClause); !clause && !isLast(n.List, below) {
				return false
			}
		case *ast.CaseClause:
			if !isLast(n.Body, below) {
				return false
			}
		case *ast.IfStmt:
		case *ast.SwitchStmt, *ast.TypeSwitchStmt:
			if leaves == token.BREAK {
				return true
			}
		case *ast.ForStmt, *ast.RangeStmt:
			return leaves == token.CONTINUE
		case *ast.FuncDecl, *ast.FuncLit:
			return leaves == token.RETURN
		default:
			return false
		}
		below = n
	}
	return false
}

func isLast(list []ast.Stmt, n ast.Node) bool { return len(list) > 0 && list[len(list)-1] == n }

// assignment changes the operator of +=.
func (m *maker) assignment(n *ast.AssignStmt) {
	if n.Tok != token.ASSIGN && n.Tok != token.DEFINE && !m.isString(n.Lhs[0]) && !m.neutral(n.Tok, n.Rhs[0]) {
		m.swap(n.TokPos, n.Tok)
	}
}

// step counts the other way.
func (m *maker) step(n *ast.IncDecStmt) { m.swap(n.TokPos, n.Tok) }

// results returns, in the place of each result, the zero of its type, and in
// that of a boolean both truths.
func (m *maker) results(n *ast.ReturnStmt) {
	sig := m.signature()
	if sig == nil || len(n.Results) != sig.Results().Len() {
		return // nothing, or the results of a call as they are
	}
	for i, x := range n.Results {
		for _, text := range m.zeros(x, sig.Results().At(i).Type()) {
			m.result(n, x, text)
		}
	}
}

// result returns another value before the return, which stays for the sake of
// the variables that it uses.
func (m *maker) result(n *ast.ReturnStmt, x ast.Expr, text string) {
	change := m.edit(x, text)
	whole := m.edit(n, "")
	inside := edit{from: change.from - whole.from, to: change.to - whole.from, text: text}
	whole.text = "if true { " + string(inside.apply([]byte(m.text(n)))) + " }; " + m.text(n)
	m.add("result", change, whole)
}

// signature is that of the function around the node that is looked at.
func (m *maker) signature() *types.Signature {
	for _, n := range slices.Backward(m.path) {
		var t types.Type
		switch n := n.(type) {
		case *ast.FuncDecl:
			t = m.info.Defs[n.Name].Type()
		case *ast.FuncLit:
			t = m.info.TypeOf(n)
		default:
			continue
		}
		sig, _ := t.(*types.Signature)
		return sig
	}
	return nil
}

// zeros are what an expression of that type becomes, itself left out.
func (m *maker) zeros(x ast.Expr, t types.Type) []string {
	if m.isZero(x) {
		return nil
	}
	name := types.TypeString(t, m.qualifier)
	if _, ok := t.(*types.TypeParam); ok {
		return []string{"*new(" + name + ")"}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return m.basicZeros(x, u)
	case *types.Struct, *types.Array:
		return []string{name + "{}"}
	}
	return []string{"nil"}
}

func (m *maker) basicZeros(x ast.Expr, t *types.Basic) []string {
	switch {
	case t.Info()&types.IsBoolean != 0 && m.info.Types[x].Value != nil:
		return nil // a constant is exchanged where it stands
	case t.Info()&types.IsBoolean != 0:
		return []string{"true", "false"}
	case t.Info()&types.IsString != 0:
		return []string{`""`}
	case t.Info()&types.IsNumeric != 0:
		return []string{"0"}
	}
	return []string{"nil"} // an unsafe.Pointer
}

// isZero reports whether an expression is plainly the zero of its type.
func (m *maker) isZero(x ast.Expr) bool {
	x = ast.Unparen(x)
	tv := m.info.Types[x]
	if lit, ok := x.(*ast.CompositeLit); ok {
		switch tv.Type.Underlying().(type) {
		case *types.Struct, *types.Array:
			return len(lit.Elts) == 0
		}
	}
	if tv.Value == nil {
		return tv.IsNil()
	}
	switch tv.Value.Kind() {
	case constant.String:
		return constant.StringVal(tv.Value) == ""
	case constant.Bool:
		return false
	default:
		return constant.Sign(tv.Value) == 0
	}
}

// qualifier names a package as the file does.
func (m *maker) qualifier(p *types.Package) string {
	if p == m.pkg {
		return ""
	}
	for _, spec := range m.ast.Imports {
		if spec.Name != nil && spec.Path.Value == `"`+p.Path()+`"` {
			return spec.Name.Name
		}
	}
	return p.Name()
}
