package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
	"github.com/weirhq/weir/bench/internal/report"
)

// options are what the command line says.
type options struct {
	args       []string
	only       only
	sizes      []string
	parts      []string
	rounds     int
	time       time.Duration
	goroutines int
	keys       int
	crowd      int
	contention time.Duration
	format     string
	save, read string
	request    string
}

// allParts are the parts of a run, in their order.
func allParts() []string {
	return []string{measure.Speed, measure.Calls, measure.Latency, measure.Contention}
}

func parse(args []string, usage io.Writer) (*options, error) {
	o := &options{args: args}
	var names, sizes, parts string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&names, "only", ".", "measure contenders whose name matches one of these regular `expressions`, by |, each of which must match one; the calls of several takes go by their names with weir before")
	f.StringVar(&sizes, "sizes", strings.Join(keyset.Names(), ","), "the key `sets`, by commas")
	f.StringVar(&parts, "parts", strings.Join(allParts(), ","), "the `parts` of the report, by commas")
	f.IntVar(&o.rounds, "rounds", 5, "how often all contenders are gone through; the medians count")
	f.DurationVar(&o.time, "time", 300*time.Millisecond, "how long each figure is measured in a round")
	f.IntVar(&o.goroutines, "goroutines", 4, "how many ask at once in the parallel figures, for each processor")
	f.IntVar(&o.keys, "keys", 1_000_000, "how many keys come in the part latency; its tables of dead and of live keys are for a fourth and a tenth of them")
	f.IntVar(&o.crowd, "crowd", 64, "how many ask for one key in the part contention")
	f.DurationVar(&o.contention, "contention", 2500*time.Millisecond, "how long they do; half a second past a whole one, so that no fixed window is about to end")
	f.StringVar(&o.format, "format", "text", "text, markdown or json")
	f.StringVar(&o.save, "json", "", "also write all samples to this `file`")
	f.StringVar(&o.read, "read", "", "measure nothing, and print the report of a `file` that -json has written")
	f.StringVar(&o.request, "request", "", "answer one `request` in JSON: how the program asks itself")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q: there are no arguments but flags", f.Arg(0))
	}
	var err error
	if o.only, err = parseOnly(names); err != nil {
		return nil, err
	}
	if o.sizes, err = choose("-sizes", sizes, keyset.Names()); err != nil {
		return nil, err
	}
	if o.parts, err = choose("-parts", parts, allParts()); err != nil {
		return nil, err
	}
	return o, errors.Join(o.validate(), o.checkOnly())
}

// choose splits a list and sees that all of it is known.
func choose(name, list string, known []string) ([]string, error) {
	chosen := strings.Split(list, ",")
	for _, word := range chosen {
		if !slices.Contains(known, word) {
			return nil, fmt.Errorf("%s: %q is none of %s", name, word, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

func (o *options) validate() error {
	switch {
	case o.rounds < 1 || o.goroutines < 1 || o.crowd < 1:
		return fmt.Errorf("-rounds %d, -goroutines %d, -crowd %d: each must be 1 or more", o.rounds, o.goroutines, o.crowd)
	case o.keys < measure.LeastKeys || o.keys > measure.MostKeys:
		return fmt.Errorf("-keys %d: it is %d to %d", o.keys, measure.LeastKeys, measure.MostKeys)
	case o.time <= 0 || o.contention <= 0:
		return fmt.Errorf("-time %v, -contention %v: each must be longer than nothing", o.time, o.contention)
	case !slices.Contains([]string{"text", "markdown", "json"}, o.format):
		return fmt.Errorf("-format %q: it is text, markdown or json", o.format)
	}
	return nil
}

// print writes a report in the format that was asked for.
func (o *options) print(r *report.Report, w io.Writer) error {
	switch o.format {
	case "markdown":
		return r.WriteMarkdown(w)
	case "json":
		return r.WriteJSON(w)
	default:
		return r.WriteText(w)
	}
}

// A table is what is measured of a part at a time: its rows are compared with each
// other.
type table struct{ part, set string }

// tables are those of the run, in their order.
func (o *options) tables() (all []table) {
	for _, part := range o.parts {
		switch part {
		case measure.Speed, measure.Calls:
			for _, set := range o.sizes {
				all = append(all, table{part, set})
			}
		case measure.Latency:
			for _, phase := range []string{measure.Growth, measure.Sweep, measure.Flood} {
				all = append(all, table{part, phase})
			}
		case measure.Contention:
			all = append(all, table{part, ""})
		}
	}
	return all
}

// groups are the requests of one round; those of a table follow each other.
func (o *options) groups() (all [][]measure.Request) {
	for _, t := range o.tables() {
		if group := o.group(t.part, t.set); len(group) > 0 {
			all = append(all, group)
		}
	}
	return all
}

func (o *options) group(part, set string) []measure.Request {
	q := measure.Request{Part: part, Set: set, Time: o.time, Goroutines: o.goroutines, Procs: runtime.NumCPU()}
	switch part {
	case measure.Speed:
		q.Refusals = set == "hot" || set == "1e5"
	case measure.Latency:
		q.Keys = o.keys
	case measure.Contention:
		q.Time, q.Goroutines = o.contention, o.crowd
	}
	var group []measure.Request
	for _, name := range contenders(part, set) {
		if o.only.matches(part, name) {
			q.Contender = name
			group = append(group, q)
		}
	}
	return group
}

// contenders names those that can be measured in a part and set.
func contenders(part, set string) (names []string) {
	if part == measure.Calls {
		if set == "hot" || set == "1e5" || set == "1e6" {
			for _, c := range lineup.Calls() {
				names = append(names, c.Name)
			}
		}
		return names
	}
	for _, c := range lineup.All() {
		switch {
		case c.Name == lineup.Loop && part == measure.Latency: // the clock, and the machine
			names = append(names, c.Name)
		case c.Kind == lineup.Floor && part != measure.Speed: // it has no table to grow, and no bound
		case c.Kind == lineup.Single && part != measure.Contention && set != "hot":
		default:
			names = append(names, c.Name)
		}
	}
	return names
}
