package memstore

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir"
)

// OnFull says what happens to a key for which there is no room.
type OnFull uint8

// The choices for a full store.
const (
	Overflow OnFull = iota // it shares a cell of its limit with other such keys: limited more, never less
	Refuse                 // it is refused, in mode closed, and told to come back in a second
	Admit                  // it passes uncounted, in mode open
)

// without gives the mode in which a key is decided that has neither an entry
// nor a cell; ok is false where it has a cell.
func (f OnFull) without() (mode weir.Mode, ok bool) {
	switch f {
	case Refuse:
		return weir.Closed, true
	case Admit:
		return weir.Open, true
	default:
		return 0, false
	}
}

// Config sizes a store. The zero Config is a store of a million keys.
type Config struct {
	// MaxKeys is the most keys the store holds, overflow cells included: 64 or
	// more; 0 means 1,000,000. A key is one caller under one limit. An eighth
	// of it is set apart for overflow cells, which also bounds how many limits
	// the store can serve at a time: an eighth of MaxKeys up to 128 limits, and
	// beyond that one for each 512 keys (1953 by default).
	//
	// A key of a sliding log or of a concurrency limit counts as so many keys as
	// it takes 32 bytes (weir.Limit.Memory), from when it gets its entry, and its
	// limit has the fewer overflow cells.
	MaxKeys int

	// OnFull says what happens to new keys when no room is left.
	OnFull OnFull

	// Reserved is how many keys are kept for a rule, by its name (the part of
	// a limit's name before the slash), from the beginning; rounded up to a
	// multiple of the store's parts, of which there are at most 64, and to one
	// key of its largest limit in each, if there is so much more. Together
	// they are at most half of the room for entries, which is seven eighths of
	// MaxKeys. What is left of that half is shared equally by the other rules
	// that the store knows, of which one with large keys gets room for one in each
	// part before that, if the others keep half of their shares. Store.ExpectOnly
	// replaces all of it.
	Reserved map[string]int

	// Now replaces the clock, for tests: microseconds since 1970, from 1 to
	// weir's 2112. Many goroutines call it at once, some under locks: it must not call the store, and not panic. nil
	// means the machine's monotonic clock, anchored once at the wall clock and
	// anchored again, forward only, when that has moved ahead by over a second.
	Now func() weir.Micros
}

// The sizes of a store.
const (
	defaultKeys = 1_000_000
	leastKeys   = 64      // room for a few limits with a cell each
	mostKeys    = 1 << 30 // each may have a block of its state, and blocks are numbered in 32 bits

	// mostShards bounds contention; keysPerShard keeps the shares of a small
	// store from being cut to nothing.
	mostShards   = 64
	keysPerShard = 1024

	// cellShare of MaxKeys is for overflow cells; a limit gets at most
	// mostCells, so that one caller's invented names crowd one cell in 64.
	// A store has room for a hundred limits before a limit has several cells.
	cellShare   = 8
	mostCells   = 64
	leastLimits = 128
)

// sizes are what follows from a Config.
type sizes struct {
	keys   int // for entries
	shards int
	cells  int // overflow cells of each limit
	limits int // the most limits that have cells
}

// entryBytes is what a key takes of which MaxKeys counts one.
const entryBytes = 32

// roomOf is how much room a key of a limit takes, without that of its penalty, which
// has an entry of its own.
func roomOf(l *weir.Limit) int {
	room := l.Memory() / entryBytes
	if l.Penalty() != nil {
		room--
	}
	return room
}

// cellsFor is how many overflow cells a limit gets whose keys take so much room: as
// many as stand in the room of the cells of another, and one at least.
func (z sizes) cellsFor(room int) int { return max(1, z.cells/room) }

// shareOf is for how many limits it counts in that.
func (z sizes) shareOf(room int) int { return (z.cellsFor(room)*room + z.cells - 1) / z.cells }

// common is the least room that a part of the store has which is no rule's share: what
// is reserved is half of all keys at most, and the largest key fits beside it.
func (z sizes) common() int { return z.keys/z.shards - z.keys/2/z.shards }

