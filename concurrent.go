package weir

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
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
	slotsNames = `(?i:(?:max[-_ \t]?)?(?:conc[a-z]{0,9}|in[-_ \t]?flight|(?:in[ \t])?parallel|simultaneous(?:ly)?|at[ \t](?:once|a[ \t]time|the[ \t]same[ \t]time)|slots?))`
	slotsNouns = `(?i:reqs?|requests?|calls?|conn(?:ection)?s?)`
)

var (
	// slotsBehind is such a name behind its number, slotsCounted what can only be counted
	// at once, slotsJoined one with nothing but a mark between, and slotsFirst before it.
	slotsBehind  = regexp.MustCompile(`^(?:` + slotsNouns + `[ \t]+)?` + slotsNames + `(?:[ \t]+` + slotsNouns + `)?(?:[ \t]|$)`)
	slotsCounted = regexp.MustCompile(`^(?i:conn(?:ection)?s?|sessions?|workers?)(?:[ \t]|$)`)
	slotsJoined  = regexp.MustCompile(`^(\d{1,18})(?:[ \t]*(?:[-_x*/]|×|per[ \t])[ \t]*)?` + slotsNames + `(?:[ \t]|$)`)
	slotsFirst   = regexp.MustCompile(`^` + slotsNames + `(?:[ \t]*[:=])?[ \t]*(\d{1,18})?(?:[ \t]|$)`)
)

// slotsOf is the concurrency limit of a number, or of as many as there can be; it reports
// false, and gives an example, where that can be no such number.
func slotsOf(number string) (Spec, bool) {
	n, err := strconv.ParseInt(number, 10, 64)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > 0 {
		return Spec{Algorithm: Concurrency, Count: min(n, algorithm.MostEntries)}, true
	}
	return Spec{Algorithm: Concurrency, Count: 10}, false
}

// countOfLists says of a count that is none how large it may be where the limit
// remembers each unit, and what a number of slots is.
func (p *parser) countOfLists() {
	for _, e := range p.errs {
		switch {
		case e.Field != "count":
		case strings.HasPrefix(e.Problem, "too large"):
			e.Remedy = p.spec.fewer()
		case p.spec.Algorithm == Concurrency && strings.HasPrefix(e.Remedy, "write digits only"):
			e.Remedy = "write a number of slots, such as 10"
		}
	}
}

// namesSlots is the name of slots that the text goes on with at a word; "" for none.
func (p *parser) namesSlots(w word) string {
	if name := slotsBehind.FindString(p.clean[w.offset:]); name != "" {
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
	name := cmp.Or(p.namesSlots(w), strings.TrimRight(slotsCounted.FindString(p.clean[w.offset:]), " \t"))
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
	rest := p.clean[first.offset:]
	problem := "a limit begins with its count"
	m := slotsFirst.FindStringSubmatch(rest)
	if m == nil {
		m, problem = slotsJoined.FindStringSubmatch(rest), "there is no space behind the count"
	}
	if m == nil {
		return false
	}
	p.skipTo(first.offset + len(strings.TrimRight(m[0], " \t")))
	p.toSlots(word{p.readFrom(first.offset), first.offset}, "limit", problem, m[1])
	p.options()
	p.check()
	return true
}

// toSlots reports the text so far, which is meant for so many slots, as one mistake.
func (p *parser) toSlots(part word, field, problem, number string) {
	slots, exact := slotsOf(number)
	slots.Lease = p.spec.Lease
	*p = parser{words: p.words, pos: p.pos, whole: p.whole, clean: p.clean, marks: p.marks, spec: slots, how: Concurrency.String(), at: map[string]word{"count": part}}
	remedy := `write "` + slots.String() + `"`
	if !exact {
		remedy = `write a number of slots, such as "` + slots.String() + `"`
	}
	if slots.Lease != 0 {
		p.seen = []string{"lease"}
	}
	p.fail(field, part, problem, remedy)
}

// rateOfSlots reports a name of slots behind a rate.
func (p *parser) rateOfSlots(w word) bool {
	name := p.namesSlots(w)
	if name == "" || p.spec.Algorithm == Concurrency {
		return false
	}
	p.skipTo(w.offset + len(name))
	begin := p.words[0].offset
	if slices.ContainsFunc(p.errs, func(e *FieldError) bool { return e.Field == "lease" }) {
		p.spec.Lease = 0
	}
	p.toSlots(word{p.readFrom(begin), begin}, "option", "a limit is a rate or a number of slots", p.at["count"].text)
	p.errs[0].Remedy += " in place of a rate"
	return true
}

// leasedCount reads a count with a lease behind it, and the name of slots behind that or
// nowhere.
func (p *parser) leasedCount(first word) bool {
	pos := p.pos
	p.next()
	lease := p.spanAt(p.next())
	if lease == "" {
		p.pos = pos
		return false
	}
	w := p.peek()
	p.skipTo(w.offset + len(p.namesSlots(w)))
	p.spec.Lease, _ = duration.Read(lease)
	p.toSlots(word{p.readFrom(first.offset), first.offset}, "limit", `"concurrent" stands directly behind a number of slots`, first.text)
	return true
}

// strayOfSlots reports what a number of slots cannot have behind it, from its first
// word, which has been read, to its lease or the end.
func (p *parser) strayOfSlots(w word) bool {
	if p.spec.Algorithm != Concurrency || w.text == "lease" {
		return false
	}
	if p.meantLease(w) {
		return true
	}
	for next := p.peek().text; next != "" && next != "lease"; next = p.peek().text {
		p.next()
	}
	part := word{p.readFrom(w.offset), w.offset}
	p.fail("option", part, "a concurrent limit has only a lease", `leave "`+part.text+`" out`)
	return true
}

// meantLease reports a duration without its word, or behind another one.
func (p *parser) meantLease(w word) bool {
	if p.spec.Lease != 0 || w.text == "per" || isOption(w.text) || p.startsGrowth() {
		return false
	}
	begin, problem, value := p.pos, "a duration without its word", w
	if m := tiedWord.FindStringSubmatch(w.text); m != nil {
		value.text = m[2] + m[3]
	}
	lease := p.spanAt(value)
	if lease == "" && isLetter(w.text[0]) && p.peek().text != "" {
		problem, lease = "unknown word before a duration", p.spanAt(p.next())
	}
	if lease == "" {
		p.pos = begin
		return false
	}
	if p.peek().text == "lease" && (p.pos+1 == len(p.words) || !isValue(p.words[p.pos+1].text)) {
		p.next()
		problem = "a value stands behind its word"
	}
	p.fail("option", word{p.readFrom(w.offset), w.offset}, problem, `write "lease `+lease+`"`)
	p.seen = append(p.seen, "lease")
	p.spec.Lease, _ = duration.Read(lease)
	return true
}

// spanAt is the duration that a word is, or with the next one as in 30 seconds and
// 1h 30m; "" for none.
func (p *parser) spanAt(w word) string {
	if d, problem := duration.Read(w.text); problem == "" {
		rest, _ := duration.Read(p.peek().text)
		if joined := w.text + p.peek().text; rest > 0 && duration.Format(d+rest) == joined {
			p.next()
			return joined // 1h 30m
		}
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
