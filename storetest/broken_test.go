package storetest

import (
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// Each broken store is refused by the check that is meant to find it, for the
// reason that it is broken for.
func TestBrokenStores(t *testing.T) {
	f := func(b bug, name, because string) {
		t.Helper()
		r := smallRig(b)
		err := checkNamed(t, name).run(r)
		if err == nil {
			t.Errorf("bug %d: the check %q finds nothing", b, name)
		} else if !strings.Contains(err.Error(), because) {
			t.Errorf("bug %d: the check %q says\n%v\nwhich does not contain %q", b, name, err, because)
		}
	}
	f(racy, "32 goroutines get what one would", "admitted in single units")
	f(racy, "concurrent histories have an order and keep their bounds", "cannot be put in order")
	f(racy, "concurrent histories have an order and keep their bounds", "units were admitted between")
	f(chargesRefused, "a refusal costs nothing", "want it refused and not charged")
	f(chargesRefused, "random tapes agree with the oracle", "Receipt")
	f(chargesHalf, "several limits are all or nothing", "what is granted")
	f(chargesHalf, "random tapes agree with the oracle", "Granted")
	f(refundsTwice, "a late refund gives only what has not flowed back", "of which 1 had flowed back")
	f(refundsTwice, "what was used and not given back keeps the bound", "never given back")
	f(refundsTwice, "random tapes agree with the oracle", " return ")
	f(refundsAnyone, "a refund under other numbers gives nothing", "left after a receipt of other numbers")
	f(refundsAnyone, "a refund into a window that is over gives nothing", "window before")
	f(waitsTooLittle, "RetryAfter is exact", "is refused after that")
	f(waitsTooLong, "RetryAfter is exact", "passes after")
	f(waitsTooLong, "random tapes agree with the oracle", "RetryAfter")
	f(forgetsNumbers, "rolling deploy, 1000 per s and 10 per s in turn", "got 1010, want 1000")
	f(forgetsNumbers, "100 per s emptied, then 1 per s", "want it refused")
	f(forgetsNumbers, "1000 per min burst 200 emptied, then 10 per min", "want it refused")
	f(forgetsNumbers, "10 per day emptied, then 10 per s", "want it refused")
	f(mergesNothing, "takes on one state are merged", "left: got 2, want 1")
	f(refundsAnyone, "a refund goes into the window that was charged", "left when the 4 came back")
	f(forgetsBefore, "a sliding window gives units back one by one", "want it refused")
	f(forgetsBefore, "random tapes agree with the oracle", "sliding-window")
	f(holdsNothing, "a leaky bucket spaces what it lets pass", "the delay")
	f(holdsNothing, "units stand one behind the other in a queue", "the delay")
	f(holdsNothing, "what leaves a queue keeps its distance", "and the next at")
	f(holdsNothing, "random tapes agree with the oracle", "Delay")
	f(movesUp, "a place in a queue comes back while nobody stands behind it", "somebody stands behind")
	f(movesUp, "what leaves a queue keeps its distance", "and the next at")
	f(blursCharges, "a sliding log remembers each charge", "the wait for")
	f(blursCharges, "random tapes agree with the oracle", "sliding-log")
	f(forgetsNumbers, "a sliding log under other numbers forgets nothing", "want it refused")
	f(countsAgain, "who holds a slot and asks again counts once", "when one of two asks again")
	f(countsAgain, "random tapes agree with the oracle", "concurrent")
	f(neverRenews, "a lease ends, unless it is renewed", "want it refused for 1000000")
	f(neverRenews, "random tapes agree with the oracle", "concurrent")
	f(freesAnyone, "slots are held until they come back", "after one slot came back")
	f(freesAnyone, "random tapes agree with the oracle", "concurrent")
	f(freesAnyone, "concurrent histories have an order and keep their bounds", "holders are live at")
	f(keepsQuiet, "a lease ends, unless it is renewed", "renews too late")
	f(keepsQuiet, "random tapes agree with the oracle", "the slot is lost")
	f(blocksLonger, "who is refused is blocked", "the block is not over")
	f(blocksLonger, "random tapes agree with the oracle", "block")
	f(blocksLookers, "what is no reason for a block", "a look at more than there is: whether it is called blocked")
	f(blocksLookers, "random tapes agree with the oracle", "block")
	f(forgivesAtOnce, "who is refused is blocked", "the second block")
	f(blocksSilently, "who is refused is blocked", "called blocked: got false")
	f(blocksSilently, "random tapes agree with the oracle", "Blocked")
	f(blocksBehind, "who is refused is blocked", "the refusal that begins a block: whether it is called blocked")
	f(blocksBehind, "random tapes agree with the oracle", "Blocked")
	f(strikesNobody, "what is no reason for a block", "a look that strikes, at more than there is")
	f(strikesNobody, "random tapes agree with the oracle", "Blocked")
	f(allBlocked, "what is no reason for a block", "a look at more than there is: whether it is called blocked")
	f(allBlocked, "random tapes agree with the oracle", "Blocked")
	f(acceptsAll, "impossible slots are refused", "invalid")
	f(overflows, "takes on one state are merged", "a sum beyond every integer")
	f(peekWrites, "a peek leaves no trace", "a peek at a new key")
	f(cutsDebt, "a settlement above the estimate is owed", "the wait of the next unit")
	f(shiftsBack, "a clock that runs back admits nothing more", "admitted: got")
	f(clockRuns, "the readings of a state never run back", "after one at")
	f(ignoresStale, "a calendar without its edges is stale", "calendar's edges")
	f(acceptsAll, "impossible arguments are refused", "invalid")
	f(panics, "impossible arguments are refused", "it panics")
	f(livesOn, "after Close everything is ErrClosed", "after Close")
	f(leaks, "Close leaves no goroutine", "10 goroutines are left")
	f(resetsNothing, "Reset forgets one state", "left of the state that was reset")
	f(mixesKeys, "keys do not meet", "has been used by an earlier one")
	f(keepsSlices, "random tapes agree with the oracle", "the shortest tape found")
}

// smallRig opens plain stores with one bug, and does as much as a quick run.
func smallRig(b bug) *rig {
	return &rig{sizes: sizesOf(false, true), open: func(now func() weir.Micros) weir.Store { return newPlain(now, b) }}
}

func checkNamed(t *testing.T, name string) check {
	t.Helper()
	for _, c := range checks() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("there is no check %q", name)
	return check{}
}

// A store that answers nothing passes no check, but for those that do not ask
// it anything.
func TestEveryCheckAsks(t *testing.T) {
	open := func(func() weir.Micros) weir.Store { return mute{} }
	for _, c := range checks() {
		switch c.name {
		case "one identity in two spellings is one key", "Close leaves no goroutine":
			continue
		}
		if c.run(&rig{sizes: sizesOf(false, true), open: open}) == nil {
			t.Errorf("the check %q passes on a store that answers nothing", c.name)
		}
	}
}
