package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// The values are worked out by hand.
func TestOracleLog(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("l", "3 per 7us sliding-log overdraft 5")
	first := a.one(100, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 7})
	if want := (weir.Receipt{At: 100, Cost: 2}); first != want {
		t.Errorf("receipt %+v, want %+v", first, want)
	}
	a.one(103, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 4, ResetAfter: 4})
	a.one(103, l, 9, weir.Partial, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 7})
	a.one(104, l, 4, 0, weir.Decision{Never: true, ResetAfter: 6})
	a.one(104, l, 3, 0, weir.Decision{RetryAfter: 6, ResetAfter: 6}) // until both are over
	a.one(104, l, 2, 0, weir.Decision{RetryAfter: 3, ResetAfter: 6}) // until the first is
	late := a.one(90, l, 9, weir.Force, weir.Decision{Allowed: true, Granted: 2, ResetAfter: 20})
	if want := (weir.Receipt{At: 103, Cost: 2}); late != want { // never before the newest
		t.Errorf("receipt %+v, want %+v", late, want)
	}
	a.one(104, l, 1, weir.Always, weir.Decision{RetryAfter: 6, ResetAfter: 6}) // 5 of 5: nothing is charged
	a.one(106, l, 0, weir.Peek, weir.Decision{RetryAfter: 1, ResetAfter: 4})   // 5 of 3 count
	a.one(107, l, 0, weir.Peek, weir.Decision{Allowed: true, ResetAfter: 3})
	a.back(107, l, first, 2) // over
	a.back(107, l, weir.Receipt{At: 105, Cost: 3}, 3)
	a.one(107, l, 1, weir.Peek, weir.Decision{RetryAfter: 3, ResetAfter: 3})
	a.back(107, l, late, 1)
	a.one(107, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 1, ResetAfter: 3})
	a.back(107, l, late, 2)
	a.one(107, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 3})

	few := weir.MustLimit("l", "1 per 7us sliding-log")
	a.one(200, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 7})
	a.one(203, few, 1, 0, weir.Decision{RetryAfter: 4, ResetAfter: 4})
	a.one(203, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 7}) // and the two are still there
	a.one(206, few, 1, 0, weir.Decision{RetryAfter: 4, ResetAfter: 4})
}

// slot asks for a slot and wants its decision.
func (a asker) slot(now weir.Micros, l *weir.Limit, holder uint64, how weir.How, want weir.Decision) {
	a.Helper()
	_, out, err := a.oracle.Take(now, []weir.Take{{Limit: l, Cost: 1, How: how, Slot: nameOf(holder)}})
	if err != nil || out[0] != want {
		a.Errorf("%s, %d at %d: %s, error %v", l, holder, now, compareDecisions(out[0], want), err)
	}
}

func TestOracleSlots(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("n", "2 concurrent lease 1ms")
	back := func(now weir.Micros, holder uint64, renew, lost bool) {
		t.Helper()
		err := a.oracle.Return(now, []weir.Return{{Limit: l, Slot: nameOf(holder), Renew: renew}})
		if errors.Is(err, weir.ErrLost) != lost || !lost && err != nil {
			t.Errorf("%d at %d: error %v, want lost: %t", holder, now, err, lost)
		}
	}
	receipt := func(ends weir.Micros) weir.Receipt { return weir.Receipt{At: ends, Cost: 1} }
	a.slot(5000, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 1000, Receipt: receipt(6000)})
	a.slot(5300, l, 2, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1000, Receipt: receipt(6300)})
	a.slot(5400, l, 3, 0, weir.Decision{RetryAfter: 600, ResetAfter: 900})
	a.slot(5400, l, 3, weir.Peek, weir.Decision{RetryAfter: 600, ResetAfter: 900})
	a.slot(5400, l, 1, weir.Peek, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 900})
	a.slot(5500, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1000, Receipt: receipt(6500)})
	a.slot(5200, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1300, Receipt: receipt(6500)}) // the clock ran back
	a.slot(5500, l, 3, 0, weir.Decision{RetryAfter: 800, ResetAfter: 1000})
	back(5600, 2, true, false)
	a.slot(5600, l, 3, 0, weir.Decision{RetryAfter: 900, ResetAfter: 1000})
	back(5600, 3, false, false)
	back(5600, 3, true, true)
	back(5600, 1, false, false)
	back(5600, 1, false, false)
	a.slot(5600, l, 3, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1000, Receipt: receipt(6600)})
	back(6600, 3, true, true) // it ends just then
	a.slot(6600, l, 3, weir.Peek, weir.Decision{Allowed: true, Granted: 1, Remaining: 2})

	m := weir.MustLimit("n", "1 concurrent") // a minute
	a.slot(7000, l, 4, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 1000, Receipt: receipt(8000)})
	a.slot(7000, l, 5, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1000, Receipt: receipt(8000)})
	a.slot(7100, m, 6, 0, weir.Decision{RetryAfter: 900, ResetAfter: 900})
	a.slot(7100, m, 4, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 60_000_000, Receipt: receipt(60_007_100)})
	a.slot(7200, m, 6, 0, weir.Decision{RetryAfter: 59_999_900, ResetAfter: 59_999_900})
}

