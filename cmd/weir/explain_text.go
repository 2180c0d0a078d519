package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/decide"
	"github.com/weirhq/weir/policy"
)

// printExplanation tells people what was found, from the request to the answer.
// field is the header in which proxies name callers. Of rules that do not apply it
// has the names, and with all the reasons.
func printExplanation(w io.Writer, e *decide.ExplainAnswer, field string, all bool) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s\n", e.Method, e.Host, e.Path)
	if e.Ambiguous != "" {
		line(&b, "path", "ambiguous: "+e.Ambiguous)
	}
	line(&b, "address", address(e, field))
	if e.Token != "" {
		line(&b, "token", token(e.Token))
	}
	switch e.Enforce {
	case policy.On: // as everybody expects
	case policy.Shadow:
		line(&b, "enforce", "shadow: everything is decided and counted, nobody is refused")
	case policy.Off:
		line(&b, "enforce", "off: nothing is decided")
	}
	if e.Exempt != nil {
		line(&b, "exempt", fmt.Sprintf("by exempt[%d]", *e.Exempt))
	}
	printRules(&b, e.Rules, all)
	fmt.Fprintf(&b, "\n%s\n", verdict(e))
	if e.Error != "" {
		line(&b, "error", strings.TrimPrefix(e.Error, "weir: "))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		fmt.Fprintf(&b, "  %s: %s\n", name, e.Headers[name])
	}
	_, err := w.Write(b.Bytes())
	return err
}

// line prints a name and what there is to say.
func line(w io.Writer, name, text string) { fmt.Fprintf(w, "  %-9s %s\n", name, text) }

// address says whose request it is, and how that was found: field is the header in
// which proxies name callers.
func address(e *decide.ExplainAnswer, field string) string {
	text := cmp.Or(e.Address, "none")
	switch e.AddressFrom {
	case "given":
		text += ", as given"
	case "header":
		text += ", from " + cmp.Or(field, "the header")
	default:
		text += ", from the connection"
	}
	if e.AddressReason != "" {
		text += ": " + reason(e.AddressReason, cmp.Or(e.Address, "the peer"), cmp.Or(field, "the header"))
	}
	if e.Network != "" && !strings.HasPrefix(e.Network, e.Address+"/") {
		text += "; counted under " + e.Network
	}
	if !e.AddressSure {
		text += "; not sure, so that no exemption and no network fits"
	}
	return text
}

// reasons says in words why an address is not the header's.
var reasons = [...]struct{ found, text string }{
	{"no-untrusted-hop", "HEADER names nobody but the proxies of trusted_proxies, or nobody at all"},
	{"invalid-hop", "a trusted proxy wrote into HEADER what is no address"},
	{"too-few-hops", "HEADER has fewer elements than client_ip.hops"},
	{"too-many-hops", "HEADER is longer than is read"},
	{"duplicate", "HEADER came more than once"},
	{"missing", "HEADER is missing, or empty"},
	{"untrusted-peer", "PEER is not in trusted_proxies, so that HEADER is not read"},
	{"no-peer", "PEER has no address, and client_ip.unix does not trust it"},
}

// reason says why an address is not the header's.
func reason(found, peer, field string) string {
	for _, r := range reasons {
		if r.found == found {
			return strings.NewReplacer("PEER", peer, "HEADER", field).Replace(r.text)
		}
	}
	return found
}

// tokens says in words how a token was found, where the word alone does not.
var tokens = [...]struct{ found, text string }{
	{notAsked, "not verified: what was decided did not depend on it"},
	{"missing", "none was sent"},
	{"too-long", "refused: it is longer than is read"},
	{"malformed", "refused: it is no JSON Web Token in compact form"},
	{"algorithm", "refused: its algorithm is none of jwt.algorithms, or not its key's"},
	{"unknown-key", "refused: the key that it names is none of jwt.keys"},
	{"signature", "refused: none of jwt.keys has signed it"},
	{"claims", "refused: a registered claim, such as exp, has a value that it cannot have"},
	{"issuer", "refused: its issuer is not jwt.issuer"},
	{"audience", "refused: it is for none of jwt.audience"},
	{"expired", "refused: it has expired"},
	{"not-yet-valid", "refused: it is not valid yet"},
}

