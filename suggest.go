package weir

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

func isOption(text string) bool { return slices.Contains(optionWords[:], text) }

// unknown reports a word that is none of the grammar, which has been read, and reads on
// as what it means.
func (p *parser) unknown(w word) {
	if p.parted(w) || p.tied(w) || p.turned(w) {
		return
	}
	if meant := meantOption(w.text); meant != "" {
		p.fail("option", w, "unknown word", "did you mean "+meant+"?")
		p.guess(meant, w)
		return
	}
	p.strange(w, "unknown word", optionList())
}

func optionList() string { return "the options are " + strings.Join(heldOptions[:], ", ") }

// strange reports a word, or what was read from there, that stands for nothing. With
// another such before it it is one mistake. No remedy is told twice.
func (p *parser) strange(from word, problem, remedy string) {
	if p.unread != nil && p.unreadEnd == from.offset {
		*p.unread = FieldError{Field: "option", Value: p.readFrom(p.unread.Offset), Problem: problem, Remedy: remedy, Offset: p.unread.Offset}
	} else {
		if slices.ContainsFunc(p.errs, func(e *FieldError) bool { return e.Remedy == remedy }) {
			remedy = ""
		}
		p.fail("option", word{p.readFrom(from.offset), from.offset}, problem, remedy)
		p.unread = p.errs[len(p.errs)-1]
	}
	p.unreadEnd = p.peek().offset
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
	for _, option := range heldOptions {
		if slices.Contains(strings.Split(option, "-"), strings.ToLower(text)) {
			return option // a part of it, such as sliding
		}
	}
	return suggest.Closest(text, optionWords[:]...)
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
	q := &parser{words: []word{{text: value.text}}, whole: value.text, clean: value.text, at: map[string]word{}, spec: p.spec, how: p.how}
	if option == "block" {
		q.spec.Block.For = q.duration(option) // how it grows is read where it stands
	} else {
		q.option(word{text: option})
	}
	for field := range q.at {
		p.at[field] = value
	}
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

// countedUnit is a number of units in one word, such as 5minutes or 1w.
var countedUnit = regexp.MustCompile(`^(\d{1,6})([A-Za-z]*)$`)

// spanOf is a number of units as a duration has it, such as 5m of 5 minutes; ""
// where that is none.
func spanOf(number, unit string) string {
	m := countedUnit.FindStringSubmatch(number + unit)
	if m == nil || m[1] != number || unit == "" {
		return ""
	}
	if short, times := meantUnit(unit); times > 0 {
		n, _ := strconv.Atoi(number) // at most six digits
		number, unit = strconv.Itoa(n*times), short
	}
	if _, problem := duration.Read(number + unit); problem != "" {
		return ""
	}
	return number + unit
}

// unitWords are the words for each unit, the long one last, and how many of which unit of
// durations that is. An m may be another.
var unitWords = [...]struct {
	names, short string
	times        int
}{
	{"s sc sec second", "s", 1},
	{"mi mn min minn minute", "m", 1},
	{"h hr hour", "h", 1},
	{"d dy dya day", "d", 1},
	{"w wk week", "d", 7},
	{"mo mon mth month", "d", 30},
	{"y yr year", "d", 365},
}

// meantUnit is what a word for a unit stands for, be it misspelt; 0 times where it is
// none.
func meantUnit(text string) (short string, times int) {
	name := strings.ToLower(text)
	if len(name) > 1 {
		name = strings.TrimSuffix(name, "s")
	}
	for _, unit := range unitWords {
		names := strings.Fields(unit.names)
		long := names[len(names)-1]
		if slices.Contains(names, name) || len(name) > 3 && suggest.Slip(name, long) != "" {
			return unit.short, unit.times
		}
	}
	return "", 0
}

// grouped are digits with marks between them, or with a k for thousands.
var grouped = regexp.MustCompile(`^(\d{1,3}(?:[,_']\d{3})+|\d+(?:_\d+)+|\d{1,9}[kK])$`)

// plainDigits are those of a number that has more than digits.
func plainDigits(text string) string {
	if !grouped.MatchString(text) {
		return ""
	}
	return strings.NewReplacer(",", "", "_", "", "'", "", "k", "000", "K", "000").Replace(text)
}

// digitsRemedy says how a whole number is written that has more than digits.
func digitsRemedy(field, text string) string {
	if digits := plainDigits(text); digits != "" {
		return "write " + digits
	}
	if field == "block factor" {
		return "write digits only, such as 2"
	}
	return "write digits only, such as 1000"
}
