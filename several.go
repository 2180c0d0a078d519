package weir

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// This file finds in the text of one limit what belongs elsewhere: a second limit, a
// second line, and spaces that are none.

// unplain reports the first character that looks like a space, or like nothing, and is
// no plain space; or the end of a line. Nothing else is said of such a text.
func (p *parser) unplain(text string) bool {
	at := strings.IndexFunc(text, func(c rune) bool {
		return c != ' ' && c != '\t' && unicode.IsSpace(c) || unicode.Is(unicode.Cf, c)
	})
	if at < 0 {
		return false
	}
	list := several(text)
	switch c := []rune(text[at:])[0]; {
	case (c == '\n' || c == '\r') && list != nil:
		p.failSeveral("", list)
	case c == '\n' || c == '\r':
		p.fail("limit", word{offset: at}, "there is a line break in it", "write it in one line")
	case unicode.IsSpace(c):
		p.fail("limit", word{string(c), at}, fmt.Sprintf("%U is no plain space", c), "write a plain space in its place")
	default:
		p.fail("limit", word{string(c), at}, fmt.Sprintf("%U cannot be seen", c), "leave it out")
	}
	return true
}

// failSeveral reports that a text is several limits.
func (p *parser) failSeveral(text string, list []string) {
	p.fail("limit", word{text, 0}, "one limit stands here", "in a rules file several are a list: ["+strings.Join(list, ", ")+"]")
}

// several are the limits of a text that has more than one, with marks or line breaks
// between them or side by side; nil of one that has not.
func several(text string) []string {
	if list := listed(text); len(list) > 1 {
		return list
	}
	return sideBySide(text)
}

// listed are those with marks between. A comma within a number (1,000/h) parts nothing.
func listed(text string) (list []string) {
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(",;\r\n", c) }) {
		part = strings.TrimSpace(part)
		rate := strings.Contains(part, "/") || strings.Contains(part, " per ") || strings.Contains(part, " concurrent")
		switch s, ok := meaning(part); {
		case ok:
			list = append(list, s.String())
		case part == "":
		case !rate || !strings.ContainsAny(part[:1], "123456789"):
			return nil
		default:
			list = append(list, part)
		}
	}
	return list
}

// limitBegins is how a limit begins: as a rate, or with a number behind which may be the
// name of slots.
var limitBegins = regexp.MustCompile(`^\d{1,18}(?:/\S|[ \t]+per[ \t]|([ \t]+))`)

// joiners are words that people put between two limits.
var joiners = [...]string{"and", "plus", "+", "&"}

// sideBySide are those with nothing, or an "and", between them, each of which can be
// read. Two of one period would have one name, and are no list.
func sideBySide(text string) (list []string) {
	p := &parser{}
	p.split(text)
	var slots []string
	for p.pos < len(p.words) {
		begin := p.next().offset
		for p.pos < len(p.words) && !p.beginsLimit() {
			p.next()
		}
		s, ok := meaning(p.piece(begin))
		if !ok || slices.Contains(slots, s.Slot()) {
			return nil
		}
		slots, list = append(slots, s.Slot()), append(list, s.String())
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// piece is the text from an offset to the word that was read last, without a joiner
// behind it.
func (p *parser) piece(begin int) string {
	last := p.words[p.pos-1]
	if last.offset > begin && slices.Contains(joiners[:], strings.ToLower(last.text)) {
		return p.clean[begin:last.offset]
	}
	return p.clean[begin : last.offset+len(last.text)]
}

// beginsLimit reports that a limit may begin with the next word, which is not the first.
func (p *parser) beginsLimit() bool {
	w, before := p.peek(), p.words[p.pos-1].text
	if m := limitBegins.FindStringSubmatch(p.clean[w.offset:]); m != nil {
		return m[1] == "" || slotsBehind.MatchString(p.clean[w.offset+len(m[0]):])
	}
	m := slotsFirst.FindStringSubmatch(p.clean[w.offset:])
	return m != nil && m[1] != "" && strings.Trim(before, "0123456789") != ""
}

// meaning is the rate, or the number of slots, that a text says, be it in other words.
func meaning(text string) (Spec, bool) {
	p := &parser{at: map[string]word{}}
	p.read(text)
	err := p.err()
	s := p.spec.canonical()
	if err != nil {
		loosely := p.errs[0].Field == "limit" || s.Algorithm == Concurrency
		if len(p.errs) > 1 || !loosely || !strings.HasPrefix(p.errs[0].Remedy, "write ") {
			return Spec{}, false
		}
	}
	return s, s.Algorithm < Unlimited && s.Validate() == nil
}
