package match

import (
	"regexp"
	"slices"
	"strings"
)

// This file says what another notation would have meant by a text that would be a
// literal here and fit nothing that a client sends: globs, regular expressions,
// placeholders of routers.

// noRegexp is what is said of them.
const noRegexp = "looks like a regular expression, and patterns are none"

var (
	// placeholder is a segment that routers take for a wildcard, with its name:
	// <id>, <int:id>, [id], [...rest], :id, :rest*.
	placeholder = regexp.MustCompile(`^(?:<(?:\w+:)?|\[(\.\.\.)?|:)([\pL_][\pL\d_]*)([>\]*+?]?)$`)

	// annotated is a wildcard's name with what other routers write beside it:
	// {id:[0-9]+}, {id?}, {*rest}, {rest+}, {rest:path}.
	annotated = regexp.MustCompile(`^(\*{0,2})([\pL_][\pL\d_]*)([*+]|:path|:\.[*+])?(?:[:?=].*)?$`)

	// classes are those of regular expressions that begin with a backslash, and
	// what is escaped there.
	classes = regexp.MustCompile(`\\(?:[dDwWsS][+*?{]|[.$-])|\\[dDwWsS]$`)
)

// otherNotation says what is wrong with a segment that another notation has, and
// what to write instead; "" where there is nothing.
func otherNotation(text string, last bool) (problem, remedy string) {
	wildcard := "write {name} for the whole segment"
	if last {
		wildcard += ", or end the pattern with / for all below"
	}
	switch {
	case text == "*" || text == "**":
		return "is no wildcard", "write {name} for one segment, end the pattern with / for all below, or write %2A for an asterisk"
	case text == "..." || text == "…":
		return "is no wildcard", "end the pattern with / for all below, write {name} for one segment, or %2E for each dot"
	case text[0] == ':':
		return "is no wildcard", named(text, "name") + ", or begin with %3A for a colon"
	case strings.HasPrefix(text, "<") && strings.HasSuffix(text, ">"):
		return "is no wildcard", named(text, "name") + ", or %3C and %3E for the signs"
	case placeholder.MatchString(text):
		return "is no wildcard", named(text, "name") + ", or %5B and %5D for brackets"
	case text == "?" || text == "?$":
		return noRegexp, "leave it and the slash before it out"
	case strings.Contains(text, ".*"):
		return noRegexp, wildcard + "; %2A is an asterisk"
	case strings.Contains(text, ".+"):
		return noRegexp, wildcard + "; %2B is a plus sign"
	case strings.Contains(text, "*"):
		return "holds an asterisk, which is no wildcard", wildcard + ", or %2A for an asterisk"
	case strings.Contains(text, "|"):
		return noRegexp, "give each alternative a pattern of its own, or write %7C for the bar"
	case classes.MatchString(text):
		return noRegexp, wildcard
	case strings.ContainsAny(text, "[]"):
		return noRegexp, wildcard + ", or %5B and %5D for brackets"
	case strings.ContainsAny(text, "^<>"):
		return "is in no path as it stands", "leave it out, or write %5E for ^, %3C and %3E for < and >"
	}
	return "", ""
}

// named says how the wildcard is written that a placeholder stands for.
func named(text, otherwise string) string {
	m := placeholder.FindStringSubmatch(text)
	switch {
	case m == nil:
		return "write {" + otherwise + "}"
	case m[1] != "" || m[3] == "*" || m[3] == "+":
		return "write {" + m[2] + "...}"
	}
	return "write {" + m[2] + "}"
}

// plainName says how a wildcard is written whose name has something beside it; ""
// where that is no name either.
func plainName(name string) string {
	m := annotated.FindStringSubmatch(name)
	switch {
	case m == nil:
		return ""
	case m[1]+m[3] != "":
		return "write {" + m[2] + "...}"
	}
	return "write {" + m[2] + "}: it fits any one segment"
}

// methodFirst is the pattern that was meant by one with its method behind the
// path; "" where it has none there.
func (r *reader) methodFirst() string {
	at := strings.LastIndexAny(r.text, blanks)
	if at < 0 || !slices.Contains(Methods[:], strings.ToUpper(r.text[at+1:])) {
		return ""
	}
	return r.readable(strings.ToUpper(r.text[at+1:]) + " " + strings.Trim(r.text[:at], blanks))
}

// afterMethod is the pattern that was meant by one with punctuation where the
// space behind its method should be: "GET,/x", "GET: /x".
func (r *reader) afterMethod() string {
	before, path, _ := strings.Cut(r.text, "/")
	before = strings.Trim(before, blanks)
	method := strings.TrimRight(before, ",;:")
	if !slices.Contains(Methods[:], method) || method == before {
		return ""
	}
	return r.readable(method + " /" + path)
}

// readable is a text if it is a pattern, otherwise "": nobody is told to write
// what is refused again. Of a text that is only tried nothing is guessed.
func (r *reader) readable(text string) string {
	again := reader{text: text, pattern: new(Pattern), tried: true}
	if r.tried {
		return ""
	}
	if again.read(); len(again.errs) > 0 {
		return ""
	}
	return text
}
