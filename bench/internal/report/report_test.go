package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// figures are some of a row's, in the order of speedColumns.
func figures(v ...float64) map[string]float64 {
	s := map[string]float64{}
	for i := range v {
		s[speedColumns[i].figure] = v[i]
	}
	return s
}

func add(r *Report, part, set, contender string, samples ...map[string]float64) {
	for _, s := range samples {
		r.Add(measure.Request{Part: part, Set: set, Contender: contender}, measure.Sample{Values: s}, nil)
	}
}

// sample is a report in which weir wins and loses.
func sample() *Report {
	r := &Report{Machine: Machine{CPU: "a processor", CPUs: 2, System: "linux/amd64", Go: "go1.26", LoadBegan: "0.10", LoadEnded: "1.90", Command: "bench", Versions: []string{"x v1"}}}
	add(r, measure.Speed, "1e5", "bare", figures(30, 30, 16))
	add(r, measure.Speed, "1e5", "weir Allow", figures(90, 92, 51), figures(80, 82, 41), figures(100, 102, 61))
	add(r, measure.Speed, "1e5", "go-limiter memorystore", figures(200, 210, 100), figures(220, 230, 110))
	add(r, measure.Speed, "1e5", "httprate counter", figures(85, 190, 200))
	add(r, measure.Speed, "1e5", "throttled GCRA, map", map[string]float64{measure.Serial: 300, measure.FailedShare: 0.024})
	return r
}

func text(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// line is the first line of a text that begins with a name.
func line(t *testing.T, text, name string) string {
	t.Helper()
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, name) {
			return strings.Join(strings.Fields(l), " ")
		}
	}
	t.Fatalf("no line begins with %q:\n%s", name, text)
	return ""
}

func TestRowsSayHowWeirStands(t *testing.T) {
	got := text(t, sample())
	for name, want := range map[string]string{
		"weir Allow ": "weir Allow 90 92 51",
		"go-limiter":  "go-limiter memorystore 210 220 105",
		"throttled":   "throttled GCRA, map 300 – – never forgets a key; up to 2.4 % of the asks fail with an error",
	} {
		if l := line(t, got, name); l != want {
			t.Errorf("%q\nwant %q", l, want)
		}
	}
	const stands = `
weir Allow: serial 1.06× httprate counter; par 1P 0.48× httprate counter; par 2P 0.49× go-limiter memorystore;
            bare +60 ns; LOSES serial to httprate counter, which is not exact (85)
`
	if !strings.Contains(got, stands) {
		t.Errorf("below the table there is no %s:\n%s", stands, got)
	}
	if !strings.Contains(got, "medians of 3 rounds") || !strings.Contains(got, "22 % (worst row)") {
		t.Errorf("it is not said how far the rounds differ:\n%s", got)
	}
}

func TestWeirThatLosesNothingSaysSo(t *testing.T) {
	r := new(Report)
	add(r, measure.Speed, "1e6", "bare", figures(10))
	add(r, measure.Speed, "1e6", "weir Take", figures(50, 50, 25))
	add(r, measure.Speed, "1e6", "go-limiter memorystore", figures(200, 210, 100))
	if got := text(t, r); !strings.Contains(got, " bare +40 ns; loses nothing\n") {
		t.Error(got)
	}
}

func TestBars(t *testing.T) {
	r := sample()
	add(r, measure.Speed, "1e7", "weir Take", map[string]float64{measure.BytesPerKey: 41, measure.Scanned: 10})
	add(r, measure.Calls, "1e5", lineup.OneTake, figures(100))
	add(r, measure.Calls, "1e5", "2 limits on one key, Take", figures(120))
	_, bars, _ := strings.Cut(text(t, r), "the bars")
	for name, want := range map[string]string{
		"weir Allow, 1e5, serial ":        "weir Allow, 1e5, serial 0.43× 0.60× met, beside go-limiter memorystore",
		"weir Allow, 1e5, serial, of all": "weir Allow, 1e5, serial, of all 1.06× 0.60× MISSED, beside httprate counter, which is not exact",
		"weir Allow, 1e5, par 2P":         "weir Allow, 1e5, par 2P 0.49× 0.50× met, beside go-limiter memorystore",
		"weir Allow, 1e5, above bare":     "weir Allow, 1e5, above bare 60 ns 30 ns MISSED",
		"weir Take, 1e7, bytes a key":     "weir Take, 1e7, bytes a key 41.0 40.0 MISSED",
		"weir Take, 1e7, heap scanned":    "weir Take, 1e7, heap scanned 10 KiB 1024 KiB met",
		"2 limits on one key, Take, 1e5":  "2 limits on one key, Take, 1e5 1.20× 1.30× met, beside one take",
	} {
		if l := line(t, bars, name); l != want {
			t.Errorf("%q\nwant %q", l, want)
		}
	}
}

