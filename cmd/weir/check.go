package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/policy"
)

// checkFlags are those of `weir check`.
type checkFlags struct{ json, strict, verbose bool }

// checkJSON is what `weir check --json` prints.
type checkJSON struct {
	File        string           `json:"file"`
	OK          bool             `json:"ok"` // no errors
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Rules       int              `json:"rules"`            // 0 with errors
	Limits      int              `json:"limits"`           // 0 with errors
	Digest      string           `json:"digest,omitempty"` // without errors
	Diagnostics []diagnosticJSON `json:"diagnostics"`

	// Worst has every version of every limit, with -v and without errors.
	Worst []policy.WorstCase `json:"worst,omitempty"`
}

// diagnosticJSON is one thing that is wrong with a rules file.
type diagnosticJSON struct {
	Severity string `json:"severity"` // error or warning
	Code     string `json:"code"`     // stable
	Path     string `json:"path"`     // the field, as in rules[2].limit
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`   // from 1
	Column   int    `json:"column,omitempty"` // from 1, in bytes
	Length   int    `json:"length,omitempty"` // in bytes
}

const checkLong = `Check a rules file, what it names, the environment and whether its table has
room for the limits, and say everything that is wrong: where, what was probably
meant, and a stable code.

Exit codes: 3 with an error, 4 with a warning under --strict.`

func newCheckCmd(env *Env) *cobra.Command {
	var flags checkFlags
	cmd := &cobra.Command{
		Use:               "check [FILE]",
		Short:             "Say everything that is wrong with a rules file",
		Long:              checkLong,
		Args:              atMost(1),
		ValidArgsFunction: completeFile,
		RunE:              func(_ *cobra.Command, args []string) error { return check(env, args, flags) },
	}
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "exit with 4 when there are warnings")
	cmd.Flags().BoolVarP(&flags.verbose, "verbose", "v", false, "print what each limit allows at worst, and what it needs")
	return cmd
}

func check(env *Env, args []string, flags checkFlags) error {
	source, err := env.source(args)
	if err != nil {
		return err
	}
	p, found := policy.Load(source)
	result := checked(source.Name, p, found)
	if flags.verbose && p != nil {
		result.Worst = p.Worst()
	}
	if flags.json {
		err = printJSON(env.Stdout, result)
	} else {
		err = result.print(env.Stdout, found, env.color(env.Stdout))
	}
	switch {
	case err != nil:
		return err
	case !result.OK:
		return exits(exitInvalid, nil)
	case flags.strict && result.Warnings > 0:
		return exits(exitWarnings, nil)
	}
	return nil
}

func checked(name string, p *policy.Policy, found policy.Diagnostics) checkJSON {
	if name == "-" {
		name = "stdin"
	}
	r := checkJSON{File: name, OK: p != nil, Diagnostics: []diagnosticJSON{}}
	for i := range found {
		d := &found[i]
		if d.Severity == policy.Error {
			r.Errors++
		} else {
			r.Warnings++
		}
		r.Diagnostics = append(r.Diagnostics, diagnosticJSON{
			Severity: d.Severity.String(), Code: d.Code, Path: d.Path, Message: d.Message, Hint: d.Hint,
			File: d.File, Line: d.Line, Column: d.Column, Length: d.Length,
		})
	}
	if p != nil {
		r.Rules, r.Limits, r.Digest = len(p.Rules()), len(p.Limits()), p.Digest()
	}
	return r
}

func (r *checkJSON) print(w io.Writer, found policy.Diagnostics, color bool) error {
	if err := found.Print(w, color); err != nil {
		return err
	}
	if err := printWorst(w, r.Worst); err != nil {
		return err
	}
	apart := ""
	if len(found)+len(r.Worst) > 0 {
		apart = "\n"
	}
	_, err := fmt.Fprintf(w, "%s%s: %s\n", apart, r.File, r.summary())
	return err
}

// summary is one line: `3 errors, 1 warning` or `ok: 4 rules, 6 limits`.
func (r *checkJSON) summary() string {
	text := "ok: " + count(r.Rules, "rule") + ", " + count(r.Limits, "limit")
	if !r.OK {
		text = count(r.Errors, "error")
	}
	if r.Warnings > 0 {
		text += ", " + count(r.Warnings, "warning")
	}
	return text
}
