package weir_test

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// What a leaky bucket lets pass goes on evenly, and what comes back leaves its place
// to the next.
func TestALeakyBucketHoldsRequests(t *testing.T) {
	b, o := limited(t, "10/s leaky-bucket wait 300ms", "100/s"), new(weir.Outcome)
	take := func(allowed bool, delay time.Duration) {
		t.Helper()
		if err := b.Take(t.Context(), o, 1, user()); err != nil || o.Allowed != allowed || o.Delay.Duration() != delay {
			t.Fatalf("got %t, a delay of %s, error %v; want %t and %s", o.Allowed, o.Delay.Duration(), err, allowed, delay)
		}
	}
	for place := range 4 {
		take(true, time.Duration(place)*100*time.Millisecond)
	}
	if err := b.Refund(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	take(true, 300*time.Millisecond)
	take(false, 0)
	if o.RetryAfter != 100_000 || o.Limit().Name() != "ra" {
		t.Errorf("refused by %s for %d µs", o.Limit().Name(), o.RetryAfter)
	}
	b.clock.wait(o.RetryAfter)
	if err := b.Peek(t.Context(), o, 1, user()); err != nil || o.Delay != 300_000 {
		t.Errorf("a peek says %+v, %v", o, err)
	}
	take(true, 300*time.Millisecond)
}

// Allow waits for nothing, so that what would have to wait is not granted, and keeps
// no place.
func TestAllowUnderALeakyBucket(t *testing.T) {
	b := limited(t, "10/s leaky-bucket queue 5")
	for range 3 {
		if ok, err := b.Allow(t.Context(), user()); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for range 10 {
			if ok, err := b.Allow(t.Context(), user()); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		b.clock.advance(100 * time.Millisecond)
	}
	if b.store.returns != 30 {
		t.Errorf("%d places came back, want 30", b.store.returns)
	}
}

// Nothing bounds a queue but what is written.
func TestQueuesThatAreRefused(t *testing.T) {
	f := func(text string, want string) {
		t.Helper()
		_, err := weir.ParseLimit("api", text)
		if err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
	f("5/s leaky-bucket", `weir: leaky-bucket: nothing bounds its queue; add "wait 2s", or "queue 20", or both`)
	f("5/s leaky-bucket burst 5 queue 3", "weir: burst 5: a leaky-bucket limit has none; it goes with token-bucket")
	f("1/day leaky-bucket queue 60000", "weir: queue 60000: it needs 164 years to drain; write at most 52123")
	f("1000000000/s leaky-bucket wait 1d", "weir: wait 1d: too many units could wait so long; write a shorter one, or queue 9016215470209 or less beside it")
	f("1 per 36500d leaky-bucket wait 1d", "weir: wait 1d: no queue can be counted exactly at this rate; write a shorter period, or a rounder count")
	f("10/s leaky-bucket wait 1s overdraft 10", "weir: overdraft 10: the debt may be no smaller than the 11 units that pass at once; leave it out, or raise it")
}

func TestCapacityOfQueues(t *testing.T) {
	f := func(text string, capacity, overdraft int64, longest time.Duration) {
		t.Helper()
		l := weir.MustLimit("api", text)
		if l.Capacity() != capacity || l.Algorithm().Overdraft() != overdraft || l.LongestDelay().Duration() != longest || l.String() != text {
			t.Errorf("%s: %s, capacity %d, overdraft %d, longest delay %s", text, l, l.Capacity(), l.Algorithm().Overdraft(), l.LongestDelay().Duration())
		}
	}
	f("10/s leaky-bucket wait 1s", 11, 22, time.Second)
	f("10/s leaky-bucket queue 5", 6, 12, 500*time.Millisecond)
	f("10/s overdraft 50 leaky-bucket wait 250ms queue 5", 3, 50, 250*time.Millisecond)
	f("10/s leaky-bucket wait 9s queue 5", 6, 12, 500*time.Millisecond)
	f("3 per 7us leaky-bucket queue 2", 3, 6, 5*time.Microsecond) // 4 2/3
	f("1/min leaky-bucket wait 1us", 1, 2, time.Microsecond)
	f("1/day leaky-bucket queue 52123", 52_124, 52_124, 52_123*day)
	f("5/s", 5, 10, 0)
	if weir.MustLimit("api", "deny").LongestDelay() != 0 {
		t.Error("what is denied waits")
	}
}

// Every queue that Go can say is refused or kept.
func TestExtremeQueues(t *testing.T) {
	numbers := []int64{0, -1, math.MinInt64, 1, 7, 999_983, 1_000_000_000_000, 1<<52 - 1, math.MaxInt64}
	spans := []time.Duration{0, -1, math.MinInt64, 1, time.Microsecond, 1500, time.Second, day, 36500 * day, math.MaxInt64}
	kept := 0
	for _, count := range numbers {
		for _, period := range spans {
			for _, wait := range spans {
				for _, places := range numbers {
					s := weir.Spec{Algorithm: weir.LeakyBucket, Count: count, Period: period, Wait: wait, Queue: places}
					l, err := weir.NewLimit("api", s)
					if err != nil {
						_ = refusals(t, err)
						continue
					}
					kept++
					checkExhausted(t, l)
				}
			}
		}
	}
	if kept < 300 {
		t.Errorf("only %d were kept", kept)
	}
}

// A pause is not made up for: after one, twenty requests take as long as at any time.
func TestAfterAPauseNothingIsMadeUpFor(t *testing.T) {
	b, o := limited(t, "1 per 100ms leaky-bucket wait 2s"), new(weir.Outcome)
	for range 3 {
		began := b.clock.now()
		for place := range weir.Micros(20) {
			if err := b.Take(t.Context(), o, 1, user()); err != nil || !o.Allowed {
				t.Fatalf("got %+v, error %v", o, err)
			}
			if goes := o.Stamp.Now + o.Delay; goes != began+place*100_000 {
				t.Fatalf("number %d goes on after %d µs", place, goes-began)
			}
		}
		b.clock.advance(2300 * time.Millisecond) // 300 ms longer than they need
	}
}
