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
	switch c := []rune(text[at:])[0]; {
	case (c == '\n' || c == '\r') && p.severally(text, ""):
	case c == '\n' || c == '\r':
		p.fail("limit", word{offset: at}, "there is a line break in it", "write it in one line")
	case unicode.IsSpace(c):
		p.fail("limit", word{string(c), at}, fmt.Sprintf("%U is no plain space", c), "write a plain space in its place")
	default:
		p.fail("limit", word{string(c), at}, fmt.Sprintf("%U cannot be seen", c), "leave it out")
	}
	return true
}

// severally reports a text that is several limits as that alone, and as a list where
// each of them can be read. It reports false of other texts.
func (p *parser) severally(text, value string) bool {
	pieces := pieces(text)
	if len(pieces) < 2 {
		return false
	}
	remedy := "write each by itself; in a rules file several are a list"
	var list, slots []string
	for _, piece := range pieces {
		if s, ok := meaning(piece); ok {
			list, slots = append(list, s.String()), append(slots, s.Slot())
		}
	}
	slices.Sort(slots)
	switch {
	case len(list) < len(pieces):
	case len(slices.Compact(slots)) < len(list):
		remedy = "keep one: two of one period would have one name"
	default:
		remedy = "in a rules file several are a list: [" + strings.Join(list, ", ") + "]"
	}
	p.errs, p.marks = nil, nil
	p.fail("limit", word{value, 0}, "one limit stands here", remedy)
	return true
}

// between is what parts limits beside a space, and a mark before one: a comma within a
// number, as in 1,000/h, does not.
var between = regexp.MustCompile(`[\r\n;]|([^\d,]),`)

// joiners are words that people put between two limits, or before one.
var joiners = [...]string{
	"and", "plus", "+", "&", "with", "or", "|", "||", "but", "also", "then",
	"at", "most", "no", "more", "than", "max", "maximum", "up", "to", "only",
}

// pieces are the parts of a text that each begin as a limit does: as a rate, or with a
// number and the name of slots. A text with another beginning has none.
func pieces(text string) (list []string) {
	p := &parser{}
	p.split(between.ReplaceAllString(text, "$1 "))
	for p.pos < len(p.words) {
		if !p.beginsLimit() {
			return nil
		}
		begin := p.next().offset
		p.skipTo(begin + len(slotsFirst.FindString(p.clean[begin:])))
		for p.pos < len(p.words) && !p.beginsLimit() {
			p.next()
		}
		list = append(list, p.piece(begin))
	}
	return list
}

// piece is the text from an offset to the word that was read last, without the joiners
// behind it.
func (p *parser) piece(begin int) string {
	last := p.pos - 1
	for p.words[last].offset > begin && slices.Contains(joiners[:], strings.ToLower(p.words[last].text)) {
		last--
	}
	end := p.words[last]
	return p.clean[begin : end.offset+len(end.text)]
}

var (
	// rateBegins is how a rate begins, be its unit none.
	rateBegins = regexp.MustCompile(`^\d[\d.,_']*(?:/\S|[ \t]+per[ \t])`)

	// slotsBegin is a number with the name of slots behind it, and perhaps a number.
	slotsBegin = regexp.MustCompile(`^\d{1,18}[ \t]+(?:` + slotsBehind.String()[1:] + `|` + slotsCounted.String()[1:] + `)(\d*)`)
)

// beginsLimit reports that a limit may begin with the next word. A number behind an
// option is its value, unless slots are named behind it and are not counted there.
func (p *parser) beginsLimit() bool {
	rest := p.clean[p.peek().offset:]
	valueOf := func(pos int) bool {
		if pos == 0 {
			return false
		}
		_, sign := factorAt(p.words[pos-1].text)
		return sign || takesValue(p.words[pos-1].text)
	}
	if m := slotsBegin.FindStringSubmatch(rest); m != nil {
		return m[1] == "" || !valueOf(p.pos)
	}
	if m := slotsFirst.FindStringSubmatch(rest); m != nil && m[1] != "" {
		return p.pos == 0 || strings.Trim(p.words[p.pos-1].text, "0123456789") != "" || valueOf(p.pos-1)
	}
	if valueOf(p.pos) {
		return false
	}
	pos := p.pos
	_, ok := p.rate()
	p.pos = pos
	return ok || rateBegins.MatchString(rest)
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
	_, err = NewLimit("a", s)
	return s, err == nil && s.Algorithm < Unlimited
}
