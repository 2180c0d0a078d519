package ulule

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ulule/limiter/v3"

	"github.com/weirhq/weir"
)

func TestTheSameRequestsPass(t *testing.T) {
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "done") })
	handlers := map[string]http.Handler{}
	var err error
	if handlers["before"], err = before(done); err != nil {
		t.Fatal(err)
	}
	if handlers["after"], err = after(done); err != nil {
		t.Fatal(err)
	}
	for name, h := range handlers {
		for i := range 3 {
			res := send(h, "10.0.0.1:1234", "203.0.113.7")
			left := fmt.Sprint(999 - i)
			if res.StatusCode != http.StatusOK || res.Header.Get("X-RateLimit-Limit") != "1000" || res.Header.Get("X-RateLimit-Remaining") != left {
				t.Errorf("%s, request %d: %d, %v; want %s left", name, i+1, res.StatusCode, res.Header, left)
			}
		}
		if got := send(h, "10.0.0.1:1234", "203.0.113.8").Header.Get("X-RateLimit-Remaining"); got != "999" {
			t.Errorf("%s: another caller behind the same proxy has %s left, want 999", name, got)
		}
	}
}

// What changes: whoever comes past the proxies has no say in who he is.
func TestStrangersNameNobody(t *testing.T) {
	done := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	was, err := before(done)
	if err != nil {
		t.Fatal(err)
	}
	is, err := after(done)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		handler http.Handler
		left    string
	}{{was, "999"}, {is, "998"}} {
		send(row.handler, "198.51.100.9:1", "203.0.113.1")
		if got := send(row.handler, "198.51.100.9:1", "203.0.113.2").Header.Get("X-RateLimit-Remaining"); got != row.left {
			t.Errorf("a stranger under another name has %s left, want %s", got, row.left)
		}
	}
}

func send(h http.Handler, peer, forwarded string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.RemoteAddr = peer
	r.Header.Set("X-Forwarded-For", forwarded)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// The texts of the page say what the rates beside them do.
func TestTextsOfTheTable(t *testing.T) {
	for old, text := range map[string]string{
		"5-S": "5/s fixed-window", "10-M": "10/min fixed-window", "1000-H": "1000/h fixed-window", "2000-D": "2000/day fixed-window",
	} {
		rate, err := limiter.NewRateFromFormatted(old)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := weir.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Count != rate.Limit || spec.Period != rate.Period || spec.Algorithm != weir.FixedWindow {
			t.Errorf("%s is %d per %v, %s is not", old, rate.Limit, rate.Period.Round(time.Second), text)
		}
	}
}

func Example_jobs() {
	jobs := make([]func(), 5)
	for i := range jobs {
		jobs[i] = func() { fmt.Print(i+1, " ") }
	}
	ctx := context.Background()
	for _, do := range []func(context.Context, string, []func()) (int64, error){jobsBefore, jobsAfter} {
		left, err := do(ctx, "ada", jobs)
		fmt.Println("left:", left, err)
	}
	// Output:
	// 1 2 3 left: 0 <nil>
	// 1 2 3 left: 0 <nil>
}
