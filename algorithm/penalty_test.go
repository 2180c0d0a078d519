package algorithm_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/weirhq/weir/algorithm"
)

// offender is a caller as a plain program would keep him: each strike, and when it was.
type offender struct {
	first, factor, longest int64
	strikes                []int64 // lengths of the blocks since the last were forgotten
	until                  int64
}

// block is the length of the nth block, computed without bounds.
func (o *offender) block(n int) int64 {
	length := big.NewInt(o.first)
	for range n - 1 {
		length.Mul(length, big.NewInt(max(o.factor, 1)))
		if length.Cmp(big.NewInt(1<<60)) > 0 {
			break
		}
	}
	if most := big.NewInt(max(o.first, o.longest)); length.Cmp(most) > 0 {
		return most.Int64()
	}
	return length.Int64()
}

// refused strikes at now, unless he is blocked, and says how long he is after it.
func (o *offender) refused(now int64) (left int64, struck bool) {
	if now < o.until {
		return o.until - now, false
	}
	if n := len(o.strikes); n > 0 && now >= o.until+o.strikes[n-1] {
		o.strikes = nil
	}
	length := o.block(len(o.strikes) + 1)
	o.strikes = append(o.strikes, length)
	o.until = now + length
	return length, true
}

// remembered reports whether the past still says something.
func (o *offender) remembered(now int64) bool {
	n := len(o.strikes)
	return n > 0 && now < o.until+o.strikes[n-1]
}

func TestPenaltyAgainstAPlainProgram(t *testing.T) {
	d := roll(11)
	met := map[string]int{}
	for _, numbers := range [][3]int64{{1, 0, 0}, {10, 2, 100}, {10, 3, 90}, {7, 2, 7}, {1000, 1 << 40, 1 << 45}, {1, 2, 1<<51 - 1}, {1<<51 - 1, 0, 0}, {3, math.MaxInt64, 4}} {
		p, err := algorithm.NewPenalty(micros(numbers[0]), numbers[1], micros(numbers[2]))
		if err != nil {
			t.Fatal(err)
		}
		o := &offender{first: numbers[0], factor: numbers[1], longest: numbers[2]}
		var s state
		for now, i := int64(started), 0; i < 2000; i++ {
			now += d.Int64N(3 * max(1, o.until-now+1, numbers[0]))
			if now >= 1<<52 {
				break
			}
			m := micros(now)
			if dead := p.Dead(s, m); dead == o.remembered(now) {
				t.Fatalf("%v at %d, state %v: dead %t, and the plain program remembers %v", numbers, now, s, dead, o.strikes)
			}
			left := int64(p.Left(s, m))
			want, struck := o.refused(now)
			if struck {
				if left != 0 {
					t.Fatalf("%v at %d, state %v: blocked for %d, and should not be", numbers, now, s, left)
				}
				s = p.Strike(s, m)
				left = int64(p.Left(s, m))
			}
			if left != want {
				t.Fatalf("%v at %d, state %v: blocked for %d, want %d", numbers, now, s, left, want)
			}
			a, b, ok := p.Pack(s)
			if !ok || p.Unpack(a, b) != s {
				t.Fatalf("%v: state %v is packed as %d %d, %t", numbers, s, a, b, ok)
			}
			met[fmt.Sprint(struck, len(o.strikes) > 2)]++
		}
	}
	if len(met) != 4 {
		t.Errorf("not all was met: %v", met)
	}
}

// A clock that runs back frees nobody.
func TestPenaltyUnderAClockThatRunsBack(t *testing.T) {
	p, err := algorithm.NewPenalty(100, 2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Strike(state{}, started)
	for back := range micros(300) {
		if left := p.Left(s, started-back); left != 100+back {
			t.Fatalf("%d back: blocked for %d", back, left)
		}
	}
	if one, full := p.Pins(); one != 200 || full != 2000 {
		t.Errorf("pinned for %d and %d", one, full)
	}
}

func TestPenaltyArguments(t *testing.T) {
	f := func(first, factor, longest int64, want string) {
		t.Helper()
		_, err := algorithm.NewPenalty(micros(first), factor, micros(longest))
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || !errors.Is(err, algorithm.ErrInvalid)) {
			t.Errorf("%d x %d max %d: got error %v, want %q", first, factor, longest, err, want)
		}
	}
	f(1, 0, 0, "")
	f(1, 2, 1, "")
	f(1<<51-1, 2, 1<<51-1, "")
	f(0, 0, 0, "weir: block 0: it lasts at least 1 µs")
	f(math.MinInt64, 0, 0, "weir: block -9223372036854775808: it lasts at least 1 µs")
	f(1<<51, 0, 0, "weir: block 2251799813685248: it lasts at most 71 years")
	f(5, 1, 5, "weir: block factor 1: it multiplies by at least 2; leave it out for a block that stays the same")
	f(5, 0, 9, "weir: block factor 0: it multiplies by at least 2; leave it out for a block that stays the same")
	f(5, 2, 0, "weir: block max 0: shorter than the first block of 5 µs; write a longer one")
	f(5, 2, 1<<51, "weir: block max 2251799813685248: it lasts at most 71 years")
}
