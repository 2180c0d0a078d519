package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// otherNames are what other tools call a command of ours.
var otherNames = [...]struct {
	command string
	names   []string
}{
	{"serve", []string{"run", "start", "up", "server", "daemon", "proxy", "listen"}},
	{"check", []string{"validate", "verify", "lint", "test", "vet", "configtest"}},
	{"explain", []string{"why", "trace", "debug", "describe", "dry-run", "simulate"}},
	{"take", []string{"acquire", "consume", "allow", "hit", "limit"}},
	{"pace", []string{"throttle", "slow", "delay", "sleep", "every", "watch", "repeat"}},
	{"completion", []string{"completions", "autocomplete"}},
	{"help", []string{"usage", "commands"}},
}

// otherFlags are flags of other tools, by what their command's use line holds, and
// where what they say stands here.
var otherFlags = [...]struct {
	use    string
	names  []string
	remedy string
}{
	{"[FILE]", []string{"config", "config-file", "conf", "file", "rules", "c", "f"}, "the file is no flag: weir "},
	{"serve", []string{"port", "listen", "addr", "address", "bind", "proxy", "p"}, "addresses stand in the rules file, the proxy's in listen.proxy"},
	{"serve", []string{"upstream", "backend", "target", "u"}, "the application's address stands in the rules file, in upstream"},
}

// meantCommand gives "; did you mean X?" for a command that does not exist, and ""
// where nothing is known of it.
func meantCommand(typed string, commands []string) string {
	for _, o := range otherNames {
		if slices.Contains(o.names, strings.ToLower(typed)) {
			return "; did you mean " + o.command + "?"
		}
	}
	return didYouMean(typed, commands)
}

// meantFlag says where that stands which a flag of other tools says, and "" of a
// flag that none of them has.
func meantFlag(cmd *cobra.Command, flag string) string {
	for _, o := range otherFlags {
		switch {
		case !strings.Contains(cmd.Use, o.use) || !slices.Contains(o.names, flag):
		case strings.HasSuffix(o.remedy, " "):
			return "; " + o.remedy + cmd.Use
		default:
			return "; " + o.remedy
		}
	}
	return ""
}
