package token

import (
	"crypto/elliptic"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestS46Shape(t *testing.T) {
	v := shared(t)
	good := hs(t, `{"sub":"alice"}`)
	p, _ := cut(good)
	f := func(token string, want Reason) {
		t.Helper()
		if got := reasonOf(t, v, token); got != want {
			t.Errorf("%.60q: %v, want %v", token, got, want)
		}
	}
	f(good, None)
	f("", Missing)
	f(".", Malformed)
	f("..", Malformed)
	f("...", Malformed)
	f(p.signed, Malformed)
	f(good+".", Malformed)
	f("."+good, Malformed)
	f(good+"."+p.signature, Malformed)
	f(" "+good, Malformed)
	f(good+"\n", Malformed)
	f("Bearer "+good, Malformed)
	f(strings.Repeat("a", 8193), TooLong)
	f(strings.Repeat("a", 8192), Malformed)
	f(strings.Repeat(".", 8192), Malformed)
	f(strings.Repeat(".", 1_000_000), TooLong)

	// Before the signature holds, nobody looks at what the payload says.
	f(p.header+"."+encode(`{"exp":1}`)+"."+p.signature, Signature)
	f(p.header+".{."+p.signature, Signature)

	header := func(h string) { t.Helper(); f(sign(t, "HS256", []byte(secret), h, `{}`), Malformed) }
	header(`{"alg":"HS256","crit":["exp"],"exp":1}`)
	header(`{"alg":"HS256","crit":[]}`)
	header(`{"alg":"HS256","crit":null}`)
	header(`{"alg":"HS256","alg":"HS256"}`)
	header(`{"alg":"none","\u0061lg":"HS256"}`)
	header(`{"ALG":"HS256"}`)
	header(`{"alg":["HS256"]}`)
	header(`{"alg":null}`)
	header(`{}`)
	header(`[]`)
	header(`"HS256"`)
	header(`{"alg":"HS256"} {}`)
	header(`{"alg":"HS256"`)
	header("{\"alg\":\"HS256\",\"x\":\"\xff\"}")
	header(strings.Repeat(`{"a":`, 900))

	payload := func(p string) { t.Helper(); f(hs(t, p), Malformed) }
	payload(``)
	payload(`null`)
	payload(`[]`)
	payload(`{"sub":"alice"}{}`)
	payload(`{"sub":"alice","sub":"bob"}`)
	payload(`{"sub":"alice","\u0073ub":"bob"}`)
	payload("{\"sub\":\"\xff\"}")
	payload(strings.Repeat(`[`, 4000))
	payload(hs(t, `{}`)) // a token within the token

	many := func(n int) string {
		var s []string
		for i := range n {
			s = append(s, fmt.Sprintf(`"%d":[1,{"x":[]}]`, i))
		}
		return "{" + strings.Join(s, ",") + "}"
	}
	f(hs(t, many(mostMembers)), None)
	payload(many(mostMembers + 1))
}

// TestS46LongestToken stands at the edge of the bound itself.
func TestS46LongestToken(t *testing.T) {
	token := hs(t, `{"sub":"alice","pad":"`+strings.Repeat("x", 500)+`"}`)
	for _, over := range []int{0, 1} {
		v := mustNew(t, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, MaxBytes: len(token) - over})
		want := [...]Reason{None, TooLong}[over]
		if got := reasonOf(t, v, token); got != want {
			t.Errorf("%d bytes of %d: %v, want %v", len(token), len(token)-over, got, want)
		}
	}
}

// TestAllocationsOfDotsS46: neither a token over the bound nor one full of dots makes
// anything that has to be cleared away.
func TestAllocationsOfDotsS46(t *testing.T) {
	v := shared(t)
	for _, n := range []int{3, 8192, 1_000_000} {
		dots := strings.Repeat(".", n)
		if got := testing.AllocsPerRun(100, func() { v.Verify(dots, noon()) }); got != 0 {
			t.Errorf("%d dots: %v allocations", n, got)
		}
	}
}

// TestS46OtherSpellings alters how a token's bytes are written, and not which
// bytes they are.
func TestS46OtherSpellings(t *testing.T) {
	v := shared(t, "sub")
	token := hs(t, `{"sub":"alice","n":1}`) // a signature of 32 bytes leaves two bits over
	p, _ := cut(token)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	for _, other := range []string{
		token[:len(token)-1] + alphabet[last+1:last+2],
		token + "=",
		p.signed + "=." + p.signature,
		p.header + "=." + p.payload + "." + p.signature,
		p.signed + ".\n" + p.signature,
		p.signed + "." + p.signature[:8] + "\r\n" + p.signature[8:],
		p.signed + "." + strings.NewReplacer("-", "+", "_", "/").Replace(p.signature) + "+",
	} {
		if got := reasonOf(t, v, other); got != Malformed && got != Signature {
			t.Errorf("%q: %v", other, got)
		}
	}
}