// Figures of a busy machine, or of one round, prove no bar missed: that is said at the
// bars, and nowhere where there is no reason.
func TestBarsSayWhatTheyMayOweToChance(t *testing.T) {
	f := func(load string, rounds int, wants ...string) {
		t.Helper()
		r := new(Report)
		r.Machine.LoadBegan = load
		for range rounds {
			add(r, measure.Speed, "1e5", "bare", figures(30))
			add(r, measure.Speed, "1e5", "weir Allow", figures(90))
		}
		for name, write := range map[string]func(io.Writer) error{"text": r.WriteText, "markdown": r.WriteMarkdown} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			_, bars, _ := strings.Cut(b.String(), "the bars")
			if !strings.Contains(bars, "MISSED") || strings.Count(bars, "\n(") != len(wants) {
				t.Errorf("%s, load %s, %d rounds: %s", name, load, rounds, bars)
			}
			for _, want := range wants {
				if !strings.Contains(bars, "\n("+want) {
					t.Errorf("%s, load %s, %d rounds: no %q in %s", name, load, rounds, want, bars)
				}
			}
		}
	}
	const busy, once = "the machine was busy before the run began, with a load average of 3.10: ", "one round: what is MISSED"
	f("0.10", 2)
	f("unknown", 2)
	f("3.10", 2, busy)
	f("0.10", 1, once)
	f("3.10", 1, busy, once)
}

// However much weir loses, no line of its own is longer than a terminal has room for, and nothing of
// it is left out; a page has it in the row.
func TestLossesAreToldBelow(t *testing.T) {
	r := new(Report)
	add(r, measure.Speed, "1e5", "weir Allow", figures(90, 92, 51, 50, 40, 1, 1000, 3000, 9))
	add(r, measure.Speed, "1e5", "go-limiter memorystore", figures(20, 21, 10, 5, 4, 0, 100, 300, 1))
	add(r, measure.Speed, "1e5", "httprate counter", figures(19, 30, 9, 7, 8, 0, 200, 200, 2))
	got := text(t, r)
	for l := range strings.Lines(got) {
		if n := utf8.RuneCountInString(l) - 1; n > widest && (strings.HasPrefix(l, "weir") || strings.HasPrefix(l, " ")) {
			t.Errorf("%d: %s", n, l)
		}
	}
	_, below, _ := strings.Cut(got, "\nweir Allow: ")
	below, _, _ = strings.Cut(below, "\n\n")
	said := r.speedTable("1e5").Rows[0].said()
	if strings.Join(strings.Fields(below), " ") != said || strings.Count(said, "(") != len(speedColumns) {
		t.Errorf("%s\nwant %s", below, said)
	}
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), " | "+said+" |\n") {
		t.Errorf("%v: %s", err, &b)
	}
}

func TestContentionNamesWhoIsAboveHisBound(t *testing.T) {
	r := new(Report)
	admitted := func(n float64) map[string]float64 {
		return map[string]float64{measure.Admitted: n, measure.Asked: 5e6, measure.Elapsed: 2.5, measure.FailedAsks: 0}
	}
	add(r, measure.Contention, "", "weir Allow", admitted(2600))
	add(r, measure.Contention, "", "x/time/rate, Mutex map", admitted(2600), admitted(2700))
	for name, want := range map[string]string{
		"weir Allow":             "weir Allow 2.0 2600 2600 100.0 % 100.0 % token bucket",
		"x/time/rate, Mutex map": "x/time/rate, Mutex map 2.0 2700 2600 103.8 % 103.8 % token bucket; ABOVE ITS BOUND by 100",
	} {
		if l := line(t, text(t, r), name); l != want {
			t.Errorf("%q\nwant %q", l, want)
		}
	}
}

func TestRowsThatFailedOrWereSkippedStay(t *testing.T) {
	r := new(Report)
	r.Add(measure.Request{Part: measure.Speed, Set: "1e7", Contender: "ulule memory"}, measure.Sample{Skipped: "needs some 9 GiB, 4 are free"}, nil)
	r.Add(measure.Request{Part: measure.Latency, Set: measure.Growth, Contender: "weir Take"}, measure.Sample{}, errors.New("it broke"))
	got := text(t, r)
	if l := line(t, got, "ulule"); !strings.HasSuffix(l, "needs some 9 GiB, 4 are free") {
		t.Errorf("%q", l)
	}
	if l := line(t, got, "weir Take"); !strings.HasSuffix(l, "FAILED: it broke") || !r.Failed() {
		t.Errorf("%q, failed: %t", l, r.Failed())
	}
}

func TestFormats(t *testing.T) {
	r := sample()
	var b bytes.Buffer
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## ns a decision: 100,000 keys, uniform\n", "| | serial | par 1P | par 2P | |\n|---|---|---|---|---|\n", "| **weir Allow** | 90 | 92 | 51 | "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadJSON(&b)
	if err != nil || text(t, again) != text(t, r) {
		t.Errorf("what was read again prints differently, %v", err)
	}
}

func TestABusyMachineIsNamed(t *testing.T) {
	m := Machine{LoadBegan: "3.10"}
	if !strings.Contains(strings.Join(m.lines(), "\n"), "WARNING") {
		t.Error("a load of 3.10 is no warning")
	}
	m.LoadBegan = "0.20"
	if strings.Contains(strings.Join(m.lines(), "\n"), "WARNING") {
		t.Error("a load of 0.20 is a warning")
	}
	m = ThisMachine("bench")
	m.End()
	if m.CPUs < 1 || m.Go == "" || m.Took > time.Minute {
		t.Errorf("%+v", m)
	}
}
