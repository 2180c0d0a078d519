package storetest

import (
	"errors"
	"math"
	"testing"

	"github.com/weirhq/weir"
)

// asker asks an oracle about one key.
type asker struct {
	*testing.T
	oracle *Oracle
}

func newAsker(t *testing.T) asker { return asker{t, NewOracle()} }

// one asks for one take and wants its decision.
func (a asker) one(now weir.Micros, l *weir.Limit, cost int64, how weir.How, want weir.Decision) weir.Receipt {
	a.Helper()
	_, out, err := a.oracle.Take(now, []weir.Take{{Limit: l, Cost: cost, How: how}})
	if err != nil {
		a.Fatal(err)
	}
	receipt := out[0].Receipt
	out[0].Receipt = weir.Receipt{}
	if out[0] != want {
		a.Errorf("%s, %d at %d: %s", l, cost, now, compareDecisions(out[0], want))
	}
	return receipt
}

func (a asker) back(now weir.Micros, l *weir.Limit, r weir.Receipt, units int64) {
	a.Helper()
	if err := a.oracle.Return(now, []weir.Return{{Limit: l, Receipt: r, Units: units}}); err != nil {
		a.Fatal(err)
	}
}

// The values are worked out by hand.
func TestOracleBucket(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("b", "3 per 7us burst 4") // a unit takes 2 1/3 µs
	r := a.one(100, l, 3, 0, weir.Decision{Allowed: true, Granted: 3, Remaining: 1, ResetAfter: 7})
	if want := (weir.Receipt{At: 100, Cost: 3, Numbers: [2]int64{3, 7}}); r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
	a.one(100, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 3, ResetAfter: 7})                                  // 2 1/3 up
	a.one(102, l, 2, weir.Peek, weir.Decision{Remaining: 1, RetryAfter: 1, ResetAfter: 5})                          // owes 2 1/7
	a.one(103, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, ResetAfter: 9})                                    // owed 1 5/7, owes 3 5/7
	a.one(90, l, 1, 0, weir.Decision{RetryAfter: 15, ResetAfter: 22})                                               // 3 5/7 + 13·3/7 = 9 2/7
	a.one(103, l, 5, 0, weir.Decision{Never: true, ResetAfter: 9})                                                  // above the burst
	a.one(103, l, 9, weir.Force, weir.Decision{Allowed: true, Granted: 4, ResetAfter: 18})                          // 7 5/7 of 8
	a.one(103, l, math.MaxInt64, weir.Force, weir.Decision{Allowed: true, ResetAfter: 18})                          // no whole unit left
	a.one(121, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 4})                                         // all drained
	a.one(121, l, 9, weir.Partial, weir.Decision{Allowed: true, Granted: 4, ResetAfter: 10})                        // owes 4
	a.one(121, l, 1, weir.Always, weir.Decision{RetryAfter: 3, ResetAfter: 12})                                     // charged all the same
	a.one(121, l, 1, weir.Peek|weir.Partial, weir.Decision{RetryAfter: 5, ResetAfter: 12})                          // owes 5
	a.one(126, l, 3, weir.Peek|weir.Partial, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 7}) // owes 2 6/7
}

func TestOracleRefund(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("b", "1 per 10us burst 5")
	first := a.one(100, l, 3, 0, weir.Decision{Allowed: true, Granted: 3, Remaining: 2, ResetAfter: 30})
	second := a.one(110, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 40})
	a.back(115, l, first, 3) // 1 1/2 has flowed back, 1 1/2 is left of it
	a.one(115, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 3, ResetAfter: 20})
	a.back(115, l, second, 1)
	a.one(115, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 4, ResetAfter: 10})
	a.back(140, l, second, 2) // long since flowed back
	a.back(120, weir.MustLimit("b", "2 per 10us burst 5"), weir.Receipt{At: 120, Cost: 1, Numbers: [2]int64{1, 5}}, 1)
	a.one(115, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 4, ResetAfter: 10})
	a.oracle.Reset(l, weir.Key{})
	a.one(1, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 5})
}

