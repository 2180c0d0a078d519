package memstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir"
)

// Between a reading of the clock and a look at the cells a cell may be emptied, whose
// time is over by then. A key that has used it up has nothing of that time left.
func TestNewKeyIsJudgedByALaterClockThanItsCells(t *testing.T) {
	const minute = 60_000_000
	now := weir.Micros(29_000_000 * minute)
	meanwhile := func() {}
	s, err := New(Config{MaxKeys: 5000, Now: func() weir.Micros {
		at, do := now, meanwhile
		meanwhile = func() {}
		do()
		return at
	}})
	if err != nil {
		t.Fatal(err)
	}
	take := func(l *weir.Limit, k weir.Key, cost int64) weir.Decision {
		out := make([]weir.Decision, 1)
		if _, _, err := s.Take(context.Background(), []weir.Take{{Limit: l, Key: k, Cost: cost}}, out); err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	l := weir.MustLimit("l", "5/min fixed-window")
	key := func(shard int) weir.Key {
		for i := 0; ; i++ {
			k := weir.Key{byte(shard), byte(i), 15: 3}
			if at := (address{l.ID(), k}); s.shardOf(at.fingerprint()) == shard {
				return k
			}
		}
	}
	for i := range 20_000 { // of another rule, and of this one
		take(weir.MustLimit("filler", "10/s"), weir.Key{byte(i), byte(i >> 8), 13}, 10)
		take(weir.MustLimit("l", "100000/s"), weir.Key{byte(i), byte(i >> 8), 14}, 1)
	}
	d := take(l, key(0), 5)
	if d.Granted != 5 || d.Mode != weir.Overflow {
		t.Fatalf("no cell: %+v", d)
	}
	now += 10_000_000
	s.prune() // there is room again
	now += 50_000_000 - 1
	meanwhile = func() { // the minute ends, and another key meets the cell
		now++
		take(l, key(1), 1)
	}
	total := d.Granted
	for range 2 {
		total += take(l, key(0), 5).Granted
	}
	if most := l.Most(minute); total > most {
		t.Errorf("%d units of %d", total, most)
	}
}

// pairOf is two stores, and a call of each: as callers make it, and the long way.
func pairOf(t *testing.T) (short, long *Store, ask func(takes ...weir.Take) (a, b []weir.Decision, errA, errB error)) {
	t.Helper()
	now := weir.Micros(1_796_000_000_000_000)
	stores := make([]*Store, 2)
	for i := range stores {
		var err error
		if stores[i], err = New(Config{MaxKeys: 64, Now: func() weir.Micros { return now }}); err != nil {
			t.Fatal(err)
		}
	}
	return stores[0], stores[1], func(takes ...weir.Take) (a, b []weir.Decision, errA, errB error) {
		a, b = make([]weir.Decision, len(takes)), make([]weir.Decision, len(takes))
		_, _, errA = stores[0].Take(context.Background(), takes, a)
		_, _, errB = stores[1].takeLong(takes, b)
		return a, b, errA, errB
	}
}

// An entry outlives the limit that it was written under; that limit is to be made known
// again before it judges.
func TestForgottenLimitHasNoShortWay(t *testing.T) {
	short, long, ask := pairOf(t)
	guest := weir.Take{Limit: weir.MustLimit("guest", "3/day"), Key: weir.Key{1}, Cost: 1}
	ask(guest)
	var others []*weir.Limit
	for i := range 8 {
		others = append(others, weir.MustLimit(fmt.Sprint("x", i), "3/s"))
	}
	if err := errors.Join(short.ExpectOnly(nil, others...), long.ExpectOnly(nil, others...)); err != nil {
		t.Fatal(err)
	}
	for _, takes := range [][]weir.Take{{guest}, {guest, {Limit: guest.Limit, Key: weir.Key{1}, Cost: 1, Join: weir.Alone}}} {
		if _, _, err, want := ask(takes...); !errors.Is(err, weir.ErrNotApplied) || !errors.Is(want, weir.ErrNotApplied) {
			t.Errorf("%d takes: %v, and the long way %v", len(takes), err, want)
		}
	}
}

// A penalty is a store's own: taken as a limit, it leaves no entry that says nothing.
func TestPenaltyHasNoShortWay(t *testing.T) {
	short, long, ask := pairOf(t)
	p := weir.MustLimit("p", "3/s block 2s").Penalty()
	for range 3 {
		a, b, err, want := ask(weir.Take{Limit: p, Key: weir.Key{1}, Cost: 1})
		if fmt.Sprint(err) != fmt.Sprint(want) || a[0] != b[0] || short.Stats().Keys != long.Stats().Keys {
			t.Errorf("%+v %v, %d entries\nthe long way %+v %v, %d", a, err, short.Stats().Keys, b, want, long.Stats().Keys)
		}
	}
}

// What was judged before a call turned out to be stale was not charged, and says so.
func TestStaleCallHasNoReceipts(t *testing.T) {
	_, _, ask := pairOf(t)
	const now, day = 1_796_000_000_000_000, 86_400_000_000
	takes := []weir.Take{
		{Limit: weir.MustLimit("a", "3/s"), Key: weir.Key{1}, Cost: 1},
		{Limit: weir.MustLimit("c", "9/day calendar UTC"), Key: weir.Key{1}, Cost: 1, Edges: &weir.Edges{now - 2*day, now - day, now + day, now + 2*day}}, // which has a short way
	}
	takes = append(takes, weir.Take{Limit: weir.MustLimit("d", "9/day calendar UTC"), Key: weir.Key{1}, Cost: 1, Edges: takes[1].Edges})
	ask(takes...)
	takes[1].Edges, takes[2].Edges = nil, nil
	for _, takes := range [][]weir.Take{takes, takes[:2], takes[1:]} {
		a, b, err, want := ask(takes...)
		if !errors.Is(err, weir.ErrStale) || !errors.Is(want, weir.ErrStale) || !slices.Equal(a, b) {
			t.Errorf("%+v %v\nthe long way %+v %v", a, err, b, want)
		}
	}
}

// A count that outgrows the words of an entry is written in full, whatever else is in
// its call.
func TestStateBeyondItsWordsHasNoShortWay(t *testing.T) {
	_, _, ask := pairOf(t)
	takes := []weir.Take{
		{Limit: weir.MustLimit("a", "3/s"), Key: weir.Key{1}, Cost: 1},
		{Limit: weir.MustLimit("c", "400000000/h sliding-window"), Key: weir.Key{1}, Cost: 1},
	}
	for _, takes[1].Cost = range []int64{1, 1 << 27, 1 << 27, 1 << 27} {
		a, b, err, want := ask(takes...)
		if err != nil || want != nil || !slices.Equal(a, b) {
			t.Errorf("%+v %v\nthe long way %+v %v", a, err, b, want)
		}
	}
}
