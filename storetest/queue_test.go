package storetest

import (
	"testing"

	"github.com/weirhq/weir"
)

// The values are worked out by hand.
func TestOracleQueue(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("q", "3 per 7us leaky-bucket wait 6us") // a unit takes 2 1/3 µs, 2 4/7 of them 6 µs
	r := a.one(100, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 2, ResetAfter: 3})
	if want := (weir.Receipt{At: 100, Cost: 1, Numbers: [2]int64{3, 7}}); r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
	r = a.one(100, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 5, Delay: 3}) // 2 1/3
	if want := (weir.Receipt{At: 102, Cost: 1, Numbers: [2]int64{3, 7}, Rest: 1}); r != want {
		t.Errorf("receipt %+v, want %+v", r, want)
	}
	a.one(100, l, 2, 0, weir.Decision{Remaining: 1, RetryAfter: 1, ResetAfter: 5})                                            // the last would wait 4 2/3 + 2 1/3 = 7
	a.one(101, l, 2, weir.Peek, weir.Decision{Allowed: true, Granted: 2, Remaining: 2, ResetAfter: 4, Delay: 4})              // 3 2/3 + 2 1/3 = 6
	a.one(100, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 7, Delay: 5})                                    // 4 2/3
	a.one(100, l, 1, 0, weir.Decision{RetryAfter: 1, ResetAfter: 7})                                                          // would wait 7
	a.one(101, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 9, Delay: 6})                                    // 6
	a.one(101, l, 4, 0, weir.Decision{Never: true, ResetAfter: 9})                                                            // the last would wait 7 in an empty queue
	a.one(99, l, 1, 0, weir.Decision{RetryAfter: 5, ResetAfter: 11})                                                          // empty at 109 1/3
	a.one(101, l, 9, weir.Force, weir.Decision{Allowed: true, Granted: 2, ResetAfter: 13})                                    // 3 4/7 owed, of 6
	a.one(114, l, 9, weir.Partial, weir.Decision{Allowed: true, Granted: 3, ResetAfter: 7})                                   // all drained
	a.one(114, l, 0, weir.Peek, weir.Decision{RetryAfter: 0, Allowed: true, ResetAfter: 7})                                   // nothing asked, nothing held
	a.one(114, l, 1, weir.Always, weir.Decision{RetryAfter: 1, ResetAfter: 10})                                               // charged all the same
	a.one(115, l, 1, weir.Peek|weir.Partial, weir.Decision{RetryAfter: 3, ResetAfter: 9})                                     // empty at 123 1/3
	a.one(120, l, 9, weir.Peek|weir.Partial, weir.Decision{Allowed: true, Granted: 2, Remaining: 2, ResetAfter: 4, Delay: 4}) // 1 3/7 owed
}

func TestOracleQueueBounds(t *testing.T) {
	a := newAsker(t)
	f := func(text string, capacity int64) {
		t.Helper()
		l := weir.MustLimit("q", text)
		a.one(1000, l, capacity+1, 0, weir.Decision{Never: true, Remaining: capacity})
		if l.Capacity() != capacity {
			t.Errorf("%s: the engine lets %d pass at once, want %d", text, l.Capacity(), capacity)
		}
	}
	f("1 per 10us leaky-bucket wait 9us", 1)
	f("1 per 10us leaky-bucket wait 10us", 2)
	f("1 per 10us leaky-bucket wait 39us", 4)
	f("1 per 10us leaky-bucket wait 39us queue 2", 3)
	f("1 per 10us leaky-bucket wait 39us queue 4", 4)
	f("1 per 10us leaky-bucket queue 4", 5)
	f("7 per 10us leaky-bucket wait 10us", 8)
}