func TestOracleChangedBucket(t *testing.T) {
	a := newAsker(t)
	slow, fast := weir.MustLimit("b", "1 per 10us burst 5"), weir.MustLimit("b", "3 per 7us burst 4")
	a.one(100, slow, 5, 0, weir.Decision{Allowed: true, Granted: 5, ResetAfter: 50})
	// A peek stays in the state's numbers: 4 1/2 owed, 5 µs until 4 are.
	a.one(105, fast, 0, weir.Peek, weir.Decision{RetryAfter: 5, ResetAfter: 45})
	// A take converts even when refused: 4 1/2 units are 4 4/7 in sevenths.
	a.one(105, fast, 1, 0, weir.Decision{RetryAfter: 4, ResetAfter: 11})
	a.one(105, slow, 1, weir.Peek, weir.Decision{RetryAfter: 2, ResetAfter: 11})
	// A slower limit is judged in the state's numbers until it admits.
	a.one(106, slow, 1, 0, weir.Decision{RetryAfter: 1, ResetAfter: 10})
	a.one(107, slow, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 48}) // 3 5/7 in tenths is 3.8
}

func TestOracleWindow(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("w", "3 per 10us fixed-window")
	r := a.one(105, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 5})
	if want := (weir.Receipt{At: 100, Cost: 2, Numbers: [2]int64{100, 110}}); r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
	a.one(105, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 5, ResetAfter: 5})
	a.one(95, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 15, ResetAfter: 15}) // the window never runs back
	a.one(109, l, 9, weir.Force, weir.Decision{Allowed: true, Granted: 4, ResetAfter: 1})
	a.back(109, l, r, 2)
	a.one(109, l, 0, weir.Peek, weir.Decision{RetryAfter: 1, ResetAfter: 1}) // 4 of 3
	a.one(110, l, 3, 0, weir.Decision{Allowed: true, Granted: 3, ResetAfter: 10})
	a.back(110, l, r, 2) // of the window before
	a.one(110, l, 1, 0, weir.Decision{RetryAfter: 10, ResetAfter: 10})
	// Another period counts for itself.
	other := weir.MustLimit("w", "4 per 16us fixed-window")
	a.one(113, other, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 2, ResetAfter: 15}) // 112 to 128
	a.one(113, l, 0, weir.Peek, weir.Decision{Allowed: true, RetryAfter: 0, ResetAfter: 7})
	// Where the edges themselves have moved, the count goes over with the first
	// take, not with a peek.
	moved, edges := weir.MustLimit("c", "4/day calendar UTC"), &weir.Edges{100, 110, 120, 130}
	on := func(e *weir.Edges, now weir.Micros, cost int64, how weir.How, want weir.Decision) {
		t.Helper()
		want.Receipt = weir.Receipt{}
		_, out, err := a.oracle.Take(now, []weir.Take{{Limit: moved, Cost: cost, How: how, Edges: e}})
		if err != nil {
			t.Fatal(err)
		}
		if out[0].Receipt = (weir.Receipt{}); out[0] != want {
			t.Errorf("%d at %d: got %+v, want %+v", cost, now, out[0], want)
		}
	}
	on(edges, 112, 3, 0, weir.Decision{Allowed: true, Granted: 3, Remaining: 1, ResetAfter: 8})
	edges = &weir.Edges{112, 128, 144, 160}
	on(edges, 113, 2, weir.Peek, weir.Decision{Remaining: 1, RetryAfter: 7, ResetAfter: 7})
	on(edges, 113, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 15, ResetAfter: 15})
}

