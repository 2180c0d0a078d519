package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A first pass has many mutants of a package in the same test binaries, so that
// to try one costs its tests alone. It only sorts: a mutant that a test fails on
// is dead; one that lives there, or takes long, is compiled and tried by itself.
// It may be used by several goroutines.
type first struct {
	numbers  map[string]int  // what chooses a mutant, by its name
	refused  map[string]bool // names of those that do not compile
	tests    []test          // without what counts allocations
	binaries []string        // of each test
	bounds   []bound         // of each test

	killers *killers
}

// switchAll prepares the first pass of each target that has mutants left to
// try. One that cannot have any is told of, and does without.
func (p *pool) switchAll(ctx context.Context, targets []prepared) error {
	for i := range targets {
		t := &targets[i]
		left := slices.DeleteFunc(slices.Clone(t.chosen), func(m mutant.Mutant) bool {
			_, kept := p.kept(m, *t)
			return kept
		})
		if len(left) == 0 || p.over(ctx) {
			continue
		}
		b, err := newBench(p.tree, fmt.Sprintf("switched%d", i), p.limits.memory)
		if err != nil {
			return err
		}
		began := time.Now()
		f, err := newFirst(ctx, b, *t, left, p.limits)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			fmt.Fprintf(p.log, "%s: each mutant is compiled by itself: %v\n", t.target, err)
		default:
			t.first = f
			fmt.Fprintf(p.log, "%s: %d mutants in one binary, %.1f s to build and to run unchanged\n", t.target, len(f.numbers), time.Since(began).Seconds())
		}
	}
	return nil
}

func newFirst(ctx context.Context, b *bench, t prepared, mutants []mutant.Mutant, l limits) (*first, error) {
	s, err := mutant.Switch(t.code.path, t.code.sources, mutants, t.code.importer)
	if err != nil {
		return nil, err
	}
	f := &first{numbers: s.Numbers, refused: s.Refused, killers: newKillers(len(t.tests))}
	for _, t := range t.tests {
		f.tests = append(f.tests, t.without(allocations))
	}
	overlay, err := b.overlay(s.Sources)
	if err != nil {
		return nil, err
	}
	f.binaries, f.bounds, err = b.measure(ctx, f.tests, l.hasty(), overlay)
	return f, err
}

// allocations are the tests that count allocations, by the rule of the house for
// their names. What the compiler makes of a function with a switch in it may
// allocate where the function itself does not.
const allocations = "^TestAllocations"

// without leaves out what a pattern matches.
func (t test) without(pattern string) test {
	args := slices.Clone(t.args)
	for i, arg := range args {
		if strings.HasPrefix(arg, "-test.skip=") {
			args[i] = arg + "|" + pattern
			return test{t.pkg, args}
		}
	}
	return test{t.pkg, append(args, "-test.skip="+pattern)}
}

// hasty limits are for what is tried again when it reaches them.
func (l limits) hasty() limits {
	return limits{cpu: l.cpu / 2, wall: l.wall / 2, times: max(1, l.times/2), memory: l.memory}
}

// try runs the tests on a mutant until one fails. The status is notRun for a
// mutant that has no switch.
func (f *first) try(ctx context.Context, b *bench, m mutant.Mutant) (outcome, error) {
	if f.refused[m.Name()] {
		return outcome{Status: notCompiled}, nil
	}
	number := f.numbers[m.Name()]
	if number == 0 {
		return outcome{Status: notRun}, nil
	}
	o := outcome{Status: survived}
	for _, part := range f.killers.order(m) {
		r, err := f.run(ctx, b, part, number)
		if err != nil {
			return o, err
		}
		o.Status, o.By = r.status, r.by
		o.Test += r.wall
		if r.status == killed {
			return o, f.learn(ctx, b, m, killer{part.at, r.by})
		}
		if r.status != survived {
			break
		}
	}
	return o, nil
}

// run runs a killer on the mutant of that number; 0 is the unchanged code.
func (f *first) run(ctx context.Context, b *bench, k killer, number int) (ran, error) {
	t := f.tests[k.at]
	if k.names != "" {
		t.args = append(slices.Clone(t.args), "-test.run=^("+k.names+")$")
	}
	return b.run(ctx, t, f.binaries[k.at], f.bounds[k.at], mutant.Variable+"="+strconv.Itoa(number))
}

// find finds out about one mutant: by the first pass where that decides, else by
// itself.
func (p *pool) find(ctx context.Context, b *bench, j job) (outcome, error) {
	before := outcome{Status: notRun}
	if j.first != nil {
		var err error
		if before, err = j.first.try(ctx, b, j.Mutant); err != nil {
			return before, err
		}
	}
	if before.Status == notRun {
		return b.try(ctx, j.prepared, j.Mutant)
	}
	o := before
	o.First, o.FirstBy = before.Status, before.By
	if o.decided() && !p.checked(j.Mutant) {
		return o, nil
	}
	alone, err := b.try(ctx, j.prepared, j.Mutant)
	o.Status, o.By, o.Build, o.Alone = alone.Status, alone.By, alone.Build, true
	o.Test += alone.Test
	return o, err
}

// decided reports whether the first pass could tell the end of a mutant.
func (o outcome) decided() bool { return o.First == killed || o.First == notCompiled }

// same reports whether a mutant whose end the first pass could tell came to it.
func (o outcome) same() bool {
	return o.First == o.Status || o.First == killed && o.Status == timedOut
}

// checked reports whether a mutant is one of those that are compiled whatever
// the first pass says. They are the same in all runs with the same seed.
func (p *pool) checked(m mutant.Mutant) bool {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", p.seed, m.Name()))
	return binary.BigEndian.Uint64(sum[:8])%100 < uint64(p.check)
}

// kept is what an earlier run has found out about a mutant, unless that is to be
// checked.
func (p *pool) kept(m mutant.Mutant, t prepared) (outcome, bool) {
	o, ok := p.known.get(m, t)
	return o, ok && (!o.decided() || o.Alone || !p.checked(m))
}

// over reports whether no other mutant is begun.
func (p *pool) over(ctx context.Context) bool { return ctx.Err() != nil || time.Now().After(p.end) }
