package algorithm_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

func queue(tb testing.TB, count, period, wait, places, overdraft int64) *weir.Limit {
	tb.Helper()
	return limit(tb, weir.Spec{
		Algorithm: weir.LeakyBucket, Count: count, Period: time.Duration(period) * time.Microsecond,
		Wait: time.Duration(wait) * time.Microsecond, Queue: places, Overdraft: overdraft,
	})
}

// queues are limits as people write them, and a few that are hard on integers.
func queues(tb testing.TB) []*weir.Limit {
	tb.Helper()
	const second, minute, hour, day = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
	return []*weir.Limit{
		queue(tb, 10, second, second, 0, 0),
		queue(tb, 10, second, 0, 5, 0),
		queue(tb, 100, minute, 5*second, 20, 0),
		queue(tb, 999_983, hour, second/7, 0, 0), // a prime
		queue(tb, 7, second, 0, 3, 20),
		queue(tb, 1_000_000, day, minute, 100, 0),
		queue(tb, 1_000_000_000, second, 1, 0, 0), // a thousand in a microsecond
		queue(tb, 1, 1, 0, 1, 2),
		queue(tb, 3, 7, 9, 0, 0),
		queue(tb, 10, second, 550_000, 5, 0), // both bounds, and a part of a unit beyond
		queue(tb, 5, 3, 2, 2, 0),
		queue(tb, 1, 30*day, day, 0, 0),
	}
}

// queuesAtTheEdge are limits of which one unit more would be refused.
func queuesAtTheEdge(tb testing.TB) []*weir.Limit {
	tb.Helper()
	const day = 86_400_000_000
	var limits []*weir.Limit
	for _, rate := range [][2]int64{
		{1, 1_000_000}, {1, day}, {7, 30 * day}, {999_983, 3_600_000_000}, {999_983, 30 * day}, {1_000_000_007, 1_009}, {1 << 51, 3}, {94_906_265, 94_906_266},
	} {
		if most := mostUnits(rate[0], rate[1]); most > 1 {
			limits = append(limits, queue(tb, rate[0], rate[1], 0, most-1, most))
		}
	}
	return limits
}

func TestLeakyBucketIsTheOracle(t *testing.T) {
	for i, l := range append(queues(t), queuesAtTheEdge(t)...) {
		newWalk(t, roll(uint64(i)), l).run(steps() / 40)
	}
}

// Limits of other numbers take turns on one state.
func TestLeakyBucketUnderChangeIsTheOracle(t *testing.T) {
	inTurn(t, roll(97), append(queues(t), queuesAtTheEdge(t)...), steps()/2)
}

// FuzzLeakyBucket takes a queue, or two in turn, through the steps that the bytes
// spell.
func FuzzLeakyBucket(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(uint8(8), uint8(9), []byte("a queue fills up, its numbers change, and places come back, over and over"))
	f.Add(uint8(3), uint8(6), []byte("\x0f\x0e\x0d\x0c\x0b\x0a the clock runs back, and a part of a microsecond is left"))
	f.Fuzz(func(t *testing.T, one, two uint8, moves []byte) {
		limits := queues(t)
		w := newWalk(t, &bytesDice{moves}, limits[int(one)%len(limits)], limits[int(two)%len(limits)])
		w.back = 1 << 40
		w.run(min(len(moves), 200))
	})
}

func TestLeakyBucketArguments(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 1_000_000, 1_000_000_000_000, 3_155_760_000_000_000, 1<<52 - 1, 1 << 52, 1 << 53, math.MaxInt64}
	accepted := 0
	for _, count := range odd {
		for _, period := range odd {
			for _, wait := range odd {
				for _, places := range odd {
					for _, overdraft := range []int64{-1, 0, 1, 2, 1_000_000, 1 << 52, math.MaxInt64} {
						b, err := algorithm.NewLeakyBucket(count, micros(period), micros(wait), places, overdraft)
						if err != nil {
							wantField(t, err, "count", "period", "wait", "queue", "overdraft")
							continue
						}
						accepted++
						most := mostUnits(count, period)
						if wait < 0 || places < 0 || wait == 0 && places == 0 || places > 0 && b.Capacity()-1 > places || b.Capacity() > most || b.Overdraft() > most {
							t.Errorf("%d per %d µs wait %d µs queue %d overdraft %d is accepted, capacity %d", count, period, wait, places, overdraft, b.Capacity())
						}
						if accepted%5 == 0 {
							newWalk(t, roll(uint64(accepted)), queue(t, count, period, wait, places, overdraft)).run(10)
						}
					}
				}
			}
		}
	}
	if accepted < 500 {
		t.Errorf("only %d are accepted", accepted)
	}
}

