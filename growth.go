package weir

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/duration"
)

// This file reads how a block grows: "x" INT "max" DUR behind its duration. A text that
// has some of it is one mistake, and is told in one sentence how the whole is written.

// The words that such a part is made of: a sign of the factor, with the factor or
// without it, on either side, and that of the bound, likewise.
var (
	factorFirst = regexp.MustCompile(`^(?i:x|×|\*|times|factor)(?:[=:](.*)|(-?\d.*))?$`)
	factorLast  = regexp.MustCompile(`^(\d[\d.,_]*)(?i:x|×|\*|times)$`)
	boundFirst  = regexp.MustCompile(`^(?i:max)(?:[=:](.*)|(\d.*))?$`)
)

// growth is how a block grows, as far as it could be read.
type growth struct {
	factor, max string // "" for none; a max that is a span as a duration has it
	signed      bool   // the word of the factor is there
	bounded     bool   // that of the bound is, or a duration in its place
	twice       bool   // one of the parts is there twice
}

// strayPart is a part that stands elsewhere than behind a block's duration.
type strayPart struct {
	word
	growth
}

// factorAt is the factor that a word has a sign of; it reports false of other words.
func factorAt(text string) (factor string, ok bool) {
	m := factorFirst.FindStringSubmatch(text)
	if m == nil {
		m = factorLast.FindStringSubmatch(text)
	}
	if m == nil {
		return "", false
	}
	return strings.Join(m[1:], ""), true
}

// isGrowthWord reports that such a part may begin with a word.
func isGrowthWord(text string) bool {
	_, sign := factorAt(text)
	return sign || boundFirst.MatchString(text)
}

// atGrowth reports that the text goes on with such a part.
func (p *parser) atGrowth() bool { return isGrowthWord(p.peek().text) || p.turnedFactor() }

// startsGrowth reports that it does with the word that was read last.
func (p *parser) startsGrowth() bool {
	p.pos--
	defer func() { p.pos++ }()
	return p.atGrowth()
}

// turnedFactor reports that a number stands before its sign, as in 2 x.
func (p *parser) turnedFactor() bool {
	number := p.peek().text
	if p.pos+1 >= len(p.words) || number == "" || strings.Trim(number, "0123456789.") != "" {
		return false
	}
	factor, sign := factorAt(p.words[p.pos+1].text)
	return sign && factor == "" && p.words[p.pos+1].text != "factor"
}

// growth reads it, if there is any.
func (p *parser) growth() {
	if !p.atGrowth() {
		return
	}
	p.seen = append(p.seen, "x")
	if p.isGrowth() {
		p.next()
		p.spec.Block.Factor = p.integer("block factor", p.value("block factor"))
		p.next()
		p.spec.Block.Max = p.duration("block max")
		return
	}
	from := p.peek().offset
	g := p.looseGrowth()
	p.part = strayPart{word{p.readFrom(from), from}, g}
	p.failGrowth(p.part.word, g)
}

// isGrowth reports that the text goes on as it should, but for what is wrong with the
// values themselves.
func (p *parser) isGrowth() bool {
	rest := p.words[p.pos:]
	if len(rest) < 4 || rest[0].text != "x" || rest[2].text != "max" {
		return false
	}
	factor, err := strconv.ParseInt(rest[1].text, 10, 64)
	return isValue(rest[1].text) && isValue(rest[3].text) && (err != nil || factor > 1)
}

// isValue reports that a word can be the value of one before it.
func isValue(text string) bool {
	return text != "" && !isTie(text) && !isOption(text) && !isGrowthWord(text)
}