// tooSmallFor refuses a limit of whose keys some part of the store could never have one,
// whatever the other rules are, or that it can have no overflow cell for.
func (z sizes) tooSmallFor(l *weir.Limit) error {
	room := roomOf(l)
	if room <= z.common() && z.shareOf(room) <= z.limits {
		return nil
	}
	// In any store with so many keys each part has room for one, and the cells have. A
	// store of several parts has keysPerShard keys in each, of which half are common.
	enough := cellShare * (room + leastLimits)
	if room > keysPerShard/2 {
		enough = max(enough, (2*room*mostShards*cellShare+cellShare-2)/(cellShare-1))
	}
	problem := fmt.Sprintf("one caller takes %d of max_keys, and ", room)
	switch {
	case room <= z.common():
		problem += fmt.Sprintf("the table has %d for callers that find no room", z.cells*z.limits)
	case z.shards == 1:
		problem += fmt.Sprintf("the table has %d beside what rules may keep", z.common())
	default:
		problem += fmt.Sprintf("each of the table's %d parts has %d beside what rules may keep", z.shards, z.common())
	}
	return &RoomError{Limit: l, Problem: problem, Enough: enough, err: weir.Invalid("limit "+l.Name(), l, problem,
		fmt.Sprintf("set memstore.Config.MaxKeys (max_keys in a rules file) to %d, or lower the limit's count", enough))}
}

// RoomError is the error of a limit for which a store is too small. It unwraps to a
// *weir.FieldError where there is no room for one key of the limit, and to
// weir.ErrNotApplied where there are too many limits.
type RoomError struct {
	Limit   *weir.Limit // the limit, or its Penalty
	Problem string      // what is missing, without the limit's name and without a remedy
	Enough  int         // Config.MaxKeys that has room for one key of the limit; 0 where that is not what is missing
	err     error
}

// Error names the limit, what is missing, and the remedy.
func (e *RoomError) Error() string { return e.err.Error() }

// Unwrap gives what kind of error it is.
func (e *RoomError) Unwrap() error { return e.err }

// validate returns every error.
func (c Config) validate() error {
	var errs refusals
	if c.MaxKeys != 0 && (c.MaxKeys < leastKeys || c.MaxKeys > mostKeys) {
		errs.add("MaxKeys", c.MaxKeys, "out of range", fmt.Sprintf("use %d to %d, or 0 for %d", leastKeys, mostKeys, defaultKeys))
	}
	if c.OnFull > Admit {
		errs.add("OnFull", c.OnFull, "no such choice", "use Overflow, Refuse or Admit")
	}
	if len(errs) == 0 { // else it is not known how much room there is
		c.sizes().checkReserved(c.Reserved, errs.add)
	}
	return errs.joined()
}

// refusals collects what cannot be.
type refusals []error

func (r *refusals) add(field string, value any, problem, remedy string) {
	*r = append(*r, weir.Invalid("memstore "+field, value, problem, remedy))
}

func (r *refusals) joined() error { return errors.Join(*r...) }

// checkReserved refuses shares that there is no room for.
func (z sizes) checkReserved(reserved map[string]int, add func(field string, value any, problem, remedy string)) {
	total := 0
	for _, rule := range slices.Sorted(maps.Keys(reserved)) {
		n := reserved[rule]
		if n < 1 || n > mostKeys {
			add("Reserved "+rule, n, "out of range", "use 1 or more, or leave the rule out for an equal share")
			continue
		}
		total += z.part(n) * z.shards
	}
	if half := z.keys / 2; total > half {
		add("Reserved", total, "more than half of the room is reserved", fmt.Sprintf("reserve at most %d together, or raise MaxKeys", half))
	}
}

func (c Config) maxKeys() int {
	if c.MaxKeys == 0 {
		return defaultKeys
	}
	return c.MaxKeys
}

// part is a number of keys divided among the shards, rounded up.
func (z sizes) part(keys int) int { return (keys + z.shards - 1) / z.shards }

func (c Config) sizes() sizes {
	budget := c.maxKeys() / cellShare
	z := sizes{keys: c.maxKeys() - budget, shards: 1}
	for z.shards < mostShards && z.keys/(z.shards*2) >= keysPerShard {
		z.shards *= 2
	}
	z.limits = min(budget, max(leastLimits, budget/mostCells), mostVersions/2)
	z.cells = min(budget/z.limits, mostCells)
	return z
}
