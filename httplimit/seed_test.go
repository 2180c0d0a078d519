package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/weirhq/weir/httplimit"
)

const jobs = "/api/v1/jobs"

// api is the seed's: one method and path limited, everything else free.
func api(t *testing.T, limit string, enforce httplimit.Enforce) (*rig, http.Handler) {
	t.Helper()
	g := rigged(t, httplimit.Config{
		Rules:   []httplimit.Rule{{Name: "create-job", Limits: []string{limit}}},
		Enforce: enforce,
	})
	mux := http.NewServeMux()
	mux.Handle("POST "+jobs, g)
	mux.HandleFunc(jobs, g.count)
	return g, mux
}

func post() *http.Request { return from("192.0.2.1:1234", http.MethodPost, jobs) }

func TestOffLetsAllPassWithoutState(t *testing.T) {
	g, h := api(t, "1/s", httplimit.Off)
	res := expect(t, h, post(), copies(100, http.StatusOK)...)
	field(t, res, "RateLimit", "")
	if n := g.store.Stats().Keys; n != 0 {
		t.Errorf("%d keys in the store", n)
	}
	if g.seen.calls != 0 {
		t.Errorf("%d decisions observed", g.seen.calls)
	}
}

func TestUnderTheLimitPasses(t *testing.T) {
	g, h := api(t, "5/s burst 5", httplimit.On)
	for range 20 {
		expect(t, h, post(), copies(5, http.StatusOK)...)
		g.clock.Advance(1_000_000)
	}
	if n := g.served.Load(); n != 100 {
		t.Errorf("%d of 100 served", n)
	}
}

func TestOverTheLimitIsRefused(t *testing.T) {
	g, h := api(t, "1/s burst 1", httplimit.On)
	expect(t, h, post(), http.StatusOK, http.StatusTooManyRequests)
	g.clock.Advance(999_999)
	expect(t, h, post(), http.StatusTooManyRequests)
	g.clock.Advance(1)
	expect(t, h, post(), http.StatusOK, http.StatusTooManyRequests)
	if n := g.served.Load(); n != 2 {
		t.Errorf("%d served, want 2", n)
	}
}

func TestOtherMethodsAreNeverRefused(t *testing.T) {
	g, h := api(t, "1/s burst 1", httplimit.On)
	expect(t, h, post(), http.StatusOK, http.StatusTooManyRequests)
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "post"} {
		res := expect(t, h, from("192.0.2.1:1234", method, jobs), copies(10, http.StatusOK)...)
		field(t, res, "RateLimit", "")
	}
	if n := g.seen.calls; n != 2 {
		t.Errorf("%d decisions, want those of the 2 POSTs", n)
	}
}
