package token

import (
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// A family is what kind of key an algorithm works with.
type family uint8

const (
	unknownFamily family = iota
	secretFamily         // a secret that signs and verifies: HS
	rsaFamily            // RS and PS
	curveFamily          // ES
	edwardsFamily        // EdDSA
)

// An algorithm is one way to sign (RFC 7518 section 3.1, RFC 8037).
type algorithm struct {
	name   string
	family family
	bits   int // HS: the hash, and so the least secret; ES: the curve
	method jwt.SigningMethod
}

// algorithms are all that can be listed. There is no "none".
var algorithms = [...]algorithm{
	{"HS256", secretFamily, 256, jwt.SigningMethodHS256},
	{"HS384", secretFamily, 384, jwt.SigningMethodHS384},
	{"HS512", secretFamily, 512, jwt.SigningMethodHS512},
	{"RS256", rsaFamily, 0, jwt.SigningMethodRS256},
	{"RS384", rsaFamily, 0, jwt.SigningMethodRS384},
	{"RS512", rsaFamily, 0, jwt.SigningMethodRS512},
	{"PS256", rsaFamily, 0, jwt.SigningMethodPS256},
	{"PS384", rsaFamily, 0, jwt.SigningMethodPS384},
	{"PS512", rsaFamily, 0, jwt.SigningMethodPS512},
	{"ES256", curveFamily, 256, jwt.SigningMethodES256},
	{"ES384", curveFamily, 384, jwt.SigningMethodES384},
	{"ES512", curveFamily, 521, jwt.SigningMethodES512},
	{"EdDSA", edwardsFamily, 0, jwt.SigningMethodEdDSA},
}

// algorithmNamed finds an algorithm by its name, in these letters.
func algorithmNamed(name string) (algorithm, bool) {
	for _, a := range algorithms {
		if a.name == name {
			return a, true
		}
	}
	return algorithm{}, false
}

// inOtherLetters returns the algorithm whose name differs from name in the case
// of letters alone, or "".
func inOtherLetters(name string) string {
	for _, a := range algorithms {
		if strings.EqualFold(a.name, name) {
			return a.name
		}
	}
	return ""
}
