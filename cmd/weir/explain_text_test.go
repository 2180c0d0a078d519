package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
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

// Every reason for an address that is not the header's is said in a sentence.
func TestReasonsInWords(t *testing.T) {
	for r := clientip.NoUntrustedHop; r.String() != "unknown"; r++ {
		got := reason(r.String(), "198.51.100.9", "X-Real-IP")
		if got == r.String() || strings.Contains(got, "HEADER") || strings.Contains(got, "PEER") {
			t.Errorf("%s: %q", r, got)
		}
	}
	f := func(e decide.ExplainAnswer, field, want string) {
		t.Helper()
		if got := address(&e, field); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	e := decide.ExplainAnswer{}
	e.Address, e.AddressFrom, e.AddressReason, e.AddressSure = "198.51.100.9", "peer", "untrusted-peer", true
	f(e, "X-Real-IP", "198.51.100.9, from the connection: 198.51.100.9 is not in trusted_proxies, so that X-Real-IP is not read")
	e.AddressReason = ""
	f(e, "", "198.51.100.9, from the connection")
	e.AddressReason = "of a later version"
	f(e, "X-Real-IP", "198.51.100.9, from the connection: of a later version")
	e.AddressFrom, e.AddressReason = "header", ""
	f(e, "X-Real-IP", "198.51.100.9, from X-Real-IP")
	f(e, "", "198.51.100.9, from the header")
	e.Address, e.AddressFrom, e.AddressReason, e.AddressSure = "", "peer", "no-peer", false
	f(e, "X-Real-IP", "none, from the connection: the peer has no address, and client_ip.unix does not trust it; not sure, so that no exemption and no network fits")
}

// Who would have to wait is told for how long, by each limit and in all.
func TestWaitsInWords(t *testing.T) {
	l := policy.LimitExplanation{Limit: "api", Text: "5/s leaky-bucket wait 1s", Cost: 1, Allowed: true, Capacity: 6, Remaining: 4, DelayMS: 400, Mode: "exact"}
	if got, want := limitText(&l), "5/s leaky-bucket wait 1s (api), cost 1: fits, 4 of 6 left, waits for 400ms"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var e decide.ExplainAnswer
	e.Allowed, e.Reason, e.DelayMS = true, "limits", 1400
	if got, want := verdict(&e), "allowed after 1s400ms (limits)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
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

// When a slot is free is nobody's to say; when a unit is, is.
func TestLimitsInWords(t *testing.T) {
	f := func(l policy.LimitExplanation, want string) {
		t.Helper()
		if got := limitText(&l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	l := policy.LimitExplanation{Limit: "api", Text: "5 concurrent", Cost: 1, Capacity: 5, RetryAfterMS: 30_000}
	f(l, "5 concurrent (api), cost 1: refuses, 0 of 5 left, fits when a request is over, or in 30s")
	l.Text = "5/min"
	f(l, "5/min (api), cost 1: refuses, 0 of 5 left, fits in 30s")
	l.Blocked = true
	f(l, "5/min (api), cost 1: blocked, fits in 30s")
	l.Blocked = false
	l.Allowed, l.Remaining = true, 4
	f(l, "5/min (api), cost 1: fits, 4 of 5 left")
}
