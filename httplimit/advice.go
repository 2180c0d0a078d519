package httplimit

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// advice is what one answer of the far side says of further requests. Spans count
// from when the answer came.
type advice struct {
	refused bool          // the request was not let in
	wait    time.Duration // of a refusal: until the next makes sense; 0: it does not say

	stated []statement // what is left, of each quota that it speaks of
}

// statement is what an answer says of one quota.
type statement struct {
	quota quotaName
	left  int64         // requests that may still go before reset
	reset time.Duration // more than 0
}

// quotaName tells the quotas of one far side apart: by the name of a policy or of a
// field, and by how many of the same name stand before it, since proxies add
// statements of their own to what they pass on.
type quotaName struct {
	name string // no more than mostName bytes of it
	nth  int
}

// mostName is how much of a name is kept.
const mostName = 64

// readAdvice reads an answer that came at now, by our wall clock. What is malformed
// counts as absent.
//
// Retry-After goes before everything else (draft-ietf-httpapi-ratelimit-headers-11,
// section 7), and where there is none a refusal waits for the quota that is used up,
// or for the longest reset that it names. 403 is a refusal where it says when to
// come back, or that nothing is left: some APIs use it so. 503 is one with
// Retry-After alone.
func readAdvice(status int, h http.Header, now time.Time) advice {
	far := farTime(h, now)
	q := readQuotas(h, far)
	usedUp := q.usedUp()
	wait, said := readRetryAfter(h, far)
	switch {
	case said && (status == http.StatusTooManyRequests || status == http.StatusForbidden || status == http.StatusServiceUnavailable):
		return advice{refused: true, wait: wait, stated: q.stated}
	case usedUp > 0 && (status == http.StatusTooManyRequests || status == http.StatusForbidden):
		return advice{refused: true, wait: usedUp, stated: q.stated}
	case status == http.StatusTooManyRequests:
		return advice{refused: true, wait: q.longest, stated: q.stated}
	}
	return advice{stated: q.stated}
}

// speaksOf reports whether the answer states what is left of a quota.
func (a *advice) speaksOf(quota quotaName) bool {
	return slices.ContainsFunc(a.stated, func(s statement) bool { return s.quota == quota })
}

// mostField is how long a field may be that is read, in bytes, its lines and what
// joins them together. All that mean something are shorter by far: what is longer
// only takes time and room, and is malformed.
const mostField = 4 << 10

// lines are those of a field, or none of one that is too long or has too many.
func lines(h http.Header, name string) []string {
	all, size := h[name], 0
	for _, line := range all {
		size += len(line) + len(", ")
	}
	if len(all) > mostMembers || size > mostField {
		return nil
	}
	return all
}

// line is the first line of a field.
func line(h http.Header, name string) string {
	for _, first := range lines(h, name) {
		return first
	}
	return ""
}

// farTime is the time of the far side's clock when the answer was made: what
// instants that it names are measured from, so that it does not matter how wrong
// that clock is. A Date has whole seconds, rounded down: no wait comes out too
// short by it. Where there is none, our clock stands for theirs.
func farTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(line(h, "Date")); err == nil {
		return date
	}
	return now
}

// quotas is what an answer says of how much is left.
type quotas struct {
	stated  []statement
	longest time.Duration // the longest reset that is named at all
}

// add takes in one statement. What is over already says nothing.
func (q *quotas) add(name string, nth int, left int64, reset time.Duration) {
	if reset <= 0 {
		return
	}
	q.longest = max(q.longest, reset)
	q.stated = append(q.stated, statement{quotaName{name, nth}, left, reset})
}

// usedUp is when all is there again of which nothing is left; 0 where something is
// left of everything.
func (q *quotas) usedUp() (reset time.Duration) {
	for _, s := range q.stated {
		if s.left == 0 {
			reset = max(reset, s.reset)
		}
	}
	return reset
}

// readQuotas reads the RateLimit fields of all revisions of the draft, and those
// that came before it. An answer that a cache has kept says nothing (section 7.3).
func readQuotas(h http.Header, far time.Time) quotas {
	var q quotas
	if age, _, ok := readNumber(line(h, "Age")); ok && age > 0 {
		return q
	}
	q.addRateLimit(lines(h, "Ratelimit"), lines(h, "Ratelimit-Policy"))
	var said []int64
	for _, s := range q.stated {
		said = append(said, s.left)
	}
	for _, f := range families {
		q.addFamily(h, f, far, said)
	}
	return q
}

