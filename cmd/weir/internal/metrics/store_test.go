package metrics

import (
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// What a store holds is told by rule: entries, the room that they take, and slots of
// those rules that have any.
func TestWhatAStoreHolds(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := made(t, Config{Stats: store.Stats})
	jobs, plain := weir.MustLimit("jobs", "20 concurrent"), weir.MustLimit("plain", "5/s")
	take := func(l *weir.Limit, slot weir.SlotID) {
		t.Helper()
		out := make([]weir.Decision, 1)
		if _, _, err := store.Take(t.Context(), []weir.Take{{Limit: l, Key: weir.Key{1}, Cost: 1, Slot: slot}}, out); err != nil {
			t.Fatal(err)
		}
	}
	take(jobs, weir.SlotID{1})
	take(jobs, weir.SlotID{2})
	take(plain, weir.SlotID{})
	has(t, m, `weir_keys_used{rule="jobs"} 21`)
	has(t, m, `weir_keys_used{rule="plain"} 1`)
	has(t, m, `weir_slots_held{rule="jobs"} 2`)
	if _, err := store.Return(t.Context(), []weir.Return{{Limit: jobs, Key: weir.Key{1}, Slot: weir.SlotID{2}}}); err != nil {
		t.Fatal(err)
	}
	has(t, m, `weir_slots_held{rule="jobs"} 1`)
	if found := lines(scrape(t, m), "weir_slots_held{"); len(found) != 1 {
		t.Errorf("a rule without slots is told of: %s", found)
	}
}
