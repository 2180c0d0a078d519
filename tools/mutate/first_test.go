package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/tools/mutate/internal/mutant"
)

// small puts a package with few mutants in the place of the fixture.
func small(t *testing.T, code, tests string) options {
	t.Helper()
	o := repository(t)
	put(t, "fixture/fixture.go", "package fixture\n\n"+code)
	put(t, "fixture/fixture_test.go", "package fixture\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar chosen = os.Getenv(\""+mutant.Variable+"\")\n\n"+tests)
	return o
}

// pair has a mutant that dies of TestPair, and one that lives.
const (
	pair     = "func Pair() (string, string) { return \"a\", \"b\" }\n\nconst limit = 5\n"
	pairTest = "func TestPair(t *testing.T) {\n\tif a, _ := Pair(); a == \"\" || limit == 4 {\n\t\tt.Error(a)\n\t}\n}\n"
)

var pairLines = []string{
	`3 func Pair() (string, string) { return "", "b" }: killed`,
	`3 func Pair() (string, string) { return "a", "" }: survived`,
	"5 const limit = 4: killed",
	"5 const limit = 6: survived",
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Only what has died in the first pass is not compiled, unless it is to be
// checked.
func TestFirstPass(t *testing.T) {
	o := small(t, pair, pairTest)
	f, got := found(t, o)
	expect(t, "without a check", got, pairLines)
	var compiled []bool
	for _, r := range f.results {
		compiled = append(compiled, r.Build > 0)
	}
	if want := []bool{false, true, true, true}; !slices.Equal(compiled, want) {
		t.Errorf("compiled: %v, want %v", compiled, want)
	}
	if r := f.results[0]; r.First != killed || r.FirstBy != "TestPair" || r.By != "TestPair" || r.Alone {
		t.Errorf("what died in the first pass: %+v", r)
	}
	if r := f.results[1]; r.First != survived || !r.Alone {
		t.Errorf("what lived through the first pass: %+v", r)
	}
	if r := f.results[2]; r.First != "" {
		t.Errorf("a constant: %+v", r)
	}
	if text := f.report(o); !strings.Contains(text, "pass 1:  1 mutants came to their end in a binary of all; 0 of them were compiled too, 0 to the same end\n") {
		t.Errorf("the report does not tell of the first pass:\n%s", text)
	}

	// A check finds in the cache what is to be compiled.
	o.check = 100
	f, got = found(t, o)
	expect(t, "with a check", got, pairLines)
	if r := f.results[0]; r.Kept || !r.Alone || r.By != "TestPair" || !f.results[1].Kept || !f.results[2].Kept {
		t.Errorf("checked: %+v", f.results)
	}
	if text := f.report(o); !strings.Contains(text, "; 1 of them were compiled too, 1 to the same end\n") {
		t.Errorf("the report does not tell of the check:\n%s", text)
	}
	f, got = found(t, o)
	expect(t, "again", got, pairLines)
	if !f.results[0].Kept {
		t.Error("what was checked is checked again")
	}
}

// A mutant that dies because it has a switch is noticed where it is compiled.
func TestDoubt(t *testing.T) {
	o := small(t, pair, pairTest+"\nfunc TestSwitched(t *testing.T) {\n\tif chosen > \"0\" {\n\t\tt.Error(chosen)\n\t}\n}\n")
	o.check, o.least = 100, 0
	f, got := found(t, o)
	expect(t, "checked", got, pairLines)
	doubts := f.doubts()
	if len(doubts) != 1 || doubts[0].Now != f.results[1].Now || doubts[0].FirstBy != "TestSwitched" {
		t.Errorf("doubts: %+v", doubts)
	}
	for i := range f.results {
		f.results[i].Reason = "accepted"
	}
	if f.status(o.least) != someLive {
		t.Error("the status is that of a run whose first pass was right")
	}
	if text := f.report(o); !strings.Contains(text, "killed TestSwitched in the binary of all mutants, and survived when it was compiled by itself") ||
		!strings.Contains(text, "; 2 of them were compiled too, 1 to the same end\n") {
		t.Errorf("the report does not tell of it:\n%s", text)
	}
}

// Tests that count allocations, and those that fail by themselves, kill nothing
// in the first pass that would live without a switch.
func TestFirstPassIsCareful(t *testing.T) {
	o := small(t, pair, `var warm bool

func TestA(t *testing.T) { warm = true }

func TestAllocationsOfPair(t *testing.T) {
	if chosen > "0" {
		t.Error(chosen)
	}
}

func TestPair(t *testing.T) {
	if a, _ := Pair(); a == "" || !warm || limit == 4 {
		t.Error(a, warm)
	}
}
`)
	o.procs = 1
	f, got := found(t, o)
	expect(t, "a test that needs another", got, pairLines)
	if r := f.results[1]; r.First != survived {
		t.Errorf("the last killer of its function cannot be run alone, and has: %+v", r)
	}
}

// A package that cannot have switches is tried without.
func TestNoFirstPass(t *testing.T) {
	o := small(t, pair+"\nvar mutantChosen = limit\n", pairTest)
	var log strings.Builder
	f, err := mutate(t.Context(), o, io.Writer(&log))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "./fixture: each mutant is compiled by itself: ") {
		t.Errorf("the log does not tell of it:\n%s", log.String())
	}
	for i, want := range []string{killed, survived, killed, survived} {
		if r := f.results[i]; r.Status != want || r.First != "" || r.Build == 0 {
			t.Errorf("%+v, want %s", r, want)
		}
	}
}

