package algorithm_test

import (
	"testing"

	"github.com/weirhq/weir/algorithm"
)

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

// What was charged in this step is in the state and not yet in the list. It stands
// behind all that the list has.
func TestChargesOfTheSameStepCountLast(t *testing.T) {
	log, slots := logOf(t, 5, 100, 0), slotsOf(t, 5, 1000)
	f := func(a algorithm.Lister, list pieces, s state, cost int64, want micros) {
		t.Helper()
		if v := a.Judge(s, list.moment(1050), cost); v != (algorithm.Verdict{RetryAfter: want}) {
			t.Errorf("%T: %d more, %v behind %v: %+v, want %d", a, cost, s, list, v, want)
		}
	}
	f(log, pieces{{1000, 2}}, state{1050, 5}, 2, 50)
	f(log, pieces{{1000, 2}}, state{1050, 5}, 3, 100)
	f(log, pieces{{1000, 2}}, state{1050, 5}, 5, 100)
	f(slots, pieces{{1100, 1}, {1200, 1}}, state{2050, 5}, 2, 150)
	f(slots, pieces{{1100, 1}, {1200, 1}}, state{2050, 5}, 3, 1000)
	f(slots, pieces{{1100, 1}, {1200, 1}}, state{2050, 5}, 5, 1000)
}
