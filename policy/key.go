package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/internal/suggest"
)

// origin is a place in a request that a key or a plan is read from.
type origin uint8

// The origins. A token's claims are verified, an address is found by clientip;
// everything else is the caller's to write.
const (
	fromIP origin = iota
	fromHeader
	fromCookie
	fromQuery
	fromHost
	fromPath
	fromBasic
	fromJWT
	fromConst
)

// origins are the words for them, by origin, with what may follow.
var origins = [...]struct{ word, argument string }{
	fromIP:     {"ip", ""},
	fromHeader: {"header", "NAME"},
	fromCookie: {"cookie", "NAME"},
	fromQuery:  {"query", "NAME"},
	fromHost:   {"host", ""},
	fromPath:   {"path", "NAME"},
	fromBasic:  {"basic", "user"},
	fromJWT:    {"jwt", "CLAIM"},
	fromConst:  {"const", "TEXT"},
}

// invented reports that callers choose the value, and may choose another with
// each request.
func (s origin) invented() bool {
	switch s {
	case fromHeader, fromCookie, fromQuery, fromHost, fromPath, fromBasic:
		return true
	case fromIP, fromJWT, fromConst:
	}
	return false
}

// part is one part of a key, or where a plan is named.
type part struct {
	origin origin
	name   string // of the header, cookie, …; canonical
	kind   string // as it is written: header:X-Api-Key
}

// parsePart reads a part as it is written in a rules file. allowed are the
// origins that may stand there.
func (c *compiler) parsePart(path, text string, allowed ...origin) (part, bool) {
	word, name, named := strings.Cut(text, ":")
	i := slices.IndexFunc(origins[:], func(s struct{ word, argument string }) bool { return s.word == word })
	if i < 0 {
		message, hint := fmt.Sprintf("%q is nothing that a request has", text), meantPart(text, allowed)
		if hint == "" && !named && strings.HasSuffix(path, ".plan") && !slices.Contains(allowed, fromIP) { // no table
			message = fmt.Sprintf("plan %q: plan says where a caller's plan is named, and that is no such place", text)
			hint = "write jwt:CLAIM or header:NAME, or a table; a plan's own name stands in default_plan"
		}
		c.refuse("bad-key", path, Span{0, max(1, len(word))}, message, cmp.Or(hint, partHint(word, allowed)))
		return part{}, false
	}
	p := part{origin: origin(i), name: name, kind: text}
	want := origins[i].argument
	switch {
	case !slices.Contains(allowed, p.origin):
		c.refuse("bad-key", path, Span{}, fmt.Sprintf("%q cannot stand here", text), partHint("", allowed))
	case want == "" && named:
		c.refuse("bad-key", path, Span{len(word), len(text) - len(word)}, word+" takes no name", "write "+word)
	case want == "user" && name != "user":
		c.refuse("bad-key", path, Span{}, fmt.Sprintf("%q: of basic credentials only the user may be counted by", text), "write basic:user")
	case want != "" && name == "":
		c.refuse("bad-key", path, Span{}, fmt.Sprintf("%q: %s needs a name", text, word), "write it like "+example(p.origin))
	case p.origin == fromHeader:
		var ok bool
		if p.name, ok = c.headerName(path, name); ok {
			p.kind = "header:" + p.name
			return p, true
		}
	case p.origin == fromCookie && !httpsyntax.IsToken(name):
		c.refuse("bad-key", path, Span{len(word) + 1, len(name)}, fmt.Sprintf("%q: it is no name of a cookie", name), "")
	default:
		return p, true
	}
	return part{}, false
}

// example is a part of a origin as it may be written.
func example(s origin) string {
	return [...]string{"ip", "header:X-Api-Key", "cookie:session", "query:api_key", "host", "path:id", "basic:user", "jwt:sub", "const:all"}[s]
}

// partHint lists what could stand in the place of a word.
func partHint(word string, allowed []origin) string {
	words := make([]string, len(allowed))
	forms := make([]string, len(allowed))
	for i, s := range allowed {
		words[i], forms[i] = origins[s].word, origins[s].word
		if a := origins[s].argument; a != "" {
			forms[i] += ":" + a
		}
	}
	list := "write " + strings.Join(forms, ", ")
	if meant := suggest.DidYouMean(word, words...); meant != "" {
		return meant + " " + list
	}
	return list
}

// key compiles the parts that a rule counts by.
func (c *compiler) key(r *rule) {
	texts := r.config.Key
	if len(texts) == 0 {
		texts = []string{"ip"}
	}
	var kinds []string
	for i, text := range texts {
		path := element(r.field+".key", i)
		p, ok := c.parsePart(path, text, fromIP, fromHeader, fromCookie, fromQuery, fromHost, fromPath, fromBasic, fromJWT, fromConst)
		if !ok {
			continue
		}
		if slices.Contains(kinds, p.kind) {
			c.refuse("duplicate-key", path, Span{}, text+" is already part of the key", "leave it out")
		}
		kinds = append(kinds, p.kind)
		r.key = append(r.key, p)
		c.checkPart(r, path, p)
	}
	r.kinds = strings.Join(kinds, "+")
	if len(texts) > maxParts {
		c.refuse("bad-key", r.field+".key", Span{}, fmt.Sprintf("a key of %d parts", len(texts)), fmt.Sprintf("use at most %d", maxParts))
	}
}

// maxParts bounds the parts of a key: more tell nothing apart that these do not.
const maxParts = 8

// checkPart asks what a part needs of its rule.
func (c *compiler) checkPart(r *rule, path string, p part) {
	switch p.origin {
	case fromJWT:
		r.needsToken = true
	case fromPath:
		for _, pattern := range r.patterns {
			if !slices.Contains(pattern.Wildcards(), p.name) {
				c.refuse("no-wildcard", path, Span{}, fmt.Sprintf("path:%s: the pattern %s has no wildcard {%s}", p.name, pattern, p.name),
					"write one, or leave the part out")
			}
		}
		if len(r.patterns) == 0 {
			c.refuse("no-wildcard", path, Span{}, fmt.Sprintf("path:%s: the rule has no pattern with a wildcard {%s}", p.name, p.name),
				"write one under match")
		}
	case fromBasic, fromHeader, fromCookie, fromQuery, fromHost, fromIP, fromConst:
	}
}

// challenge is what a refusal for want of a part says of the credentials that
// are asked for; "" where none are.
func (p part) challenge() string {
	if p.origin == fromJWT {
		return "Bearer"
	}
	if p.origin == fromBasic {
		return `Basic realm="api"`
	}
	return ""
}

// lacking is what a caller is told whose request lacks a part: its kind, never
// a value.
func (p part) lacking() error {
	e := weir.Invalid(p.kind, "", "it is missing, or there is more than one", "send it once")
	if p.origin == fromJWT {
		e = weir.Invalid(p.kind, "", "there is no token that verifies and has it", "send a valid token")
	}
	if challenge := p.challenge(); challenge != "" {
		return &lackingError{e, challenge}
	}
	return e
}

// lackingError asks for credentials: see header.Challenger.
type lackingError struct {
	error
	challenge string
}

func (e *lackingError) Unwrap() error     { return e.error }
func (e *lackingError) Challenge() string { return e.challenge }
