package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/doctest"
	"github.com/weirhq/weir/policy"
)

// repository is its folder, from here.
const repository = "../.."

// pages are what is run: every command in them, in the order of the page.
var pages = [...]string{
	readme,
	"docs/getting-started.md",
	"docs/rules.md",
	"docs/keys.md",
	"docs/plans.md",
	"docs/modes.md",
	"docs/statuses.md",
	"docs/operations.md",
	"docs/cli.md",
	"docs/api.md",
	"examples/load/README.md",
}

// readme shows requests to a program that its reader has running in another
// terminal.
const readme = "README.md"

// attempts is how often a page is read at most. Some show a limit by the second,
// and a machine that stalls in the middle lets one more request through.
const attempts = 3

// pagePatience is how long what a page says may take to come.
const pagePatience = 10 * time.Second

// TestProcessPages runs the pages, each with a daemon and a folder of its own.
func TestProcessPages(t *testing.T) {
	programs := filepath.Dir(build(t))
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			p := readPage(t, page)
			if page == readme {
				p.Steps = slices.Insert(p.Steps, 0, doctest.Step{Text: opening(t)[0] + " 2>/dev/null &"})
				p.Steps = append(p.Steps, doctest.Step{Text: "kill %1; wait"})
			}
			var err error
			for i := range attempts {
				if err = runPage(t, p, programs); err == nil {
					return
				}
				t.Logf("attempt %d: %v", i+1, err)
			}
			t.Error(err)
		})
	}
}

// opening is what a reader of README.md types first: the lines of the first block
// that begins with a command, without what is said of them.
func opening(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, readme))
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "\n```\ngo ")
	block, _, _ = strings.Cut("go "+block, "\n```\n")
	var commands []string
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "#")
		commands = append(commands, strings.TrimSpace(command))
	}
	return commands
}

// The first three commands of README.md: the demo, the requests that the page then
// shows the answers of, and the tests.
func TestReadmeOpens(t *testing.T) {
	want := []string{"go run ./cmd/weir serve examples/quickstart.yaml", readPage(t, readme).Steps[0].Text, "make test"}
	if got := opening(t); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func readPage(t *testing.T, name string) *doctest.Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	p, err := doctest.Parse(name, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// runPage runs a page in a new folder, which holds the examples.
func runPage(t *testing.T, p *doctest.Page, programs string) error {
	t.Helper()
	ports, err := doctest.Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &doctest.Runner{
		Dir: t.TempDir(), Home: t.TempDir(), Path: programs, Ports: ports,
		Within: func(holds func() bool) bool { return within(pagePatience, holds) },
	}
	if err := copyExamples(r); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, r.Dir)
	if err := r.Run(t.Context(), p); err != nil {
		return err
	}
	if left := slices.DeleteFunc(filesIn(t, r.Dir), func(name string) bool { return slices.Contains(before, name) }); len(left) > 0 {
		return fmt.Errorf("%s: in the clone there are now %q", p.Name, left)
	}
	return nil
}

// filesIn lists the files and folders below a folder.
func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// copyExamples gives a page the rules files and scripts of the examples, with
// its own ports in them.
func copyExamples(r *doctest.Runner) error {
	from := os.DirFS(repository)
	return fs.WalkDir(from, "examples", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) == ".go" || filepath.Ext(name) == ".gz" {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		to := filepath.Join(r.Dir, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, []byte(r.Ports.Rewrite(string(text))), info.Mode().Perm())
	})
}

// Every piece of YAML in the guides is a rules file, but for its version.
func TestFragmentsInPages(t *testing.T) {
	for _, page := range pages {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		for _, f := range readPage(t, page).Fragments {
			text := f.Text
			if !strings.Contains(text, "version:") {
				text = "version: 1\n" + text
			}
			if _, found := policy.Load(fragment(text)); found.Err() != nil {
				t.Errorf("%s:%d: %v", page, f.Line, found.Err())
			}
		}
	}
}

// bareColon finds a value in brackets or braces that begins with a colon and has no
// quotes: some readers of YAML refuse it.
var bareColon = regexp.MustCompile(`(?m)^[^#\n]*[\[{,] *:[^ \n]`)

