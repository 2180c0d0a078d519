package measure

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// heap is what is live, and what of it the garbage collector has to read.
type heap struct{ live, scanned uint64 }

// readHeap collects what is dead first.
func readHeap() heap {
	runtime.GC()
	runtime.GC() // what the first one's finalizers have let go
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(samples)
	return heap{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// over writes down what the heap has grown by since before.
func (h heap) over(before heap, keys int, out *Sample) {
	out.Values[BytesPerKey] = (float64(h.live) - float64(before.live)) / float64(keys)
	out.Values[Scanned] = max(0, float64(h.scanned)-float64(before.scanned)) / 1024
}

// above is what the heap has grown by since before, in MiB.
func (h heap) above(before heap) float64 {
	return max(0, float64(h.live)-float64(before.live)) / (1 << 20)
}

// collections is how many collections are timed; the median counts.
const collections = 5

// collection times runtime.GC on all processors with the table live, in ms.
func collection() float64 {
	took := make([]float64, collections)
	for i := range took {
		begin := time.Now()
		runtime.GC()
		took[i] = float64(time.Since(begin).Nanoseconds()) / 1e6
	}
	slices.Sort(took)
	return took[collections/2]
}

// A table of careful is measured before one that is larger is made.
const careful = 100_000

// headroom is how much memory a table takes while it grows, by what it holds in
// the end: the garbage collector lets as much garbage grow as is live.
const headroom = 2.5

// tooLarge says why a table of so many keys should not be made here, or nothing.
func tooLarge(c *lineup.Contender, keys int) (string, error) {
	available, ok := availableMemory()
	if keys <= 1_000_000 || c.Kind == lineup.Floor || !ok {
		return "", nil
	}
	set, err := keyset.Uniform("careful", careful, 1)
	if err != nil {
		return "", err
	}
	before := readHeap()
	l, err := c.New(lineup.Ample(), careful)
	if err != nil {
		return "", err
	}
	defer end(l.Close)
	if err := fillLimiter(l, set, c.Kind); err != nil {
		return "", err
	}
	out := Sample{Values: map[string]float64{}}
	readHeap().over(before, careful, &out)
	if need := headroom * out.Values[BytesPerKey] * float64(keys); need > available {
		return fmt.Sprintf("needs some %.0f GiB, %.0f are free", need/(1<<30), available/(1<<30)), nil
	}
	return "", nil
}

// availableMemory is what Linux says is free, in bytes; elsewhere nothing is
// known.
func availableMemory() (float64, bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}
