package mutant

import (
	"bytes"
	"go/format"
	"go/importer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// of returns the mutants of a file that goes on with text.
func of(t *testing.T, text string) ([]Mutant, Source) {
	t.Helper()
	src := Source{Name: "a.go", Text: []byte("package a\n" + text)}
	all, err := Of("a", []Source{src}, importer.ForCompiler(token.NewFileSet(), "source", nil))
	if err != nil {
		t.Fatal(err)
	}
	return all, src
}

func TestMutants(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		all, _ := of(t, text)
		var got []string
		for _, m := range all {
			got = append(got, m.Kind+": "+m.Now)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot\n\t%s\nwant\n\t%s", text, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
		}
	}

	// Comparisons and conditions.
	f("var a, b int\nvar c = a < b", "boundary: var c = a <= b", "comparison: var c = a >= b")
	f("var a, b int\nvar c = a >= b", "boundary: var c = a > b", "comparison: var c = a < b")
	f("var a, b int\nvar c = a != b", "comparison: var c = a == b")
	f("var a, b bool\nvar c = a && !b", "logic: var c = a || !b", "negation: var c = !(a) && !b", "negation: var c = a && b")
	f("func f(a bool) {\n if a {\n }\n}", "negation: if !(a) {")
	f("func f(a bool) {\n for a {\n }\n}", "negation: for !(a) {")
	f("func f(a bool) {\n switch {\n case a:\n }\n}", "negation: case !(a):")
	f("func f(a int) {\n switch a {\n case f2(a):\n }\n}\n\nfunc f2(a int) int { return a }", "result: func f2(a int) int { return 0 }")
	f("var c = true", "boolean: var c = false")

	// Arithmetic.
	f("var a, b int\nvar c = a % b", "arithmetic: var c = a * b")
	f("var a, b uint\nvar c = a &^ b", "arithmetic: var c = a & b")
	f("var a int\nvar c = -a", "arithmetic: var c = a")
	f("var a string\nvar c = a + a")
	f("var a int\nvar c = a * 1", "number: var c = a * 0", "number: var c = a * 2")
	f("const c = 1_000", "number: const c = 1001", "number: const c = 999")
	f("const c = 0", "number: const c = (-1)", "number: const c = 1")
	f("var c [4]int")
	f("func f(a int) {\n a++\n}", "arithmetic: a--", "left out: if false { a++ }")
	f("func f(a int) {\n a += 0\n}", "left out: if false { a += 0 }", "number: a += (-1)", "number: a += 1")
	f("func f(a int) {\n for ; ; a++ {\n }\n}", "arithmetic: for ; ; a-- {")

	// Statements.
	f("func f(a int) {\n a = f2()\n}\n\nfunc f2() int { return 0 }",
		"left out: if false { a = f2() }", "number: func f2() int { return (-1) }", "number: func f2() int { return 1 }")
	f("func f() {\n a := f\n _ = a\n}")
	f("func f() {\n defer f()\n go f()\n f()\n}", "left out: if false { defer f() }", "left out: if false { go f() }", "left out: if false { f() }")
	f("func f(a bool) {\n if a {\n return\n }\n f(a)\n}", "left out: if false { return }", "left out: if false { f(a) }", "negation: if !(a) {")
	f("func f(a bool) {\n if a {\n return\n }\n}", "negation: if !(a) {")
	f("func f(a chan int) {\n for range a {\n a <- <-a\n continue\n }\n}", "left out: if false { a <- <-a }")
	f("func f(a chan int) {\n for range a {\n break\n }\n}", "left out: if false { break }")
	f("func f(a chan int) {\n switch a {\n default:\n break\n }\n}")

	// Calls.
	f("var a, b int\nvar c = min(a, b)", "min and max: var c = max(a, b)")
	f("func f(a, b int) {\n f(a, b)\n}", "arguments: f(b, a)", "left out: if false { f(a, b) }")
	f("func f(a, b int) {\n f(a, a)\n}", "left out: if false { f(a, a) }")
	f("func f(a int, b int64) {\n f(a, b)\n}", "left out: if false { f(a, b) }")
	f("import \"math/bits\"\n\nvar a, b uint64\nvar c, d = bits.Mul64(a, b)")
	f("var a = make([]int, 0, 8)", "number: var a = make([]int, (-1), 8)", "number: var a = make([]int, 1, 8)")
	f("var a = make(map[int]int, 8)")
	f("var a = make(chan int, 8)", "number: var a = make(chan int, 7)", "number: var a = make(chan int, 9)")

	// Results.
	f("func f(a int) (int, bool) { return a, a == a }",
		"result: func f(a int) (int, bool) { return 0, a == a }", "comparison: func f(a int) (int, bool) { return a, a != a }",
		"result: func f(a int) (int, bool) { return a, true }", "result: func f(a int) (int, bool) { return a, false }")
	f("type s struct{ a *int }\n\nfunc f(a s) s { return a }", "result: func f(a s) s { return s{} }")
	f("type s struct{ a *int }\n\nfunc f() s { return s{} }")
	f("func f(a error) error { return a }", "result: func f(a error) error { return nil }")
	f("func f(a error) error { return nil }")
	f("func f[T any](a T) T { return a }", "result: func f[T any](a T) T { return *new(T) }")
	f("import clock \"time\"\n\nfunc f(a clock.Time) clock.Time { return a }", "result: func f(a clock.Time) clock.Time { return clock.Time{} }")
	f("func f() string { return \"a\" }", "result: func f() string { return \"\" }")

	// What would have the same name is numbered, what is on several lines is put on one.
	f("func f(a int) {\n if a == a {\n f(\n a)\n }\n f(a)\n f(a)\n}", "comparison: if a != a {",
		"left out: if false { f( a) }", "left out: if false { f(a) }", "left out: if false { f(a) } // 2")
}

