package httplimit

import (
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A reader of the same fields without a thought for speed or length: grammars as
// expressions, numbers as fractions. It is what the readers are measured against.

// The grammar of RFC 9651, as far as RateLimit and RateLimit-Policy can have it.
const (
	refInteger = `-?[0-9]{1,15}`
	refDecimal = `-?[0-9]{1,12}\.[0-9]{1,3}`
	refString  = `"(?:[ !#-\[\]-~]|\\["\\])*"`
	refKey     = `[a-z*][a-z0-9_.*-]*`
	refBare    = `(?:` + refDecimal + `|` + refInteger + `|` + refString +
		`|[A-Za-z*][!#$%&'*+.^_` + "`" + `|~0-9A-Za-z:/-]*|:[A-Za-z0-9+/=]*:|\?[01]|@` + refInteger +
		`|%"(?:[ !#$&-~]|%[0-9a-f]{2})*")`
	refParam      = `; *` + refKey + `(?:=` + refBare + `)?`
	refListMember = refString + `(?:` + refParam + `)*`
	refDictMember = refKey + `(?:=` + refBare + `)?(?:` + refParam + `)*`
	refComma      = `[ \t]*,[ \t]*`
)

// refFields are the expressions, made once.
type refFields struct {
	list, listMember, dictionary, dictMember, param, number *regexp.Regexp
}

func newRefFields() *refFields {
	whole := func(member string) *regexp.Regexp {
		return regexp.MustCompile(`^ *` + member + `(?:` + refComma + member + `)*[ \t]*$`)
	}
	return &refFields{
		list:       whole(refListMember),
		listMember: regexp.MustCompile(`(` + refString + `)((?:` + refParam + `)*)`),
		dictionary: whole(refDictMember),
		dictMember: regexp.MustCompile(`(` + refKey + `)(?:=(` + refBare + `))?((?:` + refParam + `)*)`),
		param:      regexp.MustCompile(`; *(` + refKey + `)(?:=(` + refBare + `))?`),
		number:     regexp.MustCompile(`^[ \t]*([0-9]+(?:\.[0-9]+)?)[ \t]*$`),
	}
}

// text is what a String says, and what stands for it elsewhere.
func refText(quoted string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(quoted[1 : len(quoted)-1])
}

// members are those of a list, each with its parameters as they are written; ""
// holds the name. nil: the list is none.
func (f *refFields) members(lines []string) (all []map[string]string) {
	text := strings.Join(lines, ", ")
	if !f.list.MatchString(text) {
		return nil
	}
	for _, m := range f.listMember.FindAllStringSubmatch(text, -1) {
		one := map[string]string{"": refText(m[1])}
		params := f.param.FindAllStringSubmatch(m[2], -1)
		if len(params) > 32 {
			return nil
		}
		for _, p := range params {
			one[p[1]] = p[2]
		}
		all = append(all, one)
	}
	if len(all) > 32 {
		return nil
	}
	return all
}

// refHeader is what of a header is read: fields of no more than 32 lines, and 4 KiB.
func refHeader(h http.Header) http.Header {
	h = h.Clone()
	for name, lines := range h {
		if len(lines) > 32 || len(strings.Join(lines, ", "))+2 > 4096 {
			delete(h, name)
		}
	}
	return h
}

// integer is a whole number that is not negative.
func refCount(text string) (*big.Rat, bool) {
	if !regexp.MustCompile(`^` + refInteger + `$`).MatchString(text) {
		return nil, false
	}
	r, ok := new(big.Rat).SetString(text)
	return r, ok && r.Sign() >= 0
}

func seconds(n int64) *big.Rat { return big.NewRat(n, 1) }

// since is at less far in seconds, 0 where at is not later.
func refSince(at, far time.Time) *big.Rat {
	d := new(big.Rat).Sub(refInstant(at), refInstant(far))
	if d.Sign() < 0 {
		return new(big.Rat)
	}
	return d
}

func refInstant(at time.Time) *big.Rat {
	return new(big.Rat).Add(seconds(at.Unix()), big.NewRat(int64(at.Nanosecond()), 1e9))
}

// reset reads a reset, nil where it is none.
func (f *refFields) reset(text string, far time.Time) *big.Rat {
	more := func(at time.Time) *big.Rat {
		if at.Nanosecond() == 0 {
			at = at.Add(time.Second)
		}
		return refSince(at, far)
	}
	if m := f.number.FindStringSubmatch(text); m != nil {
		r, _ := new(big.Rat).SetString(m[1])
		if r.Cmp(seconds(1e11)) >= 0 {
			whole := new(big.Int).Quo(r.Num(), r.Denom())
			if whole.Cmp(big.NewInt(1e15)) > 0 {
				return seconds(1e12) // far behind the end of every span
			}
			return more(time.UnixMilli(whole.Int64()))
		}
		if r.Cmp(seconds(1e9)) >= 0 {
			whole := new(big.Int).Quo(r.Num(), r.Denom()).Int64()
			part := new(big.Rat).Sub(r, seconds(whole))
			part.Mul(part, seconds(1e9))
			return more(time.Unix(whole, new(big.Int).Quo(part.Num(), part.Denom()).Int64()))
		}
		return r
	}
	text = strings.Trim(text, " \t")
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return big.NewRat(int64(d), 1e9)
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return more(at)
	}
	if at, err := http.ParseTime(text); err == nil {
		return more(at)
	}
	return nil
}