// TestS46TwinSignature turns a signature over a curve into the other one that
// verifies as well. It takes the same claims with it.
func TestS46TwinSignature(t *testing.T) {
	v, token := common(t)
	p, _ := cut(token)
	signature, _ := decode(p.signature)
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	twin := p.signed + "." + base64.RawURLEncoding.EncodeToString(signature)
	if twin == token {
		t.Fatal("it is no twin")
	}
	want, errWant := identity(v, token)
	got, err := identity(v, twin)
	if errWant != nil || err == nil && got != want {
		t.Errorf("%s, then %s", want, got)
	}
}

func TestS46Times(t *testing.T) {
	at := noon().Unix()
	v := mustNew(t, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Leeway: 30 * time.Second})
	f := func(payload string, now time.Time, want Reason) {
		t.Helper()
		token := hs(t, payload)
		for _, known := range []bool{false, true} {
			if got := reasonAt(t, v, token, now); got != want {
				t.Errorf("%s, known %v: %v, want %v", payload, known, got, want)
			}
			// Now it is remembered, if that can be.
			reasonAt(t, v, token, noon())
		}
	}
	exp, nbf := fmt.Sprintf(`{"exp":%d}`, at), fmt.Sprintf(`{"nbf":%d}`, at)
	after := func(d time.Duration) time.Time { return noon().Add(d) }
	f(exp, after(30*time.Second-1), None)
	f(exp, after(30*time.Second), Expired)
	f(exp, after(time.Hour), Expired)
	f(nbf, after(-30*time.Second-1), NotYetValid)
	f(nbf, after(-30*time.Second), None)
	f(fmt.Sprintf(`{"exp":%d.5}`, at), after(30*time.Second+499*time.Millisecond), None)
	f(fmt.Sprintf(`{"exp":%d.5}`, at), after(30*time.Second+501*time.Millisecond), Expired)
	f(`{"exp": 1.8e9 }`, after(30*time.Second-1), None)
	f(`{"exp":0}`, noon(), Expired)
	f(`{"exp":-0}`, noon(), Expired)
	f(`{"nbf":0,"exp":253402300799}`, noon(), None)
	f(fmt.Sprintf(`{"nbf":%d,"exp":%d}`, at+100, at-100), noon(), Expired)
	f(`{"iat":"never"}`, noon(), None)
	f(`{}`, time.Unix(1<<40, 0), None)
	f(`{}`, time.Time{}, None)
}

// TestS46NoDates: none of these is a time, and none may be taken for one.
func TestS46NoDates(t *testing.T) {
	v := shared(t)
	for _, name := range []string{"exp", "nbf"} {
		for _, value := range []string{
			`-1`, `-1e300`, `1e300`, `1e400`, `1e999999999`, `1e-999999999999999999999`, `9223372036854775807`,
			`253402300799.9`, `253402300800`, `18446744073709551616`, strings.Repeat("9", 5000),
			`"1800000000"`, `null`, `true`, `[]`, `{}`, `""`, `"Infinity"`,
		} {
			want := BadClaims
			if value == `1e-999999999999999999999` { // a number, and nothing
				want = [...]Reason{Expired, None}[strings.Index("exp nbf", name)/4]
			}
			if got := reasonOf(t, v, hs(t, `{"`+name+`":`+value+`}`)); got != want {
				t.Errorf("%s %.30s: %v, want %v", name, value, got, want)
			}
		}
		if got := reasonOf(t, v, hs(t, `{"`+name+`":01}`)); got != Malformed {
			t.Errorf("%s 01: %v", name, got)
		}
	}
}

func TestS46Issuer(t *testing.T) {
	unchecked := shared(t)
	one := mustNew(t, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Issuer: "https://id.example"})
	f := func(payload string, wantUnchecked, wantChecked Reason) {
		t.Helper()
		if got := reasonOf(t, unchecked, hs(t, payload)); got != wantUnchecked {
			t.Errorf("%s: unchecked %v", payload, got)
		}
		if got := reasonOf(t, one, hs(t, payload)); got != wantChecked {
			t.Errorf("%s: checked %v", payload, got)
		}
	}
	f(`{"iss":"https://id.example"}`, None, None)
	f(`{"iss":"https:\/\/id.example"}`, None, None)
	f(`{"iss":"https://id.example/"}`, None, Issuer)
	f(`{"iss":"HTTPS://id.example"}`, None, Issuer)
	f(`{"Iss":"https://id.example"}`, None, Issuer)
	f(`{}`, None, Issuer)
	f(`{"iss":""}`, None, Issuer)
	f(`{"iss":["https://id.example"]}`, BadClaims, BadClaims)
	f(`{"iss":null}`, BadClaims, BadClaims)
	f(`{"iss":"\ud800"}`, BadClaims, BadClaims)
}