func TestOracleSliding(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("s", "4 per 10us sliding-window")
	r := a.one(105, l, 3, 0, weir.Decision{Allowed: true, Granted: 3, Remaining: 1, ResetAfter: 15})
	if want := (weir.Receipt{At: 100, Cost: 3, Numbers: [2]int64{100, 110}}); r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
	a.one(105, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 9, ResetAfter: 15})            // 3 weigh 2 at 113 1/3
	a.one(95, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 19, ResetAfter: 25})            // the window never runs back
	a.one(105, l, 5, 0, weir.Decision{Never: true, Remaining: 1, ResetAfter: 15})              // above the limit
	a.one(112, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 1, ResetAfter: 8})     // 3 weigh 2.4
	a.one(112, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 18})              // 3.4
	a.one(112, l, 1, 0, weir.Decision{RetryAfter: 2, ResetAfter: 18})                          // until 3 weigh 1.8
	a.one(112, l, 4, 0, weir.Decision{RetryAfter: 18, ResetAfter: 18})                         // until 1 weighs nothing, at 130
	a.one(112, l, 9, weir.Force, weir.Decision{Allowed: true, Granted: 4, ResetAfter: 18})     // 7.4 of 8
	a.one(112, l, 1, weir.Force, weir.Decision{Allowed: true, ResetAfter: 18})                 // no whole unit left
	a.one(112, l, 1, 0, weir.Decision{RetryAfter: 12, ResetAfter: 18})                         // until 5 weigh 3
	a.back(112, l, r, 2)                                                                       // of the window before: 1 weighs 0.8
	a.one(112, l, 0, weir.Peek, weir.Decision{RetryAfter: 10, ResetAfter: 18})                 // until 5 weigh 4
	a.one(121, l, 0, weir.Peek, weir.Decision{RetryAfter: 1, ResetAfter: 9})                   // 4.5
	a.one(125, l, 9, weir.Partial, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 15})   // 2.5 and 1
	a.one(140, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 4})                    // two windows on
	a.back(140, l, r, 3)                                                                       // of a window long over
	a.one(135, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 3, ResetAfter: 5})     // 1 weighs 0.5
	more := weir.MustLimit("s", "9 per 10us sliding-window")                                   // the same counts, judged by more
	a.one(125, more, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 5, ResetAfter: 15}) // 3.5
}

// In ticks of a tenth of a window, what happens within one stands at its beginning.
func TestOracleTicks(t *testing.T) {
	f := func(text string, tick int64) {
		t.Helper()
		if law, ok := lawOf(weir.MustLimit("s", text)).(slidingLaw); !ok || law.tick != tick {
			t.Errorf("%s: ticks of %d µs, want %d", text, law.tick, tick)
		}
	}
	f("100 per 30d sliding-window", 1)
	f("999983/h sliding-window", 1)
	f("999983/day sliding-window", 10)
	f("1000000 per 30d sliding-window", 1000)
	f("1000000000/s sliding-window", 1)
	f("1000000000/min sliding-window", 10)
	f("1000000000/h sliding-window", 1000)
	f("1000000000/day sliding-window", 10_000)
	f("1000000000 per 30d sliding-window", 1_000_000)
	f("7/day sliding-window overdraft 1000000000", 10_000)
	f("1000000000000 per 10ms sliding-window", 10)
	a, l := newAsker(t), weir.MustLimit("s", "9007199254740 per 10ms sliding-window")
	a.one(10_009_999, l, 9_007_199_254_740, 0, weir.Decision{Allowed: true, Granted: 9_007_199_254_740, ResetAfter: 10_001})
	a.one(10_010_009, l, 1, 0, weir.Decision{RetryAfter: 1, ResetAfter: 9991})
	a.one(10_010_019, l, 1, weir.Peek, weir.Decision{Allowed: true, Granted: 1, Remaining: 9_007_199_254, ResetAfter: 9981})
}

