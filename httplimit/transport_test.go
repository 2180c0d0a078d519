package httplimit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/httplimit"
	"github.com/weirhq/weir/memstore"
)

// upstream is a far side in memory. It answers the n-th request with the n-th of its
// answers, and the last one again and again. An answer is a status and the lines of
// its header, such as "429 + Retry-After: 5"; "" is 200.
type upstream struct {
	t     *testing.T
	begun time.Time
	takes time.Duration // until a request is answered

	mu      sync.Mutex
	answers []string
	sent    []sending
	open    int // bodies of answers that were not closed
	unread  int // bytes of closed ones that nobody read
}

// sending is one request that arrived.
type sending struct {
	at   time.Duration // since the far side was made
	host string
	body string
}

func newUpstream(t *testing.T, answers ...string) *upstream {
	return &upstream{t: t, begun: time.Now(), answers: answers}
}

func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(b)
		r.Body.Close()
	}
	answer := u.take(sending{time.Since(u.begun), r.URL.Host, body})
	if u.takes > 0 {
		time.Sleep(u.takes)
	}
	return u.response(r, answer), nil
}

func (u *upstream) take(s sending) (answer string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent = append(u.sent, s)
	if len(u.answers) == 0 {
		return ""
	}
	answer = u.answers[0]
	if len(u.answers) > 1 {
		u.answers = u.answers[1:]
	}
	return answer
}

func (u *upstream) response(r *http.Request, answer string) *http.Response {
	parts := strings.Split(answer, " + ")
	status := http.StatusOK
	if answer != "" {
		fmt.Sscan(parts[0], &status)
	}
	h := make(http.Header)
	for _, line := range parts[1:] {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	u.mu.Lock()
	u.open++
	u.mu.Unlock()
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: h, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Body: &answerBody{Reader: strings.NewReader("an answer"), upstream: u}, ContentLength: -1,
	}
}

type answerBody struct {
	*strings.Reader
	upstream *upstream
}

func (b *answerBody) Close() error {
	b.upstream.mu.Lock()
	defer b.upstream.mu.Unlock()
	b.upstream.open--
	b.upstream.unread += b.Len()
	return nil
}

// times are those of the requests that arrived.
func (u *upstream) times() []time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []time.Duration
	for _, s := range u.sent {
		all = append(all, s.at)
	}
	return all
}

// arrived checks when requests arrived.
func (u *upstream) arrived(want ...time.Duration) {
	u.t.Helper()
	if got := u.times(); fmt.Sprint(got) != fmt.Sprint(want) {
		u.t.Errorf("requests arrived at %v, want %v", got, want)
	}
}

// client makes a client behind a Transport to u.
func (u *upstream) client(c httplimit.TransportConfig) *http.Client {
	u.t.Helper()
	c.Base = u
	t, err := httplimit.NewTransport(c)
	if err != nil {
		u.t.Fatal(err)
	}
	return &http.Client{Transport: t}
}

// ask gets a URL and wants a status, or none where the request is not to be sent.
func ask(t *testing.T, c *http.Client, want int) *httplimit.NotSentError {
	t.Helper()
	return askFor(t, c, want, "https://api.example/")
}

func askFor(t *testing.T, c *http.Client, want int, url string) *httplimit.NotSentError {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, c, want, r)
}

func do(t *testing.T, c *http.Client, want int, r *http.Request) *httplimit.NotSentError {
	t.Helper()
	res, err := c.Do(r)
	if err == nil {
		defer res.Body.Close()
		if _, err := io.ReadAll(res.Body); err != nil {
			t.Error(err)
		}
		if res.StatusCode != want {
			t.Errorf("%d, want %d", res.StatusCode, want)
		}
		return nil
	}
	var notSent *httplimit.NotSentError
	if want != 0 || !errors.As(err, &notSent) {
		t.Errorf("%v, want %d", err, want)
	}
	return notSent
}

// limiting makes a limiter on a store of its own.
func limiting(t *testing.T, text string) *weir.Limiter {
	t.Helper()
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	l, err := weir.New(store, weir.MustLimit("upstream", text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const s, ms = time.Second, time.Millisecond

func TestTransportKeepsUnderALimitOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "10/s burst 2")})
		for range 5 {
			ask(t, c, 200)
		}
		u.arrived(0, 0, 100*ms, 200*ms, 300*ms)
	})
}

func TestTransportWaitsNoLongerThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		begun := time.Now()
		f := func(c httplimit.TransportConfig, ctx context.Context, want string) *httplimit.NotSentError {
			t.Helper()
			c.Limiter = limiting(t, "1 per 10s")
			client := u.client(c)
			ask(t, client, 200)
			begun = time.Now()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
			if err != nil {
				t.Fatal(err)
			}
			e := do(t, client, 0, r)
			if e == nil {
				t.Fatal("it was sent")
			}
			if !e.RetryAt.Equal(begun.Add(10*s)) || e.Limit.Name() != "upstream" || !strings.Contains(e.Error(), want) {
				t.Errorf("%v, limit %v, try again at %v, want %q in 10s", e, e.Limit, e.RetryAt.Sub(begun), want)
			}
			if time.Since(begun) != 0 {
				t.Errorf("it waited for %v", time.Since(begun))
			}
			return e
		}
		f(httplimit.TransportConfig{FailFast: true}, t.Context(), "limit upstream (1 per 10s) has room in 10s; FailFast")
		f(httplimit.TransportConfig{MaxWait: 10*s - 1}, t.Context(), "MaxWait")

		ctx, cancel := context.WithTimeout(t.Context(), 10*s)
		defer cancel()
		if e := f(httplimit.TransportConfig{}, ctx, "deadline"); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("%v is no context.DeadlineExceeded", e)
		}
		u.arrived(0, 0, 0)
	})
}

func TestTransportWaitsAsLongAsItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1 per 10s"), MaxWait: 10 * s})
		c.Timeout = 10*s + 1
		ask(t, c, 200)
		ask(t, c, 200)
		u.arrived(0, 10*s)
	})
}

// Each wait counts towards MaxWait: those for a turn, for the far side, and for room.
func TestTransportWaitsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 4", "")
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1 per 10s"), MaxWait: 9 * s})
		ask(t, c, 429)
		e := ask(t, c, 0)
		if e == nil || !e.RetryAt.Equal(u.begun.Add(10*s)) {
			t.Errorf("%v", e)
		}
		if waited := time.Since(u.begun); waited != 4*s {
			t.Errorf("it waited for %v: 4s for the far side, and then 6s more were to come", waited)
		}
	})
}

func TestTransportGivesTheChargeBackWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		l := limiting(t, "3/h")
		c := u.client(httplimit.TransportConfig{Limiter: l, Key: func(*http.Request) weir.Part { return weir.Text("user", "42") }})
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("no longer wanted")
		cancel(why)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
		if _, err := c.Do(r); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		u.arrived()
		var o weir.Outcome
		if err := l.Peek(t.Context(), &o, 0, weir.Text("user", "42")); err != nil || o.Decision().Remaining != 3 {
			t.Errorf("%d of 3 left, %v", o.Decision().Remaining, err)
		}

		// While it waits for room, nothing is charged.
		for range 3 {
			ask(t, c, 200)
		}
		ctx, cancel = context.WithCancelCause(t.Context())
		r, _ = http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
		c = u.client(httplimit.TransportConfig{Limiter: l, MaxWait: time.Hour, Key: func(*http.Request) weir.Part { return weir.Text("user", "42") }})
		go func() {
			time.Sleep(5 * s)
			cancel(why)
		}()
		if _, err := c.Do(r); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		if waited := time.Since(u.begun); waited != 5*s {
			t.Errorf("it ended after %v", waited)
		}
		time.Sleep(20*time.Minute - 5*s)
		ask(t, c, 200)
		u.arrived(0, 0, 0, 20*time.Minute)
	})
}

// One whose context has ended is told that, also where it would have waited too long.
func TestTransportTellsWhoHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: newUpstream(t, "429 + Retry-After: 3600")})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, &http.Client{Transport: tr}, 429)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
		if _, err := tr.RoundTrip(r); !errors.Is(err, context.Canceled) || errors.As(err, new(*httplimit.NotSentError)) {
			t.Errorf("%v", err)
		}
	})
}

func TestTransportClosesBodiesThatItDoesNotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1/h"), FailFast: true})
		ask(t, c, 200)
		body := &closing{Reader: strings.NewReader("x")}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example/", body)
		do(t, c, 0, r)
		if !body.closed {
			t.Error("the request's body was left open")
		}
		body = &closing{Reader: strings.NewReader("x")}
		r, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.example/", body)
		if _, err := new(httplimit.Transport).RoundTrip(r); !errors.Is(err, weir.ErrInvalid) || !body.closed {
			t.Errorf("the zero Transport: %v, body closed: %t", err, body.closed)
		}
	})
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// What a store says when it fails reaches the caller, and nothing is sent.
func TestTransportFailsClosed(t *testing.T) {
	store := memory(t)
	l, err := weir.New(store, weir.MustLimit("upstream", "1/h"))
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	u := newUpstream(t)
	c := u.client(httplimit.TransportConfig{Limiter: l})
	e := ask(t, c, 0)
	if !errors.Is(e, weir.ErrClosed) || !e.RetryAt.IsZero() {
		t.Errorf("%v, %v", e, e.RetryAt)
	}
	if l, err = weir.New(memory(t), weir.MustLimit("upstream", "deny")); err != nil {
		t.Fatal(err)
	}
	e = ask(t, u.client(httplimit.TransportConfig{Limiter: l}), 0)
	if e == nil || !strings.Contains(e.Error(), "deny") || !e.RetryAt.IsZero() {
		t.Errorf("%v", e)
	}
	u.arrived()
}

func TestTransportKeysAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1/h"), FailFast: true})
		askFor(t, c, 200, "https://api.example/")
		askFor(t, c, 0, "https://API.example.:443/v1")
		askFor(t, c, 200, "https://api.example:8443/")
		askFor(t, c, 200, "https://other.example/")

		u.answers = []string{"429 + Retry-After: 60", ""}
		c = u.client(httplimit.TransportConfig{FailFast: true, Key: func(r *http.Request) weir.Part {
			return weir.Text("tenant", r.URL.Query().Get("tenant"))
		}})
		askFor(t, c, 429, "https://a.example/?tenant=1")
		askFor(t, c, 0, "https://b.example/?tenant=1")
		askFor(t, c, 200, "https://a.example/?tenant=2")
	})
}

// Whoever came first is sent first, however many wait.
func TestTransportKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1/s"), Key: func(*http.Request) weir.Part { return weir.Text("all", "") }})
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() { askFor(t, c, 200, fmt.Sprintf("https://%d.example/", i)) })
			synctest.Wait()
		}
		all.Wait()
		for i, sent := range u.sent {
			if sent.host != fmt.Sprintf("%d.example", i) || sent.at != time.Duration(i)*s {
				t.Errorf("request %d: %s at %v", i, sent.host, sent.at)
			}
		}
		if len(u.sent) != 30 {
			t.Errorf("%d were sent", len(u.sent))
		}
	})
}

// Whoever is too far behind others is told as soon as that is certain.
func TestTransportQueueIsNoTrap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1 per 10s"), MaxWait: 25 * s})
		ask(t, c, 200)
		var all sync.WaitGroup
		var mu sync.Mutex
		failed := 0
		for range 5 {
			all.Go(func() {
				r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/", nil)
				res, err := c.Do(r)
				if err == nil {
					res.Body.Close()
					return
				}
				mu.Lock()
				defer mu.Unlock()
				failed++
				if e := (*httplimit.NotSentError)(nil); !errors.As(err, &e) || e.RetryAt.IsZero() {
					t.Error(err)
				}
			})
		}
		all.Wait()
		u.arrived(0, 10*s, 20*s)
		if failed != 3 || time.Since(u.begun) != 20*s {
			t.Errorf("%d failed after %v", failed, time.Since(u.begun))
		}
	})
}

// A store that takes its time keeps nobody for longer than MaxWait.
func TestTransportQueueBehindASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		slow := &broken{Store: store, take: func([]weir.Take) error {
			time.Sleep(30 * s)
			return nil
		}}
		l, err := weir.New(slow, weir.MustLimit("upstream", "1000/s"))
		if err != nil {
			t.Fatal(err)
		}
		u := newUpstream(t)
		c := u.client(httplimit.TransportConfig{Limiter: l, MaxWait: 10 * s})
		var all sync.WaitGroup
		all.Go(func() { ask(t, c, 200) })
		synctest.Wait()
		e := ask(t, c, 0)
		if waited := time.Since(u.begun); waited != 10*s || e == nil || !e.RetryAt.Equal(time.Now()) || !strings.Contains(e.Error(), "others went before it") {
			t.Errorf("%v after %v", e, waited)
		}
		all.Wait()
		u.arrived(30 * s)
	})
}

func TestNewTransportSaysAllThatIsWrong(t *testing.T) {
	_, err := httplimit.NewTransport(httplimit.TransportConfig{MaxWait: -1, MaxPause: -1, Retries: 11, FailFast: true})
	for _, want := range []string{"MaxWait -1ns", "MaxPause -1ns", "Retries 11: outside", "Retries 11: a request is sent again"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err = httplimit.NewTransport(httplimit.TransportConfig{MaxWait: 1, FailFast: true})
	if err == nil || !errors.Is(err, weir.ErrInvalid) {
		t.Error(err)
	}
	_, err = httplimit.NewTransport(httplimit.TransportConfig{Retries: -1})
	if err == nil {
		t.Error("-1 retries")
	}
	if _, err = httplimit.NewTransport(httplimit.TransportConfig{}); err != nil {
		t.Error(err)
	}
	_, err = httplimit.NewTransport(httplimit.TransportConfig{Retries: 11, Limiter: limiting(t, "5 concurrent")})
	for _, want := range []string{"Limiter 5 concurrent: a Transport does not know when", "Retries 11"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestTransportPassesCloseIdleConnectionsOn(t *testing.T) {
	base := &idle{}
	tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base})
	if err != nil {
		t.Fatal(err)
	}
	(&http.Client{Transport: tr}).CloseIdleConnections()
	if base.closed != 1 {
		t.Errorf("%d times", base.closed)
	}
	u := newUpstream(t)
	u.client(httplimit.TransportConfig{}).CloseIdleConnections() // it has none
}

// A panic of the base leaves nothing behind: the next request goes.
func TestTransportOutlivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		base := tripper(func(r *http.Request) (*http.Response, error) {
			if fail {
				panic("base")
			}
			return newUpstream(t).RoundTrip(r)
		})
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, MaxWait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: tr}
		func() {
			defer func() { recover() }()
			ask(t, c, 200)
		}()
		fail = false
		ask(t, c, 200)
	})
}

type tripper func(r *http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
