package weir

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/duration"
	"github.com/weirhq/weir/internal/suggest"
)

// optionWords are all words that may follow a rate or a number of slots.
var optionWords = [...]string{
	"burst", "overdraft",
	"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket",
	"calendar", "wait", "queue", "spread", "lease", "block",
}

// heldOptions are those of rates: what a hint names. A lease goes with slots alone.
var heldOptions = [...]string{"burst", "overdraft", "token-bucket", "leaky-bucket", "wait", "queue", "fixed-window", "sliding-window", "sliding-log", "calendar", "spread", "block"}

// shortestPart is how much of an option stands for it: fixed, but not on.
const shortestPart = 4

func isOption(text string) bool { return slices.Contains(optionWords[:], text) }

// unknown reports a word that is none of the grammar, which has been read, and reads on
// as what it means.
func (p *parser) unknown(w word) {
	if p.parted(w) || p.tied(w) || p.turned(w) || p.wordless(w) {
		return
	}
	meant := meantOption(w.text)
	switch {
	case meant == "" && limitBegins.MatchString(w.text):
		p.fail("option", w, "a limit has one rate", `leave "`+w.text+`" out, or the one before it`)
		return
	case meant == "":
		p.fail("option", w, "unknown word", "the options are "+strings.Join(heldOptions[:], ", "))
		return
	}
	p.fail("option", w, "unknown word", "did you mean "+meant+"?")
	p.guess(meant, w)
}

// guess reads on behind a word as behind the option that it means. That its value is
// missing, or that it goes with another limit, is told to whoever has written the option.
func (p *parser) guess(option string, w word) {
	if slices.Contains(p.seen, option) {
		if takesValue(option) {
			p.value(option)
		}
		return
	}
	p.seen, p.guessed = append(p.seen, option), append(p.guessed, option)
	known := len(p.errs)
	p.option(word{option, w.offset})
	p.errs = append(p.errs[:known], slices.DeleteFunc(slices.Clone(p.errs[known:]), func(e *FieldError) bool { return e.Value == "" })...)
}

// meantOption is the option that was meant by a word that is none; "" where
// nobody knows.
func meantOption(text string) string {
	if strings.ContainsAny(text, "0123456789") {
		return "" // or a number would be lost
	}
	if meant := suggest.Closest(text, optionWords[:]...); meant != "" {
		return meant
	}
	i := slices.IndexFunc(heldOptions[:], func(o string) bool { return len(text) >= shortestPart && strings.Contains(o, text) })
	if i < 0 {
		return ""
	}
	return heldOptions[i]
}

// skipValue passes over the value of an option that was misspelt: one mistake is
// reported once.
func (p *parser) skipValue(text string) {
	if _, value := tiedOption(text); value == "" && takesValue(meantOption(text)) {
		p.value(text)
	}
}

// valued are the options that have a value.
var valued = [...]string{"burst", "overdraft", "queue", "wait", "lease", "calendar", "block"}

func takesValue(option string) bool { return slices.Contains(valued[:], option) }

// lasts reports that the value of an option is a duration.
func lasts(option string) bool { return option == "wait" || option == "lease" || option == "block" }

// isTie reports that a word is a mark that other notations have before a value.
func isTie(text string) bool { return text == "=" || text == ":" }

// tiedWord is a word with a value tied to it, as in burst=10 and wait2s.
var tiedWord = regexp.MustCompile(`^([A-Za-z]+)(?:[=:](.*)|(\d.*))$`)

// tiedOption is the option with a value that a word means, and the value that is tied to
// it; "" for none.
func tiedOption(text string) (option, value string) {
	for _, o := range valued {
		if before, ok := strings.CutSuffix(strings.ToLower(text), o); ok && before != "" && before[0] >= '0' && before[0] <= '9' {
			return o, before
		}
	}
	m := tiedWord.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	return suggest.Closest(m[1], valued[:]...), m[2] + m[3]
}

// tied reports an option that has its value tied to it.
func (p *parser) tied(w word) bool {
	option, value := tiedOption(w.text)
	switch {
	case option == "":
		return false
	case value == "": // it stands behind a space
		p.fail("option", w, "unknown word", `write "`+option+`"`)
		p.guess(option, w)
		return true
	}
	text := value
	if lasts(option) {
		text = cmp.Or(p.spanAt(word{value, w.offset}), value)
	}
	text = p.settle(option, word{text, w.offset})
	p.fail("option", word{p.readFrom(w.offset), w.offset}, "unknown word", `write "`+option+" "+text+`"`)
	if option == "block" {
		p.growth()
	}
	return true
}

