package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/policy"
)

// printExplanation tells people what was found, from the request to the answer.
func printExplanation(w io.Writer, e *decide.ExplainAnswer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s\n", e.Method, e.Host, e.Path)
	if e.Ambiguous != "" {
		line(&b, "path", "ambiguous: "+e.Ambiguous)
	}
	line(&b, "address", address(e))
	if e.Token != "" {
		line(&b, "token", e.Token)
	}
	if e.Enforce != policy.On && e.Enforce != "" {
		line(&b, "enforce", string(e.Enforce))
	}
	if e.Exempt != nil {
		line(&b, "exempt", fmt.Sprintf("by exempt[%d]", *e.Exempt))
	}
	for i := range e.Rules {
		printRule(&b, &e.Rules[i])
	}
	fmt.Fprintf(&b, "\n%s\n", verdict(e))
	if e.Error != "" {
		line(&b, "error", e.Error)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, e.Headers[name])
	}
	_, err := w.Write(b.Bytes())
	return err
}

// line prints a name and what there is to say.
func line(w io.Writer, name, text string) { fmt.Fprintf(w, "  %-9s %s\n", name, text) }

// address says whose request it is, and how that was found.
func address(e *decide.ExplainAnswer) string {
	text := e.Address
	if text == "" {
		text = "none"
	}
	text += ", from " + e.AddressFrom
	if e.AddressFrom == "given" {
		text = strings.TrimSuffix(text, ", from given") + ", as given"
	}
	if e.AddressReason != "" {
		text += " (" + e.AddressReason + ")"
	}
	if e.Network != "" && !strings.HasPrefix(e.Network, e.Address+"/") {
		text += "; counted under " + e.Network
	}
	if !e.AddressSure {
		text += "; not sure, so that no exemption and no network fits"
	}
	return text
}

func printRule(w io.Writer, r *policy.RuleExplanation) {
	matched := "applies"
	switch {
	case r.Verdict == "not asked" && len(r.Key) == 0:
		matched = "was not asked"
	case !r.Matched:
		matched = "does not apply"
	}
	if r.Shadow {
		matched += ", in shadow"
	}
	if r.Why != "" {
		matched += ": " + r.Why
	}
	fmt.Fprintf(w, "\n%s %s\n", r.Rule, matched)
	if r.Key != "" {
		line(w, "key", r.Key+hash(r.KeyHash))
	}
	if r.Missing != "" {
		line(w, "missing", r.Missing)
	}
	if r.Plan != "" || r.PlanWhy != "" {
		line(w, "plan", strings.TrimSpace(r.Plan+parenthesis(r.PlanWhy)))
	}
	for i := range r.Limits {
		line(w, "limit", limitText(&r.Limits[i]))
	}
	if len(r.Limits) == 0 && r.Verdict != "" {
		line(w, "verdict", r.Verdict)
	}
}

func hash(h string) string {
	if h == "" {
		return ""
	}
	return ", hash " + h
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// limitText is a limit with its verdict.
func limitText(l *policy.LimitExplanation) string {
	text := fmt.Sprintf("%s (%s), cost %d: ", l.Text, l.Limit, l.Cost)
	switch {
	case l.Never:
		text += fmt.Sprintf("never fits, the capacity is %d", l.Capacity)
	case !l.Allowed:
		text += fmt.Sprintf("refuses, %d of %d left, fits in %s", l.Remaining, l.Capacity, milliseconds(l.RetryAfterMS))
	default:
		text += fmt.Sprintf("fits, %d of %d left", l.Remaining, l.Capacity)
	}
	if l.Mode != "" && l.Mode != "exact" {
		text += ", mode " + l.Mode
	}
	return text
}

// verdict is what the caller gets.
func verdict(e *decide.ExplainAnswer) string {
	by := ""
	if e.Binding != "" {
		by = " by " + e.Binding
	}
	if e.Allowed {
		return "allowed" + by + parenthesis(e.Reason)
	}
	return fmt.Sprintf("refused%s%s: %d %s", by, parenthesis(e.Reason), e.Status, http.StatusText(e.Status))
}
