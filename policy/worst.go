package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/internal/duration"
)

// WorstCase is what one limit comes to at its worst, and what it costs the table.
// Nothing in it depends on traffic.
type WorstCase struct {
	Rule  string `json:"rule"`           // the rule's name
	Plan  string `json:"plan,omitempty"` // "" where the rule has none
	Limit string `json:"limit"`          // the limit's name
	Text  string `json:"text"`           // the limit itself

	// Period is the limit's own: of months 30 days. PerPeriod and PerDay are the
	// most units of one caller that can pass within that time, and within 24
	// hours: see weir.Limit.Most, also for what may come on top. MaxInt64 stands for
	// whatever is more.
	Period    time.Duration `json:"period_ns"`
	PerPeriod int64         `json:"per_period,omitempty"`
	PerDay    int64         `json:"per_day,omitempty"`

	// AtOnce is how many requests of one caller may be in flight, of a limit that
	// bounds that and no number in a time; then Period, PerPeriod and PerDay are 0.
	AtOnce int64 `json:"at_once,omitempty"`

	// LongestDelay is the longest that a leaky bucket keeps a request waiting; what
	// can pass is counted as it goes on, by requests of the rule's own cost.
	LongestDelay time.Duration `json:"longest_delay_ns,omitempty"`

	// PinnedOne and PinnedFull are how long a caller holds a place in the table
	// after one unit, and after as many as fit. Of slots they are the lease: so
	// long does a caller hold it whose requests are not done.
	PinnedOne  time.Duration `json:"pinned_one_ns"`
	PinnedFull time.Duration `json:"pinned_full_ns"`

	// Keys is how many places are kept for the limit's rule whatever others do,
	// divided by those that a caller takes: one for each of its limits, and more
	// for a sliding log and for slots (weir.Limit.Memory). KeysPerSecond is how many
	// new callers a second that is enough for, if each sends one request. What is kept
	// is what the store says, where Source.Fits has asked one; else what the rule asks
	// for, or an equal part of the rest, of which a store may keep more for one rule
	// and less for another (see memstore.Config).
	Keys          int64 `json:"keys"`
	KeysPerSecond int64 `json:"keys_per_second"`

	// Bytes is what that many callers take under this limit, at most.
	Bytes int64 `json:"bytes"`
}

// bytesPerKey is what one place takes in memory, as measured: see
// TestFloodBytesPerKey.
const bytesPerKey = 32

// places is how many places one caller takes under some limits together.
func places(limits []*weir.Limit) (n int64) {
	for _, l := range limits {
		n += int64(l.Memory()) / bytesPerKey
	}
	return max(1, n)
}

// Worst gives the worst case of each version of each limit, in the order of the
// file.
func (p *Policy) Worst() []WorstCase {
	var list []WorstCase
	p.quotas(func(r *rule, q *quota, keys int64) {
		for _, l := range q.limits {
			list = append(list, worst(r, q.plan, l, keys))
		}
	})
	return list
}

// quotas goes through the quotas of all rules, each with how many callers there is room
// for under it.
func (p *Policy) quotas(do func(r *rule, q *quota, keys int64)) {
	share := p.shares()
	for i, r := range p.rules {
		r.eachQuota(func(q *quota) { do(r, q, share[i]/places(q.limits)) })
	}
}

// eachQuota goes through what callers may have under a rule, the default first, each once.
func (r *rule) eachQuota(do func(*quota)) {
	do(r.fallback)
	seen := map[*quota]bool{r.fallback: true}
	for q := range r.quotas() {
		if !seen[q] {
			seen[q] = true
			do(q)
		}
	}
}

func worst(r *rule, plan string, l *weir.Limit, keys int64) WorstCase {
	const month = 30 * 24 * time.Hour
	period := l.Spec().Period
	if l.Spec().Month {
		period = month
	}
	one, full := l.Pins()
	const day = 24 * time.Hour
	w := WorstCase{
		Rule: r.Name, Plan: plan, Limit: l.Name(), Text: l.String(),
		Period: period, PerPeriod: l.Most(micros(period)), PerDay: l.Most(micros(day)),
		PinnedOne: one.Duration(), PinnedFull: full.Duration(),
		Keys: keys, Bytes: keys * int64(l.Memory()),
	}
	if w.LongestDelay = l.LongestDelay().Duration(); l.Spec().Algorithm == weir.LeakyBucket {
		held := l.Capacity() - min(r.cost, l.Capacity()) // what one request could ask for beyond its cost
		w.PerPeriod, w.PerDay = without(w.PerPeriod, held), without(w.PerDay, held)
	}
	if inFlight(l) {
		w.AtOnce, w.PerDay = l.Capacity(), 0
	}
	w.KeysPerSecond = keys * int64(time.Second) / int64(max(w.PinnedOne, time.Microsecond))
	return w
}

// without takes units from what can pass, unless that is more than a number can say.
func without(most, units int64) int64 {
	if most == math.MaxInt64 {
		return most
	}
	return most - units
}

