package weir_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// What is settled at once is charged as if its cost had been known: at any time after
// that as much is left, and whoever is refused waits as long, as where the actual cost
// was charged in one step, under whatever limits.
func TestSettledAtOnceIsAsIfKnown(t *testing.T) {
	texts := []string{
		"10/min overdraft 25", "7/h burst 20", "12/min fixed-window", "9/min sliding-window overdraft 14",
		"11/min sliding-log", "13/min sliding-log overdraft 30", "20/min leaky-bucket queue 8", "6/min leaky-bucket wait 2m overdraft 15",
	}
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 1, 4, rapid.ID[string]).Draw(rt, "limits")
		settled, known := limited(t, some...), limited(t, some...)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			pause := time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond
			settled.clock.advance(pause)
			known.clock.advance(pause)
			estimate, actual := rapid.Int64Range(1, 12).Draw(rt, "estimate"), rapid.Int64Range(0, 20).Draw(rt, "actual")
			if r, ok := settled.mayReserve(estimate); ok {
				forgiven, err := r.Settle(t.Context(), actual)
				if want := known.force(actual); forgiven != want || err != nil {
					rt.Fatalf("%v: %d settled as %d: forgiven %d, %v; want %d", some, estimate, actual, forgiven, err, want)
				}
			}
			got, want := settled.looks(estimate), known.looks(estimate)
			if !slices.Equal(got, want) {
				rt.Fatalf("%v: after %d settled as %d\n%+v, want\n%+v", some, estimate, actual, got, want)
			}
		}
	})
}

// force charges a cost whatever is left, and gives the most that a limit has forgiven.
func (b *bench) force(cost int64) (forgiven int64) {
	b.t.Helper()
	if cost == 0 {
		return 0
	}
	key, tag := b.Key(user())
	var takes []weir.Take
	for _, limit := range b.Limits() {
		takes = append(takes, weir.Take{Limit: limit, Key: key, Tag: tag, Cost: cost, How: weir.Force})
	}
	o := new(weir.Outcome)
	if err := b.TakeAll(b.t.Context(), o, takes...); err != nil {
		b.t.Fatal(err)
	}
	for _, d := range o.Decisions {
		forgiven = max(forgiven, cost-d.Granted)
	}
	return forgiven
}

// looks is what each limit says of a cost.
func (b *bench) looks(cost int64) []weir.Decision {
	b.t.Helper()
	o := new(weir.Outcome)
	if err := b.Peek(b.t.Context(), o, cost, user()); err != nil {
		b.t.Fatal(err)
	}
	return slices.Clone(o.Decisions)
}