// Of a bound that is too large the refusal says which, and what would be accepted.
func TestRefusalsOfQueues(t *testing.T) {
	const second, day, year = 1_000_000, 86_400_000_000, 31_557_600_000_000
	f := func(count, period, wait, places, overdraft int64, want string) {
		t.Helper()
		b, err := algorithm.NewLeakyBucket(count, micros(period), micros(wait), places, overdraft)
		if err == nil || err.Error() != want || !errors.Is(err, algorithm.ErrInvalid) {
			t.Errorf("got  %v, %+v\nwant %s", err, b, want)
		}
	}
	f(0, second, second, 0, 0, `weir: count 0: a limit admits at least 1 unit a period; write "deny" to refuse everything, "unlimited" to limit nothing`)
	f(5, second, 0, 0, 0, "weir: wait 0: nothing bounds the queue; write a longer one, or bound the queue itself")
	f(5, second, -1, 3, 0, "weir: wait -1: it lasts at least 1 µs")
	f(5, second, 1<<52, 3, 0, "weir: wait 4503599627370496: it lasts at most 142 years")
	f(5, second, 5, -1, 0, "weir: queue -1: a queue holds at least 1; leave it out to bound it by wait alone")
	f(5, second, 5, -3, 0, "weir: queue -3: a queue holds at least 1; leave it out to bound it by wait alone")
	f(1, day, 0, 1_000_000, 0, "weir: queue 1000000: it needs 2737 years to drain; write at most 52123")
	f(999_983, second, 0, 9_007_361_386, 0, "weir: queue 9007361386: too large to count exactly at this rate; write at most 9007361385")
	f(1_000_000_000, 1, 20_000, 0, 0, "weir: wait 20000: too many units could wait so long; write a shorter one, or queue 9007197 or less beside it")
	f(1, day, 52_123*day+1, 0, 0, "weir: wait 4503427200000001: too many units could wait so long; write a shorter one, or queue 52123 or less beside it")
	f(1, 70*year, 0, 5, 0, "weir: queue 5: it needs 350 years to drain; write at most 1")
	f(1, 70*year, 140*year, 0, 0, "weir: wait 4418064000000000: too many units could wait so long; write a shorter one, or queue 1 or less beside it")
	f(1, 100*year, 50*year, 0, 0, "weir: wait 1577880000000000: no queue can be counted exactly at this rate; write a shorter period, or a rounder count")
	f(1, 100*year, 0, 1, 0, "weir: queue 1: no queue can be counted exactly at this rate; write a shorter period, or a rounder count")
	f(5, second, second, 0, 5, "weir: overdraft 5: the debt may be no smaller than the 6 units that pass at once; leave it out, or raise it")
	f(1, day, 0, 10, 52125, "weir: overdraft 52125: it needs 142 years to drain; write at most 52124")
}

