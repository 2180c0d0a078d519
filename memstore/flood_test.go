package memstore_test

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A flood of new keys, a million or in the long tier ten, changes nothing but
// who shares a cell: the store stays under its cap, its memory flat, and the
// caller who is limited stays limited throughout.
func TestFloodOfNewKeysStaysUnderTheCap(t *testing.T) {
	keys := 1_000_000
	if os.Getenv("WEIR_LONG") == "1" {
		keys = 10_000_000
	}
	b := open(t, memstore.Config{MaxKeys: 100_000})
	l := weir.MustLimit("login", "10/h")
	victim := b.user(l, "victim")
	b.admitted(10, victim)
	b.flood(100_000, l, "first")
	before := heap()
	for i := range keys / 10_000 {
		b.flood(10_000, l, fmt.Sprint(i, "-"))
		if b.admitted(1, victim) != 0 {
			t.Fatalf("the victim was freed after %d keys", (i+1)*10_000)
		}
	}
	if st := b.Stats(); st.Keys > st.MaxKeys {
		t.Errorf("%d keys in room for %d", st.Keys, st.MaxKeys)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// heap is the size of what lives.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
