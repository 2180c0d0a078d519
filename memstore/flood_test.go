package memstore_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// A flood of strangers, a million or in the long tier a hundred millions, changes nothing
// but who shares a cell: the store stays under its cap, its memory flat, the caller who
// is limited stays limited throughout, and the callers of another limit keep their own
// entries.
func TestFloodOfNewKeysStaysUnderTheCap(t *testing.T) {
	strangers, turn := 1_000_000, 10_000
	if os.Getenv("WEIR_LONG") == "1" {
		strangers, turn = 100_000_000, 100_000
	}
	b := open(t, memstore.Config{MaxKeys: 100_000})
	login, api := weir.MustLimit("login", "10/h"), weir.MustLimit("api", "1/h")
	victim := b.user(login, "victim")
	b.admitted(10, victim)
	const others = 1000
	for i := range others {
		b.take(b.user(api, fmt.Sprint(i)))
	}
	come := b.strangers(login)
	come(100_000)
	before := heap()
	for n := 0; n < strangers; n += turn {
		come(turn)
		if b.admitted(1, victim) != 0 {
			t.Fatalf("the victim was freed after %d keys", n+turn)
		}
		if ok, d := b.take(b.user(api, fmt.Sprint(n/turn%others))); ok || d[0].Mode != weir.Exact {
			t.Fatalf("after %d keys a caller of the other limit: %+v", n+turn, d[0])
		}
	}
	st := b.Stats()
	if st.Keys > st.MaxKeys {
		t.Errorf("%d keys in room for %d", st.Keys, st.MaxKeys)
	}
	if n := st.Rules["api"].Keys; n != others {
		t.Errorf("%d entries of the other limit, want %d", n, others)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
}

// strangers has more and more addresses take once.
func (b *bench) strangers(l *weir.Limit) (come func(n int)) {
	ctx, takes, out := context.Background(), []weir.Take{{Limit: l, Cost: 1}}, make([]weir.Decision, 1)
	next := uint32(0)
	return func(n int) {
		b.Helper()
		for range n {
			next++
			at := netip.AddrFrom4([4]byte{byte(next >> 24), byte(next >> 16), byte(next >> 8), byte(next)})
			takes[0].Key, takes[0].Tag = b.Keyer().Key(weir.Addr(at))
			if _, _, err := b.Take(ctx, takes, out); err != nil {
				b.Fatal(err)
			}
		}
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
