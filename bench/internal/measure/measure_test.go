package measure_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/bench/internal/lineup"
	"github.com/weirhq/weir/bench/internal/measure"
)

// short is a request that is over at once.
func short(part, contender, set string) measure.Request {
	return measure.Request{Part: part, Contender: contender, Set: set, Time: time.Millisecond, Goroutines: 2, Procs: 2, Refusals: true}
}

func run(t *testing.T, q measure.Request) map[string]float64 {
	t.Helper()
	s, err := q.Run()
	if err != nil {
		t.Fatal(err)
	}
	return s.Values
}

func TestSpeedOfOneKey(t *testing.T) {
	for _, c := range lineup.All() {
		t.Run(c.Name, func(t *testing.T) {
			v := run(t, short(measure.Speed, c.Name, "hot"))
			for _, figure := range []string{measure.Serial, measure.ParallelOne, measure.ParallelAll} {
				if v[figure] <= 0 {
					t.Errorf("%s: %v ns", figure, v[figure])
				}
			}
			if _, ok := v[measure.RefuseSerial]; ok != c.Refuses() {
				t.Errorf("refusals are measured: %t", ok)
			}
			if _, ok := v[measure.BytesPerKey]; ok {
				t.Error("the room of one key is no figure")
			}
		})
	}
}

// The room of a key is that of what holds it: a limiter of x/time/rate and its
// key alone are over a hundred bytes, and all of it has pointers.
func TestRoomOfKeys(t *testing.T) {
	v := run(t, short(measure.Speed, "x/time/rate, Mutex map", "1e5"))
	if v[measure.BytesPerKey] < 90 || v[measure.BytesPerKey] > 400 {
		t.Errorf("%.0f bytes a key", v[measure.BytesPerKey])
	}
	if v[measure.Scanned]*1024 < 50*100_000 {
		t.Errorf("%.0f KiB are scanned", v[measure.Scanned])
	}
	if v[measure.Collection] <= 0 {
		t.Error("a collection takes no time")
	}
}

func TestCalls(t *testing.T) {
	for _, c := range lineup.Calls() {
		v := run(t, short(measure.Calls, c.Name, "hot"))
		if v[measure.Serial] <= 0 || v[measure.ParallelAll] <= 0 {
			t.Errorf("%s: %v", c.Name, v)
		}
	}
}

// Weir's bound holds whatever the goroutines do, and all of it is given out.
func TestContention(t *testing.T) {
	q := short(measure.Contention, "weir Allow", "")
	q.Time, q.Goroutines = 100*time.Millisecond, 16
	v := run(t, q)
	took := time.Duration(v[measure.Elapsed] * float64(time.Second))
	if most := lineup.TokenBucket.Most(measure.Real(), took); v[measure.Admitted] > float64(most) || v[measure.Admitted] < 100 {
		t.Errorf("%.0f admitted, the bound is %d", v[measure.Admitted], most)
	}
	if v[measure.FailedAsks] > 0 || v[measure.Asked] < v[measure.Admitted] {
		t.Errorf("%v", v)
	}
}

func TestRequestsThatCannotBe(t *testing.T) {
	for name, q := range map[string]measure.Request{
		"no contender": short(measure.Speed, "nobody", "hot"),
		"no call":      short(measure.Calls, "nobody", "hot"),
		"no set":       short(measure.Speed, "weir Take", "1e4"),
		"no part":      short("nothing", "weir Take", "hot"),
		"no phase":     few("weir Take", "hot"),
		"too few":      short(measure.Latency, "weir Take", measure.Growth),
	} {
		if _, err := q.Run(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
