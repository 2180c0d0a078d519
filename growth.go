package weir

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/duration"
)

// This file reads how a block grows: "x" INT "max" DUR behind its duration. A text that
// has some of it is one mistake, and is told in one sentence how the whole is written.

// growthWord are the words that such a part begins with: a sign of the factor, with the
// factor or without it, on either side, or that of the bound.
var growthWord = regexp.MustCompile(`^(?i:max|(?:x|×|\*|times)(\d{0,18})|(\d{1,18})(?:x|×|\*|times)|x(-\d{1,18}))$`)

// growth is how a block grows, as far as it could be read.
type growth struct {
	factor, max string // "" for none
	signed      bool   // the word of the factor is there
	bounded     bool   // that of the bound is
}

// growth reads it, if there is any.
func (p *parser) growth() {
	if p.isGrowth() {
		p.next()
		p.spec.Block.Factor = p.integer("block factor", p.value("block factor"))
		p.next()
		p.spec.Block.Max = p.duration("block max")
		return
	}
	from := p.peek().offset
	if g := p.looseGrowth(); g != (growth{}) {
		p.failGrowth(word{p.read(from), from}, g)
	}
}

// isGrowth reports that the text goes on as it should, but for what is wrong with the
// values themselves.
func (p *parser) isGrowth() bool {
	rest := p.words[p.pos:]
	if len(rest) < 4 || rest[0].text != "x" || rest[2].text != "max" || isOption(rest[3].text) {
		return false
	}
	factor, err := strconv.ParseInt(rest[1].text, 10, 64)
	return !isOption(rest[1].text) && (err != nil || factor > 1)
}

// looseGrowth passes over what was meant for it, each part once.
func (p *parser) looseGrowth() (g growth) {
	for {
		w := p.peek()
		m := growthWord.FindStringSubmatch(w.text)
		bound := strings.EqualFold(w.text, "max")
		switch {
		case m == nil && g.signed && !g.bounded && p.isDuration():
			g.max, g.bounded = w.text, true // only the word is missing
			p.next()
		case m == nil, bound && g.bounded, !bound && g.signed:
			return g
		case bound:
			p.next()
			g.bounded, g.max = true, p.operand()
		default:
			p.next()
			if g.signed, g.factor = true, m[1]+m[2]+m[3]; g.factor == "" {
				g.factor = p.operand()
			}
		}
	}
}

// operand is the next word, if it is a value.
func (p *parser) operand() string {
	if w := p.peek().text; w == "" || isOption(w) || growthWord.MatchString(w) {
		return ""
	}
	return p.next().text
}

func (p *parser) isDuration() bool {
	_, problem := duration.Read(p.peek().text)
	return problem == ""
}

// read is the text from an offset to the word that was read last.
func (p *parser) read(from int) string {
	last := p.words[p.pos-1]
	return p.whole[from : last.offset+len(last.text)]
}

// failGrowth reports that a part is not as it should be. It is shown as it was written,
// behind a mark for the duration, which may be right.
func (p *parser) failGrowth(part word, g growth) {
	factor, err := strconv.ParseInt(g.factor, 10, 64)
	var problem string
	remedy := g.text(p.spec.Block.For)
	switch {
	case g.factor != "" && err == nil && factor < 2:
		p.fail("block …", part, "it multiplies by at least 2", `leave "`+part.text+`" out for a block that stays the same`)
		return
	case !g.signed:
		problem = "a block with a bound needs a factor"
	case g.factor == "":
		problem = "a whole number is missing"
	case !g.bounded:
		problem = "a block that grows needs a bound"
	case g.max == "":
		problem = "a duration is missing"
	default:
		problem = "a block grows by x, a whole number, max and a duration"
	}
	p.fail("block …", part, problem, `write "`+remedy+`"`)
}

// text is how it is written: with what there is of it that can be right, behind a block
// of so long.
func (g growth) text(first time.Duration) string {
	factor, err := strconv.ParseInt(g.factor, 10, 64)
	if err != nil || factor < 2 {
		factor = 2
	}
	bound, problem := duration.Read(g.max)
	exact, _ := duration.Check(bound)
	if problem != "" || exact != "" || bound < first || bound > longestBlock {
		bound = boundOf(first)
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

// strayGrowth reports a part that stands elsewhere than behind a block's duration, at
// its first word, which has been read.
func (p *parser) strayGrowth(first word) {
	p.pos--
	g := p.looseGrowth()
	part := word{p.read(first.offset), first.offset}
	if p.spec.Block.For != 0 {
		p.fail("option", part, "it stands directly behind the duration of a block, once", "leave it out")
		return
	}
	p.fail("option", part, "only a block grows", `write "block 1m `+g.text(time.Minute)+`"`)
}
