package algorithm

// MostEntries is the most units that a sliding log remembers, and the most holders
// of a concurrency limit: what one key may take of a store's room is bounded by it.
const MostEntries = 4095

// List is what a store keeps of one key beside its State, where the algorithm needs
// more than four words: items of an instant each, in ascending order.
//
//	sliding log  the charges: when, and how many units
//	concurrency  the holders: when each one's lease ends, and 1
//
// A step only reads it. The store changes it: it adds what was charged, or takes out
// what came back, and with every such change drops what is over at that instant (Over).
// It may drop that at any time where its clock never runs back. A state that is handed
// to a step sums up what is not over.
type List interface {
	// Next gives the item behind a mark, and the mark that stands at it; the mark 0
	// stands before the first item. Behind the last one next is 0.
	Next(mark uint64) (at Micros, units int64, next uint64)
}

// Lister is an Algorithm that needs a [List], which its Moments bring. Its states are
// two numbers, and zero where the list is empty:
//
//	sliding log  instant of the newest charge, units of all charges that count
//	concurrency  the latest end of a lease, live holders
type Lister interface {
	Algorithm

	// Entries is the most items that a list may have: the Overdraft, for each has
	// one unit at least. It is no more than MostEntries.
	Entries() int

	// Over is the latest instant whose items say nothing any more, of a key with
	// that state.
	Over(s State, now Micros) Micros
}

// tally is what a list comes to: its last instant, and the units of its items.
type tally struct {
	latest Micros
	units  int64
}

func (s State) tally() tally { return tally{Micros(s[0]), s[1]} }

// state is zero where there are no units.
func (v tally) state() State {
	if v.units == 0 {
		return State{}
	}
	return State{int64(v.latest), v.units}
}

// until is the instant of the item with which, from the first on, so many units are
// over. Items at or before gone are over already. What the list does not hold was
// charged in this step, at the latest instant.
func (v tally) until(list List, gone Micros, units int64) Micros {
	if list == nil {
		return v.latest
	}
	for at, n, mark := list.Next(0); mark != 0; at, n, mark = list.Next(mark) {
		if at <= gone {
			continue
		}
		if units -= n; units <= 0 {
			return at
		}
	}
	return v.latest
}
