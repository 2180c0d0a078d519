package weir

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// longestText bounds the text of a limit, which may come from a caller. The
// longest that says something has some 300 bytes.
const longestText = 512

// word is a piece of the text between spaces.
type word struct {
	text   string
	offset int
}

// parser reads words from left to right and collects mistakes. What is wrong
// is given a value that is right, so that one mistake is reported once.
type parser struct {
	words []word
	pos   int
	whole string // the whole text
	clean string // likewise, with a space for each mark that was dropped

	spec      Spec
	how       string          // the word that chose the algorithm
	clash     bool            // another word chose another
	seen      []string        // options met so far
	guessed   []string        // those of them that were meant by another word
	at        map[string]word // where each field has its value
	unread    *FieldError     // of the last word that stands for nothing
	unreadEnd int             // where the text goes on behind it
	marks     []*FieldError   // dropped marks, each a mistake unless it is part of another
	errs      []*FieldError
}

// split cuts the text at spaces and tabs, and drops the marks that words end with.
func (p *parser) split(text string) {
	p.whole, p.clean = text, text
	start := 0
	for i := range len(text) + 1 {
		if i < len(text) && text[i] != ' ' && text[i] != '\t' {
			continue
		}
		if start < i {
			p.word(word{text[start:i], start})
		}
		start = i + 1
	}
}

// word adds one, without the mark that stands behind it as in a sentence.
func (p *parser) word(w word) {
	for _, mark := range [...]struct{ text, name string }{{",", "comma"}, {";", "semicolon"}, {".", "full stop"}} {
		rest, ok := strings.CutSuffix(w.text, mark.text)
		if !ok {
			continue
		}
		at := w.offset + len(rest)
		p.marks = append(p.marks, &FieldError{Field: "limit", Value: mark.text, Problem: "there is no " + mark.name + " in a limit", Remedy: "leave it out", Offset: at})
		p.clean = p.clean[:at] + " " + p.clean[at+1:]
		w.text = rest
	}
	if w.text != "" {
		p.words = append(p.words, w)
	}
}

// peek is the next word, which stays; at the end it is empty.
func (p *parser) peek() word {
	if p.pos == len(p.words) {
		return word{offset: len(p.whole)}
	}
	return p.words[p.pos]
}

// next is the next word; at the end it is empty.
func (p *parser) next() word {
	w := p.peek()
	if p.pos < len(p.words) {
		p.pos++
	}
	return w
}

// value is the next word, as the value of a field. It is empty at the end and
// where the text goes on with a word of the grammar, which is not consumed.
func (p *parser) value(field string) word {
	w := p.peek()
	if isOption(w.text) || w.text == "x" || w.text == "max" || field == "block" && isGrowthWord(w.text) {
		w.text = ""
	} else {
		p.next()
	}
	p.at[field] = w
	return w
}

// fail reports a mistake at a word.
func (p *parser) fail(field string, w word, problem, remedy string) {
	p.errs = append(p.errs, &FieldError{Field: field, Value: w.text, Problem: problem, Remedy: remedy, Offset: w.offset})
}

// end refuses whatever is left.
func (p *parser) end() {
	for p.pos < len(p.words) {
		p.fail("limit", p.next(), "nothing may follow here", "leave it out")
	}
}

// err joins the mistakes in the order of the text.
func (p *parser) err() error {
	for _, mark := range p.marks {
		inside := func(e *FieldError) bool { return e.Offset <= mark.Offset && mark.Offset < e.Offset+len(e.Value) }
		if !slices.ContainsFunc(p.errs, inside) {
			p.errs = append(p.errs, mark)
		}
	}
	p.marks = nil
	slices.SortStableFunc(p.errs, func(a, b *FieldError) int { return cmp.Compare(a.Offset, b.Offset) })
	return joined(p.errs)
}

// locate gives a refusal of the Spec that was read here the place and the text
// of the value that it names. The default of a field has the place of the count
// that it follows from.
func (p *parser) locate(e *FieldError) {
	w, written := p.at[e.Field]
	if !written {
		w = p.at["count"]
	}
	e.Offset = w.offset
	if written && e.Value != "" {
		e.Value = w.text
	}
}

// joined makes one error of several refusals, nil of none.
func joined(refusals []*FieldError) error {
	errs := make([]error, len(refusals))
	for i, e := range refusals {
		errs[i] = e
	}
	return errors.Join(errs...)
}
