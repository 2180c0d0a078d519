package policy

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What net/http reads leaves a trace, and what is read here once is what it reads.
func TestWhatIsReadElsewhereLeavesATrace(t *testing.T) {
	piece := rapid.SampledFrom([]string{"k=v", "k", "K", "%6b", "=", "; ", ";", "&", ",", "v", `"`, " ", "\t", "+", "[", ".", "%", ":"})
	text := rapid.Map(rapid.SliceOfN(piece, 0, 8), func(pieces []string) string { return strings.Join(pieces, "") })
	read := 0
	rapid.Check(t, func(rt *rapid.T) {
		came := text.Draw(rt, "text")
		value, count := cookie([]string{came}, "k")
		r := &http.Request{Header: http.Header{"Cookie": {came}}}
		for _, c := range r.CookiesNamed("k") {
			theirs := strings.Trim(c.Value, blank+quotes)
			if theirs == "" {
				continue
			}
			if read++; count == 0 || count == 1 && strings.Trim(value, blank) != theirs {
				rt.Fatalf("cookie %q: net/http reads %q, and here it is %q, %d times", came, c.Value, value, count)
			}
		}
		value, count = query(came, "k")
		values, _ := url.ParseQuery(came) // what it reads beside an error
		for _, theirs := range values["k"] {
			if theirs == "" {
				continue
			}
			if read++; count == 0 || count == 1 && value != theirs {
				rt.Fatalf("query %q: net/url reads %q, and here it is %q, %d times", came, theirs, value, count)
			}
		}
		line := rapid.SampledFrom([]string{"Basic ", "basic", "BASIC\t", "", "x "}).Draw(rt, "scheme") + base64.StdEncoding.EncodeToString([]byte(came))
		r.Header.Set("Authorization", line)
		if user, _, ok := r.BasicAuth(); ok && user != "" {
			ours, ok := basicUser([]string{line})
			if read++; ok && ours != user || !ok && !mayBeBasic(line) {
				rt.Fatalf("%q: net/http reads %q, and here it is %q", line, user, ours)
			}
		}
	})
	if read == 0 {
		t.Error("nothing was read")
	}
}

// A name is found in any spelling, and no other name is taken for it.
func TestSpellings(t *testing.T) {
	f := func(text, name string, want int) {
		t.Helper()
		if got := spellings(text, name, "&;", blank+quotes); got != want {
			t.Errorf("%q, for %s: %d times, want %d", text, name, got, want)
		}
	}
	for _, one := range []string{
		"api_key=k", "API_KEY=k", "api.key=k", "api-key=k", "api%5fkey=k", "%61pi_key=k", "api+key=k", "api%20key=k",
		"+api_key=k", "%20api_key=k", "api_key[]=k", "api_key%5Bx%5D=k", "api[key=k", "api_key%00=k", "x;api_key=k", "x&api_key=k&y", "api_key =k",
		`"api_key"=k`, "api_key==", "a=1 api_key=k", "a=1,api_key=k", "api_key=,", "api_key=%zz",
	} {
		f(one, "api_key", 1)
		f("a=b&"+one+"&c=d", "api_key", 1)
		f(one+"&api_key=2", "api_key", 2)
	}
	for _, none := range []string{
		"", "api_key", "api_key=", `api_key=""`, "api_key= ", "=k", "&&;;", "apikey=k", "my_api_key=k", "api_key2=k", "api_ke=k",
		"x[api_key]=k", "a=api_key", "a=bapi_key=k", "api%5fke%=k", "%",
	} {
		f(none, "api_key", 0)
	}
	f("имя=k", "имя", 1)
	f("%D0%B8%D0%BC%D1%8F=k", "имя", 1)
	f("код=k", "имя", 0)
	f("a%=1", "a%", 1)
}

// Whatever a parameter is called, it is read.
func TestNamesOfAnyKind(t *testing.T) {
	for _, name := range []string{"k", "a,b", "a b", " a", `"q"`, "x[y]", "x[]", "a.b", "a+b", "a%b", "a=b", "a&b", "a;b", "имя", "\x00", "é\xff"} {
		for _, came := range []string{url.QueryEscape(name), name} {
			raw := came + "=v"
			values, err := url.ParseQuery(raw)
			value, count := query("p=1&"+raw+"&r=2", name)
			if err == nil && values.Get(name) == "v" && (value != "v" || count != 1) {
				t.Errorf("%q: %q, %d times", raw, value, count)
			}
		}
	}
}

// Long texts take one pass.
func TestSpellingsOfLongTexts(t *testing.T) {
	for _, part := range []string{"=", "k=", " =", "k;", `"=`, "%"} {
		if n := spellings(strings.Repeat(part, 1<<18), "k", ";", ""); n > 1<<18 {
			t.Errorf("%q: %d", part, n)
		}
	}
}

func TestMayBeBasic(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("alice:pwx"))
	for _, line := range []string{
		"Basic " + encoded, "Basic\t" + encoded, "basic" + encoded, "Basic YWxp!", "Foo " + encoded, encoded, `"` + encoded + `"`,
		"Foo  " + strings.TrimRight(encoded, "="), "Basic x", "Basic " + strings.Repeat(" ", 5000) + encoded,
	} {
		if !mayBeBasic(line) {
			t.Errorf("%q", line)
		}
	}
	for _, line := range []string{
		"", "Basic", "Basic ", "Bearer abc.def.ghi", "Bearer 0123456789abcdef", "Token x", "Negotiate YIIabc==",
		`Digest username="alice", realm="api.example.com", response="6629fae49393a05397450978507c4ef1"`,
		"AWS4-HMAC-SHA256 Credential=AKID/20130524/eu/s3/aws4_request, SignedHeaders=host;range, Signature=fe5f80f77d5fa3beca038a248ff027d0445342fe2855ddc963176630326f1024",
	} {
		if mayBeBasic(line) {
			t.Errorf("%q is taken for basic credentials", line)
		}
	}
}

func TestMayHoldToken(t *testing.T) {
	jwt := "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30." + strings.Repeat("s", 43)
	for _, form := range []string{"JWT", "Bearer JWT", "BearerJWT", "Foo\tJWT", `"JWT"`, "Token token=JWT", "a, Bearer JWT", "JWT,", "Bearer JWT%"} {
		if !mayHoldToken(strings.ReplaceAll(form, "JWT", jwt)) {
			t.Errorf("%q holds one", form)
		}
	}
	for _, line := range []string{
		"", ".", "..", "Basic dTpw", "Bearer opaque", `Digest realm="key.example.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"`,
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "eyJhbGciOiJub25lIn0.e30.", "Foo ey." + strings.Repeat("a", 50) + "." + strings.Repeat("b", 50),
	} {
		if mayHoldToken(line) {
			t.Errorf("%q is taken for a token", line)
		}
	}
}

func TestOtherSpelling(t *testing.T) {
	const name = "X-Api-Key"
	others := []string{"X_api_key", "X-Api_key", "X.api-Key", "X-Api-key"}
	for _, other := range append(others, name, "X-Api-Keys", "X-Apis-Ke", "Xxapi-Key", "") {
		if got := otherSpelling(other, name); got != slices.Contains(others, other) {
			t.Errorf("%s: %t", other, got)
		}
	}
}
