package main

import (
	"io"

	"github.com/spf13/cobra"
)

const completionLong = `Print a script that lets a shell complete weir's commands, flags and files.

  bash        source <(weir completion bash)      # needs the package bash-completion
  zsh         weir completion zsh > "${fpath[1]}/_weir"
  fish        weir completion fish > ~/.config/fish/completions/weir.fish
  powershell  weir completion powershell | Out-String | Invoke-Expression`

// shell is a shell that scripts are made for.
type shell struct {
	name string
	gen  func(root *cobra.Command, w io.Writer) error
}

func shells() []shell {
	return []shell{
		{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
		{"zsh", (*cobra.Command).GenZshCompletion},
		{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
		{"powershell", (*cobra.Command).GenPowerShellCompletionWithDesc},
	}
}

func newCompletionCmd(env *Env) *cobra.Command {
	var names []string
	for _, s := range shells() {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a completion script for a shell",
		Long:      completionLong,
		ValidArgs: names,
		Args:      atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("a shell is missing: bash, zsh, fish or powershell")
			}
			for _, s := range shells() {
				if s.name == args[0] {
					return s.gen(cmd.Root(), env.Stdout)
				}
			}
			return usagef("no completion for %q: use bash, zsh, fish or powershell%s", args[0], didYouMean(args[0], names))
		},
	}
}

// completeWords completes the value of a flag that the command has.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // it fails for an unknown flag alone
}

// completeFile completes the name of a rules file as the first argument.
func completeFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml", "gz"}, cobra.ShellCompDirectiveFilterFileExt
}
