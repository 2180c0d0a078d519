package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A pool tries mutants, several at a time.
type pool struct {
	options
	tree  tree
	known *cache
	log   io.Writer
	end   time.Time // when no other is begun

	mu      sync.Mutex
	results []result
	done    int
	err     error // the first
}

// A job is one mutant to try, and where its result goes.
type job struct {
	prepared
	mutant.Mutant
	at int
}

// tryAll returns a result for each mutant, in the order of the targets, also
// where it stops: because the time is up, or with an error, or because ctx is
// done.
func (p *pool) tryAll(ctx context.Context, targets []prepared) ([]result, error) {
	benches, err := p.benches()
	if err != nil {
		return nil, err
	}
	var jobs []job
	for _, t := range targets {
		for _, m := range t.chosen {
			jobs = append(jobs, job{t, m, len(jobs)})
			p.results = append(p.results, result{Mutant: m, Package: t.pkg, outcome: outcome{Status: notRun}})
		}
	}
	queue := make(chan job)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for _, b := range benches {
		workers.Go(func() {
			for j := range queue {
				if err := p.try(ctx, b, j); err != nil {
					p.fail(err)
					stop()
				}
			}
		})
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	workers.Wait()
	if errors.Is(p.err, context.Canceled) {
		p.err = nil // asked to stop: what there is, is told
	}
	return p.results, p.err
}

// benches are as many as may be used at a time.
func (p *pool) benches() ([]*bench, error) {
	var all []*bench
	for i := range p.procs {
		b, err := newBench(p.tree, fmt.Sprintf("bench%d", i), p.limits.memory)
		if err != nil {
			return nil, err
		}
		if !p.shared {
			b.tree.own = filepath.Join(b.dir, "cache")
		}
		all = append(all, b)
	}
	return all, nil
}

// try finds out about one mutant, unless there is no time left for it.
func (p *pool) try(ctx context.Context, b *bench, j job) error {
	o, kept := p.kept(j.Mutant, j.prepared)
	if !kept {
		if p.over(ctx) {
			return nil
		}
		var err error
		if o, err = p.find(ctx, b, j); err != nil {
			return err
		}
		if err := p.known.put(j.Mutant, j.prepared, o); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[j.at].outcome, p.results[j.at].Kept = o, kept
	p.done++
	if !kept {
		fmt.Fprintf(p.log, "%d of %d: %s, %.1f s to build, %.1f s to test: %s:%d: %s\n",
			p.done, len(p.results), o.Status, o.Build.Seconds(), o.Test.Seconds(), j.File, j.Line, j.Now)
	}
	return nil
}

func (p *pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = cmp.Or(p.err, err)
}
