package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/weirhq/weir/internal/httpsyntax"
	"github.com/weirhq/weir/policy/internal/match"
)

// This file says what was probably meant by a text that its field could make
// nothing of: other tools, or an editor, would have read it.

// expansion is a variable as shells and templates have it.
var expansion = regexp.MustCompile(`\$\{[^}]*\}|\$\([^)]*\)`)

// typographic are the quotes that editors and chats put in the place of " and '.
const typographic = "“”„‟‘’‚‛«»"

// curly is the typographic quote that a text begins or ends with; "" for none.
func curly(text string) string {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	for _, c := range []rune{first, last} {
		if strings.ContainsRune(typographic, c) && text != "" {
			return string(c)
		}
	}
	return ""
}

// reread says of an error what was meant by the value that it is about, where
// that is a habit from elsewhere. Whatever else is said of the value follows from
// it; the result says whether it was one.
func (r *reader) reread(d *Diagnostic) bool {
	n := r.places[d.Path].value
	if d.Severity != Error || !readsText(d.Code) || n == nil || n.Kind != yaml.ScalarNode || r.variables[d.Path] != "" {
		return false
	}
	switch quote := curly(n.Value); {
	case quote != "":
		d.Message = fmt.Sprintf("%s is no quote in YAML: it is part of the text", quote)
		d.Hint, d.Span = `write plain quotes, " or ', or none`, Span{}
	case expansion.MatchString(n.Value):
		d.Hint, d.Span = notExpanded(d.Path), Span{}
	default:
		return false
	}
	return true
}

// readsText reports whether a code says that a value's text cannot be read.
func readsText(code string) bool {
	return strings.HasPrefix(code, "bad-") || slices.Contains([]string{"unknown-word", "wrong-kind", "unreadable-file", "unknown-plan"}, code)
}

// notExpanded says how a field takes its value from the environment.
func notExpanded(path string) string {
	const plain = "variables are not expanded"
	all := variables()
	i := slices.IndexFunc(all, func(v variable) bool {
		return v.path == path || v.path == parentOf(path) && strings.HasSuffix(path, "]")
	})
	if i < 0 {
		return plain + " in a rules file: write the value"
	}
	return plain + "; " + all[i].name + " sets this field"
}

// conflict is how the lines begin that a merge leaves where it did not know what
// to take.
var conflict = regexp.MustCompile(`^(?:<{7}|={7}|>{7}|\|{7})(?: |$)`)

// conflicts notes the marks of a merge, and reports whether there are any.
func (r *reader) conflicts() bool {
	found := false
	for i := range r.lines {
		if mark := conflict.FindString(r.line(i + 1)); mark != "" && !r.full() {
			r.add("yaml-syntax", i+1, 1, len(strings.TrimSpace(mark)), "a merge conflict marker: two versions of the file stand here", "keep what holds of both, and take the marker out")
			found = true
		}
	}
	return found
}

// meantPart is what was meant by a part of a key that is none: jwt.sub, or a
// header's name alone. "" where nobody knows.
func meantPart(text string, allowed []origin) string {
	at := strings.IndexAny(text, ".=/ ")
	for _, o := range allowed {
		word, takes := origins[o].word, origins[o].argument != ""
		if at > 0 && takes && text[:at] == word && httpsyntax.IsToken(text[at+1:]) {
			return "did you mean " + word + ":" + text[at+1:] + "?"
		}
	}
	header := strings.Contains(text, "-") && canonicalHeader(text) == text || strings.HasPrefix(strings.ToLower(text), "x-")
	if header && httpsyntax.IsToken(text) && slices.Contains(allowed, fromHeader) {
		return "did you mean header:" + text + "?"
	}
	return ""
}

// notInNames are the stretches of a text that no rule's name may have.
var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// meantName asks for the name that was meant by one that may not be; "" where
// nothing is left of it, or a part of a word would be: größe is no gr-e.
func meantName(text string) string {
	if strings.ContainsFunc(text, func(c rune) bool { return c >= utf8.RuneSelf && unicode.In(c, unicode.L, unicode.M) }) {
		return ""
	}
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "._-")
	if !ruleName.MatchString(name) {
		return ""
	}
	return "did you mean " + name + "?"
}

// meantPlan is the hint for a limit that is no rate, where it may be the name of a
// plan; otherwise the hint that there is.
func (c *compiler) meantPlan(text, hint string) string {
	letters := strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz-_") == ""
	_, plan := c.config.Plans[text]
	switch {
	case plan:
		return text + " is a plan: write default_plan: " + text + ", and plan, which says where a caller's own is named"
	case letters && !strings.HasPrefix(hint, "did you mean"):
		return hint + "; limits that have a name are plans: see plan and default_plan"
	}
	return hint
}

// meantEntry is the entry of exempt that was meant by a text; "" where nobody
// knows.
func meantEntry(text string) string {
	if _, wrong := readPrefix("", text); wrong == (complaint{}) {
		return "write `- ip: " + text + "`"
	}
	if _, err := match.ParsePattern(text); err == nil {
		return "write `- match: " + visible(text) + "`"
	}
	return ""
}

// fileName is what a file of keys is called. No secret ends like this.
var fileName = regexp.MustCompile(`^[A-Za-z0-9._/-]{1,100}\.(?:json|jwks|jwk|pem|pub|crt|cer)$`)

// secondPlace is how a message ends that names a field met before.
var secondPlace = regexp.MustCompile(`, first in (\S+)$`)

// inLines gives the line of a field that a message ends with by its path.
func (r *reader) inLines(d *Diagnostic) {
	m := secondPlace.FindStringSubmatchIndex(d.Message)
	if m == nil {
		return
	}
	if first, ok := r.places[d.Message[m[2]:m[3]]]; ok {
		d.Message = d.Message[:m[2]] + fmt.Sprintf("line %d", first.value.Line)
	}
}