// addRateLimit reads the field RateLimit. Its parameters are r and t in revisions
// 08 to 11; a and w are what is proposed to follow.
func (q *quotas) addRateLimit(lines, policies []string) {
	states := readList(lines)
	if states == nil {
		q.addDictionary(readDictionary(lines))
		return
	}
	rules, seen := readList(policies), map[string]int{}
	for i := range states {
		s := &states[i]
		left, ok := s.param("r").count()
		window, timed := s.param("t").count()
		if !ok {
			left, ok = s.param("a").count()
			window, timed = s.param("w").count()
		}
		unit, longest := policyOf(rules, s.name)
		if !timed {
			window = longest // the window is no longer than that
		}
		name := strings.Clone(s.name[:min(len(s.name), mostName)])
		if ok && counts(unit, left) {
			q.add(name, seen[name], left, inSeconds(window))
		}
		seen[name]++
	}
}

// atOnce is the unit of quotas of slots, which come back when their holders are done
// (section 3.1.2): they say nothing of later requests.
const atOnce = "concurrent-requests"

// counts reports whether what is left of a quota in another unit says anything of
// requests to come: of bytes and the like once there are none.
func counts(unit string, left int64) bool {
	switch unit {
	case "", "request", "requests": // the registry and the text of the draft differ
		return true
	case atOnce:
		return false
	}
	return left == 0
}

// policyOf finds a policy's unit and its window in seconds.
func policyOf(rules []member, name string) (unit string, window int64) {
	for i := range rules {
		if rules[i].name == name {
			window, _ = rules[i].param("w").count()
			return rules[i].param("qu").text, window
		}
	}
	return "", 0
}

// addDictionary reads `limit=100, remaining=50, reset=5`, revision 07.
func (q *quotas) addDictionary(members []member) {
	var left, reset int64
	var ok, timed bool
	for _, m := range members {
		switch m.name {
		case "remaining":
			left, ok = m.value.count()
		case "reset":
			reset, timed = m.value.count()
		}
	}
	if ok && timed {
		q.add("", 0, left, inSeconds(reset))
	}
}

// family is a pair of fields that many send in place of RateLimit.
type family struct {
	remaining string
	reset     string
	units     bool // not of requests: it matters once none is left
}

// families are those of revisions 00 to 06 of the draft, of GitHub and those who
// followed it, of Twitter and Okta, of Discord, and of services that count tokens.
var families = [...]family{
	{remaining: "Ratelimit-Remaining", reset: "Ratelimit-Reset"},
	{remaining: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset"},
	{remaining: "X-Rate-Limit-Remaining", reset: "X-Rate-Limit-Reset"},
	{remaining: "X-Ratelimit-Remaining-Requests", reset: "X-Ratelimit-Reset-Requests"},
	{remaining: "X-Ratelimit-Remaining-Tokens", reset: "X-Ratelimit-Reset-Tokens", units: true},
	{remaining: "Anthropic-Ratelimit-Requests-Remaining", reset: "Anthropic-Ratelimit-Requests-Reset"},
	{remaining: "Anthropic-Ratelimit-Tokens-Remaining", reset: "Anthropic-Ratelimit-Tokens-Reset", units: true},
	{remaining: "Anthropic-Ratelimit-Input-Tokens-Remaining", reset: "Anthropic-Ratelimit-Input-Tokens-Reset", units: true},
	{remaining: "Anthropic-Ratelimit-Output-Tokens-Remaining", reset: "Anthropic-Ratelimit-Output-Tokens-Reset", units: true},
}

// addFamily reads one pair of fields. Where proxies have added lines of their own,
// the first of one belongs to the first of the other, and so on. One that has as much
// left as RateLimit has said already says the same again, less well: its reset is
// often when all is there again, and not when anything is.
func (q *quotas) addFamily(h http.Header, f family, far time.Time, said []int64) {
	counts := lines(h, f.remaining)
	for i, text := range lines(h, f.reset) {
		reset, ok := readReset(text, far)
		if !ok {
			continue
		}
		q.longest = max(q.longest, reset)
		if i >= len(counts) {
			continue
		}
		left, _, ok := readNumber(counts[i])
		again := !f.units && slices.Contains(said, left)
		if ok && !again && (left == 0 || !f.units) {
			q.add(f.remaining, i, left, reset)
		}
	}
}
