package header

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

func TestQuota(t *testing.T) {
	f := func(count int64, period weir.Micros, q, w int64) {
		t.Helper()
		if gotQ, gotW := quota(count, period); gotQ != q || gotW != w {
			t.Errorf("%d per %d µs: got q=%d;w=%d, want q=%d;w=%d", count, period, gotQ, gotW, q, w)
		}
	}
	f(5, second, 5, 1)
	f(1000, 3600*second, 1000, 3600)
	f(7, 500_000, 14, 1)
	f(1, 1000, 1000, 1)
	f(10, 1_500_000, 20, 3)
	f(3, 250, 12_000, 1)
	f(1, 333_333, 1_000_000, 333_333)
	f(100, 0, 100, 0)
	f(maxInteger, second, maxInteger, 1)
	f(maxInteger+1, second, maxInteger, 0)
	f(maxInteger/2, 500_000, maxInteger-1, 1)
	f(maxInteger/2+1, 500_000, maxInteger/2+1, 0)
	f(1, 1<<52-3, 1, 0) // w would be as long, of 16 digits
}

// factor and w are the least that state the rate exactly.
func TestQuotaKeepsTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(1, 1<<52-1).Draw(t, "count")
		period := rapid.Int64Range(1, 1<<52-1).Draw(t, "period")
		q, w := quota(count, weir.Micros(period))
		if q < 1 || q > maxInteger || w < 0 || w > maxInteger {
			t.Fatalf("q=%d;w=%d is out of range", q, w)
		}
		if w > 0 && product(q, period).Cmp(product(count, w, second)) != 0 {
			t.Fatalf("q=%d;w=%d is another rate", q, w)
		}
	})
}

func product(factors ...int64) *big.Int {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, big.NewInt(f))
	}
	return p
}

func TestMuldiv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Min(0).Draw(t, "a")
		b := rapid.Int64Min(0).Draw(t, "b")
		c := rapid.Int64Min(1).Draw(t, "c")
		up := rapid.Bool().Draw(t, "up")
		want, rest := new(big.Int).QuoRem(product(a, b), big.NewInt(c), new(big.Int))
		if up && rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		if limit := big.NewInt(math.MaxInt64); want.Cmp(limit) > 0 {
			want = limit
		}
		if got := muldiv(a, b, c, up); got != want.Int64() {
			t.Fatalf("%d·%d/%d: got %d, want %d", a, b, c, got, want)
		}
	})
}

func TestSum(t *testing.T) {
	f := func(a, b, want weir.Micros) {
		t.Helper()
		if got := sum(a, b); got != want {
			t.Errorf("%d + %d: got %d, want %d", a, b, got, want)
		}
	}
	f(0, 0, 0)
	f(1, 2, 3)
	f(math.MaxInt64, 0, math.MaxInt64)
	f(math.MaxInt64, 1, math.MaxInt64)
	f(math.MaxInt64, math.MaxInt64, math.MaxInt64)
}

// A bucket's t, checked against the bucket itself: where some units are left,
// they flow back within t and no faster than the rate; where none is left, the
// same cost passes after t seconds, and not a second and a microsecond earlier.
func TestWindowOfBucketIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := weir.Spec{Count: rapid.Int64Range(1, 100).Draw(t, "count"), Period: drawSpan(t, "period")}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			s.Burst = rapid.Int64Range(1, 50).Draw(t, "burst")
		case 1:
			s.Algorithm, s.Queue = weir.LeakyBucket, rapid.Int64Range(1, 50).Draw(t, "queue")
		case 2:
			s.Algorithm, s.Wait = weir.LeakyBucket, drawSpan(t, "wait")
		default:
			s.Algorithm, s.Wait, s.Queue = weir.LeakyBucket, drawSpan(t, "wait"), rapid.Int64Range(1, 50).Draw(t, "queue")
		}
		l, err := weir.NewLimit("api", s)
		if err != nil {
			t.Fatal(err)
		}
		p := newPolicy(l.Name(), l.Spec(), l.Capacity())
		var state algorithm.State
		at := algorithm.Moment{Now: now}
		for range rapid.IntRange(1, 60).Draw(t, "takes") {
			cost := rapid.Int64Range(1, min(50, l.Capacity())).Draw(t, "cost")
			var v algorithm.Verdict
			state, v, _ = algorithm.Step(l.Algorithm(), state, at, cost)
			d := weir.Decision{Allowed: v.Allowed, RetryAfter: v.RetryAfter}
			d.Remaining, d.ResetAfter = l.Algorithm().Level(state, at)
			got := p.window(&weir.Take{Limit: l, Cost: cost}, &d, d.Remaining)
			if got < 1 {
				t.Fatalf("t=%d", got)
			}
			if v.Allowed && d.Remaining > 0 {
				checkRatio(t, s, d.Remaining, got)
			} else {
				checkWait(t, l.Algorithm(), state, at, cost, got)
			}
			at.Now += weir.Micros(drawSpan(t, "pause").Microseconds())
		}
	})
}

