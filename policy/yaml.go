package policy

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// The most that is read of a rules file.
const (
	// largestFile holds some ten thousand rules.
	largestFile = 1 << 20
	// deepestNesting is several times what the fields of a Config need.
	deepestNesting = 32
)

// reader reads one rules file and collects what is wrong with it.
type reader struct {
	*source
	found  Diagnostics
	more   int  // how many were found beyond those that are kept
	halted bool // so much was left unread that nothing more can be said
}

// read makes YAML nodes of the text. The result is nil where there is no mapping
// to go on with; then something has been found.
func (r *reader) read() *yaml.Node {
	if !r.checkText() {
		r.unread = true
		return nil
	}
	documents, ok := r.documents()
	if !ok {
		return nil
	}
	if len(documents) == 0 || len(documents[0].Content) == 0 || isNull(documents[0].Content[0]) {
		r.add("missing-version", 1, 1, 1, "the file says nothing: `version: 1` is missing", "begin it with `version: 1`")
		return nil
	}
	if len(documents) > 1 {
		second := documents[1]
		r.add("several-documents", second.Line, 1, 3, "a second document begins here", "keep one document in a file; leave the line out if it is the same one")
	}
	return documents[0].Content[0]
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// add notes an error at a place of the text.
func (r *reader) add(code string, line, column, length int, message, hint string) {
	d := Diagnostic{Severity: Error, Code: code, Message: message, Hint: hint}
	r.put(&d, line, column, length)
	r.found = append(r.found, d)
}

// mostFound bounds what is kept of one file: several times what is shown, since
// errors are shown before warnings.
const mostFound = 500

// full reports that enough was found, and counts what comes after.
func (r *reader) full() bool {
	if len(r.found) < mostFound {
		return false
	}
	r.more++
	return true
}

// checkText refuses what is no text, before anything parses it. What is left has
// lines that end in \n alone, as the parser counts them, too.
func (r *reader) checkText() bool {
	if len(r.text) > largestFile {
		r.add("file-too-large", 1, 1, 1, fmt.Sprintf("the file has %d bytes, and 1 MiB is the most", len(r.text)), "rules differ by what they match; callers belong into plans and keys")
		return false
	}
	if wide(r.text) {
		r.addAt(0, 1, "this is text in UTF-16, or in UTF-32", saveAsUTF8)
		return false
	}
	rest := strings.TrimPrefix(r.text, "\ufeff")
	for i := len(r.text) - len(rest); i < len(r.text); {
		c, size := utf8.DecodeRuneInString(r.text[i:])
		if problem, hint := wrongCharacter(c, size, r.text[i:]); problem != "" && !(likeSpace(c) && r.inComment(i)) {
			r.addAt(i, size, problem, hint)
			return false
		}
		i += size
	}
	return true
}

const saveAsUTF8 = "save it as UTF-8"

// wide reports text whose characters have two or four bytes: it begins with a mark of
// that, or with one that is ASCII.
func wide(text string) bool {
	const first = 4
	if len(text) < first {
		return false
	}
	little, big := text[0] != 0 && text[1] == 0, text[0] == 0 && (text[1] != 0 || text[2] == 0)
	return little && (text[3] == 0 || text[2] == 0) || big && (text[2] == 0 || text[3] == 0) ||
		strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff")
}

// wrongCharacter says what is wrong with a character, "" for nothing, and what to do.
func wrongCharacter(c rune, size int, text string) (problem, hint string) {
	switch {
	case c == utf8.RuneError && size == 1:
		return "this is no UTF-8 text", saveAsUTF8
	case c == '\r' && !strings.HasPrefix(text, "\r\n"):
		return "a carriage return without a line feed", `end lines with a line feed; in a text write it as "\r", in double quotes`
	case c == '\n' || c == '\r' || c == '\t':
		return "", ""
	case likeSpace(c):
		return fmt.Sprintf("the character U+%04X, which looks like a space and is none", c), fmt.Sprintf(`write a space; if it is meant, "\u%04x" in double quotes`, c)
	case hidden(c) && c != '\u200d': // which joins emoji
		return fmt.Sprintf("the character U+%04X, which is not seen", c), `leave it out, or write it as an escape in double quotes, such as "\u2028"`
	}
	return "", ""
}

// likeSpace reports a character that is seen as a space, and that YAML takes for a letter.
func likeSpace(c rune) bool { return c != ' ' && unicode.Is(unicode.Zs, c) }

// inComment reports whether an offset of the text may lie in a comment.
func (r *reader) inComment(offset int) bool {
	line := r.text[strings.LastIndexByte(r.text[:offset], '\n')+1 : offset]
	return strings.HasPrefix(line, "#") || strings.Contains(line, " #") || strings.Contains(line, "\t#")
}

// addAt notes an error at an offset of the text.
func (r *reader) addAt(offset, length int, problem, hint string) {
	line := 1 + strings.Count(r.text[:offset], "\n")
	r.add("bad-character", line, offset-r.lines[line-1]+1, length, problem, hint)
}

// documents parses the text. Where it is no YAML but for the tabs that indent, it
// is read without them.
func (r *reader) documents() (list []*yaml.Node, ok bool) {
	list, err := parseYAML(r.text)
	if err == nil {
		return list, true
	}
	r.unread = true
	if r.conflicts() {
		return nil, false
	}
	at := len(r.found)
	if r.syntax(err); r.found[at].Message != tabIndents {
		return nil, false
	}
	list = r.untabbed()
	r.found[at].Hint = r.tabbed(r.found[at].Line)
	return list, list != nil
}

// parseYAML reads the documents of a text; more than two are not needed to refuse
// the second.
func parseYAML(text string) (list []*yaml.Node, err error) {
	defer func() {
		if v := recover(); v != nil { // a text that the parser did not expect
			err = fmt.Errorf("the text cannot be parsed: %v", v)
		}
	}()
	loader, err := yaml.NewLoader(strings.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(deepestNesting))))
	for err == nil && len(list) < 2 {
		var n yaml.Node
		if err = loader.Load(&n); err == nil {
			list = append(list, &n)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return list, err
}

// secretLine finds what is not shown where no parser says what belongs to what:
// the values of fields that hold secrets and of headers, and credentials in a URL.
var secretLine = regexp.MustCompile(`(?i)(?:token|secret|password|keys|api.?key|\bx-[\w-]+)["']?\s*:\s*([^\s#].*)|://([^@\s/]+)@`)

// likely are the parts of a line that may be secrets, by what surrounds them.
func (s *source) likely(line int) (list []stretch) {
	text := s.line(line)
	for _, m := range secretLine.FindAllStringSubmatchIndex(text, -1) {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		if !named(text[from:to]) {
			list = append(list, stretch{s.lines[line-1] + from, s.lines[line-1] + to})
		}
	}
	return list
}

// syntax reports what the YAML parser says.
func (r *reader) syntax(err error) {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.add("yaml-syntax", 1, 1, 1, err.Error(), "make it smaller until you find which part")
		return
	}
	mark := e.Mark
	if mark.Line < 1 || mark.Line >= len(r.lines) && r.line(mark.Line) == "" && e.ContextMark.Line > 0 {
		mark = e.ContextMark // nothing stands at the end of a file: where it began says more
	}
	column := r.column(mark.Line, mark.Column)
	for r.line(mark.Line) == "" && mark.Line > 1 { // the end of the text is behind its last word
		mark.Line--
		column = len(strings.TrimRight(r.line(mark.Line), " ")) + 1
	}
	at := r.line(mark.Line)
	message, hint := explainSyntax(e, at[min(column-1, len(at)):])
	r.add("yaml-syntax", mark.Line, column, 1, message, hint)
}