// Slots of one call are judged together, and by joins.
func TestOracleSlotsOfOneCall(t *testing.T) {
	o, l := NewOracle(), weir.MustLimit("n", "2 concurrent lease 1ms")
	f := func(want bool, allowed string, takes ...weir.Take) {
		t.Helper()
		for i := range takes {
			takes[i].Limit, takes[i].Cost = l, 1
		}
		got, out, err := o.Take(5000, takes)
		told := ""
		for _, d := range out {
			told += map[bool]string{true: "+", false: "-"}[d.Allowed]
		}
		if err != nil || got != want || told != allowed {
			t.Errorf("got %t, %s, error %v; want %t, %s", got, told, err, want, allowed)
		}
	}
	one, two, three, four := nameOf(1), nameOf(2), nameOf(3), nameOf(4)
	f(false, "---", weir.Take{Slot: one}, weir.Take{Slot: two}, weir.Take{Slot: three})
	f(true, "++-", weir.Take{Slot: one}, weir.Take{Slot: two, Join: weir.Advise}, weir.Take{Slot: three, Join: weir.Alone})
	f(true, "+", weir.Take{Slot: one})
	f(false, "--", weir.Take{Slot: one}, weir.Take{Slot: three})
	f(true, "+--", weir.Take{Slot: two}, weir.Take{Slot: three, Join: weir.Advise}, weir.Take{Slot: four, Join: weir.Advise, How: weir.Peek})
}

func TestCheckWindowsOfLogs(t *testing.T) {
	l := weir.MustLimit("l", "5 per 10us sliding-log")
	many := func(n int, end int64) *script {
		s := &script{limit: l}
		for range n {
			s.take(100, end, 0, 1, weir.Decision{Allowed: true, Granted: 1})
		}
		return s
	}
	f := func(name string, s *script, fits bool) {
		t.Helper()
		s.want(t, name, CheckWindows(s.ops, s.limit), fits)
	}
	f("the count at once", many(5, 109), true)
	f("one more within a period", many(6, 109), false)
	f("one more, a period later", many(10, 110), true)
	f("and another", many(11, 119), false)
	s := many(6, 109)
	s.op(109, 200, 0).Returns = []weir.Return{{Limit: l, Units: 1}}
	f("a unit given back at the end", s, true)
	s = many(6, 109)
	s.op(50, 100, 0).Reset = []weir.Return{{Limit: l}}
	f("a reset at the beginning", s, true)
}