func TestKillersRunFirst(t *testing.T) {
	k := newKillers(2)
	a, b := mutant.Mutant{Func: "A"}, mutant.Mutant{Func: "B"}
	all := []killer{{at: 0}, {at: 1}}
	if got := k.order(a); !slices.Equal(got, all) {
		t.Errorf("before anything was killed: %v", got)
	}
	slow, quick := killer{0, "TestSlow"}, killer{1, "TestQuick"}
	k.last[place(a)], k.last[place(b)], k.quick[1] = slow, quick, quick
	if got, want := k.order(a), append([]killer{slow, quick}, all...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := k.order(b), append([]killer{quick}, all...); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWithout(t *testing.T) {
	f := func(args string, want string) {
		t.Helper()
		before := strings.Fields(args)
		if got := (test{"./a", before}).without("^B").String(); got != "./a "+want || strings.Join(before, " ") != args {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
	f("-test.short", "-test.short -test.skip=^B")
	f("-test.skip=^A -test.short", "-test.skip=^A|^B -test.short")
}

func TestChecked(t *testing.T) {
	count := func(check int, seed uint64) (n int, which string) {
		p := pool{options: options{check: check, seed: seed}}
		for line := range 1000 {
			if p.checked(mutant.Mutant{Now: strings.Repeat("x", line)}) {
				n++
				which += " " + strings.Repeat("x", line)
			}
		}
		return n, which
	}
	if n, _ := count(0, 1); n != 0 {
		t.Errorf("%d of 1000 where none are to be checked", n)
	}
	if n, _ := count(100, 1); n != 1000 {
		t.Errorf("%d of 1000 where all are to be checked", n)
	}
	some, which := count(20, 1)
	if _, others := count(20, 2); some < 150 || some > 250 || which == others {
		t.Errorf("%d of 1000 where 20 %% are to be checked, or another seed checks the same", some)
	}
	if _, again := count(20, 1); which != again {
		t.Error("the same seed checks others")
	}
}

// A loop is ended by the processor time that it has used, not by the clock.
func TestLoopIsEndedByItsProcessorTime(t *testing.T) {
	o := small(t, "func F(n int) (i int) {\n\tfor i < n {\n\t\ti++\n\t}\n\treturn i\n}\n",
		"func TestF(t *testing.T) {\n\tif F(3) != 3 {\n\t\tt.Error(os.Args)\n\t}\n}\n")
	f, _ := found(t, o)
	for _, r := range f.results {
		if r.Now == "if false { i++ }" {
			if r.Status != timedOut || r.First != timedOut || r.Test > o.limits.wall {
				t.Errorf("an endless loop: %+v", r)
			}
			return
		}
	}
	t.Error("no mutant has an endless loop")
}

// What vet suspects is a mutant as any other.
func TestVetHasNoSay(t *testing.T) {
	o := small(t, "func F(n string) bool { return n == \"a\" || n == \"b\" }\n", "func TestF(t *testing.T) {\n\tif !F(\"a\") {\n\t\tt.Error(os.Args)\n\t}\n}\n")
	o.check = 100
	f, _ := found(t, o)
	for _, r := range f.results {
		if r.Kind == "logic" && r.Status == killed && r.First == killed && r.same() {
			return
		}
	}
	t.Errorf("no && was killed both ways: %+v", f.results)
}
