package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// paceFlags are those of `weir pace`.
type paceFlags struct {
	times     int64
	keepGoing bool
}

const paceLong = `Pass lines of standard input on as a limit lets them, or run a command again and
again, as often as it does:

  cat urls | weir pace 10/s | xargs -n 1 curl -s
  weir pace 5/min -- curl -fsS https://api.example/healthz

A limit begins full: 10/s lets ten lines pass at once, and then one each 100ms;
'10/s burst 1' spaces the first ones as well. It is this run's own.

A line is passed on whole when its turn has come, as it is. A command runs when
the one before it has ended, with nothing to read, until it fails or --times is
over.

SIGINT and SIGTERM end it: nothing more is passed on or run. A line that was begun is
passed on to its end, as far as that comes within a second. A command that runs gets
SIGTERM, itself and not what it has started.

Exit codes: 1 when a command fails or an input cannot be read, 2 for a limit or a
flag that cannot be, 130 when interrupted.`

func newPaceCmd(env *Env) *cobra.Command {
	var flags paceFlags
	cmd := &cobra.Command{
		Use:               "pace LIMIT [-- COMMAND [ARG]...]",
		Short:             "Pass lines on at a rate, or run a command at one",
		Long:              paceLong,
		ValidArgsFunction: completePace,
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, command, err := paceArgs(args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			if err := flags.check(command); err != nil {
				return err
			}
			p, err := newPacer(env, limit)
			if err != nil {
				return err
			}
			if len(command) > 0 {
				return p.interruptible(cmd.Context(), 0, func(ctx context.Context) error { return p.runs(ctx, command, flags) })
			}
			return p.interruptible(cmd.Context(), stallTime, p.lines)
		},
	}
	cmd.SetFlagErrorFunc(paceFlagError)
	wholeVar(cmd, &flags.times, "times", "n", math.MaxInt64, "how often to run the command, 1 or more (default: without end)")
	cmd.Flags().BoolVarP(&flags.keepGoing, "keep-going", "k", false, "go on when the command fails")
	return cmd
}

// paceFlagError knows whose a flag probably is that pace has not.
func paceFlagError(cmd *cobra.Command, err error) error {
	err = flagError(cmd, err)
	if text := err.Error(); !strings.HasPrefix(text, "unknown") || strings.Contains(text, "; ") {
		return err
	}
	return exits(exitUsage, fmt.Errorf("%w; a command and its flags stand behind --", err))
}

