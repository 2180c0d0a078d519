package policy

import "github.com/weirhq/weir"

// Explanation says how a request is decided, and why. Its JSON form is what
// `weir explain --json` and /v1/explain give.
type Explanation struct {
	Method    string `json:"method"`
	Host      string `json:"host"`
	Path      string `json:"path"`                // canonical
	Ambiguity string `json:"ambiguity,omitempty"` // in which way the path is ambiguous

	Address       string `json:"address"` // "" for none
	Sure          bool   `json:"sure"`
	AddressFrom   string `json:"address_from"`             // peer, header or given
	AddressReason string `json:"address_reason,omitempty"` // why it was not taken from the header

	Enforce Enforce           `json:"enforce"`
	Reason  string            `json:"reason"`
	Exempt  *int              `json:"exempt,omitempty"` // the entry of Config.Exempt that fits
	Token   string            `json:"token,omitempty"`  // what became of the token: verified, or why not
	Rules   []RuleExplanation `json:"rules"`
	Allowed bool              `json:"allowed"`
	Binding string            `json:"binding,omitempty"` // the rule that decided

	Outcome *weir.Outcome `json:"-"` // for the surface: fields and status
}

// RuleExplanation is one rule's part in an Explanation.
type RuleExplanation struct {
	Rule    string             `json:"rule"`
	Matched bool               `json:"matched"`
	Why     string             `json:"why"` // which pattern fits, or what does not
	Shadow  bool               `json:"shadow,omitempty"`
	Key     []string           `json:"key,omitempty"`      // kinds
	KeyHash string             `json:"key_hash,omitempty"` // 8 hexadecimal digits
	Missing string             `json:"missing,omitempty"`
	Plan    string             `json:"plan,omitempty"`
	PlanWhy string             `json:"plan_why,omitempty"`
	Limits  []LimitExplanation `json:"limits,omitempty"`
}

// LimitExplanation is one limit's verdict.
type LimitExplanation struct {
	Limit        string `json:"limit"`
	Text         string `json:"text"`
	Cost         int64  `json:"cost"`
	Allowed      bool   `json:"allowed"`
	Never        bool   `json:"never,omitempty"`
	Remaining    int64  `json:"remaining"`
	Capacity     int64  `json:"capacity"`
	RetryAfterMS int64  `json:"retry_after_ms"`
	ResetAfterMS int64  `json:"reset_after_ms"`
	Mode         string `json:"mode"`
}
