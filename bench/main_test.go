package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/bench/internal/measure"
)

// here answers a request in this process.
func here(_ context.Context, q measure.Request) (measure.Sample, error) { return q.Run() }

func TestRoundsGoThroughAllThatIsAskedFor(t *testing.T) {
	o, err := parse([]string{"-sizes", "hot", "-parts", "speed,calls", "-only", "^weir (Allow|Take)$|bare|16 keys|^16 takes", "-rounds", "2", "-time", "1ms"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var progress, out bytes.Buffer
	r, err := o.measure(t.Context(), here, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.print(r, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nbare ", "\nweir Allow ", "\nweir Take ", "\n16 keys in one Take, Alone ", "medians of 2 rounds", "the bars that weir has set itself"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(progress.String(), "\n"); n != 2*(3+2) {
		t.Errorf("%d requests, want 10:\n%s", n, progress.String())
	}
}

// Each round is a whole one before the next begins, and every other is turned
// round.
func TestRoundsAreInterleaved(t *testing.T) {
	o, err := parse([]string{"-sizes", "hot", "-parts", "speed", "-only", "^weir", "-rounds", "3"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	_, err = o.measure(t.Context(), func(_ context.Context, q measure.Request) (measure.Sample, error) {
		asked = append(asked, q.Contender)
		return measure.Sample{}, nil
	}, io.Discard)
	want := []string{"weir Allow", "weir Take", "weir Take", "weir Allow", "weir Allow", "weir Take"}
	if err != nil || !slices.Equal(asked, want) {
		t.Errorf("%q, %v; want %q", asked, err, want)
	}
}

// The part latency asks for its phases, and takes part in three rounds.
func TestLatencyHasFewerRounds(t *testing.T) {
	o, err := parse([]string{"-parts", "latency", "-only", "^weir Take$", "-rounds", "5", "-keys", "60000"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	_, err = o.measure(t.Context(), func(_ context.Context, q measure.Request) (measure.Sample, error) {
		if q.Part != measure.Latency || q.Keys != 60_000 {
			t.Errorf("%+v", q)
		}
		asked = append(asked, q.Set)
		return measure.Sample{}, nil
	}, io.Discard)
	once := []string{"growth", "sweep", "flood"}
	if err != nil || !slices.Equal(asked, slices.Repeat(once, 3)) {
		t.Errorf("%q, %v; want %q three times", asked, err, once)
	}
}

func TestWhatFailsIsToldAtTheEnd(t *testing.T) {
	o, err := parse([]string{"-sizes", "hot", "-parts", "speed", "-only", "^weir", "-rounds", "1"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	r, err := o.measure(t.Context(), func(context.Context, measure.Request) (measure.Sample, error) {
		return measure.Sample{}, errors.New("broken")
	}, io.Discard)
	if err != nil || !r.Failed() {
		t.Errorf("failed: %t, %v", r.Failed(), err)
	}
}

// A request is answered by the program itself, and a saved report is printed
// without measuring anything.
func TestAnswersAndReads(t *testing.T) {
	q, err := json.Marshal(measure.Request{Part: measure.Speed, Contender: "bare", Set: "hot", Time: 1, Goroutines: 1, Procs: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-request", string(q)}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var s measure.Sample
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.Values[measure.Serial] <= 0 {
		t.Errorf("%s, %v", out.String(), err)
	}

	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, []byte(`{"Machine":{"CPU":"another machine"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := run(t.Context(), []string{"-read", file}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "another machine") {
		t.Errorf("%s, %v", out.String(), err)
	}
}

func TestCommandLinesThatCannotBe(t *testing.T) {
	for _, line := range []string{"-sizes 1e4", "-parts memory", "-only (", "-rounds 0", "-keys 49999", "-keys 10000001", "-parts growth", "-time 0s", "-format yaml", "more", "-nothing"} {
		if _, err := parse(strings.Fields(line), io.Discard); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
	if err := run(t.Context(), []string{"-only", "nobody"}, io.Discard, io.Discard); err == nil {
		t.Error("a run without contenders: no error")
	}
	if err := run(t.Context(), []string{"-request", "{"}, io.Discard, io.Discard); err == nil {
		t.Error("a broken request: no error")
	}
	if err := run(t.Context(), []string{"-read", "no-such-file"}, io.Discard, io.Discard); err == nil {
		t.Error("no file: no error")
	}
}
