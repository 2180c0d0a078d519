package memstore

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

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

// An equal share is one key of the rule's largest limit at least, in each part of the
// store, and the others have what is left.
func TestAnEqualShareIsAWholeKey(t *testing.T) {
	s, err := New(Config{MaxKeys: 20_000}) // 16 parts, of each of which 546 are kept for rules
	if err != nil {
		t.Fatal(err)
	}
	many := []*weir.Limit{weir.MustLimit("slots", "200 concurrent"), weir.MustLimit("log/1m", "60/min sliding-log"), weir.MustLimit("log/1s", "2/s sliding-log")}
	for i := range 18 {
		many = append(many, weir.MustLimit(fmt.Sprint("plain-", i), "1/day"))
	}
	if err := s.ExpectOnly(nil, many...); err != nil {
		t.Fatal(err)
	}
	of := s.shares.Load()
	said := s.Shares()
	for name, want := range map[string]int{"slots": 201, "log": 21, "plain-0": 18, "plain-17": 18} {
		if got := of.keys[s.ruleNamed(name).index]; got != want || said[name] != 16*want {
			t.Errorf("%s has %d in each part, and %d in all, want %d", name, got, said[name], want)
		}
	}
	if len(said) != 20 {
		t.Errorf("%d rules have a share: %v", len(said), said)
	}
	if of.total > s.sizes.keys/2/s.sizes.shards {
		t.Errorf("shares come to %d, of %d in each part", of.total, s.sizes.keys/s.sizes.shards)
	}
	if cramped := s.Cramped(); len(cramped) != 0 {
		t.Errorf("%v are said to be cramped", cramped)
	}
}

// What equal parts are for rules whose keys take so much.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		what    string
		rest    int
		largest []int
		want    []int
	}{
		{"nobody", 100, nil, []int{}},
		{"plain ones", 100, []int{1, 1, 1}, []int{33, 33, 33}},
		{"one that is large", 100, []int{60, 1, 1, 1}, []int{60, 13, 13, 13}},
		{"one that would leave others less than half", 100, []int{65, 1, 1, 1}, []int{25, 25, 25, 25}},
		{"the small one first", 100, []int{55, 40, 1, 1}, []int{20, 40, 20, 20}},
		{"of equal ones the first", 100, []int{1, 45, 45, 45}, []int{18, 45, 18, 18}},
		{"parts that become less than a key", 100, []int{15, 60, 1, 1}, []int{15, 60, 12, 12}},
		{"parts that others need as they are", 100, []int{20, 60, 1, 1}, []int{25, 25, 25, 25}},
		{"alone", 100, []int{150}, []int{100}},
		{"more rules than keys", 3, []int{1, 1, 1, 1, 1}, []int{1, 1, 1, 0, 0}},
		{"nothing", 0, []int{1, 5}, []int{0, 0}},
	} {
		s := &shares{keys: make([]int, len(c.largest))}
		rules := make([]int, len(c.largest))
		for i := range rules {
			rules[i] = i
		}
		if s.divide(c.rest, rules, c.largest); !slices.Equal(s.keys, c.want) {
			t.Errorf("%s: %v, want %v", c.what, s.keys, c.want)
		}
	}
}

// Whatever rules there are, the parts are those that a plain search finds: as many of the
// small keys as leave everybody half an equal part, and the most that the others can have.
func TestDivideIsWhatASearchFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		largest := rapid.SliceOfN(rapid.OneOf(rapid.Just(1), rapid.IntRange(0, 300)), 1, 30).Draw(t, "largest")
		rest := rapid.IntRange(0, 2000).Draw(t, "rest")
		s := &shares{keys: make([]int, len(largest))}
		rules := make([]int, len(largest))
		for i := range rules {
			rules[i] = i
		}
		s.divide(rest, rules, largest)
		if want := searched(rest, largest); !slices.Equal(s.keys, want) {
			t.Fatalf("%v, want %v", s.keys, want)
		}
	})
}

// searched is divide for rules that are numbered from 0, by trial.
func searched(rest int, largest []int) []int {
	order := make([]int, len(largest))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return largest[a] - largest[b] })
	for served := len(order); ; served-- {
		for level := rest / len(order); level >= rest/len(order)/2; level-- {
			parts, total := make([]int, len(order)), 0
			for i, rule := range order {
				if parts[rule] = level; i < served {
					parts[rule] = max(level, largest[rule])
				}
				total += parts[rule]
			}
			if total <= rest {
				return parts
			}
		}
	}
}
