package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A holding is what one holder of a key believes to have, and until when.
type holding struct {
	key, holder int
	until       weir.Micros
}

// No key has more holders than its limit admits, whatever room comes and goes; and who
// is told that his slot is lost does not have it, and who is not does.
func TestSlotsHoldThroughOverflow(t *testing.T) {
	const lease = 1_000_000
	rapid.Check(t, func(r *rapid.T) {
		clock := &hand{now: 1_000_000_000}
		s, err := memstore.New(memstore.Config{MaxKeys: 64, Now: clock.read})
		if err != nil {
			r.Fatal(err)
		}
		slots, other := weir.MustLimit("slots", "2 concurrent lease 1s"), weir.MustLimit("other", "1/s")
		held := map[[2]int]holding{}
		for range rapid.IntRange(50, 300).Draw(r, "steps") {
			clock.now += weir.Micros(rapid.SampledFrom([]int{0, 0, 0, 1000, 100_000, 500_000, 1_000_000}).Draw(r, "wait"))
			h := holding{key: rapid.IntRange(0, 20).Draw(r, "key"), holder: rapid.IntRange(1, 4).Draw(r, "holder"), until: clock.now + lease}
			k, tag := s.Keyer().Key(weir.Text("user", fmt.Sprint(h.key)))
			id, at := weir.SlotID{byte(h.holder)}, [2]int{h.key, h.holder}
			switch verb := rapid.IntRange(0, 9).Draw(r, "verb"); {
			case verb < 4:
				var d [1]weir.Decision
				if ok, _, err := s.Take(context.Background(), []weir.Take{{Limit: slots, Key: k, Tag: tag, Cost: 1, Slot: id}}, d[:]); err != nil {
					r.Fatal(err)
				} else if ok {
					held[at] = h
				}
			case verb < 7: // somebody else asks for room, and gets it or not
				k, tag := s.Keyer().Key(weir.Text("other", fmt.Sprint(rapid.IntRange(0, 90).Draw(r, "stranger"))))
				if _, _, err := s.Take(context.Background(), []weir.Take{{Limit: other, Key: k, Tag: tag, Cost: 1}}, make([]weir.Decision, 1)); err != nil {
					r.Fatal(err)
				}
			default:
				renew := verb == 7
				_, err := s.Return(context.Background(), []weir.Return{{Limit: slots, Key: k, Tag: tag, Slot: id, Renew: renew}})
				lives := held[at].until > clock.now
				if renew && errors.Is(err, weir.ErrLost) == lives || !errors.Is(err, weir.ErrLost) && err != nil {
					r.Fatalf("holder %d of key %d, who holds a slot: %t, renews it: %t; error %v", h.holder, h.key, lives, renew, err)
				}
				if delete(held, at); renew && lives {
					held[at] = h
				}
			}
			count := map[int]int{}
			for _, h := range held {
				if h.until > clock.now {
					if count[h.key]++; count[h.key] > 2 {
						r.Fatalf("key %d has %d holders at %d: %v", h.key, count[h.key], clock.now, held)
					}
				}
			}
		}
	})
}

// A flood of keys of logs stays under the cap, and frees nobody.
func TestFloodOfLogsStaysUnderTheCap(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 20_000})
	l := weir.MustLimit("login", "10/h sliding-log")
	victim := b.user(l, "victim")
	b.admitted(10, victim)
	for i := range 5 {
		b.flood(20_000, l, fmt.Sprint(i, "-"))
		st := b.Stats()
		if st.Used > st.MaxKeys || st.Keys*l.Memory()/32 != st.Used {
			t.Fatalf("%d keys take the room of %d, of %d", st.Keys, st.Used, st.MaxKeys)
		}
		if b.admitted(1, victim) != 0 {
			t.Fatal("the victim was freed")
		}
	}
	b.clock.now += 3_600_000_000
	if b.admitted(20, victim) != 10 {
		t.Error("the victim is not let in an hour later")
	}
}

// Takes of states that are lists, granted and refused, and what comes back of them,
// allocate nothing, once there are blocks for them.
func TestAllocationsOfLists(t *testing.T) {
	b := open(t, memstore.Config{})
	log, slots, rate := weir.MustLimit("log", "8 per 8us sliding-log"), weir.MustLimit("slots", "3 concurrent lease 1ms"), weir.MustLimit("rate", "1000/s")
	one, two := b.user(log, "u"), b.user(slots, "u")
	takes, out := []weir.Take{one, two, b.user(rate, "u")}, make([]weir.Decision, 3)
	back := []weir.Return{{Limit: slots, Key: two.Key, Tag: two.Tag}, {Limit: log, Key: one.Key, Tag: one.Tag, Units: 1}}
	ctx, step := context.Background(), 0
	round := func() {
		step++
		b.clock.now += 1
		takes[1].Slot = weir.SlotID{byte(step), byte(step >> 8), 1}
		ok, _, err := b.Take(ctx, takes, out)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = b.Take(ctx, takes[:1], out[:1])
		if err != nil {
			t.Fatal(err)
		}
		if ok && step%2 == 0 {
			back[0].Slot, back[1].Receipt = takes[1].Slot, out[0].Receipt
			if out[0].Receipt.Cost == 0 {
				_, err = b.Return(ctx, back[:1])
			} else {
				_, err = b.Return(ctx, back)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 5000 {
		round()
	}
	if n := testing.AllocsPerRun(5000, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
