package weir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseSpec reads a limit's text:
//
//	limit  = "unlimited" | "deny" | INT "concurrent" [ "lease" DUR ] | rate
//	rate   = INT ( "/" UNIT | " per " DUR ) { option }
//	UNIT   = s | min | h | day | week | month       ; long forms are read, short ones printed
//	option = "burst" INT | "overdraft" INT
//	       | "fixed-window" | "sliding-window" | "sliding-log" | "leaky-bucket"
//	       | "calendar" ZONE                        ; implies fixed-window
//	       | "wait" DUR | "queue" INT
//	       | "spread"
//	       | "block" DUR [ "x" INT "max" DUR ]
//
// DUR is Go's form with a `d` for 24 hours before it (30d, 1d12h, 250ms).
// Options come in any order, each once. Every mistake is reported, joined, each
// a [*FieldError] with its offset in the text. A burst that equals the count is
// left out, so that one limit has one Spec.
func ParseSpec(text string) (Spec, error) {
	p := parser{}
	p.split(text)
	switch {
	case len(p.words) == 0:
		p.fail(0, "limit", "", "it is empty", `write a rate such as "10/min", or "unlimited", or "deny"`)
	case p.words[0].text == "unlimited":
		p.spec.Algorithm = Unlimited
		p.pos = 1
		p.end()
	case p.words[0].text == "deny":
		p.spec.Algorithm = Deny
		p.pos = 1
		p.end()
	default:
		p.limit()
	}
	if len(p.errs) == 0 {
		p.errs = p.located(p.spec.Validate())
	}
	if len(p.errs) > 0 {
		return Spec{}, errors.Join(p.errs...)
	}
	if p.spec.Burst == p.spec.Count {
		p.spec.Burst = 0
	}
	return p.spec, nil
}

// word is a piece of the text between spaces.
type word struct {
	text   string
	offset int
}

// parser reads words from left to right and collects mistakes.
type parser struct {
	words []word
	pos   int
	size  int // of the whole text
	spec  Spec
	seen  []string       // options met so far
	how   string         // the algorithm's word, once one was met
	at    map[string]int // offset of each field's value, for Validate's refusals
	errs  []error
}

func (p *parser) split(text string) {
	p.at = map[string]int{}
	p.size = len(text)
	for i := 0; i < len(text); {
		if text[i] == ' ' || text[i] == '\t' {
			i++
			continue
		}
		j := i
		for j < len(text) && text[j] != ' ' && text[j] != '\t' {
			j++
		}
		p.words = append(p.words, word{text[i:j], i})
		i = j
	}
}

func (p *parser) fail(offset int, field, value, problem, remedy string) {
	p.errs = append(p.errs, &FieldError{Field: field, Value: value, Problem: problem, Remedy: remedy, Offset: offset})
}

// next gives the next word; ok is false at the end.
func (p *parser) next() (w word, ok bool) {
	if p.pos == len(p.words) {
		return word{offset: p.size}, false
	}
	p.pos++
	return p.words[p.pos-1], true
}

// end refuses whatever is left.
func (p *parser) end() {
	for p.pos < len(p.words) {
		w, _ := p.next()
		p.fail(w.offset, "limit", w.text, "nothing may follow here", "leave it out")
	}
}

// located gives the refusals of Validate the place of the value they name.
func (p *parser) located(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	errs := joined.Unwrap()
	for _, e := range errs {
		if fe, ok := errors.AsType[*FieldError](e); ok {
			fe.Offset = p.at[fe.Field]
		}
	}
	return errs
}

// limit reads a rate or a number of slots.
func (p *parser) limit() {
	first, _ := p.next()
	count, unit, slash := strings.Cut(first.text, "/")
	p.spec.Count = p.integer("count", word{count, first.offset})
	if slash {
		p.unit(word{unit, first.offset + len(count) + 1})
		p.options()
		return
	}
	switch w, _ := p.next(); w.text {
	case "per":
		p.at["period"] = p.offset()
		p.spec.Period = p.duration("period")
		p.options()
	case "concurrent":
		p.spec.Algorithm = Concurrency
		p.options()
	case "":
		p.fail(w.offset, "period", "", "a count needs a period", `write a rate such as "10/min" or "10 per 30s"`)
	default:
		p.fail(w.offset, "period", w.text, "unknown word after the count", `write "10/min", "10 per 30s" or "10 concurrent"`)
	}
}

// offset is where the next word begins.
func (p *parser) offset() int {
	if p.pos == len(p.words) {
		return p.size
	}
	return p.words[p.pos].offset
}

// integer reads plain decimal digits.
func (p *parser) integer(field string, w word) int64 {
	p.at[field] = w.offset
	v, err := strconv.ParseInt(w.text, 10, 64)
	switch {
	case w.text == "":
		p.fail(w.offset, field, "", "a whole number is missing", "")
	case errors.Is(err, strconv.ErrRange):
		p.fail(w.offset, field, w.text, "too large", "write at most 4503599627370495")
	case err != nil || w.text[0] == '+':
		p.fail(w.offset, field, w.text, "not a whole number", "write digits only, such as 1000")
	case len(w.text) > 1 && w.text[0] == '0':
		p.fail(w.offset, field, w.text, "leading zeros are read as octal elsewhere", "write "+strings.TrimLeft(w.text, "0"))
	case v == 0 && field == "burst":
		p.fail(w.offset, field, "0", "a bucket must hold at least 1 unit", "leave it out for a burst of the count")
	case v < 1:
		p.fail(w.offset, field, w.text, "it is at least 1", zeroRemedy(field))
	}
	return max(v, 1)
}

