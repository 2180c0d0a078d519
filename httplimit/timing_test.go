package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
)

// blank is a response without a connection: what it costs is the handler's.
type blank struct{ h http.Header }

func (b *blank) Header() http.Header         { return b.h }
func (b *blank) Write(p []byte) (int, error) { return len(p), nil }
func (b *blank) WriteHeader(int)             {}

// serve answers one request, as a server would: with an empty header.
func (b *blank) serve(h http.Handler, r *http.Request) {
	b.h = http.Header{}
	h.ServeHTTP(b, r)
}

func bare() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
}

// behind puts bare behind rules that never refuse.
func behind(tb testing.TB, rules ...httplimit.Rule) http.Handler {
	tb.Helper()
	m, err := httplimit.New(httplimit.Config{Store: memory(tb), Rules: rules})
	if err != nil {
		tb.Fatal(err)
	}
	return m.Handler(bare())
}

func oneLimit() httplimit.Rule {
	return httplimit.Rule{Name: "jobs", Limits: []string{"1000000/s burst 2000000000"}}
}

func request() *http.Request {
	r, err := http.NewRequest(http.MethodPost, "/api/v1/jobs", http.NoBody)
	if err != nil {
		panic(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	return r
}

func BenchmarkHandler(b *testing.B) {
	for name, h := range map[string]http.Handler{"bare": bare(), "limited": behind(b, oneLimit())} {
		b.Run(name, func(b *testing.B) {
			w, r := &blank{}, request()
			b.ReportAllocs()
			for b.Loop() {
				w.serve(h, r)
			}
		})
	}
}

// The promise is six, headers included; the map of the fields is one, the fields
// themselves are two.
func TestAllocations(t *testing.T) {
	f := func(name string, want int, h http.Handler) {
		t.Helper()
		w, r := &blank{}, request()
		without := testing.AllocsPerRun(500, func() { w.serve(bare(), r) })
		with := testing.AllocsPerRun(500, func() { w.serve(h, r) })
		if got := int(with - without); got > want {
			t.Errorf("%s: %d allocations added, at most %d are promised", name, got, want)
		}
	}
	f("one limit", 6, behind(t, oneLimit()))
	f("unlimited", 0, behind(t, httplimit.Rule{Name: "free", Limits: []string{"unlimited"}}))
	several := oneLimit()
	several.Limits = append(several.Limits, "1000000000/day fixed-window", "30000000/min")
	several.Key = []httplimit.Key{httplimit.ByIP(), httplimit.By("user", func(*http.Request) (string, bool) { return "u", true })}
	f("three limits", 6, behind(t, several))

	m, err := httplimit.New(httplimit.Config{Store: memory(t), Rules: []httplimit.Rule{oneLimit()}, Enforce: httplimit.Off})
	if err != nil {
		t.Fatal(err)
	}
	f("off", 0, m.Handler(bare()))
}

// Check by itself allocates nothing, once it has been given an Outcome.
func TestAllocationsOfCheck(t *testing.T) {
	g := ruled(t, oneLimit())
	r, o := request(), new(weir.Outcome)
	if n := testing.AllocsPerRun(500, func() { g.Check(r, o) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