func TestS46Audience(t *testing.T) {
	unchecked := shared(t)
	two := mustNew(t, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Audience: []string{"api", "web"}})
	f := func(payload string, want Reason) {
		t.Helper()
		if got := reasonOf(t, unchecked, hs(t, payload)); got != None {
			t.Errorf("%s: unchecked %v", payload, got)
		}
		if got := reasonOf(t, two, hs(t, payload)); got != want {
			t.Errorf("%s: %v, want %v", payload, got, want)
		}
	}
	f(`{"aud":"api"}`, None)
	f(`{"aud":"web"}`, None)
	f(`{"aud":["other","web"]}`, None)
	f(`{"aud":[ "api" ]}`, None)
	f(`{"aud":"other"}`, Audience)
	f(`{"aud":"API"}`, Audience)
	f(`{"aud":"api web"}`, Audience)
	f(`{"aud":["other"]}`, Audience)
	f(`{"aud":[]}`, Audience)
	f(`{"aud":""}`, Audience)
	f(`{}`, Audience)
	f(`{"aud":null}`, BadClaims)
	f(`{"aud":{"api":1}}`, BadClaims)
	f(`{"aud":["api",1]}`, BadClaims)
	f(`{"aud":[["api"]]}`, BadClaims)
}

func TestS46Values(t *testing.T) {
	f := func(raw, want string, text, ok bool) {
		t.Helper()
		v := shared(t, "x", "other", "x")
		for range 2 { // the second time from memory
			c, err := v.Verify(hs(t, `{"before":{"x":1}, "x" : `+raw+` ,"X":2,"iss":"me"}`), noon())
			if err != nil {
				t.Fatal(err)
			}
			gotValue, gotText, gotOK := c.Value("x")
			if gotValue != want || gotText != text || gotOK != ok {
				t.Errorf("%s: %q, text %v, ok %v", raw, gotValue, gotText, gotOK)
			}
			if _, _, ok := c.Value("X"); ok {
				t.Error("a claim that nobody asked for is kept")
			}
			if _, _, ok := c.Value("other"); ok {
				t.Error("a claim is there that the token lacks")
			}
			if got := c.Issuer(); got != "me" {
				t.Error(got)
			}
		}
	}
	f(`"alice"`, "alice", true, true)
	f(`"al\u0069ce\n"`, "alice\n", true, true)
	f(`"1"`, "1", true, true)
	f(`""`, "", true, true)
	f(`1`, "1", false, true)
	f(`1.0`, "1.0", false, true)
	f(`-1e2`, "-1e2", false, true)
	f(`9007199254740993`, "9007199254740993", false, true)
	f(`123456789012345678901234567890`, "123456789012345678901234567890", false, true)
	f(`true`, "true", false, true)
	f(`false`, "false", false, true)
	f(`null`, "", false, false)
	f(`["alice"]`, "", false, false)
	f(`{"x":"alice"}`, "", false, false)
	f(`"\ud800"`, "", false, false) // would be the same text as "\ud801"
	f(`"\ufffd"`, "", false, false)
	f(`"\ud83d\ude00"`, "😀", true, true)
}

func TestNilClaimsAndZeroVerifier(t *testing.T) {
	for _, c := range []*Claims{nil, {}} {
		if _, _, ok := c.Value("sub"); ok || c.Issuer() != "" {
			t.Error("claims out of nothing")
		}
	}
	if got := reasonOf(t, &Verifier{}, hs(t, `{}`)); got != TooLong {
		t.Error(got)
	}
}

// TestS46ErrorsHoldNothingOfTheToken searches the text of each error for what
// the token says.
func TestS46ErrorsHoldNothingOfTheToken(t *testing.T) {
	v := mustNew(t, Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Issuer: "me"})
	for _, payload := range []string{`{"iss":"mallory"}`, `{"iss":"me","exp":"mallory"}`, `{"iss":"me","exp":1,"sub":"mallory"}`, `mallory`} {
		token := hs(t, payload)
		_, err := v.Verify(token, noon())
		if err == nil {
			t.Fatal(payload)
		}
		for _, part := range append(strings.Split(token, "."), "mallory", base64.RawURLEncoding.EncodeToString([]byte("mallory"))) {
			if strings.Contains(err.Error(), part) {
				t.Errorf("%v holds %s", err, part)
			}
		}
	}
}

func TestReasonString(t *testing.T) {
	seen := map[string]bool{"unknown": true}
	for r := None; r <= NotYetValid; r++ {
		s := r.String()
		if seen[s] || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-") != "" || s == "" {
			t.Errorf("Reason(%d) is %q", r, s)
		}
		seen[s] = true
	}
	if got := (NotYetValid + 1).String(); got != "unknown" {
		t.Error(got)
	}
	if got := (RefusedError{Expired}).Error(); got != "token: refused: expired" {
		t.Error(got)
	}
}
