package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// chosen are the rows of a command line, each once.
func chosen(t *testing.T, args ...string) (names []string) {
	t.Helper()
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range o.groups() {
		for _, q := range group {
			if !slices.Contains(names, q.Contender) {
				names = append(names, q.Contender)
			}
		}
	}
	return names
}

func TestOnlyChooses(t *testing.T) {
	for _, c := range []struct {
		parts, sizes, only string
		want               []string
	}{
		{"speed", "1e5", "bare|^weir (Allow|Take)$", []string{"bare", "weir Allow", "weir Take"}},
		{"speed", "1e5", "x/time/rate, Mutex|[|b]are", []string{"bare", "x/time/rate, Mutex map"}},
		{"speed", "hot,1e5", "uber", []string{"uber ratelimit"}}, // of one key only
		{"speed", "1e5", `loop|^(bare|\|)$`, []string{"loop", "bare"}},
		{"calls", "1e5", "weir one take|16 keys", []string{"one take", "16 keys in one Take, Alone"}},
		{"speed,calls", "1e6", "weir Take|^one", []string{"weir Take", "one take"}},
		{"latency", "hot", "throttled GCRA, LRU|(?i)ULULE", []string{"throttled GCRA, LRU", "ulule memory"}},
	} {
		if got := chosen(t, "-parts", c.parts, "-sizes", c.sizes, "-only", c.only); !slices.Equal(got, c.want) {
			t.Errorf("-parts %s -sizes %s -only %s: %q, want %q", c.parts, c.sizes, c.only, got, c.want)
		}
	}
}

// What matches nothing is named, and nothing else is; what the error offers is accepted.
func TestOnlyNamesWhatMatchesNothing(t *testing.T) {
	for _, c := range []struct {
		parts, sizes, only string
		missed, matched    []string
		rows, others       []string
	}{
		{
			"speed", "1e7", "weir|x/time/rate Mutex|bare",
			[]string{"x/time/rate Mutex"},
			[]string{"weir", "bare"},
			[]string{"x/time/rate, Mutex map", "weir Take", "loop"},
			[]string{"uber ratelimit", "one take"},
		},
		{
			"speed,latency", "1e5", "uber|loop|fail(safe|ure)",
			[]string{"uber", "fail(safe|ure)"},
			[]string{"loop"},
			[]string{"ulule memory"},
			[]string{"failsafe smooth"},
		},
		{
			"calls", "hot", "go-limiter|weir",
			[]string{"go-limiter"},
			[]string{"weir"},
			[]string{"16 takes, one by one"},
			[]string{"weir Take"},
		},
		{
			"speed", "zipf", "(?i)WEIR|BARE", // each by itself, its flags too
			[]string{"BARE"},
			[]string{"(?i)WEIR"},
			[]string{"bare"},
			nil,
		},
	} {
		_, err := parse([]string{"-parts", c.parts, "-sizes", c.sizes, "-only", c.only}, io.Discard)
		if err == nil {
			t.Errorf("-only %s: no error", c.only)
			continue
		}
		named, list, _ := strings.Cut(err.Error(), "\n")
		for _, name := range c.missed {
			contains(t, named, strconv.Quote(name), true)
		}
		for _, name := range c.matched {
			contains(t, named, strconv.Quote(name), false)
		}
		for _, row := range c.rows {
			contains(t, list+"\n", "  "+row+"\n", true)
		}
		for _, row := range c.others {
			contains(t, list, row, false)
		}
		for line := range strings.Lines(list) {
			row := strings.TrimSpace(line)
			if got := chosen(t, "-parts", c.parts, "-sizes", c.sizes, "-only", "^"+regexp.QuoteMeta(row)+"$"); !slices.Equal(got, []string{row}) {
				t.Errorf("-only ^%s$: %q", row, got)
			}
		}
	}
}

func contains(t *testing.T, text, part string, want bool) {
	t.Helper()
	if strings.Contains(text, part) != want {
		t.Errorf("%q in %q: want %t", part, text, want)
	}
}

func TestOnlyThatCannotBe(t *testing.T) {
	for _, c := range []struct{ only, want string }{
		{"", "is empty"},
		{"weir|", "is empty"},
		{"weir||bare", "is empty"},
		{"weir|(bare|loop", "missing closing )"},
		{"weir|*", "missing argument to repetition"},
	} {
		if _, err := parse([]string{"-only", c.only}, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("-only %q: %v, want %q", c.only, err, c.want)
		}
	}
}

// The commands of the pages measure what they name.
func TestCommandsOfPages(t *testing.T) {
	command := regexp.MustCompile(`make bench ARGS='([^'\n]*)'`)
	word := regexp.MustCompile(`"[^"]*"|\S+`)
	for _, page := range []string{"README.md", "../README.md", "../docs/performance.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		commands := command.FindAllStringSubmatch(string(text), -1)
		if len(commands) == 0 {
			t.Errorf("%s: no command", page)
		}
		for _, c := range commands {
			args := word.FindAllString(c[1], -1)
			for i := range args {
				args[i] = strings.Trim(args[i], `"`)
			}
			if _, err := parse(args, io.Discard); err != nil {
				t.Errorf("%s: %s: %v", page, c[0], err)
			}
		}
	}
}