// settle takes an option over whose value is known, and gives that as it is written.
func (p *parser) settle(option string, value word) string {
	if slices.Contains(p.seen, option) {
		return value.text
	}
	p.seen, p.guessed = append(p.seen, option), append(p.guessed, option)
	q := &parser{words: []word{value}, whole: value.text, clean: value.text, at: p.at, spec: p.spec, how: p.how}
	q.option(word{option, value.offset})
	p.spec, p.how, p.clash = q.spec, q.how, p.clash || q.clash
	if len(q.errs) == 1 {
		if instead, ok := strings.CutPrefix(q.errs[0].Remedy, "write "); ok && !strings.Contains(instead, " ") {
			return instead
		}
	}
	return value.text
}

// parted reports an algorithm whose two words stand apart, as in sliding log.
func (p *parser) parted(w word) bool {
	second := p.peek()
	meant := suggest.Closest(w.text+"-"+second.text, heldOptions[:]...)
	if second.text == "" || isOption(second.text) || !strings.Contains(meant, "-") {
		return false
	}
	p.next()
	p.fail("option", word{p.readFrom(w.offset), w.offset}, "it is one word", `write "`+meant+`"`)
	p.guess(meant, w)
	return true
}

// turned reports a value that stands before its word, as in 10m block.
func (p *parser) turned(w word) bool {
	pos := p.pos
	span := p.spanAt(w)
	option := p.next().text
	number := strings.Trim(w.text, "0123456789") == "" && takesValue(option) && option != "calendar"
	if fits := lasts(option) && span != "" || !lasts(option) && span == "" && number; !fits || isValue(p.peek().text) {
		p.pos = pos
		return false
	}
	value := p.settle(option, word{cmp.Or(span, w.text), w.offset})
	p.fail("option", word{p.readFrom(w.offset), w.offset}, "a value stands behind its word", `write "`+option+" "+value+`"`)
	if option == "block" {
		p.growth()
	}
	return true
}

// wordless reports a duration that is a block's, for a part follows that says how it
// grows.
func (p *parser) wordless(w word) bool {
	pos := p.pos
	span := p.spanAt(w)
	if span == "" || !p.atGrowth() || slices.Contains(p.seen, "block") {
		p.pos = pos
		return false
	}
	p.fail("option", word{p.readFrom(w.offset), w.offset}, "a duration without its word", `write "block `+span+`"`)
	p.settle("block", word{span, w.offset})
	p.growth()
	return true
}

// spellOut tells who wrote a unit where a duration belongs how that is said.
func spellOut(text string) string {
	for _, unit := range []string{"s", "sec", "second", "min", "minute", "h", "hour", "day", "week", "month"} {
		if text == unit || text == unit+"s" {
			return `write "/` + unit + `" directly behind the count, or a duration such as 30s, 15m (minutes), 12h or 30d`
		}
	}
	if m := countedUnit.FindStringSubmatch(text); m != nil && m[2] != "" {
		if d := spanOf(m[1], m[2]); d != "" {
			return "write " + d
		}
	}
	return duration.Remedy
}

// countedUnit is a number of units in one word, such as 5minutes or 1w.
var countedUnit = regexp.MustCompile(`^(\d{1,6})([A-Za-z]*)$`)

// spaced reports a duration whose unit is a word of its own, as in 5 minutes, goes on
// behind it, and gives what it means; 0 of no such one.
func (p *parser) spaced(field string, w word) time.Duration {
	unit := p.peek()
	d := spanOf(w.text, unit.text)
	if d == "" {
		return 0
	}
	p.next()
	whole := word{p.readFrom(w.offset), w.offset}
	p.at[field] = whole
	if p.tooLong(field, whole, d) {
		return time.Second
	}
	p.fail(field, whole, "a duration is one word", "write "+d)
	meant, _ := duration.Read(d)
	return meant
}

// spanOf is a number of units as a duration has it, such as 5m of 5 minutes; ""
// where that is none.
func spanOf(number, unit string) string {
	m := countedUnit.FindStringSubmatch(number)
	if m == nil || m[1] != number || unit == "" || unit[0] >= '0' && unit[0] <= '9' {
		return ""
	}
	text := number + unit // an m is no other unit in durations
	switch cmp.Or(meantUnit(unit), strings.TrimSuffix(strings.ToLower(unit), "s")) {
	case "y", "yr", "year":
		n, _ := strconv.Atoi(number) // at most six digits
		text = strconv.Itoa(365*n) + "d"
	case "s":
		text = number + "s"
	case "min":
		text = number + "m"
	case "h":
		text = number + "h"
	case "day":
		text = number + "d"
	case "week":
		n, _ := strconv.Atoi(number) // at most six digits
		text = strconv.Itoa(7*n) + "d"
	}
	if _, problem := duration.Read(text); problem != "" {
		return ""
	}
	return text
}

