package match

import (
	"cmp"
	"slices"
	"strings"
)

// readPath reads the path, which begins with the slash at start.
func (r *reader) readPath(start int) {
	for at, last := start+1, false; !last; {
		end := len(r.text)
		if i := strings.IndexByte(r.text[at:], '/'); i >= 0 {
			end = at + i
		} else {
			last = true
		}
		r.readSegment(at, end, last)
		at = end + 1
	}
}

func (r *reader) readSegment(start, end int, last bool) {
	text := r.text[start:end]
	switch {
	case text == "" && last:
		r.pattern.tail = below
	case text == "":
		r.fail(start-1, end+1, "is one slash in every path", "write /")
	case strings.ContainsAny(text, "{}"):
		r.readWildcard(start, end, last)
	default:
		r.readLiteral(start, end, last)
	}
}

func (r *reader) readWildcard(start, end int, last bool) {
	text := r.text[start:end]
	switch {
	case strings.Count(text, "{") != strings.Count(text, "}"):
		r.fail(start, end, "has a brace without its other half", "write {name}, or %7B and %7D for braces")
		return
	case text[0] != '{' || strings.IndexByte(text, '}') != len(text)-1:
		r.fail(start, end, "is more than a wildcard", "give the wildcard a segment of its own: /{name}/")
		return
	case text == "{$}":
		if !last {
			r.fail(start, end, "is not at the end", "leave out what follows it")
		}
		r.pattern.tail = slash
		return
	}
	name, rest := strings.CutSuffix(text[1:len(text)-1], "...")
	r.checkName(start, end, name)
	if rest && !last {
		r.fail(start, end, "is not at the end", "leave out what follows it, or write {"+name+"} for one segment")
	}
	if rest {
		r.pattern.tail, r.pattern.rest = below, name
		return
	}
	r.pattern.segments = append(r.pattern.segments, segment{name: name})
}

func (r *reader) checkName(start, end int, name string) {
	switch {
	case name == "":
		r.fail(start, end, "has no name", "write {name}")
	case !isName(name):
		r.fail(start, end, "has a name that is none", cmp.Or(plainName(name), "write letters, digits and _, a digit not first"))
	case slices.Contains(r.pattern.Wildcards(), name):
		r.fail(start, end, "has the name of another wildcard", "give each its own")
	}
}

// readLiteral reads a segment as a request's path is read, so that whatever is
// accepted here can come.
func (r *reader) readLiteral(start, end int, last bool) {
	text := r.text[start:end]
	var path Path
	found := path.Parse("/"+text, Options{})
	problem, remedy := otherNotation(text, last)
	switch {
	case strings.ContainsAny(text, blanks):
		problem, remedy = "holds a space", "leave it out, or write %20"
		if last && r.methodFirst() != "" {
			problem, remedy = "has the method behind it", "write "+r.methodFirst()
		}
	case problem != "":
	case found == DotSegment || len(path.segments) == 0 && found == None:
		problem, remedy = "is a dot segment, and paths are compared without", "write the path that it leads to"
	case found != None:
		problem, remedy = "is in no canonical path: "+found.String(), instead(found)
	case strings.Contains(text, ";") || strings.Contains(strings.ToLower(text), "%3b"):
		problem, remedy = "has parameters, and paths are compared without", instead(BareParameters)
	}
	if problem != "" {
		r.fail(start, end, problem, remedy)
		return
	}
	literal := string(path.segment(0))
	r.pattern.segments = append(r.pattern.segments, segment{text: literal, folded: string(fold([]byte(literal)))})
}

// instead says what to write where a pattern is ambiguous.
func instead(a Ambiguity) string {
	remedies := [...]string{
		EncodedSlash:   "write / between segments; a segment cannot hold one",
		Backslash:      "write / between segments; a segment cannot hold a backslash",
		ControlByte:    "leave it out",
		BareParameters: "leave out the semicolon and what follows it",
		InvalidEscape:  "write %25 for a percent sign",
		QueryMark:      "end the pattern before the query, or write %3F or %23",
	}
	return remedies[a]
}
