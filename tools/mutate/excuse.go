package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
	"github.com/weirhq/weir/tools/mutate/internal/stanza"
)

// An excuse is why a mutant may live.
type excuse struct {
	why  string
	at   string // where it is written
	file string // of the mutant
}

// excuses are found by the name of their mutant.
type excuses map[string]excuse

// readExcuses reads the file of accepted mutants. None is as good as an empty
// one.
func readExcuses(name string) (excuses, error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := stanza.Read(name, string(text), "file", "func", "was", "now", "why")
	if err != nil {
		return nil, err
	}
	all := excuses{}
	var errs []error
	for _, row := range rows {
		m := mutant.Mutant{File: row.Get("file"), Func: row.Get("func"), Was: row.Get("was"), Now: row.Get("now")}
		at := fmt.Sprintf("%s:%d", name, row.Line)
		if twice, ok := all[m.Name()]; ok {
			errs = append(errs, fmt.Errorf("%s: the mutant stands at %s too", at, twice.at))
		}
		all[m.Name()] = excuse{row.Get("why"), at, m.File}
	}
	return all, errors.Join(errs...)
}

// match reports each excuse for a file of the targets that no mutant has any
// more.
func (all excuses) match(targets []prepared) error {
	files, names := map[string]bool{}, map[string]bool{}
	for _, t := range targets {
		for _, s := range t.code.sources {
			files[s.Name] = true
		}
		for _, m := range t.mutants {
			names[m.Name()] = true
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e := all[name]; !names[name] && (files[e.file] || gone(e.file)) {
			errs = append(errs, fmt.Errorf("%s: stale: no mutant of %s has this func, was and now; remove the paragraph, or take the new text from the report", e.at, e.file))
		}
	}
	return errors.Join(errs...)
}

func gone(file string) bool {
	_, err := os.Stat(filepath.FromSlash(file))
	return errors.Is(err, fs.ErrNotExist)
}
