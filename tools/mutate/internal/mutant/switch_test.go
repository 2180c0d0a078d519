package mutant

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// switched returns the package of one file that goes on with text, and what it
// has become of the text.
func switched(t *testing.T, text string) (Switched, []Mutant, string) {
	t.Helper()
	all, src := of(t, text)
	s, err := Switch("a", []Source{src}, all, importer.ForCompiler(token.NewFileSet(), "source", nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range s.Sources {
		if changed.Name == src.Name {
			return s, all, string(changed.Text)
		}
	}
	return s, all, ""
}

func TestSwitch(t *testing.T) {
	s, _, got := switched(t, "// f is on one line.\nfunc f(a int) int { return a }\n\nvar b = f(1)\n")
	want := `package a
// f is on one line.
func f(a int) int {
	switch mutantChosen {
	case 1:
		return mutant1_f(a)
	}
 return a }

func mutant1_f(a int) int { if true { return 0 }; return a }

var b = f(1)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(s.Numbers) != 1 || len(s.Refused) != 0 || len(s.Sources) != 2 {
		t.Errorf("switched: %+v", s)
	}
	last := s.Sources[1]
	if last.Name != "0mutants.go" || !strings.Contains(string(last.Text), "package a\n") || !strings.Contains(string(last.Text), Variable) {
		t.Errorf("the file that is new: %s\n%s", last.Name, last.Text)
	}
}

// How a mutant is called.
func TestSwitchCalls(t *testing.T) {
	f := func(text string, want string) {
		t.Helper()
		_, _, got := switched(t, text)
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant it to have %q", got, want)
		}
	}
	f("func f(a, b int, _ string, c ...int) { b++ }", "mutant1_f(a, b, *new(string), c...)\n\t\treturn\n")
	f("func f(int, ...int) int { return 5 }", "return mutant1_f(*new(int), nil...)\n")
	f("type s struct{}\n\nfunc (x *s) f() int { return 5 }", "return (x).mutant1_f()\n")
	f("type s struct{}\n\nfunc (*s) f() int { return 5 }", "return (*new(*s)).mutant1_f()\n")
	f("type s[T any] struct{ a T }\n\nfunc (x s[T]) f() T { return x.a }", "return (x).mutant1_f()\n")
	f("func f[K comparable, V any](a K, b V) V { return b }", "return mutant1_f[K, V](a, b)\n")
	f("func f() (a int, err error) {\n\ta++\n\treturn\n}", "return mutant1_f()\n")
	f("func init() { println(5) }", "mutant1_init()\n\t\treturn\n")
}

// What has no switch is neither switched nor refused.
func TestSwitchLeaves(t *testing.T) {
	f := func(text string) {
		t.Helper()
		s, all, got := switched(t, text)
		if len(all) == 0 || len(s.Numbers) != 0 || len(s.Refused) != 0 || got != "" {
			t.Errorf("%s\n%d mutants, switched: %+v", text, len(all), s)
		}
	}
	f("const c = 5")
	f("var f = func() int { return 5 }")
	f("func f() bool { return recover() == nil }")
	f("import \"runtime\"\n\nfunc f() bool {\n\t_, _, _, ok := runtime.Caller(0)\n\treturn ok\n}")
	f("//go:noinline\nfunc f() int { return 5 }")
	f("func f[_ any]() int { return 5 }")
	f("type s int\n\nfunc f(s string, _ s) int { return 5 }") // whose type has another meaning inside
}

// What the compiler refuses is told, and does not stand in the way of others.
func TestSwitchRefuses(t *testing.T) {
	s, all, _ := switched(t, "func f(a [4]int) int { return a[0] }\n\nfunc g(a uint) bool { return a > 0 }\n")
	var refused, chosen []string
	for _, m := range all {
		if s.Refused[m.Name()] {
			refused = append(refused, m.Now)
		}
		if s.Numbers[m.Name()] > 0 {
			chosen = append(chosen, m.Now)
		}
	}
	want := []string{"func f(a [4]int) int { return a[(-1)] }", "func g(a uint) bool { return a > (-1) }"}
	if !slices.Equal(refused, want) || len(chosen)+len(refused) != len(all) || len(s.Numbers) != len(chosen) {
		t.Errorf("refused %q, chosen %q", refused, chosen)
	}
}

// Each mutant stands in the package as it would stand by itself.
func TestSwitchOfOwnMutants(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources []Source
	texts := map[string][]byte{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sources, texts[name] = append(sources, Source{name, text}), text
		}
	}
	imports := importer.ForCompiler(token.NewFileSet(), "source", nil)
	all, err := Of("mutant", sources, imports)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Switch("mutant", sources, all, imports)
	if err != nil || len(s.Numbers) < 500 {
		t.Fatalf("%d mutants have a switch, %v", len(s.Numbers), err)
	}
	got := map[string]string{}
	for _, source := range s.Sources {
		for name, text := range functions(t, source.Text) {
			got[source.Name+" "+name] = text
		}
	}
	for _, m := range all {
		n := s.Numbers[m.Name()]
		if n == 0 {
			continue
		}
		name := m.Func[strings.LastIndexByte(m.Func, '.')+1:]
		copied := fmt.Sprintf("mutant%d_%s", n, name)
		want := functions(t, m.Apply(texts[m.File]))[m.Func]
		want = strings.Replace(want, name+"(", copied+"(", 1)
		if text := got[m.File+" "+strings.TrimSuffix(m.Func, name)+copied]; text != want {
			t.Errorf("%s: got\n%s\nwant\n%s", m.Name(), text, want)
		}
	}
}

// functions are the texts of a file's functions by their names.
func functions(t *testing.T, text []byte) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, decl := range f.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				name = receiver(f.Recv.List[0].Type) + "." + name
			}
			all[name] = string(text[fset.Position(f.Type.Func).Offset:fset.Position(f.End()).Offset])
		}
	}
	return all
}

func TestSwitchErrors(t *testing.T) {
	all, src := of(t, "func f() int { return 5 }\n\nvar mutantChosen = f()\n")
	if _, err := Switch("a", []Source{src}, all, nil); err == nil || !strings.Contains(err.Error(), "mutantChosen redeclared") {
		t.Errorf("a package that has the name of the choice: %v", err)
	}
	if _, err := Switch("a", []Source{{"a.go", []byte("package")}}, all, nil); err == nil {
		t.Error("what cannot be read has a switch")
	}
}