func TestOracleGrids(t *testing.T) {
	f := func(text string, now weir.Micros, k weir.Key, edges *weir.Edges, start, end weir.Micros) {
		t.Helper()
		m, ok := momentOf(now, weir.Take{Limit: weir.MustLimit("w", text), Key: k, Edges: edges})
		if want := (moment{now: now, start: start, end: end}); ok != (start < end) || ok && m != want {
			t.Errorf("got %+v, %t, want %+v", m, ok, want)
		}
	}
	shifted := weir.Key{0, 0, 0, 0, 0, 0, 0, 0, 3, 1} // 259 in the last 8 bytes, 9 modulo 10
	f("3 per 10us fixed-window", 105, shifted, nil, 100, 110)
	f("3 per 10us fixed-window", 110, shifted, nil, 110, 120)
	f("3 per 10us fixed-window spread", 105, shifted, nil, 99, 109)
	f("3 per 10us fixed-window spread", 109, shifted, nil, 109, 119)
	f("3 per 10us fixed-window spread", 3, shifted, nil, -1, 9)
	f("3 per 10us fixed-window spread", 105, weir.Key{9, 9}, nil, 100, 110)
	f("3 per 10us sliding-window", 105, shifted, nil, 100, 110)
	f("3 per 10us sliding-window spread", 105, shifted, nil, 99, 109)
	edges := &weir.Edges{100, 200, 230, 300}
	f("3/day calendar UTC", 100, shifted, edges, 100, 200)
	f("3/day calendar UTC", 229, shifted, edges, 200, 230)
	f("3/day calendar UTC", 299, shifted, edges, 230, 300)
	f("3/day calendar UTC", 99, shifted, edges, 0, 0)
	f("3/day calendar UTC", 300, shifted, edges, 0, 0)
	f("3/day calendar UTC", 300, shifted, nil, 0, 0)
}

// Several takes in one call.
func TestOraclePhases(t *testing.T) {
	b, w := weir.MustLimit("b", "1 per 10us burst 5"), weir.MustLimit("w", "3 per 10us fixed-window")
	f := func(wantAllowed bool, wants []weir.Decision, takes ...weir.Take) {
		t.Helper()
		allowed, out, err := NewOracle().Take(100, takes)
		if err != nil || allowed != wantAllowed {
			t.Errorf("got allowed %t, error %v", allowed, err)
		}
		for i, want := range wants {
			out[i].Receipt = weir.Receipt{Cost: out[i].Receipt.Cost}
			if out[i] != want {
				t.Errorf("take %d:%s", i, compareDecisions(out[i], want))
			}
		}
	}
	paid := func(n int64) weir.Receipt { return weir.Receipt{Cost: n} }
	take := func(l *weir.Limit, cost int64, j weir.Join, h weir.How) weir.Take {
		return weir.Take{Limit: l, Cost: cost, Join: j, How: h}
	}
	f(true, nil)
	// Two takes and a peek of one state are judged together; the peek is not charged.
	f(true, []weir.Decision{
		{Allowed: true, Granted: 2, Remaining: 2, ResetAfter: 30, Receipt: paid(2)},
		{Allowed: true, Granted: 2, Remaining: 2, ResetAfter: 30},
		{Allowed: true, Granted: 1, Remaining: 2, ResetAfter: 30, Receipt: paid(1)},
	}, take(b, 2, weir.All, 0), take(b, 2, weir.All, weir.Peek), take(b, 1, weir.All, 0))
	// Partial takes get one each, and then what is left in their order.
	f(true, []weir.Decision{
		{Allowed: true, Granted: 3, ResetAfter: 50, Receipt: paid(3)},
		{Allowed: true, Granted: 1, ResetAfter: 50, Receipt: paid(1)},
		{Allowed: true, Granted: 1, ResetAfter: 50, Receipt: paid(1)},
	}, take(b, 9, weir.All, weir.Partial), take(b, 9, weir.All, weir.Partial), take(b, 1, weir.All, 0))
	// A refused call charges what is marked Always, and settles what is forced.
	f(false, []weir.Decision{
		{Allowed: true, Remaining: 4, ResetAfter: 10},
		{Allowed: true, Remaining: 4, ResetAfter: 10, Receipt: paid(1)},
		{Never: true, Remaining: 1, ResetAfter: 10},
		{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 10, Receipt: paid(2)},
	}, take(b, 1, weir.All, 0), take(b, 1, weir.All, weir.Always), take(w, 4, weir.All, 0), take(w, 2, weir.All, weir.Force))
	// Advise refuses nothing and is charged only with the call; Alone stands for itself.
	f(true, []weir.Decision{
		{Never: true, Remaining: 3},
		{Allowed: true, Granted: 1, Remaining: 4, ResetAfter: 10, Receipt: paid(1)},
		{Allowed: true, Granted: 4, ResetAfter: 50, Receipt: paid(4)},
		{RetryAfter: 10, ResetAfter: 50},
	}, take(w, 4, weir.Advise, 0), take(b, 1, weir.All, 0), take(b, 4, weir.Alone, 0), take(b, 1, weir.Alone, 0))
	f(false, []weir.Decision{
		{Allowed: true, Remaining: 3},
		{Never: true, Remaining: 5},
		{Allowed: true, Granted: 3, ResetAfter: 10, Receipt: paid(3)},
	}, take(w, 1, weir.Advise, 0), take(b, 6, weir.All, 0), take(w, 3, weir.Alone, 0))
	f(false, []weir.Decision{{Never: true, Remaining: 5}, {Never: true, Remaining: 5}},
		take(b, math.MaxInt64, weir.All, 0), take(b, math.MaxInt64, weir.All, 0))
}

