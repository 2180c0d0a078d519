package algorithm_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/algorithm"
)

// checkPack holds that a state which packs is made again, of words that leave the
// store its bits, and is not taken for the zero state.
func checkPack(t *rapid.T, p algorithm.Packer, s algorithm.State) (packed bool) {
	a, b, ok := p.Pack(s)
	if !ok {
		return false
	}
	if a>>algorithm.PackedBits != 0 || b>>algorithm.PackedBits != 0 || a|b == 0 {
		t.Fatalf("%v is packed as %#x %#x", s, a, b)
	}
	if got := p.Unpack(a, b); got != s {
		t.Fatalf("%v is packed as %#x %#x, and unpacked as %v", s, a, b, got)
	}
	return true
}

// TestPackAnyWords packs what no limit ever writes.
func TestPackAnyWords(t *testing.T) {
	bucket, window, calendar := packers(t)
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2), rapid.Int64Range(0, 1<<54), rapid.SampledFrom([]int64{3, 2_000_000, 60_000_000, 86_400_000_000}))
		s := algorithm.State{word.Draw(t, "0"), word.Draw(t, "1"), word.Draw(t, "2"), word.Draw(t, "3")}
		for _, p := range []algorithm.Packer{bucket, window, calendar} {
			checkPack(t, p, s)
		}
	})
}

// TestPackWhatIsWritten packs what takes leave behind: that fits, but for counts
// beyond four thousand millions in a calendar's window.
func TestPackWhatIsWritten(t *testing.T) {
	bucket, window, calendar := packers(t)
	rapid.Check(t, func(t *rapid.T) {
		now := algorithm.Micros(rapid.Int64Range(1, int64(algorithm.MaxMicros)-1).Draw(t, "now"))
		days := algorithm.Micros(rapid.SampledFrom([]int64{23, 24, 25, 744}).Draw(t, "hours")) * 3_600_000_000
		start := now - now%1_000_000
		grid, _ := window.Moment(now, 0)
		cost := rapid.Int64Range(1, 100).Draw(t, "cost")
		s, _ := bucket.Force(algorithm.State{}, algorithm.Moment{Now: now}, cost)
		v, _ := window.Force(algorithm.State{}, grid, cost)
		c, _ := calendar.Force(algorithm.State{}, algorithm.Moment{Now: now, Start: start, End: start + days}, cost)
		if !checkPack(t, bucket, s) || !checkPack(t, window, v) || !checkPack(t, calendar, c) {
			t.Fatalf("not packed: %v, %v, %v", s, v, c)
		}
	})
}

func packers(t *testing.T) (*algorithm.TokenBucket, *algorithm.FixedWindow, *algorithm.FixedWindow) {
	t.Helper()
	bucket, err := algorithm.NewTokenBucket(3, 2_000_000, 50, 100)
	if err != nil {
		t.Fatal(err)
	}
	window, err := algorithm.NewFixedWindow(50, 60_000_000, 100)
	if err != nil {
		t.Fatal(err)
	}
	calendar, err := algorithm.NewCalendarWindow(50, 82_800_000_000, 2_678_400_000_000, 100)
	if err != nil {
		t.Fatal(err)
	}
	return bucket, window, calendar
}
