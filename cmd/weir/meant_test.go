package main

import (
	"slices"
	"testing"
)

// What is meant by other tools' names exists, and no name of ours is taken for
// another.
func TestOtherNames(t *testing.T) {
	root := newRootCmd(processEnv())
	commands := append(commandNames(root), "help") // cobra adds that one when it runs
	for _, o := range otherNames {
		if !slices.Contains(commands, o.command) {
			t.Errorf("there is no command %s", o.command)
		}
		for _, name := range o.names {
			if slices.Contains(commands, name) {
				t.Errorf("%s is a command", name)
			}
		}
	}
	for _, c := range root.Commands() {
		for _, o := range otherFlags {
			for _, name := range o.names {
				if c.Flags().Lookup(name) != nil && meantFlag(c, name) != "" {
					t.Errorf("%s has the flag %s", c.Name(), name)
				}
			}
		}
	}
}
