package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A tree is a copy of the repository.
type tree struct {
	root  string
	cache string   // the go command's, for what the unchanged code needs; "" for the usual one
	own   string   // one for mutants, "" to use and fill the other
	env   []string // for the commands that run in it, caches left out
}

// newTree copies the repository around the working directory into a folder of
// the run.
func newTree(work string, shared bool) (tree, error) {
	temporary := filepath.Join(work, "tmp") // for what tests leave when they are killed
	t := tree{root: filepath.Join(work, "tree"), env: append(os.Environ(), "TMPDIR="+temporary)}
	if !shared {
		t.cache = filepath.Join(work, "cache")
	}
	if err := os.Mkdir(temporary, 0o755); err != nil {
		return t, err
	}
	return t, copyTree(".", t.root, copyFile)
}

// environment is that of a command in the tree.
func (t tree) environment() []string {
	if cache := cmp.Or(t.own, t.cache); cache != "" {
		return append(slices.Clip(t.env), "GOCACHE="+cache)
	}
	return t.env
}

// mostLeftovers is how many mutants leave their packages in a cache, some 10
// MiB each, before it is renewed.
const mostLeftovers = 25

// renewCache makes the tree's own cache, if it has one, a copy of the other.
func (t tree) renewCache() error {
	if t.own == "" {
		return nil
	}
	if err := os.RemoveAll(t.own); err != nil {
		return err
	}
	return copyTree(t.cache, t.own, os.Link)
}

// copyTree copies a folder by copying each file, but what git keeps and what
// make has made. It leaves out files that have gone when their turn comes.
func copyTree(from, to string, file func(from, to string) error) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, rel):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type().IsRegular():
			if err := file(name, target); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// goTool runs the go command in the tree.
func (t tree) goTool(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = t.root, t.environment()
	byItself(cmd)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

// byItself puts a command into a process group of its own: an interrupt from the
// keyboard, which all of a group hear, must not look like a test that failed,
// and with the command goes what it has started.
func byItself(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

// A listed package is what go list says of one.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func (t tree) list(ctx context.Context, args ...string) ([]listed, error) {
	out, err := t.goTool(ctx, append([]string{"list", "-deps", "-json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// A code is what a package consists of, its tests left out.
type code struct {
	path     string // as others import it
	sources  []mutant.Source
	importer types.Importer // of what it imports
}

// text is that of one of the files.
func (c code) text(file string) []byte {
	for _, s := range c.sources {
		if s.Name == file {
			return s.Text
		}
	}
	return nil
}

// read returns the code of a package.
func (t tree) read(ctx context.Context, pkg string) (code, error) {
	all, err := t.list(ctx, "-export", pkg)
	if err != nil {
		return code{}, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	open := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not among what %s imports", path, pkg)
		}
		return os.Open(exports[path])
	}
	last := all[len(all)-1] // what was asked for comes behind what it imports
	c := code{path: last.ImportPath, importer: importer.ForCompiler(token.NewFileSet(), "gc", open)}
	for _, name := range last.GoFiles {
		full := filepath.Join(last.Dir, name)
		rel, err := filepath.Rel(t.root, full)
		if err != nil {
			return code{}, err
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return code{}, err
		}
		c.sources = append(c.sources, mutant.Source{Name: filepath.ToSlash(rel), Text: text})
	}
	return c, nil
}

// fingerprint tells one state of the tests from another: of their arguments,
// and of the packages of the repository that they are built from, test data
// included.
func (t tree) fingerprint(ctx context.Context, tests []test) (string, error) {
	sum := sha256.New()
	met := map[string]bool{}
	for _, test := range tests {
		fmt.Fprintln(sum, test)
		all, err := t.list(ctx, "-test", test.pkg)
		if err != nil {
			return "", err
		}
		for _, p := range all {
			if met[p.Dir] || !strings.HasPrefix(p.Dir, t.root) {
				continue
			}
			met[p.Dir] = true
			if err := t.sum(sum, p.Dir); err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// sum adds the files of a package to a hash.
func (t tree) sum(to io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && filepath.Dir(name) == dir && d.Name() != "testdata":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(to, "%s %x\n", strings.TrimPrefix(name, t.root), sha256.Sum256(text))
		return err
	})
}
