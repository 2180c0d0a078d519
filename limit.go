package weir

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/algorithm"
	"github.com/weirhq/weir/internal/duration"
)

// Limit is a compiled limit under a name. The name is its identity: it names the
// state, so that a limit whose numbers change keeps what its callers have used
// (but for another algorithm, and for windows and logs of another period or calendar,
// which count anew). A Limit is immutable and safe for concurrent use: make it once,
// with [NewLimit], [NewLimitKeeping] or [ParseLimit], and share it. The zero Limit
// is refused wherever it is handed in.
type Limit struct {
	name, rule, slot string
	states           string // the name that its states are kept under
	text             string
	spec             Spec
	id, version      [16]byte
	algorithm        algorithm.Algorithm   // nil for unlimited and deny
	windows          grid                  // nil for what does not count in windows
	zone             *time.Location        // nil but for calendars
	edges            atomic.Pointer[Edges] // around the last time a store told
	penalty          *Limit                // of a block; nil for none
}

// grid places an instant in an algorithm's windows, shifted by offset. It reports
// false where their edges come with each take.
type grid interface {
	Moment(now, offset Micros) (m algorithm.Moment, ok bool)
}

// NewLimit compiles a Spec under a name: `<rule>`, or `<rule>/<slot>` where a
// rule has several limits. Rule and slot match [a-z0-9][a-z0-9._-]{0,31}.
//
// Whatever cannot be kept exactly is refused here, with the reason and the
// remedy: one or several [*FieldError], joined.
func NewLimit(name string, s Spec) (*Limit, error) { return NewLimitKeeping(name, name, s) }

// NewLimitKeeping compiles a Spec under a name, for a limit that was called
// otherwise before and keeps what its callers have used: its states are those of a
// limit named states. Name, Rule and Slot are of the new name, which headers,
// metrics and logs show; ID and Version are those of the old one, so that in every
// store it is the old limit. Both names are as NewLimit has them, and may be the
// same.
//
// The states stay under the old name for as long as a limit says so. A limit that
// is called by it again, beside the renamed one, would share them, and is refused
// by [New] and by rules engines.
func NewLimitKeeping(name, states string, s Spec) (*Limit, error) {
	l := &Limit{name: name, states: states, spec: s.canonical()}
	refusals := s.refusals()
	l.rule, l.slot, _ = strings.Cut(name, "/")
	if !isLimitName(name) {
		refusals = append(refusals, wrongName("name", name))
	}
	if states != name && !isLimitName(states) {
		refusals = append(refusals, wrongName("states", states))
	}
	if err := joined(refusals); err != nil {
		return nil, err
	}
	if err := l.compile(); err != nil {
		return nil, err
	}
	l.text = s.String()
	l.id = l.identity()
	l.version = hash(string(l.id[:]), l.text)
	return l, l.punish()
}

// ParseLimit is [ParseSpec] and [NewLimit] in one: what the latter refuses of
// the numbers has its offset in the text, too. A name that is refused has none
// (-1).
func ParseLimit(name, text string) (*Limit, error) {
	p := parse(text)
	if err := p.err(); err != nil {
		return nil, err
	}
	l, err := NewLimit(name, p.spec)
	refusal, ok := errors.AsType[*FieldError](err)
	if ok && refusal.Field != "name" && p.spec.Burst == p.spec.Count {
		err = cmp.Or((&Limit{spec: p.spec}).compile(), err) // a burst is no default where it is written
		refusal, ok = errors.AsType[*FieldError](err)
	}
	if ok && refusal.Field != "name" {
		p.locate(refusal)
	}
	return l, err
}

// MustLimit is ParseLimit for texts that stand in the program. It panics where
// that gives an error.
func MustLimit(name, text string) *Limit {
	l, err := ParseLimit(name, text)
	if err != nil {
		panic(fmt.Errorf("weir: MustLimit(%q, %q): %w", name, text, err))
	}
	return l
}

// isLimitName reports whether s is <rule> or <rule>/<slot>.
func isLimitName(s string) bool {
	rule, slot, slotted := strings.Cut(s, "/")
	return isName(rule) && (!slotted || isName(slot))
}

func wrongName(field, name string) *FieldError {
	return Invalid(field, strconv.Quote(name), "a name is <rule> or <rule>/<slot>, each of a-z 0-9 . _ - and at most 32 long, beginning with a letter or digit", "")
}

