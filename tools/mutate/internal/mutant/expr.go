package mutant

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// swaps are what stands in the place of an operator.
var swaps = [...]struct {
	was, now token.Token
	kind     string
}{
	{token.LSS, token.LEQ, "boundary"},
	{token.LEQ, token.LSS, "boundary"},
	{token.GTR, token.GEQ, "boundary"},
	{token.GEQ, token.GTR, "boundary"},
	{token.LSS, token.GEQ, "comparison"},
	{token.LEQ, token.GTR, "comparison"},
	{token.GTR, token.LEQ, "comparison"},
	{token.GEQ, token.LSS, "comparison"},
	{token.EQL, token.NEQ, "comparison"},
	{token.NEQ, token.EQL, "comparison"},
	{token.LAND, token.LOR, "logic"},
	{token.LOR, token.LAND, "logic"},
	{token.ADD, token.SUB, "arithmetic"},
	{token.SUB, token.ADD, "arithmetic"},
	{token.MUL, token.QUO, "arithmetic"},
	{token.QUO, token.MUL, "arithmetic"},
	{token.REM, token.MUL, "arithmetic"},
	{token.AND, token.OR, "arithmetic"},
	{token.OR, token.AND, "arithmetic"},
	{token.XOR, token.OR, "arithmetic"},
	{token.AND_NOT, token.AND, "arithmetic"},
	{token.SHL, token.SHR, "arithmetic"},
	{token.SHR, token.SHL, "arithmetic"},
	{token.ADD_ASSIGN, token.SUB_ASSIGN, "arithmetic"},
	{token.SUB_ASSIGN, token.ADD_ASSIGN, "arithmetic"},
	{token.MUL_ASSIGN, token.QUO_ASSIGN, "arithmetic"},
	{token.QUO_ASSIGN, token.MUL_ASSIGN, "arithmetic"},
	{token.REM_ASSIGN, token.MUL_ASSIGN, "arithmetic"},
	{token.AND_ASSIGN, token.OR_ASSIGN, "arithmetic"},
	{token.OR_ASSIGN, token.AND_ASSIGN, "arithmetic"},
	{token.XOR_ASSIGN, token.OR_ASSIGN, "arithmetic"},
	{token.AND_NOT_ASSIGN, token.AND_ASSIGN, "arithmetic"},
	{token.SHL_ASSIGN, token.SHR_ASSIGN, "arithmetic"},
	{token.SHR_ASSIGN, token.SHL_ASSIGN, "arithmetic"},
	{token.INC, token.DEC, "arithmetic"},
	{token.DEC, token.INC, "arithmetic"},
}

// alike are functions whose two arguments may be exchanged at will.
var alike = [...]string{
	"min", "max", "bytes.Equal", "math.Max", "math.Min", "math/bits.Mul", "math/bits.Mul32", "math/bits.Mul64",
	"slices.Equal", "strings.EqualFold",
}

// swap puts each other operator in the place of one.
func (m *maker) swap(at token.Pos, op token.Token) {
	for _, s := range swaps {
		if s.was == op {
			m.token(s.kind, at, s.was, s.now)
		}
	}
}

func (m *maker) operator(n *ast.BinaryExpr) {
	if n.Op == token.LAND || n.Op == token.LOR {
		m.negate(n.X)
		m.negate(n.Y)
	}
	if !m.isString(n) && !m.neutral(n.Op, n.Y) {
		m.swap(n.OpPos, n.Op)
	}
}

// isString reports whether an operator joins strings.
func (m *maker) isString(n ast.Expr) bool {
	b, ok := m.info.TypeOf(n).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// neutral reports whether y is nothing to op and to what takes its place.
func (m *maker) neutral(op token.Token, y ast.Expr) bool {
	v := m.info.Types[y].Value
	if v == nil || v.Kind() != constant.Int {
		return false
	}
	switch op {
	case token.MUL, token.QUO, token.MUL_ASSIGN, token.QUO_ASSIGN:
		return v.ExactString() == "1"
	case token.ADD, token.SUB, token.SHL, token.SHR, token.ADD_ASSIGN, token.SUB_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
		return constant.Sign(v) == 0
	default:
		return false
	}
}

// sign leaves out what stands before an operand.
func (m *maker) sign(n *ast.UnaryExpr) {
	switch n.Op {
	case token.NOT:
		m.replace("negation", n, m.text(n.X))
	case token.SUB, token.XOR:
		m.replace("arithmetic", n, m.text(n.X))
	default: // an address, or a value from a channel
	}
}

// negate inverts a condition that has no operator of its own which would do.
func (m *maker) negate(cond ast.Expr) {
	switch x := ast.Unparen(cond).(type) {
	case nil, *ast.BinaryExpr:
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return
		}
	}
	if m.info.Types[cond].Value == nil {
		m.replace("negation", cond, "!("+m.text(cond)+")")
	}
}

// cases inverts the conditions of a switch that switches on nothing.
func (m *maker) cases(n *ast.CaseClause) {
	s, ok := m.path[len(m.path)-3].(*ast.SwitchStmt) // above the clause and the block of all clauses
	if !ok || s.Tag != nil {
		return
	}
	for _, cond := range n.List {
		m.negate(cond)
	}
}

// number is off by one, either way.
func (m *maker) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v := constant.MakeFromLiteral(n.Value, n.Kind, 0)
	for _, by := range [...]int64{1, -1} {
		other := constant.BinaryOp(v, token.ADD, constant.MakeInt64(by))
		text := other.ExactString()
		if constant.Sign(other) < 0 {
			text = "(" + text + ")"
		}
		m.replace("number", n, text)
	}
}

// truth exchanges true and false.
func (m *maker) truth(n *ast.Ident) {
	switch m.info.Uses[n] {
	case types.Universe.Lookup("true"):
		m.replace("boolean", n, "false")
	case types.Universe.Lookup("false"):
		m.replace("boolean", n, "true")
	}
}

func (m *maker) call(n *ast.CallExpr) {
	callee := m.callee(n)
	switch callee {
	case "min":
		m.replace("min and max", n.Fun, "max")
	case "max":
		m.replace("min and max", n.Fun, "min")
	case "make":
		m.keepHint(n)
	}
	if len(n.Args) == 2 && !n.Ellipsis.IsValid() && !slices.Contains(alike[:], callee) {
		m.exchange(n)
	}
}

// callee returns the name of the builtin or the function that is called, with
// the path of its package, or "".
func (m *maker) callee(n *ast.CallExpr) string {
	var id *ast.Ident
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return ""
	}
	switch obj := m.info.Uses[id].(type) {
	case *types.Builtin:
		return obj.Name()
	case *types.Func:
		return obj.FullName()
	}
	return ""
}

// keepHint leaves a capacity alone: nothing depends on it but speed.
func (m *maker) keepHint(n *ast.CallExpr) {
	_, isMap := m.info.TypeOf(n).Underlying().(*types.Map)
	if isMap && len(n.Args) == 2 || len(n.Args) == 3 {
		m.settled[n.Args[len(n.Args)-1]] = true
	}
}

// exchange swaps two arguments of the same type.
func (m *maker) exchange(n *ast.CallExpr) {
	a, b := n.Args[0], n.Args[1]
	if m.text(a) == m.text(b) || !types.Identical(m.info.TypeOf(a), m.info.TypeOf(b)) {
		return
	}
	e := edit{from: m.tok.Offset(a.Pos()), to: m.tok.Offset(b.End()), text: m.text(b) + ", " + m.text(a)}
	m.add("arguments", e, e)
}
