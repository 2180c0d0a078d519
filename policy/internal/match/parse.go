package match

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/weirhq/weir/internal/httpsyntax"
)

// blanks may stand between the method and the rest.
const blanks = " \t"

// Methods are those of RFC 9110 and PATCH: words that are more likely a method
// than a host or a path. Any other method can be written, too.
var Methods = [...]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}

// ParsePattern reads a pattern, [METHOD ][HOST]/[PATH], as net/http's ServeMux
// has them:
//
//	/login              this path, with any method and host
//	POST /login         POST only; GET is GET and HEAD
//	api.example/        everything on this host
//	/items/{id}         {id} is one segment, never empty
//	/api/               everything below /api
//	/files/{path...}    the same, and the rest has a name
//	/api/{$}            only /api/ itself; "/{$}" is the root alone
//	/                   everything
//
// It differs from ServeMux in these:
//   - All patterns that a request fits apply. None is more special than another,
//     and no two conflict.
//   - A trailing slash of a request says nothing, unless Options.KeepSlash is on:
//     "/login" fits "/login/", and "/api/" and "/api/{$}" fit "/api".
//   - A host is compared without its port, without a final dot and without
//     regard to case. An IPv6 address stands in brackets, and fits however it
//     is written.
//   - Methods are in capitals: they are compared as sent, and who writes "post"
//     means POST.
//   - Literals may be percent-encoded and are decoded once, so that any byte that
//     can be in a segment can be written.
//   - What no canonical path holds is a mistake ("//", dot segments, an encoded
//     slash, ";" …): no request would fit. So is what other notations mean more by
//     than it says, and would fit nothing here: an asterisk, ".+", the characters
//     ^ | < > [ ], "..." and ":name" as segments. Who means them percent-encodes
//     them.
//
// The error joins a [PatternError] for every mistake.
func ParsePattern(text string) (*Pattern, error) {
	r := reader{text: text, pattern: new(Pattern)}
	r.read()
	if len(r.errs) > 0 {
		return nil, r.err()
	}
	return r.pattern, nil
}

// A reader reads a pattern from left to right and collects mistakes, so that they
// are in the order of the text.
type reader struct {
	text    string
	pattern *Pattern
	errs    []*PatternError
	tried   bool // the text is a guess at what was meant by another
}

// fail reports a mistake in the text from start to end.
func (r *reader) fail(start, end int, problem, remedy string) {
	r.errs = append(r.errs, &PatternError{
		Pattern: r.text, Offset: start, Len: end - start, Problem: problem, Remedy: remedy,
	})
}

// err joins the mistakes.
func (r *reader) err() error {
	errs := make([]error, len(r.errs))
	for i, e := range r.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

func (r *reader) read() {
	if r.text == "" {
		r.fail(0, 0, "is empty", "write / for every request")
		return
	}
	if list := listed(r.text); list != nil {
		r.fail(0, len(r.text), "is more than one pattern", "several patterns are a list: ["+strings.Join(list, ", ")+"]")
		return
	}
	at := r.readMethod()
	length := strings.IndexByte(r.text[at:], '/')
	if length < 0 {
		r.failPath(r.text[at:])
		return
	}
	path := at + length
	if scheme := r.text[at:path]; scheme == "http:" || scheme == "https:" {
		r.fail(at, path, "is a scheme, and a pattern has none", "begin with the host")
		return
	}
	r.readHost(at, path)
	r.readPath(path)
}

// listed are the patterns of a text that has several with commas between; nil of
// one that has not. A comma in a path is one, unless there is a space before the
// next slash, which no path has.
func listed(text string) []string {
	list := strings.Split(text, ",")
	for i := range list {
		before, _, slash := strings.Cut(list[i], "/")
		if !slash || i > 0 && !strings.ContainsAny(before, blanks) {
			return nil
		}
		list[i] = strings.Trim(list[i], blanks)
	}
	if len(list) == 1 {
		return nil
	}
	return list
}

// readMethod reads the method, if there is one, and returns where the rest
// begins.
func (r *reader) readMethod() int {
	start := len(r.text) - len(strings.TrimLeft(r.text, blanks))
	if start > 0 {
		r.fail(0, start, "stands before the pattern", "leave it out")
	}
	before, _, _ := strings.Cut(r.text[start:], "/")
	length := strings.IndexAny(before, blanks)
	if length < 0 {
		return start
	}
	method, end := before[:length], start+length
	capitals := strings.ToUpper(method)
	switch {
	case r.afterMethod() != "":
		r.fail(start, end, "is a method with something behind it", "write "+r.afterMethod())
	case strings.ContainsAny(method, "*|,"):
		r.fail(start, end, "is not one method", "give each method a pattern of its own; for every method leave it out")
	case !httpsyntax.IsToken(method):
		r.fail(start, end, "is no method", "write one word, such as POST")
	case method != capitals:
		r.fail(start, end, "is not in capitals", "write "+capitals)
	}
	r.pattern.method = capitals
	return end + len(before[length:]) - len(strings.TrimLeft(before[length:], blanks))
}

// failPath reports that there is no slash in the rest after the method, and
// guesses what was meant.
func (r *reader) failPath(rest string) {
	method := r.pattern.method
	if method != "" {
		method += " "
	}
	remedy := "write " + cmp.Or(r.readable(method+"/"+rest), "the path with the slash that it begins with")
	switch {
	case rest == "":
		remedy = "write " + method + "/ for every path"
	case strings.Trim(rest, "*.+^$") == "" && method == "":
		remedy = "write / for every request"
	case strings.Trim(rest, "*.+^$") == "":
		remedy = "write " + method + "/ for every path"
	case slices.Contains(Methods[:], rest):
		remedy = "write " + rest + " / for every path"
	case strings.ContainsAny(rest, ".:"):
		remedy = "write " + method + rest + "/ for every path of a host"
	}
	r.fail(len(r.text), len(r.text), "has no path", remedy)
}

// readHost reads the host between start and end, which may be empty.
func (r *reader) readHost(start, end int) {
	host := r.text[start:end]
	name := hostname(host)
	r.pattern.host = strings.ToLower(name)
	switch {
	case host == "":
	case slices.Contains(Methods[:], host):
		r.fail(start, end, "is a method without a space behind it", "write "+host+" "+r.text[end:])
	case r.afterMethod() != "":
		r.fail(start, end, "is a method with something behind it", "write "+r.afterMethod())
	case strings.Contains(host, "^"):
		r.fail(start, end, noRegexp, "leave it out: a pattern is compared from the first slash on")
	case strings.ContainsAny(host, "{}*"):
		r.fail(start, end, "is no host: it holds a wildcard", "give each host a pattern of its own; for every host leave it out")
	case host[0] == '[':
		addr, ok := bracketed(name)
		if !ok {
			r.fail(start, end, "is no IPv6 address in brackets", "write it like [2001:db8::1], without a zone")
		} else if name != host {
			r.fail(start+len(name), end, "follows the address", "leave the port out: hosts are compared without it")
		}
		r.pattern.host, r.pattern.addr = "["+addr.String()+"]", addr
	case !isHostname(name):
		r.fail(start, end, "is no host", "write letters, digits, - and _ with dots between; other alphabets as xn--")
	case strings.Contains(host, ":"):
		r.fail(start+strings.IndexByte(host, ':'), end, "is a port", "leave it out: hosts are compared without it")
	}
}

// isHostname reports whether a name is made of labels.
func isHostname(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return false
		}
		for _, c := range []byte(label) {
			if !httpsyntax.IsAlphanumeric(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// isName reports whether a wildcard can be called so: like a variable in Go.
func isName(name string) bool {
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return name != ""
}
