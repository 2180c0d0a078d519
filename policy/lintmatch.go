package policy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/weirhq/weir/internal/suggest"
	"github.com/weirhq/weir/policy/internal/match"
)

// This file looks at patterns that can be read and were probably meant otherwise.

// lintPatterns looks at every pattern of the file, each by itself: what is wrong
// elsewhere hides nothing of it.
func (c *compiler) lintPatterns() {
	c.lintTexts("routes", c.config.Routes)
	for i := range c.config.Exempt {
		c.lintTexts(element("exempt", i)+".match", c.config.Exempt[i].Match)
	}
	for _, r := range c.policy.rules {
		c.lintTexts(r.field+".match", r.config.Match)
	}
}

func (c *compiler) lintTexts(field string, texts []string) {
	for i, text := range texts {
		p, err := match.ParsePattern(text)
		if err != nil {
			continue // which has been refused
		}
		path := element(field, i)
		if meant := suggest.Slip(p.Method(), match.Methods[:]...); meant != "" {
			c.warn("odd-method", path, "no client sends the method "+p.Method(), "did you mean "+meant+"?")
		}
		c.lintHost(path, text, p)
		c.lintSegments(path, text)
	}
}

// lintSegments looks for placeholders and regular expressions among the segments
// that can be meant as they stand. Who means them percent-encodes the character.
// (What cannot be meant is no pattern: see package match.)
func (c *compiler) lintSegments(path, text string) {
	at := strings.IndexByte(text, '/') + 1
	for segment := range strings.SplitSeq(text[at:], "/") {
		name, placeholder := strings.CutPrefix(segment, "$")
		hint := ""
		switch {
		case placeholder && wildcardName.MatchString(name):
			hint = "write {" + name + "} for any one segment; for the dollar sign write %24" + name
		case strings.HasSuffix(segment, "$"):
			hint = "leave the dollar sign out: a pattern is compared to the path's end; if it is part of the path write %24"
		case strings.HasPrefix(segment, "("):
			hint = "write {name} for any one segment, or a pattern for each alternative; for the parenthesis write %28"
		}
		if hint != "" {
			c.found = append(c.found, Diagnostic{
				Severity: Warning, Code: "odd-path", Path: path, Span: Span{at, len(segment)}, Hint: hint,
				Message: fmt.Sprintf("pattern: %q stands for itself: it is neither a wildcard nor a regular expression", segment),
			})
		}
		at += len(segment) + 1
	}
}

// wildcardName is what a wildcard of a pattern may be called.
var wildcardName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// lintHost looks for paths whose first slash was forgotten, so that they begin
// with a host. Who means a host of one label writes it with a dot behind.
func (c *compiler) lintHost(path, text string, p *match.Pattern) {
	host := p.Host()
	rest := text[strings.LastIndexAny(text[:strings.IndexByte(text, '/')], " \t")+1:]
	written, _, _ := strings.Cut(rest, "/")
	if host == "" || host == "localhost" || strings.ContainsAny(written, ".[") {
		return
	}
	c.warn("odd-host", path, fmt.Sprintf("the pattern is for the host %s: a path begins with a slash", host),
		fmt.Sprintf("write /%s if that is a path, %s.%s if it is a host without a domain", rest, written, rest[len(written):]))
}
