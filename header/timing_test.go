package header

import (
	"net/http"
	"testing"

	"github.com/weirhq/weir"
)

// nowhere is a ResponseWriter that keeps its header map and nothing else.
type nowhere struct{ h http.Header }

func (n nowhere) Header() http.Header         { return n.h }
func (n nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n nowhere) WriteHeader(int)             {}

// The promise is three; one string and one array are two. A refusal pays for
// its detail and its body as well.
func TestAllocations(t *testing.T) {
	f := func(name string, want int, run func(h http.Header)) {
		t.Helper()
		h := make(http.Header)
		if got := testing.AllocsPerRun(100, func() { clear(h); run(h) }); got != float64(want) {
			t.Errorf("%s: %v allocations, want %d", name, got, want)
		}
	}
	w, debug := writer(t, Config{}), writer(t, Config{Debug: true})
	one, three, none, no := allowed(t), threeLimits(t), new(weir.Outcome), refused(t)
	none.Pass()
	request := ask(http.MethodGet)
	f("one limit", 2, func(h http.Header) { w.Write(h, one) })
	f("one limit, debug", 2, func(h http.Header) { debug.Write(h, one) })
	f("three limits", 2, func(h http.Header) { w.Write(h, three) })
	f("no limit", 0, func(h http.Header) { w.Write(h, none) })
	f("refusal's fields", 2, func(h http.Header) { w.Write(h, no) })
	f("refusal", 4, func(h http.Header) { w.Refuse(nowhere{h}, request, no) })
}

func benchmarkWrite(b *testing.B, o *weir.Outcome) {
	w, h := writer(b, Config{}), make(http.Header)
	b.ReportAllocs()
	for b.Loop() {
		clear(h)
		w.Write(h, o)
	}
}

func BenchmarkWriteOneLimit(b *testing.B)    { benchmarkWrite(b, allowed(b)) }
func BenchmarkWriteThreeLimits(b *testing.B) { benchmarkWrite(b, threeLimits(b)) }

// The same limits on all cores: what they share must not slow them down.
func BenchmarkWriteParallel(b *testing.B) {
	w := writer(b, Config{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		h, o := make(http.Header), allowed(b)
		for pb.Next() {
			clear(h)
			w.Write(h, o)
		}
	})
}

// Each outcome has a limit of its own, as where callers bring them.
func BenchmarkWriteUnknownLimits(b *testing.B) {
	w, h := writer(b, Config{}), make(http.Header)
	outcomes := make([]*weir.Outcome, 2*maxPolicies)
	for i := range outcomes {
		outcomes[i] = allowed(b)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		clear(h)
		w.Write(h, outcomes[i%len(outcomes)])
	}
}

func BenchmarkRefuse(b *testing.B) {
	w, h, o, r := writer(b, Config{}), make(http.Header), refused(b), ask(http.MethodGet)
	b.ReportAllocs()
	for b.Loop() {
		clear(h)
		w.Refuse(nowhere{h}, r, o)
	}
}
