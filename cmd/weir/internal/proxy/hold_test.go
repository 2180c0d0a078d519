package proxy_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
)

// held is a decide of a script: the request is let in, and waits.
func held(delay time.Duration) func(*weir.Request, *weir.Outcome) {
	return func(_ *weir.Request, o *weir.Outcome) {
		o.Takes = append(o.Takes, weir.Take{Limit: weir.MustLimit("queue", "1/s leaky-bucket queue 9"), Cost: 1})
		o.Decisions = append(o.Decisions, weir.Decision{Allowed: true, Granted: 1, Remaining: 7, Delay: weir.Micros(delay / time.Microsecond)})
		o.Allowed, o.Binding, o.Delay = true, 0, o.Decisions[0].Delay
	}
}

// A waiting room is a proxy in a bubble of time, without a network.
type waitingRoom struct {
	*proxy.Proxy
	t      *testing.T
	script *script
}

func inBubble(t *testing.T, most int, test func(t *testing.T, w *waitingRoom)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &waitingRoom{t: t, script: &script{}}
		settings := settingsOf(t, proxy.Options{Demo: true, Decider: w.script})
		var err error
		if w.Proxy, err = proxy.New(proxy.Config{Settings: func() *proxy.Settings { return settings }, MaxWaiting: most}); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

// An arrival is an answer, and when it came.
type arrival struct {
	*httptest.ResponseRecorder

	after time.Duration
}

// send serves a request that waits for so long, on a goroutine of its own.
func (w *waitingRoom) send(ctx context.Context, delay time.Duration, headers ...string) <-chan arrival {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/x", http.NoBody)
	for _, kind := range headers {
		r.Header.Set("Content-Type", kind)
	}
	w.script.decide = held(delay)
	sent, got := time.Now(), make(chan arrival, 1)
	go func() {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		got <- arrival{rec, time.Since(sent)}
	}()
	synctest.Wait()
	return got
}

func (w *waitingRoom) arrives(from <-chan arrival, status int, after time.Duration) arrival {
	w.t.Helper()
	a := <-from
	if a.Code != status || a.after != after {
		w.t.Errorf("answered %d after %s, want %d after %s; %s", a.Code, a.after, status, after, a.Body)
	}
	return a
}

func (w *waitingRoom) counts(crowded, drained, gone, waiting int64) {
	w.t.Helper()
	want := proxy.Stats{Crowded: crowded, Drained: drained, Gone: gone}
	if now, _ := w.Waiting(); w.Stats() != want || int64(now) != waiting {
		w.t.Errorf("got %+v, %d wait; want %+v and %d", w.Stats(), now, want, waiting)
	}
	if back := int64(w.script.refunds()); back != crowded+drained+gone {
		w.t.Errorf("%d charges came back, want %d", back, crowded+drained+gone)
	}
}

func TestRequestsWaitForTheirTurn(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, w *waitingRoom) {
		third, second, first := w.send(t.Context(), 2*time.Second), w.send(t.Context(), time.Second), w.send(t.Context(), 0)
		w.counts(0, 0, 0, 2)
		w.arrives(first, http.StatusOK, 0)
		w.arrives(second, http.StatusOK, time.Second)
		a := w.arrives(third, http.StatusOK, 2*time.Second)
		field(t, a.Header(), "Ratelimit", `"queue";r=7;t=7`)
		w.counts(0, 0, 0, 0)
		if _, most := w.Waiting(); most != 1000 {
			t.Errorf("by default %d may wait", most)
		}
	})
}

func TestOneMoreThanMayWaitIsRefused(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *waitingRoom) {
		first := w.send(t.Context(), time.Minute)
		a := w.arrives(w.send(t.Context(), 90*time.Second), http.StatusTooManyRequests, 0)
		field(t, a.Header(), "Retry-After", "90")
		field(t, a.Header(), "Ratelimit", `"queue";r=0;t=90`)
		a = w.arrives(w.send(t.Context(), 1500*time.Microsecond, "application/grpc"), http.StatusOK, 0)
		field(t, a.Header(), "Grpc-Status", "8")
		field(t, a.Header(), "Grpc-Retry-Pushback-Ms", "2")
		w.arrives(w.send(t.Context(), 0), http.StatusOK, 0)
		w.counts(2, 0, 0, 1)
		w.arrives(first, http.StatusOK, time.Minute)
	})
}

func TestWhoLeavesWhileHeWaits(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, w *waitingRoom) {
		ctx, leave := context.WithCancel(t.Context())
		first := w.send(ctx, time.Hour)
		time.Sleep(time.Minute)
		leave()
		w.arrives(first, http.StatusTooManyRequests, time.Minute) // which nobody hears
		w.counts(0, 0, 1, 0)
		w.arrives(w.send(t.Context(), time.Hour), http.StatusOK, time.Hour)
	})
}

func TestDrainSendsAwayWhoWaits(t *testing.T) {
	inBubble(t, 9, func(t *testing.T, w *waitingRoom) {
		first, second := w.send(t.Context(), time.Hour), w.send(t.Context(), time.Minute)
		w.Drain()
		field(t, w.arrives(first, http.StatusTooManyRequests, 0).Header(), "Retry-After", "3600")
		w.arrives(second, http.StatusTooManyRequests, 0)
		w.arrives(w.send(t.Context(), time.Minute), http.StatusTooManyRequests, 0)
		w.arrives(w.send(t.Context(), 0), http.StatusOK, 0)
		w.counts(0, 3, 0, 0)
	})
}

// Of a connection that is closed while its request waits, nothing reaches the
// upstream; and a server that ends waits for nobody.
func TestNothingOfWhoHasLeftIsSentOn(t *testing.T) {
	reached := make(chan struct{}, 1)
	r := newRig(t, plan{
		upstream: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }),
		decide:   held(time.Hour),
	})
	c := r.dial()
	write(t, c, "GET /x HTTP/1.1\nHost: a\n\n")
	waits := func() bool { now, _ := r.proxy.Waiting(); return now == 1 }
	eventually(t, "it waits", waits)
	_ = c.Close()
	eventually(t, "it has its charge back", func() bool { return r.script.refunds() == 1 })
	if s := r.proxy.Stats(); s != (proxy.Stats{Gone: 1}) || waits() {
		t.Errorf("got %+v", s)
	}

	c = r.dial()
	write(t, c, "GET /x HTTP/1.1\nHost: a\n\n")
	eventually(t, "another one waits", waits)
	r.proxy.Drain()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if res, _ := answerOf(t, bufio.NewReader(c), http.MethodGet); res.StatusCode != http.StatusTooManyRequests || r.script.refunds() != 2 {
		t.Errorf("answered %d, %d charges came back", res.StatusCode, r.script.refunds())
	}
	select {
	case <-reached:
		t.Error("the upstream has seen a request")
	default:
	}
}

func TestMaxWaitingIsChecked(t *testing.T) {
	settings := settingsOf(t, proxy.Options{Demo: true, Decider: &script{}})
	if _, err := proxy.New(proxy.Config{Settings: func() *proxy.Settings { return settings }, MaxWaiting: -1}); err == nil {
		t.Error("a proxy with room for -1 that wait")
	}
}
