package token

import (
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// TestS46EveryAlgorithm signs with each algorithm, and verifies with each alone:
// in every form of the key, only the one that signed is believed.
func TestS46EveryAlgorithm(t *testing.T) {
	all := signers(t)
	var lists [][]string
	for _, a := range algorithms {
		lists = append(lists, []string{a.name})
	}
	for _, s := range all {
		token := sign(t, s.alg, s.private, fmt.Sprintf(`{"alg":%q,"kid":"k"}`, s.alg), `{"sub":"alice"}`)
		for name, keys := range forms(t, s) {
			for _, list := range lists {
				v, err := New(Config{Keys: keys, Algorithms: list, Claims: []string{"sub"}})
				if list[0] != s.alg {
					if err == nil {
						if got := reasonOf(t, v, token); got != Algorithm {
							t.Errorf("%s with %s listed, %s: %v", s.alg, list[0], name, got)
						}
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", s.alg, name, err)
				}
				c, err := v.Verify(token, noon())
				if sub, _, _ := c.Value("sub"); err != nil || sub != "alice" {
					t.Errorf("%s, %s: %v", s.alg, name, err)
				}
				checkTampered(t, v, token)
			}
		}
	}
}

// forms returns the ways in which the key of s can be given.
func forms(t *testing.T, s signer) map[string][]byte {
	t.Helper()
	if s.public == nil {
		return map[string][]byte{
			"secret": []byte("\n " + secret + "\r\n"),
			"JWKS":   setOf(t, jwkOf(t, s.private, members{"kid": "k", "key_ops": []string{"sign", "verify"}})),
		}
	}
	one, err := json.Marshal(jwkOf(t, s.public, nil))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"PEM":  append([]byte("The signer's key:\n"), pemOf(t, s.public)...),
		"JWK":  one,
		"JWKS": setOf(t, jwkOf(t, s.public, members{"kid": "k", "alg": s.alg, "use": "sig"})),
	}
}

// checkTampered wants a token refused once another byte was signed, or by
// another signature.
func checkTampered(t *testing.T, v *Verifier, token string) {
	t.Helper()
	p, _ := cut(token)
	forged := p.header + "." + encode(`{"sub":"mallory"}`) + "." + p.signature
	flipped := []byte(token)
	flipped[len(p.signed)+10] ^= 1 // still base64url, or none
	for _, bad := range []string{forged, string(flipped), p.signed + "."} {
		if got := reasonOf(t, v, bad); got != Signature && got != Malformed {
			t.Errorf("a tampered token is refused as %v", got)
		}
	}
}

func TestS46AlgNone(t *testing.T) {
	v := shared(t)
	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "HS257", "hs256", "HS256 "} {
		header := fmt.Sprintf(`{"alg":%q}`, alg)
		for _, signature := range []string{"", "AA", strings.Split(hs(t, `{}`), ".")[2]} {
			token := encode(header) + "." + encode(`{"sub":"alice"}`) + "." + signature
			if got := reasonOf(t, v, token); got != Algorithm {
				t.Errorf("alg %q: %v", alg, got)
			}
		}
		_, err := New(Config{Keys: []byte(secret), Algorithms: []string{"HS256", alg}})
		if err == nil {
			t.Errorf("alg %q can be listed", alg)
		}
	}
}

// TestS46PublicKeyAsSecret signs with what everybody knows.
func TestS46PublicKeyAsSecret(t *testing.T) {
	k := newRSA(t, 2048)
	public := pemOf(t, &k.PublicKey)
	token := sign(t, "HS256", public, `{"alg":"HS256"}`, `{"sub":"mallory"}`)

	if got := reasonOf(t, mustNew(t, Config{Keys: public, Algorithms: []string{"RS256"}}), token); got != Algorithm {
		t.Error(got)
	}
	set := setOf(t, jwkOf(t, &k.PublicKey, members{"kid": "r"}), jwkOf(t, []byte(secret), members{"kid": "h"}))
	both := mustNew(t, Config{Keys: set, Algorithms: []string{"RS256", "HS256"}})
	if got := reasonOf(t, both, token); got != Signature {
		t.Error(got)
	}
	named := sign(t, "HS256", public, `{"alg":"HS256","kid":"r"}`, `{}`)
	if got := reasonOf(t, both, named); got != Algorithm {
		t.Error(got)
	}
}

// TestS46WrongCurve signs with the digest of one algorithm on the curve of
// another, which the signature alone would not tell.
func TestS46WrongCurve(t *testing.T) {
	k := newEC(t, elliptic.P384())
	method := &jwt.SigningMethodECDSA{Name: "ES256", Hash: jwt.SigningMethodES256.Hash, KeySize: 48, CurveBits: 384}
	signed := encode(`{"alg":"ES256","kid":"k"}`) + "." + encode(`{}`)
	signature, err := method.Sign(signed, k)
	if err != nil {
		t.Fatal(err)
	}
	token := signed + "." + encode(string(signature))

	list := []string{"ES256", "ES384"}
	named := mustNew(t, Config{Keys: setOf(t, jwkOf(t, &k.PublicKey, members{"kid": "k"})), Algorithms: list})
	if got := reasonOf(t, named, token); got != Algorithm {
		t.Error(got)
	}
	if got := reasonOf(t, mustNew(t, Config{Keys: pemOf(t, &k.PublicKey), Algorithms: list}), token); got != UnknownKey {
		t.Error(got)
	}
}