// completePace completes nothing for a limit, and files for a command.
func completePace(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// paceArgs tells the limit from the command; dash is how many arguments stand
// before --, -1 without.
func paceArgs(args []string, dash int) (limit string, command []string, err error) {
	before := args
	if dash >= 0 {
		before, command = args[:dash], args[dash:]
	}
	switch {
	case len(before) == 0:
		return "", nil, usagef("a limit is missing, such as: weir pace 10/s")
	case len(before) > 1:
		first, err := unquoted("weir pace", before)
		if first && dash < 0 {
			err = usagef("%q is one argument too many; a command stands behind --: weir pace %s -- %s", before[1], before[0], strings.Join(before[1:], " "))
		}
		return "", nil, err
	case dash >= 0 && len(command) == 0:
		return "", nil, usagef("a command is missing behind --")
	}
	return before[0], command, nil
}

// unquoted says what is wrong with several arguments in the place of a limit, behind a
// command. first says that the first of them is a limit, and what follows is none of its
// words: perhaps something else was meant by it.
func unquoted(command string, words []string) (first bool, err error) {
	const quotes = "a limit of several words stands in quotes"
	text := strings.Join(words, " ")
	_, wrong := weir.ParseSpec(text)
	_, err = weir.ParseSpec(words[0])
	switch {
	case wrong == nil:
		return false, usagef("%q is one argument too many; %s: %s '%s'", words[1], quotes, command, text)
	case err == nil:
		return true, usagef("%q is one argument too many; %s", words[1], quotes)
	}
	return false, usagef("%w; %s", wrong, quotes)
}

// check refuses what the flags cannot mean.
func (f *paceFlags) check(command []string) error {
	switch {
	case len(command) == 0 && f.times > 0:
		return usagef("--times is for a command, and there is none; head -n %d takes so many lines", f.times)
	case len(command) == 0 && f.keepGoing:
		return usagef("--keep-going is for a command, and there is none")
	}
	return nil
}

// pacer says when the next may go.
type pacer struct {
	env     *Env
	limiter *weir.Limiter
	outcome weir.Outcome
}

func newPacer(env *Env, text string) (*pacer, error) {
	limit, err := weir.ParseLimit("pace", text)
	if err != nil {
		return nil, exits(exitUsage, err)
	}
	if err := unpaced(limit.Spec()); err != nil {
		return nil, err
	}
	store, err := paceStore(env, limit)
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(store, limit)
	return &pacer{env: env, limiter: limiter}, err
}

// unpaced refuses a limit under which waiting makes no sense.
func unpaced(s weir.Spec) error {
	switch {
	case s.Algorithm == weir.Deny:
		return usagef("limit deny: nothing would ever pass")
	case s.Algorithm == weir.Concurrency:
		return usagef("limit %s: one runs at a time anyway; write a rate such as 10/s", s)
	case s.Block != (weir.Block{}):
		return usagef("limit %s: whoever waits is refused first, and would be blocked by that; leave block out", s)
	}
	return nil
}

// A store for one key, which takes as much room as its limit needs: from the least to
// more than any limit takes that can be written.
const (
	paceKeys     = 1 << 10
	mostPaceKeys = 1 << 24
)

// paceStore makes the smallest of the stores, each twice as large as the one before,
// that a key of the limit fits in.
func paceStore(env *Env, limit *weir.Limit) (*memstore.Store, error) {
	for keys := paceKeys; ; keys *= 2 {
		store, err := memstore.New(memstore.Config{MaxKeys: keys, Now: env.storeClock()})
		if err != nil {
			return nil, err
		}
		err = store.Expect(limit)
		_, small := errors.AsType[*memstore.RoomError](err)
		switch {
		case small && keys >= mostPaceKeys:
			return nil, usagef("limit %s: it remembers more than pace has room for; write a smaller count", limit)
		case !small:
			return store, err
		}
	}
}

// storeClock is a clock for a store: it begins at the wall clock's time, and runs
// with the monotonic one.
func (e *Env) storeClock() func() weir.Micros {
	begun := e.Now()
	elapsed := e.Elapsed
	if elapsed == nil {
		elapsed = func() time.Duration { return e.Now().Sub(begun) }
	}
	since := elapsed()
	return func() weir.Micros { return weir.Micros(begun.Add(elapsed() - since).UnixMicro()) }
}

// turn waits until the next may go.
func (p *pacer) turn(ctx context.Context) error {
	for {
		if err := p.limiter.Take(ctx, &p.outcome, 1); err != nil {
			return err
		}
		if p.outcome.Allowed {
			return p.wait(ctx, p.outcome.Delay)
		}
		if err := p.wait(ctx, max(1, p.outcome.RetryAfter)); err != nil {
			return err
		}
	}
}

// wait waits for d, or until the context ends.
func (p *pacer) wait(ctx context.Context, d weir.Micros) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	ticks, stop := p.env.Every(time.Duration(d) * time.Microsecond)
	defer stop()
	select {
	case <-ticks:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stallTime is how long the rest of a line, and whoever reads it, may keep an
// interrupted run from ending.
const stallTime = time.Second

// interruptible does work until SIGINT or SIGTERM come: its context ends then, and
// it is waited for, no longer than stall where that is given.
//
// SIGPIPE only has to be asked for: then a write whose reader has gone is an error,
// and not the end of the process.
func (p *pacer) interruptible(ctx context.Context, stall time.Duration, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got, ignore := p.env.Signals(os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	defer ignore()
	done := make(chan struct{})
	var err error // of what is done
	go func() {
		defer close(done)
		err = work(ctx)
	}()
	for {
		select {
		case <-done:
			if errors.Is(err, syscall.EPIPE) {
				return nil // whoever reads has had enough
			}
			return err
		case signal := <-got:
			if signal == syscall.SIGPIPE {
				continue
			}
		}
		break
	}
	cancel()
	var stalled <-chan time.Time
	if stall > 0 {
		ticks, stop := p.env.Every(stall)
		defer stop()
		stalled = ticks
	}
	select {
	case <-done:
	case <-stalled:
	}
	return exits(exitInterrupted, nil)
}

// lines passes standard input on. A line that was begun is passed on to its end, also
// when the context ends meanwhile: interruptible knows how long that may take.
func (p *pacer) lines(ctx context.Context) error {
	in := newLineReader(p.env.Stdin)
	defer in.stop()
	within := false // a line that is not over yet
	for {
		wanted := ctx
		if within {
			wanted = context.WithoutCancel(ctx)
		}
		piece, err := in.next(wanted)
		if len(piece) > 0 {
			if !within {
				if err := p.turn(ctx); err != nil {
					return err
				}
			}
			if _, err := p.env.Stdout.Write(piece); err != nil {
				return err
			}
		}
		within = errors.Is(err, errLongLine)
		switch {
		case err == nil || within:
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// runs runs a command again and again.
func (p *pacer) runs(ctx context.Context, command []string, flags paceFlags) error {
	failed := int64(0)
	for n := int64(0); flags.times == 0 || n < flags.times; n++ {
		if err := p.turn(ctx); err != nil {
			return err
		}
		err := p.env.Run(ctx, p.env.Stdout, p.env.Stderr, command[0], command[1:]...)
		ended := (interface{ ExitCode() int })(nil)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			continue
		case errors.As(err, new(*exitError)): // the terminal has told the command first
			return err
		case !flags.keepGoing || !errors.As(err, &ended): // one that cannot be started never can
			return fmt.Errorf("%s: %w", command[0], err)
		}
		failed++
		fmt.Fprintf(p.env.Stderr, "weir: %s: %v\n", command[0], err)
	}
	if failed > 0 {
		return fmt.Errorf("%s failed %d of %d times", command[0], failed, flags.times)
	}
	return nil
}