// micros is a duration in the store's unit.
func micros(d time.Duration) weir.Micros { return weir.Micros(d / time.Microsecond) }

// String is one line: `30/day fixed-window: up to 60 within 1d`, of a leaky bucket
// with how long it may take: `…, each after 1s at most`; of slots `…: up to 5 at once`.
func (w *WorstCase) String() string {
	if w.AtOnce > 0 {
		return fmt.Sprintf("%s: up to %s at once", w.Text, grouped(w.AtOnce))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: up to %s within %s", w.Text, atMost(w.PerPeriod), duration.Format(w.Period))
	if w.Period < 24*time.Hour {
		fmt.Fprintf(&b, ", %s within 24h", atMost(w.PerDay))
	}
	if w.LongestDelay > 0 {
		fmt.Fprintf(&b, ", each after %s at most", duration.Format(w.LongestDelay))
	}
	return b.String()
}

// Room is one line: `room for 87,500 callers (14,000 kB), 14,583 new ones a second;
// one is remembered for 6s to 1m`.
func (w *WorstCase) Room() string {
	if w.Keys == 0 {
		return "room for no caller"
	}
	if w.AtOnce > 0 {
		return fmt.Sprintf("room for %s with requests in flight (%s kB)", callers(w.Keys), grouped((w.Bytes+999)/1000))
	}
	held := duration.Format(w.PinnedOne)
	if w.PinnedFull > w.PinnedOne {
		held += " to " + duration.Format(w.PinnedFull)
	}
	count, unit := w.pace()
	return fmt.Sprintf("room for %s (%s kB), %s %s; one is remembered for %s", callers(w.Keys), grouped((w.Bytes+999)/1000), newOnes(count), unit, held)
}

// pace is how many new callers the room is enough for in the shortest time in
// which there are some: a rate that is rounded to 0 or 1 says nothing.
func (w *WorstCase) pace() (count int64, unit string) {
	const some = 10
	for _, each := range []struct {
		time time.Duration
		name string
	}{{time.Second, "a second"}, {time.Minute, "a minute"}, {time.Hour, "an hour"}, {24 * time.Hour, "a day"}} {
		// At most 1e8 places by 8.64e10 µs: it fits.
		count, unit = w.Keys*int64(micros(each.time))/max(1, int64(micros(w.PinnedOne))), each.name
		if count >= some {
			break
		}
	}
	return count, unit
}

// grouped prints a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// atMost prints how much can pass: MaxInt64 is less than the truth.
func atMost(n int64) string {
	if n == math.MaxInt64 {
		return "more than " + grouped(n-1)
	}
	return grouped(n)
}

// newOnes counts new callers, as a sentence does.
func newOnes(n int64) string {
	if n == 1 {
		return "1 new one"
	}
	return grouped(n) + " new ones"
}

// callers counts some, as a sentence does.
func callers(n int64) string {
	switch n {
	case 0:
		return "no caller"
	case 1:
		return "1 caller"
	}
	return grouped(n) + " callers"
}

// shares is how many places of the table are kept for each rule: what the store says, or,
// where none was asked, what the rule asks for, or an equal part of what is left.
func (p *Policy) shares() []int64 {
	list := make([]int64, len(p.rules))
	rest, unnamed := roomFor(p.config.Memory.Keys())-p.asks(), 0
	for _, r := range p.rules {
		if r.asks() == 0 && len(r.Limits) > 0 {
			unnamed++
		}
	}
	for i, r := range p.rules {
		switch n := r.asks(); {
		case p.kept != nil:
			list[i] = int64(p.kept[r.Name])
		case n > 0 || unnamed == 0:
			list[i] = int64(n)
		default:
			list[i] = int64(max(0, rest) / unnamed)
		}
	}
	return list
}

// longWait is as long as clients and proxies commonly wait for an answer.
const longWait = time.Minute

// lintRoom looks at what limits ask of those who wait, and of a memory that a restart
// forgets.
func (c *compiler) lintRoom() {
	all := c.policy.Worst()
	for _, r := range c.policy.rules {
		path := r.field
		if r.config.Limit != "" {
			path += ".limit"
		}
		const day = 24 * time.Hour
		for _, w := range all {
			if w.Rule != r.Name {
				continue
			}
			if w.Period > day {
				c.warn("long-period", path, fmt.Sprintf("limit %s has a period over a day, and what has been used lies in memory alone: a restart forgets it", w.Text),
					"if the period is meant, accept that, and restart rarely")
			}
			if w.LongestDelay > longWait {
				c.warn("long-wait", path, fmt.Sprintf("limit %s keeps a request waiting for up to %s: whoever has sent it has given up by then, or a proxy between", w.Text, duration.Format(w.LongestDelay)),
					"write a shorter wait, such as wait 10s: who would wait longer is refused and told when to come back")
			}
		}
	}
}