// Who certainly holds a slot counts, from when he was told to when it may be over.
func TestCheckSlots(t *testing.T) {
	l := weir.MustLimit("n", "2 concurrent lease 1ms")
	s := &script{}
	begin := func(holders ...uint64) {
		s = &script{limit: l}
		for _, h := range holders {
			op := s.take(100, 110, 0, 1, weir.Decision{Allowed: true, Granted: 1})
			op.Takes[0].Slot = nameOf(h)
		}
	}
	back := func(call, end int64, holder uint64, renew bool) *Operation {
		op := s.op(call, end, 0)
		op.Returns = []weir.Return{{Limit: l, Slot: nameOf(holder), Renew: renew}}
		return op
	}
	take := func(call, end int64, holder uint64) *Operation {
		op := s.take(call, end, 0, 1, weir.Decision{Allowed: true, Granted: 1})
		op.Takes[0].Slot = nameOf(holder)
		return op
	}
	f := func(name string, fits bool) {
		t.Helper()
		s.want(t, name, CheckSlots(s.ops, l), fits)
	}
	begin(1, 2)
	f("two", true)
	begin(1, 2, 3)
	f("three", false)
	begin(1, 2, 2)
	f("one of two twice", true)
	begin(1, 2)
	take(500, 510, 3)
	f("a third, while both hold", false)
	back(490, 600, 1, false)
	f("a third, while one may have let go", true)
	s.ops[3].Call = 511 * time.Microsecond
	f("a third, before one lets go", false)
	s.ops[3].Err = weir.ErrNotApplied
	s.ops[3].Call = 490 * time.Microsecond
	f("a third, and one that was not let go", false)
	s.ops[3].Err = weir.ErrUnknown
	f("a third, and one that may have been", true)

	begin(1, 2)
	take(1200, 1210, 3)
	f("a third, when both leases have ended", true)
	take(1201, 1211, 4)
	f("and a fourth", true)
	back(900, 910, 1, true)
	f("and a fourth, when one has renewed", false)
	s.ops[4].Err = weir.ErrLost
	f("and a fourth, when one could not renew", true)

	begin(1, 2)
	s.op(300, 310, 0).Reset = []weir.Return{{Limit: l}}
	take(500, 510, 3)
	f("a third, after a reset", true)
	begin(1, 2, 3)
	s.ops[1].Decisions[0].Mode = weir.Open
	f("three, of whom one was not counted", true)
	s.ops[1].Decisions[0].Mode = weir.Exact
	s.ops[1].Takes[0].How = weir.Peek
	f("three, of whom one only looked", true)
	s.ops[1].Takes[0].How, s.ops[1].Err = 0, weir.ErrUnknown
	f("three, of whom one was told nothing", true)

	if CheckSlots(nil, weir.MustLimit("b", "5/s")) == nil {
		t.Error("a rate has slots")
	}
}

// That a slot is lost is an answer, and has its place in the order.
func TestCheckLinearizableOfSlots(t *testing.T) {
	l := weir.MustLimit("n", "1 concurrent lease 1ms")
	s := &script{limit: l}
	given := weir.Decision{Allowed: true, Granted: 1, ResetAfter: 1000, Receipt: weir.Receipt{At: 6000, Cost: 1}}
	s.take(0, 10, 5000, 1, given).Takes[0].Slot = nameOf(1)
	op := s.op(20, 30, 5500)
	op.Returns = []weir.Return{{Limit: l, Slot: nameOf(1), Renew: true}}
	s.want(t, "a renewal", CheckLinearizable(s.ops, true), true)
	s.ops[1].Err = weir.ErrLost
	s.want(t, "a renewal that is said to be lost", CheckLinearizable(s.ops, true), false)
	s.ops[1].Stamp.Now = 6000
	s.want(t, "one that comes too late", CheckLinearizable(s.ops, true), true)
	s.ops[1].Err = nil
	s.want(t, "one that comes too late, and is told nothing", CheckLinearizable(s.ops, true), false)
	s.ops[1].Call = 0
	s.ops[1].Stamp.Now, s.ops[1].Err = 4999, weir.ErrLost
	s.want(t, "one that came before", CheckLinearizable(s.ops, true), true)

	other := weir.MustLimit("m", "1 concurrent lease 1ms")
	s.ops[1].Stamp.Now, s.ops[1].Call = 5500, 20_000
	s.ops[1].Returns = append(s.ops[1].Returns, weir.Return{Limit: other, Slot: nameOf(9), Renew: true})
	s.want(t, "one of two, of which the other is lost", CheckLinearizable(s.ops, true), true)
	s.ops[1].Err = nil
	s.want(t, "both, of which one is lost", CheckLinearizable(s.ops, true), false)
}
