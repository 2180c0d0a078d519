package weir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/internal/duration"
	"github.com/weirhq/weir/internal/suggest"
)

// ParseSpec reads a limit's text:
//
//	limit  = "unlimited" | "deny" | INT "concurrent" [ "lease" DUR ] | rate
//	rate   = INT ( "/" UNIT | " per " DUR ) { option }
//	UNIT   = s | min | h | day | week | month       ; long forms are read, short ones printed
//	option = "burst" INT | "overdraft" INT
//	       | "token-bucket" | "fixed-window" | "sliding-window" | "sliding-log" | "leaky-bucket"
//	       | "calendar" ZONE                        ; implies fixed-window
//	       | "wait" DUR | "queue" INT
//	       | "spread"
//	       | "block" DUR [ "x" INT "max" DUR ]
//
// INT is plain digits, at least 1, without leading zeros. DUR is Go's form with
// a `d` for 24 hours before it (30d, 1d12h, 250ms), whole microseconds. ZONE is
// an IANA name. Options come in any order, each once. A burst that equals the
// count is left out, so that one limit has one Spec.
//
// Every mistake is reported, joined, each a [*FieldError] with its offset in
// the text. Numbers that are too large for exact arithmetic are found when the
// limit is built; [ParseLimit] does both.
func ParseSpec(text string) (Spec, error) {
	p := parse(text)
	if err := p.err(); err != nil {
		return Spec{}, err
	}
	return p.spec.canonical(), nil
}

// parse reads a text and keeps what it found, right or wrong.
func parse(text string) *parser {
	p := &parser{at: map[string]word{}}
	if len(text) > longestText {
		p.fail("limit", word{}, fmt.Sprintf("longer than %d bytes", longestText), "a limit is a few words")
		return p
	}
	if p.unplain(text) {
		return p
	}
	p.read(text)
	if p.err() != nil {
		p.severally(text, text)
	}
	return p
}

