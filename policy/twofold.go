package policy

import (
	"slices"
	"strings"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/policy/internal/token"
)

// This file refuses what weir and an application might read differently: whoever is
// over a limit would otherwise send his key so that weir sees none, and the
// application does.

// singles are the headers that a rule reads its key, or a token, from. Each must come
// in one line. A plan that is named twice is not named, which frees nobody.
func (c *compiler) singles(r *rule) {
	parts := r.key
	if r.needsToken {
		parts = append(slices.Clip(parts), c.policy.tokenFrom)
	}
	for _, p := range parts {
		name := p.name
		if p.origin == fromBasic {
			name = "Authorization"
		}
		if (p.origin == fromHeader || p.origin == fromBasic) && !slices.Contains(r.singles, name) {
			r.singles = append(r.singles, name)
		}
	}
}

// readMethod refuses a method that is not in capitals, as all methods are that
// anybody has registered: some servers take `post` for POST.
func (c *call) readMethod() bool {
	if !small(c.found.Request.Method) || c.shadow() {
		return true
	}
	return c.bad(weir.Invalid("method", "", "it is not in capitals, and some servers do not mind", "send it in capitals"))
}

// small reports whether there are small letters in a method.
func small(method string) bool {
	return strings.ContainsFunc(method, func(r rune) bool { return 'a' <= r && r <= 'z' })
}

// readOnce refuses a header that a rule reads and that comes in several lines, or
// under another spelling of its name, or holds a token in a form that some servers
// read.
func (c *call) readOnce() bool {
	for i := range c.work {
		r := c.work[i].rule
		if len(r.singles) == 0 || c.found.Applied[i].Shadow {
			continue
		}
		for _, name := range r.singles {
			if len(c.header(name)) > 1 {
				return c.bad(weir.Invalid("header "+name, "", "it comes in several lines, of which a server may read any", "send it in one"))
			}
			if c.spelt(name) {
				return c.bad(weir.Invalid("header "+name, "", "it comes in another spelling, which some servers take for the same name", "send it as it is written here"))
			}
		}
		if r.needsToken && c.garbled() {
			return c.bad(weir.Invalid("header Authorization", "", "what stands behind Bearer is no token", "send one space and the token"))
		}
	}
	return true
}

// garbled reports whether there is a Bearer whose token cannot be read, and may be a
// signed one. Other things are sent behind Bearer as well (`1|abc`, `user:secret`):
// those leave a trace of a token, and no more.
func (c *call) garbled() bool {
	from := c.found.Policy.tokenFrom
	if from.origin != fromHeader || from.name != "Authorization" {
		return false
	}
	line, ok := only(c.header(from.name))
	return ok && token.Garbled(line) && (mayHoldToken(line) || mayHoldToken(squeezed(line)))
}

// squeezed leaves out of a line what is of no token: some decoders of base64 do.
func squeezed(line string) string {
	return strings.Map(func(r rune) rune {
		if notOfToken(r) {
			return -1
		}
		return r
	}, line)
}
