package memstore

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
)

// The short ways are what the long way does, whatever comes before.
func TestKnownKeysAreDecidedAsAnyOthers(t *testing.T) {
	limits := []*weir.Limit{
		weir.MustLimit("api", "3/s burst 5"),
		weir.MustLimit("api", "5/s"), // the same states under other numbers
		weir.MustLimit("other", "7/s burst 9"),
		weir.MustLimit("queue", "4/s leaky-bucket wait 1s"),
		weir.MustLimit("day", "4/min fixed-window"),
		weir.MustLimit("minute", "5/min sliding-window"),
		weir.MustLimit("month", "9/day calendar UTC"),
	}
	ways := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		now := weir.Micros(1_796_000_000_000_000)
		short, long := newTwins(t, func() weir.Micros { return now })
		asked := limits
		if rapid.Bool().Draw(t, "buckets") {
			asked = limits[1:3] // whose keys are soon known all
		}
		for range rapid.IntRange(1, 120).Draw(t, "calls") {
			now += weir.Micros(rapid.Int64Range(-100_000, 2_000_000).Draw(t, "step"))
			takes := make([]weir.Take, rapid.IntRange(1, 4).Draw(t, "takes"))
			alone := rapid.IntRange(0, 3).Draw(t, "alone") == 0
			d, want := make([]weir.Decision, len(takes)), make([]weir.Decision, len(takes))
			for i := range takes {
				takes[i] = drawTake(t, asked, now)
				if d[i] = spoiled(t); alone {
					takes[i].Join = weir.Alone
				}
			}
			if weir.CheckTakes(takes, d) != nil {
				continue // two versions of a limit for one state
			}
			wantAllowed, wantAt, wantErr := (&call{store: long}).take(takes, want)
			known, allowed, at, err := short.takeShort(takes, d)
			if !known {
				allowed, at, err = (&call{store: short}).take(takes, d)
			} else {
				ways[len(takes)]++
			}
			if allowed != wantAllowed || at != wantAt || !errors.Is(err, wantErr) || err == nil && !slices.Equal(d, want) {
				t.Fatalf("%+v, known %t:\n%t %d %v %+v\nwant\n%t %d %v %+v", takes, known, allowed, at, err, d, wantAllowed, wantAt, wantErr, want)
			}
		}
		if n, m := short.Stats().Keys, long.Stats().Keys; n != m {
			t.Fatalf("%d entries, want %d", n, m)
		}
	})
	for n := 1; n <= 4; n++ {
		if ways[n] < 5 {
			t.Errorf("%d calls of %d takes went the short way", ways[n], n)
		}
	}
}

// takeShort is the short way for as many takes as there are.
func (s *Store) takeShort(takes []weir.Take, out []weir.Decision) (known, allowed bool, now weir.Micros, err error) {
	if len(takes) == 1 {
		return s.takeKnown(&takes[0], &out[0])
	}
	known, allowed, now = s.takeTogether(takes, out)
	return known, allowed, now, nil
}

func drawTake(t *rapid.T, limits []*weir.Limit, now weir.Micros) weir.Take {
	take := weir.Take{
		Limit: rapid.SampledFrom(limits).Draw(t, "limit"),
		Key:   weir.Key{byte(rapid.IntRange(1, 3).Draw(t, "key"))},
		Cost:  rapid.Int64Range(1, 6).Draw(t, "cost"),
		Join:  rapid.SampledFrom([]weir.Join{weir.All, weir.All, weir.Advise, weir.Alone}).Draw(t, "join"),
	}
	if rapid.IntRange(0, 9).Draw(t, "edges") > 0 {
		take.Edges = &weir.Edges{now - 2, now - 1, now + 1, now + 2}
	}
	return take
}

// spoiled is what an earlier call may have left where a decision is to be written: each
// field says something.
func spoiled(t *rapid.T) weir.Decision {
	t.Helper()
	d := weir.Decision{
		Allowed: true, Never: true, Blocked: true, Granted: 1, Remaining: 2, RetryAfter: 3, ResetAfter: 4, Delay: 5,
		Receipt: weir.Receipt{At: 6, Cost: 7, Numbers: [2]int64{8, 9}, Rest: 10}, Mode: weir.Local,
	}
	for _, v := range []reflect.Value{reflect.ValueOf(d), reflect.ValueOf(d.Receipt)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("nothing is spoiled of %s", v.Type().Field(i).Name)
			}
		}
	}
	return d
}

func newTwins(t *rapid.T, now func() weir.Micros) (a, b *Store) {
	t.Helper()
	a, err := New(Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = New(Config{Now: now}); err != nil {
		t.Fatal(err)
	}
	return a, b
}
