package mutant

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// Variable is the environment variable that chooses a mutant of a [Switched]
// package by its number, once, when the program starts. Any other value, and
// none, chooses the package as it is.
const Variable = "WEIR_MUTANT"

// A Switched package has many of its mutants in it, and is none of them until
// [Variable] chooses one.
//
// A mutant stands there as a copy of the function that it changes, text for
// text, which the function calls instead of going on: types, constants and the
// order of evaluation are those of the mutant that is compiled by itself. What
// differs is a call, what is inlined, and what escapes to the heap.
type Switched struct {
	Sources []Source        // the files that differ, and one that is new
	Numbers map[string]int  // what chooses a mutant, by its name
	Refused map[string]bool // the names of those that do not compile
}

// Switch returns the package with those of the mutants in it that can be: not
// those outside of functions, nor those of functions that look at their own
// frame or that a directive tells the compiler about. The error is that of the
// parser or the type checker, about more than single mutants.
func Switch(pkg string, sources []Source, mutants []Mutant, importer types.Importer) (Switched, error) {
	w := switcher{sources: sources, mutants: mutants, importer: importer, left: map[int]bool{}, refused: map[int]bool{}}
	if err := w.parse(); err != nil {
		return Switched{}, err
	}
	for {
		all := w.write()
		errs := w.check(pkg, all)
		if len(errs) == 0 {
			return w.result(all), nil
		}
		before := len(w.left) + len(w.refused)
		for _, err := range errs {
			if !w.blame(all, err) {
				return Switched{}, err
			}
		}
		if len(w.left)+len(w.refused) == before {
			return Switched{}, errs[0]
		}
	}
}

// A switcher makes one package. Number 1 is its first mutant.
type switcher struct {
	sources  []Source
	mutants  []Mutant
	importer types.Importer
	files    []*ast.File
	toks     []*token.File
	left     map[int]bool // numbers whose function cannot have a switch
	refused  map[int]bool // numbers that do not compile
}

// A switchedFile is one file with its mutants in it.
type switchedFile struct {
	Source
	spans []span
}

// A span is what stands in a file for the sake of some mutants.
type span struct {
	from, to int // bytes
	numbers  []int
	mutant   bool // it is the copy of one, rather than the switch of all
}

func (w *switcher) parse() error {
	fset := token.NewFileSet()
	for _, s := range w.sources {
		f, err := parser.ParseFile(fset, s.Name, s.Text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return err
		}
		w.files, w.toks = append(w.files, f), append(w.toks, fset.File(f.FileStart))
	}
	return nil
}

func (w *switcher) write() []switchedFile {
	var all []switchedFile
	for i := range w.sources {
		all = append(all, w.file(i))
	}
	return all
}

// file puts a switch at the beginning of each function that has mutants, and
// their copies behind it.
func (w *switcher) file(i int) switchedFile {
	text, tok := w.sources[i].Text, w.toks[i]
	out := switchedFile{Source: Source{Name: w.sources[i].Name}}
	done := 0
	copyTo := func(to int) {
		out.Text = append(out.Text, text[done:to]...)
		done = to
	}
	for _, decl := range w.files[i].Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !switchable(f) {
			continue
		}
		numbers := w.inside(i, f)
		if len(numbers) == 0 {
			continue
		}
		h := header{f: f, text: func(n ast.Node) string { return string(text[tok.Offset(n.Pos()):tok.Offset(n.End())]) }}
		copyTo(tok.Offset(f.Body.Lbrace) + 1)
		out.add(h.choice(numbers), span{numbers: numbers})
		copyTo(tok.Offset(f.End()))
		for _, n := range numbers {
			out.add(w.copied(i, f, n), span{numbers: []int{n}, mutant: true})
		}
	}
	copyTo(len(text))
	return out
}

// add appends a text and says what it is for.
func (s *switchedFile) add(text string, what span) {
	what.from = len(s.Text)
	s.Text = append(s.Text, text...)
	what.to = len(s.Text)
	s.spans = append(s.spans, what)
}

// switchable reports whether a function would do the same if it were called by
// one of its name: it does not ask who has called it, and the compiler treats
// it as any other.
func switchable(f *ast.FuncDecl) bool {
	if f.Body == nil {
		return false
	}
	if f.Doc != nil {
		for _, c := range f.Doc.List {
			if strings.HasPrefix(c.Text, "//go:") || strings.HasPrefix(c.Text, "//export ") {
				return false
			}
		}
	}
	plain := true
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "recover" || id.Name == "Caller" || id.Name == "Callers") {
			plain = false
		}
		return plain
	})
	return plain
}

