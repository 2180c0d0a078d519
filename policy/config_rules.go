package policy

import "net/netip"

// This file is what a rules file says of requests: plans, exemptions and rules.

// Limits is a list of limits, all of which must fit. In a rules file it is one
// text or a list; an entry may have a name.
type Limits []Limit

// Limit is one limit as it is written, such as `5/s burst 5`: see
// weir.ParseSpec.
type Limit struct {
	// Name tells the limit from others of its rule, where its period does not.
	Name string `yaml:"name"`

	// Limit is its text.
	Limit string `yaml:"limit" forms:"short"`
}

// Exempt is one kind of request that no rule applies to. All fields that are
// set must hold; one at least must be.
type Exempt struct {
	Match   []string               `yaml:"match" forms:"one"` // patterns, one of which fits
	IP      []netip.Prefix         `yaml:"ip" forms:"one"`    // networks, one of which holds the caller's address
	Headers map[string]HeaderMatch `yaml:"headers"`           // headers that must be there; values are secrets then
}

// HeaderMatch says what a header must hold. In a rules file it is `true` for
// any value, one value, or a list.
type HeaderMatch struct {
	Any    bool     // it is there, whatever it holds
	Values []string // it is there once, and holds one of these
}

// Rule limits the requests that match it.
type Rule struct {
	// Name is the identity of the rule's limits in headers, metrics, logs and
	// store keys: 1 to 32 of a-z 0-9 . _ -, beginning with a letter or digit.
	Name string `yaml:"name"`

	// Was is the first name that the rule had: its states are kept for as long as
	// this stands here.
	Was string `yaml:"was"`

	// Match lists patterns in the syntax of http.ServeMux, one of which must
	// fit: method, host, path, wildcards. Without any, all requests match.
	Match []string `yaml:"match" forms:"one"`

	// IP lists networks, one of which must hold the caller's address; one that
	// is not sure is in none.
	IP []netip.Prefix `yaml:"ip" forms:"one"`

	// Headers must all hold.
	Headers map[string]HeaderMatch `yaml:"headers"`

	// Key lists what is counted by, all parts together: ip, header:N,
	// cookie:N, query:N, host, path:N, basic:user, jwt:CLAIM or const:TEXT.
	// Without any it is ip.
	Key []string `yaml:"key" forms:"one"`

	// Missing says what becomes of a request that lacks a part of the key.
	Missing Missing `yaml:"missing"`

	// Normalize says how the text parts of a key are made alike.
	Normalize Normalize `yaml:"normalize"`

	// Limit is the rule's limit; Limits are several. Exactly one of Limit,
	// Limits and Plan is set.
	Limit  string `yaml:"limit"`
	Limits Limits `yaml:"limits"`

	// Plan says where the caller's plan is named, one of Config.Plans.
	Plan *Plan `yaml:"plan"`

	// DefaultPlan is the plan of callers without one of Config.Plans. It is
	// required with Plan, and may not be unlimited.
	DefaultPlan string `yaml:"default_plan"`

	// Cost is how many units a request takes: 1 by default.
	Cost int64 `yaml:"cost" min:"1" max:"4503599627370495"`

	// Shadow decides, charges and counts without refusing.
	Shadow bool `yaml:"shadow"`

	// Scope is shared by all replicas, which is the default, or kept in each.
	// On memory there is no difference.
	Scope Scope `yaml:"scope"`

	// MaxKeys is how many callers the table keeps room for, whatever other
	// rules hold. Without it the rule has an equal share of half the table.
	MaxKeys int `yaml:"max_keys" min:"1" max:"100000000"`

	// Refuse changes what a refused caller is told.
	Refuse *Refuse `yaml:"refuse"`
}

// Missing says what becomes of a request that lacks a part of its key.
type Missing string

// The choices for missing parts. The empty Missing is MissingIP.
const (
	MissingIP   Missing = "ip"   // it is counted by address, in a namespace of its own
	MissingSkip Missing = "skip" // the rule does not apply to it
	MissingDeny Missing = "deny" // it is refused: 401 for jwt and basic, 400 otherwise
)

// Normalize says how the text parts of a key are made alike.
type Normalize string

// The choices for text parts. The empty Normalize is NormalizeNone.
const (
	NormalizeNone  Normalize = "none"  // bytes count as they are
	NormalizeLower Normalize = "lower" // letters are lower-cased
)

// Scope says who shares a rule's states.
type Scope string

// The scopes. The empty Scope is ScopeShared.
const (
	ScopeShared  Scope = "shared"  // all replicas
	ScopeReplica Scope = "replica" // each by itself
)

// Plan says where the name of a caller's plan comes from. In a rules file it is
// `jwt:CLAIM` or `header:NAME`, which hold the plan's name, or a table: one of
// ip, jwt:CLAIM, header:NAME, cookie:NAME and query:NAME, with the plan of each
// value (of ip: of each network; the longest that holds the address counts).
type Plan struct {
	From  string            // jwt:CLAIM, header:NAME, …
	Table map[string]string // plans by value; nil where the value is the plan's name
}

// Refuse changes what a refused caller is told.
type Refuse struct {
	Status int    `yaml:"status" min:"400" max:"599"` // instead of the usual one
	Detail string `yaml:"detail"`                     // for people, instead of the usual one
}
