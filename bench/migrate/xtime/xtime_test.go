package xtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

// passed counts which of a caller's first asks pass. More than the burst pass
// where the test is held up for a tenth of a second: nobody waits for that.
func passed(t *testing.T, ask func(caller string) bool) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, caller := range []string{"192.0.2.1", "192.0.2.2"} {
		for range 20 {
			if ask(caller) {
				counts[caller]++
			}
		}
	}
	return counts
}

func TestTheSameAsksPass(t *testing.T) {
	v := &visitors{seen: map[string]*visitor{}}
	c, err := newCallers()
	if err != nil {
		t.Fatal(err)
	}
	before := passed(t, v.allow)
	after := passed(t, func(caller string) bool {
		ok, err := c.allow(t.Context(), caller)
		return err == nil && ok
	})
	for _, caller := range []string{"192.0.2.1", "192.0.2.2"} {
		if before[caller] != 20 || after[caller] != 20 {
			t.Errorf("%s: %d passed before and %d after, want the burst of 20", caller, before[caller], after[caller])
		}
	}
	v.forget()
	if len(v.seen) != 2 {
		t.Errorf("%d visitors are left", len(v.seen))
	}
}

func TestTheSameRequestsPass(t *testing.T) {
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "done") })
	after, err := handler(done)
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range map[string]http.Handler{"before": (&visitors{seen: map[string]*visitor{}}).handler(done), "after": after} {
		refused := 0
		for range 100 {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = "192.0.2.1:1234"
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused == 0 || refused > 80 {
			t.Errorf("%s: %d of 100 requests are refused, want 80 or a few less", name, refused)
		}
	}
}

func TestUploadsThatFailCostNothing(t *testing.T) {
	c, err := newCallers()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for range 3 {
		if err := c.upload(t.Context(), "a", 20, func() error { return broken }); !errors.Is(err, broken) || errors.Is(err, weir.ErrNotApplied) {
			t.Errorf("an upload that failed, after one that failed: %v", err)
		}
	}
	if err := c.upload(t.Context(), "a", 20, func() error { return nil }); err != nil {
		t.Error(err)
	}
	var retry *retryError
	if err := c.upload(t.Context(), "a", 20, nil); !errors.As(err, &retry) || retry.after <= 0 {
		t.Errorf("a second upload of the whole burst: %v, want the wait", err)
	}
}

// Whoever waits waits as long, and is told at once where that is too long, or for ever.
func TestTheSameWorkWaits(t *testing.T) {
	f := func(t *testing.T, name string, work func(ctx context.Context, units int64, do func() error) error) {
		t.Helper()
		done, begun := 0, time.Now()
		count := func() error {
			done++
			return nil
		}
		for range 5 {
			if err := work(t.Context(), 5, count); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(begun); done != 5 || took != 500*time.Millisecond {
			t.Errorf("%s: %d times took %v, want the burst at once and 5 units more in 500ms", name, done, took)
		}
		soon, cancel := context.WithTimeout(t.Context(), 99*time.Millisecond)
		defer cancel()
		for _, err := range []error{work(soon, 1, nil), work(t.Context(), 21, nil)} {
			if err == nil || time.Since(begun) != 500*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, time.Since(begun))
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		before := rate.NewLimiter(10, 20)
		f(t, "before", func(ctx context.Context, units int64, do func() error) error {
			return work(ctx, before, int(units), do)
		})
	})
	synctest.Test(t, func(t *testing.T) {
		c, err := newCallers()
		if err != nil {
			t.Fatal(err)
		}
		f(t, "after", func(ctx context.Context, units int64, do func() error) error { return c.work(ctx, "a", units, do) })
	})
}

// The texts of the page say what the limiters beside them do.
func TestTextsOfTheTable(t *testing.T) {
	for _, row := range []struct {
		limiter *rate.Limiter
		text    string
	}{
		{rate.NewLimiter(10, 20), "10/s burst 20"},
		{rate.NewLimiter(0.5, 1), "1 per 2s"},
		{rate.NewLimiter(rate.Every(10*time.Minute), 5), "1 per 10m burst 5"},
	} {
		spec, err := weir.ParseSpec(row.text)
		if err != nil {
			t.Fatal(err)
		}
		burst := max(spec.Burst, spec.Count)
		if spec.Burst != 0 {
			burst = spec.Burst
		}
		perSecond := rate.Limit(float64(spec.Count) / spec.Period.Seconds())
		if perSecond != row.limiter.Limit() || burst != int64(row.limiter.Burst()) {
			t.Errorf("%s: %v a second, burst %d; want %v, %d", row.text, perSecond, burst, row.limiter.Limit(), row.limiter.Burst())
		}
	}
	for text, want := range map[string]weir.Algorithm{"unlimited": weir.Unlimited, "deny": weir.Deny} {
		if spec, err := weir.ParseSpec(text); err != nil || spec.Algorithm != want {
			t.Errorf("%s: %v, %v", text, spec, err)
		}
	}
}

// The clock of a test is the store's, where x/time/rate takes an instant with each
// call.
func Example_clock() {
	limiter := rate.NewLimiter(1, 1)
	at := time.Unix(1_800_000_000, 0)
	fmt.Println(limiter.AllowN(at, 1), limiter.AllowN(at, 1), limiter.AllowN(at.Add(time.Second), 1))

	now := weir.Micros(1_800_000_000_000_000)
	store, err := memstore.New(memstore.Config{Now: func() weir.Micros { return now }})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := weir.New(store, weir.MustLimit("visitors", "1/s"))
	if err != nil {
		fmt.Println(err)
		return
	}
	allow := func() bool {
		ok, err := c.Allow(context.Background())
		return err == nil && ok
	}
	first, second := allow(), allow()
	now += 1_000_000
	fmt.Println(first, second, allow())
	// Output:
	// true false true
	// true false true
}
