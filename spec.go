package weir

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// Algorithm says how a limit counts.
type Algorithm uint8

// The algorithms, and the two words that need none. Each one's bound stands
// in docs/limitations.md and at its type in package algorithm.
const (
	TokenBucket   Algorithm = iota // a burst at once, refilled evenly
	FixedWindow                    // a count per window of a grid
	SlidingWindow                  // two counters, the earlier of which weighs less and less
	SlidingLog                     // every charge remembered, for one period
	LeakyBucket                    // a queue that drains evenly
	Concurrency                    // so many at once, each of which holds a slot
	Unlimited                      // no limit at all, and no cost
	Deny                           // nothing passes, and nothing is charged
)

// String is the word that a limit's text has for it: token-bucket,
// fixed-window, …
func (a Algorithm) String() string {
	words := [...]string{"token-bucket", "fixed-window", "sliding-window", "sliding-log", "leaky-bucket", "concurrent", "unlimited", "deny"}
	if int(a) >= len(words) {
		return "unknown"
	}
	return words[a]
}

// Spec is a limit as it is written, in a rules file or in Go: the two can say
// the same. Its text form is read by [ParseSpec] and written by String. The
// zero Spec is invalid, for its Count is 0.
type Spec struct {
	// Algorithm says how to count; the zero value is the token bucket.
	Algorithm Algorithm

	// Count is how many units each Period brings (of a concurrency limit: how
	// many at once), 1 or more; at most 4095 of a sliding log and of a concurrency
	// limit, which remember each.
	Count int64

	// Period is a whole number of microseconds, from 1 µs to less than 142
	// years, or to 71 years of a sliding window. It is 0 for a calendar month, and
	// for limits that have none.
	Period time.Duration

	// Burst is how many units a token bucket holds; 0 means Count.
	Burst int64

	// Overdraft is the most debt in units that a settlement above its estimate
	// may reach, at least the capacity; 0 means twice the capacity, or what
	// can be accepted where that is less. Buckets, windows and logs only. Of a
	// sliding log 0 means the count itself, and 4095 is the most: a store keeps
	// room for as many charges of each key (Limit.Memory).
	Overdraft int64

	// Zone makes the windows calendar days, weeks (from Monday) or months of
	// an IANA time zone such as Europe/Berlin. Fixed window only.
	Zone string

	// Month makes the windows calendar months. It needs a Zone and no Period.
	Month bool

	// Spread begins each key's windows at an instant of its own, so that not
	// all callers return at the same edge. Windows without a Zone only.
	Spread bool

	// Wait is the longest that a leaky bucket holds a request, whole
	// microseconds; Queue is how many units it holds at once. One of them may be
	// 0, and then the other is the bound. A request of several units is held
	// where the last of them, were they requests of their own, would wait no
	// longer and stand behind no more.
	Wait  time.Duration
	Queue int64

	// Lease is how long a concurrency slot lasts without being renewed: a
	// millisecond or more, 0 means a minute.
	Lease time.Duration

	// Block refuses everything for a time after a refusal. Rates only.
	Block Block
}

// Block is the penalty after a refusal: nothing passes any more for For, of the key
// that was refused and under the limit that refused it. What is refused meanwhile
// makes it no longer. Each further strike (a refusal after a block) multiplies that by
// Factor, up to Max, unless as much time has passed since the last block as it lasted.
// Factor 0 means that it stays the same. A cost that can never pass is no strike.
// Periods are from 1 µs to less than 71 years. The zero Block is none.
type Block struct {
	For    time.Duration // the first block
	Factor int64         // 2 or more, or 0 for blocks that stay the same
	Max    time.Duration // the longest block; 0 where Factor is
}

// Slot is the default name of the limit among the limits of one rule: its
// period, such as 1s, 1m, 1d, 1mo, or "slots" for a concurrency limit.
func (s Spec) Slot() string {
	switch {
	case s.Algorithm == Unlimited || s.Algorithm == Deny:
		return s.Algorithm.String()
	case s.Algorithm == Concurrency:
		return "slots"
	case s.Month:
		return "1mo"
	}
	return duration.Format(s.Period)
}

// The remedies that both a text and a Spec are told.
const (
	countRemedy  = `write 1 or more; "deny" refuses everything, "unlimited" limits nothing`
	burstRemedy  = `leave it out for a burst of the count, or write "burst 1" for none`
	factorRemedy = "leave it and the max out for a block that stays the same"
)

// Validate refuses a Spec that no algorithm could keep, with every reason at
// once, each a [*FieldError]. What it takes a calculation or a look at the time
// zones to find is refused by [NewLimit].
func (s Spec) Validate() error { return joined(s.refusals()) }

func (s Spec) refusals() []*FieldError {
	var list []*FieldError
	add := func(field string, value any, problem, remedy string) {
		list = append(list, Invalid(field, value, problem, remedy))
	}
	switch {
	case s.Algorithm > Deny:
		add("algorithm", uint8(s.Algorithm), "no such algorithm", "use one of the constants")
	case s.Algorithm == Unlimited || s.Algorithm == Deny:
		if s != (Spec{Algorithm: s.Algorithm}) {
			add("limit", s.Algorithm, "it takes no numbers and no options", "leave them out")
		}
	default:
		s.checkCount(add)
		s.checkPeriod(add)
		s.checkOptions(add)
		s.checkCalendar(add)
		s.checkBlock(add)
	}
	return list
}

// complain collects one refusal.
type complain func(field string, value any, problem, remedy string)

// mostCount is the largest count that is exact.
const mostCount = int64(algorithm.MaxMicros) - 1

