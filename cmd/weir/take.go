package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/internal/duration"
)

// takeFlags are those of `weir take`.
type takeFlags struct {
	server, token string
	cost          int64
	peek, json    bool
}

const takeLong = `Ask a daemon to take units of KEY under LIMIT, such as

  weir take user:42 '5/s burst 5' --server http://127.0.0.1:8080

KEY is any text; states are kept by key and period, apart from those of rules.

Exit codes: 2 for a limit or a flag that cannot be, or that the daemon refuses, 5
when the units are refused, 6 when the daemon cannot be reached.`

func newTakeCmd(env *Env) *cobra.Command {
	flags := takeFlags{cost: 1}
	cmd := &cobra.Command{
		Use:   "take KEY LIMIT --server URL",
		Short: "Take units under a limit from a daemon",
		Long:  takeLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) <= 2 {
				return nil
			}
			_, err := unquoted("weir take KEY", args[1:])
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := env.interruptible(cmd.Context())
			defer stop()
			return take(ctx, env, args, flags)
		},
	}
	cmd.Flags().StringVar(&flags.server, "server", "", "URL of the daemon's http listener, or unix:PATH")
	cmd.Flags().StringVar(&flags.token, "token", "", "where the listener's token is: env:NAME or file:PATH")
	wholeVar(cmd, &flags.cost, "cost", "", decide.MostCost, "units to take, 1 or more")
	cmd.Flags().BoolVar(&flags.peek, "peek", false, "look without taking")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	return cmd
}

func take(ctx context.Context, env *Env, args []string, flags takeFlags) error {
	if len(args) < 2 {
		return usagef("take needs a key and a limit, such as: weir take user:42 '5/s burst 5' --server http://127.0.0.1:8080")
	}
	if _, err := weir.ParseLimit("take", args[1]); err != nil {
		return exits(exitUsage, err)
	}
	c, err := newClient(env, flags.server, flags.token)
	if err != nil {
		return err
	}
	answer, err := c.Take(ctx, decide.TakeRequest{Key: args[0], Limit: args[1], Cost: flags.cost, Peek: flags.peek})
	if err != nil {
		return asked(err)
	}
	if flags.json {
		err = printJSON(env.Stdout, answer)
	} else {
		err = printTake(env.Stdout, answer, flags.cost)
	}
	if err == nil && !answer.Allowed {
		err = exits(exitVerdict, nil)
	}
	return err
}

// printTake tells people what was answered.
func printTake(w io.Writer, a *decide.TakeAnswer, cost int64) error {
	var text string
	switch {
	case a.Count == 0 && a.Allowed:
		text = "allowed: nothing is counted"
	case a.Count == 0:
		text = "refused: nothing passes"
	case a.Allowed:
		text = fmt.Sprintf("allowed%s: %d of %d left", after(a.DelayMS), a.Remaining, a.Capacity)
	case a.Never:
		text = fmt.Sprintf("refused: a cost of %d is above the capacity of %d, waiting does not help", cost, a.Capacity)
	case a.Blocked:
		text = "refused: blocked, come back in " + milliseconds(a.RetryAfterMS)
	default:
		text = fmt.Sprintf("refused: %d of %d left, come back in %s", a.Remaining, a.Capacity, milliseconds(a.RetryAfterMS))
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// milliseconds prints a span as limits have it: 180ms, 1m30s.
func milliseconds(ms int64) string {
	return duration.Format(time.Duration(ms) * time.Millisecond)
}
