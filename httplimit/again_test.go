package httplimit_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
)

// Tests of what becomes of a request between two sendings, and of one that another
// Transport does not send.

// A refusal that was received is the answer where the request is not sent again
// after all: nobody is told that it was not sent.
func TestTransportAnswersWithTheRefusalItHas(t *testing.T) {
	const refusal = "429 + Retry-After: 1"
	f := func(l func(*testing.T) *weir.Limiter, n int, want map[int]int, answers ...string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, answers...)
			u.takes = 100 * ms
			c := u.client(httplimit.TransportConfig{Limiter: l(t), Retries: 2})
			if got := many(t, c, n, "https://api.example/"); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if u.open != 0 {
				t.Errorf("%d answers were left open", u.open)
			}
		})
	}
	f(func(t *testing.T) *weir.Limiter { return limiting(t, "1/h") }, 1, map[int]int{429: 1}, refusal)
	f(failingLater, 1, map[int]int{429: 1}, refusal)

	// Thirty at once are all sent, and all refused. When one of them has got through
	// nothing is left for longer than the others can wait.
	all := append(slices.Repeat([]string{refusal}, 30), `200 + RateLimit: "x";r=0;t=3000`)
	f(func(*testing.T) *weir.Limiter { return nil }, 30, map[int]int{429: 29, 200: 1}, all...)
}

// failingLater is a limiter whose store answers once.
func failingLater(t *testing.T) *weir.Limiter {
	calls := 0
	store := &broken{Store: memory(t), take: func([]weir.Take) error {
		if calls++; calls > 1 {
			return weir.ErrClosed
		}
		return nil
	}}
	l, err := weir.New(store, weir.MustLimit("upstream", "1000/s"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The refusal that is kept is whole, up to a size, and its connection free.
func TestTransportKeepsTheBodyOfARefusal(t *testing.T) {
	f := func(body io.ReadCloser, want string, cut bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			base := tripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: body, Request: r}, nil
			})
			tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, Limiter: limiting(t, "1/h"), Retries: 1})
			if err != nil {
				t.Fatal(err)
			}
			res, err := (&http.Client{Transport: tr}).Get("https://api.example/")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var got strings.Builder
			_, err = io.Copy(&got, res.Body)
			if got.String() != want || (err != nil) != cut {
				t.Errorf("%d bytes, %v; want %d, cut: %t", got.Len(), err, len(want), cut)
			}
		})
	}
	text := func(n int) string { return strings.Repeat("x", n) }
	f(nil, "", false)
	f(http.NoBody, "", false)
	f(io.NopCloser(strings.NewReader(text(16<<10))), text(16<<10), false)
	f(io.NopCloser(strings.NewReader(text(16<<10+1))), text(16<<10), true)
	f(&endlessBody{}, strings.Repeat("\x00", 16<<10), true)
	f(io.NopCloser(io.MultiReader(strings.NewReader("abc"), errReader{})), "abc", true)
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A refusal whose body does not end keeps nobody: the wait for it is short, counts
// towards MaxWait, and leaves no goroutine behind.
func TestTransportDoesNotWaitForBodies(t *testing.T) {
	f := func(limit string, wait time.Duration, status int, times ...time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, "429 + Retry-After-Ms: 300", "")
			stuck := true
			base := tripper(func(r *http.Request) (*http.Response, error) {
				res, err := u.RoundTrip(r)
				if stuck {
					res.Body.Close()
					res.Body = &stuckBody{closed: make(chan struct{})}
				}
				stuck = false
				return res, err
			})
			tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, Limiter: limiting(t, limit), Retries: 1, MaxWait: wait})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			res, err := tr.RoundTrip(getting(t))
			if err != nil || res.StatusCode != status {
				t.Fatalf("%v, %v", res, err)
			}
			if took := time.Since(begun); took > s || took > wait {
				t.Errorf("it took %v", took)
			}
			if _, err := io.ReadAll(res.Body); (err != nil) != (status == 429) {
				t.Errorf("the body: %v", err)
			}
			res.Body.Close()
			u.arrived(times...)
		})
	}
	f("100/s", time.Minute, 200, 0, s)
	f("100/s", 500*ms, 200, 0, 500*ms)
	f("1/h", 500*ms, 429, 0)
	f("1 per 2s", 1500*ms, 429, 0) // of which a second is gone
}

