package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
)

// wholeFlag is a whole number from 1 up.
type wholeFlag struct {
	to   *int64
	name string // of the flag
	most int64
}

// wholeVar adds a flag to a command; its default is what to holds, where 0 is none.
func wholeVar(cmd *cobra.Command, to *int64, name, short string, most int64, usage string) {
	cmd.Flags().VarP(&wholeFlag{to, name, most}, name, short, usage)
}

// Type is what help calls a value.
func (f *wholeFlag) Type() string { return "int" }

func (f *wholeFlag) String() string { return strconv.FormatInt(*f.to, 10) }

// Set reads a value. The error is a misuse that names the flag.
func (f *wholeFlag) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && 1 <= n && n <= f.most:
		*f.to = n
		return nil
	case err == nil && n < 1:
		return f.refuse(text, "it is below 1")
	case digits(text):
		return f.refuse(text, "it is too large")
	}
	return f.refuse(text, "it is no whole number in digits")
}

func (f *wholeFlag) refuse(text, problem string) error {
	return usagef("--%s %s: %s; write 1 to %d, or leave it out", f.name, fmt.Sprintf("%.40s", text), problem, f.most)
}

// digits reports a text of decimal digits alone.
func digits(text string) bool {
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return text != ""
}
