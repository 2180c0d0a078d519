package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A prepared target is ready for trials.
type prepared struct {
	target
	code        code
	mutants     []mutant.Mutant // all of them
	chosen      []mutant.Mutant // those of the sample
	fingerprint string
	bounds      []bound // of each test
	first       *first  // nil if each mutant is compiled by itself
}

// A result is what became of one mutant.
type result struct {
	mutant.Mutant
	outcome
	Package string `json:"package"`
	Reason  string `json:"reason,omitempty"` // why it may live
	Kept    bool   `json:"kept"`             // it was found out by an earlier run
}

// mutate does all but telling.
func mutate(ctx context.Context, o options, log io.Writer) (*findings, error) {
	began := time.Now()
	targets, err := plan(o.table, o.packages)
	if err != nil {
		return nil, err
	}
	excuses, err := readExcuses(o.accepted)
	if err != nil {
		return nil, err
	}
	known, err := openCache(o.cache)
	if err != nil {
		return nil, err
	}
	defer func() { _ = known.close() }()
	work, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if work, err = filepath.EvalSymlinks(work); err != nil { // as the go command writes it
		return nil, err
	}
	f := &findings{began: began, commit: commit(ctx)}
	t, err := newTree(work, o.shared)
	if err != nil {
		return nil, err
	}
	ready, err := prepare(ctx, o, t, targets, log)
	if err != nil {
		return nil, err
	}
	if err := excuses.match(ready); err != nil {
		return nil, err
	}
	p := &pool{options: o, tree: t, known: known, log: log, end: began.Add(o.within)}
	if err := p.switchAll(ctx, ready); err != nil {
		return nil, err
	}
	f.results, err = p.tryAll(ctx, ready)
	f.excuse(excuses)
	f.took = time.Since(began)
	return f, err
}

// prepare makes the mutants of each target, whose tests must pass as they are.
func prepare(ctx context.Context, o options, t tree, targets []target, log io.Writer) ([]prepared, error) {
	b, err := newBench(t, "unchanged", o.limits.memory)
	if err != nil {
		return nil, err
	}
	var all []prepared
	for _, target := range targets {
		p := prepared{target: target}
		var err error
		if p.code, err = t.read(ctx, target.pkg); err != nil {
			return nil, err
		}
		if p.mutants, err = mutant.Of(p.code.path, p.code.sources, p.code.importer); err != nil {
			return nil, err
		}
		p.chosen = sample(p.mutants, o.sample, o.seed)
		if p.fingerprint, err = t.fingerprint(ctx, target.tests); err != nil {
			return nil, err
		}
		if _, p.bounds, err = b.measure(ctx, target.tests, o.limits, ""); err != nil {
			return nil, err
		}
		fmt.Fprintf(log, "%s: %d mutants, %d to try\n", target, len(p.mutants), len(p.chosen))
		all = append(all, p)
	}
	return all, nil
}

// measure runs the tests on code that does what the unchanged code does, where
// they must pass, and returns their binaries and what they may use on a mutant.
func (b *bench) measure(ctx context.Context, tests []test, l limits, overlay string) (binaries []string, bounds []bound, err error) {
	built := map[string]string{}
	for i, t := range tests {
		if built[t.pkg] == "" {
			binary, refusal, err := b.build(ctx, t.pkg, overlay, strconv.Itoa(i))
			if err != nil {
				return nil, nil, err
			}
			if refusal != "" {
				return nil, nil, fmt.Errorf("the tests of %s do not compile with all mutants: %s", t.pkg, refusal)
			}
			built[t.pkg] = binary
		}
		binary := built[t.pkg]
		r, err := b.run(ctx, t, binary, bound{cpu: time.Hour, wall: time.Hour})
		if err != nil {
			return nil, nil, err
		}
		if r.status != survived {
			return nil, nil, fmt.Errorf("%s does not pass on the unchanged code:\n%s", t, r.output)
		}
		binaries = append(binaries, binary)
		bounds = append(bounds, bound{
			cpu:  l.cpu + time.Duration(l.times)*r.cpu,
			wall: l.wall + time.Duration(l.times)*r.wall,
		})
	}
	return binaries, bounds, nil
}

// sample chooses n of the mutants, or all if n is 0, in their order. The same
// seed chooses the same ones.
func sample(all []mutant.Mutant, n int, seed uint64) []mutant.Mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	at := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(at)
	var some []mutant.Mutant
	for _, i := range at {
		some = append(some, all[i])
	}
	return some
}
