package algorithm_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/weirhq/weir/algorithm"
)

// offender is a caller as a plain program would keep him: his blocks, the last of
// them at the end.
type offender struct {
	first, factor, longest int64
	blocks                 []int64 // lengths of those that are not forgotten
	until                  int64
}

// refused strikes at now, unless he is blocked, and says how long he is after it.
func (o *offender) refused(now int64) (left int64, struck bool) {
	if now < o.until {
		return o.until - now, false
	}
	if !o.remembered(now) {
		o.blocks = nil
	}
	length := big.NewInt(o.first)
	for range o.blocks { // from the first on, without bounds
		length.Mul(length, big.NewInt(max(o.factor, 1)))
	}
	if most := big.NewInt(max(o.first, o.longest)); length.Cmp(most) > 0 {
		length = most
	}
	o.blocks = append(o.blocks, length.Int64())
	o.until = now + length.Int64()
	return length.Int64(), true
}

// remembered reports whether the past still says something.
func (o *offender) remembered(now int64) bool {
	n := len(o.blocks)
	return n > 0 && now < o.until+o.blocks[n-1]
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
		for now, i := int64(started), 0; i < 2000 && now < 1<<52; i++ {
			m := micros(now)
			if dead := p.Dead(s, m); dead == o.remembered(now) {
				t.Fatalf("%v at %d, state %v: dead %t, and the plain program remembers %v", numbers, now, s, dead, o.blocks)
			}
			before := p.Judge(s, algorithm.Moment{Now: m}, 1)
			want, struck := o.refused(now)
			if struck != before.Allowed || !struck && int64(before.RetryAfter) != want {
				t.Fatalf("%v at %d, state %v: %+v, want %d, struck %t", numbers, now, s, before, want, struck)
			}
			s, _ = p.Force(s, algorithm.Moment{Now: m}, 1)
			if left := int64(p.Left(s, m)); left != want {
				t.Fatalf("%v at %d, state %v: blocked for %d, want %d", numbers, now, s, left, want)
			}
			a, b, ok := p.Pack(s)
			if !ok || p.Unpack(a, b) != s {
				t.Fatalf("%v: state %v is packed as %d %d, %t", numbers, s, a, b, ok)
			}
			met[fmt.Sprint(struck, len(o.blocks) > 2)]++
			now += d.Int64N(3 * max(1, o.until-now+1))
		}
	}
	if len(met) != 4 {
		t.Errorf("not all was met: %v", met)
	}
}

// Other numbers begin where the last block was.
func TestPenaltyUnderOtherNumbers(t *testing.T) {
	f := func(last, first, factor, longest, want int64) {
		t.Helper()
		old, err := algorithm.NewPenalty(micros(last), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		p, err := algorithm.NewPenalty(micros(first), factor, micros(longest))
		if err != nil {
			t.Fatal(err)
		}
		s := old.Strike(state{}, started)
		if left := p.Left(s, started); left != micros(last) {
			t.Errorf("a block of %d lasts %d under other numbers", last, left)
		}
		if s = p.Strike(s, started+micros(last)); p.Left(s, started+micros(last)) != micros(want) {
			t.Errorf("after %d, %d x %d max %d: state %v, want a block of %d", last, first, factor, longest, s, want)
		}
	}
	f(10, 10, 2, 100, 20)
	f(10, 1, 3, 100, 30)
	f(10, 50, 2, 100, 50)
	f(1000, 1, 2, 100, 100)
	f(1000, 5, 0, 0, 5)
	f(33, 1, 3, 100, 99)
	f(34, 1, 3, 100, 100)
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
	if f := p.Family(); f != algorithm.PenaltyFamily {
		t.Errorf("it is of family %q", f)
	}
	if one, full := p.Pins(); one != 200 || full != 2000 {
		t.Errorf("pinned for %d and %d", one, full)
	}
}

// A penalty as an algorithm: one strike at a time, no rate, and two instants to pack.
func TestPenaltyIsAnAlgorithm(t *testing.T) {
	p, err := algorithm.NewPenalty(100, 2, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if p.Capacity() != 1 || p.Overdraft() != 1 {
		t.Errorf("capacity %d, overdraft %d", p.Capacity(), p.Overdraft())
	}
	for span, want := range map[micros]int64{-1: 0, 0: 0, 1: math.MaxInt64, 2: math.MaxInt64} {
		if got := p.Most(span); got != want {
			t.Errorf("at most %d in %d µs, want %d", got, span, want)
		}
	}
	const beyond = 1 << algorithm.PackedBits
	for s, want := range map[state]bool{{5, 9}: true, {beyond - 1, beyond - 1}: true, {}: false, {beyond, 9}: false, {5, beyond}: false, {-1, 9}: false} {
		if a, b, ok := p.Pack(s); ok != want || ok && p.Unpack(a, b) != s {
			t.Errorf("%v is packed as %d, %d, %t", s, a, b, ok)
		}
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
	f(0, 0, 0, "weir: block 0: it lasts at least 1 µs; write 1 or more")
	f(math.MinInt64, 0, 0, "weir: block -9223372036854775808: it lasts at least 1 µs; write 1 or more")
	f(1<<51, 0, 0, "weir: block 2251799813685248: it lasts at most 71 years; write a shorter one")
	f(5, 1, 5, "weir: block factor 1: it multiplies by at least 2; leave it and the longest out for a block that stays the same")
	f(5, 0, 9, "weir: block max 9: a block that stays the same has none; leave it out")
	f(5, 2, 0, "weir: block max 0: shorter than the first block of 5 µs; write at least 5")
	f(5, 2, 4, "weir: block max 4: shorter than the first block of 5 µs; write at least 5")
	f(5, 2, 1<<51, "weir: block max 2251799813685248: it lasts at most 71 years; write a shorter one")
}
