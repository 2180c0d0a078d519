package token

import (
	"bytes"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"
)

// wrongs returns what is wrong with c, one line for each.
func wrongs(tb testing.TB, c Config) []string {
	tb.Helper()
	v, err := New(c)
	if err == nil {
		return nil
	}
	joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !ok || v != nil {
		tb.Fatalf("%v does not hold several errors, or comes with a Verifier", err)
	}
	var lines []string
	for _, e := range joined.Unwrap() {
		one, ok := errors.AsType[*ConfigError](e)
		if !ok || one.Field == "" || one.Problem == "" || one.Remedy == "" {
			tb.Fatalf("%#v is no whole ConfigError", e)
		}
		if one.Field == "Keys" && one.Value != "" {
			tb.Errorf("%v shows something of the keys", e)
		}
		lines = append(lines, e.Error())
	}
	return lines
}

// wants compares the beginnings of the lines.
func wants(tb testing.TB, c Config, want ...string) {
	tb.Helper()
	got := wrongs(tb, c)
	if len(got) != len(want) {
		tb.Fatalf("got %q, want %q", got, want)
	}
	for i, line := range got {
		if !strings.HasPrefix(line, "token: "+want[i]) {
			tb.Errorf("got %q, want %q", line, want[i])
		}
	}
}

func TestConfigErrors(t *testing.T) {
	good := func() Config { return Config{Keys: []byte(secret), Algorithms: []string{"HS256"}} }
	f := func(change func(c *Config), want ...string) {
		t.Helper()
		c := good()
		change(&c)
		wants(t, c, want...)
	}
	f(func(*Config) {})
	f(func(c *Config) { c.Algorithms = nil }, "Algorithms: is empty; list what the signer uses, such as RS256")
	f(func(c *Config) { c.Algorithms = []string{"hs256"} }, `Algorithms[0] "hs256": is no algorithm; write HS256`)
	f(func(c *Config) { c.Algorithms = []string{"HS256", "None"} }, `Algorithms[1] "None": would believe tokens that nobody has signed;`)
	f(func(c *Config) { c.Algorithms = []string{"HS256", "HS256"} }, "Algorithms[1] HS256: is listed twice; list it once")
	f(func(c *Config) { c.Algorithms = []string{"", "HS256"} }, `Algorithms[0] "": is no algorithm; list some of HS256, HS384,`)
	f(func(c *Config) { c.Issuer = "\xff" }, `Issuer "\xff": is not valid UTF-8; write what iss holds`)
	f(func(c *Config) { c.Audience = []string{"a", ""} }, `Audience[1] "": is empty`)
	f(func(c *Config) { c.Claims = []string{"\xff"} }, `Claims[0] "\xff": is empty or not valid UTF-8`)
	f(func(c *Config) { c.Leeway = -1 }, "Leeway -1ns: is outside 0 to 10m; leave it at 0 for the default")
	f(func(c *Config) { c.Leeway = 10*time.Minute + 1 }, "Leeway 10m0.000000001s: is outside 0 to 10m;")
	f(func(c *Config) { c.Leeway = 10 * time.Minute })
	f(func(c *Config) { c.MaxBytes = -1 }, "MaxBytes -1: is outside 1 to 65536;")
	f(func(c *Config) { c.MaxBytes = 65537 }, "MaxBytes 65537: is outside 1 to 65536;")
	f(func(c *Config) { c.MaxTokens = 1 }, "MaxTokens 1: is outside 2 to 10000;")
	f(func(c *Config) { c.MaxTokens = -1 }, "MaxTokens -1: is outside 2 to 10000;")
	f(func(c *Config) { c.MaxTokens = 10_001 }, "MaxTokens 10001: is outside 2 to 10000;")
	f(func(c *Config) {
		*c = Config{Algorithms: []string{"none", "RS256"}, Audience: []string{""}, Claims: []string{""}, Leeway: -1, MaxBytes: -1, MaxTokens: 1}
	}, "Algorithms[0]", "Keys: is empty", "Audience[0]", "Claims[0]", "Leeway", "MaxBytes", "MaxTokens")
}

