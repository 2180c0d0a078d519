package policy

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir"
)

// A later is a field that the language has, and this version does not. It is
// refused, never ignored.
type later struct{ path, name, instead string }

// laterFields lists them. The path is that of what would hold the field.
var laterFields = [...]later{
	{"", "store", "states are kept in the memory of this process; leave it out"},
	{"", "on_error", "the memory of this process does not fail; leave it out"},
	{"listen", "grpc", "Envoy can ask http for a decision before it forwards a request"},
	{"listen", "resp", "ask http: POST /v1/take"},
	{"listen", "admin", "health and metrics are on ops; limits are changed in the file"},
	{"rules[]", "when", "say it with match, ip and headers"},
	{"rules[]", "enforce", "write `shadow: true` to decide without refusing"},
	{"rules[]", "on_error", "the memory of this process does not fail; leave it out"},
}

// notYet says whether a field belongs to a later version, and what to do instead.
func notYet(path, name string) (instead string, ok bool) {
	for _, l := range laterFields {
		if l.path == path && l.name == name {
			return l.instead, true
		}
	}
	return "", false
}

// laterVariables are the beginnings of environment variables that belong to
// fields of later versions.
var laterVariables = [...]string{"WEIR_STORE", "WEIR_ON_ERROR", "WEIR_LISTEN_GRPC", "WEIR_LISTEN_RESP", "WEIR_LISTEN_ADMIN"}

// laterWord is what the text of a limit says that belongs to a later version, and
// what to write instead.
func laterWord(s weir.Spec) (word, instead string) {
	if s.Block != (weir.Block{}) {
		return "block", "leave it out: who is over a limit is refused until it has room again"
	}
	return s.Algorithm.String(), "write a bucket such as 10/min burst 20, or 10/min sliding-window or fixed-window"
}

// refuseLater refuses a limit that a later version will have, at the word that
// says so.
func (c *compiler) refuseLater(w wording) {
	word, instead := laterWord(w.spec)
	span := Span{}
	if at := strings.Index(w.text, word); at >= 0 { // no other word of a limit holds it
		span = Span{at, len(word)}
	}
	c.refuse("not-in-this-version", w.textPath(), span, fmt.Sprintf("%s is not in this version", word), instead)
}