// span is a number of seconds as a Duration, cut to whole nanoseconds and to what
// one can hold.
func refSpan(r *big.Rat) time.Duration {
	n := new(big.Rat).Mul(r, seconds(1e9))
	whole := new(big.Int).Quo(n.Num(), n.Denom())
	if !whole.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(whole.Int64())
}

// refStatement is one that an answer makes of a quota.
type refStatement struct {
	quota quotaName
	left  *big.Rat // nil: how much is left is not said
	reset *big.Rat
}

func (f *refFields) statements(h http.Header, far time.Time) (all []refStatement) {
	if m := f.number.FindStringSubmatch(h.Get("Age")); m != nil && strings.Trim(strings.Split(m[1], ".")[0], "0") != "" {
		return nil
	}
	members, policies := f.members(h["Ratelimit"]), f.members(h["Ratelimit-Policy"])
	var names []string
	for _, m := range members {
		name := m[""]
		if len(name) > 64 {
			name = name[:64]
		}
		before := 0
		for _, other := range names {
			if other == name {
				before++
			}
		}
		names = append(names, name)
		r, t := "r", "t"
		left, ok := refCount(m[r])
		if !ok {
			r, t = "a", "w"
			left, ok = refCount(m[r])
		}
		if !ok {
			continue
		}
		reset, timed := refCount(m[t])
		unit := `"requests"`
		if i := slices.IndexFunc(policies, func(p map[string]string) bool { return p[""] == m[""] }); i >= 0 {
			if qu := policies[i]["qu"]; strings.HasPrefix(qu, `"`) && qu != `""` {
				unit = qu
			}
			if !timed {
				reset, timed = refCount(policies[i]["w"])
			}
		}
		other := unit != `"requests"` && unit != `"request"`
		if timed && unit != `"concurrent-requests"` && !(other && left.Sign() > 0) {
			all = append(all, refStatement{quotaName{name, before}, left, reset})
		}
	}
	if text := strings.Join(h["Ratelimit"], ", "); members == nil && f.dictionary.MatchString(text) {
		said := map[string]string{}
		pairs := f.dictMember.FindAllStringSubmatch(text, -1)
		long := len(pairs) > 32
		for _, m := range pairs {
			said[m[1]] = m[2]
			long = long || len(f.param.FindAllString(m[3], -1)) > 32
		}
		left, ok := refCount(said["remaining"])
		reset, timed := refCount(said["reset"])
		if ok && timed && !long {
			all = append(all, refStatement{left: left, reset: reset})
		}
	}
	said := slices.DeleteFunc(slices.Clone(all), func(s refStatement) bool { return refSpan(s.reset) == 0 })
	for _, names := range families {
		for i, text := range h[names.reset] {
			s := refStatement{quota: quotaName{names.remaining, i}, reset: f.reset(text, far)}
			if s.reset == nil {
				continue
			}
			if i < len(h[names.remaining]) {
				if m := f.number.FindStringSubmatch(h[names.remaining][i]); m != nil {
					r, _ := new(big.Rat).SetString(strings.Split(m[1], ".")[0])
					same := func(s refStatement) bool { return s.left.Cmp(r) == 0 }
					if !names.units && !slices.ContainsFunc(said, same) || names.units && r.Sign() == 0 {
						s.left = r
					}
				}
			}
			all = append(all, s)
		}
	}
	return slices.DeleteFunc(all, func(s refStatement) bool { return refSpan(s.reset) == 0 })
}

// advice is what readAdvice is to find, its spans cut to most.
func (f *refFields) advice(status int, h http.Header, now time.Time, most time.Duration) advice {
	h = refHeader(h)
	far := now
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		far = date
	}
	span := func(r *big.Rat) time.Duration { return min(most, refSpan(r)) }
	var longest, usedUp time.Duration
	var stated []statement
	for _, s := range f.statements(h, far) {
		longest = max(longest, span(s.reset))
		if s.left == nil {
			continue
		}
		left := int64(math.MaxInt64)
		if n := s.left.Num(); n.IsInt64() {
			left = n.Int64()
		}
		stated = append(stated, statement{s.quota, left, span(s.reset)})
		if left == 0 {
			usedUp = max(usedUp, span(s.reset))
		}
	}
	wait, said := f.wait(h, far)
	switch {
	case said && (status == 429 || status == 403 || status == 503):
		return advice{refused: true, wait: span(wait), stated: stated}
	case usedUp > 0 && (status == 429 || status == 403):
		return advice{refused: true, wait: usedUp, stated: stated}
	case status == 429:
		return advice{refused: true, wait: longest, stated: stated}
	}
	return advice{stated: stated}
}

func (f *refFields) wait(h http.Header, far time.Time) (longest *big.Rat, said bool) {
	for _, field := range []struct {
		name string
		unit int64
	}{{"Retry-After-Ms", 1000}, {"Retry-After", 1}, {"X-Ratelimit-Retry-After", 1}} {
		for _, text := range h[field.name] {
			var one *big.Rat
			if m := f.number.FindStringSubmatch(text); m != nil {
				one, _ = new(big.Rat).SetString(m[1])
				one.Quo(one, seconds(field.unit))
			} else if at, err := http.ParseTime(strings.Trim(text, " \t")); err == nil {
				one = refSince(at, far)
			}
			if one != nil && (longest == nil || one.Cmp(longest) > 0) {
				longest = one
			}
		}
		if longest != nil {
			return longest, true
		}
	}
	return nil, false
}