// isName reports whether s matches [a-z0-9][a-z0-9._-]{0,31}.
func isName(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// identity is what a store keys states by: the algorithm family, for windows their
// grid, for a sliding log its period, and the name of the states. The grid belongs to
// it because a count says nothing about windows of another length: a caller who could
// have it carried over, by going to and fro between two plans, would have it forgotten
// as well. So it is with what a shorter log does not remember.
func (l *Limit) identity() [16]byte {
	family, grid := "", ""
	if l.algorithm != nil {
		family = string(l.algorithm.Family())
	}
	if l.spec.Algorithm == SlidingLog {
		grid = l.spec.Slot()
	}
	if l.windows != nil {
		grid = strings.Join([]string{l.spec.Slot(), l.spec.Zone, strconv.FormatBool(l.spec.Spread)}, " ")
	}
	return hash(family, grid, l.states)
}

// hash is the first 128 bits of SHA-256 over texts that hold no zero byte.
func hash(texts ...string) (sum [16]byte) {
	h := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	copy(sum[:], h[:])
	return sum
}

// compile builds the algorithm.
func (l *Limit) compile() error {
	switch l.spec.Algorithm {
	case Unlimited, Deny:
		return nil
	case TokenBucket:
		return l.compileBucket()
	case FixedWindow:
		return l.compileWindow()
	case SlidingWindow:
		return l.compileSliding()
	case LeakyBucket:
		return l.compileQueue()
	case SlidingLog:
		return l.compileLog()
	case Concurrency:
		return l.compileSlots()
	default:
		return Invalid("algorithm", uint8(l.spec.Algorithm), "no such algorithm", "use one of the constants")
	}
}

func (l *Limit) compileBucket() error {
	s := l.spec
	b, err := algorithm.NewTokenBucket(s.Count, l.period(), cmp.Or(s.Burst, s.Count), s.Overdraft)
	if err != nil {
		if refusal, ok := errors.AsType[*FieldError](err); ok && refusal.Field == "burst" && s.Burst == 0 {
			refusal.Problem = "by default it is the count, and that is " + refusal.Problem
			refusal.Remedy = l.roomierBurst(refusal.Remedy)
		}
		return err
	}
	l.algorithm = b
	return nil
}

// roomierBurst says what is done about a count that is too large a burst: a smaller one
// is named, if what is said of it holds.
func (l *Limit) roomierBurst(remedy string) string {
	s := l.spec
	text, _ := strings.CutPrefix(remedy, "write at most ")
	burst, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		_, err = algorithm.NewTokenBucket(s.Count, l.period(), burst, s.Overdraft)
	}
	if err != nil {
		return "write a smaller or a rounder count"
	}
	return fmt.Sprintf(`add "burst %d", or write a rounder count`, burst)
}

func (l *Limit) compileQueue() error {
	s := l.spec
	b, err := algorithm.NewLeakyBucket(s.Count, l.period(), Micros(s.Wait/time.Microsecond), s.Queue, s.Overdraft)
	if err != nil {
		if refusal, ok := errors.AsType[*FieldError](err); ok && refusal.Field == "wait" {
			refusal.Value = duration.Format(s.Wait)
		}
		return err
	}
	l.algorithm = b
	return nil
}

func (l *Limit) compileWindow() (err error) {
	s := l.spec
	var w *algorithm.FixedWindow
	if s.Zone == "" {
		w, err = algorithm.NewFixedWindow(s.Count, l.period(), s.Overdraft)
	} else {
		zone, refusal := loadZone(s.Zone)
		if refusal != nil {
			return refusal
		}
		l.zone = zone
		shortest, longest := s.calendarWindows(zone)
		w, err = algorithm.NewCalendarWindow(s.Count, shortest, longest, s.Overdraft)
	}
	if err != nil {
		return err
	}
	l.algorithm, l.windows = w, w
	return nil
}

func (l *Limit) compileSliding() error {
	w, err := algorithm.NewSlidingWindow(l.spec.Count, l.period(), l.spec.Overdraft)
	if err != nil {
		return err
	}
	l.algorithm, l.windows = w, w
	return nil
}

// period is that of the Spec in the store's unit.
func (l *Limit) period() Micros { return Micros(l.spec.Period / time.Microsecond) }

// Name is `<rule>` or `<rule>/<slot>`, as it stands in headers, metrics and logs.
func (l *Limit) Name() string { return l.name }

// States is the name that the limit's states are kept under: the limit's own, but
// for one that was made by [NewLimitKeeping].
func (l *Limit) States() string { return l.states }

// Rule is the part of the name before the slash, or all of it.
func (l *Limit) Rule() string { return l.rule }

// Slot is the part of the name behind the slash; "" where the rule has one
// limit.
func (l *Limit) Slot() string { return l.slot }

// Spec is what the limit was built from, in its canonical form: as [ParseSpec]
// reads it from String.
func (l *Limit) Spec() Spec { return l.spec }