func (s Spec) checkCount(add complain) {
	switch {
	case s.Count < 1:
		add("count", s.Count, "a limit admits at least 1", countRemedy)
	case s.Count > mostCount:
		add("count", s.Count, "too large to count exactly", s.fewer())
	}
}

// fewer says what is written in the place of a count that is too large.
func (s Spec) fewer() string {
	switch remembered := s.Algorithm == SlidingLog || s.Algorithm == Concurrency; {
	case remembered:
		return fmt.Sprintf("write at most %d", algorithm.MostEntries)
	case s.Algorithm == FixedWindow:
		return fmt.Sprintf("write at most %d", mostCount)
	}
	return "write a smaller one" // how much smaller depends on the period
}

func (s Spec) checkPeriod(add complain) {
	switch {
	case s.Algorithm == Concurrency && s.Month:
		add("period", "month", "a concurrent limit has none", "leave it out")
	case s.Algorithm == Concurrency && s.Period != 0:
		add("period", s.Period, "a concurrent limit has none", "leave it out")
	case s.Algorithm == Concurrency || s.Month && s.Period == 0:
	case s.Month:
		add("period", s.Period, "a calendar month has no other period", "leave one of the two out")
	case s.Algorithm == SlidingWindow && s.Period > duration.Longest/2 && s.Period < duration.Longest:
		add("period", s.Period, "a sliding window lasts at most 26062d", duration.AtMost(duration.Longest/2))
	default:
		checkSpan(add, "period", s.Period)
	}
}

// checkSpan refuses a duration that no clock of whole microseconds can keep.
func checkSpan(add complain, field string, d time.Duration) {
	if problem, remedy := duration.Check(d); problem != "" {
		add(field, d, problem, remedy)
	}
}

// only refuses an option that is set and belongs to other algorithms. It
// reports whether the option is there to be checked.
func (s Spec) only(add complain, set bool, field string, value any, algorithms ...Algorithm) bool {
	if !set || slices.Contains(algorithms, s.Algorithm) {
		return set
	}
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.String()
	}
	add(field, value, fmt.Sprintf("a %s limit has none", s.Algorithm), "it goes with "+strings.Join(names, ", "))
	return false
}

func (s Spec) checkOptions(add complain) {
	if s.only(add, s.Burst != 0, "burst", s.Burst, TokenBucket) && s.Burst < 0 {
		add("burst", s.Burst, "a bucket must hold at least 1 unit", burstRemedy)
	}
	if s.only(add, s.Overdraft != 0, "overdraft", s.Overdraft, TokenBucket, LeakyBucket, FixedWindow, SlidingWindow, SlidingLog) && s.Overdraft < 0 {
		add("overdraft", s.Overdraft, "a debt is not negative", "leave it out for twice the capacity")
	}
	if s.only(add, s.Queue != 0, "queue", s.Queue, LeakyBucket) && s.Queue < 0 {
		add("queue", s.Queue, "a queue holds at least 1", "leave it out to bound it by wait alone")
	}
	if s.only(add, s.Wait != 0, "wait", s.Wait, LeakyBucket) {
		checkSpan(add, "wait", s.Wait)
	}
	if s.Algorithm == LeakyBucket && s.Wait == 0 && s.Queue == 0 {
		add(s.Algorithm.String(), "", "nothing bounds its queue", `add "wait 2s", or "queue 20", or both`)
	}
	if s.only(add, s.Lease != 0, "lease", s.Lease, Concurrency) {
		checkSpan(add, "lease", s.Lease)
	}
	s.only(add, s.Spread, "spread", "", FixedWindow, SlidingWindow)
}

func (s Spec) checkCalendar(add complain) {
	switch {
	case s.Zone == "" && s.Month && s.Algorithm != Concurrency:
		add("period", "month", "months differ in length", `add "calendar ZONE", or write "per 30d"`)
	case s.Zone == "":
	case s.Algorithm != FixedWindow:
		add("calendar", s.Zone, "only fixed windows have a calendar", "make it a fixed-window limit")
	case s.Spread:
		add("spread", "", "a calendar's edges are the same for everybody", "leave spread or calendar out")
	case !s.Month && s.Period != duration.Day && s.Period != duration.Week:
		add("calendar", s.Zone, "a calendar has days, weeks and months", "write /day, /week or /month")
	}
}

func (s Spec) checkBlock(add complain) {
	b := s.Block
	switch {
	case b == (Block{}):
		return
	case s.Algorithm == Concurrency:
		add("block", b.For, "a concurrent limit has none", "it goes with a rate")
		return
	}
	checkBlockSpan(add, "block", b.For)
	switch {
	case b.Factor == 0 && b.Max == 0:
	case b.Factor == 0:
		add("block max", b.Max, "a block that stays the same has none", "leave it out")
	case b.Factor < 2:
		add("block factor", b.Factor, "it multiplies by at least 2", factorRemedy)
	case b.Max < b.For:
		add("block max", b.Max, "shorter than the first block", "write "+duration.Format(b.For)+" or more")
	default:
		checkBlockSpan(add, "block max", b.Max)
	}
}

// longestBlock is below 71 years: strikes are remembered for twice as long.
const (
	longestBlock = duration.Longest/2 - time.Microsecond
	blockTooLong = "it lasts at most 26062d" // as duration.TooLong
)

func checkBlockSpan(add complain, field string, d time.Duration) {
	if d > longestBlock {
		add(field, d, blockTooLong, duration.AtMost(longestBlock))
		return
	}
	checkSpan(add, field, d)
}