func TestS46Secrets(t *testing.T) {
	f := func(keys string, algs, want string) {
		t.Helper()
		c := Config{Keys: []byte(keys), Algorithms: strings.Fields(algs)}
		if want == "" {
			wants(t, c)
			return
		}
		wants(t, c, want)
	}
	f(secret, "HS256 HS384 HS512", "")
	f(secret[:32], "HS256", "")
	f(secret[:31]+"\n", "HS256", "Keys: is a secret of 31 bytes, shorter than the hash of HS256; use at least 32 random bytes")
	f(secret[:32], "HS256 HS512", "Keys: is a secret of 32 bytes, shorter than the hash of HS512; use at least 64 random bytes")
	f(secret[:47], "HS384", "Keys: is a secret of 47 bytes, shorter than the hash of HS384; use at least 48 random bytes")
	f(" \r\n", "HS256", "Keys: is empty;")
	f(secret, "RS256", "Keys: is neither JSON nor PEM, so that it would be a secret, and Algorithms lists RS256;")
	f(secret, "HS256 ES256", "Keys: is neither JSON nor PEM, so that it would be a secret, and Algorithms lists ES256;")
	f(strings.Repeat("a", 1<<20+1), "HS256", "Keys: has more than 1048576 bytes;")
	f("{"+secret, "HS256", "Keys: begins like JSON but is none")

	k := newEC(t, elliptic.P256())
	block, _ := pem.Decode(pemOf(t, &k.PublicKey))
	f(string(block.Bytes), "HS256", "Keys: is a public key, and Algorithms lists HS alone;")
	short := setOf(t, jwkOf(t, []byte("short"), nil))
	f(string(short), "HS256", "Keys[0]: is a secret of 5 bytes")
	f(string(setOf(t, jwkOf(t, []byte(secret), nil))), "RS256", "Keys: holds no key for RS256;")
}

func TestS46PEM(t *testing.T) {
	ec, small := newEC(t, elliptic.P256()), newRSA(t, 1024)
	public := pemOf(t, &ec.PublicKey)
	f := func(keys []byte, algs, want string) {
		t.Helper()
		c := Config{Keys: keys, Algorithms: strings.Fields(algs)}
		if want == "" {
			wants(t, c)
			return
		}
		wants(t, c, want)
	}
	block := func(kind string, der []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	}
	private, err := x509.MarshalPKCS8PrivateKey(ec)
	sec1, errEC := x509.MarshalECPrivateKey(ec)
	f(public, "ES256", "")
	f(bytes.Join([][]byte{public, public}, []byte("between\n")), "ES256", "")
	f(public, "HS256", "Keys: is PEM, and Algorithms lists HS256;")
	f(public, "ES256 HS256", "Keys: is PEM, and Algorithms lists HS256;")
	f(public, "ES384", "Keys: holds no key for ES384;")
	f(public, "RS256 EdDSA", "Keys: holds no key for RS256, EdDSA;")
	f(block("PRIVATE KEY", private, err), "ES256", "Keys[0]: is a private key; give the public key")
	f(block("EC PRIVATE KEY", sec1, errEC), "ES256", "Keys[0]: is a private key; give the public key")
	f(block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small), nil), "RS256", "Keys[0]: is a private key; give the public key")
	f(block("ENCRYPTED PRIVATE KEY", private, err), "ES256", "Keys[0]: is a private key; give the public key")
	f(append(bytes.Clone(public), block("PRIVATE KEY", private, err)...), "ES256", "Keys[1]: is a private key; give the public key")
	f(block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&small.PublicKey), nil), "RS256", "Keys[0]: is an RSA key of 1024 bits; sign with one of at least 2048")
	f(pemOf(t, &small.PublicKey), "PS512", "Keys[0]: is an RSA key of 1024 bits; sign with one of at least 2048")
	f(block("PUBLIC KEY", []byte("junk"), nil), "ES256", "Keys[0]: is a PEM block that holds no public key or certificate;")
	f(block("CERTIFICATE REQUEST", private, nil), "ES256", "Keys[0]: is a PEM block that holds no public key or certificate;")
	f(public[:len(public)-10], "ES256", "Keys: begins 1 PEM blocks, of which 0 can be read;")
	f(append(public[:len(public)-10:len(public)-10], public...), "ES256", "Keys: begins 2 PEM blocks, of which 0 can be read;")

	exchange, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f(pemOf(t, exchange.PublicKey()), "EdDSA", "Keys: holds no key for EdDSA;")
}

