package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/suggest"
)

// run is a whole run of the tool: the arguments without the program's name, and
// the exit code.
func run(args []string, env *Env) int {
	root := newRootCmd(env)
	root.SetArgs(args)
	begun := false // what goes wrong before a command begins is a misuse of the line
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	cmd, err := root.ExecuteContextC(context.Background())
	if known := (*exitError)(nil); err != nil && !begun && !errors.As(err, &known) {
		err = exits(exitUsage, err)
	}
	return tell(env.Stderr, cmd, err)
}

// tell says how a command has ended, where there is something to say, and is its
// exit code.
func tell(w io.Writer, cmd *cobra.Command, err error) int {
	code := codeOf(err)
	if err == nil || strings.TrimSpace(err.Error()) == "" {
		return code
	}
	fmt.Fprintf(w, "weir: %s\n", strings.TrimPrefix(strings.TrimSpace(err.Error()), "weir: "))
	if code == exitUsage {
		fmt.Fprintf(w, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return code
}

const rootLong = `weir limits how fast and how often requests may come.

  weir serve weir.yaml     stands in front of an API, and decides for others
  weir check weir.yaml     says everything that is wrong with a rules file
  weir explain weir.yaml 'POST /api/v1/jobs' --ip 203.0.113.7
                           says which rules a request meets, and why

Where FILE is absent it is the first of $WEIR_CONFIG, ./weir.yaml,
$XDG_CONFIG_HOME/weir/weir.yaml and /etc/weir/weir.yaml; - is standard input.`

func newRootCmd(env *Env) *cobra.Command {
	asked := false // for the version
	root := &cobra.Command{
		Use:           "weir",
		Short:         "Limit how fast and how often requests may come",
		Long:          rootLong,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          known,
		RunE: func(*cobra.Command, []string) error {
			if asked {
				return printVersion(env, false)
			}
			return usagef("a command is missing: serve, check, explain, take, pace, version, completion or help")
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.Flags().BoolVarP(&asked, "version", "v", false, "say which version this is")
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newServeCmd(env),
		newCheckCmd(env),
		newExplainCmd(env),
		newTakeCmd(env),
		newPaceCmd(env),
		newVersionCmd(env),
		newCompletionCmd(env),
		newExitCodesTopic(),
	)
	root.SetHelpCommand(newHelpCmd(root))
	return root
}

// known refuses arguments of the root: they are commands that do not exist.
func known(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("unknown command %q%s", args[0], meantCommand(args[0], commandNames(root)))
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// newHelpCmd is cobra's, but that a topic which does not exist is an error.
func newHelpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command, or about exit-codes",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return commandNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("no help about %q%s", strings.Join(args, " "), meantCommand(strings.Join(args, " "), commandNames(root)))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// newExitCodesTopic is a topic of help.
func newExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("What weir's exit codes mean:\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "\n  %3d  %s", e.code, e.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: b.String()}
}

// atMost refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%q is one argument too many", args[n])
		}
		return nil
	}
}

// flagName finds the flags in what cobra says of their use.
var flagName = regexp.MustCompile(`(?m)^ .*?--([a-z][a-z-]*)`)

// flagError says which flag was probably meant. A flag of ours says itself what is
// wrong with its value.
func flagError(cmd *cobra.Command, err error) error {
	if known := (*exitError)(nil); errors.As(err, &known) {
		return known
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		_, name, _ = strings.Cut(err.Error(), " in -") // -c, or -config
		return exits(exitUsage, fmt.Errorf("%w%s", err, meantFlag(cmd, name)))
	}
	var names []string
	for _, m := range flagName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		names = append(names, m[1])
	}
	hint := meantFlag(cmd, name)
	if near := suggest.Closest(name, names...); near != "" && hint == "" {
		hint = "; did you mean --" + near + "?"
	}
	return usagef("unknown flag --%s%s", name, hint)
}

// didYouMean gives "; did you mean X?", and "" where nothing is near.
func didYouMean(typed string, names []string) string {
	if hint := suggest.DidYouMean(typed, names...); hint != "" {
		return "; " + hint
	}
	return ""
}
