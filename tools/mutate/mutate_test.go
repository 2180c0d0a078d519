package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// table names the tests of the fixture.
const table = `package: ./fixture
test:    ./fixture -test.short
why:     they are all there is
`

// excused is the mutant of the fixture that changes nothing.
const excused = `file: fixture/fixture.go
func: Sum
was:  for i := 1; i <= n; i++ {
now:  for i := 0; i <= n; i++ {
why:  to add 0 changes no sum
`

// repository makes one that has the fixture in a workspace, goes there, and
// returns what a run needs.
func repository(t *testing.T) options {
	t.Helper()
	dir := t.TempDir()
	fixture := os.DirFS("testdata/fixture")
	if err := os.CopyFS(filepath.Join(dir, "fixture"), fixture); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "")
	put(t, "go.work", "go 1.26\n\nuse ./fixture\n")
	put(t, "fixture/go.mod", "module example.com/fixture\n\ngo 1.26\n")
	put(t, "packages.txt", table)
	put(t, "accepted.txt", "")
	return options{
		table: "packages.txt", accepted: "accepted.txt", cache: "dist/cache.jsonl", report: "report.txt", json: "report.json",
		command: "mutate", procs: 2, within: time.Hour, least: 80, shared: true,
		limits: limits{cpu: time.Second, wall: 20 * time.Second, times: 1, memory: 1 << 30},
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// found runs mutate and returns a line for each result.
func found(t *testing.T, o options) (*findings, []string) {
	t.Helper()
	f, err := mutate(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range f.results {
		lines = append(lines, fmt.Sprintf("%d %s: %s", r.Line, r.Now, r.Status))
	}
	return f, lines
}

func TestMutate(t *testing.T) {
	o := repository(t)
	f, got := found(t, o)
	want := []string{
		"6 total := (-1): killed",
		"6 total := 1: killed",
		"7 for i := 0; i <= n; i++ {: survived",
		"7 for i := 2; i <= n; i++ {: killed",
		"7 for i := 1; i < n; i++ {: killed",
		"7 for i := 1; i > n; i++ {: killed",
		"7 for i := 1; i <= n; i-- {: timed out",
		"8 if false { total += i }: killed",
		"8 total -= i: killed",
		"10 return 0: killed",
		"15 return 0: killed",
		"15 return list[(-1)]: not compiled",
		"15 return list[1]: killed",
		`20 return "": survived`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if by := f.results[0].By; by != "TestSum" {
		t.Errorf("the first mutant was killed by %q, not by TestSum", by)
	}
	if got := f.status(o.least); got != someLive {
		t.Errorf("status %d with survivors that have no reason", got)
	}

	// What was found out is not tried again, and reasons are found.
	put(t, "accepted.txt", excused+strings.NewReplacer("func: Sum", "func: Greeting", "was:  for i := 1; i <= n; i++ {", `was:  return "hello"`,
		"now:  for i := 0; i <= n; i++ {", `now:  return ""`).Replace("\n"+excused))
	again, lines := found(t, o)
	if !slices.Equal(lines, want) {
		t.Errorf("run again, got\n%s", strings.Join(lines, "\n"))
	}
	for _, r := range again.results {
		if !r.Kept || (r.Status == survived) != (r.Reason != "") {
			t.Errorf("run again: %+v", r)
		}
	}
	if got := again.status(o.least); got != allDied {
		t.Errorf("status %d though each survivor has a reason", got)
	}
	if got := again.status(90); got != someLive {
		t.Errorf("status %d though 11 of 13 died, and 90 %% were wanted", got)
	}
	checkReport(t, again, o)

	// With another test, survivors get another chance, and an excuse ends.
	put(t, "fixture/more_test.go", `package fixture

import "testing"

func TestGreeting(t *testing.T) {
	if Greeting() == "" {
		t.Error("no greeting")
	}
}
`)
	last, lines := found(t, o)
	if got := lines[len(lines)-1]; got != `20 return "": killed` {
		t.Errorf("with a test for it: %s", got)
	}
	if len(last.stale) != 1 || !strings.Contains(last.stale[0], "accepted.txt:7: stale: TestGreeting fails") || last.status(0) != someLive {
		t.Errorf("the excuse of a mutant that has died: %q", last.stale)
	}
}

// The report of a whole run is written, and says what it should.
func checkReport(t *testing.T, f *findings, o options) {
	t.Helper()
	var printed strings.Builder
	if err := f.publish(o, &printed); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.report)
	if err != nil || string(text) != printed.String() {
		t.Errorf("the report (%v) is not what was printed", err)
	}
	for _, want := range []string{
		"84.6 %       13      10          1         2              2             1        0 ./fixture\n",
		"# line 7, number\n" + excused,
		"what was found out before about 14 mutants",
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, printed.String())
		}
	}
	if list, err := os.ReadFile(o.json); err != nil || strings.Count(string(list), `"status"`) != 14 {
		t.Errorf("the JSON (%v) does not tell of 14 mutants:\n%s", err, list)
	}
}

