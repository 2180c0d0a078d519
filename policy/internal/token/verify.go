package token

import (
	"crypto/sha256"
	"strings"
	"time"
)

// Verifier verifies tokens as one [Config] says. It is safe for concurrent use
// and never changes its keys: for a changed key file make a new one, which also
// forgets all tokens. The zero Verifier refuses every token.
type Verifier struct {
	ring     ring
	issuer   string
	audience []string
	claims   []string // sorted, each once
	leeway   time.Duration
	maxBytes int
	memory   *memory
}

// Verify returns the claims of a token that is to be believed at now, and
// otherwise a [RefusedError]. The token is in compact form, without "Bearer".
//
// A token that was believed lately is recognised by its digest, and only its
// times are judged again. Any other costs up to four signatures, whoever made
// it: limit callers by address before.
func (v *Verifier) Verify(token string, now time.Time) (*Claims, error) {
	c, reason := v.verify(token, now)
	if reason != None {
		return nil, RefusedError{reason}
	}
	return c, nil
}

func (v *Verifier) verify(token string, now time.Time) (*Claims, Reason) {
	switch {
	case token == "":
		return nil, Missing
	case len(token) > v.maxBytes:
		return nil, TooLong
	}
	p, ok := cut(token)
	if !ok {
		return nil, Malformed
	}
	id := digest(sha256.Sum256([]byte(token)))
	if c := v.memory.recall(id); c != nil {
		reason := c.at(now)
		if reason == Expired {
			v.memory.forget(id)
		}
		return c, reason
	}
	c, reason := v.judge(p)
	if reason != None {
		return nil, reason
	}
	if reason := c.at(now); reason != None {
		return nil, reason
	}
	v.memory.remember(id, c)
	return c, None
}

// parts are those of a token in compact form (RFC 7515 section 7.1).
type parts struct {
	header, payload, signature string
	signed                     string // header and payload with the dot between them
}

// cut finds the two dots that a token has. It looks no further than the third.
func cut(token string) (p parts, ok bool) {
	header, rest, one := strings.Cut(token, ".")
	payload, signature, two := strings.Cut(rest, ".")
	if !one || !two || strings.Contains(signature, ".") {
		return parts{}, false
	}
	return parts{header, payload, signature, token[:len(header)+1+len(payload)]}, true
}

// judge does all that does not depend on the time.
func (v *Verifier) judge(p parts) (*Claims, Reason) {
	header, ok := readHeader(p.header)
	signature, whole := decode(p.signature)
	if !ok || !whole {
		return nil, Malformed
	}
	choice, ok := v.ring.byName[header.algorithm]
	if !ok {
		return nil, Algorithm
	}
	keys, reason := v.ring.candidates(choice, header.key)
	if reason != None {
		return nil, reason
	}
	if !signedByOne(keys, choice.algorithm, p.signed, signature) {
		return nil, Signature
	}
	payload, ok := decode(p.payload)
	if !ok {
		return nil, Malformed
	}
	return v.read(payload)
}

func signedByOne(keys []key, a algorithm, signed string, signature []byte) bool {
	for _, k := range keys {
		if a.method.Verify(signed, signature, k.material) == nil {
			return true
		}
	}
	return false
}

// A header is what is read of a token's header. Keys that it brings along or
// points to (jwk, jku, x5c, x5u) would be the bearer's choice.
type header struct {
	algorithm string
	key       string // kid; "" for none
}

// readHeader reads a header (RFC 7515 section 4). One with crit demands what is
// not understood here, whatever it lists.
func readHeader(segment string) (h header, ok bool) {
	data, ok := decode(segment)
	if !ok {
		return header{}, false
	}
	members, ok := object(data)
	if _, demands := members["crit"]; !ok || demands {
		return header{}, false
	}
	if h.algorithm, ok = text(members["alg"]); !ok {
		return header{}, false
	}
	h.key, ok = optionalText(members, "kid")
	return h, ok
}