// stuckBody is a body that does not end before it is closed.
type stuckBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *stuckBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.EOF
}

func (b *stuckBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func getting(t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whoever leaves while he waits for the next sending is told that.
func TestTransportTellsWhoHasLeftBeforeTheNextSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 30", "")
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*s, cancel)
		_, err := u.client(httplimit.TransportConfig{Retries: 1}).Do(getting(t).WithContext(ctx))
		if !errors.Is(err, context.Canceled) || time.Since(u.begun) != 5*s {
			t.Errorf("%v after %v", err, time.Since(u.begun))
		}
		u.arrived(0)
	})
}

// Whoever queues behind another is told at once what is certain.
func TestTransportQueueTellsWhatIsCertain(t *testing.T) {
	f := func(answer string, status int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, answer, "")
			c := u.client(httplimit.TransportConfig{})
			ask(t, c, status)
			var first sync.WaitGroup
			first.Go(func() { ask(t, c, 200) })
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), 40*s)
			defer cancel()
			e := do(t, c, 0, getting(t).WithContext(ctx))
			if e == nil || !e.RetryAt.Equal(u.begun.Add(50*s)) || !errors.Is(e, context.DeadlineExceeded) || time.Since(u.begun) != 0 {
				t.Errorf("%v after %v", e, time.Since(u.begun))
			}
			first.Wait()
			u.arrived(0, 50*s)
		})
	}
	f("429 + Retry-After: 50", 429)
	f("200 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 50", 200)
}

// While one goes first, others may wait for its answer who could not wait for as long
// as that may take.
func TestTransportQueueBehindTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 5", "")
		u.takes = 50 * ms
		c := u.client(httplimit.TransportConfig{})
		ask(t, c, 429)
		time.Sleep(5 * s)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { ask(t, c, 200) })
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*ms)
		defer cancel()
		do(t, c, 200, getting(t).WithContext(ctx))
		all.Wait()
		u.arrived(0, 5*s+50*ms, 5*s+100*ms, 5*s+100*ms)
	})
}

// What a Transport behind another does not send costs nothing in either.
func TestTransportsInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 5", "")
		inner, err := httplimit.NewTransport(httplimit.TransportConfig{Base: u, FailFast: true, Limiter: limiting(t, "3/h")})
		if err != nil {
			t.Fatal(err)
		}
		l := limiting(t, "10/h")
		outer, err := httplimit.NewTransport(httplimit.TransportConfig{Base: inner, FailFast: true, Limiter: l})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: outer}
		ask(t, c, 429)
		time.Sleep(5 * s)
		for _, want := range []int{200, 200, 0, 0, 0} {
			ask(t, c, want)
		}
		u.arrived(0, 5*s, 5*s)
		var o weir.Outcome
		if err := l.Peek(t.Context(), &o, 0, weir.Text("host", "api.example")); err != nil || o.Decision().Remaining != 7 {
			t.Errorf("%d of 10 left, %v: 3 were sent", o.Decision().Remaining, err)
		}
	})
}

// The one that was to go first and is not sent by the Transport behind keeps nobody
// waiting.
func TestTransportsInARowKeepNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 5", "")
		unsent := 0
		base := tripper(func(r *http.Request) (*http.Response, error) {
			if len(u.times()) == 1 && unsent < 3 {
				unsent++
				return nil, &httplimit.NotSentError{}
			}
			return u.RoundTrip(r)
		})
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: tr}
		ask(t, c, 429)
		time.Sleep(5 * s)
		for _, want := range []int{0, 0, 0, 200, 200} {
			ask(t, c, want)
		}
		u.arrived(0, 5*s, 5*s)
	})
}
