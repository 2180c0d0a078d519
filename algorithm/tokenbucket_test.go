package algorithm_test

import (
	"testing"

	"github.com/weirhq/weir/algorithm"
)

func bucketOf(t *testing.T, count int64, period micros, burst int64) *algorithm.TokenBucket {
	t.Helper()
	b, err := algorithm.NewTokenBucket(count, period, burst, 0)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Words that no step writes, of no rate, owe nothing and are no receipt's.
func TestBucketOfNoRate(t *testing.T) {
	b := bucketOf(t, 3, 2_000_000, 5)
	for _, numbers := range [][2]int64{{0, 0}, {0, 5}, {5, 0}, {-1, 5}, {5, -1}, {-5, -1}} {
		s := state{int64(started) + 1000, 0, numbers[0], numbers[1]}
		if remaining, reset := b.Level(s, at(started)); remaining != 5 || reset != 0 {
			t.Errorf("%v: %d left, reset after %d", s, remaining, reset)
		}
		r := receipt{At: started, Cost: 1, Numbers: numbers}
		if got := b.Refund(s, at(started), r, 1); got != s {
			t.Errorf("%v: a refund makes %v of it", s, got)
		}
	}
}

// A receipt gives no more than it took, however much is asked for.
func TestRefundOfMoreThanWasCharged(t *testing.T) {
	b := bucketOf(t, 1, 1000, 9)
	s, r := b.Charge(state{}, at(started), 3)
	s, _ = b.Charge(s, at(started), 5)
	const before = started - 3_000_000 // the clock has run back
	for _, units := range []int64{3, 4, 1 << 40, 1<<63 - 1} {
		for _, now := range []algorithm.Micros{started, before} {
			if remaining, _ := b.Level(b.Refund(s, at(now), r, units), at(started)); remaining != 4 {
				t.Errorf("%d of 3 units back at %d: %d left, want 4", units, now, remaining)
			}
		}
	}
	for _, units := range []int64{0, -1, -1 << 63} {
		if got := b.Refund(s, at(started), r, units); got != s {
			t.Errorf("%d units back make %v of %v", units, got, s)
		}
	}
}

// A debt of more units than can be counted stays in its own numbers under a faster rate:
// converted it would be a short one.
func TestTouchOfADebtBeyondCounting(t *testing.T) {
	slow, fast := bucketOf(t, 1<<51-1, 1, 1), bucketOf(t, 1<<51, 1, 1)
	s, _ := slow.Charge(state{}, at(started), 1)
	s[0] += 1 << 40 // a clock that ran back for days
	if got := fast.Touch(s, at(started)); got != s {
		t.Errorf("%v became %v", s, got)
	}
}

// A state is packed where its numbers are the bucket's, both of them, and its words fit.
func TestPackBuckets(t *testing.T) {
	b := bucketOf(t, 3, 2_000_000, 50)
	const n, p, beyond = 3, 2_000_000, 1 << algorithm.PackedBits
	for s, want := range map[state]bool{
		{7, 2, n, p}:          true,
		{0, 2, n, p}:          true,
		{beyond - 1, 0, n, p}: true,
		{0, 0, n, p}:          false,
		{beyond, 0, n, p}:     false,
		{7, beyond, n, p}:     false,
		{-7, 2, n, p}:         false,
		{7, 2, n, p + 1}:      false,
		{7, 2, n + 1, p}:      false,
		{7, 2, p, n}:          false,
	} {
		if whole, rest, ok := b.Pack(s); ok != want || ok && b.Unpack(whole, rest) != s {
			t.Errorf("%v is packed as %d, %d, %t", s, whole, rest, ok)
		}
	}
}