// zeroRemedy tells who wrote 0 what they may have meant.
func zeroRemedy(field string) string {
	if field == "count" {
		return `write "deny" to refuse everything, "unlimited" to limit nothing`
	}
	return "leave it out"
}

// unit reads what stands behind the slash.
func (p *parser) unit(w word) {
	p.at["period"] = w.offset
	switch w.text {
	case "s", "sec", "second":
		p.spec.Period = time.Second
	case "min", "minute":
		p.spec.Period = time.Minute
	case "h", "hour":
		p.spec.Period = time.Hour
	case "day":
		p.spec.Period = day
	case "week":
		p.spec.Period = week
	case "month":
		p.spec.Month = true
	case "m":
		p.fail(w.offset, "period", "m", "minutes or months?", `write "min" or "month"`)
	case "":
		p.fail(w.offset, "period", "", "a unit is missing", "write s, min, h, day, week or month")
	default:
		p.fail(w.offset, "period", w.text, "unknown unit", unitRemedy(w.text))
	}
}

func unitRemedy(text string) string {
	if text != "" && text[0] >= '0' && text[0] <= '9' {
		return fmt.Sprintf("write \"per %s\"", text)
	}
	return "write s, min, h, day, week or month"
}

// duration reads the next word as a positive duration.
func (p *parser) duration(field string) time.Duration {
	w, ok := p.next()
	if _, set := p.at[field]; !set {
		p.at[field] = w.offset
	}
	if !ok {
		p.fail(w.offset, field, "", "a duration is missing", "write one such as 30s, 5m, 12h or 30d")
		return time.Second
	}
	d, err := parseDuration(w.text)
	switch {
	case err != nil:
		p.fail(w.offset, field, w.text, "not a duration", "write one such as 30s, 5m, 12h or 30d")
	case d <= 0:
		p.fail(w.offset, field, w.text, "it lasts at least 1 µs", "")
	case d%time.Microsecond != 0:
		p.fail(w.offset, field, w.text, "time is whole microseconds", "")
	default:
		return d
	}
	return time.Second
}

// options reads the rest of a rate, in any order.
func (p *parser) options() {
	for {
		w, ok := p.next()
		if !ok {
			return
		}
		if slices.Contains(p.seen, w.text) {
			p.fail(w.offset, "option", w.text, "it stands here twice", "leave one out")
		}
		p.seen = append(p.seen, w.text)
		p.at[w.text] = w.offset
		p.option(w)
	}
}

func (p *parser) option(w word) {
	switch w.text {
	case "burst":
		p.spec.Burst = p.nextInteger("burst")
	case "overdraft":
		p.spec.Overdraft = p.nextInteger("overdraft")
	case "queue":
		p.spec.Queue = p.nextInteger("queue")
	case "wait":
		p.spec.Wait = p.duration("wait")
	case "lease":
		p.spec.Lease = p.duration("lease")
	case "spread":
		p.spec.Spread = true
	case "calendar":
		p.calendar()
	case "block":
		p.block()
	default:
		p.algorithm(w)
	}
}

func (p *parser) nextInteger(field string) int64 {
	w, _ := p.next()
	return p.integer(field, w)
}

// algorithm reads the word that says how to count.
func (p *parser) algorithm(w word) {
	for a := TokenBucket; a <= LeakyBucket; a++ {
		if w.text == a.word() {
			p.choose(a, w)
			return
		}
	}
	p.fail(w.offset, "option", w.text, "unknown word", didYouMean(w.text))
}

func (p *parser) choose(a Algorithm, w word) {
	if p.how != "" && p.spec.Algorithm != a {
		p.fail(w.offset, "option", w.text, "a limit has one algorithm", "keep this or "+p.how)
		return
	}
	p.how, p.spec.Algorithm = w.text, a
}

// calendar reads the zone, and makes the limit a fixed window.
func (p *parser) calendar() {
	p.choose(FixedWindow, word{"calendar", p.at["calendar"]})
	zone, ok := p.next()
	if !ok {
		p.fail(zone.offset, "calendar", "", "a time zone is missing", "write one such as Europe/Berlin or UTC")
		return
	}
	p.at["calendar"] = zone.offset
	if _, err := loadZone(zone.text); err != nil {
		p.fail(zone.offset, "calendar", zone.text, "unknown time zone", "write an IANA name such as Europe/Berlin or UTC; the system, or the program by importing time/tzdata, must know it")
		return
	}
	p.spec.Zone = zone.text
}

// block reads DUR [ "x" INT "max" DUR ].
func (p *parser) block() {
	p.spec.Block.For = p.duration("block")
	if p.pos == len(p.words) || p.words[p.pos].text != "x" {
		return
	}
	p.pos++
	p.spec.Block.Factor = p.nextInteger("block factor")
	if w, _ := p.next(); w.text != "max" {
		p.fail(w.offset, "block max", w.text, "a block that grows needs a bound", `write "x 2 max 1h"`)
		return
	}
	p.spec.Block.Max = p.duration("block max")
}
