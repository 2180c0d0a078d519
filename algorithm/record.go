package algorithm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrRecord is what every malformed record matches with errors.Is.
var ErrRecord = errors.New("weir: malformed record")

// Entry is one limit's part of a record.
type Entry struct {
	Slot   string // the limit's slot within its rule; "" where the rule has one limit
	Family Family // what the words of State mean
	State  State  // zero where the family is not known here
	Raw    string // the words as they stand, where the family is not known here
}

// recordVersion is the first byte of a record. A reader refuses any other; a
// later version that changes the grammar takes the next digit, and is written
// only when every reader understands it.
const recordVersion = '1'

// AppendRecord writes the states of all limits of one rule for one caller in
// the form that a shared store keeps:
//
//	record = "1" { ";" slot "=" family words }
//	words  = int { "," int }         ; decimal, no plus, no leading zero; a window
//	                                 ; of a shifted grid may begin before 1970
//	slot   = { a-z 0-9 . _ - }
//
//	1;1m=b1796022366200000,0,1,200000;1d=w1795996800000000,1796083200000000,17
//
// It is decimal because a Redis script reads and writes decimals without loss
// below 2^53 and packs nothing shorter for everyday limits. Zero states are
// left out: an empty record says that nothing is charged. Words of a family
// that this version does not know are carried over as they stood, so that two
// versions can share a store.
func AppendRecord(dst []byte, entries []Entry) []byte {
	dst = append(dst, recordVersion)
	for _, e := range entries {
		if e.Raw == "" && e.State == (State{}) {
			continue
		}
		dst = append(dst, ';')
		dst = append(dst, e.Slot...)
		dst = append(dst, '=', byte(e.Family))
		dst = e.appendWords(dst)
	}
	return dst
}

func (e Entry) appendWords(dst []byte) []byte {
	if e.Raw != "" {
		return append(dst, e.Raw...)
	}
	for i, w := range e.State[:e.Family.words()] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, w, 10)
	}
	return dst
}

// words is how many words of a State the family uses; 0 when it is not known.
func (f Family) words() int {
	switch f {
	case TokenBucketFamily, LeakyBucketFamily, SlidingWindowFamily:
		return 4
	case FixedWindowFamily:
		return 3
	case PenaltyFamily:
		return 2
	default:
		return 0
	}
}

// ParseRecord reads what AppendRecord wrote, appending to dst. A record that is
// empty or malformed, that names a slot twice, or whose words no algorithm
// would have written, is an error that matches ErrRecord; dst is then returned
// as it was.
func ParseRecord(dst []Entry, record string) ([]Entry, error) {
	if record == "" || record[0] != recordVersion {
		return dst, fmt.Errorf("%w: it does not begin with version %c", ErrRecord, recordVersion)
	}
	out, rest := dst, record[1:]
	for rest != "" {
		if rest[0] != ';' {
			return dst, fmt.Errorf("%w: entry without ';'", ErrRecord)
		}
		text, tail, more := strings.Cut(rest[1:], ";")
		e, err := parseEntry(text)
		if err != nil {
			return dst, err
		}
		if holds(out[len(dst):], e.Slot) {
			return dst, fmt.Errorf("%w: slot %q twice", ErrRecord, e.Slot)
		}
		out, rest = append(out, e), tail
		if more {
			rest = ";" + tail
		}
	}
	return out, nil
}

func holds(entries []Entry, slot string) bool {
	for _, e := range entries {
		if e.Slot == slot {
			return true
		}
	}
	return false
}

func parseEntry(text string) (Entry, error) {
	slot, rest, ok := strings.Cut(text, "=")
	if !ok || rest == "" || !isSlot(slot) {
		return Entry{}, fmt.Errorf("%w: entry %q", ErrRecord, text)
	}
	e := Entry{Slot: slot, Family: Family(rest[0])}
	if e.Family < 'a' || e.Family > 'z' {
		return Entry{}, fmt.Errorf("%w: family in %q", ErrRecord, text)
	}
	if e.Family.words() == 0 {
		e.Raw = rest[1:]
		return e, e.checkRaw()
	}
	if err := e.parseWords(rest[1:]); err != nil {
		return Entry{}, err
	}
	return e, e.check()
}

func isSlot(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// checkRaw keeps unknown words to what the grammar allows, so that writing
// them again cannot change the record's shape.
func (e Entry) checkRaw() error {
	if e.Raw == "" {
		return fmt.Errorf("%w: slot %q has no words", ErrRecord, e.Slot)
	}
	for i := range len(e.Raw) {
		if c := e.Raw[i]; c != ',' && c != '-' && (c < '0' || c > '9') {
			return fmt.Errorf("%w: words %q", ErrRecord, e.Raw)
		}
	}
	return nil
}

func (e *Entry) parseWords(text string) error {
	n := 0
	for word := range strings.SplitSeq(text, ",") {
		v, err := parseWord(word)
		if err != nil || n == e.Family.words() {
			return fmt.Errorf("%w: words %q of family %c", ErrRecord, text, e.Family)
		}
		e.State[n] = v
		n++
	}
	if n != e.Family.words() {
		return fmt.Errorf("%w: %d words of family %c", ErrRecord, n, e.Family)
	}
	return nil
}

// parseWord reads a canonical decimal of a magnitude below 2^53.
func parseWord(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v >= exactDouble || v <= -exactDouble || strconv.FormatInt(v, 10) != s {
		return 0, ErrRecord
	}
	return v, nil
}

// check refuses words that no step would have written.
func (e Entry) check() error {
	s, ok := e.State, false
	switch e.Family {
	case TokenBucketFamily, LeakyBucketFamily:
		ok = s[0] > 0 && s[1] >= 0 && s[1] < s[2] && gcd(s[2], s[3]) == 1 && s[3] >= 1 && s[2] < int64(MaxMicros) && s[3] < int64(MaxMicros)
	case FixedWindowFamily:
		ok = s[0] < s[1] && s[2] >= 1
	case SlidingWindowFamily:
		ok = s[0] < s[1] && s[2] >= 0 && s[3] >= 0 && s[2]+s[3] >= 1
	case PenaltyFamily:
		ok = s[0] > 0 && s[0] < s[1]
	default: // its words are not known here
	}
	if !ok {
		return fmt.Errorf("%w: state %v of family %c", ErrRecord, s, e.Family)
	}
	return nil
}
