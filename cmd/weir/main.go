// Command weir limits requests: a reverse proxy, a decision service, and a tool
// that checks and explains limits.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // calendars mean the same on a machine without zone files, such as an empty container
)

func main() { os.Exit(run(os.Args[1:], processEnv())) }

// processEnv is what this process has.
func processEnv() *Env {
	start := time.Now()
	return &Env{
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Environ:    os.Environ(),
		ReadFile:   readRegular,
		Exists:     exists,
		Now:        time.Now,
		Elapsed:    func() time.Duration { return time.Since(start) },
		Every:      every,
		Run:        runProgram,
		IsTerminal: isTerminal,
		Signals:    signals,
		BuildInfo:  buildInfo,
	}
}

// exists reports whether there is something at the path, readable or not: what
// cannot be read is told as that, not passed over.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || !os.IsNotExist(err)
}

// every ticks until it is stopped.
func every(d time.Duration) (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// killTime is how long a program may take to end that was asked to.
const killTime = 5 * time.Second

// runProgram runs a program that reads nothing, to its end.
func runProgram(ctx context.Context, stdout, stderr io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = killTime
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		switch status, _ := exit.Sys().(syscall.WaitStatus); {
		case status.Signaled() && status.Signal() == syscall.SIGPIPE && readerGone(stdout): // and not by a pipe of its own
			return syscall.EPIPE
		case status.Signaled() && status.Signal() == syscall.SIGINT: // a terminal tells both, and who hears of it first is chance
			return exits(exitInterrupted, nil)
		}
	}
	return err
}

// signals receives those signals until it is stopped. There is room for many while
// one is acted on: what finds none is lost, and may be the one to end.
func signals(list ...os.Signal) (got <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 64)
	signal.Notify(c, list...)
	return c, func() { signal.Stop(c) }
}

// isTerminal reports whether a stream is a terminal, or a device that is as good.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
