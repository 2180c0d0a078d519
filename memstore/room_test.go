package memstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A flood that has filled its share and the common room leaves some that is kept for
// others: whoever comes after it shares a cell, and is limited there.
func TestFloodBeyondItsShareIsLimited(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	l := weir.MustLimit("a", "10/day")
	b.only(nil, l, weir.MustLimit("b", "1/s"), weir.MustLimit("c", "1/s"))
	b.flood(2000, l, "f")
	if st := b.Stats(); st.Keys > st.MaxKeys-100 {
		t.Fatalf("%d of %d: this test says nothing", st.Keys, st.MaxKeys)
	}
	if got := b.admitted(30, b.user(l, "late")); got > 10 {
		t.Errorf("%d of 10 passed", got)
	}
	if st := b.Stats(); st.Rules["a"].Overflow == 0 {
		t.Error("no overflow was counted")
	}
}

// Room that is promised after others have filled the store is not there twice.
func TestLateShareKeepsTheCap(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	b.flood(3000, weir.MustLimit("a", "1/day"), "f")
	late := weir.MustLimit("b", "1/day")
	b.only(map[string]int{"b": 300}, late)
	b.flood(300, late, "g")
	if st := b.Stats(); st.Keys > st.MaxKeys {
		t.Errorf("%d keys in room for %d", st.Keys, st.MaxKeys)
	}
}

// What a rule holds of a share that it has lost counts as common room: a flood finds
// the less of that, and the new share is there in full.
func TestLostShareIsCommonRoom(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 1000})
	old, next := weir.MustLimit("old", "1/day"), weir.MustLimit("next", "1/day")
	b.only(map[string]int{"old": 400}, old)
	b.flood(450, old, "o")
	b.only(map[string]int{"next": 400}, next)
	b.flood(1000, weir.MustLimit("filler", "1/day"), "f")
	if got := b.own(400, next, "n"); got != 400 {
		t.Errorf("%d keys of the 400 that were promised", got)
	}
}

// Who is not there any more was evicted: no more and no fewer, in all parts of the
// store, and nobody who gave everything back or was reset.
func TestEvictedAddsUp(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 10_000})
	l := weir.MustLimit("api", "10/s")
	for i := range 5 {
		b.flood(1000, l, fmt.Sprint(i, "-"))
		b.clock.now += 200_000
		if st := b.Stats(); st.Keys+int(st.Evicted) != 1000*(i+1) {
			t.Fatalf("%d keys and %d evicted, %d came", st.Keys, st.Evicted, 1000*(i+1))
		}
	}
	if b.Stats().Evicted < 1000 {
		t.Fatal("this test says nothing")
	}
	own := b.user(l, "own")
	b.take(own)
	before := b.Stats()
	if err := b.Reset(context.Background(), l, own.Key); err != nil {
		t.Fatal(err)
	}
	if st := b.Stats(); st.Keys != before.Keys-1 || st.Evicted != before.Evicted {
		t.Errorf("after a reset %d keys and %d evicted, before it %d and %d", st.Keys, st.Evicted, before.Keys, before.Evicted)
	}
}

// The one dead entry among many is found where there is no room: a call looks further
// for it then than in passing.
func TestLastDeadEntryIsFound(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	short, long := weir.MustLimit("a", "1/s"), weir.MustLimit("a/1d", "1/day")
	b.take(b.user(short, "one"))
	b.flood(100, long, "f")
	b.clock.now += 2_000_000
	before := b.Stats()
	b.flood(2, long, "late")
	if st := b.Stats(); st.Evicted != before.Evicted+1 {
		t.Errorf("%d entries were evicted, want the dead one", st.Evicted-before.Evicted)
	}
}

// A key that was reset beside its cell has nothing to do with it any more, also when
// it has given everything back.
func TestResetKeyStaysApartWhenItGivesBack(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64})
	l := weir.MustLimit("login", "10/day")
	own := b.user(l, "own")
	b.admitted(10, own)
	b.flood(200, l, "stranger")
	if err := b.Reset(context.Background(), l, own.Key); err != nil {
		t.Fatal(err)
	}
	_, d := b.take(own)
	if _, err := b.Return(context.Background(), []weir.Return{{Limit: l, Key: own.Key, Receipt: d[0].Receipt, Units: 1}}); err != nil {
		t.Fatal(err)
	}
	if got := b.admitted(20, own); got != 10 {
		t.Errorf("%d of 10 passed after the reset and the refund", got)
	}
}

// Rules whose limits were forgotten to make room for one that is expected take none of
// its share.
func TestExpectedLimitSharesNothingWithThoseItReplaced(t *testing.T) {
	b := open(t, memstore.Config{MaxKeys: 64}) // cells for eight limits
	for i := range 8 {
		l := weir.MustLimit(fmt.Sprint("guest", i), "5/s")
		guest := b.user(l, "u")
		b.take(guest)
		if err := b.Reset(context.Background(), l, guest.Key); err != nil {
			t.Fatal(err)
		}
	}
	api, filler := weir.MustLimit("api", "1/day"), weir.MustLimit("filler", "1/day")
	if err := b.Expect(api); err != nil {
		t.Fatal(err)
	}
	b.flood(1000, filler, "f")
	if got, want := b.own(100, api, "a"), b.Stats().MaxKeys/4; got < want {
		t.Errorf("api got %d of its share of %d", got, want)
	}
}
