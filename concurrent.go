package weir

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
	"github.com/weirhq/weir/internal/suggest"
)

// This file tells who means a number of slots how that is written. A text that has some
// of it in other words is one mistake, and is read on as what it means.

// slotsNames are what people call slots; slotsNouns may stand beside.
const (
	slotsNames = `(?i:(?:max[-_ \t]?)?(?:conc[a-z]*|in[-_ \t]?flight|(?:in[ \t])?parallel|simultaneous(?:ly)?|at[ \t](?:once|a[ \t]time|the[ \t]same[ \t]time)|slots?))`
	slotsNouns = `(?i:reqs?|requests?|calls?)`
)

var (
	// slotsBehind is such a name behind its number, slotsJoined with nothing between,
	// and slotsFirst before it.
	slotsBehind = regexp.MustCompile(`^(?:` + slotsNouns + `[ \t]+)?` + slotsNames + `(?:[ \t]+` + slotsNouns + `)?(?:[ \t]|$)`)
	slotsJoined = regexp.MustCompile(`^(\d{1,18})[-_x*]?` + slotsNames + `(?:[ \t]|$)`)
	slotsFirst  = regexp.MustCompile(`^` + slotsNames + `(?:[ \t]*[:=])?[ \t]*(\d{1,18})?(?:[ \t]|$)`)
)

// slotsText is how a number of slots is written: of ten where it can be no such number.
func slotsText(number string) string {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > algorithm.MostEntries {
		n = 10
	}
	return Spec{Algorithm: Concurrency, Count: n}.String()
}

// namesSlots is the name of slots that the text goes on with at a word; "" for none.
func (p *parser) namesSlots(w word) string {
	if name := slotsBehind.FindString(p.whole[w.offset:]); name != "" {
		return strings.TrimRight(name, " \t")
	}
	if suggest.Closest(w.text, Concurrency.String()) != "" {
		return w.text
	}
	return ""
}

// skipTo passes over the words before an offset.
func (p *parser) skipTo(offset int) {
	for p.peek().text != "" && p.peek().offset < offset {
		p.next()
	}
}

// meantSlots reads a name of slots behind a count.
func (p *parser) meantSlots() bool {
	w := p.peek()
	name := p.namesSlots(w)
	if name == "" {
		return false
	}
	p.skipTo(w.offset + len(name))
	p.fail("option", word{name, w.offset}, "unknown word after the count", `write "concurrent"`)
	p.spec.Algorithm, p.how = Concurrency, Concurrency.String()
	return true
}

// turnedSlots reads a number of slots at the beginning that stands behind its name, or
// is tied to it.
func (p *parser) turnedSlots() bool {
	first := p.peek()
	rest := p.whole[first.offset:]
	problem := "a limit begins with its count"
	m := slotsFirst.FindStringSubmatch(rest)
	if m == nil {
		m, problem = slotsJoined.FindStringSubmatch(rest), "there is no space behind the count"
	}
	if m == nil {
		return false
	}
	written := strings.TrimRight(m[0], " \t")
	p.skipTo(first.offset + len(written))
	p.toSlots(word{written, first.offset}, "limit", problem, m[1])
	p.options()
	p.check()
	return true
}

// toSlots reports the text so far, which is meant for so many slots, as one mistake.
func (p *parser) toSlots(part word, field, problem, number string) {
	text := slotsText(number)
	*p = parser{words: p.words, pos: p.pos, whole: p.whole, how: Concurrency.String(), at: map[string]word{"count": part}}
	p.spec, _ = ParseSpec(text)
	p.fail(field, part, problem, `write "`+text+`"`)
}

// rateOfSlots reports a name of slots behind a rate.
func (p *parser) rateOfSlots(w word) bool {
	name := p.namesSlots(w)
	if name == "" || p.spec.Algorithm == Concurrency {
		return false
	}
	p.skipTo(w.offset + len(name))
	begin := p.words[0].offset
	p.toSlots(word{p.read(begin), begin}, "option", "a limit is a rate or a number of slots", p.at["count"].text)
	p.errs[0].Remedy += " in place of a rate"
	return true
}

// strayOfSlots reports what a number of slots cannot have behind it, from its first
// word, which has been read, to the last of its value.
func (p *parser) strayOfSlots(w word) bool {
	if p.spec.Algorithm != Concurrency || w.text == "lease" {
		return false
	}
	if p.meantLease(w) {
		return true
	}
	problem := "unknown word: a concurrent limit has only a lease"
	before := *p
	switch {
	case isOption(w.text):
		problem = "a concurrent limit has none"
		p.option(w) // for its end
	case growthWord.MatchString(w.text):
		problem = "a concurrent limit has no block that grows"
		p.pos--
		p.looseGrowth()
	default:
		p.skipValue(w.text)
	}
	pos := p.pos
	*p = before
	p.pos = pos
	part := word{p.read(w.offset), w.offset}
	p.fail("option", part, problem, `leave "`+part.text+`" out`)
	return true
}

// meantLease reports a duration without its word, or behind another one.
func (p *parser) meantLease(w word) bool {
	if p.spec.Lease != 0 || isOption(w.text) || growthWord.MatchString(w.text) {
		return false
	}
	begin, problem, value := p.pos, "a duration without its word", w
	if _, tied, ok := strings.Cut(w.text, "="); ok {
		value.text = tied
	}
	lease := p.spanAt(value)
	if lease == "" && p.peek().text != "" {
		problem, lease = "unknown word before a duration", p.spanAt(p.next())
	}
	if lease == "" {
		p.pos = begin
		return false
	}
	p.fail("option", word{p.read(w.offset), w.offset}, problem, `write "lease `+lease+`"`)
	p.seen = append(p.seen, "lease")
	p.spec.Lease, _ = duration.Read(lease)
	return true
}

// spanAt is the duration that a word is, or with the next one as in 30 seconds; "" for
// none.
func (p *parser) spanAt(w word) string {
	if _, problem := duration.Read(w.text); problem == "" {
		return w.text
	}
	if d := spanOf(w.text, p.peek().text); d != "" {
		p.next()
		return d
	}
	if m := countedUnit.FindStringSubmatch(w.text); m != nil && m[2] != "" {
		return spanOf(m[1], m[2])
	}
	return ""
}