// read reads a text as one limit.
func (p *parser) read(text string) {
	p.split(text)
	switch first := p.peek(); {
	case first.text == "":
		p.fail("limit", first, "it is empty", `write a rate such as "10/min", or "unlimited", or "deny"`)
	case first.text == "unlimited":
		p.spec.Algorithm = Unlimited
		p.next()
		p.end()
	case first.text == "deny":
		p.spec.Algorithm = Deny
		p.next()
		p.end()
	case p.turnedSlots():
	case isLetter(first.text[0]):
		p.fail("limit", first, "a limit begins with its count", firstRemedy(first.text))
	default:
		p.limit()
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func firstRemedy(text string) string {
	if s := suggest.DidYouMean(text, "unlimited", "deny"); s != "" {
		return s
	}
	return `write a rate such as "10/min", or "unlimited", or "deny"`
}

// limit reads a rate or a number of slots, and checks what it says together.
func (p *parser) limit() {
	if p.loose() {
		p.options()
		p.check()
		return
	}
	first := p.next()
	count, unit, slash := strings.Cut(first.text, "/")
	p.spec.Count = p.integer("count", word{count, first.offset})
	switch w := p.peek(); {
	case slash:
		p.unit(word{unit, first.offset + len(count) + 1})
	case w.text == "per":
		p.next()
		p.spec.Period = p.duration("period")
	case w.text == "concurrent":
		p.next()
		p.spec.Algorithm, p.how = Concurrency, w.text
	case w.text == "lease" && p.leasedCount(first):
	case w.text == "" || isOption(w.text):
		p.fail("period", word{offset: w.offset}, "a count needs a period", `write a rate such as "10/min" or "10 per 30s"`)
	case p.meantSlots():
	default:
		for w := p.peek().text; w != "" && !isOption(w); w = p.peek().text {
			p.next()
		}
		p.fail("period", word{p.readFrom(w.offset), w.offset}, "unknown word after the count", `write "10/min" without spaces, or "10 per 30s"`)
	}
	p.options()
	p.check()
}

// check adds what Validate refuses, but for the fields that were refused
// already. Where two algorithms stand, nothing can be said of their options.
func (p *parser) check() {
	p.countOfLists()
	if p.clash {
		return
	}
	refused := slices.Clone(p.guessed)
	for _, e := range p.errs {
		refused = append(refused, e.Field)
	}
	for _, e := range p.spec.refusals() {
		if !slices.Contains(refused, e.Field) {
			p.locate(e)
			p.errs = append(p.errs, e)
		}
	}
}

// integer reads plain decimal digits.
func (p *parser) integer(field string, w word) int64 {
	p.at[field] = w
	digits := strings.TrimPrefix(w.text, "-")
	v, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case w.text == "":
		p.fail(field, w, "a whole number is missing", missingRemedy(field))
	case strings.Trim(digits, "0123456789") != "" || digits == "":
		p.fail(field, w, "not a whole number", digitsRemedy(field, w.text))
	case digits != w.text || strings.Trim(digits, "0") == "":
		p.tooSmall(field, w)
	case digits[0] == '0':
		p.fail(field, w, "leading zeros are read as octal elsewhere", "write "+strings.TrimLeft(digits, "0"))
	case errors.Is(err, strconv.ErrRange):
		p.fail(field, w, "too large to count exactly", "write a smaller one")
	default:
		return v
	}
	return 2 // which every field may have
}

// missingRemedy shows how a number stands behind the word of its field.
func missingRemedy(field string) string {
	switch field {
	case "count":
		return `write a rate such as "10/min"`
	case "overdraft":
		return "write overdraft 500"
	default:
		return "write " + field + " 20"
	}
}

// tooSmall refuses 0 and less, and tells what may have been meant.
func (p *parser) tooSmall(field string, w word) {
	switch field {
	case "count":
		p.fail(field, w, "a limit admits at least 1", countRemedy)
	case "burst":
		p.fail(field, w, "a bucket must hold at least 1 unit", burstRemedy)
	default:
		p.fail(field, w, "it is at least 1", "leave it out")
	}
}

const unitList = "write s, min, h, day, week or month"

// unit reads what stands behind the slash.
func (p *parser) unit(w word) {
	p.at["period"] = w
	period, named := periodOf(w.text)
	switch {
	case named:
		p.spec.Period, p.spec.Month = period, period == 0
	case w.text == "m":
		p.fail("period", w, "minutes or months?", `write "min" or "month"`)
	case w.text == "":
		p.fail("period", w, "a unit is missing", unitList)
	default:
		p.fail("period", w, "unknown unit", unitList)
	}
}

// periodOf is the period of a unit as the grammar has it, 0 of a month.
func periodOf(unit string) (period time.Duration, ok bool) {
	switch unit {
	case "s", "sec", "second":
		return time.Second, true
	case "min", "minute":
		return time.Minute, true
	case "h", "hour":
		return time.Hour, true
	case "day":
		return duration.Day, true
	case "week":
		return duration.Week, true
	}
	return 0, unit == "month"
}

// duration reads the next word as a positive duration.
func (p *parser) duration(field string) time.Duration {
	w := p.value(field)
	if w.text != "" && isLetter(w.text[0]) && p.isSpan() {
		p.fail(field, w, "unknown word before a duration", "leave it out")
		return p.duration(field)
	}
	d, problem := duration.Read(w.text)
	switch span := p.spanAt(w); {
	case span != "" && span != w.text:
		return p.looseSpan(field, word{p.readFrom(w.offset), w.offset}, span)
	case problem != "":
		p.fail(field, w, problem, duration.Remedy)
		return time.Second
	}
	return d
}

// looseSpan reports a span in other words than a duration has them, and gives it.
func (p *parser) looseSpan(field string, w word, span string) time.Duration {
	p.at[field] = w
	longest, problem := duration.Longest-1, duration.TooLong
	if strings.HasPrefix(field, "block") {
		longest, problem = longestBlock, blockTooLong
	}
	d, _ := duration.Read(span)
	if d > longest {
		p.fail(field, w, problem, duration.AtMost(longest))
		return time.Second
	}
	problem = duration.NoDuration
	if strings.ContainsAny(w.text, " \t") {
		problem = "a duration is one word"
	}
	p.fail(field, w, problem, "write "+span)
	return d
}

// options reads the rest of a limit, in any order.
func (p *parser) options() {
	for p.pos < len(p.words) {
		w := p.next()
		if p.strayOfSlots(w) || p.rateOfSlots(w) || p.strayGrowth(w) {
			continue
		}
		if !isOption(w.text) {
			p.unknown(w)
			continue
		}
		if slices.Contains(p.seen, w.text) {
			p.fail("option", w, "it stands here twice", "leave one out")
		}
		p.seen = append(p.seen, w.text)
		p.at[w.text] = w
		if takesValue(w.text) && isTie(p.peek().text) {
			p.fail("option", p.next(), "a value stands behind a space", "leave it out")
		}
		p.option(w)
	}
}

func (p *parser) option(w word) {
	switch w.text {
	case "burst":
		p.spec.Burst = p.integer("burst", p.value("burst"))
	case "overdraft":
		p.spec.Overdraft = p.integer("overdraft", p.value("overdraft"))
	case "queue":
		p.spec.Queue = p.integer("queue", p.value("queue"))
	case "wait":
		p.spec.Wait = p.duration("wait")
	case "lease":
		p.spec.Lease = p.duration("lease")
	case "spread":
		p.spec.Spread = true
	case "calendar":
		p.choose(FixedWindow, w)
		p.calendar()
	case "block":
		p.spec.Block.For = p.duration("block")
		p.growth()
	default:
		for a := TokenBucket; a <= LeakyBucket; a++ {
			if w.text == a.String() {
				p.choose(a, w)
			}
		}
	}
}

// choose makes the limit one of an algorithm.
func (p *parser) choose(a Algorithm, w word) {
	if p.how != "" && p.spec.Algorithm != a {
		p.fail("option", w, "a limit has one algorithm", "keep this or "+p.how)
		p.clash = true
		return
	}
	p.how, p.spec.Algorithm = w.text, a
}

// calendar reads the zone.
func (p *parser) calendar() {
	w := p.value("calendar")
	p.spec.Zone = w.text
	if w.text == "" {
		p.fail("calendar", w, "a time zone is missing", "write one such as Europe/Berlin or UTC")
		p.spec.Zone = "UTC"
	} else if _, err := loadZone(w.text); err != nil {
		p.fail("calendar", w, err.Problem, err.Remedy)
	}
}
