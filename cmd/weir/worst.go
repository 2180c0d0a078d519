package main

import (
	"fmt"
	"io"

	"github.com/weirhq/weir/policy"
)

// printWorst prints what each limit allows at worst, and what it needs.
func printWorst(w io.Writer, list []policy.WorstCase) error {
	for i := range list {
		c := &list[i]
		name := c.Limit
		if c.Plan != "" {
			name += ", plan " + c.Plan
		}
		if _, err := fmt.Fprintf(w, "%s\n  %s\n  %s\n", name, c, c.Room()); err != nil {
			return err
		}
	}
	return nil
}
