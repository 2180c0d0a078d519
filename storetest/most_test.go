package storetest

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// What a limit says of itself is what this package holds its history against,
// which counts with rationals and without the engine.
func TestLimitsPromiseWhatIsChecked(t *testing.T) {
	var limits []*weir.Limit
	for _, text := range []string{
		"5/s", "5/s burst 50", "30/day", "7 per 13us burst 3", "1/week", "999983/min", "1000000000/s burst 1",
		"30/day fixed-window", "7 per 13us fixed-window", "1000000/s fixed-window", "5/min fixed-window spread",
		"30/day sliding-window", "7 per 13us sliding-window", "1000000/day sliding-window spread", "1000000000/s sliding-window", "5 per 3us sliding-window",
		"5/s leaky-bucket queue 9", "30/day leaky-bucket wait 2h", "7 per 13us leaky-bucket wait 5us", "1000000000/s leaky-bucket wait 1us", "6 per 4us leaky-bucket queue 1",
		"30/day sliding-log", "7 per 13us sliding-log", "4095 per 1us sliding-log", "5 per 3us sliding-log",
		"4/day calendar Europe/Berlin", "4/week calendar UTC", "4/month calendar America/New_York",
	} {
		limits = append(limits, weir.MustLimit("api", text))
	}
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(limits).Draw(t, "limit")
		bits := rapid.IntRange(1, 62).Draw(t, "bits") // beyond 2^62, within is out of its own range
		span := weir.Micros(rapid.Int64Range(1, math.MaxInt64>>bits).Draw(t, "span"))
		p, err := promiseOf(l)
		if err != nil {
			t.Fatal(err)
		}
		want := p.within(span-1, 0)
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		if got := l.Most(span); want.Cmp(big.NewInt(got)) != 0 {
			t.Fatalf("%s: Most(%d) is %d, want %v", l, span, got, want)
		}
	})
}
