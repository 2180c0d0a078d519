package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/policy"
)

// Every word that an explanation may have for a token is said in a sentence.
func TestTokensInWords(t *testing.T) {
	source, err := os.ReadFile("../../policy/internal/token/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`(?m)^\t\t[A-Z]\w+:\s+"([a-z-]+)",$`).FindAllStringSubmatch(string(source), -1)
	if len(words) < 10 {
		t.Fatalf("%d words", len(words))
	}
	for _, w := range words {
		if word := w[1]; word != "none" && token(word) == word {
			t.Errorf("there is no sentence for %s", word)
		}
	}
	f := func(found, want string) {
		t.Helper()
		if got := token(found); got != want {
			t.Errorf("%s: %q, want %q", found, got, want)
		}
	}
	f("verified", "verified")
	f("issuer", "refused: its issuer is not jwt.issuer")
	f("not asked", "not verified: what was decided did not depend on it")
	f("of a later version", "of a later version")
}

// A line names no more rules than somebody reads.
func TestRulesThatDoNotApply(t *testing.T) {
	f := func(n int, want string) {
		t.Helper()
		rules := make([]policy.RuleExplanation, n)
		for i := range rules {
			rules[i].Rule = fmt.Sprintf("r%d", i)
		}
		var b strings.Builder
		printRules(&b, rules, false)
		if b.String() != want {
			t.Errorf("%d rules: %q, want %q", n, b.String(), want)
		}
	}
	f(0, "")
	f(1, "\ndo not apply: r0 (--all says why)\n")
	f(12, "\ndo not apply: r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11 (--all says why)\n")
	f(1000, "\ndo not apply: r0, r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11 and 988 more (--all says why)\n")
}
