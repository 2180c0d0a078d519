package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// findings are all that a run has found.
type findings struct {
	began   time.Time
	took    time.Duration
	commit  string
	results []result
	stale   []string // excuses of mutants that have died, and where they stand
}

// excuse gives survivors their reasons, and finds the reasons of those that
// have died. One that only ran out of time is not held against its reason.
func (f *findings) excuse(all excuses) {
	for i := range f.results {
		r := &f.results[i]
		e, ok := all[r.Name()]
		switch {
		case !ok:
		case r.Status == survived:
			r.Reason = e.why
		case r.Status == killed:
			f.stale = append(f.stale, e.at+": stale: "+r.By+" fails on this mutant; remove the paragraph")
		}
	}
}

// A tally counts what became of mutants.
type tally struct {
	killed, timedOut, survived, excused, notCompiled, notRun int
}

func (t *tally) count(r result) {
	switch r.Status {
	case killed:
		t.killed++
	case timedOut:
		t.timedOut++
	case survived:
		t.survived++
		if r.Reason != "" {
			t.excused++
		}
	case notCompiled:
		t.notCompiled++
	case notRun:
		t.notRun++
	}
}

// tried is how many mutants were run, which those that do not compile are not.
func (t tally) tried() int { return t.killed + t.timedOut + t.survived }

// died is the percentage of them on which a test failed, 100 where there are
// none.
func (t tally) died() float64 {
	if t.tried() == 0 {
		return 100
	}
	return 100 * float64(t.killed+t.timedOut) / float64(t.tried())
}

// packages are those of the results, in their order, and their tallies; that of
// all has the name "all".
func (f *findings) tallies() (packages []string, by map[string]*tally) {
	by = map[string]*tally{"all": {}}
	for _, r := range f.results {
		if by[r.Package] == nil {
			by[r.Package] = &tally{}
			packages = append(packages, r.Package)
		}
		by[r.Package].count(r)
		by["all"].count(r)
	}
	return append(packages, "all"), by
}

// doubts are what came to another end than the first pass had told.
func (f *findings) doubts() []result {
	var all []result
	for _, r := range f.results {
		if r.decided() && !r.same() {
			all = append(all, r)
		}
	}
	return all
}

// status is the exit status.
func (f *findings) status(least int) int {
	packages, by := f.tallies()
	for _, p := range packages {
		if by[p].died() < float64(least) {
			return someLive
		}
	}
	if len(f.stale) > 0 || len(f.doubts()) > 0 || by["all"].survived > by["all"].excused {
		return someLive
	}
	return allDied
}

// publish prints the report, and writes the files that were asked for. A report
// of a part would take the place of that of the whole: it is not written.
func (f *findings) publish(o options, stdout io.Writer) error {
	text := f.report(o)
	if _, err := io.WriteString(stdout, text); err != nil {
		return err
	}
	if o.json != "" {
		list, err := json.MarshalIndent(f.results, "", "\t")
		if err != nil {
			return err
		}
		if err := write(o.json, string(list)+"\n"); err != nil {
			return err
		}
	}
	_, by := f.tallies()
	if o.report == "" || o.sample > 0 || len(o.packages) > 0 || by["all"].notRun > 0 {
		return nil
	}
	return write(o.report, text)
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// commit names the commit that is checked out, and says whether the tree
// differs from it. It is "unknown" outside a repository of git.
func commit(ctx context.Context) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*"}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		return head + ", and changes that are not committed"
	}
	return head
}