// inside are the numbers of the mutants that change the body of a function.
func (w *switcher) inside(i int, f *ast.FuncDecl) []int {
	from, to := w.toks[i].Offset(f.Body.Lbrace), w.toks[i].Offset(f.Body.Rbrace)
	var numbers []int
	for at, m := range w.mutants {
		n := at + 1
		if m.File == w.sources[i].Name && from < m.whole.from && m.whole.to <= to && !w.left[n] && !w.refused[n] {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// copied is the function of a mutant under a name of its own.
func (w *switcher) copied(i int, f *ast.FuncDecl, n int) string {
	text, tok := w.sources[i].Text, w.toks[i]
	name := tok.Offset(f.Name.End())
	e := w.mutants[n-1].whole
	e.from, e.to = e.from-name, e.to-name
	return "\n\n" + string(text[tok.Offset(f.Type.Func):tok.Offset(f.Name.Pos())]) + nameOf(f, n) + string(e.apply(text[name:tok.Offset(f.End())]))
}

// nameOf is not exported, so that no reflection finds it among the methods.
func nameOf(f *ast.FuncDecl, n int) string { return fmt.Sprintf("mutant%d_%s", n, f.Name.Name) }

// A header is what stands above the body of a function.
type header struct {
	f    *ast.FuncDecl
	text func(ast.Node) string
}

// choice calls, in the place of the function, the mutant that is chosen.
func (h header) choice(numbers []int) string {
	before, after := "return ", ""
	if h.f.Type.Results.NumFields() == 0 {
		before, after = "", "\n\t\treturn"
	}
	var b strings.Builder
	b.WriteString("\n\tswitch mutantChosen {\n")
	for _, n := range numbers {
		fmt.Fprintf(&b, "\tcase %d:\n\t\t%s%s%s%s(%s)%s\n", n, before, h.receiver(), nameOf(h.f, n), h.types(), h.args(), after)
	}
	b.WriteString("\t}\n")
	return b.String()
}

func (h header) receiver() string {
	if h.f.Recv == nil {
		return ""
	}
	return "(" + strings.Join(h.values(h.f.Recv), "") + ")."
}

// types are the type arguments of a call.
func (h header) types() string {
	if h.f.Type.TypeParams == nil {
		return ""
	}
	var names []string
	for _, field := range h.f.Type.TypeParams.List {
		for _, id := range field.Names {
			names = append(names, id.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func (h header) args() string { return strings.Join(h.values(h.f.Type.Params), ", ") }

// values hand on what was given, and a zero for what has no name: nobody looks
// at it.
func (h header) values(list *ast.FieldList) []string {
	var all []string
	for _, field := range list.List {
		_, variadic := field.Type.(*ast.Ellipsis)
		names := field.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent("_")}
		}
		for _, id := range names {
			value := id.Name
			switch {
			case value != "_" && variadic:
				value += "..."
			case value == "_" && variadic:
				value = "nil..."
			case value == "_":
				value = "*new(" + h.text(field.Type) + ")"
			}
			all = append(all, value)
		}
	}
	return all
}

// check returns what the type checker says of the package.
func (w *switcher) check(pkg string, all []switchedFile) []error {
	fset := token.NewFileSet()
	files, err := w.parsed(fset, all)
	if err != nil {
		return []error{err}
	}
	var errs []error
	conf := types.Config{Importer: w.importer, Error: func(err error) { errs = append(errs, err) }}
	_, _ = conf.Check(pkg, fset, files, nil) // its error is the first of them
	return errs
}

func (w *switcher) parsed(fset *token.FileSet, all []switchedFile) ([]*ast.File, error) {
	stub := switchedFile{Source: Source{Name: chooser, Text: fmt.Appendf(nil, "package %s\n\nvar mutantChosen int\n", w.files[0].Name.Name)}}
	var files []*ast.File
	for _, s := range append(all, stub) {
		f, err := parser.ParseFile(fset, s.Name, s.Text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// blame finds whom an error is about. What the type checker says of a copy it
// would say of the mutant.
func (w *switcher) blame(all []switchedFile, err error) bool {
	e, ok := errors.AsType[types.Error](err)
	if !ok {
		return false
	}
	if strings.HasPrefix(e.Msg, "\t") {
		return true // it goes on with the one before
	}
	at := e.Fset.PositionFor(e.Pos, false)
	for _, s := range all {
		for _, p := range s.spans {
			if s.Name != at.Filename || at.Offset < p.from || at.Offset >= p.to {
				continue
			}
			who := w.left
			if p.mutant {
				who = w.refused
			}
			for _, n := range p.numbers {
				who[n] = true
			}
			return true
		}
	}
	return false
}

// chooser is the name of the file that is new. It comes before all others, and
// so does its variable, which must be set when those of the package are.
const chooser = "0mutants.go"

func (w *switcher) result(all []switchedFile) Switched {
	s := Switched{Numbers: map[string]int{}, Refused: map[string]bool{}}
	for i, f := range all {
		for _, p := range f.spans {
			if p.mutant {
				s.Numbers[w.mutants[p.numbers[0]-1].Name()] = p.numbers[0]
			}
		}
		if !bytes.Equal(f.Text, w.sources[i].Text) {
			s.Sources = append(s.Sources, f.Source)
		}
	}
	for n := range w.refused {
		if !w.left[n] { // else the fault may be that of the switch
			s.Refused[w.mutants[n-1].Name()] = true
		}
	}
	s.Sources = append(s.Sources, Source{
		Name: path.Join(path.Dir(w.sources[0].Name), chooser),
		Text: fmt.Appendf(nil, "package %s\n\nimport (\n\tmutantOS \"os\"\n\tmutantNumber \"strconv\"\n)\n\n"+
			"var mutantChosen, _ = mutantNumber.Atoi(mutantOS.Getenv(%q))\n", w.files[0].Name.Name, Variable),
	})
	return s
}
