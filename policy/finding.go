package policy

import (
	"slices"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/clientip"
)

// Reason says what a Finding came to: the causes of outcomes, with those for
// which no limit applied told apart.
type Reason uint8

// The reasons.
const (
	ReasonLimits    Reason = iota // the limits decided
	ReasonDeny                    // a limit of `deny` refused
	ReasonFault                   // the store, or a rule's own code, failed
	ReasonMissing                 // a part of a key is missing, and the rule refuses that
	ReasonRequest                 // the request cannot be judged: an ambiguous path, a peer without an address
	ReasonUnmatched               // no rule matches
	ReasonUnlimited               // the rules that match have no limit for it
	ReasonExempt                  // an entry of Config.Exempt
	ReasonOff                     // the switch is off
)

// String is the word that logs and explanations use: limits, deny, …
func (r Reason) String() string {
	names := [...]string{"limits", "deny", "fault", "missing", "request", "unmatched", "unlimited", "exempt", "off"}
	if int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// Finding is all that a decision found, for logs and metrics. It and what it
// holds are used again when Observe returns.
type Finding struct {
	Policy  *Policy
	Request *weir.Request
	Outcome *weir.Outcome
	Reason  Reason
	Enforce Enforce         // the switch, as it stood
	Caller  clientip.Answer // whose address it is, and how it was found
	Applied []Applied       // the rules that matched, in the order of the file
}

// Applied is one rule's part in a decision.
type Applied struct {
	Rule    *RuleInfo  // which
	Plan    string     // the caller's, "" without one
	Kinds   string     // of its key, as in `jwt:sub`; `ip` where a part was missing. Safe to log
	Key     weir.Key   // what was counted under: a hash of which a part may be logged (KeyHash)
	Missing string     // the kind of the part that was missing, "" for none
	Shadow  bool       // it could not refuse: its own shadow, or the switch's
	Cause   weir.Cause // ByDeny, ByMissing, ByRequest or ByFault where the rule refuses without its limits, or would but for its shadow; else ByLimits
	Take    int        // its first take in the outcome
	Takes   int        // how many there are; 0 where it has no limit for the request, or does not apply
}

// RuleInfo is what is known of a compiled rule. It is immutable.
type RuleInfo struct {
	Index  int           // in Config.Rules
	Name   string        // as in Config.Rules
	Shadow bool          // the rule's own
	Limits []*weir.Limit // all versions, those of its plans included
}

// InFlight reports a rule that counts requests in flight, under a plan at least: it
// needs a surface that keeps slots for as long as a request lasts.
func (r *RuleInfo) InFlight() bool { return slices.ContainsFunc(r.Limits, inFlight) }
