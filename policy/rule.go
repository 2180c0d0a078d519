package policy

import (
	"net/netip"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/match"
)

// rule is a compiled Rule.
type rule struct {
	RuleInfo
	config   *Rule
	field    string           // where it stands: rules[2]
	was      string           // whose states it keeps, "" for its own
	patterns []*match.Pattern // one of which fits; none: every request
	conditions
	key        []part
	singles    []string // the headers that key and token are read from, each of which must be one line
	kinds      string   // of the key, joined
	missing    Missing
	plan       *plan // nil: everybody has fallback
	fallback   *quota
	cost       int64
	secret     bool // key or plan hangs on a text that is looked up in a table of secrets
	secretKey  bool // the key does
	needsToken bool // key or plan comes from a token, which must be verified first
	refusal    *weir.Refusal
	onFault    weir.Mode // what a failing store, or a failure of the rule's own code, means
}

// asks is how many keys the rule asks to be kept for it; 0 where it says nothing, and where
// it has no limit that counts anybody.
func (r *rule) asks() int {
	if len(r.Limits) == 0 {
		return 0
	}
	return r.config.MaxKeys
}

// quota is what one plan, or everybody, has under a rule.
type quota struct {
	plan            string // "" where the rule has none
	limits          []*weir.Limit
	rates           []*weir.Limit // the limits without those that count requests in flight
	unlimited, deny bool
}

// inFlight reports a limit that counts requests in flight: each holds a slot until it
// is over.
func inFlight(l *weir.Limit) bool { return l.Spec().Algorithm == weir.Concurrency }

// exemption is a compiled Exempt.
type exemption struct {
	index    int
	patterns []*match.Pattern
	conditions
}

// conditions are what a request must hold beside a pattern. None holds always.
type conditions struct {
	networks []netip.Prefix
	headers  []headerCondition
}

// headerCondition is a header that must be there.
type headerCondition struct {
	name   string   // canonical
	values []string // one of which it must hold; none: any
	once   bool     // of an exemption: in one line, and no other
}
