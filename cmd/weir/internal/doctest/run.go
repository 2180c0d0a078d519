package doctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Runner runs pages. All fields are required.
type Runner struct {
	// Dir is the folder that the commands run in. What a page needs beside its
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

// Run runs a page. The error says which line is not true, and what is.
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
	defer func() {
		if e := s.close(r.Within); err == nil {
			err = e
		}
	}()
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.File != "" {
			err = r.write(step)
		} else {
			err = r.command(ctx, s, step)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.Name, step.Line, err)
		}
	}
	return nil
}

// write puts a file in its place, at once: something may be reading it.
func (r *Runner) write(step *Step) error {
	if !filepath.IsLocal(step.File) {
		return fmt.Errorf("file %s: it lies elsewhere", step.File)
	}
	name := filepath.Join(r.Dir, step.File)
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
	var last error
	fits := r.Within(func() bool {
		var printed string
		printed, last = r.finish(s, step)
		if last != nil {
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
func (r *Runner) finish(s *shell, step *Step) (printed string, err error) {
	command := strings.ReplaceAll(r.Ports.Rewrite(step.Text), "go run ./cmd/weir", "weir")
	printed, err = s.begin(command)
	if err != nil {
		return "", err
	}
	var code int
	var ended bool
	r.Within(func() bool {
		code, ended, err = s.code()
		return ended || err != nil
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("$ %s: %w", step.Text, err)
	case !ended:
		return "", fmt.Errorf("$ %s: it does not end; so far it has printed\n%s", step.Text, quoted(linesOf(text(printed))))
	case code != 0 && !step.Fails && !step.looks():
		return "", fmt.Errorf("$ %s: exit code %d, and the next command is not `echo $?`; printed was\n%s", step.Text, code, quoted(linesOf(text(printed))))
	}
	return printed, nil
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
