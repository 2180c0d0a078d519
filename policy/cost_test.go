package policy_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// rulesOf makes so many rules, of which three match GET /api/v1/jobs.
func rulesOf(n int) string {
	var b strings.Builder
	b.WriteString(`rules:
- {name: a, match: /api/, key: ip, limit: 1000000000/s}
- {name: b, match: /api/v1/jobs, key: [ip, "header:X-Key"], limit: 1000000000/s}
- {name: c, match: "GET /api/{version}/jobs", key: ip, limit: 1000000000/s}
`)
	for i := 3; i < n; i++ {
		fmt.Fprintf(&b, "- {name: r%d, match: /r%d/, key: ip, limit: 1000/s}\n", i, i)
	}
	return b.String()
}

func TestAllocationsOfDecisions(t *testing.T) {
	for _, n := range []int{3, 10, 1000} {
		b := start(t, rulesOf(n))
		r := request("GET /api/v1/jobs?x=y", peer, "X-Key: k")
		got := testing.AllocsPerRun(1000, func() { b.Decide(context.Background(), r, &b.last) })
		// The test's Observe copies what it sees.
		if len(b.last.Takes) != 3 || got > 1 {
			t.Errorf("%d rules: %v allocations, %d takes", n, got, len(b.last.Takes))
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			engine := quiet(b, rulesOf(n))
			r := request("GET /api/v1/jobs?x=y", peer, "X-Key: k")
			var o weir.Outcome
			b.ReportAllocs()
			for b.Loop() {
				engine.Decide(context.Background(), r, &o)
			}
			if len(o.Takes) != 3 || !o.Allowed {
				b.Fatalf("%d takes, allowed %t", len(o.Takes), o.Allowed)
			}
		})
	}
}

// What check -v says of memory is what a full table takes.
func TestFloodBytesPerKey(t *testing.T) {
	const keys = 200_000
	said := load(t, "rules: [{name: r, limit: 10/day}]").Worst()[0]
	before := heap()
	store, err := memstore.New(memstore.Config{MaxKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	limit, out := weir.MustLimit("r", "10/day"), make([]weir.Decision, 1)
	for i := range keys {
		key, tag := store.Keyer().Key(weir.Text("user", strconv.Itoa(i)))
		if _, _, err := store.Take(t.Context(), []weir.Take{{Limit: limit, Key: key, Tag: tag, Cost: 1}}, out); err != nil {
			t.Fatal(err)
		}
	}
	measured := float64(heap()-before) / float64(store.Stats().Keys)
	t.Logf("%.0f bytes a key", measured)
	if says := float64(said.Bytes) / float64(said.Keys); measured < says/1.5 || measured > says*1.1 {
		t.Errorf("%.0f bytes a key, and check says %.0f", measured, says)
	}
	runtime.KeepAlive(store)
}

// heap is how much is in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC() // twice: pools give up what they hold at the second
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
