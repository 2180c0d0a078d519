package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestModules(t *testing.T) {
	hold(t, rule{
		name:   "modules",
		remedy: "name the module after its folder, and list it in go.work",
		check:  checkModules,
	})
}

func checkModules(tr *tree, report reporter) {
	var listed []string
	if work := tr.source("go.work"); work != nil {
		listed = strings.Fields(string(work.text))
	}
	for _, dir := range tr.modules {
		mod := tr.source(path.Join(dir, "go.mod"))
		at := mod.tok.LineStart(1)
		if name := "module " + importPath(dir) + "\n"; !bytes.HasPrefix(mod.text, []byte(name)) {
			report(at, "the first line is not %q", name)
		}
		if inWork := slices.Contains(listed, use(dir)); inWork == outside(dir) {
			report(at, "module %s in go.work: %t", dir, inWork)
		}
	}
}

// use returns a module's folder as go.work writes it.
func use(dir string) string {
	if dir == "." {
		return dir
	}
	return "./" + dir
}

// Each module builds by itself, as its users build it.
func TestBuildAlone(t *testing.T) {
	tr, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range tr.modules {
		if outside(dir) {
			continue
		}
		if err := buildAlone(filepath.Join("../..", dir)); err != nil {
			t.Errorf("%s: the module does not build outside the workspace; mend its go.mod: %v", dir, err)
		}
	}
}

func TestBuildAloneFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.com/broken\n\ngo 1.26\n")
	write(t, dir, "a.go", "package broken\n\nimport _ \"example.com/absent\"\n")
	if buildAlone(dir) == nil {
		t.Error("a module that imports what it does not require is said to build")
	}
}

func buildAlone(dir string) error {
	_, err := goTool(dir, "build", "-o", os.DevNull, "./...")
	return err
}

// A user of the library gets the standard library and nothing else.
func TestDependencies(t *testing.T) {
	out, err := goTool("../..", "list", "-json=ImportPath,Deps", "./...")
	if err != nil {
		t.Fatal(err)
	}
	found, err := strangers(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range found {
		t.Errorf("%s; code that needs it belongs in a module of its own", finding)
	}
}

func TestDependenciesFail(t *testing.T) {
	got, err := strangers([]byte(`
		{"ImportPath": "github.com/weirhq/weir/header", "Deps": ["net/http", "vendor/golang.org/x/net/idna", "example.com/far"]}
		{"ImportPath": "github.com/weirhq/weir/storetest", "Deps": ["github.com/anishathalye/porcupine", "example.com/near"]}
		{"ImportPath": "github.com/weirhq/weir/memstore", "Deps": ["github.com/weirhq/weir", "github.com/weirhq/weirder"]}`))
	want := []string{
		"header depends on example.com/far",
		"storetest depends on example.com/near",
		"memstore depends on github.com/weirhq/weirder",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("strangers = %q, %v; want %q", got, err, want)
	}
}

// strangers reads what go list says of packages and returns those whose code,
// directly or not, depends on more than the standard library, this repository
// and what its room allows.
func strangers(list []byte) ([]string, error) {
	var found []string
	for dec := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		dir, _ := inHouse(p.ImportPath)
		r, _ := roomOf(dir)
		for _, dep := range p.Deps {
			if _, ours := inHouse(dep); !ours && !standard(dep) && !within(dep, r.modules) {
				found = append(found, fmt.Sprintf("%s depends on %s", dir, dep))
			}
		}
	}
}

// goTool runs the go command in dir, outside any workspace.
func goTool(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
