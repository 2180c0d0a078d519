package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// k6 is not to be had from Debian, so that its script is never run here. What can
// be seen without it is looked at: brackets, where names come from, what
// thresholds are of, and what the page beside it tells readers to write.
func TestK6Script(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(repository, "examples/load", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	script, page := read("k6.js"), read("README.md")
	for _, wrong := range wrongWithK6(script, page) {
		t.Error(wrong)
	}
	f := func(old, replacement, want string) {
		t.Helper()
		if !strings.Contains(script, old) {
			t.Fatalf("the script has no %q", old)
		}
		if got := fmt.Sprint(wrongWithK6(strings.Replace(script, old, replacement, 1), page)); !strings.Contains(got, want) {
			t.Errorf("%q instead of %q: %s, want %q", replacement, old, got, want)
		}
	}
	f("maxVUs: 200,\n    },", "maxVUs: 200,\n", "nothing closes")
	f("refused.add(1);", "refused.add(1));", "nothing that ) closes")
	f("import { Counter, Trend }", "import { Counter }", "Trend comes from nowhere")
	f("import http from", "import https from", "http comes from nowhere")
	f(`from "k6/metrics"`, `from "k6/metric"`, "Counter comes from nowhere")
	f(`new Trend("refusal_time"`, `new Trend("refusals_time"`, "there is no metric refusal_time")
	f(`checks: ["rate==1"]`, `check: ["rate==1"]`, "there is no metric check")
	f("__ENV.RATE", "__ENV.SPEED", "has no -e SPEED=100")
	f(`|| "http://127.0.0.1:8000/items"`, `|| "http://127.0.0.1:8000/"`, "has no -e URL=http://127.0.0.1:8000/ ")
	f("export default", "export", "there is no export default function")
}

var (
	k6Import  = regexp.MustCompile(`(?m)^import (\w+|\{ [\w, ]+ \}) from "(k6|k6/http|k6/metrics)";$`)
	k6Uses    = regexp.MustCompile(`\b(http|check|sleep|Counter|Trend|Rate|Gauge)[.(]`)
	k6Metric  = regexp.MustCompile(`new \w+\("(\w+)"`)
	k6Bound   = regexp.MustCompile(`(?m)^    (\w+): \["`)
	k6Env     = regexp.MustCompile(`__ENV\.(\w+) \|\| "?([^",)]+)`)
	k6Options = regexp.MustCompile(`-e (\w+)=(\S+)`)
)

// wrongWithK6 says what is wrong with a script, and with the command on its page.
func wrongWithK6(script, page string) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if err := brackets(script); err != nil {
		add("%v", err)
	}
	imported := submatches(k6Import, script, 1)
	for _, name := range submatches(k6Uses, script, 1) {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(strings.Join(imported, " ")) {
			add("%s comes from nowhere", name)
		}
	}
	metrics := append(submatches(k6Metric, script, 1), "checks", "http_req_failed") // two are k6's own
	bounds := submatches(k6Bound, script, 1)
	for _, name := range bounds {
		if !slices.Contains(metrics, name) {
			add("there is no metric %s", name)
		}
	}
	for _, begins := range []string{"\nexport const options = {\n", "\nexport default function () {\n"} {
		if !strings.Contains(script, begins) {
			add("there is no %s", strings.TrimSpace(begins))
		}
	}
	_, command, _ := strings.Cut(page, "\nk6 run ")
	command, _, _ = strings.Cut(command, "\n")
	for i, name := range submatches(k6Env, script, 1) {
		if option := fmt.Sprintf("-e %s=%s ", name, submatches(k6Env, script, 2)[i]); !strings.Contains(command, option) {
			add("the page's k6 run %s has no %s", command, option)
		}
	}
	if len(imported) != 3 || len(bounds) != 3 || len(submatches(k6Options, command, 1)) != len(submatches(k6Env, script, 1)) {
		add("%d imports, %d thresholds, k6 run %s", len(imported), len(bounds), command)
	}
	return wrong
}

// submatches are the texts of one group, wherever an expression fits.
func submatches(e *regexp.Regexp, text string, group int) (list []string) {
	for _, m := range e.FindAllStringSubmatch(text, -1) {
		list = append(list, m[group])
	}
	return list
}

// brackets says which bracket of a script has no other. Of JavaScript it knows
// texts in double quotes and comments to the end of a line.
func brackets(script string) error {
	closes := map[rune]rune{')': '(', ']': '[', '}': '{'}
	var open []rune
	line := 0
	for text := range strings.Lines(quotedOrSaid.ReplaceAllString(script, "")) {
		line++
		for _, r := range text {
			switch {
			case strings.ContainsRune("([{", r):
				open = append(open, r)
			case closes[r] == 0:
			case len(open) == 0 || open[len(open)-1] != closes[r]:
				return fmt.Errorf("line %d: nothing that %c closes", line, r)
			default:
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("nothing closes %q", open)
	}
	return nil
}

// quotedOrSaid finds texts and comments.
var quotedOrSaid = regexp.MustCompile(`"[^"\n]*"|//[^\n]*`)
