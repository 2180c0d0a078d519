package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
)

// A recorder passes on what it is asked and told, and writes it down.
func TestRecorder(t *testing.T) {
	clock := NewClock(began)
	store := newPlain(clock.Now, none)
	r := Record(store)
	l := weir.MustLimit("api", "10/s")
	takes, out := []weir.Take{{Limit: l, Cost: 3}}, make([]weir.Decision, 1)
	allowed, stamp, err := r.Take(context.Background(), takes, out)
	if !allowed || err != nil || stamp.Now != began || out[0].Granted != 3 {
		t.Fatalf("got %t, %+v, %v, %+v", allowed, stamp, err, out)
	}
	receipt := out[0].Receipt
	back := []weir.Return{{Limit: l, Receipt: receipt, Units: 1}}
	if stamp, err := r.Return(context.Background(), back); err != nil || stamp.Now != began {
		t.Fatalf("got %+v, %v", stamp, err)
	}
	takes[0].Cost, out[0] = -1, weir.Decision{} // what was recorded is a copy
	if _, _, err := r.Take(context.Background(), takes, out); !errors.Is(err, weir.ErrInvalid) {
		t.Fatalf("got error %v", err)
	}
	if err := r.Reset(context.Background(), l, weir.Key{1}); err != nil {
		t.Fatal(err)
	}
	h := r.History()
	if len(h) != 4 {
		t.Fatalf("%d operations, want 4", len(h))
	}
	for i, op := range h {
		if op.Call > op.Return || i > 0 && op.Call < h[i-1].Return {
			t.Errorf("operation %d lasts from %v to %v", i, op.Call, op.Return)
		}
	}
	want := weir.Decision{Allowed: true, Granted: 3, Remaining: 7, ResetAfter: 300_000, Receipt: receipt}
	if diff := cmp.Diff([]weir.Decision{want}, h[0].Decisions); diff != "" || h[0].Takes[0].Cost != 3 || !h[0].Allowed {
		t.Errorf("the take: %s", diff)
	}
	if h[1].Returns[0].Units != 1 || h[1].Stamp.Now != began {
		t.Errorf("the return: %+v", h[1])
	}
	if !errors.Is(h[2].Err, weir.ErrInvalid) || h[3].Reset[0].Key != (weir.Key{1}) {
		t.Errorf("the last two: %+v, %+v", h[2], h[3])
	}
	if err := errors.Join(r.Close(), CheckLinearizable(h, true), CheckWindows(h, l)); err != nil {
		t.Error(err)
	}
	if _, err := store.Return(context.Background(), back); !errors.Is(err, weir.ErrClosed) {
		t.Errorf("the store is not closed: %v", err)
	}
}
