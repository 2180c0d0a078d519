package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// What became of a mutant.
const (
	killed      = "killed"       // a test failed
	timedOut    = "timed out"    // it ran much longer than what it was made from; counts as killed
	survived    = "survived"     // no test failed
	notCompiled = "not compiled" // the compiler refuses it: no mutant
	notRun      = "not run"      // the time was up before its turn
)

// An outcome is what one trial has shown.
type outcome struct {
	Status string        `json:"status"`
	By     string        `json:"by,omitempty"` // the test that failed first, where it could say so
	Build  time.Duration `json:"build"`        // of all test binaries that it alone needed, in ns
	Test   time.Duration `json:"test"`         // of all tests, in ns

	First   string `json:"first,omitempty"` // the status that the first pass gave it; "" for one that had no part in it
	FirstBy string `json:"first_by,omitempty"`
	Alone   bool   `json:"alone,omitempty"` // it was compiled by itself all the same, which decides
}

// limits are what a test of a mutant may use. Its processor time decides, which
// does not depend on what else the machine does; the time on the wall only ends
// what waits for ever.
type limits struct {
	cpu, wall time.Duration // added to what the unchanged code needs, several times over
	times     int           // how many times over
	memory    int64         // bytes of data: a loop without end may allocate
}

func usual() limits {
	return limits{cpu: 5 * time.Second, wall: time.Minute, times: 5, memory: 4 << 30}
}

// A bound is what one test of a mutant may use.
type bound struct{ cpu, wall time.Duration }

// A bench is where one mutant at a time is tried.
type bench struct {
	tree   tree
	dir    string // its own
	memory int64
	tried  int
}

func newBench(t tree, name string, memory int64) (*bench, error) {
	b := &bench{tree: t, dir: filepath.Join(filepath.Dir(t.root), name), memory: memory}
	return b, os.Mkdir(b.dir, 0o755)
}

// try builds the target's tests with a mutant in the place of its file, and
// runs them until one fails.
func (b *bench) try(ctx context.Context, t prepared, m mutant.Mutant) (outcome, error) {
	if b.tried%mostLeftovers == 0 {
		if err := b.tree.renewCache(); err != nil {
			return outcome{}, err
		}
	}
	b.tried++
	overlay, err := b.overlay([]mutant.Source{{Name: m.File, Text: m.Apply(t.code.text(m.File))}})
	if err != nil {
		return outcome{}, err
	}
	return b.test(ctx, t.tests, t.bounds, overlay)
}

// overlay writes changed files and the one that tells the go command of them.
func (b *bench) overlay(sources []mutant.Source) (string, error) {
	replace := map[string]string{}
	for i, s := range sources {
		changed := filepath.Join(b.dir, fmt.Sprintf("changed%d.go", i))
		if err := os.WriteFile(changed, s.Text, 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(b.tree.root, filepath.FromSlash(s.Name))] = changed
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

// test builds and runs tests, without an overlay if it is "".
func (b *bench) test(ctx context.Context, tests []test, bounds []bound, overlay string) (outcome, error) {
	o := outcome{Status: survived}
	built := map[string]string{}
	for i, t := range tests {
		if built[t.pkg] == "" {
			began := time.Now()
			binary, refusal, err := b.build(ctx, t.pkg, overlay, strconv.Itoa(i))
			o.Build += time.Since(began)
			if err != nil {
				return o, err
			}
			if refusal != "" {
				o.Status = notCompiled
				return o, nil
			}
			built[t.pkg] = binary
		}
		r, err := b.run(ctx, t, built[t.pkg], bounds[i])
		o.Test += r.wall
		o.Status, o.By = r.status, r.by
		if err != nil || o.Status != survived {
			return o, err
		}
	}
	return o, nil
}

// ofCompiler begins what the compiler says of a package. Whatever else go test
// says when it builds nothing is no fault of a mutant.
var ofCompiler = regexp.MustCompile(`(?m)^# `)

// build compiles the test binary of a package. What the compiler says when it
// refuses to is in refusal. Vet has no say: what it suspects compiles, and one
// such mutant would keep all others out of the first pass.
func (b *bench) build(ctx context.Context, pkg, overlay, name string) (binary, refusal string, err error) {
	binary = filepath.Join(b.dir, name+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	_, err = b.tree.goTool(ctx, append(args, pkg)...)
	switch {
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case err != nil && ofCompiler.MatchString(err.Error()) && overlay != "":
		return "", err.Error(), nil
	}
	return binary, "", err
}

// A ran tells how a test binary ended.
type ran struct {
	status    string
	by        string
	cpu, wall time.Duration
	output    []byte // its beginning
}

// limited is a shell's line that runs a program under limits of processor time,
// in seconds, and of data, in KiB. That of time is a hard one: Go's runtime does
// not mind the signal of a soft one.
const limited = `ulimit -t "$1" && ulimit -S -d "$2" || exit 125; shift 2; exec "$@"`

// unlimited is the status of limited when it could set none.
const unlimited = 125

// run runs a test binary where go test would. It has no timeout of its own: a
// timer would keep the runtime from seeing that all goroutines wait for ever.
func (b *bench) run(ctx context.Context, t test, binary string, most bound, environment ...string) (ran, error) {
	args := []string{
		"-c", limited, "sh", strconv.Itoa(int(math.Ceil(most.cpu.Seconds()))), strconv.FormatInt(b.memory>>10, 10),
		binary, "-test.failfast", "-test.timeout=0",
	}
	last, cancel := context.WithTimeout(ctx, most.wall)
	defer cancel()
	cmd := exec.CommandContext(last, "sh", append(args, t.args...)...)
	cmd.Dir, cmd.Env = filepath.Join(b.tree.root, t.pkg), append(slices.Clip(b.tree.environment()), environment...)
	byItself(cmd)
	var out beginning
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ran{}, ctx.Err()
	case cmd.ProcessState == nil:
		return ran{}, err
	case cmd.ProcessState.ExitCode() == unlimited:
		return ran{}, fmt.Errorf("%s: the limits cannot be set: %s", t, out.text)
	}
	r := ran{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), output: out.text}
	switch {
	case err == nil:
		r.status = survived
	case r.cpu >= most.cpu || last.Err() != nil:
		r.status = timedOut
	default:
		r.status, r.by = killed, firstFailure(out.text, err)
	}
	return r, nil
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure names the test that failed, or else tells how the binary ended.
func firstFailure(output []byte, err error) string {
	if m := failure.FindSubmatch(output); m != nil {
		return string(m[1])
	}
	if line := bytes.TrimSpace(bytes.SplitN(output, []byte("\n"), 2)[0]); len(line) > 0 && len(line) < 120 {
		return string(line)
	}
	return err.Error()
}

// A beginning keeps the first 64 KiB of what is written to it.
type beginning struct{ text []byte }

// Write drops what is too much, and says that it did not.
func (b *beginning) Write(p []byte) (int, error) {
	room := min(len(p), 1<<16-len(b.text))
	b.text = append(b.text, p[:room]...)
	return len(p), nil
}
