package algorithm_test

import "github.com/weirhq/weir/algorithm"

// A piece is one item of a list.
type piece struct {
	at    micros
	units int64
}

// pieces are a list as a test keeps it: all items that there ever were, in order. A
// mark is an index and 1.
type pieces []piece

func (l pieces) Next(mark uint64) (at micros, units int64, next uint64) {
	if mark >= uint64(len(l)) {
		return 0, 0, 0
	}
	return l[mark].at, l[mark].units, mark + 1
}

// tally is the state of a list at an instant: the last item's, and the units of those
// that are not over.
func (l pieces) tally(a algorithm.Lister, now micros) state {
	if len(l) == 0 {
		return state{}
	}
	s := state{int64(l[len(l)-1].at)}
	over := a.Over(s, now)
	for _, p := range l {
		if p.at > over {
			s[1] += p.units
		}
	}
	if s[1] == 0 {
		return state{}
	}
	return s
}

// moment brings the list.
func (l pieces) moment(now micros) algorithm.Moment { return algorithm.Moment{Now: now, List: l} }

// add puts units at an instant that is not before the last one.
func (l pieces) add(at micros, units int64) pieces {
	if last := len(l) - 1; last >= 0 && l[last].at == at {
		l[last].units += units
		return l
	}
	return append(l, piece{at, units})
}