// looseGrowth passes over what was meant for it.
func (p *parser) looseGrowth() (g growth) {
	for {
		w := p.peek()
		factor, sign := factorAt(w.text)
		bound := boundFirst.FindStringSubmatch(w.text)
		switch {
		case bound != nil:
			p.next()
			g.bound(p.boundText(word{bound[1] + bound[2], w.offset}))
		case sign:
			p.next()
			if factor == "" {
				factor = p.operand()
			}
			g.sign(factor)
		case p.turnedFactor():
			p.next()
			p.next()
			g.sign(w.text)
		case g.signed && !g.bounded && (p.isSpan() || p.misspeltBound()):
			g.bound(p.boundText(word{})) // only the word is missing, or misspelt
		case g.signed && w.text != "" && strings.Trim(w.text, "0123456789") == "":
			p.next()
			g.sign(w.text)
		default:
			return g
		}
	}
}

func (g *growth) sign(factor string) {
	g.twice = g.twice || g.factor != "" && factor != ""
	g.signed, g.factor = true, cmp.Or(g.factor, factor)
}

func (g *growth) bound(text string) {
	g.twice = g.twice || g.max != "" && text != ""
	g.bounded, g.max = true, cmp.Or(g.max, text)
}

// operand is the next word, if it is a value.
func (p *parser) operand() string {
	if isTie(p.peek().text) {
		p.next()
	}
	if !isValue(p.peek().text) || p.turnedFactor() {
		return ""
	}
	return p.next().text
}

// boundText is the span that a bound's word has tied to it, or that stands behind it; the
// text itself where that is none.
func (p *parser) boundText(tied word) string {
	if tied.text == "" {
		tied.text = p.operand()
	}
	if tied.text == "" {
		return ""
	}
	return cmp.Or(p.spanAt(tied), tied.text)
}

// isSpan reports that the text goes on with a duration, however it is written.
func (p *parser) isSpan() bool {
	pos := p.pos
	defer func() { p.pos = pos }()
	return p.spanAt(p.next()) != ""
}

// misspeltBound passes over one or two words behind which a duration stands, as in up to
// 1d.
func (p *parser) misspeltBound() bool {
	pos := p.pos
	for range 2 {
		w := p.peek().text
		if !isValue(w) || !isLetter(w[0]) {
			break
		}
		p.next()
		if p.isSpan() {
			return true
		}
	}
	p.pos = pos
	return false
}

// readFrom is the text from an offset to the word that was read last.
func (p *parser) readFrom(offset int) string {
	last := p.words[p.pos-1]
	return p.whole[offset : last.offset+len(last.text)]
}

// failGrowth reports that a part is not as it should be. It is shown as it was written,
// behind a mark for the duration, which may be right.
func (p *parser) failGrowth(part word, g growth) {
	problem, remedy := g.refusal(p.spec.Block.For)
	if problem == "" {
		problem, remedy = g.shape(), g.remedy(p.spec.Block.For)
	}
	p.fail("block …", part, problem, strings.ReplaceAll(remedy, "PART", part.text))
}

// refusal says what is wrong with the parts themselves, behind a block of so long, where
// nobody knows what to write in their place. In the remedy PART stands for the whole.
func (g growth) refusal(first time.Duration) (problem, remedy string) {
	factor, err := strconv.ParseInt(g.factor, 10, 64)
	_, short := duration.Read(g.max)
	switch {
	case g.twice:
		return "a part of it stands there twice", "write x, a whole number, max and a duration, each once"
	case g.factor != "" && errors.Is(err, strconv.ErrRange):
		return "the factor " + g.factor + " is too large to count exactly", "write a smaller one"
	case g.factor != "" && err != nil:
		return "the factor " + g.factor + " is not a whole number", "write digits only behind x, such as 2"
	case g.factor != "" && factor < 2:
		return "it multiplies by at least 2", `leave "PART" out for a block that stays the same`
	case g.max != "" && short == duration.NoDuration:
		return "the bound " + g.max + " is " + short, `behind "max" ` + duration.Remedy
	case g.max != "" && short != "":
		return "the bound " + g.max + ": " + short, `behind "max" ` + duration.Remedy
	}
	if g.max == "" {
		return "", ""
	}
	switch bound := g.longest(); {
	case bound%time.Microsecond != 0:
		return "the bound " + g.max + " is no whole number of microseconds", `behind "max" ` + duration.Remedy
	case bound < first:
		return "the bound " + g.max + " is shorter than the first block", `behind "max" write ` + duration.Format(first) + " or more"
	}
	return "", ""
}

