package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"

	"github.com/weirhq/weir/clientip"
	"github.com/weirhq/weir/header"
	"github.com/weirhq/weir/httplimit"
)

// everyKind is a middleware with every kind of key, of plan and of cost.
func everyKind(t testing.TB) *httplimit.Middleware {
	t.Helper()
	resolver, err := clientip.New(clientip.Config{
		Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Header: "X-Forwarded-For", TrustUnix: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	key := func(k ...httplimit.Key) []httplimit.Key { return k }
	m, err := httplimit.New(httplimit.Config{
		Store: memory(t), ClientIP: resolver, Header: header.Config{Debug: true},
		Rules: []httplimit.Rule{
			{Name: "address", Limits: []string{"100/s", "1000/day fixed-window"}},
			{Name: "key", Limits: []string{"10/s"}, Key: key(httplimit.ByHeader("X-Api-Key"), httplimit.ByPathValue("id"))},
			{
				Name: "plan", Key: key(httplimit.ByHeader("X-Api-Key")), Missing: httplimit.Skip, DefaultPlan: "free",
				Plan:  func(r *http.Request) string { return r.Header.Get("Plan") },
				Plans: map[string][]string{"free": {"20/s"}, "staff": {"unlimited"}, "banned": {"deny"}},
			},
			{
				Name: "cost", Limits: []string{"50/s burst 1000"},
				Cost: func(r *http.Request) (int64, error) { return strconv.ParseInt(r.Header.Get("Cost"), 10, 64) },
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Whatever a request holds, there is an answer, and it is one of those that the
// rules can give.
func FuzzHandler(f *testing.F) {
	f.Add("192.0.2.1:1", "", "", "", "1", "", int64(0))
	f.Add("10.0.0.1:1", "203.0.113.7", "k", "free", "5", "%61", int64(100))
	f.Add("[::ffff:10.0.0.1]:1", "[2001:db8::1%eth0]:x, unknown", "a\x00b", "staff", "-1", "%zz", int64(-1))
	f.Add("@", "for=1.2.3.4", "", "banned", "9223372036854775807", "/", int64(1<<62))
	m := everyKind(f)
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := m.Handler(served)
	f.Fuzz(func(t *testing.T, remote, forwarded, key, plan, cost, id string, length int64) {
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.RemoteAddr, r.ContentLength = remote, length
		r.Header = http.Header{"X-Forwarded-For": {forwarded}, "X-Api-Key": {key}, "Plan": {plan}, "Cost": {cost}, "Accept": {plan}}
		r.SetPathValue("id", id)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusNoContent, http.StatusTooManyRequests, http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusForbidden:
		default:
			t.Errorf("status %d", w.Code)
		}
		retry, decided := w.Header().Get("Retry-After"), w.Header().Get("X-Weir-Decided")
		if (retry != "") != (w.Code == http.StatusTooManyRequests) {
			t.Errorf("status %d, Retry-After %q", w.Code, retry)
		}
		if w.Code == http.StatusNoContent && decided == "" {
			t.Error("served undecided")
		}
	})
}
