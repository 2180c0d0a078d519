package token

import "strconv"

// ConfigError is one thing that is wrong with a [Config]. The error of [New]
// joins them: errors.As finds the first, and its Unwrap() []error has them all.
// It never holds anything of the keys.
type ConfigError struct {
	Field   string // the field's name in Config, such as "Algorithms"
	Index   int    // which entry of a list or key of Keys, from 0; -1 if the field is meant
	Value   string // what the field or the entry holds; "" for Keys, always
	Problem string // what is wrong, as the rest of a sentence
	Remedy  string // what to do instead
}

// Error returns the whole as one line, such as
// "token: Keys[1]: is a private key; give the public key".
func (e *ConfigError) Error() string {
	place := e.Field
	if e.Index >= 0 {
		place += "[" + strconv.Itoa(e.Index) + "]"
	}
	if e.Value != "" {
		place += " " + e.Value
	}
	return "token: " + place + ": " + e.Problem + "; " + e.Remedy
}

// Reason says why a token is not believed. Its values are few and fixed, so
// that its text can be a metric label.
type Reason uint8

// The reasons, in the order in which they are found.
const (
	// None: the token is believed. No error has this reason.
	None Reason = iota
	// Missing: there is no token.
	Missing
	// TooLong: the token has more bytes than Config.MaxBytes; it was not read.
	TooLong
	// Malformed: it is no JWT in compact form, names a member twice, has more
	// than 128 in its header or its claims, or has a crit header.
	Malformed
	// Algorithm: Config.Algorithms does not list its algorithm, or the key
	// that it names is not for that algorithm.
	Algorithm
	// UnknownKey: it names a key that is not among Config.Keys, or it names
	// none and too many come into question.
	UnknownKey
	// Signature: no key that comes into question has signed it.
	Signature
	// BadClaims: a registered claim has a value it cannot have, such as an
	// exp that is no number.
	BadClaims
	// Issuer: it is not from Config.Issuer.
	Issuer
	// Audience: it is not for any of Config.Audience.
	Audience
	// Expired: its exp, with Config.Leeway, is over.
	Expired
	// NotYetValid: its nbf, with Config.Leeway, is still to come.
	NotYetValid
)

// String returns the reason in lower case with hyphens, such as "unknown-key",
// and "unknown" for a value that is not among the constants.
func (r Reason) String() string {
	names := [...]string{
		None:        "none",
		Missing:     "missing",
		TooLong:     "too-long",
		Malformed:   "malformed",
		Algorithm:   "algorithm",
		UnknownKey:  "unknown-key",
		Signature:   "signature",
		BadClaims:   "claims",
		Issuer:      "issuer",
		Audience:    "audience",
		Expired:     "expired",
		NotYetValid: "not-yet-valid",
	}
	if int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}

// RefusedError is the error of [Verifier.Verify]. It holds nothing of the token.
type RefusedError struct {
	Reason Reason // why; never None
}

// Error returns the reason as one line, such as "token: refused: expired".
func (e RefusedError) Error() string { return "token: refused: " + e.Reason.String() }
