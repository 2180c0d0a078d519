package main

import (
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// A killer is a part of a test: the functions of those names, as alternatives of
// a pattern, or all of them if there is none.
type killer struct {
	at    int // which of the tests
	names string
}

// killers know which functions of the tests mutants have died of, so that they
// run first. They may be used by several goroutines.
type killers struct {
	mu    sync.Mutex
	last  map[string]killer // what killed the last mutant of a function
	quick []killer          // of each test, what has killed and is quick
	met   map[killer]bool   // whether it passes by itself on the unchanged code

	learning sync.Mutex // only one goroutine tries new ones
}

// quickly is the processor time up to which it does not matter to run a function
// of the tests in vain, the start of its binary included.
const quickly = 100 * time.Millisecond

// runnable is what can be asked for by name: not the message of a crash.
var runnable = regexp.MustCompile(`^(Test|Fuzz|Example)\w*$`)

func newKillers(tests int) *killers {
	k := &killers{last: map[string]killer{}, met: map[killer]bool{}}
	for i := range tests {
		k.quick = append(k.quick, killer{at: i})
	}
	return k
}

// order is what to run on a mutant: what killed the last one of its function,
// then what is quick, then all.
func (k *killers) order(m mutant.Mutant) []killer {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []killer
	if last, ok := k.last[place(m)]; ok {
		all = append(all, last)
	}
	for _, quick := range k.quick {
		if quick.names != "" && !slices.Contains(all, quick) {
			all = append(all, quick)
		}
	}
	for i := range k.quick {
		all = append(all, killer{at: i})
	}
	return all
}

// place is the function of a mutant.
func place(m mutant.Mutant) string { return m.File + "\n" + m.Func }

// learn has a killer run first from now on. It must pass on the unchanged code
// without what usually runs before it, and so must the quick ones together.
func (f *first) learn(ctx context.Context, b *bench, m mutant.Mutant, found killer) error {
	if !runnable.MatchString(found.names) {
		return nil
	}
	k := f.killers
	k.learning.Lock()
	defer k.learning.Unlock()
	if _, ok := k.met[found]; !ok {
		if err := f.meet(ctx, b, found); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.met[found] {
		k.last[place(m)] = found
	}
	return nil
}

// meet tries a killer that is new.
func (f *first) meet(ctx context.Context, b *bench, found killer) error {
	k := f.killers
	r, err := f.run(ctx, b, found, 0)
	if err != nil {
		return err
	}
	k.met[found] = r.status == survived
	if !k.met[found] || r.cpu > quickly {
		return nil
	}
	together := found
	if others := k.quick[found.at].names; others != "" {
		together.names = others + "|" + found.names
	}
	if r, err = f.run(ctx, b, together, 0); err != nil || r.status != survived {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.quick[found.at] = together
	return nil
}