// What the pages and the examples show as YAML, other tools read as well: editors,
// and what writes such files.
func TestYAMLForOthers(t *testing.T) {
	f := func(want bool, text string) {
		t.Helper()
		if got := bareColon.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	f(true, "a: [127.0.0.1/32, ::1/128]\n")
	f(true, "x: 1\na: {proxy: 1, ops: [:90]}\n")
	f(false, "a: ['::1/128']\nproxy: :8000 # in [::]\nb: {c: d}\n")
	examples, err := filepath.Glob(filepath.Join(repository, "examples", "*.yaml"))
	if err != nil || len(examples) < 7 {
		t.Fatal(examples, err)
	}
	for _, name := range examples {
		text, err := os.ReadFile(name)
		if err != nil || bareColon.Match(text) {
			t.Errorf("%s: %v, %q", name, err, bareColon.Find(text))
		}
	}
	for _, page := range pages {
		p := readPage(t, page)
		for _, f := range p.Fragments {
			if bad := bareColon.FindString(f.Text); bad != "" {
				t.Errorf("%s:%d: %q", page, f.Line, bad)
			}
		}
		for i := range p.Steps {
			if s := &p.Steps[i]; s.File != "" && bareColon.MatchString(s.Text) {
				t.Errorf("%s:%d: %q", page, s.Line, bareColon.FindString(s.Text))
			}
		}
	}
}

// fragment is a source in which every file that is named is there.
func fragment(text string) policy.Source {
	return policy.Source{
		Name:    "page.yaml",
		Environ: []string{"TOKEN=0123456789abcdef"},
		ReadFile: func(name string) ([]byte, error) {
			if name == "page.yaml" {
				return []byte(text), nil
			}
			return os.ReadFile(filepath.Join(repository, "examples/keys", filepath.Base(name)))
		},
	}
}

// documented finds the fields that docs/rules.md has a paragraph for.
var documented = regexp.MustCompile("(?m)^\\*\\*`([^`]+)`\\*\\*")

// The page about rules files has a paragraph for each field, and for nothing
// else.
func TestRulesPageIsComplete(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs/rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range documented.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	want := fieldsOf(reflect.TypeFor[policy.Config](), "")
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("docs/rules.md has no paragraph that begins with **`%s`**", f)
		}
	}
	for i, f := range got {
		if !slices.Contains(want, f) || slices.Contains(got[:i], f) {
			t.Errorf("docs/rules.md has a paragraph for %s, which is no field or has one already", f)
		}
	}
}

// fieldsOf lists the fields of a rules file below a path. Listeners are alike,
// and so are lists of limits: they are listed once.
func fieldsOf(t reflect.Type, in string) []string {
	var list []string
	seen := map[string]bool{}
	for f := range t.Fields() {
		name, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		list = append(list, in+name)
		of, path := f.Type, in+name
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Slice {
			of, path = of.Elem(), path+"[]"
		}
		if of == reflect.TypeFor[policy.Listener]() {
			path = in + "*"
		}
		if of.Kind() == reflect.Struct && !seen[path] {
			seen[path] = true
			list = append(list, fieldsOf(of, path+".")...)
		}
	}
	return list
}

// limitRow finds a limit in the first column of a table.
var limitRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// What the page about rules files says can be written can be.
func TestLimitsInRulesPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs/rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := limitRow.FindAllStringSubmatch(section, -1)
	if len(rows) < 9 {
		t.Fatalf("%d limits", len(rows))
	}
	for _, m := range rows {
		if _, err := weir.ParseSpec(m[1]); err != nil {
			t.Errorf("docs/rules.md: %s: %v", m[1], err)
		}
	}
}

// link finds links in Markdown that stay in the repository.
var link = regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`)

// Links lead to files that are there, and to headings in them.
func TestLinksInPages(t *testing.T) {
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(repository, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := filepath.Join(repository, page)
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(to), m[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s: %v", page, m[0], err)
				continue
			}
			if m[2] != "" && !slices.Contains(anchors(t, to), m[2]) {
				t.Errorf("%s: %s: there is no such heading", page, m[0])
			}
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// anchors are those of a page's headings, as they are shown.
func anchors(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			heading = notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			list = append(list, "#"+strings.ReplaceAll(heading, " ", "-"))
		}
	}
	return list
}

// notInAnchors are the characters of a heading that its anchor lacks.
var notInAnchors = regexp.MustCompile(`[^\pL\pN _-]`)
