package storetest

import (
	"fmt"
	"strconv"

	"github.com/weirhq/weir"
)

// Tape is a story for a store: limits, and events on them in their order. Make
// one with [ParseTape] or [RandomTape]; its text form (String) is meant to be
// kept in testdata.
//
//	limit 0 api 5/s burst 5
//	limit 1 api 1/s burst 5
//	limit 2 day 5/day calendar UTC
//	1 @1796022366123456 take 0#0 3 | 2#1 1 advise partial edges 1795996800000000,1796083200000000,1796169600000000,1796256000000000
//	2 @1796022366323456 return 0#0 2 of 1.0
//	3 @1796022366323456 reset 1#0
//	limit 3 work 2 concurrent
//	4 @1796022366323456 take 3#0 1 slot 7
//	5 @1796022366323456 return 3#0 renew 7 | 3#0 slot 7
//
// A limit has a number, a name and a text; limits of one name share their
// states. An event has a number, the instant to which the clock is turned before
// it, and a verb. `0#1` is limit 0 and the key 1; what follows is the cost, the
// join (all is left out) and the bits of how. `2 of 1.0` is two units of the
// receipt that take 0 of event 1 was given; `slot 7` is the holder 7, who is let go, and
// `renew 7` one whose lease is to begin anew. Blank lines and lines that begin
// with # say nothing.
type Tape struct {
	limits []*weir.Limit // by number; nil where a number is not used
	events []event
}

// An event is one line of a tape: one of the verbs.
type event struct {
	id      int
	at      weir.Micros
	verb    string // take, return, reset
	takes   []ask
	returns []giveBack
	reset   cell
}

// A cell names a state: a limit and a key, by number.
type cell struct{ limit, key int }

// An ask is a take.
type ask struct {
	cell
	cost  int64
	join  weir.Join
	how   weir.How
	slot  uint64 // 0 for nobody
	edges *weir.Edges
}

// A giveBack is a return: units of the receipt of an earlier take, or a slot.
type giveBack struct {
	cell
	units int64
	event int // the id of the take's event
	take  int // its index there
	slot  uint64
	renew bool
}

// The verbs.
const (
	verbTake   = "take"
	verbReturn = "return"
	verbReset  = "reset"
)

// key makes a key by its number, the same in every store and every run.
func key(number int) (weir.Key, uint64) {
	return weir.Keyer{}.Key(weir.Text("tape", strconv.Itoa(number)))
}

// take is what a store is asked.
func (t *Tape) take(a ask) weir.Take {
	k, tag := key(a.key)
	return weir.Take{Limit: t.limits[a.limit], Key: k, Tag: tag, Cost: a.cost, Join: a.join, How: a.how, Slot: nameOf(a.slot), Edges: a.edges}
}

// giveBack is what a store is given, with the receipt that it gave.
func (t *Tape) giveBack(g giveBack, r weir.Receipt) weir.Return {
	k, tag := key(g.key)
	if g.slot != 0 {
		return weir.Return{Limit: t.limits[g.limit], Key: k, Tag: tag, Slot: nameOf(g.slot), Renew: g.renew}
	}
	return weir.Return{Limit: t.limits[g.limit], Key: k, Tag: tag, Receipt: r, Units: g.units}
}

// only is the tape with some of its events.
func (t *Tape) only(events []event) *Tape { return &Tape{limits: t.limits, events: events} }

// known refuses an event that names a limit which the tape does not have.
func (t *Tape) known(e event) error {
	cells := []cell{e.reset}
	if e.verb != verbReset {
		cells = nil
	}
	for _, a := range e.takes {
		cells = append(cells, a.cell)
	}
	for _, g := range e.returns {
		cells = append(cells, g.cell)
	}
	for _, c := range cells {
		if c.limit < 0 || c.limit >= len(t.limits) || t.limits[c.limit] == nil {
			return fmt.Errorf("there is no limit %d", c.limit)
		}
	}
	return nil
}
