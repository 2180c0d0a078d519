package main

import (
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// report tells all in a text that ends with the survivors, each as a paragraph
// that can be taken over into the file of accepted mutants, with a reason.
func (f *findings) report(o options) string {
	var b strings.Builder
	f.head(&b, o)
	f.table(&b)
	for _, line := range f.stale {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	for _, r := range f.doubts() {
		fmt.Fprintf(&b, "\n%s:%d: %s: %s %s in the binary of all mutants, and %s when it was compiled by itself; do not trust that binary here: run with -check 100\n",
			r.File, r.Line, r.Now, r.First, r.FirstBy, r.Status)
	}
	f.survivors(&b, "Survivors without a reason", func(r result) bool { return r.Reason == "" })
	f.survivors(&b, "Survivors with a reason", func(r result) bool { return r.Reason != "" })
	return b.String()
}

func (f *findings) head(b *strings.Builder, o options) {
	kept := 0
	for _, r := range f.results {
		if r.Kept {
			kept++
		}
	}
	fmt.Fprintf(b, "%s: does a test fail for each small change to the code?\n", o.command)
	fmt.Fprintf(b, "date:    %s\n", f.began.UTC().Format(time.RFC3339))
	fmt.Fprintf(b, "commit:  %s\n", f.commit)
	fmt.Fprintf(b, "go:      %s %s/%s, %d CPUs\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(b, "took:    %s", f.took.Round(time.Second))
	if kept > 0 {
		fmt.Fprintf(b, ", and what was found out before about %d mutants", kept)
	}
	b.WriteString("\n")
	decided, checked := 0, 0
	for _, r := range f.results {
		if r.decided() {
			decided++
		}
		if r.decided() && r.Alone {
			checked++
		}
	}
	fmt.Fprintf(b, "pass 1:  %d mutants came to their end in a binary of all; %d of them were compiled too, %d to the same end\n", decided, checked, checked-len(f.doubts()))
	if o.sample > 0 {
		fmt.Fprintf(b, "sample:  %d of each package, seed %d\n", o.sample, o.seed)
	}
}

// table has a line for each package.
func (f *findings) table(b *strings.Builder) {
	b.WriteString("\n")
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "died\tmutants\tkilled\ttimed out\tsurvived\twith a reason\tnot compiled\tnot run\t package")
	packages, by := f.tallies()
	for _, p := range packages {
		t := by[p]
		fmt.Fprintf(w, "%.1f %%\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t %s\n",
			t.died(), t.tried(), t.killed, t.timedOut, t.survived, t.excused, t.notCompiled, t.notRun, p)
	}
	_ = w.Flush() // a Builder takes all
}

func (f *findings) survivors(b *strings.Builder, title string, chosen func(result) bool) {
	first := true
	for _, r := range f.results {
		if r.Status != survived || !chosen(r) {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n%s\n", title)
			first = false
		}
		fmt.Fprintf(b, "\n# line %d, %s\nfile: %s\nfunc: %s\nwas:  %s\nnow:  %s\nwhy:  %s\n", r.Line, r.Kind, r.File, r.Func, r.Was, r.Now, r.Reason)
	}
}
