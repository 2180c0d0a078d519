package policy

import (
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/match"
)

// This file asks one rule about one request: who is counted, and by which plan.

// resolve fills in what the rule of w comes to. It reports false where the rule
// refuses the request without asking a limit; the outcome says so then.
func (c *call) resolve(w *work, a *Applied) (goOn bool) {
	r := w.rule
	defer func() {
		if v := recover(); v != nil {
			w.quota = nil
			goOn = c.failed(r, a, newPanicError("rule "+r.Name, v, weir.ErrNotApplied))
		}
	}()
	w.ready = true
	q := c.plan(w)
	a.Plan = q.plan
	switch {
	case q.unlimited:
		return true
	case q.deny:
		return c.refuse(r, a, weir.ByDeny, nil)
	}
	applies, cause, err := c.keyOf(r, a)
	switch {
	case err != nil:
		return c.refuse(r, a, cause, err)
	case applies:
		w.shown = w.shown || r.secretKey && a.Missing == ""
		w.quota = q
		w.key, w.tag = c.keyer().Key(c.parts...)
		a.Key = w.key
	}
	return true
}

// plan is the quota that the caller has under the rule of w.
func (c *call) plan(w *work) *quota {
	p := w.rule.plan
	if p == nil {
		return w.rule.fallback
	}
	q, named := p.quotaOf(c)
	w.shown = p.secrets && named
	if q == nil {
		w.guessed = w.shown
		return w.rule.fallback
	}
	return q
}

// keyOf collects the parts of the request's key. It reports false when the rule
// does not apply to a request without them, and an error when that refuses it.
func (c *call) keyOf(r *rule, a *Applied) (applies bool, cause weir.Cause, err error) {
	clear(c.parts)
	c.parts = c.parts[:0]
	a.Kinds = r.kinds
	for _, p := range r.key {
		if c.add(r, p) {
			continue
		}
		a.Missing = p.kind
		switch {
		case p.origin == fromIP:
			return false, weir.ByRequest, noAddress()
		case r.missing == MissingSkip && !c.traced(p):
			return false, 0, nil
		case r.missing == MissingDeny:
			return false, weir.ByMissing, p.lacking()
		}
		return c.byAddress(a)
	}
	return true, 0, nil
}

// byAddress is the key of a request that lacks a part: the address alone, which
// is no key of any request that has its parts.
func (c *call) byAddress(a *Applied) (applies bool, cause weir.Cause, err error) {
	network := c.network()
	if !network.IsValid() {
		return false, weir.ByRequest, noAddress()
	}
	clear(c.parts)
	c.parts = append(c.parts[:0], weir.Net(network))
	a.Kinds = origins[fromIP].word
	return true, 0, nil
}

// add appends one part of the key. It reports false where the request lacks it.
func (c *call) add(r *rule, p part) bool {
	switch p.origin {
	case fromIP:
		network := c.network()
		c.parts = append(c.parts, weir.Net(network))
		return network.IsValid()
	case fromJWT:
		return c.addClaim(r, p)
	case fromPath:
		value, ok := c.pathValue(r, p.name)
		return c.addText(r, p.kind, value, ok && value != "")
	default:
		value, ok := c.value(p)
		return c.addText(r, p.kind, value, ok)
	}
}

func (c *call) addText(r *rule, kind, value string, ok bool) bool {
	if !ok {
		return false
	}
	if r.config.Normalize == NormalizeLower {
		value = lower(value)
	}
	c.parts = append(c.parts, weir.Text(kind, value))
	return true
}

// addClaim appends a claim and the issuer that vouches for it: two issuers may
// call two people by one name. A number is another caller than the text of the
// same digits.
func (c *call) addClaim(r *rule, p part) bool {
	claims := c.verified()
	value, text, ok := claims.Value(p.name)
	if !ok || value == "" {
		return false
	}
	kind := p.kind
	if !text {
		kind += "#"
	}
	return c.addText(r, kind, value, true) && c.addIssuer(claims.Issuer())
}

func (c *call) addIssuer(issuer string) bool {
	c.parts = append(c.parts, weir.Text("jwt:iss", issuer))
	return true
}

// pathValue is what a wildcard of the pattern that fits stands for. The value is
// copied where it is a part of the path's own buffer: see match.Pattern.Value.
func (c *call) pathValue(r *rule, name string) (string, bool) {
	q := c.found.Request
	for _, p := range r.patterns {
		if p.Fits(q.Method, q.Host, &c.path) {
			return p.Value(&c.path, name)
		}
	}
	return "", false
}

// misfit says why a request does not match a rule; "" where it does.
func (r *rule) misfit(c *call) string {
	if len(r.patterns) > 0 && !fits(r.patterns, c) {
		texts := make([]string, len(r.patterns))
		for i, p := range r.patterns {
			texts[i] = p.String()
		}
		return "the request does not fit " + strings.Join(texts, ", nor ")
	}
	return r.fail(c)
}

// fits reports whether a request fits one of some patterns, or there are none.
func fits(patterns []*match.Pattern, c *call) bool {
	q := c.found.Request
	for _, p := range patterns {
		if p.Fits(q.Method, q.Host, &c.path) {
			return true
		}
	}
	return len(patterns) == 0
}

// noAddress is what a caller without an address is told.
func noAddress() error {
	return weir.Invalid("address", "", "the peer has none", "connect over IP, or let a trusted proxy name the caller (client_ip.unix)")
}
