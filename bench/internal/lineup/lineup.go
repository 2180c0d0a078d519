package lineup

import (
	"time"
)

// A Verdict is what a limiter says of one ask.
type Verdict uint8

// The verdicts.
const (
	Refused Verdict = iota // the limit says no
	Allowed                // one unit is charged
	Failed                 // an error instead of a decision
)

// verdict is that of a limiter that knows no errors.
func verdict(allowed bool) Verdict {
	if allowed {
		return Allowed
	}
	return Refused
}

// An Ask takes one unit for a key. It belongs to one goroutine.
type Ask func(key string) Verdict

// A Quota is what a limiter is told to allow each key: Count units every Per,
// and Burst at once where a limiter can tell the two apart.
type Quota struct {
	Count int64
	Per   time.Duration
	Burst int64
}

// perSecond is the rate as most limiters want it.
func (q Quota) perSecond() float64 { return float64(q.Count) / q.Per.Seconds() }

// Ample is a quota that nobody exhausts, 10⁹ a second: every decision is allowed
// and written. It is told by the hour, so that no window ends and no counter is
// thrown away while somebody measures, and has a burst of a thousand seconds, so
// that a key that has been put in debt stays worth its place for as long.
func Ample() Quota {
	return Quota{Count: 3_600_000_000_000, Per: time.Hour, Burst: 1_000_000_000_000}
}

// Spent is a quota that a key's first ask exhausts: every other is refused.
func Spent() Quota { return Quota{Count: 1, Per: time.Hour, Burst: 1} }

// Lasting is a quota by which one ask is remembered for an hour, and that no caller
// of the measures exhausts who does not mean to: 20,000 at once and one an hour.
func Lasting() Quota { return Quota{Count: 20_000, Per: 20_000 * time.Hour, Burst: 20_000} }

// A Limiter is one contender at work.
type Limiter struct {
	// Ask makes what one goroutine asks with.
	Ask func() Ask
	// Fill puts a key into the table before anything is measured; nil means
	// that Ask does.
	Fill Ask
	// Check says what is wrong with a filled table; nil means nothing can be.
	Check func(keys int) error
	// Room is the most keys that it holds; 0 means that there is no bound.
	Room int
	// Count says how many keys it holds, and how many it has freed by itself
	// since it was made; nil means that it does not tell.
	Count func() (held, freed int)
	// Close ends what the limiter has started; nil means nothing.
	Close func()
}

// A Kind says what a contender is compared as.
type Kind uint8

// The kinds.
const (
	Floor   Kind = iota // no limiter: what nothing can be faster than
	Weir                // ours
	Keyed               // a limiter of many keys
	Counter             // decides by key in two steps, between which others pass: not exact
	Single              // a limiter of one key
)

// An Algorithm says what a limiter may admit.
type Algorithm uint8

// The algorithms.
const (
	None        Algorithm = iota // admits everything
	TokenBucket                  // the burst, and the rate
	Spaced                       // one at once, and the rate
	FixedWindow                  // the count in each window, the first of which begins with the limiter or its first ask
	TwoWindows                   // the count, and the rate: two weighted counters
)

// String is the algorithm in words.
func (a Algorithm) String() string {
	return [...]string{"none", "token bucket", "spaced", "fixed window", "two windows"}[a]
}

// Most is the bound of the algorithm: how many asks of one key it may admit
// within a time. It is 0 where there is none.
func (a Algorithm) Most(q Quota, t time.Duration) int64 {
	flow := int64(q.perSecond() * t.Seconds())
	switch a {
	case TokenBucket:
		return q.Burst + flow
	case Spaced:
		return 1 + flow
	case FixedWindow:
		return q.Count * (int64(t/q.Per) + 1)
	case TwoWindows:
		return q.Count + flow
	default:
		return 0
	}
}

// A Contender is one way to limit.
type Contender struct {
	// Name is how tables call it.
	Name string
	// Module is where it comes from, for its version; empty for what is here.
	Module string
	// Kind and Algorithm say what it is.
	Kind      Kind
	Algorithm Algorithm
	// Waits means that it never refuses: it holds the caller instead.
	Waits bool
	// Bounded means that it never holds more keys than it has room for.
	Bounded bool
	// Remark is what a reader of its figures has to know.
	Remark string
	// New makes it, with room for that many keys where it wants to know.
	New func(q Quota, keys int) (*Limiter, error)
	// Aging makes it, with room for that many keys, under a quota of one a life,
	// so that it forgets whoever asked once: from a life after the ask on, and no
	// later than two lives after it was made itself where it looks for such keys
	// now and then. nil means that it never forgets a key.
	Aging func(life time.Duration, keys int) (*Limiter, error)
	// Forgets says how it does that.
	Forgets string
}

