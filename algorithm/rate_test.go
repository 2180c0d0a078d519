package algorithm

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// divided is (a·b + c) / d by arithmetic that cannot run over.
func divided(a, b, c, d int64) (q, rem *big.Int) {
	sum := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	sum.Add(sum, big.NewInt(c))
	return new(big.Int).QuoRem(sum, big.NewInt(d), new(big.Int))
}

// up to so many bits, all lengths alike.
func upTo(random *rand.Rand, bits int) int64 {
	return int64(random.Uint64() >> (64 - 1 - random.IntN(bits)))
}

// Products of two words are divided without loss, up to what stands for too much.
func TestProductsAreExact(t *testing.T) {
	f := func(a, b, c, d int64) {
		t.Helper()
		q, rem := divided(a, b, c, d)
		if q.Cmp(big.NewInt(beyond)) >= 0 {
			q, rem = big.NewInt(beyond), new(big.Int)
		}
		want := span{q.Int64(), rem.Int64()}
		if got := (rate{n: d, p: b}).weigh(a, c); got != want {
			t.Errorf("(%d·%d + %d)/%d: weigh gives %v, want %v", a, b, c, d, got, want)
		}
		if u, rest := (rate{n: b, p: d}).units(span{a, c}); (span{u, rest}) != want {
			t.Errorf("(%d·%d + %d)/%d: units gives %d and %d, want %v", a, b, c, d, u, rest, want)
		}
	}
	f(0, 1, 0, 1)
	f(1<<62-1, 1, 0, 1)
	f(1<<62, 1, 0, 1)
	f(1<<61, 2, 1, 1)
	f(3<<61-1, 2, 1, 3) // the last that is not too much
	f(3<<61, 2, 1, 3)   // the first that is, and a rest
	f(1<<62, 3<<2, 5, 3)
	f(1<<62, 1<<51, 1, 1<<49) // the upper word is the divisor
	f(math.MaxInt64, 1<<52-1, math.MaxInt64, 1)
	random := rand.New(rand.NewPCG(1, 12))
	carries, met := 0, 0
	for range 20_000 {
		a, b, c, d := upTo(random, 63), 1+upTo(random, 52), upTo(random, 63), 1+upTo(random, 52)
		if random.IntN(4) == 0 { // all of them long
			a, b, c, d = random.Int64()>>2, 1+random.Int64()>>11, random.Int64(), 1<<51+random.Int64()>>13
		}
		f(a, b, c, d)
		if uint64(a)*uint64(b)+uint64(c) < uint64(c) {
			carries++
		}
		if q, _ := divided(a, b, c, d); q.IsInt64() && q.Int64() > 1<<53 && q.Int64() < beyond {
			met++
		}
	}
	if carries < 500 || met < 500 {
		t.Errorf("of 20000 products %d carry, and %d are large", carries, met)
	}
}

// What is cut to MaxInt64 is what would be more, and nothing else.
func TestSumsAreCut(t *testing.T) {
	f := func(k, a, b, c int64) {
		t.Helper()
		want, _ := divided(a, b, 0, c)
		if want.Add(want, big.NewInt(k)); !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := saturated(k, a, b, c); got != want.Int64() {
			t.Errorf("%d + %d·%d/%d: got %d, want %d", k, a, b, c, got, want)
		}
	}
	f(0, 0, 5, 1)
	f(7, 5, 3, 2)
	f(7, math.MaxInt64-8, 1, 1)
	f(7, math.MaxInt64-7, 1, 1)
	f(7, math.MaxInt64-6, 1, 1)
	f(1, 1<<62, 1<<51, 1<<49) // the upper word is the divisor
	f(1, 1<<62, 1<<51, 1<<49+1)
	random := rand.New(rand.NewPCG(2, 12))
	for range 2000 {
		f(upTo(random, 63), upTo(random, 63), upTo(random, 52), 1+upTo(random, 52))
	}
}

// A rate is at least another if it is faster, or the same.
func TestRatesAreCompared(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 12))
	for range 2000 {
		a, b := newRate(1+upTo(random, 51), 1+upTo(random, 51)), newRate(1+upTo(random, 51), 1+upTo(random, 51))
		order := big.NewRat(a.n, a.p).Cmp(big.NewRat(b.n, b.p))
		if a.atLeast(b) != (order >= 0) || b.atLeast(a) != (order <= 0) || !a.atLeast(a) {
			t.Errorf("%d/%d and %d/%d: %t, %t, and %t of itself", a.n, a.p, b.n, b.p, a.atLeast(b), b.atLeast(a), a.atLeast(a))
		}
	}
}

// A debt is carried over to another rate, rounded up by less than a part of a
// microsecond, where a double still holds the time that it needs.
func TestDebtUnderAnotherRate(t *testing.T) {
	f := func(count, period, u int64, want span, fits bool) {
		t.Helper()
		if got, ok := newRate(count, period).from(newRate(1, 1), u, 0); got != want || ok != fits {
			t.Errorf("%d units at %d per %d µs: got %v, %t", u, count, period, got, ok)
		}
	}
	f(1, 1, 1<<53-1, span{1<<53 - 1, 0}, true)
	f(1, 1, 1<<53, span{1 << 53, 0}, false)
	f(3, 2, 5, span{3, 1}, true)
	f(1, 1<<52-1, 1<<52-1, span{beyond, 0}, false)
	third, half := newRate(1, 3), newRate(1, 2)
	for part, want := range [...]int64{0, 1, 2} { // of three; in halves up
		if got, ok := half.from(third, 1, int64(part)); !ok || got != (span{2 + want, 0}) {
			t.Errorf("one unit and %d/3: %v, %t", part, got, ok)
		}
	}
}
