package memstore_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
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

// TestFloodMemoryOfAKey fills a store of a million keys, or in the long tier of ten:
// all that it holds is at most 40 bytes a key, of which the garbage collector looks
// at next to nothing.
func TestFloodMemoryOfAKey(t *testing.T) {
	keys := 1_000_000
	if os.Getenv("WEIR_LONG") == "1" {
		keys = 10_000_000
	}
	before, scanned := heap(), scan()
	b := open(t, memstore.Config{MaxKeys: keys / 7 * 9}) // the shards do not fill evenly
	b.flood(keys, weir.MustLimit("api", "5/min"), "caller")
	if n := b.Stats().Keys; n != keys {
		t.Fatalf("%d keys, want %d", n, keys)
	}
	bytes := float64(heap()-before) / float64(keys)
	more := scan() - scanned
	t.Logf("%.1f bytes a key, %d KiB to scan", bytes, more>>10)
	if bytes > 40 || more > 1<<20 {
		t.Errorf("%.1f bytes a key, %d KiB to scan", bytes, more>>10)
	}
	runtime.KeepAlive(b)
}

// scan is how much of the heap the garbage collector has to look at.
func scan() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/scan/heap:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
