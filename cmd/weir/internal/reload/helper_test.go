package reload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/reload"
	"github.com/weirhq/weir/policy"
)

// rules is a good file with so many units a second.
func rules(count int) string {
	return fmt.Sprintf("version: 1\nrules:\n  - {name: jobs, match: POST /jobs, key: ip, limit: %d/s}\n", count)
}

// limitOf is the first limit of a policy.
func limitOf(p *policy.Policy) string { return p.Limits()[0].String() }

// rig is a Watcher on a folder, with what it did.
type rig struct {
	*testing.T
	*reload.Watcher

	dir     string
	applied []string // the first limit of each policy that was put in place
	results []reload.Result
	log     bytes.Buffer
	failing error                             // of Apply
	kept    []string                          // of Apply
	read    func(name string) ([]byte, error) // os.ReadFile, or what a test puts in its place
	source  policy.Source                     // as it was given
}

// newRig watches weir.yaml in a folder of its own, which holds these rules.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), read: os.ReadFile}
	r.write("weir.yaml", text)
	r.begin(r.path("weir.yaml"))
	return r
}

// begin loads a rules file for the first time.
func (r *rig) begin(name string) {
	r.Helper()
	r.source = policy.Source{Name: name, ReadFile: func(name string) ([]byte, error) { return r.read(name) }}
	r.Watcher = reload.New(reload.Config{
		Source: r.source,
		Apply: func(p *policy.Policy) ([]string, error) {
			if r.failing == nil {
				r.applied = append(r.applied, limitOf(p))
			}
			return r.kept, r.failing
		},
		Report: func(result reload.Result) { r.results = append(r.results, result) },
		Log:    slog.New(slog.NewTextHandler(&r.log, nil)),
	})
	if p, found := r.Load(); p == nil {
		r.Fatalf("the rules that the test begins with: %v", found)
	}
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, text string) {
	r.Helper()
	r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// look looks so many times.
func (r *rig) look(times int) {
	for range times {
		r.Check(r.Context())
	}
}

// wantApplied checks which limits were put in place so far.
func (r *rig) wantApplied(want ...string) {
	r.Helper()
	if strings.Join(r.applied, " ") != strings.Join(want, " ") {
		r.Errorf("put in place: %q, want %q\n%s", r.applied, want, &r.log)
	}
}

// wantResults checks how the attempts so far ended: + for good, - for bad.
func (r *rig) wantResults(want string) {
	r.Helper()
	got := ""
	for _, result := range r.results {
		if result.OK {
			got += "+"
		} else {
			got += "-"
		}
	}
	if got != want {
		r.Errorf("attempts: %q, want %q\n%s", got, want, &r.log)
	}
}

// wantLog checks how often the log says something.
func (r *rig) wantLog(what string, times int) {
	r.Helper()
	if got := strings.Count(r.log.String(), what); got != times {
		r.Errorf("the log says %q %d times, want %d:\n%s", what, got, times, &r.log)
	}
}

// unreadable is what a reader says of a file that it may not read.
func unreadable(name string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

var errNoRoom = errors.New("no room for so many limits")