func TestLeakyBucketBounds(t *testing.T) {
	f := func(count, period, wait, places, capacity, overdraft int64, longest micros) {
		t.Helper()
		b, err := algorithm.NewLeakyBucket(count, micros(period), micros(wait), places, 0)
		if err != nil {
			t.Fatal(err)
		}
		if b.Capacity() != capacity || b.Overdraft() != overdraft || b.Longest() != longest {
			t.Errorf("%d per %d µs wait %d µs queue %d: capacity %d, overdraft %d, longest %d, want %d, %d and %d", count, period, wait, places, b.Capacity(), b.Overdraft(), b.Longest(), capacity, overdraft, longest)
		}
	}
	const second, day = 1_000_000, 86_400_000_000
	f(10, second, second, 0, 11, 22, second)
	f(10, second, second-1, 0, 10, 20, second-1)
	f(10, second, 1, 0, 1, 2, 1)
	f(10, second, 0, 5, 6, 12, second/2)
	f(10, second, 500_000, 5, 6, 12, second/2)
	f(10, second, 499_999, 5, 5, 10, 499_999)
	f(10, second, 1<<52-1, 5, 6, 12, second/2)
	f(10, second, second, 1, 2, 4, second/10)
	f(3, 7, 0, 2, 3, 6, 5) // 14/3 µs, rounded up
	f(1, day, 0, 52_123, 52_124, 52_124, 52_123*day)
	f(1, day, 52_122*day+1, 0, 52_123, 52_124, 52_122*day+1)
}

// Most says what goes on where its sum is as large as two words, and is cut beyond.
func TestMostOfAFastQueue(t *testing.T) {
	b, err := algorithm.NewLeakyBucket(1<<51, 3, 0, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := func(span micros, want int64) {
		t.Helper()
		if got := b.Most(span); got != want {
			t.Errorf("in %d µs at most %d, want %d", span, got, want)
		}
	}
	f(1<<13, 2+6_148_914_691_236_517_205) // of 2^64 - 1 thirds
	f(3<<13, math.MaxInt64)
	f(3<<13+1, math.MaxInt64) // the first where the quotient needs two words
	f(1<<52-1, math.MaxInt64)
}

// No units, and fewer than none, give nothing back; nor do more than were charged give
// back more.
func TestRefundOfOddUnits(t *testing.T) {
	a := queues(t)[0].Algorithm()
	s, r := a.Charge(state{}, at(started), 3)
	for units, want := range map[int64]state{0: s, -1: s, math.MinInt64: s, 3: {}, 4: {}, math.MaxInt64: {}} {
		if got := a.Refund(s, at(started), r, units); got != want {
			t.Errorf("%d units of %v: got %v, want %v", units, s, got, want)
		}
	}
	both, r := a.Charge(s, at(started), 2)
	for units, want := range map[int64]state{0: both, 2: s, 3: s, 5: s, math.MaxInt64: s} {
		if got := a.Refund(both, at(started), r, units); got != want {
			t.Errorf("%d units of the two behind three: got %v, want %v", units, got, want)
		}
	}
	const later = started + 3_600_000_000 // everybody has gone on
	for _, units := range []int64{0, -1, math.MinInt64} {
		if got := a.Refund(both, at(later), r, units); got != both {
			t.Errorf("%d units of an empty queue: got %v, want %v", units, got, both)
		}
	}
}

// Three units at one rate end where they would have begun at another: a receipt names
// its rate, so that no place comes back behind which somebody stands.
func TestReceiptOfAnotherRateGivesNoPlace(t *testing.T) {
	fast, slow := queue(t, 1, 100, 0, 50, 0).Algorithm(), queue(t, 1, 200, 0, 50, 0).Algorithm()
	s, _, first := algorithm.Step(fast, state{}, at(started), 3)
	s, second, _ := algorithm.Step(slow, s, at(started+200), 1)
	if want := (state{int64(started) + 600, 0, 1, 200}); second.Delay != 200 || s != want {
		t.Fatalf("delay %d, state %v: this test says nothing", second.Delay, s)
	}
	if back := slow.Refund(s, at(started+200), first, 3); back != s {
		t.Errorf("%+v makes %v of %v, and somebody stands there", first, back, s)
	}
}

// What takes leave behind fits two words.
func TestPackQueues(t *testing.T) {
	limits := queues(t)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(limits).Draw(t, "limit").Algorithm()
		p, ok := a.(algorithm.Packer)
		if !ok {
			t.Fatalf("%T does not pack", a)
		}
		now := micros(rapid.Int64Range(1, int64(algorithm.MaxMicros)-1).Draw(t, "now"))
		s, _ := a.Force(state{}, at(now), rapid.Int64Range(1, 100).Draw(t, "cost"))
		if !checkPack(t, p, s) {
			t.Fatalf("not packed: %v", s)
		}
	})
}
