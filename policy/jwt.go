package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/policy/internal/token"
)

// defaultLeeway is what two clocks that are kept by NTP never differ by, with
// time to spare for one that is not.
const defaultLeeway = 30 * time.Second

// jwt compiles how tokens are verified.
func (c *compiler) jwt() {
	j := c.config.JWT
	if j == nil {
		c.needsNoToken()
		return
	}
	c.tokenFrom(j.From)
	keys, ok := c.tokenKeys(j.Keys)
	if expansion.MatchString(j.Issuer) {
		c.refuse("bad-jwt", "jwt.issuer", Span{}, fmt.Sprintf("jwt.issuer %q: no token has an issuer like this", j.Issuer), "write what the claim iss holds")
	}
	verifier, err := token.New(token.Config{
		Keys:       keys,
		Algorithms: j.Algorithms,
		Issuer:     j.Issuer,
		Audience:   j.Audience,
		Leeway:     cmp.Or(j.Leeway, defaultLeeway),
		MaxBytes:   j.MaxBytes,
		Claims:     c.claims(),
	})
	for _, each := range joinedErrors(err) {
		if e, wrong := errors.AsType[*token.ConfigError](each); !wrong || ok || e.Field != "Keys" {
			c.refuseToken(each)
		}
	}
	c.policy.tokens = verifier
}

// needsNoToken refuses rules that count by claims nobody verifies.
func (c *compiler) needsNoToken() {
	refuse := func(path, text string) {
		if claim, ok := strings.CutPrefix(text, "jwt:"); ok && claim != "" {
			c.refuse("no-jwt", path, Span{}, text+" is a claim of a token, and nothing says how tokens are verified", "add jwt with keys and algorithms")
		}
	}
	for i := range c.config.Rules {
		r, path := &c.config.Rules[i], element("rules", i)
		for k, text := range r.Key {
			refuse(element(path+".key", k), text)
		}
		if r.Plan != nil {
			refuse(path+".plan", r.Plan.From)
		}
	}
}

// tokenFrom reads where the token is.
func (c *compiler) tokenFrom(text string) {
	const hint = "write `header Authorization`, `header NAME` or `cookie NAME`"
	word, name, _ := strings.Cut(cmp.Or(text, "header Authorization"), " ")
	p := part{name: name, kind: word + ":" + name}
	switch word {
	case "header":
		p.origin, p.name = fromHeader, canonicalHeader(name)
		p.kind = word + ":" + p.name
	case "cookie":
		p.origin = fromCookie
	default:
		c.refuse("bad-jwt", "jwt.from", Span{0, len(word)}, fmt.Sprintf("jwt.from %q: a token is in a header or a cookie", text), hint)
		return
	}
	if !httpsyntax.IsToken(name) {
		c.refuse("bad-jwt", "jwt.from", Span{}, fmt.Sprintf("jwt.from %q: %q is no name of a %s", text, name, word), hint)
		return
	}
	c.policy.tokenFrom = p
}

// tokenKeys reads the keys. What they are is shown to nobody.
func (c *compiler) tokenKeys(text string) ([]byte, bool) {
	const path = "jwt.keys"
	switch {
	case text == "":
		c.refuse("bad-jwt", "jwt", Span{}, "jwt has no keys: nothing could be verified", "write `keys: file:jwks.json`")
		return nil, false
	case strings.HasPrefix(text, "http://"), strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "url:"):
		c.refuse("not-in-this-version", path, Span{}, "jwt.keys: keys by URL are not in this version", "save them as a file, and write `keys: file:jwks.json`; a change of the file is noticed")
		return nil, false
	case fileName.MatchString(text):
		c.refuse("bad-jwt", path, Span{}, "jwt.keys: it names neither a file nor a variable", "did you mean file:"+text+"?")
		return nil, false
	case !named(text):
		c.refuse("bad-jwt", path, Span{}, "jwt.keys: it names neither a file nor a variable", "write file:PATH or env:NAME; keys do not stand in the rules file")
		return nil, false
	}
	value, ok := c.secret(path, text)
	return []byte(value), ok
}

// refuseToken notes an error of package token under the field of the rules file.
func (c *compiler) refuseToken(err error) {
	e, ok := errors.AsType[*token.ConfigError](err)
	if !ok {
		c.refuse("bad-jwt", "jwt", Span{}, err.Error(), "")
		return
	}
	name := map[string]string{
		"Keys": "keys", "Algorithms": "algorithms", "Issuer": "issuer",
		"Audience": "audience", "Leeway": "leeway", "MaxBytes": "max_bytes",
	}[e.Field]
	path := member("jwt", name)
	subject := path
	switch {
	case name == "":
		path, subject = "jwt", "a claim that a rule asks for"
	case e.Field == "Keys" && e.Index >= 0:
		subject = fmt.Sprintf("key %d of jwt.keys", e.Index+1)
	case e.Index >= 0:
		path = element(path, e.Index)
	}
	if e.Value != "" {
		subject += " " + e.Value
	}
	const goField, fileField = "Algorithms lists", "jwt.algorithms lists"
	problem := strings.Replace(e.Problem, goField, fileField, 1)
	if i := strings.Index(problem, "Keys["); i >= 0 {
		problem = problem[:i] + "an earlier one"
	}
	c.refuse("bad-jwt", path, Span{}, subject+" "+problem, strings.Replace(e.Remedy, "leave it at 0", "leave it out", 1))
}
