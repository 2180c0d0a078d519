package doctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Runner runs pages. All fields are required.
type Runner struct {
	// Dir is the folder that the commands begin in. What a page needs beside its
	// own files lies there already.
	Dir string

	// Home is a folder that the reader does not see.
	Home string

	// Path is the folder of the program that pages are about.
	Path string

	// Ports are those that the page's are mapped to.
	Ports Ports

	// Within waits until something holds, and reports whether it came to that.
	Within func(holds func() bool) bool
}

// quiet is what curl does at a terminal by itself: it shows no progress.
const quiet = "silent\nshow-error\n"

// Run runs a page. The error says which line is not true, and what is; or what
// the page leaves to the next one.
func (r *Runner) Run(ctx context.Context, p *Page) (err error) {
	if err := os.WriteFile(filepath.Join(r.Home, ".curlrc"), []byte(quiet), 0o600); err != nil {
		return err
	}
	out := filepath.Join(r.Home, "printed")
	if err := os.MkdirAll(out, 0o700); err != nil {
		return err
	}
	s, err := open(ctx, r.Dir, out, environment(r.Home, r.Path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(r.Within)) }()
	before, err := r.state(s)
	if err != nil {
		return err
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.File != "" {
			err = r.write(step, s.dir)
		} else {
			err = r.command(ctx, s, step)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.Name, step.Line, err)
		}
	}
	if err := r.leaves(s, before); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// state is what a page could leave to the next one in its reader's shell: commands
// that run on, another folder, variables.
func (r *Runner) state(s *shell) ([]string, error) {
	printed, _, err := r.finish(s, "pwd; jobs -r; export -p | grep -Ev ' (OLD)?PWD'")
	return linesOf(text(printed)), err
}

// leaves says what a page leaves behind. What was told to end may take its time.
func (r *Runner) leaves(s *shell, before []string) error {
	var after []string
	var err error
	if r.Within(func() bool { after, err = r.state(s); return err != nil || slices.Equal(after, before) }) {
		return err
	}
	after = slices.DeleteFunc(after, func(line string) bool { return slices.Contains(before, line) })
	return fmt.Errorf("the page does not leave the shell as it was: it began in\n    %s\nand there is now\n%s", r.Dir, quoted(after))
}

// write puts a file into the shell's folder, at once: something may be reading it.
func (r *Runner) write(step *Step, dir string) error {
	name := filepath.Join(dir, step.File)
	if in, err := filepath.Rel(r.Dir, name); err != nil || !filepath.IsLocal(in) {
		return fmt.Errorf("file %s: it lies elsewhere", step.File)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", []byte(r.Ports.Rewrite(step.Text)), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// command runs a command until it prints what the page says.
func (r *Runner) command(ctx context.Context, s *shell, step *Step) error {
	before := r.Ports.open(ctx)
	command := strings.ReplaceAll(r.Ports.Rewrite(step.Text), "go run ./cmd/weir", "weir")
	var last error
	fits := r.Within(func() bool {
		printed, code, err := r.finish(s, command)
		switch {
		case err != nil:
			last = fmt.Errorf("$ %s: %w", step.Text, err)
			return true
		case code != 0 && !step.Fails && !step.looks():
			last = fmt.Errorf("$ %s: exit code %d, and the next command is not `echo $?`; printed was\n%s", step.Text, code, quoted(linesOf(text(printed))))
			return true
		}
		last = r.judge(ctx, step, printed, before)
		return last == nil || !step.looks()
	})
	if last == nil && !fits {
		last = fmt.Errorf("$ %s: it takes too long", step.Text)
	}
	return last
}

// finish runs a command to its end, which for one in the background comes when
// it has begun.
func (r *Runner) finish(s *shell, command string) (printed string, code int, err error) {
	printed, err = s.begin(command)
	if err != nil {
		return "", 0, err
	}
	ended := false
	r.Within(func() bool {
		code, ended, err = s.code()
		return ended || err != nil
	})
	if err == nil && !ended {
		err = fmt.Errorf("it does not end; so far it has printed\n%s", quoted(linesOf(text(printed))))
	}
	return printed, code, err
}

// judge compares what was printed with what the page says. In the background it
// may come yet, and something has to answer.
func (r *Runner) judge(ctx context.Context, step *Step, printed string, before int) error {
	want := make([]string, len(step.Output))
	for i, line := range step.Output {
		want[i] = r.Ports.Rewrite(line)
	}
	err := compare(want, text(printed))
	if step.background() {
		r.Within(func() bool {
			err = compare(want, text(printed))
			return err == nil && r.Ports.open(ctx) > before
		})
		if err == nil && r.Ports.open(ctx) <= before {
			err = fmt.Errorf("it does not answer on any port; printed was\n%s", quoted(linesOf(text(printed))))
		}
	}
	if err != nil {
		return fmt.Errorf("$ %s: %w", step.Text, err)
	}
	return nil
}
