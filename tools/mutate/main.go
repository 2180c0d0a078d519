// Mutate sees whether the tests would notice: it makes small changes to a
// package, one at a time, runs the package's tests on each, and lists the
// changes that no test failed on.
//
// Most changes stand in the same test binary first, and one is switched on at a
// time. A change on which a test fails there has been found. Any other is
// compiled by itself, as it would be shipped, and that trial decides.
//
// It works on a copy of the repository that it takes at the start, so that the
// tree may be edited meanwhile, and hands each changed file to the go command
// with -overlay. What it has found out it keeps in a file, and goes on from
// there when it is run again.
//
// Run it from the root of the repository; scripts/mutate.sh does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Exit statuses.
const (
	allDied  = 0 // or has a reason not to
	someLive = 1 // a mutant without a reason, a stale reason, too few that died, or one that the first pass was wrong about
	noResult = 2 // the tool could not do its work
)

// options are what a run is asked for.
type options struct {
	packages []string // as the table has them; none means all of the table
	command  string   // how the report says that it was run

	table, accepted, cache string // files that are read, the last one written too
	report, json           string // files that are written; "" for none

	procs  int           // mutants at a time
	sample int           // how many mutants of each package; 0 means all
	seed   uint64        // which ones
	within time.Duration // after which no other mutant is begun
	least  int           // the percentage that must die
	check  int           // the percentage of the first pass' dead that are compiled too
	limits limits
	shared bool // the go command's usual cache is filled, rather than one that goes with the run
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		return noResult // the flag package has told
	}
	found, err := mutate(ctx, o, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return noResult
	}
	if err := found.publish(o, stdout); err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return noResult
	}
	return found.status(o.least)
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{limits: usual()}
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.command, "command", "mutate", "how the report says that it was run")
	f.StringVar(&o.table, "table", "tools/mutate/packages.txt", "the packages and their tests")
	f.StringVar(&o.accepted, "accepted", "docs/reports/mutants.txt", "the mutants that may live, and why")
	f.StringVar(&o.cache, "cache", "dist/mutants.jsonl", "what earlier runs have found out; remove it to begin anew")
	f.StringVar(&o.report, "report", "", "where to write the report of a whole run of all packages")
	f.StringVar(&o.json, "json", "", "where to write all results as JSON")
	f.IntVar(&o.procs, "p", runtime.GOMAXPROCS(0), "how many mutants at a time")
	f.IntVar(&o.sample, "sample", 0, "how many mutants of each package to try; 0 means all")
	f.Uint64Var(&o.seed, "seed", 1, "which mutants a sample has")
	f.DurationVar(&o.within, "within", 6*time.Hour, "the time after which no other mutant is begun")
	f.IntVar(&o.least, "least", 95, "the percentage of mutants that must die")
	f.IntVar(&o.check, "check", 2, "the percentage of mutants that are compiled though a test failed on them in the binary of all")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.packages = f.Args()
	if o.procs < 1 || o.sample < 0 || o.within <= 0 || o.least < 0 || o.least > 100 || o.check < 0 || o.check > 100 {
		err := fmt.Errorf("-p is at least 1, -sample not negative, -within above 0, -least and -check from 0 to 100")
		fmt.Fprintln(stderr, "mutate:", err)
		return o, err
	}
	return o, nil
}