// A sliding window's t, checked against the window itself: where some units are
// left, the present window ends; where none is left, the same cost passes after t
// seconds, and where all were charged in it, not a second and a microsecond earlier.
func TestWindowOfSlidingWindowIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := weir.Spec{Algorithm: weir.SlidingWindow, Count: rapid.Int64Range(1, 100).Draw(t, "count"), Period: drawSpan(t, "period")}
		l, err := weir.NewLimit("api", s)
		if err != nil {
			t.Fatal(err)
		}
		p := newPolicy(l.Name(), l.Spec(), l.Capacity())
		var state algorithm.State
		now := now
		for range rapid.IntRange(1, 60).Draw(t, "takes") {
			at, _ := l.Moment(now, &weir.Take{})
			cost := rapid.Int64Range(1, s.Count).Draw(t, "cost")
			var v algorithm.Verdict
			state, v, _ = algorithm.Step(l.Algorithm(), state, at, cost)
			d := weir.Decision{Allowed: v.Allowed, RetryAfter: v.RetryAfter}
			d.Remaining, d.ResetAfter = l.Algorithm().Level(state, at)
			got := p.window(&weir.Take{Limit: l, Cost: cost}, &d, d.Remaining)
			switch {
			case v.Allowed && d.Remaining > 0:
				if want := (at.End - now).Ceil(time.Second); got != want {
					t.Fatalf("r=%d;t=%d under %s at %+v, want t=%d", d.Remaining, got, s, at, want)
				}
			case !v.Allowed || state[3] == 0 && state[2] == s.Count:
				checkWait(t, l.Algorithm(), state, at, cost, got)
			case !l.Algorithm().Judge(state, algorithm.Moment{Now: now + weir.Micros(got)*second}, cost).Allowed:
				t.Fatalf("cost %d does not pass after t=%d", cost, got)
			}
			now += weir.Micros(drawSpan(t, "pause").Microseconds())
		}
	})
}

// drawSpan draws whole microseconds of every size up to a day.
func drawSpan(t *rapid.T, name string) time.Duration {
	most := rapid.SampledFrom([]int64{10, 5000, second, 90 * second, 86_400 * second}).Draw(t, "most")
	return time.Duration(rapid.Int64Range(1, most).Draw(t, name)) * time.Microsecond
}

// checkRatio wants got to be the seconds in which r units flow back, rounded up.
func checkRatio(t *rapid.T, s weir.Spec, r, got int64) {
	need := product(r, s.Period.Microseconds())
	if need.Cmp(product(got, s.Count, second)) > 0 || need.Cmp(product(got-1, s.Count, second)) <= 0 {
		t.Fatalf("r=%d;t=%d under %s", r, got, s)
	}
}

func checkWait(t *rapid.T, a algorithm.Algorithm, s algorithm.State, at algorithm.Moment, cost, got int64) {
	then := algorithm.Moment{Now: at.Now + weir.Micros(got)*second}
	if !a.Judge(s, then, cost).Allowed {
		t.Fatalf("cost %d does not pass after t=%d", cost, got)
	}
	then.Now -= second + 1
	if then.Now >= at.Now && a.Judge(s, then, cost).Allowed {
		t.Fatalf("cost %d passes long before t=%d", cost, got)
	}
}

// Who uses no more than what is left within t is not refused by a log, and nobody can
// say when the next slot comes back.
func TestWindowOfLogsAndSlots(t *testing.T) {
	log := newPolicy("log", weir.Spec{Algorithm: weir.SlidingLog, Count: 10, Period: time.Minute}, 10)
	slots := newPolicy("slots", weir.Spec{Algorithm: weir.Concurrency, Count: 10}, 10)
	if want := `"log";q=10;w=60`; log.item != want {
		t.Errorf("got %s, want %s", log.item, want)
	}
	f := func(d weir.Decision, want int64) {
		t.Helper()
		if got := log.window(&weir.Take{Cost: 1}, &d, d.Remaining); got != want {
			t.Errorf("log, %+v: t=%d, want %d", d, got, want)
		}
		if got := slots.window(&weir.Take{Cost: 1}, &d, d.Remaining); got != 0 {
			t.Errorf("slots, %+v: t=%d, want none", d, got)
		}
	}
	f(weir.Decision{Allowed: true, Remaining: 10}, 60)
	f(weir.Decision{Allowed: true, Remaining: 4, ResetAfter: 31 * second}, 31)
	f(weir.Decision{Allowed: true, ResetAfter: 60 * second}, 60)
	f(weir.Decision{ResetAfter: 60 * second, RetryAfter: second + 1}, 2)
	f(weir.Decision{Never: true, Remaining: 4, ResetAfter: 31 * second}, 31)
}
