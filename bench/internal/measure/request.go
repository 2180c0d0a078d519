package measure

import (
	"fmt"
	"time"

	"github.com/weirhq/weir/bench/internal/keyset"
	"github.com/weirhq/weir/bench/internal/lineup"
)

// The parts of a run.
const (
	Speed      = "speed"      // a decision's time, and a key's room
	Calls      = "calls"      // of several takes
	Latency    = "latency"    // the slowest decisions, while a table is put to work
	Contention = "contention" // what is admitted
)

// A Request is one measurement of one contender.
type Request struct {
	Part       string        // one of the parts
	Contender  string        // a name of lineup.All, or of lineup.Calls
	Set        string        // a name of keyset.Names; Growth, Sweep or Flood for Latency, nothing for Contention
	Time       time.Duration // for each figure; not for Latency
	Keys       int           // Latency: how many come, LeastKeys to MostKeys
	Goroutines int           // for each processor, where many ask
	Procs      int           // the processors of the machine that may be used
	Refusals   bool          // Speed: also when every ask is refused
}

// A Sample is what one Request measured.
type Sample struct {
	// Values are figures by name, in the unit that the name says.
	Values map[string]float64
	// Skipped says why nothing was measured.
	Skipped string
}

// The names of the figures.
const (
	Serial       = "serial"      // ns a decision, one goroutine, one processor
	ParallelOne  = "par 1P"      // ns a decision, several goroutines on one processor
	ParallelAll  = "par nP"      // ns of wall time a decision, on all processors
	RefuseSerial = "refuse"      // as Serial, when every ask is refused
	RefuseAll    = "refuse nP"   // as ParallelAll, likewise
	Allocs       = "allocs"      // allocations a decision
	BytesPerKey  = "B/key"       // heap that is live, by key
	Scanned      = "scan KiB"    // what the garbage collector has to look through
	Collection   = "GC ms"       // one runtime.GC
	FailedShare  = "failed"      // of all decisions, those that were an error
	Admitted     = "admitted"    // asks let through
	Elapsed      = "elapsed s"   // from before the first ask to after the last
	Asked        = "asked"       // asks made
	FailedAsks   = "failed asks" // asks that were answered by an error
)

// Run measures, in this process.
func (r Request) Run() (Sample, error) {
	s, err := r.run()
	if err != nil {
		return s, fmt.Errorf("%s, %s, %s: %w", r.Part, r.Contender, r.Set, err)
	}
	return s, nil
}

func (r Request) run() (Sample, error) {
	if r.Part == Calls {
		return r.calls()
	}
	c, err := contender(r.Contender)
	if err != nil {
		return Sample{}, err
	}
	switch r.Part {
	case Speed:
		return r.speed(c)
	case Latency:
		return r.latency(c)
	case Contention:
		return r.contention(c)
	default:
		return Sample{}, fmt.Errorf("there is no part %q", r.Part)
	}
}

func contender(name string) (*lineup.Contender, error) {
	for _, c := range lineup.All() {
		if c.Name == name {
			return &c, nil
		}
	}
	return nil, fmt.Errorf("there is no contender %q", name)
}

// fill puts all keys of a set into a table.
func fill(set *keyset.Set, put lineup.Ask) error {
	for key := range set.Each() {
		if v := put(key); v != lineup.Allowed {
			return fmt.Errorf("filling the table: %s was not allowed (verdict %d)", key, v)
		}
	}
	return nil
}