// longest is the bound, or the longest that can be.
func (g growth) longest() time.Duration {
	bound, _ := duration.Read(g.max)
	if bound > longestBlock {
		return longestBlock.Truncate(duration.Day)
	}
	return bound
}

// shape says what is wrong with the way in which the parts are written.
func (g growth) shape() string {
	switch {
	case !g.signed:
		return "a block with a bound needs a factor"
	case g.factor == "":
		return "a whole number is missing"
	case !g.bounded:
		return "a block that grows needs a bound"
	case g.max == "":
		return "a duration is missing"
	}
	return "a block grows by x, a whole number, max and a duration"
}

// remedy says how it is written.
func (g growth) remedy(first time.Duration) string {
	if g.factor == "" || g.max == "" {
		return `write all of it, such as "` + g.written(first) + `"`
	}
	return `write "` + g.written(first) + `"`
}

// written is how it is written: with what there is of it, and examples of what is missing,
// behind a block of so long.
func (g growth) written(first time.Duration) string {
	bound := boundOf(first)
	if g.max != "" {
		bound = g.longest()
	}
	factor, err := strconv.ParseInt(g.factor, 10, 64)
	if err != nil {
		factor = 2
	}
	return "x " + strconv.FormatInt(factor, 10) + " max " + duration.Format(bound)
}

// boundOf is a round bound for blocks that begin with so long.
func boundOf(first time.Duration) time.Duration {
	for _, bound := range []time.Duration{time.Hour, duration.Day, 30 * duration.Day, 365 * duration.Day} {
		if first <= bound/2 {
			return bound
		}
	}
	return min(first, longestBlock.Truncate(duration.Day))
}

// strayGrowth reads a part that stands elsewhere than behind a block's duration, from its
// first word, which has been read. Where it belongs is known at the end.
func (p *parser) strayGrowth(first word) bool {
	if !p.startsGrowth() {
		return false
	}
	p.pos--
	g := p.looseGrowth()
	p.stray = append(p.stray, strayPart{word{p.readFrom(first.offset), first.offset}, g})
	return true
}

// failStray reports such parts.
func (p *parser) failStray() {
	const place = "it stands directly behind the duration of a block"
	block := p.spec.Block.For
	behind := " behind the " + p.at["block"].text
	for i, s := range p.stray {
		problem, _ := s.refusal(block)
		switch text := s.written(block); {
		case i == 0 && p.part.lacks(s.growth):
			p.errs = slices.DeleteFunc(p.errs, func(e *FieldError) bool { return e.Field == "block …" })
			p.fail("option", s.word, "the parts of how a block grows stand together", "move it behind the "+p.part.text)
		case i > 0 || slices.Contains(p.seen, "x"):
			p.fail("option", s.word, place+", once", "leave it out")
		case block == 0:
			p.fail("option", s.word, "only a block grows", `write the block before it, such as "`+s.blocked()+`"`)
		case problem != "" || text == s.text:
			p.fail("option", s.word, place, "move it"+behind)
		default:
			p.fail("option", s.word, place, s.remedy(block)+behind)
		}
	}
}

// lacks reports that one half of a part is missing, and is what another part has.
func (g growth) lacks(other growth) bool {
	return g.signed != g.bounded && other.signed == g.bounded && other.bounded == g.signed
}

// blocked is an example of a block that grows so, as far as it can.
func (g growth) blocked() string {
	first := time.Minute
	if problem, _ := g.refusal(0); problem != "" {
		g = growth{}
	}
	if g.max != "" {
		first = min(first, g.longest())
	}
	return "block " + duration.Format(first) + " " + g.written(first)
}
