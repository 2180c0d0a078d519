package algorithm_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/algorithm"
)

// mostUnits is the largest overdraft D that is accepted for count per period: in
// lowest terms N and P are below 2^52, (D+1)·max(N-1, 1) is below 2^53, and
// D·P/N below 2^52 µs. It is looked for, not computed.
func mostUnits(count, period int64) int64 {
	r := big.NewRat(count, period)
	n, p := r.Num(), r.Denom()
	less := new(big.Int).Sub(n, big.NewInt(1))
	if less.Sign() == 0 {
		less = big.NewInt(1)
	}
	fits := func(d int64) bool {
		product := new(big.Int).Mul(new(big.Int).Add(big.NewInt(d), big.NewInt(1)), less)
		refill := new(big.Int).Mul(big.NewInt(d), p)
		return product.Cmp(big.NewInt(1<<53)) < 0 && refill.Cmp(new(big.Int).Lsh(n, 52)) < 0
	}
	low, high := int64(0), int64(1<<53)
	for high-low > 1 {
		if middle := low + (high-low)/2; fits(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// The largest burst of a limit whose overdraft is its burst, to two digits where
// they are published with two.
func TestLargestBurst(t *testing.T) {
	const second, minute, hour, day = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
	f := func(count, period int64, want string) {
		t.Helper()
		most := mostUnits(count, period)
		if got := fmt.Sprint(most); got != want && roughly(most) != want {
			t.Errorf("%d per %d µs: got %s (%s), want %s", count, period, got, roughly(most), want)
		}
		if _, err := algorithm.NewTokenBucket(count, micros(period), most, most); err != nil {
			t.Errorf("%d per %d µs burst %d: %v", count, period, most, err)
		}
		for _, burst := range []int64{most + 1, 2 * most, math.MaxInt64} {
			_, err := algorithm.NewTokenBucket(count, micros(period), burst, burst)
			if !errors.Is(err, algorithm.ErrInvalid) {
				t.Errorf("%d per %d µs burst %d: got error %v, want it refused", count, period, burst, err)
			}
		}
		if b, err := algorithm.NewTokenBucket(count, micros(period), most, 0); err != nil || b.Overdraft() != most {
			t.Errorf("%d per %d µs burst %d: the overdraft that is left out is %d, error %v", count, period, most, b.Overdraft(), err)
		}
	}
	f(1, second, "4.5e9")
	f(1, minute, "7.5e7")
	f(1, hour, "1.2e6")
	f(1, day, "52124")
	f(1, 30*day, "1737")
	f(7, second, "3.1e10")
	f(7, minute, "5.2e8")
	f(7, hour, "8.7e6")
	f(7, day, "3.6e5")
	f(7, 30*day, "12162")
	f(100, second, "4.5e11")
	f(100, minute, "7.5e9")
	f(100, hour, "1.2e8")
	f(100, day, "5.2e6")
	f(100, 30*day, "1.7e5")
	f(999_983, second, "9.0e9")
	f(999_983, minute, "9.0e9")
	f(999_983, hour, "9.0e9")
	f(999_983, day, "9.0e9")
	f(999_983, 30*day, "1.7e9")
	f(1_000_000, second, "4.5e15")
	f(1_000_000, 30*day, "1.7e9")
	f(1_000_000_000, second, "9.0e12")
	f(1_000_000_000, minute, "1.8e14")
	f(1_000_000_000, hour, "1.2e15")
	f(1_000_000_000, day, "5.2e13")
	f(1_000_000_000, 30*day, "1.7e12")
	f(1, 1<<20, "4294967295") // one more needs 2^52 µs
	f(4096, 1_000_000_001, "18446744055")
	f(8192, 3_000_000_001, "12297829378") // 2^52 times the count is a multiple of 2^64, and so it is above
}

// roughly writes the first two digits of a number and its power of ten.
func roughly(n int64) string {
	s := fmt.Sprint(n)
	if len(s) < 2 {
		return s
	}
	return fmt.Sprintf("%c.%ce%d", s[0], s[1], len(s)-1)
}

// Of 210 limits that people might write, 9 are refused: they would take more
// than 142 years to refill.
func TestAcceptanceTable(t *testing.T) {
	const second, minute, hour, day = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
	accepted, refused := 0, 0
	for _, count := range []int64{1, 7, 100, 999_983, 1_000_000, 1_000_000_000} {
		for _, period := range []int64{second, minute, hour, day, 30 * day} {
			for burst := int64(1); burst <= 1_000_000; burst *= 10 {
				if _, err := algorithm.NewTokenBucket(count, micros(period), burst, burst); err != nil {
					refused++
				} else {
					accepted++
				}
			}
		}
	}
	if accepted != 201 || refused != 9 {
		t.Errorf("%d are accepted and %d refused, want 201 and 9", accepted, refused)
	}
}

// Whatever the arguments are: an error that says which one, or a bucket that is
// right.
func TestTokenBucketArguments(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 1_000_000, 1_000_000_000_000, 3_155_760_000_000_000, 1<<52 - 1, 1 << 52, 1 << 53, math.MaxInt64}
	accepted := 0
	for _, count := range odd {
		for _, period := range odd {
			for _, burst := range odd {
				for _, overdraft := range odd {
					b, err := algorithm.NewTokenBucket(count, micros(period), burst, overdraft)
					if err != nil {
						wantField(t, err, "count", "period", "burst", "overdraft")
						continue
					}
					accepted++
					most := mostUnits(count, period)
					if count < 1 || period < 1 || burst < 1 || burst > most || overdraft < 0 || overdraft > most || b.Capacity() != burst {
						t.Errorf("%d per %d µs burst %d overdraft %d is accepted", count, period, burst, overdraft)
					}
					l := limit(t, weir.Spec{Count: count, Period: time.Duration(period) * time.Microsecond, Burst: burst, Overdraft: overdraft})
					newWalk(t, roll(uint64(accepted)), l).run(20)
				}
			}
		}
	}
	if accepted < 50 {
		t.Errorf("only %d are accepted", accepted)
	}
}

func TestFixedWindowArguments(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, 2, 1_000_000, 1_000_000_000_000, 3_155_760_000_000_000, 1<<52 - 1, 1 << 52, math.MaxInt64}
	for _, count := range odd {
		for _, period := range odd {
			for _, overdraft := range odd {
				w, err := algorithm.NewFixedWindow(count, micros(period), overdraft)
				good := count >= 1 && count < 1<<52 && period >= 1 && period < 1<<52 && (overdraft == 0 || overdraft >= count && overdraft < 1<<52)
				if good != (err == nil) {
					t.Errorf("%d per %d µs overdraft %d: got error %v", count, period, overdraft, err)
				}
				if err != nil {
					wantField(t, err, "count", "period", "overdraft")
					continue
				}
				if w.Capacity() != count || w.Overdraft() < count {
					t.Errorf("%d per %d µs overdraft %d: capacity %d, overdraft %d", count, period, overdraft, w.Capacity(), w.Overdraft())
				}
			}
		}
		if _, err := algorithm.NewCalendarWindow(count, 1, 2, 0); (err == nil) != (count >= 1 && count < 1<<52) {
			t.Errorf("a calendar of %d: got error %v", count, err)
		}
	}
}

// wantField wants a refusal that names one of the fields and says what is wrong.
func wantField(t *testing.T, err error, fields ...string) {
	t.Helper()
	refusal, ok := errors.AsType[*algorithm.FieldError](err)
	if !ok || !errors.Is(err, algorithm.ErrInvalid) {
		t.Errorf("got error %v, want a FieldError", err)
		return
	}
	for _, f := range fields {
		if refusal.Field == f && refusal.Problem != "" && refusal.Value != "" && refusal.Offset == -1 {
			return
		}
	}
	t.Errorf("got %+v, want one of %v", refusal, fields)
}

func TestRefusalsSayWhatIsWrong(t *testing.T) {
	f := func(count, period, burst, overdraft int64, want string) {
		t.Helper()
		_, err := algorithm.NewTokenBucket(count, micros(period), burst, overdraft)
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	const day = 86_400_000_000
	f(0, day, 1, 0, `weir: count 0: a limit admits at least 1 unit a period; write "deny" to refuse everything, "unlimited" to limit nothing`)
	f(1<<52, day, 1, 0, "weir: count 4503599627370496: too large to count exactly; write at most 4503599627370495")
	f(5, day, 0, 0, "weir: burst 0: a bucket must hold at least 1 unit; write burst 1 or more")
	f(5, 0, 1, 0, "weir: period 0: a period lasts at least 1 µs")
	f(1, day, 52125, 52125, "weir: burst 52125: it needs 142 years to refill; write at most 52124")
	f(1, day, 1_000_000, 0, "weir: burst 1000000: it needs 2737 years to refill; write at most 52124")
	f(1, 1<<40, 1<<12, 0, "weir: burst 4096: it needs 142 years to refill; write at most 4095")
	f(1, 31_557_599_999_999, 143, 0, "weir: burst 143: it needs 142 years to refill; write at most 142")
	f(1, 31_557_600_000_000, 143, 0, "weir: burst 143: it needs 143 years to refill; write at most 142")
	f(1<<51, 1<<39-1, 4, 0, "weir: burst 4: too large to count exactly at this rate; write at most 3")
	f(1, day, 10, 9, "weir: overdraft 9: the debt may be no smaller than the burst of 10; leave it out, or raise it")
	f(999_983, 1_000_000, 9_007_361_387, 0, "weir: burst 9007361387: too large to count exactly at this rate; write at most 9007361386")
}