// meantUnit is the unit of a limit that an abbreviation or a plural stands for; ""
// where nobody knows, as of m.
func meantUnit(text string) string {
	switch strings.ToLower(text) {
	case "s", "sc", "sec", "secs", "second", "seconds":
		return "s"
	case "mi", "mn", "min", "mins", "minn", "minute", "minutes":
		return "min"
	case "h", "hr", "hrs", "hour", "hours":
		return "h"
	case "d", "dy", "day", "days":
		return "day"
	case "w", "wk", "wks", "week", "weeks":
		return "week"
	case "mo", "mon", "mth", "month", "months":
		return "month"
	}
	return ""
}

var (
	// grouped are digits with marks between them, or with a k for thousands.
	grouped = regexp.MustCompile(`^(\d{1,3}(?:[,_']\d{3})+|\d+(?:_\d+)+|\d{1,9}[kK])$`)

	// fractional is a number with a part behind the point, or a comma.
	fractional = regexp.MustCompile(`^(\d{0,9})[.,](\d{1,6})$`)
)

// digitsRemedy says how a whole number is written that has more than digits.
func digitsRemedy(field, text string) string {
	if grouped.MatchString(text) {
		return "write " + strings.NewReplacer(",", "", "_", "", "'", "", "k", "000", "K", "000").Replace(text)
	}
	if field == "block factor" {
		return "write digits only, such as 2"
	}
	return "write digits only, such as 1000"
}

// meantRate says how a rate is written whose count is no whole number, once its
// period is known: 0.5/s is 1 per 2s.
func (p *parser) meantRate() {
	m := fractional.FindStringSubmatch(p.at["count"].text)
	if m == nil || p.spec.Period == 0 || len(p.errs) != 1 || p.errs[0].Field != "count" {
		return
	}
	const thousands = 3 // digits behind a mark that may as well stand between thousands
	if strings.Trim(m[1], "0") != "" && len(m[2]) == thousands {
		return
	}
	count, _ := strconv.ParseInt(m[1]+m[2], 10, 64) // at most 15 digits
	periods := int64(1)
	for range m[2] {
		periods *= 10
	}
	for _, factor := range []int64{2, 5} {
		for count%factor == 0 && periods%factor == 0 {
			count, periods = count/factor, periods/factor
		}
	}
	if count > 0 && p.spec.Period < duration.Longest/time.Duration(periods) {
		p.errs[0].Value = p.readFrom(p.errs[0].Offset)
		p.errs[0].Remedy = "write " + Spec{Count: count, Period: p.spec.Period * time.Duration(periods)}.String()
	}
}

// looseRate is a rate as other tools, and people, write it: 100 req/min, 10 / s,
// 100 requests per minute. looseUnit is one such as 5 rps. Both end with a word.
var (
	looseRate = regexp.MustCompile(`^(\d+)([ \t]*)((?i:r|reqs?|requests?|calls?|hits?|times)?)[ \t]*(/|(?i:per|an?|every)[ \t])([ \t]*)((?i:s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?))(?:[ \t]|$)`)
	looseUnit = regexp.MustCompile(`^(\d+)[ \t]*(?i:[rqt]p)((?i:s|m|h|d))(?:[ \t]|$)`)
)

// loose reports a rate at the beginning that is written loosely, says how it is
// written, and goes on behind it. What the grammar has a word for is left to it.
func (p *parser) loose() bool {
	first := p.peek()
	rest := p.clean[first.offset:]
	problem, remedy := "a rate is a count and a unit", ""
	var unit string
	m := looseUnit.FindStringSubmatch(rest)
	if m != nil {
		unit = printedUnit(m[2])
	} else if m = looseRate.FindStringSubmatch(rest); m != nil {
		unit = printedUnit(m[6])
		switch noun, spaces := m[3] != "", m[2]+m[5] != ""; {
		case noun:
		case strings.EqualFold(m[4][:1], "p") || m[4] == "/" && !spaces:
			return false
		case m[4] == "/":
			problem, remedy = "there are spaces in the rate", ", without spaces"
		}
	} else {
		return false
	}
	p.skipTo(first.offset + len(strings.TrimRight(m[0], " \t")))
	p.fail("limit", word{p.readFrom(first.offset), first.offset}, problem, "write "+m[1]+"/"+unit+remedy)
	p.spec.Count = p.integer("count", word{m[1], first.offset})
	p.unit(word{unit, first.offset})
	return true
}

// printedUnit is the unit as a limit has it. An m stands here only behind rp, and
// is a minute.
func printedUnit(text string) string {
	text = strings.ToLower(text)
	for _, unit := range []string{"week", "day", "min"} {
		if text[0] == unit[0] {
			return unit
		}
	}
	return text[:1]
}
