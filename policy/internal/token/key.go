package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"strings"
)

// A key verifies the signatures of the algorithms that it fits.
type key struct {
	id       string // kid; "" for none
	only     string // the one algorithm that the key's set admits; "" for all of its family
	family   family
	bits     int // of the secret, the modulus or the curve
	material any // as jwt.SigningMethod wants it
}

// keyOf returns the key of material, and false for what no algorithm uses.
func keyOf(material any) (key, bool) {
	switch m := material.(type) {
	case []byte:
		return key{family: secretFamily, bits: 8 * len(m), material: m}, true
	case *rsa.PublicKey:
		return key{family: rsaFamily, bits: m.N.BitLen(), material: m}, true
	case *ecdsa.PublicKey:
		return key{family: curveFamily, bits: m.Curve.Params().BitSize, material: m}, true
	case ed25519.PublicKey:
		return key{family: edwardsFamily, bits: 8 * len(m), material: m}, true
	}
	return key{}, false
}

// fits reports whether the key may verify a signature of a: an algorithm is
// never the token's choice alone.
func (k key) fits(a algorithm) bool {
	switch {
	case k.only != "" && k.only != a.name, k.family != a.family:
		return false
	case k.family == curveFamily:
		return k.bits == a.bits
	}
	return true
}

// fitting returns the algorithms among wanted that k fits.
func (k key) fitting(wanted []algorithm) (fitting []algorithm) {
	for _, a := range wanted {
		if k.fits(a) {
			fitting = append(fitting, a)
		}
	}
	return fitting
}

const (
	// leastModulus is that of RFC 7518 sections 3.3 and 3.5.
	leastModulus = 2048
	// mostModulus bounds the work for a signature, which grows with its square.
	mostModulus = 8192
)

// weakness returns what is wrong with k's size for algorithms that it fits, or "".
func (k key) weakness(used []algorithm) (problem, remedy string) {
	switch k.family {
	case rsaFamily:
		return weakModulus(k.material, k.bits)
	case secretFamily:
		return weakSecret(k.bits, used)
	default:
		return "", ""
	}
}

func weakModulus(material any, bits int) (problem, remedy string) {
	public, ok := material.(*rsa.PublicKey)
	switch {
	case bits < leastModulus:
		return fmt.Sprintf("is an RSA key of %d bits", bits), fmt.Sprintf("sign with one of at least %d", leastModulus)
	case bits > mostModulus:
		return fmt.Sprintf("is an RSA key of %d bits", bits), fmt.Sprintf("sign with one of at most %d", mostModulus)
	case !ok || public.N.Bit(0) == 0 || public.E < 3 || public.E%2 == 0:
		return "is no RSA key", "give the public key as its maker wrote it"
	}
	return "", ""
}

// weakSecret demands the size of the longest hash (RFC 7518 section 3.2).
func weakSecret(bits int, used []algorithm) (problem, remedy string) {
	for _, a := range used {
		if bits < a.bits {
			return fmt.Sprintf("is a secret of %d bytes, shorter than the hash of %s", bits/8, a.name),
				fmt.Sprintf("use at least %d random bytes", longest(used)/8)
		}
	}
	return "", ""
}

func longest(used []algorithm) (bits int) {
	for _, a := range used {
		bits = max(bits, a.bits)
	}
	return bits
}

func names(list []algorithm) string {
	var s []string
	for _, a := range list {
		s = append(s, a.name)
	}
	return strings.Join(s, ", ")
}