// TestS46KeySaysItsAlgorithm ties an RSA key to PS256: the same key must not
// verify RS256, though both are listed.
func TestS46KeySaysItsAlgorithm(t *testing.T) {
	k := newRSA(t, 2048)
	v := mustNew(t, Config{
		Keys:       setOf(t, jwkOf(t, &k.PublicKey, members{"kid": "k", "alg": "PS256"})),
		Algorithms: []string{"RS256", "PS256"},
	})
	if got := reasonOf(t, v, sign(t, "RS256", k, `{"alg":"RS256","kid":"k"}`, `{}`)); got != Algorithm {
		t.Error(got)
	}
	if got := reasonOf(t, v, sign(t, "RS256", k, `{"alg":"RS256"}`, `{}`)); got != UnknownKey {
		t.Error(got)
	}
	if got := reasonOf(t, v, sign(t, "PS256", k, `{"alg":"PS256","kid":"k"}`, `{}`)); got != None {
		t.Error(got)
	}
}

func TestS46KidPicksTheKey(t *testing.T) {
	var keys []members
	secrets := map[string]string{}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		secrets[id] = strings.Repeat(id, 32)
		keys = append(keys, jwkOf(t, []byte(secrets[id]), members{"kid": id}))
	}
	list := []string{"HS256"}
	five := mustNew(t, Config{Keys: setOf(t, keys...), Algorithms: list})
	four := mustNew(t, Config{Keys: setOf(t, keys[:4]...), Algorithms: list})
	mixed := mustNew(t, Config{Keys: setOf(t, keys[0], jwkOf(t, []byte(secrets["b"]), nil)), Algorithms: list})
	nameless := mustNew(t, Config{Keys: []byte(secrets["a"]), Algorithms: list})
	f := func(v *Verifier, header, by string, want Reason) {
		t.Helper()
		token := sign(t, "HS256", []byte(secrets[by]), header, `{"sub":"alice"}`)
		if got := reasonOf(t, v, token); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		f(five, `{"alg":"HS256","kid":"`+id+`"}`, id, None)
	}
	f(five, `{"alg":"HS256","kid":"a"}`, "b", Signature)
	f(five, `{"alg":"HS256"}`, "a", UnknownKey) // five signatures would be too many
	f(four, `{"alg":"HS256"}`, "d", None)
	f(four, `{"alg":"HS256","kid":""}`, "d", None)
	f(four, `{"alg":"HS256"}`, "e", Signature)
	f(four, `{"alg":"HS256","kid":"e"}`, "a", UnknownKey) // its key is there, under another id
	f(nameless, `{"alg":"HS256","kid":"anything"}`, "a", None)
	f(mixed, `{"alg":"HS256","kid":"anything"}`, "b", None)
	f(mixed, `{"alg":"HS256","kid":"anything"}`, "a", Signature) // a has an id of its own
	f(mixed, `{"alg":"HS256"}`, "a", None)
	f(nameless, `{"alg":"HS256","kid":"anything"}`, "b", Signature)
	for _, kid := range []string{
		`"../../../dev/null"`, `"/dev/null"`, `"a\u0000"`, `"A"`, `" a"`, `"a' OR '1'='1"`, `"file:///dev/null"`,
		`"https://evil.example/jwks.json"`, `"` + strings.Repeat("a", 4000) + `"`,
	} {
		f(five, `{"alg":"HS256","kid":`+kid+`}`, "a", UnknownKey)
	}
	for _, kid := range []string{`1`, `null`, `["a"]`, `{"a":1}`, `true`, `"\ud800"`} {
		f(five, `{"alg":"HS256","kid":`+kid+`}`, "a", Malformed)
	}
}

// TestS46HeaderBringsNoKey signs with a key of the bearer's own, which the
// header offers in every way that there is.
func TestS46HeaderBringsNoKey(t *testing.T) {
	ours, theirs := newEC(t, elliptic.P256()), newEC(t, elliptic.P256())
	v := mustNew(t, Config{Keys: pemOf(t, &ours.PublicKey), Algorithms: []string{"ES256"}})
	own, err := json.Marshal(jwkOf(t, &theirs.PublicKey, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{
		`"jwk":` + string(own),
		`"jku":"https://127.0.0.1:1/jwks.json"`,
		`"x5u":"https://127.0.0.1:1/cert.pem"`,
		`"x5c":["MIIB"]`,
	} {
		header := `{"alg":"ES256",` + more + `}`
		if got := reasonOf(t, v, sign(t, "ES256", theirs, header, `{}`)); got != Signature {
			t.Errorf("%s: %v", more, got)
		}
		if got := reasonOf(t, v, sign(t, "ES256", ours, header, `{}`)); got != None {
			t.Errorf("%s, signed by ours: %v", more, got)
		}
	}
}

func TestAlgorithmsAreTheLibrarys(t *testing.T) {
	var seen []string
	for _, a := range algorithms {
		if a.method == nil || a.method.Alg() != a.name || slices.Contains(seen, a.name) {
			t.Errorf("%s has the method %v", a.name, a.method)
		}
		seen = append(seen, a.name)
	}
}
