package token

import (
	"encoding/json"
	"slices"
	"time"
)

// Claims is what is kept of a token that has been verified: its issuer, its
// times and the claims of [Config.Claims]. It is immutable and safe for
// concurrent use. A nil or zero Claims has no claims.
type Claims struct {
	issuer  string
	names   []string  // sorted; all Claims of a Verifier share it
	values  []value   // one for each name
	starts  time.Time // nbf less leeway; zero for none
	expires time.Time // exp with leeway; zero for none
}

// A value is that of one claim.
type value struct {
	text  string
	there bool
	quote bool // it was a string
}

// Issuer returns iss, or "" where the token names none.
func (c *Claims) Issuer() string {
	if c == nil {
		return ""
	}
	return c.issuer
}

// Value returns a claim of [Config.Claims] by its exact name. A string is
// returned as it is, which may be empty, with text true. A number is returned
// exactly as it was written (1.0 is not 1), true and false as these words, with
// text false: so the number 1 is not the string "1". Of lists, objects, null,
// strings with U+FFFD and claims that the token or the configuration lacks, ok
// is false.
func (c *Claims) Value(name string) (value string, text, ok bool) {
	if c == nil {
		return "", false, false
	}
	i := slices.Index(c.names, name)
	if i < 0 {
		return "", false, false
	}
	v := c.values[i]
	return v.text, v.quote, v.there
}

// at judges the times of a token whose other claims are in order. The moment of
// exp is itself too late (RFC 7519 section 4.1.4), that of nbf is not too early.
func (c *Claims) at(now time.Time) Reason {
	switch {
	case !c.expires.IsZero() && !now.Before(c.expires):
		return Expired
	case now.Before(c.starts):
		return NotYetValid
	}
	return None
}

// read judges the claims of a payload whose signature holds, but for the time.
func (v *Verifier) read(payload []byte) (*Claims, Reason) {
	members, ok := object(payload)
	if !ok {
		return nil, Malformed
	}
	c := &Claims{names: v.claims, values: make([]value, len(v.claims))}
	if raw, there := members["iss"]; there {
		if c.issuer, ok = text(raw); !ok {
			return nil, BadClaims
		}
	}
	if !v.readTimes(c, members) {
		return nil, BadClaims
	}
	if v.issuer != "" && c.issuer != v.issuer {
		return nil, Issuer
	}
	if reason := v.checkAudience(members); reason != None {
		return nil, reason
	}
	for i, name := range v.claims {
		c.values[i] = valueOf(members[name])
	}
	return c, None
}

// readTimes reads exp and nbf. Either may be left out.
func (v *Verifier) readTimes(c *Claims, members map[string]json.RawMessage) bool {
	if raw, there := members["exp"]; there {
		exp, ok := numericDate(raw)
		if !ok {
			return false
		}
		c.expires = exp.Add(v.leeway)
	}
	if raw, there := members["nbf"]; there {
		nbf, ok := numericDate(raw)
		if !ok {
			return false
		}
		c.starts = nbf.Add(-v.leeway)
	}
	return true
}

// checkAudience looks for one of Config.Audience in aud, which is a string or a
// list of them.
func (v *Verifier) checkAudience(members map[string]json.RawMessage) Reason {
	if len(v.audience) == 0 {
		return None
	}
	raw, there := members["aud"]
	if !there {
		return Audience
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' && json.Unmarshal(raw, &list) != nil {
		return BadClaims
	}
	found := Audience
	for _, raw := range list {
		audience, ok := text(raw)
		if !ok {
			return BadClaims
		}
		if slices.Contains(v.audience, audience) {
			found = None
		}
	}
	return found
}

func valueOf(raw json.RawMessage) value {
	if s, ok := text(raw); ok {
		return value{text: s, there: true, quote: true}
	}
	if s := string(raw); isNumber(raw) || s == "true" || s == "false" {
		return value{text: s, there: true}
	}
	return value{}
}