// String is the canonical text of the limit, without its name.
func (l *Limit) String() string { return l.text }

// ID is a hash of States, algorithm family and, for windows, their grid (period or
// calendar, and spread), for a sliding log its period: the part of a state's address that stands for the limit.
// Two limits with the same share their states, whatever their other numbers.
func (l *Limit) ID() [16]byte { return l.id }

// Version is a hash of ID and all numbers: two limits of one version judge alike.
func (l *Limit) Version() [16]byte { return l.version }

// Algorithm judges the limit's states. It is nil for unlimited and deny, which
// have none and never reach a store.
func (l *Limit) Algorithm() algorithm.Algorithm { return l.algorithm }

// Capacity is the largest cost that can pass at all: what Remaining counts down
// from. It is 0 for unlimited and deny.
func (l *Limit) Capacity() int64 {
	if l.algorithm == nil {
		return 0
	}
	return l.algorithm.Capacity()
}

// Most is the largest number of units of one key that can pass in any t
// consecutive microseconds of the store's clock, whatever is asked for: what this
// limit promises. It is cut to MaxInt64, 0 for t below 1.
//
//	token bucket   burst + ⌊(t-1)·count/period⌋
//	leaky bucket   capacity + ⌊(t·count-1)/period⌋ that go on, when they wait as
//	               they are told; where costs are 1, it is 1 in place of the capacity
//	fixed window   count·(⌈(t-1)/period⌉ + 1): twice the count across an edge
//	sliding window count + ⌊(t-1)·count/period⌋
//	sliding log    count·⌈t/period⌉
//	calendar       as a fixed window of the shortest length: a day of 23 hours, a
//	               week or a month of 28 days less 1 hour; not less in zones
//	               whose clocks never move (UTC, Etc/GMT+5)
//	concurrency    MaxInt64: it bounds how many are at work at once (Capacity)
//	deny           0
//	unlimited      MaxInt64
//
// Days are shorter than that, once a year or once for ever, where clocks are moved
// by more than an hour (Antarctica/Troll).
//
// Settlements above an estimate (Force), units given back, other numbers under
// which the state was judged before, and a clock that jumps ahead come on top
// (docs/limitations.md).
func (l *Limit) Most(t Micros) int64 {
	switch {
	case l.algorithm != nil:
		return l.algorithm.Most(t)
	case t < 1 || l.spec.Algorithm != Unlimited:
		return 0
	}
	return math.MaxInt64
}

// Pins says how long a key that has used nothing before holds its room in a store,
// at most, after one unit is charged, and after as many as the Capacity. Of
// buckets these are the times in which they flow back; of a fixed window and of a log both
// are the period, of a sliding window two periods, of a slot its lease, of a calendar its longest window
// (a day of 25 hours, a week or a month of 31 days and 1 hour; without that hour in
// zones whose clocks never move).
// The penalty of a block is kept for twice the block, and longest in full. They are 0
// for unlimited and deny, which have no states.
func (l *Limit) Pins() (one, full Micros) {
	if l.algorithm == nil {
		return 0, 0
	}
	one, full = l.algorithm.Pins()
	if l.penalty != nil {
		_, block := l.penalty.algorithm.Pins()
		full = max(full, block)
	}
	return one, full
}

// LongestDelay is the longest that a request waits under a leaky bucket: its wait, or
// the time in which its queue drains where that is less, rounded up to whole
// microseconds. It is 0 for every other limit.
func (l *Limit) LongestDelay() Micros {
	b, ok := l.algorithm.(*algorithm.LeakyBucket)
	if !ok {
		return 0
	}
	return b.Longest()
}

// built reports that the limit came from NewLimit.
func (l *Limit) built() bool { return l != nil && l.name != "" }

// calendar reports that the limit's takes need Edges.
func (l *Limit) calendar() bool { return l != nil && l.zone != nil }

// Moment places a store's time in the limit's windows, for the key of a take
// and the edges it brought. It reports false where the limit is a calendar and
// the edges do not contain now: the store answers ErrStale.
func (l *Limit) Moment(now Micros, t *Take) (algorithm.Moment, bool) {
	switch {
	case l.windows == nil:
		return algorithm.Moment{Now: now}, true
	case l.zone != nil:
		return t.Edges.around(now)
	}
	return l.windows.Moment(now, l.shift(t.Key))
}

// shift is where a key's windows begin, when they are spread.
func (l *Limit) shift(k Key) Micros {
	if !l.spec.Spread {
		return 0
	}
	return Micros(binary.LittleEndian.Uint64(k[8:]) % uint64(l.period()))
}
