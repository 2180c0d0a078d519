package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/weirhq/weir/cmd/weir/internal/problem"
)

// encoding/json ignores a field that comes twice, replaces bytes and escapes that
// are no text, so that two keys become one, and reads 1e3 for an integer where it
// is asked for a number. This file reads the same texts into a tree in which all
// of that can still be seen.

// kind is a kind of JSON value.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names the kind as a mistake does.
func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "an object"}[k]
}

// value is one JSON value.
type value struct {
	kind    kind
	text    string  // of a text; a number as it is written; true or false
	list    []value // the elements of a list
	members []member
}

// member is one field of an object.
type member struct {
	name  string
	value value
}

// maxDepth is how deep a body is: object, headers, values of a header.
const maxDepth = 3

// errDepth ends the reading of a body that is deeper.
var errDepth = errors.New("too deep")

// parse reads a body, noting in m what is wrong with it. A body of which nothing
// can be made is an empty object.
func parse(body []byte, m *mistakes) value {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		m.add("body", "it is empty", "send a JSON object")
		return value{}
	case !utf8.Valid(body):
		m.add("body", "it is not UTF-8", "")
		return value{}
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		m.add("body", notJSON(err), "send one JSON object")
		return value{}
	}
	if at := loneSurrogate(body); at >= 0 {
		m.add("body", "the escape at byte "+strconv.Itoa(at)+" is half a character", `write both halves, as in \ud83d\ude00`)
		return value{}
	}
	p := parser{decoder: json.NewDecoder(bytes.NewReader(body)), mistakes: m}
	p.decoder.UseNumber()
	v, err := p.value("", 0)
	switch {
	case errors.Is(err, errDepth):
		m.add("body", "it is nested too deeply", fmt.Sprintf("there are at most %d levels", maxDepth))
		return value{}
	case err != nil:
		m.add("body", notJSON(err), "send one JSON object")
		return value{}
	case v.kind != object:
		m.add("body", "it must be an object, not "+v.kind.String(), "")
		return value{}
	}
	return v
}

// notJSON says where a body ceases to be JSON.
func notJSON(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("it is not JSON: %s, at byte %d", syntax, syntax.Offset)
	}
	return "it is not JSON"
}

// loneSurrogate finds an escape that is one half of a pair, -1 for none. In JSON
// that is valid, a backslash stands in texts alone.
func loneSurrogate(body []byte) int {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		half := escaped(body[i:])
		switch {
		case half >= 0xdc00 && half <= 0xdfff:
			return i
		case half >= 0xd800 && half <= 0xdbff:
			if low := escaped(body[i+6:]); low < 0xdc00 || low > 0xdfff {
				return i
			}
			i += 6
		}
		i++ // what is escaped may be a backslash
	}
	return -1
}

// escaped is the number in an escape such as \u0041, -1 where there is none.
func escaped(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return int(n)
}

// parser makes a tree of tokens.
type parser struct {
	decoder  *json.Decoder
	mistakes *mistakes
}

// value reads the value at a path, which has depth lists and objects around it.
func (p *parser) value(path string, depth int) (value, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return value{}, err
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			return value{}, errDepth
		}
		if token == '{' {
			return p.object(path, depth+1)
		}
		return p.list(path, depth+1)
	case string:
		return value{kind: text, text: token}, nil
	case json.Number:
		return value{kind: number, text: token.String()}, nil
	case bool:
		return value{kind: boolean, text: strconv.FormatBool(token)}, nil
	default:
		return value{kind: null}, nil
	}
}

func (p *parser) list(path string, depth int) (value, error) {
	v := value{kind: list}
	for p.decoder.More() {
		e, err := p.value(path+"["+strconv.Itoa(len(v.list))+"]", depth)
		if err != nil {
			return v, err
		}
		v.list = append(v.list, e)
	}
	_, err := p.decoder.Token()
	return v, err
}

func (p *parser) object(path string, depth int) (value, error) {
	v, seen := value{kind: object}, map[string]bool{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return v, err
		}
		name, _ := token.(string)
		if seen[name] {
			p.mistakes.add(join(path, name), "it stands there twice", "write it once")
		}
		seen[name] = true
		e, err := p.value(join(path, name), depth)
		if err != nil {
			return v, err
		}
		v.members = append(v.members, member{name, e})
	}
	_, err := p.decoder.Token()
	return v, err
}

// join gives the path of a field of an object.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// mistakes collects what is wrong with a body.
type mistakes struct{ list []problem.Mistake }

// mostMistakes is more than anybody mends before trying again.
const mostMistakes = 32

// longestName is how much of a field's name a mistake shows.
const longestName = 80

func (m *mistakes) add(field, detail, remedy string) {
	if len(m.list) == mostMistakes {
		return
	}
	if len(field) > longestName {
		field = field[:longestName] + "…"
	}
	m.list = append(m.list, problem.Mistake{Field: field, Detail: detail, Remedy: remedy})
}

// problem is what is said of the mistakes, nil where there are none.
func (m *mistakes) problem() *problem.Problem {
	if len(m.list) == 0 {
		return nil
	}
	p := badRequest(m.list[0].String())
	if n := len(m.list); n > 1 {
		p.Detail += fmt.Sprintf(" (and %d more: see errors)", n-1)
	}
	p.Mistakes = m.list
	return p
}
