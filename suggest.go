package weir

import (
	"regexp"
	"slices"
	"strings"
)

// optionWords are all words that may follow a rate or a number of slots.
var optionWords = [...]string{
	"burst", "overdraft",
	"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket",
	"calendar", "wait", "queue", "spread", "lease", "block",
}

// heldOptions are those that this version keeps to. The others are read, and
// refused when the limit is built: nobody is told to write them.
var heldOptions = [...]string{"burst", "overdraft", "token-bucket", "fixed-window", "calendar", "spread"}

// shortestPart is how much of an option stands for it: fixed, but not on.
const shortestPart = 4

func isOption(text string) bool { return slices.Contains(optionWords[:], text) }

// joinedOption says how an option is written that has its value tied to it, as in
// burst=10; "" where the text is none.
func joinedOption(text string) string {
	at := strings.IndexAny(text, "=:")
	if at <= 0 || !isOption(text[:at]) {
		return ""
	}
	return `write "` + strings.TrimSpace(text[:at]+" "+text[at+1:]) + `"`
}

// listed are the limits of a text that has several with commas between; nil of
// one that has not. A comma within a number (1,000/h) parts nothing.
func listed(text string) []string {
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
		rate := strings.Contains(parts[i], "/") || strings.Contains(parts[i], " per ")
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
