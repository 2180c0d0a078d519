package main

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/duration"
)

// durationFlag is a span as limits and rules files have it.
type durationFlag struct {
	to     *time.Duration
	name   string // of the flag
	orZero bool   // 0 is one as well
}

// durationVar adds a flag to a command; its default is what to holds.
func durationVar(cmd *cobra.Command, to *time.Duration, name string, orZero bool, usage string) {
	cmd.Flags().Var(&durationFlag{to, name, orZero}, name, usage)
}

// Type is what help calls a value.
func (f *durationFlag) Type() string { return "duration" }

func (f *durationFlag) String() string {
	if *f.to == 0 {
		return "0"
	}
	return duration.Format(*f.to)
}

// Set reads a value. The error is a misuse that names the flag.
func (f *durationFlag) Set(text string) error {
	if f.orZero && (text == "0" || text == "0s") {
		*f.to = 0
		return nil
	}
	d, problem, remedy := duration.Parse(text)
	if problem == "" {
		*f.to = d
		return nil
	}
	if _, missing, _ := duration.Parse(text + "s"); missing == "" {
		return usagef("--%s %s: a unit is missing; write %ss", f.name, text, text)
	}
	return usagef("--%s %s: %s; %s", f.name, text, problem, cmp.Or(remedy, duration.Remedy))
}
