package algorithm_test

import (
	"testing"

	"github.com/weirhq/weir"
)

// everyday are limits as people write them, and a few that are hard on integers.
func everyday(tb testing.TB) []*weir.Limit {
	tb.Helper()
	const second, minute, hour, day = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
	return []*weir.Limit{
		bucket(tb, 1_000_000, day, 1000, 0),
		bucket(tb, 10_000, 30*day, 100, 0),
		bucket(tb, 7, second, 0, 0),
		bucket(tb, 1_000_000_000, second, 0, 0), // a gigabyte a second, by the byte
		bucket(tb, 999_983, hour, 50, 0),        // a prime
		bucket(tb, 1_000_000_000_000, second, 1_000_000_000, 0),
		bucket(tb, 5, second, 5, 0),
		bucket(tb, 100, minute, 7, 20),
		bucket(tb, 1, 1, 1, 1),
		bucket(tb, 3, 7, 4, 0),
		bucket(tb, 1, 30*day, 3, 3),
	}
}

// atTheEdge are limits of which one unit more would be refused.
func atTheEdge(tb testing.TB) []*weir.Limit {
	tb.Helper()
	const day = 86_400_000_000
	var limits []*weir.Limit
	for _, rate := range [][2]int64{
		{1, 1_000_000},
		{1, day},
		{7, 30 * day},
		{999_983, 1_000_000},
		{999_983, 3_600_000_000},
		{999_983, 30 * day},
		{1_000_000_007, 1_009},
		{1 << 51, 3},
		{1<<52 - 1, 1<<52 - 3},
		{1, 1<<52 - 1},
		{1<<52 - 1, 1},
		{94_906_265, 94_906_266},
	} {
		if most := mostUnits(rate[0], rate[1]); most > 0 {
			limits = append(limits, bucket(tb, rate[0], rate[1], most, most))
			if most > 3 {
				limits = append(limits, bucket(tb, rate[0], rate[1], most/3, most))
			}
		}
	}
	return limits
}

func TestTokenBucketIsTheOracle(t *testing.T) {
	limits := everyday(t)
	for i, l := range limits {
		newWalk(t, roll(uint64(i)), l).run(steps() / 2 / len(limits))
	}
	limits = atTheEdge(t)
	for i, l := range limits {
		newWalk(t, roll(uint64(i)), l).run(steps() / 4 / len(limits))
	}
}

// Limits of other numbers take turns on one state.
func TestTokenBucketUnderChangeIsTheOracle(t *testing.T) {
	inTurn(t, roll(99), append(everyday(t), atTheEdge(t)...), steps()/4)
}

// inTurn has two or three of some buckets take turns on one state, over and over, for
// so many steps together.
func inTurn(t *testing.T, d dice, limits []*weir.Limit, steps int) {
	t.Helper()
	const walks = 400
	for range walks {
		var served []*weir.Limit
		fastest := int64(1) // units a µs, rounded up
		for range 2 + d.Int64N(2) {
			l := limits[d.Int64N(int64(len(limits)))]
			served = append(served, l)
			fastest = max(fastest, l.Spec().Count/l.Spec().Period.Microseconds()+1)
		}
		w := newWalk(t, d, served...)
		w.back = min(w.back, micros(1<<60/fastest)) // what is owed stays below 2^62 units
		w.run(steps / walks)
	}
}

func TestFixedWindowIsTheOracle(t *testing.T) {
	texts := []string{
		"5/s fixed-window", "1000000/day fixed-window", "7/week fixed-window spread", "3 per 7us fixed-window overdraft 4",
		"10000 per 30d fixed-window", "4503599627370495 per 5us fixed-window", "5/day calendar UTC", "1 per 1us fixed-window",
		"12 per 4503599627370495us fixed-window", "9 per 4503599627370495us fixed-window spread",
	}
	for i, text := range texts {
		newWalk(t, roll(uint64(i)), window(t, text)).run(steps() / 2 / len(texts))
	}
	d := roll(98)
	const walks = 200
	for range walks {
		var served []*weir.Limit
		for range 2 + d.Int64N(2) {
			served = append(served, window(t, texts[d.Int64N(int64(len(texts)))]))
		}
		newWalk(t, d, served...).run(steps() / 2 / walks)
	}
}

// FuzzTokenBucket takes a bucket, or two in turn, through the steps that the
// bytes spell.
func FuzzTokenBucket(f *testing.F) {
	f.Add(uint8(0), uint8(0), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(uint8(9), uint8(6), []byte("a bucket is emptied, and then its numbers change, over and over"))
	f.Fuzz(func(t *testing.T, one, two uint8, moves []byte) {
		limits := everyday(t)
		w := newWalk(t, &bytesDice{moves}, limits[int(one)%len(limits)], limits[int(two)%len(limits)])
		w.back = 1 << 40
		w.run(min(len(moves), 200))
	})
}

// FuzzFixedWindow takes a window, or two in turn, through the steps that the
// bytes spell.
func FuzzFixedWindow(f *testing.F) {
	f.Add(uint8(0), uint8(1), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(uint8(2), uint8(3), []byte("a window is over, and the clock runs back into it, over and over"))
	f.Fuzz(func(t *testing.T, one, two uint8, moves []byte) {
		texts := []string{"5/s fixed-window", "3 per 7us fixed-window overdraft 4", "4 per 9us fixed-window spread", "5/day calendar UTC", "2 per 1us fixed-window"}
		w := newWalk(t, &bytesDice{moves}, window(t, texts[int(one)%len(texts)]), window(t, texts[int(two)%len(texts)]))
		w.run(min(len(moves), 200))
	})
}
