package weir

import (
	"cmp"
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
	boundFirst  = regexp.MustCompile(`^(?i:max|maximum|up|upto|to)(?:[=:](.*)|(\d.*))?$`)
)

// growth is how a block grows, as far as it could be read.
type growth struct {
	factor, max string // "" for none; a max that is a span as a duration has it
	signed      bool   // the word of the factor is there
	bounded     bool   // that of the bound is, or a duration in its place
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
	if p.isGrowth() {
		p.next()
		p.spec.Block.Factor = p.integer("block factor", p.value("block factor"))
		p.next()
		p.spec.Block.Max = p.duration("block max")
		return
	}
	from := p.peek().offset
	g := p.looseGrowth()
	p.failGrowth(word{p.readFrom(from), from}, g)
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

// looseGrowth passes over what was meant for it, each half once.
func (p *parser) looseGrowth() (g growth) {
	for {
		w := p.peek()
		factor, sign := factorAt(w.text)
		bound := boundFirst.FindStringSubmatch(w.text)
		switch {
		case bound != nil && g.max == "":
			p.next()
			g.bounded, g.max = true, p.boundText(word{bound[1] + bound[2], w.offset})
		case sign && g.factor == "":
			p.next()
			if factor == "" {
				factor = p.operand()
			}
			g.signed, g.factor = true, factor
		case g.factor == "" && p.turnedFactor():
			p.next()
			p.next()
			g.signed, g.factor = true, w.text
		case g.signed && !g.bounded && p.isSpan():
			g.bounded, g.max = true, p.boundText(word{}) // only the word is missing
		default:
			return g
		}
	}
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

// readFrom is the text from an offset to the word that was read last.
func (p *parser) readFrom(offset int) string {
	last := p.words[p.pos-1]
	return p.whole[offset : last.offset+len(last.text)]
}

// failGrowth reports that a part is not as it should be: one of its values, at its own
// place, or how they stand. That is shown behind a mark for the duration, which may be
// right.
func (p *parser) failGrowth(part word, g growth) {
	factor, err := strconv.ParseInt(g.factor, 10, 64)
	switch wrong := p.wrongValue(g); {
	case err == nil && factor < 2:
		p.fail("block …", part, "it multiplies by at least 2", `leave "`+part.text+`" out for a block that stays the same`)
	case wrong != nil:
		if at := strings.LastIndex(part.text, wrong.Value); at >= 0 {
			part = word{wrong.Value, part.offset + at}
		}
		p.fail(wrong.Field, part, wrong.Problem, wrong.Remedy)
	default:
		p.fail("block …", part, "a block grows by x, a whole number, max and a duration", g.remedy(p.spec.Block.For))
	}
}

// wrongValue is what is wrong with the values of a part by themselves; nil for nothing.
func (p *parser) wrongValue(g growth) *FieldError {
	q := &parser{at: map[string]word{}, spec: Spec{Count: 1, Period: time.Second, Block: p.spec.Block}}
	q.spec.Block.Factor, q.spec.Block.Max = 2, longestBlock
	if g.factor != "" {
		q.spec.Block.Factor = q.integer("block factor", word{g.factor, 0})
	}
	if g.max != "" {
		q.words, q.whole = []word{{g.max, 0}}, g.max
		q.spec.Block.Max = q.duration("block max")
	}
	q.check()
	i := slices.IndexFunc(q.errs, func(e *FieldError) bool { return strings.HasPrefix(e.Field, "block ") })
	if i < 0 {
		return nil
	}
	return q.errs[i]
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
	bound, _ := duration.Read(g.max)
	if g.max == "" {
		bound = boundOf(first)
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

// strayGrowth reports a part that stands elsewhere than behind a block's duration, from
// its first word, which has been read. A bound alone may be meant for a bucket.
func (p *parser) strayGrowth(first word) bool {
	if !p.startsGrowth() {
		return false
	}
	p.pos--
	g := p.looseGrowth()
	_, problem := duration.Read(g.max)
	switch {
	case g.factor != "" || problem == "":
		p.errs = slices.DeleteFunc(p.errs, func(e *FieldError) bool { return e.Field == "block …" }) // its other half
		p.strange(first, "it stands directly behind a block's duration", `as in "block 10m x 2 max 1d"`)
	case g.max != "" && strings.Trim(g.max, "0123456789") == "":
		p.strange(first, "unknown word", `the size of a bucket is written "burst `+g.max+`"`)
	default:
		p.strange(first, "unknown word", optionList())
	}
	return true
}