func TestOracleQueueRefund(t *testing.T) {
	a, l := newAsker(t), weir.MustLimit("q", "1 per 10us leaky-bucket queue 4")
	a.one(100, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 4, ResetAfter: 10})
	second := a.one(100, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 3, ResetAfter: 20, Delay: 10})
	third := a.one(100, l, 2, 0, weir.Decision{Allowed: true, Granted: 2, Remaining: 1, ResetAfter: 40, Delay: 20})
	a.back(101, l, second, 1) // somebody stands behind
	a.one(101, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 1, ResetAfter: 39})
	a.back(101, l, third, 1)
	a.one(101, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 2, ResetAfter: 29})
	fourth := a.one(101, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 39, Delay: 29})
	a.back(135, l, fourth, 1) // it went on at 130
	a.one(135, l, 1, 0, weir.Decision{Allowed: true, Granted: 1, Remaining: 4, ResetAfter: 10})
	a.back(146, l, fourth, 1) // long gone
	a.one(146, l, 0, weir.Peek, weir.Decision{Allowed: true, Remaining: 5})
}

func TestOracleChangedQueue(t *testing.T) {
	a := newAsker(t)
	slow, fast := weir.MustLimit("q", "1 per 10us leaky-bucket wait 40us"), weir.MustLimit("q", "3 per 7us leaky-bucket wait 7us")
	a.one(100, slow, 5, 0, weir.Decision{Allowed: true, Granted: 5, ResetAfter: 50})
	// A peek stays in the state's numbers, and tells what a take would wait.
	a.one(120, fast, 1, weir.Peek, weir.Decision{Allowed: true, Granted: 1, Remaining: 1, ResetAfter: 30, Delay: 7})
	a.one(119, fast, 1, weir.Peek, weir.Decision{RetryAfter: 1, ResetAfter: 31})
	// A take converts even when refused: 3.9 units are 9 1/3 µs in thirds of one.
	a.one(111, fast, 1, 0, weir.Decision{RetryAfter: 3, ResetAfter: 10})
	// A slower limit is judged in the state's numbers until it admits: 3 6/7 units.
	one := weir.MustLimit("q", "1 per 10us leaky-bucket queue 3")
	a.one(111, one, 1, weir.Peek, weir.Decision{RetryAfter: 3, ResetAfter: 10})
	a.one(114, one, 1, 0, weir.Decision{Allowed: true, Granted: 1, ResetAfter: 38, Delay: 28}) // 2 5/7 in tenths is 2.8
}

// What leaves a leaky bucket is counted when it goes on, and what came back is not.
func TestCheckWindowsOfQueues(t *testing.T) {
	l := weir.MustLimit("q", "1 per 10us leaky-bucket queue 4")
	leaving := func(n int, every weir.Micros) *script {
		s := &script{limit: l}
		for i := range n {
			d := weir.Decision{Allowed: true, Granted: 1, Delay: every * weir.Micros(i), Receipt: weir.Receipt{At: every * weir.Micros(i), Cost: 1, Numbers: [2]int64{1, 10}}}
			s.take(100, 100, 0, 1, d)
		}
		return s
	}
	f := func(name string, s *script, fits bool) {
		t.Helper()
		s.want(t, name, CheckWindows(s.ops, s.limit), fits)
	}
	f("one unit every 10 µs", leaving(60, 10), true)
	f("one unit every 9 µs", leaving(60, 9), false)
	f("the capacity at once", leaving(5, 0), true)
	f("one more", leaving(6, 0), false)

	s := leaving(6, 0)
	s.op(50, 60, 0).Returns = []weir.Return{{Limit: l, Receipt: weir.Receipt{Cost: 1, Numbers: [2]int64{1, 10}}, Units: 1}}
	f("one of them came back, at any time", s, true)
	s.ops[6].Returns[0].Receipt.At = 10
	f("another one came back", s, false)
	s = leaving(6, 0)
	s.op(50, 60, 0).Reset = []weir.Return{{Limit: l}}
	f("a reset, within the longest delay before", s, true)
	s.ops[6].Call, s.ops[6].Return = 50_000, 59_000
	f("a reset before that", s, false)
	s = leaving(6, 0)
	s.ops[0].Takes[0].How = weir.Force
	f("one of them forced", s, true)
	s = leaving(6, 0)
	s.ops[0].Err = weir.ErrUnknown
	f("one of them not known", s, true)
}