func TestWhere(t *testing.T) {
	all, _ := of(t, "type s[T any] struct{ a [1]T }\n\nfunc (x *s[T]) f() int {\n\treturn 7\n}\n\nconst c = 1\n")
	var got []string
	for _, m := range all {
		if m.File != "a.go" {
			t.Errorf("File = %q", m.File)
		}
		got = append(got, m.Func)
	}
	if want := []string{"s.f", "s.f", "s.f", "c", "c"}; !slices.Equal(got, want) || all[0].Line != 5 || all[4].Line != 8 {
		t.Errorf("got %v, lines %d and %d; want %v, lines 5 and 8", got, all[0].Line, all[4].Line, want)
	}
}

// A result is changed before the return, so that what it used is used.
func TestApply(t *testing.T) {
	all, src := of(t, "func f(a int) int {\n\tb := a\n\treturn b\n}\n")
	before := bytes.Clone(src.Text)
	got := string(all[0].Apply(src.Text))
	if want := "package a\nfunc f(a int) int {\n\tb := a\n\tif true { return 0 }; return b\n}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !bytes.Equal(before, src.Text) {
		t.Error("Apply has changed the source")
	}
}

// The mutants of this package can be read, differ from it, and have names of
// their own.
func TestOwnMutants(t *testing.T) {
	var sources []Source
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			texts[name] = text
			sources = append(sources, Source{name, text})
		}
	}
	all, err := Of("mutant", sources, importer.ForCompiler(token.NewFileSet(), "source", nil))
	if err != nil || len(all) < 300 {
		t.Fatalf("%d mutants, %v", len(all), err)
	}
	met := map[string]bool{}
	for _, m := range all {
		text := m.Apply(texts[m.File])
		if _, err := format.Source(text); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
		if bytes.Equal(text, texts[m.File]) || m.Was == m.Now || met[m.Name()] || m.Func == "" {
			t.Errorf("no change, or no name of its own: %+v", m)
		}
		met[m.Name()] = true
	}
}

func TestErrors(t *testing.T) {
	for _, text := range []string{"package", "package a\nvar b = c\n"} {
		if _, err := Of("a", []Source{{"a.go", []byte(text)}}, nil); err == nil {
			t.Errorf("%q has mutants", text)
		}
	}
}
