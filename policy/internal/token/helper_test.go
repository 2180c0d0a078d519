package token

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// secret is as long as every HS algorithm demands.
const secret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// noon is when tests verify.
func noon() time.Time { return time.Unix(1_800_000_000, 0) }

func encode(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// sign makes a token of a header and a payload as they are written.
func sign(tb testing.TB, alg string, private any, header, payload string) string {
	tb.Helper()
	signed := encode(header) + "." + encode(payload)
	signature, err := jwt.GetSigningMethod(alg).Sign(signed, private)
	if err != nil {
		tb.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// hs makes a token with the common secret.
func hs(tb testing.TB, payload string) string {
	tb.Helper()
	return sign(tb, "HS256", []byte(secret), `{"alg":"HS256","typ":"JWT"}`, payload)
}

func mustNew(tb testing.TB, c Config) *Verifier {
	tb.Helper()
	v, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// shared returns a Verifier of the common secret.
func shared(tb testing.TB, claims ...string) *Verifier {
	tb.Helper()
	return mustNew(tb, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Claims: claims})
}

// reasonOf verifies a token twice, which must give the same, and returns why it
// is refused.
func reasonOf(tb testing.TB, v *Verifier, token string) Reason {
	tb.Helper()
	first := reasonAt(tb, v, token, noon())
	if second := reasonAt(tb, v, token, noon()); second != first {
		tb.Errorf("%v at first, then %v", first, second)
	}
	return first
}

func reasonAt(tb testing.TB, v *Verifier, token string, now time.Time) Reason {
	tb.Helper()
	c, err := v.Verify(token, now)
	if err == nil {
		return None
	}
	refused, ok := errors.AsType[RefusedError](err)
	if !ok || c != nil || refused.Reason == None {
		tb.Fatalf("%v with %v", c, err)
	}
	return refused.Reason
}

// A signer has a key of each kind of form.
type signer struct {
	alg     string
	private any
	public  any // nil for a secret
}

func newRSA(tb testing.TB, bits int) *rsa.PrivateKey {
	tb.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func newEC(tb testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	tb.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// signers returns one for each algorithm that there is.
func signers(tb testing.TB) (all []signer) {
	tb.Helper()
	r := newRSA(tb, 2048)
	curves := map[int]elliptic.Curve{256: elliptic.P256(), 384: elliptic.P384(), 521: elliptic.P521()}
	for _, a := range algorithms {
		switch a.family {
		case secretFamily:
			all = append(all, signer{a.name, []byte(secret), nil})
		case rsaFamily:
			all = append(all, signer{a.name, r, &r.PublicKey})
		case curveFamily:
			k := newEC(tb, curves[a.bits])
			all = append(all, signer{a.name, k, &k.PublicKey})
		case edwardsFamily:
			public, private, err := ed25519.GenerateKey(rand.Reader)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, signer{a.name, private, public})
		}
	}
	return all
}

// pemOf writes a public key.
func pemOf(tb testing.TB, public any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// members are those of a JSON object.
type members map[string]any

// jwkOf writes a public key or a secret, with other members beside it.
func jwkOf(tb testing.TB, key any, others members) members {
	tb.Helper()
	text := base64.RawURLEncoding.EncodeToString
	j := members{}
	switch k := key.(type) {
	case []byte:
		j = members{"kty": "oct", "k": text(k)}
	case *rsa.PublicKey:
		j = members{"kty": "RSA", "n": text(k.N.Bytes()), "e": text(big.NewInt(int64(k.E)).Bytes())}
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			tb.Fatal(err)
		}
		size := len(point) / 2
		j = members{"kty": "EC", "crv": k.Params().Name, "x": text(point[1 : 1+size]), "y": text(point[1+size:])}
	case ed25519.PublicKey:
		j = members{"kty": "OKP", "crv": "Ed25519", "x": text(k)}
	default:
		tb.Fatalf("no JWK for %T", key)
	}
	maps.Copy(j, others)
	return j
}

// setOf writes a JWK Set.
func setOf(tb testing.TB, keys ...members) []byte {
	tb.Helper()
	set, err := json.Marshal(members{"keys": append([]members{}, keys...)})
	if err != nil {
		tb.Fatal(err)
	}
	return set
}
