package token

import (
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// FuzzVerify mutates signed tokens. Whatever is then believed has the claims of
// one that was signed: nobody can become somebody else, nor get another plan.
func FuzzVerify(f *testing.F) {
	k := newEC(f, elliptic.P256())
	v := mustNew(f, Config{
		Keys: setOf(f,
			jwkOf(f, []byte(secret), members{"kid": "h"}),
			jwkOf(f, &k.PublicKey, members{"kid": "e"}),
		),
		Algorithms: []string{"HS256", "ES256"},
		Claims:     []string{"sub", "plan"},
	})
	var signed []string
	for i, payload := range []string{
		`{"sub":"alice","plan":"free"}`, `{"sub":"bob","plan":"gold","iss":"me","aud":["a","b"],"exp":1900000000}`,
		`{"sub":12345678901234567890,"nbf":1.5e9}`, `{"sub":"\u00e4\ud83d\ude00","plan":null,"deep":[{"sub":"x"}]}`,
	} {
		private := []any{[]byte(secret), k}[i%2]
		alg, kid := [...]string{"HS256", "ES256"}[i%2], [...]string{"h", "e"}[i%2]
		token := sign(f, alg, private, fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, alg, kid), payload)
		who, err := identity(v, token)
		if err != nil {
			f.Fatal(err)
		}
		signed = append(signed, who)
		p, _ := cut(token)
		f.Add(p.header, p.payload, p.signature)
		f.Add(encode(`{"alg":"none"}`), p.payload, "")
		f.Add(p.header, encode(`{"sub":"mallory"}`), p.signature)
		f.Add(p.header+".", p.payload, "="+p.signature)
	}
	f.Add(strings.Repeat(".", 9000), "", "")
	f.Fuzz(func(t *testing.T, header, payload, signature string) {
		token := header + "." + payload + "." + signature
		for range 2 { // the second time from memory
			who, err := identity(v, token)
			if err == nil && !slices.Contains(signed, who) {
				t.Fatalf("%q is believed to be %s", token, who)
			}
		}
	})
}

// identity writes out all that a token may be asked for.
func identity(v *Verifier, token string) (string, error) {
	c, err := v.Verify(token, noon())
	if err != nil {
		return "", err
	}
	sub, subText, subOK := c.Value("sub")
	plan, planText, planOK := c.Value("plan")
	return fmt.Sprintf("%q %q %v %v, %q %v %v", c.Issuer(), sub, subText, subOK, plan, planText, planOK), nil
}

// FuzzPayload lets the signer write anything: reading it never panics, and a
// claim is either what encoding/json reads or missing.
func FuzzPayload(f *testing.F) {
	for _, payload := range []string{
		`{"sub":"alice"}`, `{"sub":1}`, `{"sub":1e5,"exp":1e400}`, `{"sub":{"sub":"x"}}`, `{"sub":"a","sub":"b"}`, `[`, `{"sub":"\ud800"}`,
		`{ "sub" : true , "exp" : 18e8 , "nbf":-0.0 }`, "{\"sub\":\"\xff\"}", `{"aud":[]}`, `{"sub":"a"}x`,
	} {
		f.Add(payload)
	}
	v := shared(f, "sub")
	f.Fuzz(func(t *testing.T, payload string) {
		c, reason := v.read([]byte(payload))
		if (reason == None) != (c != nil) {
			t.Fatalf("%v with %v", c, reason)
		}
		if c != nil {
			checkSub(t, c, payload)
		}
	})
}

// FuzzKeys reads anything as keys.
func FuzzKeys(f *testing.F) {
	k := newEC(f, elliptic.P256())
	f.Add(pemOf(f, &k.PublicKey), uint8(0))
	f.Add(setOf(f, jwkOf(f, &k.PublicKey, members{"kid": "a"}), jwkOf(f, []byte(secret), nil)), uint8(1))
	f.Add(setOf(f, jwkOf(f, &newRSA(f, 2048).PublicKey, members{"alg": "RS256"})), uint8(1))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`), uint8(1))
	f.Add([]byte(secret), uint8(2))
	lists := [...][]string{{"ES256", "RS256", "EdDSA"}, {"HS256", "ES256", "RS256"}, {"HS256"}}
	f.Fuzz(func(t *testing.T, keys []byte, choice uint8) {
		v, err := New(Config{Keys: keys, Algorithms: lists[int(choice)%len(lists)]})
		if (v == nil) == (err == nil) {
			t.Fatal(v, err)
		}
		if v != nil {
			reasonOf(t, v, hs(t, `{}`))
			reasonOf(t, v, encode(`{"alg":"RS256"}`)+".e30.AAAA")
		}
	})
}

// checkSub compares sub with a plain reading of the payload.
func checkSub(t *testing.T, c *Claims, payload string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(payload))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		t.Fatalf("%q is read, and is no JSON: %v", payload, err)
	}
	got, text, ok := c.Value("sub")
	if !ok {
		return
	}
	switch want := all["sub"].(type) {
	case string:
		if got != want || !text {
			t.Fatalf("%q: %q, text %v", payload, got, text)
		}
	case json.Number, bool:
		if got != fmt.Sprint(want) || text {
			t.Fatalf("%q: %q, text %v", payload, got, text)
		}
	default:
		t.Fatalf("%q: %q out of %v", payload, got, want)
	}
}
