package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weirhq/weir/tools/mutate/internal/stanza"
)

// A target is a package whose mutants are made, and the tests that they must
// pass to live.
type target struct {
	pkg   string // as the go command takes it: ./algorithm
	tests []test // in their order, from what is quick to what is thorough
}

// A test is one run of a package's test binary.
type test struct {
	pkg  string
	args []string // as the binary takes them: -test.short
}

// plan reads the table and returns the targets that were asked for, or all.
func plan(file string, packages []string) ([]target, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := stanza.Read(file, string(text), "package", "test", "why")
	if err != nil {
		return nil, err
	}
	var all, chosen []target
	for _, row := range rows {
		t := target{pkg: row.Get("package")}
		for _, line := range row.All("test") {
			words := strings.Fields(line)
			if slices.Contains(words, "-test.skip") {
				return nil, fmt.Errorf("%s:%d: %s: write -test.skip=PATTERN as one word", file, row.Line, line)
			}
			t.tests = append(t.tests, test{words[0], words[1:]})
		}
		all = append(all, t)
	}
	if len(packages) == 0 {
		return all, nil
	}
	for _, pkg := range packages {
		i := slices.IndexFunc(all, func(t target) bool { return t.pkg == pkg })
		if i < 0 {
			return nil, fmt.Errorf("package %s is not in %s; add a paragraph that names its tests", pkg, file)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func (t target) String() string { return t.pkg }

func (t test) String() string { return strings.Join(append([]string{t.pkg}, t.args...), " ") }
