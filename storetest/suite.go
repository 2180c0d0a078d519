package storetest

import (
	"os"
	"testing"

	"github.com/weirhq/weir"
)

// Suite is what is checked of one kind of store. [Run] is the short form.
type Suite struct {
	// Open makes an empty store for a test. Its clock is now, which stands
	// still between calls or runs by itself, jumps both ways, and may be
	// called from any goroutine. The suite closes what it has opened.
	Open func(t testing.TB, now func() weir.Micros) weir.Store

	// Live is for a store that reads a clock of its own, so that Open leaves
	// now alone: what needs a clock turned by hand is not checked. The default
	// checks everything.
	Live bool

	// ClockRunsBack is for a store that passes on what its clock says even when
	// that is stepped back, as some server's may. The default wants of a store
	// that no answer is earlier than one before it on the same state.
	ClockRunsBack bool
}

// Run checks everything that docs/stores.md asks of a store whose clock can be
// replaced. The subtests say what it is that fails.
func Run(t *testing.T, open func(t testing.TB, now func() weir.Micros) weir.Store) {
	t.Helper()
	Suite{Open: open}.Run(t)
}

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	t.Helper()
	if s.Open == nil {
		t.Fatal("storetest: Suite.Open is nil; write a function that makes an empty store")
	}
	s.run(t, sizesOf(os.Getenv("WEIR_LONG") == "1", testing.Short()))
}

func (s Suite) run(t *testing.T, z sizes) {
	t.Helper()
	for _, c := range checks() {
		if s.Live && !c.live || s.ClockRunsBack && c.monotone {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			r := &rig{live: s.Live, runsBack: s.ClockRunsBack, sizes: z}
			r.open = func(now func() weir.Micros) weir.Store {
				store := s.Open(t, now)
				if store == nil {
					t.Fatal("storetest: Suite.Open has made no store")
				}
				return store
			}
			if err := c.run(r); err != nil {
				t.Error(err)
			}
		})
	}
}

// A check is one thing that is asked of a store.
type check struct {
	name     string
	run      func(*rig) error
	live     bool // needs no clock turned by hand
	monotone bool // asks for readings that never run back
}

// checks are all of them, from what is most to what is least likely to tell
// what is wrong.
func checks() []check {
	return []check{
		{name: "keys do not meet", run: keysDoNotMeet, live: true},
		{name: "one identity in two spellings is one key", run: spellings, live: true},

		{name: "a refusal costs nothing", run: refusalCostsNothing, live: true},
		{name: "a peek leaves no trace", run: peekLeavesNoTrace, live: true},
		{name: "several limits are all or nothing", run: allOrNothing, live: true},
		{name: "takes on one state are merged", run: merged, live: true},
		{name: "RetryAfter is exact", run: retryAfterIsExact},

		{name: "a refund at once loses nothing", run: refundAtOnce, live: true},
		{name: "a late refund gives only what has not flowed back", run: refundLate},
		{name: "refunds out of order", run: refundOutOfOrder},
		{name: "a refund under other numbers gives nothing", run: refundOtherNumbers},
		{name: "a refund into a window that is over gives nothing", run: refundOtherWindow},
		{name: "a refund goes into the window that was charged", run: refundIntoItsWindow},
		{name: "what was used and not given back keeps the bound", run: refundBound},

		{name: "rolling deploy, 1000 per s and 10 per s in turn", run: rollingDeploy, live: true},
		{name: "100 per s emptied, then 1 per s", run: slower},
		{name: "1000 per min burst 200 emptied, then 10 per min", run: slowerLockOut},
		{name: "10 per day emptied, then 10 per s", run: faster},
		{name: "a settlement above the estimate is owed", run: settlementIsOwed},

		{name: "a clock that runs back admits nothing more", run: backwards},
		{name: "a clock that jumps ahead adds what the jump is worth", run: forwards},
		{name: "a sliding window gives units back one by one", run: slides},
		{name: "a leaky bucket spaces what it lets pass", run: spaces},
		{name: "units stand one behind the other in a queue", run: queuesUnits},
		{name: "a place in a queue comes back while nobody stands behind it", run: placesInQueue},
		{name: "what leaves a queue keeps its distance", run: keepsApart},
		{name: "a sliding log remembers each charge", run: remembers},
		{name: "a refund goes into the charge that it was", run: refundIntoItsCharge},
		{name: "a sliding log under other numbers forgets nothing", run: logOfOtherNumbers},
		{name: "slots are held until they come back", run: holdsSlots, live: true},
		{name: "who holds a slot and asks again counts once", run: asksAgain, live: true},
		{name: "a lease ends, unless it is renewed", run: leasesEnd},
		{name: "slots under other numbers", run: slotsOfOtherNumbers},
		{name: "who is refused is blocked", run: blocks},
		{name: "what is no reason for a block", run: blocksNobody},
		{name: "the readings of a state never run back", run: neverRunsBack, monotone: true},

		{name: "a calendar without its edges is stale", run: calendarIsStale, live: true},
		{name: "a calendar turns over at its edge", run: calendarTurns},

		{name: "impossible arguments are refused", run: impossible, live: true},
		{name: "impossible slots are refused", run: impossibleSlots, live: true},
		{name: "Reset forgets one state", run: resetForgets, live: true},
		{name: "after Close everything is ErrClosed", run: closes, live: true},
		{name: "Close leaves no goroutine", run: leavesNoGoroutine, live: true},

		{name: "32 goroutines get what one would", run: many, live: true},
		{name: "concurrent histories have an order and keep their bounds", run: histories, live: true},
		{name: "random tapes agree with the oracle", run: tapes, live: true},
	}
}

// sizes say how much is done.
type sizes struct {
	events int // on all tapes together
	rounds int // of a check that draws its schedules
	takes  int // of each of many goroutines
}

func sizesOf(long, short bool) sizes {
	switch {
	case long:
		return sizes{events: 1_000_000, rounds: 400, takes: 100_000}
	case short:
		return sizes{events: 5_000, rounds: 5, takes: 1_000}
	}
	return sizes{events: 50_000, rounds: 30, takes: 10_000}
}