func TestTimeUp(t *testing.T) {
	o := repository(t)
	o.within = time.Nanosecond
	f, _ := found(t, o)
	for _, r := range f.results {
		if r.Status != notRun {
			t.Errorf("%s: %s, though the time was up at once", r.Now, r.Status)
		}
	}
	if err := f.publish(o, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(o.report); err == nil {
		t.Error("a run that was cut short has written the report")
	}
}

func TestInterrupted(t *testing.T) {
	o := repository(t)
	ctx, stop := context.WithCancel(t.Context())
	began := writer(func(string) { stop() }) // with the first line of the log
	f, err := mutate(ctx, o, began)
	if err != nil || len(f.results) == 0 {
		t.Fatalf("interrupted: %v, %v", f, err)
	}
	if last := f.results[len(f.results)-1]; last.Status != notRun {
		t.Errorf("interrupted, the last mutant was %s", last.Status)
	}
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

func TestRefusals(t *testing.T) {
	refused := func(want string, change func(*testing.T, *options)) {
		t.Helper()
		t.Run(want, func(t *testing.T) {
			o := repository(t)
			change(t, &o)
			_, err := mutate(t.Context(), o, io.Discard)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want %q", err, want)
			}
		})
	}
	file := func(name, text string) func(*testing.T, *options) {
		return func(t *testing.T, _ *options) {
			t.Helper()
			put(t, name, text)
		}
	}
	refused("package ./other is not in packages.txt", func(_ *testing.T, o *options) { o.packages = []string{"./other"} })
	refused("packages.txt:1: test is missing", file("packages.txt", "package: ./fixture\n"))
	refused("packages.txt:1: ./fixture -test.skip X: write -test.skip=PATTERN as one word",
		file("packages.txt", strings.ReplaceAll(table, "-test.short", "-test.skip X")))
	refused("accepted.txt:1: stale", file("accepted.txt", strings.ReplaceAll(excused, "i := 0", "i := 9")))
	refused("accepted.txt:1: stale: no mutant of fixture/gone.go", file("accepted.txt", strings.ReplaceAll(excused, "fixture.go", "gone.go")))
	refused("accepted.txt:7: the mutant stands at accepted.txt:1 too", file("accepted.txt", excused+"\n"+excused))
	refused("undefined: absent", file("fixture/bad_test.go", "package fixture\n\nvar _ = absent\n"))
	refused("does not pass on the unchanged code", file("fixture/bad_test.go",
		"package fixture\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"as it is\") }\n"))
	refused("flag provided but not defined", file("packages.txt", strings.ReplaceAll(table, "-test.short", "-test.shirt")))
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-p", "0"}, {"-sample", "-1"}, {"-within", "0s"}, {"-least", "101"}, {"-check", "-1"}, {"-unheard-of"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	o, err := parse([]string{"-sample", "20", "./a", "./b"}, io.Discard)
	if err != nil || o.sample != 20 || !slices.Equal(o.packages, []string{"./a", "./b"}) {
		t.Errorf("parsed %+v, %v", o, err)
	}
}

func TestSample(t *testing.T) {
	var all []mutant.Mutant
	for i := range 100 {
		all = append(all, mutant.Mutant{Line: i})
	}
	one, same, other := sample(all, 10, 1), sample(all, 10, 1), sample(all, 10, 2)
	byLine := func(a, b mutant.Mutant) int { return a.Line - b.Line }
	if len(one) != 10 || !slices.Equal(one, same) || slices.Equal(one, other) || !slices.IsSortedFunc(one, byLine) {
		t.Errorf("samples %v, %v, %v", one, same, other)
	}
	if len(sample(all, 0, 1)) != 100 || len(sample(all, 500, 1)) != 100 {
		t.Error("a sample of 0, or of more than there are, is not all of them")
	}
}

// A line that was cut when a run was ended is no end of the cache.
func TestCutCache(t *testing.T) {
	name := filepath.Join(t.TempDir(), "deep", "cache.jsonl")
	c, err := openCache(name)
	if err != nil {
		t.Fatal(err)
	}
	p := prepared{code: code{sources: []mutant.Source{{Name: "a.go", Text: []byte("package a")}}}, fingerprint: "f"}
	m := mutant.Mutant{File: "a.go"}
	if err := c.put(m, p, outcome{Status: survived}); err != nil {
		t.Fatal(err)
	}
	_ = c.close()
	text, _ := os.ReadFile(name)
	put(t, name, string(text)+`{"key":"12`)
	if c, err = openCache(name); err != nil {
		t.Fatal(err)
	}
	late := mutant.Mutant{File: "a.go", Now: "late"}
	q := prepared{code: code{sources: []mutant.Source{{Name: "a.go", Text: []byte("package b")}}}, fingerprint: "f"}
	if err := c.put(late, q, outcome{Status: killed}); err != nil {
		t.Fatal(err)
	}
	_ = c.close()
	if c, err = openCache(name); err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if o, ok := c.get(late, q); !ok || o.Status != killed {
		t.Errorf("what was put behind the cut line: %v, %t", o, ok)
	}
	if o, ok := c.get(m, p); !ok || o.Status != survived {
		t.Errorf("got %v, %t", o, ok)
	}
	p.fingerprint = "g"
	if _, ok := c.get(m, p); ok {
		t.Error("a survivor of other tests is taken for one of these")
	}
}