// TestS46Certificate: what counts of a certificate is its key.
func TestS46Certificate(t *testing.T) {
	k := newEC(t, elliptic.P256())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"},
		NotBefore: noon().Add(-2 * time.Hour), NotAfter: noon().Add(-time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keys := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	v := mustNew(t, Config{Keys: keys, Algorithms: []string{"ES256"}})
	if got := reasonOf(t, v, sign(t, "ES256", k, `{"alg":"ES256"}`, `{}`)); got != None {
		t.Error(got)
	}
}

func TestS46Sets(t *testing.T) {
	ec, other, r := newEC(t, elliptic.P256()), newEC(t, elliptic.P384()), newRSA(t, 2048)
	good := func(more members) members { return jwkOf(t, &ec.PublicKey, more) }
	rsaKey := func(more members) members { return jwkOf(t, &r.PublicKey, more) }
	f := func(want string, keys ...members) {
		t.Helper()
		c := Config{Keys: setOf(t, keys...), Algorithms: []string{"ES256", "RS256", "EdDSA"}}
		if want == "" {
			wants(t, c)
			return
		}
		wants(t, c, want)
	}
	const none = "Keys: holds no key for ES256, RS256, EdDSA;"
	f("", good(nil))
	f("", good(members{"kid": "a"}), rsaKey(members{"kid": "b"}))
	f("", good(nil), rsaKey(nil)) // neither has a kid
	f("Keys[2]: has the kid of Keys[1]; give each key a kid of its own",
		jwkOf(t, &other.PublicKey, nil), good(members{"kid": "a"}), rsaKey(members{"kid": "a"}))
	f("", good(members{"kid": "a"}), rsaKey(members{"kid": "a", "use": "enc"}))
	f(none)
	f(none, good(members{"use": "enc"}))
	f(none, good(members{"key_ops": []string{"encrypt"}}))
	f(none, good(members{"key_ops": []string{"sign"}}))
	f(none, good(members{"key_ops": "verify"}))
	f(none, good(members{"use": "enc", "key_ops": []string{"verify"}}))
	f(none, good(members{"alg": "ES384"}))
	f(none, good(members{"alg": "ECDH-ES"}))
	f(none, rsaKey(members{"alg": "RSA-OAEP"}))
	f(none, rsaKey(members{"alg": "PS256"}))
	f(none, jwkOf(t, &other.PublicKey, nil))
	f(none, members{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"})
	f(none, members{"kty": "OKP", "crv": "X25519", "x": "AA"})
	f(none, members{"kty": "unheard-of"})
	f("", good(nil), members{"kty": "unheard-of"}, jwkOf(t, []byte(secret), nil))
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "priv"} {
		f("Keys[1]: is a private key; give the public key", good(nil), rsaKey(members{name: "AA", "use": "enc"}))
	}
	const whole = "; give the JWK as its maker wrote it"
	f("Keys[0]: has no kty, or one that is no string"+whole, members{"n": "AA"})
	f("Keys[0]: has no kid, or one that is no string"+whole, good(members{"kid": 1}))
	f("Keys[0]: has no alg, or one that is no string"+whole, good(members{"alg": nil}))
	f("Keys[0]: has no x and y of its curve's length in base64url"+whole, good(members{"x": "AA"}))
	f("Keys[0]: has no x and y of its curve's length in base64url"+whole, good(members{"y": "+/=="}))
	f("Keys[0]: has x and y that are no point of its curve"+whole, good(members{"x": strings.Repeat("A", 43)}))
	f("Keys[0]: has no x of 32 bytes in base64url"+whole, members{"kty": "OKP", "crv": "Ed25519", "x": "AA"})
	f("Keys[0]: has no n and e of an RSA key in base64url"+whole, rsaKey(members{"n": "A"}))
	f("Keys[0]: has no n and e of an RSA key in base64url"+whole, rsaKey(members{"e": "AQAAAAAAAAAAAAAA"}))
	f("Keys[0]: is no RSA key; give the public key as its maker wrote it", rsaKey(members{"e": "AQ"}))
	f("Keys[0]: is no RSA key; give the public key as its maker wrote it", rsaKey(members{"e": "Ag"}))
	f("Keys[0]: is an RSA key of 8 bits; sign with one of at least 2048", rsaKey(members{"n": "_w"}))
	f("Keys[0]: is an RSA key of 9600 bits; sign with one of at most 8192", rsaKey(members{"n": strings.Repeat("_", 1600)}))

	text := func(keys, want string) {
		t.Helper()
		wants(t, Config{Keys: []byte(keys), Algorithms: []string{"ES256"}}, want)
	}
	text(`{}`, "Keys: has no kty, or one that is no string")
	text(`{"keys":{}}`, "Keys: has a member keys that is no list;")
	text(`{"keys":null}`, "Keys: has a member keys that is no list;")
	text(`{"keys":[1]}`, "Keys[0]: is no JWK, or names a member twice;")
	text(`{"keys":[{"kty":"EC","kty":"EC"}]}`, "Keys[0]: is no JWK, or names a member twice;")
	text(`{"keys":[],"keys":[]}`, "Keys: begins like JSON but is none, or names a member twice;")
}

// TestS46ConfigErrorsShowNoKey breaks keys in many ways, none of which may bring
// a piece of one into the error.
func TestS46ConfigErrorsShowNoKey(t *testing.T) {
	const hidden = "hunter2hunter2hunter2"
	for _, keys := range []string{
		hidden, "{" + hidden, `{"kty":"oct","k":"` + hidden + `"}`, `{"keys":[{"kty":"oct","k":"` + hidden + `","kid":"` + hidden + `"}]}`,
		`{"keys":["` + hidden + `"]}`, `{"kty":"` + hidden + `"}`, `{"kty":"oct","alg":"` + hidden + `"}`, `{"kty":"EC","d":"` + hidden + `"}`,
		"-----BEGIN " + hidden + "-----\n", "-----BEGIN " + hidden + "-----\nAAAA\n-----END " + hidden + "-----\n", "[" + hidden + "]",
	} {
		for _, algs := range [][]string{{"HS256"}, {"RS256"}, {"HS256", "RS256"}} {
			_, err := New(Config{Keys: []byte(keys), Algorithms: algs})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", keys, err)
			}
		}
	}
}

func TestVerifierKeepsNothingOfItsConfig(t *testing.T) {
	c := Config{Keys: []byte(secret), Algorithms: []string{"HS256"}, Audience: []string{"api"}, Claims: []string{"sub"}}
	v := mustNew(t, c)
	clear(c.Keys)
	c.Algorithms[0], c.Audience[0], c.Claims[0] = "none", "other", "x"
	got, err := v.Verify(hs(t, `{"aud":"api","sub":"alice"}`), noon())
	if sub, _, _ := got.Value("sub"); err != nil || sub != "alice" {
		t.Error(sub, err)
	}
}