// token says how the caller's token was found.
func token(found string) string {
	for _, t := range tokens {
		if t.found == found {
			return t.text
		}
	}
	return found
}

// notAsked is the verdict on what was not needed to decide.
const notAsked = "not asked"

// printRules tells of the rules: those that have a part in the decision one by
// one, the others by name.
func printRules(w io.Writer, rules []policy.RuleExplanation, all bool) {
	var misfits, unasked []string
	for i := range rules {
		switch r := &rules[i]; {
		case all || r.Matched:
			printRule(w, r)
		case r.Verdict == notAsked:
			unasked = append(unasked, r.Rule)
		default:
			misfits = append(misfits, r.Rule)
		}
	}
	if len(misfits)+len(unasked) == 0 {
		return
	}
	fmt.Fprintln(w)
	printNames(w, "not asked", unasked)
	printNames(w, "do not apply", misfits)
}

// mostNames is how many names a line has: a file may have thousands of rules.
const mostNames = 12

func printNames(w io.Writer, what string, names []string) {
	more := ""
	if len(names) > mostNames {
		names, more = names[:mostNames], fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "%s: %s%s (--all says why)\n", what, strings.Join(names, ", "), more)
	}
}

func printRule(w io.Writer, r *policy.RuleExplanation) {
	matched := "applies"
	switch {
	case r.Verdict == notAsked && len(r.Key) == 0:
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
	case l.Blocked:
		text += "blocked, fits in " + milliseconds(l.RetryAfterMS)
	case !l.Allowed && inFlight(l):
		text += fmt.Sprintf("refuses, %d of %d left, fits when a request is over, or in %s", l.Remaining, l.Capacity, milliseconds(l.RetryAfterMS))
	case !l.Allowed:
		text += fmt.Sprintf("refuses, %d of %d left, fits in %s", l.Remaining, l.Capacity, milliseconds(l.RetryAfterMS))
	default:
		text += fmt.Sprintf("fits, %d of %d left", l.Remaining, l.Capacity)
	}
	if l.DelayMS > 0 {
		text += ", waits for " + milliseconds(l.DelayMS)
	}
	if l.Mode != "" && l.Mode != "exact" {
		text += ", mode " + l.Mode
	}
	return text
}

// inFlight reports a limit that counts requests in flight.
func inFlight(l *policy.LimitExplanation) bool {
	spec, err := weir.ParseSpec(l.Text)
	return err == nil && spec.Algorithm == weir.Concurrency
}

// verdict is what the caller gets.
func verdict(e *decide.ExplainAnswer) string {
	by := ""
	if e.Binding != "" {
		by = " by " + e.Binding
	}
	if e.Allowed {
		return "allowed" + by + after(e.DelayMS) + inShadow(e)
	}
	return fmt.Sprintf("refused%s%s: %d %s", by, parenthesis(e.Reason), e.Status, http.StatusText(e.Status))
}

// after is how long a request waits before it goes on.
func after(delay int64) string {
	if delay == 0 {
		return ""
	}
	return " after " + milliseconds(delay)
}

// inShadow is why a request is let through, with the rules that would have refused
// it but for their shadow.
func inShadow(e *decide.ExplainAnswer) string {
	var names []string
	for i := range e.Rules {
		if r := &e.Rules[i]; r.Shadow && (r.Verdict == "refused" || r.Verdict == "denied") {
			names = append(names, r.Rule)
		}
	}
	switch {
	case len(names) == 0:
		return parenthesis(e.Reason)
	case e.Reason == "unlimited": // no other rule has a limit for it
		return fmt.Sprintf(" (shadow): %s would refuse", strings.Join(names, ", "))
	}
	return fmt.Sprintf(" (%s): but for its shadow, %s would refuse", e.Reason, strings.Join(names, ", "))
}
