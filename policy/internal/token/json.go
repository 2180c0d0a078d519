package token

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// decode reads base64url without padding (RFC 7515 section 2) in the one way to
// write it: no line breaks, and no bits left over.
func decode(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") { // the decoder would pass over them
		return nil, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return b, err == nil
}

// mostMembers bounds the work for a header, which anybody can write. Tokens and
// keys have a few dozen at the most.
const mostMembers = 128

// object reads a JSON object's members by their exact names. One that names a
// member twice is refused: readers do not agree on which of them counts.
func object(data []byte) (map[string]json.RawMessage, bool) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, false
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, false
		}
		var value json.RawMessage
		if _, twice := members[name]; twice || len(members) == mostMembers || d.Decode(&value) != nil {
			return nil, false
		}
		members[name] = value
	}
	return members, true
}

// text reads a JSON string. One with U+FFFD is refused, since that is also what
// the decoder puts for half a surrogate pair: two different texts would become
// the same.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, !strings.ContainsRune(s, utf8.RuneError)
}

// latestDate is the end of the year 9999, in seconds. What is later was meant
// otherwise, such as in milliseconds.
const latestDate = 253402300799

// numericDate reads seconds since 1970 (RFC 7519 section 2), which may have a
// fraction. They come out within a microsecond, whole seconds exactly.
func numericDate(raw json.RawMessage) (time.Time, bool) {
	if !isNumber(raw) {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || seconds < 0 || seconds > latestDate {
		return time.Time{}, false
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*float64(time.Second))), true
}

// optionalText returns a member that is a string, "" where there is none.
func optionalText(members map[string]json.RawMessage, name string) (s string, ok bool) {
	raw, there := members[name]
	if !there {
		return "", true
	}
	return text(raw)
}

// isNumber tells numbers from the other values that JSON has.
func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
