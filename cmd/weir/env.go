package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Env is everything that a run of the tool has from outside, so that a whole run
// is a function call.
type Env struct {
	Stdin  io.Reader // what the file `-` holds
	Stdout io.Writer // results
	Stderr io.Writer // everything else

	// Environ is the environment, as os.Environ gives it.
	Environ []string

	// ReadFile is os.ReadFile.
	ReadFile func(name string) ([]byte, error)

	// Exists reports whether there is something at a path.
	Exists func(name string) bool

	// Now is the wall clock.
	Now func() time.Time

	// Elapsed is a monotonic clock, for timing what is short; nil is Now.
	Elapsed func() time.Duration

	// Every ticks until it is stopped.
	Every func(time.Duration) (ticks <-chan time.Time, stop func())

	// IsTerminal reports whether a stream is a terminal.
	IsTerminal func(stream any) bool

	// Run runs a program that reads nothing, to its end. Where the context ends
	// before, the program is asked to end as well, and made to when it does not. The
	// error of one that has failed has an ExitCode; that of one whose reader has gone
	// is a syscall.EPIPE.
	Run func(ctx context.Context, stdout, stderr io.Writer, name string, args ...string) error

	// Signals receives the signals of a list until it is stopped.
	Signals func(list ...os.Signal) (got <-chan os.Signal, stop func())

	// BuildInfo is what was written into the binary.
	BuildInfo func() (*debug.BuildInfo, bool)
}

// Getenv is the value of a variable, "" where it is not set. Of two of a name the
// last counts, as it does for a process that is started with them.
func (e *Env) Getenv(name string) string {
	for _, v := range slices.Backward(e.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// color reports whether a stream may be coloured: a terminal, and nobody asked
// for it to be left plain.
func (e *Env) color(stream any) bool {
	return e.IsTerminal(stream) && e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb"
}

// toldTo is the same, but what goes to standard error is written to w, in colours
// if standard error has them.
func (e *Env) toldTo(w io.Writer) *Env {
	made := *e
	made.Stderr = w
	made.IsTerminal = func(stream any) bool {
		if stream == w {
			stream = e.Stderr
		}
		return e.IsTerminal(stream)
	}
	return &made
}
