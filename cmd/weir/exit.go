package main

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes: scripts and pipelines depend on them.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitWarnings    = 4
	exitVerdict     = 5
	exitUnreachable = 6
	exitInterrupted = 130
)

// exitCodes says what they mean: `weir help exit-codes` prints it, docs/cli.md
// holds it.
var exitCodes = [...]struct {
	code    int
	meaning string
}{
	{exitOK, "ok"},
	{exitFailure, "failure at run time: an address in use, requests cut off when draining took too long, a command that failed under pace"},
	{exitUsage, "usage: an unknown command or flag, a malformed argument, no rules file found"},
	{exitInvalid, "invalid configuration: what is wrong stands in the diagnostics"},
	{exitWarnings, "warnings, under check --strict"},
	{exitVerdict, "verdict: refused, under take"},
	{exitUnreachable, "the daemon, or the store behind it, cannot be reached"},
	{exitInterrupted, "interrupted: by SIGINT, by SIGTERM under pace, or by a second signal while draining"},
}

// exitError is an error that knows its exit code. One without a message has been
// told already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exits gives an error its exit code.
func exits(code int, err error) error { return &exitError{code: code, err: err} }

// usagef is a misuse of the command line.
func usagef(format string, args ...any) error {
	return exits(exitUsage, fmt.Errorf(format, args...))
}

// codeOf is the exit code of what a command returned.
func codeOf(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailure
}
