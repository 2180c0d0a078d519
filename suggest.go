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

func optionRemedy(text string) string {
	if s := joinedOption(text); s != "" {
		return s
	}
	if meant := meantOption(text); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "the options are " + strings.Join(heldOptions[:], ", ")
}

// meantOption is the option that was meant by a word that is none; "" where
// nobody knows.
func meantOption(text string) string {
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
	if joinedOption(text) != "" {
		return
	}
	switch meantOption(text) {
	case "burst", "overdraft", "queue", "wait", "lease", "calendar", "block":
		p.value(text)
	}
}

// joinedOption says how an option is written that has its value tied to it, as in
// burst=10; "" where the text is none.
func joinedOption(text string) string {
	at := strings.IndexAny(text, "=:")
	if at <= 0 || !isOption(text[:at]) {
		return ""
	}
	return `write "` + strings.TrimSpace(text[:at]+" "+text[at+1:]) + `"`
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

// spaced reports a duration whose unit is a word of its own, as in 5 minutes, and
// goes on behind it.
func (p *parser) spaced(field string, w word) bool {
	unit := p.peek()
	d := spanOf(w.text, unit.text)
	if d == "" {
		return false
	}
	p.next()
	whole := word{p.whole[w.offset : unit.offset+len(unit.text)], w.offset}
	if p.tooLong(field, whole, d) {
		return true
	}
	remedy := "write " + d
	if field == "period" && len(p.errs) == 0 {
		remedy = "write " + p.at["count"].text + " per " + d
	}
	p.fail(field, whole, "a duration is one word", remedy)
	return true
}

// spanOf is a number of units as a duration has it, such as 5m of 5 minutes; ""
// where that is none.
func spanOf(number, unit string) string {
	m := countedUnit.FindStringSubmatch(number)
	if m == nil || m[1] != number {
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
		p.errs[0].Remedy = "write " + Spec{Count: count, Period: p.spec.Period * time.Duration(periods)}.String()
	}
}

// listed are the limits of a text that has several with commas between; nil of
// one that has not. A comma within a number (1,000/h) parts nothing.
func listed(text string) []string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		rate := strings.Contains(parts[i], "/") || strings.Contains(parts[i], " per ") || strings.Contains(parts[i], " concurrent")
		if !rate || !strings.ContainsAny(parts[i][:1], "123456789") {
			return nil
		}
	}
	return parts
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
	rest := p.whole[first.offset:]
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
	written := strings.TrimRight(m[0], " \t")
	p.fail("limit", word{written, first.offset}, problem, "write "+m[1]+"/"+unit+remedy)
	for p.peek().text != "" && p.peek().offset < first.offset+len(written) {
		p.next()
	}
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