// One is the quota of Aging: one ask a life.
func One(life time.Duration) Quota { return Quota{Count: 1, Per: life, Burst: 1} }

// Refuses reports whether asks beyond the quota are refused.
func (c *Contender) Refuses() bool { return c.Algorithm != None && !c.Waits }

// All lists the contenders in the order of the tables.
func All() []Contender {
	return append(append(append(floors(), weirs()...), keyed()...), single()...)
}

func keyed() []Contender {
	const xtime = "golang.org/x/time"
	return []Contender{
		{Name: "x/time/rate, Mutex map", Module: xtime, Kind: Keyed, Algorithm: TokenBucket, New: xtimeMutex},
		{Name: "x/time/rate, RWMutex map", Module: xtime, Kind: Keyed, Algorithm: TokenBucket, New: xtimeRWMutex},
		{Name: "x/time/rate, sync.Map", Module: xtime, Kind: Keyed, Algorithm: TokenBucket, New: xtimeSyncMap},
		{Name: "x/time/rate, xsync.Map", Module: "github.com/puzpuzpuz/xsync/v4", Kind: Keyed, Algorithm: TokenBucket, New: xtimeXsync},
		{
			Name: "go-limiter memorystore", Module: "github.com/sethvargo/go-limiter", Kind: Keyed, Algorithm: FixedWindow, New: goLimiter,
			Aging: goLimiterAging, Forgets: "goes through all keys now and then, under the lock of its map; by default every 6 h",
		},
		{Name: "throttled GCRA, map", Module: "github.com/throttled/throttled/v2", Kind: Keyed, Algorithm: TokenBucket, Remark: "never forgets a key", New: throttledMap},
		{
			Name: "throttled GCRA, LRU", Module: "github.com/throttled/throttled/v2", Kind: Keyed, Algorithm: TokenBucket, Remark: "drops whoever was seen longest ago, limited or not", New: throttledLRU,
			Bounded: true, Aging: throttledAging, Forgets: "one key goes for each that comes, dead or not",
		},
		{
			Name: "ulule memory", Module: "github.com/ulule/limiter/v3", Kind: Keyed, Algorithm: FixedWindow, New: ulule,
			Aging: ululeAging, Forgets: "goes through all keys now and then, beside the asks; by default every 30 s",
		},
		{
			Name: "httprate counter", Module: "github.com/go-chi/httprate", Kind: Counter, Algorithm: TwoWindows, Remark: "Get and IncrementBy without OnLimit's lock: decides in two steps, not exactly", New: httprateCounter,
			Aging: aging(httprateCounter), Forgets: windowsEnd,
		},
		{
			Name: "httprate OnLimit", Module: "github.com/go-chi/httprate", Kind: Keyed, Algorithm: TwoWindows, Remark: "its decision; no fields written", New: httprateOnLimit,
			Aging: aging(httprateOnLimit), Forgets: windowsEnd,
		},
	}
}

// windowsEnd is how a limiter of windows forgets.
const windowsEnd = "clears the counts of a window at once, in the ask that begins the next but one"

// aging is the Aging of a limiter that a quota of one a life is enough for.
func aging(limiter func(Quota, int) (*Limiter, error)) func(time.Duration, int) (*Limiter, error) {
	return func(life time.Duration, keys int) (*Limiter, error) { return limiter(One(life), keys) }
}

func single() []Contender {
	const failsafe = "github.com/failsafe-go/failsafe-go"
	return []Contender{
		{Name: "x/time/rate", Module: "golang.org/x/time", Kind: Single, Algorithm: TokenBucket, New: xtimeSingle},
		{Name: "uber ratelimit", Module: "go.uber.org/ratelimit", Kind: Single, Algorithm: TokenBucket, Waits: true, Remark: "waits instead of refusing", New: uber},
		{Name: "failsafe smooth", Module: failsafe, Kind: Single, Algorithm: Spaced, New: failsafeSmooth},
		{Name: "failsafe bursty", Module: failsafe, Kind: Single, Algorithm: FixedWindow, New: failsafeBursty},
	}
}
