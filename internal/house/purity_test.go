package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// clocks lists the files that may read the clock or wait on it, and why. Below
// them time is an argument. Commands, examples and benchmarks stand above.
var clocks = map[string]string{
	"cmd/weir/internal/proxy/deadline.go": "deadlines of connections are instants of the system's clock",

	"httplimit/patience.go": "a client waits for its turn, for so long and no longer",
	"internal/hold/room.go": "requests are kept waiting for as long as they were told",
	"memstore/clock.go":     "the clock of the store that decides",
	"slots.go":              "slots are renewed before their leases end",
	"wait.go":               "a caller sleeps until there is room",
	"policy/clock.go":       "tokens begin and end by the wall clock",
	"storetest/history.go":  "a history records when calls began and ended",
}

// ticking lists what reads the clock or waits on it, in package time.
var ticking = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

// integerFloors is the number of the highest floor that computes with integers
// alone.
const integerFloors = 2

func TestClocks(t *testing.T) {
	hold(t, rule{
		name:   "clocks",
		remedy: "take the time as an argument; a file that must read the clock is listed with its reason in clocks, internal/house/purity_test.go",
		check:  checkClocks,
	})
}

func TestSleeps(t *testing.T) {
	hold(t, rule{
		name:   "sleeps",
		remedy: "use testing/synctest, an injected clock, or wait for the condition itself",
		check:  checkSleeps,
	})
}

func TestAllocationCounts(t *testing.T) {
	hold(t, rule{
		name:   "allocation counts",
		remedy: "count in a function named TestAllocations…, which runs without the race detector; with it, pools forget at random",
		check:  checkAllocationCounts,
	})
}

func TestFloats(t *testing.T) {
	hold(t, rule{
		name:   "floats",
		remedy: "compute with integers: whole microseconds, units, exact remainders; write 1_000_000 for 1e6",
		check:  checkFloats,
	})
}

func TestPanics(t *testing.T) {
	hold(t, rule{
		name:   "panics",
		remedy: "return an error; only a function named Must… may panic, on a programmer's error",
		check:  checkPanics,
	})
}

func checkClocks(tr *tree, report reporter) {
	for f := range tr.code() {
		if clocks[f.name] != "" || f.module == "bench" || f.main() {
			continue
		}
		for sel := range f.selectors("time") {
			if slices.Contains(ticking, sel.Sel.Name) {
				report(sel.Pos(), "time.%s", sel.Sel.Name)
			}
		}
	}
}

// checkSleeps grants the tests that use synctest their sleeps: those take no
// time. It cannot see on which side of the bubble a sleep stands.
func checkSleeps(tr *tree, report reporter) {
	for f := range tr.all() {
		if !f.test() || f.local("testing/synctest") != "" {
			continue
		}
		for sel := range f.selectors("time") {
			if sel.Sel.Name == "Sleep" {
				report(sel.Pos(), "time.Sleep in a test")
			}
		}
	}
}

func checkAllocationCounts(tr *tree, report reporter) {
	for f := range tr.all() {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "TestAllocations") {
				continue
			}
			for n := range ast.Preorder(d) {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "AllocsPerRun" {
					report(sel.Pos(), "testing.AllocsPerRun")
				}
			}
		}
	}
}

func checkFloats(tr *tree, report reporter) {
	for f := range tr.code() {
		if r, ok := roomOf(f.path); !ok || r.floor > integerFloors {
			continue
		}
		for n := range ast.Preorder(f.ast) {
			if text, found := floating(n); found {
				report(n.Pos(), "%s", text)
			}
		}
		for sel := range f.selectors("math") {
			if !integral(sel.Sel.Name) {
				report(sel.Pos(), "math.%s", sel.Sel.Name)
			}
		}
	}
}

// floating reports whether a node makes a floating-point number by itself.
func floating(n ast.Node) (text string, found bool) {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name, slices.Contains([]string{"float32", "float64", "complex64", "complex128"}, n.Name)
	case *ast.BasicLit:
		return n.Value, n.Kind == token.FLOAT || n.Kind == token.IMAG
	case *ast.CallExpr:
		return floatingCall(n)
	}
	return "", false
}

// floatingCall knows the usual calls that return a float or take one: those of
// time.Duration, math/rand and strconv.
func floatingCall(call *ast.CallExpr) (text string, found bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	name := sel.Sel.Name
	switch name {
	case "Hours", "Minutes", "Seconds":
		return name + "()", len(call.Args) == 0
	}
	return name + "()", strings.Contains(name, "Float")
}

// integral reports whether a name of package math is that of an integer limit.
func integral(name string) bool {
	for _, prefix := range []string{"MaxInt", "MinInt", "MaxUint"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func checkPanics(tr *tree, report reporter) {
	for f := range tr.code() {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && must(fn.Name.Name) {
				continue
			}
			for call := range nodes[*ast.CallExpr](decl) {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
					report(call.Pos(), "panic")
				}
			}
		}
	}
}

func must(name string) bool {
	return strings.HasPrefix(name, "Must") || strings.HasPrefix(name, "must")
}