func TestOracleRefuses(t *testing.T) {
	l := weir.MustLimit("b", "1 per 10us burst 5")
	f := func(kind error, takes ...weir.Take) {
		t.Helper()
		if _, _, err := NewOracle().Take(100, takes); !errors.Is(err, kind) {
			t.Errorf("got error %v, want %v", err, kind)
		}
	}
	f(weir.ErrInvalid, make([]weir.Take, 17)...)
	f(weir.ErrInvalid, weir.Take{Cost: 1})
	f(weir.ErrInvalid, weir.Take{Limit: weir.MustLimit("b", "deny"), Cost: 1})
	f(weir.ErrInvalid, weir.Take{Limit: l})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: -1, How: weir.Peek})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1, Join: 3})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1, How: 16})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1, How: weir.Always | weir.Force})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1, How: weir.Always | weir.Partial})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1}, weir.Take{Limit: weir.MustLimit("b", "2 per 10us burst 5"), Cost: 1})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1}, weir.Take{Limit: weir.MustLimit("b", "1 per 10us burst 5 overdraft 10"), Cost: 1})
	f(nil, weir.Take{Limit: l, Cost: 1}, weir.Take{Limit: weir.MustLimit("b", l.String()), Cost: 1})
	f(weir.ErrInvalid, weir.Take{Limit: l, Cost: 1, Slot: weir.SlotID{1}})
	f(weir.ErrStale, weir.Take{Limit: weir.MustLimit("w", "1/day calendar UTC"), Cost: 1})
}

func overdraftOf(l *weir.Limit) int64 {
	switch law := lawOf(l).(type) {
	case bucketLaw:
		return law.overdraft
	case windowLaw:
		return law.overdraft
	case slidingLaw:
		return law.overdraft
	case queueLaw:
		return law.overdraft
	}
	return -1
}

// The overdraft that a limit leaves out is twice the burst, or the most that can
// be counted exactly where that is less.
func TestOracleOverdraft(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		l := weir.MustLimit("l", text)
		if got := overdraftOf(l); got != want || got != l.Algorithm().Overdraft() {
			t.Errorf("%s: got %d, want %d; the engine has %d", text, got, want, l.Algorithm().Overdraft())
		}
	}
	f("10/s", 20)
	f("10/s burst 7 overdraft 7", 7)
	f("1/day burst 52124", 52124)
	f("1/day burst 30000", 52124)
	f("999983/h burst 9000000000", 9007361386)
	f("10/s leaky-bucket queue 4", 10)
	f("10/s leaky-bucket wait 450ms", 10)
	f("1/day leaky-bucket queue 30000", 52124)
	f("10/s leaky-bucket queue 4 overdraft 5", 5)
	f("10/s fixed-window", 20)
	f("10/s fixed-window overdraft 11", 11)
	f("10/s sliding-window", 20)
	f("1000000/day sliding-window", 1_042_499)
	f("1000000/day sliding-window overdraft 2000000", 2_000_000)
	f("4000000000000000 per 30d fixed-window", 1<<52-1)
}

func TestEarliest(t *testing.T) {
	for first := range weir.Micros(40) {
		for guess := range weir.Micros(60) {
			if got := earliest(guess-10, func(d weir.Micros) bool { return d >= first }); got != first {
				t.Fatalf("from the guess %d: got %d, want %d", guess-10, got, first)
			}
		}
	}
}
