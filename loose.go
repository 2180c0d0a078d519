package weir

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// This file reads a rate as other tools, and people, write it: 100 req/min, 10 / s, 5 rps,
// 0.5/s, 10 requests in 5 minutes. It is one mistake, and is read on as what it means.

var (
	// looseRate is how such a rate begins: a number, a word for what is counted, and a
	// mark before the period; where there is no mark, a word that stands for one.
	looseRate = regexp.MustCompile(`^(\d[\d.,_']*[kK]?|\.\d+)([ \t]*)([A-Za-z]*)[ \t]*(/|(?i:per|an?|every|each|in)[ \t]|)[ \t]*`)

	// unitBehind is a rate's unit in one word with it, as in rps.
	unitBehind = regexp.MustCompile(`^(?i:[rqt]p)((?i:[smhd]))$`)

	// fractional is a number with a part behind the point, or a comma.
	fractional = regexp.MustCompile(`^(\d{0,9})[.,](\d{1,6})$`)
)

// rate is one as it was read.
type rate struct {
	number word
	Spec
	strict bool // it is one of the grammar, but for its values
	months bool // its period is a month, and there is no calendar
}

// loose reports a rate at the beginning that is written loosely, says how it is
// written, and goes on behind it. What the grammar has a word for is left to it.
func (p *parser) loose() bool {
	begin := p.pos
	r, ok := p.rate()
	if !ok || r.strict {
		p.pos = begin
		return false
	}
	whole := word{p.readFrom(r.number.offset), r.number.offset}
	p.at["count"], p.at["period"] = r.number, whole
	p.spec = r.Spec
	remedy := "write " + r.String()
	if r.months {
		remedy += ", or /month with a calendar"
	}
	if r.Count == 0 || r.Count >= int64(algorithm.MaxMicros) {
		p.spec.Count = p.integer("count", r.number)
		return true
	}
	p.fail("limit", whole, "a rate is written in another way", remedy)
	return true
}

// rate passes over a rate that the text goes on with, in whatever form, and reports
// false where there is none. Its count is 0 where nobody can tell.
func (p *parser) rate() (r rate, ok bool) {
	first := p.peek()
	m := looseRate.FindStringSubmatch(p.clean[first.offset:])
	if m == nil || isOption(m[3]) || isGrowthWord(m[3]) {
		return rate{}, false
	}
	noun, mark := word{m[3], first.offset + len(m[1]+m[2])}, strings.ToLower(strings.TrimSpace(m[4]))
	if p.namesSlots(noun) != "" || spanOf(m[1], noun.text) != "" || mark == "" && (noun.text == "" || slotsCounted.MatchString(noun.text) || meantOption(noun.text) != "") {
		return rate{}, false
	}
	r.number = word{m[1], first.offset}
	unit := p.unitAt(first.offset+len(m[0]), noun.text)
	if mark == "" && unit.offset == noun.offset+len(noun.text) {
		return rate{}, false // 1e3s
	}
	if unit.text == "m" && (noun.text == "" || mark == "") {
		return rate{}, false // minutes or months?
	}
	plain := strings.Trim(m[1], "0123456789") == ""
	_, named := periodOf(unit.text)
	_, problem := duration.Read(unit.text)
	r.strict = plain && (named && m[0] == m[1]+"/" || problem == "" && noun.text == "per" && mark == "")
	if !p.periodAt(&r, unit) {
		return rate{}, false
	}
	r.read(p.has("calendar"))
	return r, true
}

// unitAt is the word, or the rest of one, that stands at an offset; or the unit that is
// one word with the noun before it.
func (p *parser) unitAt(offset int, noun string) word {
	p.skipTo(offset)
	last := p.words[p.pos-1]
	one := unitBehind.FindStringSubmatch(noun)
	switch {
	case offset < last.offset+len(last.text):
		return word{p.readFrom(offset), offset}
	case one != nil:
		return word{"1" + strings.ToLower(one[1]), last.offset}
	}
	return p.next()
}

// has reports that a word stands somewhere in the text.
func (p *parser) has(text string) bool {
	return slices.ContainsFunc(p.words, func(w word) bool { return w.text == text })
}

// periodAt gives a rate the period that begins with a unit, which has been read. Months
// are those of the calendar only where there is one.
func (p *parser) periodAt(r *rate, unit word) bool {
	span := spanOf("1", unit.text)
	month := strings.HasPrefix(span, "30")
	if period, ok := periodOf(unit.text); ok && r.strict || month && p.has("calendar") {
		r.Period, r.Month = period, period == 0
		return true
	}
	if span == "" {
		span = p.spanAt(unit)
	}
	r.months = month
	r.Period, _ = duration.Read(span)
	problem, _ := duration.Check(r.Period)
	return problem == ""
}

// read reads the number of a rate, and makes a whole one of parts: 0.5/s is 1 per 2s.
// No calendar has such periods.
func (r *rate) read(calendar bool) {
	const thousands = 3 // digits behind a mark that may as well stand between thousands
	digits := r.number.text
	if plain := plainDigits(digits); plain != "" {
		digits = plain
	}
	if count, err := strconv.ParseInt(digits, 10, 64); err == nil && digits[0] != '0' {
		r.Count = count
		return
	}
	m := fractional.FindStringSubmatch(r.number.text)
	if m == nil || r.Month || calendar || strings.Trim(m[1], "0") != "" && len(m[2]) == thousands {
		return
	}
	count, _ := strconv.ParseInt(m[1]+m[2], 10, 64) // at most 15 digits
	periods := int64(1)
	for range m[2] {
		periods *= 10
	}
	for _, factor := range [...]int64{2, 5} {
		for count%factor == 0 && periods%factor == 0 && count > 0 {
			count, periods = count/factor, periods/factor
		}
	}
	if r.Period < duration.Longest/time.Duration(periods) {
		r.Count, r.Period = count, r.Period*time.Duration(periods)
	}
}
