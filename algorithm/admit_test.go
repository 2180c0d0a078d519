package algorithm

import (
	"math/rand/v2"
	"testing"
)

// What holds a leaky bucket's units is a token bucket in which a part of one may fit
// beside them: Admit is a step of it as well.
func TestAdmitToAQueueIsAStep(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 8))
	allowed, refused, parts := 0, 0, 0
	for _, q := range [][4]int64{{10, 1_000_000, 1_000_000, 0}, {10, 1_000_000, 550_000, 9}, {7, 1_000_000, 0, 3}, {3, 7, 9, 0}, {5, 3, 2, 2}} {
		l, err := NewLeakyBucket(q[0], Micros(q[1]), Micros(q[2]), q[3], 0)
		if err != nil {
			t.Fatal(err)
		}
		b, s, now := &l.bucket, State{}, Micros(1000)
		for range 500 {
			now += Micros(random.Int64N(q[1]))
			cost := 1 + random.Int64N(b.burst+1)*random.Int64N(2)
			next, want, _ := Step(b, s, Moment{Now: now}, cost)
			remaining, reset := b.Level(next, Moment{Now: now})
			whole, rest, v, left, over := b.Admit(s[0], s[1], now, cost)
			if whole != next[0] || rest != next[1] || v != want || left != remaining || over != reset {
				t.Fatalf("%v, state %v, %d at %d: %d %d %+v %d %d, want %v %+v %d %d", q, s, cost, now, whole, rest, v, left, over, next, want, remaining, reset)
			}
			if s = next; v.Allowed {
				allowed++
			} else {
				refused++
			}
			if left > b.burst-ceilUnits(b.rate, span{max(0, whole-int64(now)), rest}) {
				parts++
			}
		}
	}
	if allowed < 300 || refused < 300 || parts < 50 {
		t.Errorf("%d takes were allowed, %d refused, and %d left a part of a unit that fits", allowed, refused, parts)
	}
}
