package memstore

import (
	"context"
	"testing"

	"github.com/weirhq/weir"
)

// Of what is reserved for a rule each part of the store keeps one key at least, of the
// rule's largest limit, and the other rules what is left of the half.
func TestWhatIsReservedIsWholeKeys(t *testing.T) {
	l, filler, rest := weir.MustLimit("slots", "20 concurrent"), weir.MustLimit("filler", "1/day"), weir.MustLimit("rest", "1/day")
	for _, how := range []string{"Config", "ExpectOnly"} {
		d := &desk{T: t, now: 1_790_000_000_000_000}
		reserved := map[string]int{"slots": 1000, "unknown": 5000}
		s, err := New(Config{MaxKeys: 200_000, Now: func() weir.Micros { return d.now }, Reserved: reserved})
		if err != nil {
			t.Fatal(err)
		}
		d.Store = s
		err = s.Expect(l, filler, rest)
		if how == "ExpectOnly" {
			err = s.ExpectOnly(reserved, l, filler, rest)
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, out := context.Background(), make([]weir.Decision, 1)
		for i := range 200_000 {
			if _, _, err := s.Take(ctx, []weir.Take{{Limit: filler, Key: weir.Key{byte(i), byte(i >> 8), byte(i >> 16), 7}, Cost: 1}}, out); err != nil {
				t.Fatal(err)
			}
		}
		if out[0].Mode != weir.Overflow {
			t.Fatal("the store is not full")
		}
		met := map[int]bool{}
		for i := 0; len(met) < len(s.shards); i++ {
			k := weir.Key{byte(i), byte(i >> 8), 15: 1}
			at := address{l.ID(), k}
			shard := s.shardOf(at.fingerprint())
			if met[shard] {
				continue
			}
			met[shard] = true
			if _, _, err := s.Take(ctx, []weir.Take{{Limit: l, Key: k, Cost: 1, Slot: slotFor(l)}}, out); err != nil || out[0].Mode != weir.Exact {
				t.Fatalf("%s, part %d: %+v, %v", how, shard, out[0], err)
			}
		}
		d.check()
		if of := s.shares.Load(); of.total > s.sizes.keys/2/s.sizes.shards || of.keys[s.find(rest.Version()).rule.index] == 0 {
			t.Errorf("%s: shares are %v, of %d in each part", how, of.keys, s.sizes.keys/s.sizes.shards)
		}
	}
}

// Where the half has no room for whole keys, a promise is what it was.
func TestWhatIsReservedStaysWithinTheHalf(t *testing.T) {
	s, err := New(Config{MaxKeys: 2000, Reserved: map[string]int{"a": 5, "b": 25, "c": 800}}) // half is 875, in one part
	if err != nil {
		t.Fatal(err)
	}
	a, b := weir.MustLimit("a", "60 concurrent"), weir.MustLimit("b", "40 concurrent")
	if err := s.Expect(a, b, weir.MustLimit("d", "1/s")); err != nil {
		t.Fatal(err)
	}
	of := s.shares.Load()
	for l, want := range map[*weir.Limit]int{a: 5, b: 41} {
		if got := of.keys[s.find(l.Version()).rule.index]; got != want {
			t.Errorf("%s has %d, want %d", l.Name(), got, want)
		}
	}
	if of.total > s.sizes.keys/2 {
		t.Errorf("shares come to %d, of %d", of.total, s.sizes.keys)
	}
}
