package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"math"
	"math/big"
	"slices"
)

// A jwk is a JSON Web Key (RFC 7517 section 4) by its members.
type jwk map[string]json.RawMessage

// readJWK reads one key. What is for another purpose, of a kind that no
// algorithm here uses, or for an algorithm that is not wanted, is passed over,
// as section 5 has it: providers keep all their keys in one set.
func (r *reading) readJWK(index int, j jwk) {
	if j.private() {
		r.wrong(index, privateKey, giveThePublic)
		return
	}
	for _, name := range []string{"kty", "kid", "use", "alg", "crv"} {
		s, ok := j.text(name)
		if missing := name == "kty" && s == ""; missing || !ok {
			r.wrong(index, "has no "+name+", or one that is no string", giveTheWhole)
			return
		}
	}
	kind := j.kind()
	if !j.verifies() || len(kind.fitting(r.wanted)) == 0 {
		return
	}
	material, problem := j.material(kind)
	k, ok := keyOf(material)
	if problem != "" || !ok {
		r.wrong(index, problem, giveTheWhole)
		return
	}
	k.id, k.only = kind.id, kind.only
	r.add(index, k)
}

// private reports whether j holds what only the signer should.
func (j jwk) private() bool {
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		if _, ok := j[name]; ok {
			return true
		}
	}
	return false
}

// verifies reports whether j is meant for verifying signatures. A key_ops that
// is no list of texts does not say so.
func (j jwk) verifies() bool {
	use, _ := j.text("use")
	raw, ok := j["key_ops"]
	if !ok {
		return use == "" || use == "sig"
	}
	var ops []string
	if json.Unmarshal(raw, &ops) != nil {
		return false
	}
	return (use == "" || use == "sig") && slices.Contains(ops, "verify")
}

// kind returns the key that j describes, without its material.
func (j jwk) kind() (k key) {
	k.id, _ = j.text("kid")
	k.only, _ = j.text("alg")
	kty, _ := j.text("kty")
	crv, _ := j.text("crv")
	switch {
	case kty == "oct":
		k.family = secretFamily
	case kty == "RSA":
		k.family = rsaFamily
	case kty == "EC":
		if curve := curveNamed(crv); curve != nil {
			k.family, k.bits = curveFamily, curve.Params().BitSize
		}
	case kty == "OKP" && crv == "Ed25519":
		k.family = edwardsFamily
	}
	return k
}

func curveNamed(crv string) elliptic.Curve {
	switch crv {
	case "P-256":
		return elliptic.P256()
	case "P-384":
		return elliptic.P384()
	case "P-521":
		return elliptic.P521()
	}
	return nil
}

// material reads the key itself, or tells what is wrong with it.
func (j jwk) material(kind key) (material any, problem string) {
	switch kind.family {
	case secretFamily:
		k, ok := j.bytes("k")
		if !ok {
			return nil, "has no k in base64url"
		}
		return k, ""
	case rsaFamily:
		return j.rsa()
	case curveFamily:
		return j.point()
	case edwardsFamily:
		x, ok := j.bytes("x")
		if !ok || len(x) != ed25519.PublicKeySize {
			return nil, "has no x of 32 bytes in base64url"
		}
		return ed25519.PublicKey(x), ""
	default:
		return nil, "is of an unknown kind"
	}
}

// rsa reads an RSA key (RFC 7518 section 6.3.1).
func (j jwk) rsa() (material any, problem string) {
	n, okN := j.bytes("n")
	e, okE := j.bytes("e")
	exponent := new(big.Int).SetBytes(e)
	if !okN || !okE || !exponent.IsInt64() || exponent.Int64() > math.MaxInt32 {
		return nil, "has no n and e of an RSA key in base64url"
	}
	return &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}, ""
}

// point reads a point of a curve (RFC 7518 section 6.2.1), whose coordinates
// have their full length.
func (j jwk) point() (material any, problem string) {
	crv, _ := j.text("crv")
	curve := curveNamed(crv)
	size := (curve.Params().BitSize + 7) / 8
	x, okX := j.bytes("x")
	y, okY := j.bytes("y")
	if !okX || !okY || len(x) != size || len(y) != size {
		return nil, "has no x and y of its curve's length in base64url"
	}
	const uncompressed = 4 // SEC 1 section 2.3.3
	public, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{uncompressed}, x, y))
	if err != nil {
		return nil, "has x and y that are no point of its curve"
	}
	return public, ""
}

// text returns a member that is a string, "" where there is none.
func (j jwk) text(name string) (s string, ok bool) { return optionalText(j, name) }

func (j jwk) bytes(name string) ([]byte, bool) {
	s, ok := j.text(name)
	if !ok || s == "" {
		return nil, false
	}
	return decode(s)
}
