package header

import (
	"net/http"
	"slices"
	"strconv"
)

// The keys that net/http makes of the names.
const (
	keyRateLimit    = "Ratelimit"
	keyPolicy       = "Ratelimit-Policy"
	keyLimit        = "X-Ratelimit-Limit"
	keyRemaining    = "X-Ratelimit-Remaining"
	keyReset        = "X-Ratelimit-Reset"
	keyDecided      = "X-Weir-Decided"
	keyRetryAfter   = "Retry-After"
	keyExpose       = "Access-Control-Expose-Headers"
	keyChallenge    = "Www-Authenticate"
	keyCacheControl = "Cache-Control"
	keyVary         = "Vary"
	keyType         = "Content-Type"
	keyOptions      = "X-Content-Type-Options"
	keyLength       = "Content-Length"
	keyEncoding     = "Content-Encoding"
)

const (
	writeFields  = 7   // those that Write writes at most
	refuseFields = 14  // those that Refuse writes at most
	textRoom     = 512 // for the texts of three limits; more goes to the heap
)

// fields collects what is to be written, so that an answer costs two
// allocations: one string that all made values are parts of, and one array of
// which each field gets its own element.
//
// The text that the values are cut from is handed from function to function
// instead of lying here: only so can it begin on the stack.
type fields struct {
	list []field // with room for all, on the stack of whoever writes
	n    int
}

// A field is one key with one value: a constant one, or text[from:to].
type field struct {
	key      string
	value    string
	from, to int
	join     bool // beside the values that stand there, not in their place
}

// set replaces what stands under key.
func (f *fields) set(key, value string) { *f.next() = field{key: key, value: value} }

// add joins what stands under key.
func (f *fields) add(key, value string) { *f.next() = field{key: key, value: value, join: true} }

// number replaces what stands under key by a number.
func (f *fields) number(text []byte, key string, v int64) []byte {
	from := len(text)
	text = strconv.AppendInt(text, v, 10)
	*f.next() = field{key: key, from: from, to: len(text)}
	return text
}

// addText joins what stands under key by text[from:].
func (f *fields) addText(text []byte, key string, from int) {
	*f.next() = field{key: key, from: from, to: len(text), join: true}
}

func (f *fields) next() *field {
	f.n++
	return &f.list[f.n-1]
}

// write puts the fields into h. No slice has room behind its end, and none is
// shared with another answer: nothing that is appended to one or written into
// one reaches further.
func (f *fields) write(h http.Header, made []byte) {
	if f.n == 0 {
		return
	}
	text := string(made)
	values := make([]string, f.n)
	alone := len(h) == 0 // and no two of ours have one key: nothing to join
	for i := range values {
		e := &f.list[i]
		value := e.value
		if e.to > e.from {
			value = text[e.from:e.to]
		}
		values[i] = value
		own := values[i : i+1 : i+1]
		if e.join && !alone {
			own = behind(h[e.key], own)
		}
		h[e.key] = own
	}
}

// behind puts own behind what stands there already, in a slice of its own.
func behind(old, own []string) []string {
	if len(old) == 0 {
		return own
	}
	return slices.Clip(slices.Concat(old, own))
}