const tabIndents = "a tab does not indent"

const quoteIt = "put the text in quotes"

// explainSyntax says what a message of the parser most often comes of.
func explainSyntax(e *yaml.LoadError, at string) (message, hint string) {
	message = e.Message
	if e.ContextMsg != "" {
		message = e.ContextMsg + ": " + message
	}
	switch has := func(s string) bool { return strings.Contains(message, s) }; {
	case strings.HasPrefix(at, "\t"):
		return tabIndents, ""
	case has("cannot start any token") && at != "":
		return "a text does not begin with " + at[:1] + " in YAML", quoteIt
	case has("mapping values are not allowed"):
		return "a field inside a text, or a line that is indented too far", "align the line with its neighbours; a text that holds `: ` stands in quotes"
	case has("did not find expected key"):
		return "this line is neither a field nor an element of what stands above", "align it with its neighbours; a list's elements begin with `- `"
	case has("did not find expected '-' indicator"):
		return "this line is no element of the list above", "begin it with `- `, or align it with its neighbours"
	case has("did not find expected node content"):
		return "a value is missing here, or a bracket that closes", "write it, or take the comma or bracket away"
	case has("unknown anchor"):
		return message, "a text that begins with * stands in quotes"
	case has("scanning an alias") || has("scanning an anchor"):
		return message, "a text that begins with * or & stands in quotes"
	case has("exceeded max depth"):
		return "lists and mappings are nested too deeply", fmt.Sprintf("a rules file needs less than %d levels", deepestNesting)
	case has("could not find expected ':'"):
		return "a field needs a colon and a space behind its name", "write `name: value`"
	case has("quoted scalar") && strings.ContainsAny(at, typographic):
		return "a quoted text does not end", "typographic quotes close nothing: write plain ones"
	case has("quoted scalar"):
		return "a quoted text does not end", "close the quote"
	case has("flow sequence") || has("flow mapping"):
		return "a list or mapping in brackets goes on", "put a comma or the closing bracket; a text that holds { } [ ] or a comma stands in quotes there"
	}
	return message, ""
}
