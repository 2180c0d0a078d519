package policy

import (
	"errors"

	"github.com/weirhq/weir"
)

// inputs is what a Config may name: files and variables.
type inputs struct {
	readFile func(name string) ([]byte, error)
	getenv   func(name string) string
	fits     func(*Policy) Fit // Source.Fits
	daemon   bool              // Source.Daemon
}

// compiler makes a Policy of a Config and collects what is wrong with it. Every
// mistake is noted under the path of its field; where that stands in a file is
// found later.
type compiler struct {
	inputs
	config *Config
	policy *Policy
	found  Diagnostics
	places map[*weir.Limit]string // the path of each limit's text
}

// compile checks a Config whole. The policy is nil if there is an Error among
// what was found.
func compile(config Config, in inputs) (*Policy, Diagnostics) {
	c := &compiler{inputs: in, config: &config, policy: &Policy{config: config}, places: map[*weir.Limit]string{}}
	c.settings()
	c.rules()
	c.lintPatterns()
	if c.found.Err() == nil {
		c.lint() // what only a policy that works can be asked
		c.fits()
		c.lintListeners()
	}
	if c.found.Err() != nil {
		return nil, c.found
	}
	c.policy.warnings = c.found
	return c.policy, c.found
}

// refuse notes a mistake. The span may be zero.
func (c *compiler) refuse(code, path string, span Span, message, hint string) {
	c.found = append(c.found, Diagnostic{Severity: Error, Code: code, Path: path, Span: span, Message: message, Hint: hint})
}

// warn notes what may do harm.
func (c *compiler) warn(code, path, message, hint string) {
	c.found = append(c.found, Diagnostic{Severity: Warning, Code: code, Path: path, Message: message, Hint: hint})
}

// refuseFields notes the errors of a limit's or duration's text: one for each
// [*weir.FieldError] in err, at its place in the text.
func (c *compiler) refuseFields(code, path string, err error) {
	var list interface{ Unwrap() []error }
	if errors.As(err, &list) {
		for _, e := range list.Unwrap() {
			c.refuseFields(code, path, e)
		}
		return
	}
	var e *weir.FieldError
	if !errors.As(err, &e) {
		c.refuse(code, path, Span{}, err.Error(), "")
		return
	}
	var span Span
	if e.Offset >= 0 {
		span = Span{Offset: e.Offset, Length: max(1, len(e.Value))}
	}
	message := e.Field
	if e.Value != "" {
		message += " " + e.Value
	}
	c.refuse(code, path, span, message+": "+e.Problem, e.Remedy)
}
