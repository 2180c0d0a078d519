package main

import (
	"context"
	"errors"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/cmd/weir/internal/spool"
	"github.com/weirhq/weir/policy"
)

// serveFlags are those of `weir serve`.
type serveFlags struct {
	logFormat, logLevel      string
	watch                    bool
	drainDelay, drainTimeout time.Duration
}

const serveLong = `Serve what a rules file says: a reverse proxy, decisions for others, and an
endpoint for operators.

SIGHUP loads the rules and certificates again, and so does a change of their
files, unless --watch=false. A file with a mistake changes nothing.

SIGTERM and SIGINT drain: readiness goes first, then the listeners close, and
requests in flight end. A second signal ends at once.

WEIR_SWITCH_FILE names a file, read each second, that may hold shadow or off:
limits are no longer enforced then, or not even decided.`

func newServeCmd(env *Env) *cobra.Command {
	flags := serveFlags{drainTimeout: 30 * time.Second}
	cmd := &cobra.Command{
		Use:               "serve [FILE]",
		Short:             "Serve what a rules file says",
		Long:              serveLong,
		Args:              atMost(1),
		ValidArgsFunction: completeFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			return spooled(cmd, env, args, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.logFormat, "log-format", "text", "text or json")
	f.StringVar(&flags.logLevel, "log-level", "info", "debug, info, warn or error")
	f.BoolVar(&flags.watch, "watch", true, "load again when files change")
	durationVar(cmd, &flags.drainDelay, "drain-delay", true, "how long to go on answering after readiness went, such as 5s on Kubernetes")
	durationVar(cmd, &flags.drainTimeout, "drain-timeout", false, "how long requests in flight may take to end")
	completeWords(cmd, "log-format", "text", "json")
	completeWords(cmd, "log-level", "debug", "info", "warn", "error")
	return cmd
}

// spooled serves with a log that waits for nobody. What is said at the end comes
// behind it: whoever wrote it past a log that stands still would stand still too.
func spooled(cmd *cobra.Command, env *Env, args []string, flags serveFlags) error {
	out := spool.New(env.Stderr, flags.leftOut)
	var last strings.Builder
	defer func() { out.Close(last.String(), time.Second, time.After) }()
	err := served(env.toldTo(&last), serve(cmd.Context(), env.toldTo(out), args, flags))
	if err == nil {
		return nil
	}
	return exits(tell(&last, cmd, err), nil)
}

// serve runs the daemon. Standard error is its log.
func serve(ctx context.Context, env *Env, args []string, flags serveFlags) error {
	log, err := flags.logger(env.Stderr)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // whoever reads the log may go: the API stays
	stdlog.SetOutput(slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer())
	stdlog.SetFlags(0) // what net/http says of an upstream holds the upstream's text
	source, err := env.source(args)
	if err != nil {
		return err
	}
	signals, stop := env.Signals(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	built := version(env)
	c := daemon.Config{
		Source:       source,
		Watch:        flags.watch,
		SwitchFile:   env.Getenv("WEIR_SWITCH_FILE"),
		DrainDelay:   flags.drainDelay,
		DrainTimeout: flags.drainTimeout,
		Version:      built.Version,
		Revision:     built.Revision,
		Headroom:     env.Getenv("GOGC") == "" && env.Getenv("GOMEMLIMIT") == "", // else somebody has said what he wants
		Log:          log,
		Signals:      signals,
		Now:          env.Now,
		Elapsed:      env.Elapsed,
		Every:        env.Every,
	}
	if flags.logFormat == "text" {
		c.Welcome = env.Stderr
	}
	return daemon.Run(ctx, c)
}

// served gives the daemon's end its exit code.
func served(env *Env, err error) error {
	var found policy.Diagnostics
	switch {
	case errors.As(err, &found):
		return env.invalid(found)
	case errors.Is(err, daemon.ErrCut):
		return exits(exitInterrupted, err)
	}
	return err
}

// leftOut is the line of the log that tells of those that nobody read.
func (f *serveFlags) leftOut(lost int) string {
	var b strings.Builder
	log, err := f.logger(&b)
	if err != nil {
		return "" // nothing has been logged then
	}
	log.Warn("lines of the log were left out, since nobody read it", "lines", lost)
	return b.String()
}

// logger makes the log that the flags ask for.
func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	o := slog.HandlerOptions{}
	switch f.logLevel {
	case "debug":
		o.Level = slog.LevelDebug
	case "info":
		o.Level = slog.LevelInfo
	case "warn":
		o.Level = slog.LevelWarn
	case "error":
		o.Level = slog.LevelError
	default:
		return nil, usagef("--log-level %s: use debug, info, warn or error", f.logLevel)
	}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, &o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &o)), nil
	}
	return nil, usagef("--log-format %s: use text or json", f.logFormat)
}
