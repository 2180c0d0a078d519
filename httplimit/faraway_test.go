package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/httplimit"
)

// What the far side says, and when the requests after it arrive: that of the first
// answer, and one that is asked right behind it.
func TestTransportObeys(t *testing.T) {
	// The clock of a bubble begins at midnight, 2000-01-01 UTC: here 946,684,800.
	f := func(answer string, first int, wait time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, answer, "")
			c := u.client(httplimit.TransportConfig{MaxWait: 3 * time.Hour})
			ask(t, c, first)
			ask(t, c, 200)
			if got := u.times()[1]; got != wait {
				t.Errorf("%s: the next arrived after %v, want %v", answer, got, wait)
			}
		})
	}
	f("429 + Retry-After: 5", 429, 5*s)
	f("503 + Retry-After: 5", 503, 5*s)
	f("403 + Retry-After: 5", 403, 5*s)
	f("503", 503, 0)
	f("403", 403, 0)
	f("200 + Retry-After: 5", 200, 0)
	f("301 + Retry-After: 5", 301, 0)
	f("429 + Retry-After: 2.0", 429, 2*s)
	f("429 + Retry-After: 2 + Retry-After: 7", 429, 7*s)
	f("429 + Retry-After: 1 + Retry-After-Ms: 250", 429, 250*ms)
	f("429 + Retry-After: Sat, 01 Jan 2000 00:00:30 GMT", 429, 30*s)                                            // our clock, for want of theirs
	f("429 + Date: Fri, 02 Jan 2032 10:00:00 GMT + Retry-After: Fri, 02 Jan 2032 10:00:07 GMT", 429, 7*s)       // theirs is 32 years ahead
	f("429 + Date: Thu, 01 Jan 1970 00:00:00 GMT + Retry-After: Thu, 01 Jan 1970 00:00:07 GMT", 429, 7*s)       // and behind
	f("429 + Date: Sat, 01 Jan 2000 00:00:00 GMT + Retry-After: Fri, 31 Dec 1999 23:00:00 GMT", 429, 1*s)       // over: it says nothing
	f("429 + Retry-After: 0", 429, 1*s)                                                                         // rounded down by whoever wrote it
	f("429 + Retry-After: soon", 429, 1*s)                                                                      // malformed: as if absent
	f("429 + Retry-After: -5", 429, 1*s)                                                                        // likewise
	f("429 + Retry-After: 99999999999999999999", 429, time.Hour)                                                // absurd
	f("429 + Retry-After: 1796017526", 429, time.Hour)                                                          // 57 years, or a time since 1970
	f("429 + Date: Sat, 01 Jan 2000 00:00:00 GMT + Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", 429, time.Hour) // the end of times

	// RateLimit, and what it was before.
	f(`200 + RateLimit: "hour";r=0;t=12 + RateLimit-Policy: "hour";q=1000;w=3600`, 200, 12*s)
	f(`200 + RateLimit: "burst";r=3;t=1, "hour";r=0;t=12`, 200, 12*s)
	f(`200 + RateLimit: "burst";r=0;t=1, "hour";r=0;t=12`, 200, 12*s)
	f(`200 + RateLimit: "burst";r=0;t=1 + RateLimit: "hour";r=7;t=12`, 200, 1*s)
	f(`200 + RateLimit: "hour";r=5;t=12`, 200, 0)
	f(`200 + RateLimit: "x"; r=0; t=10`, 200, 10*s)                                         // with spaces
	f(`200 + RateLimit: "x";r=0;t=10;pk=:cHsdsRa894==:;acme="q";on;n=1.5`, 200, 10*s)       // what else may stand there
	f(`200 + RateLimit: "hour";r=0 + RateLimit-Policy: "hour";q=1;w=60`, 200, 60*s)         // no t: not longer than the window
	f(`200 + RateLimit: "hour";r=0 + RateLimit-Policy: "minute";q=1;w=60`, 200, 0)          // nothing known
	f(`200 + RateLimit: "hour";r=0;t=12,`, 200, 0)                                          // malformed: ignored as a whole
	f(`200 + RateLimit: "hour";r=0;t=12, hour`, 200, 0)                                     // likewise
	f(`200 + RateLimit: "hour";r=0;t=9999999`, 200, time.Hour)                              // absurd
	f(`200 + RateLimit: "hour";a=0;w=12`, 200, 12*s)                                        // what may come
	f("200 + RateLimit: limit=100, remaining=0, reset=5", 200, 5*s)                         // revision 07
	f("200 + RateLimit-Limit: 100 + RateLimit-Remaining: 0 + RateLimit-Reset: 5", 200, 5*s) // 00 to 06
	f(`200 + RateLimit: "bytes";r=0;t=12 + RateLimit-Policy: "bytes";q=9;qu="content-bytes"`, 200, 12*s)
	f(`200 + RateLimit: "slots";r=0;t=12 + RateLimit-Policy: "slots";q=9;qu="concurrent-requests"`, 200, 0)
	f(`200 + Age: 5 + RateLimit: "hour";r=0;t=12 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 9`, 200, 0)          // of a cache
	f(`200 + RateLimit: "hour";r=0;t=12 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 90`, 200, 12*s)               // the same again, less well
	f(`200 + RateLimit: "hour";r=0;t=12 + X-RateLimit-Remaining-Tokens: 0 + X-RateLimit-Reset-Tokens: 90`, 200, 90*s) // of tokens
	f(`200 + RateLimit: "hour";r=1;t=12 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 90`, 200, 90*s)               // another
	f(`200 + Age: 0 + RateLimit: "hour";r=0;t=12`, 200, 12*s)

	// Its kin.
	f("200 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 30", 200, 30*s)
	f("200 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 946684860 + Date: Sat, 01 Jan 2000 00:00:00 GMT", 200, time.Hour) // a span: it is below 10⁹
	f("200 + Date: Mon, 30 Nov 2026 12:00:00 GMT + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 1796040060", 200, 61*s)     // GitHub's
	f("200 + Date: Mon, 30 Nov 2026 12:00:00 GMT + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 1796040060000", 200, 61*s)  // in milliseconds
	f("200 + Date: Mon, 30 Nov 2026 12:00:00 GMT + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 1796040003.25", 200, 3250*ms)
	f("200 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 2000-01-01T00:00:09Z", 200, 10*s)
	f("200 + X-Rate-Limit-Remaining: 0 + X-Rate-Limit-Reset: Sat, 01 Jan 2000 00:00:09 GMT", 200, 10*s)
	f("200 + X-RateLimit-Remaining-Requests: 0 + X-RateLimit-Reset-Requests: 6m0s", 200, 6*time.Minute)
	f("200 + X-RateLimit-Remaining-Tokens: 0 + X-RateLimit-Reset-Tokens: 20ms", 200, 20*ms)
	f("200 + X-RateLimit-Remaining: -1 + X-RateLimit-Reset: 30", 200, 0) // no limit, or no number: nothing is said
	f("200 + X-RateLimit-Remaining: 0, 5 + X-RateLimit-Reset: 30", 200, 0)
	f("200 + X-RateLimit-Remaining: 0 + X-RateLimit-Remaining: 9 + X-RateLimit-Reset: 30 + X-RateLimit-Reset: 60", 200, 30*s)
	f("200 + X-RateLimit-Remaining: 0", 200, 0)
	f("200 + X-RateLimit-Reset: 30", 200, 0)

	// A refusal without Retry-After, and one with it: that goes before all else.
	f(`429 + RateLimit: "hour";r=0;t=12`, 429, 12*s)
	f(`429 + RateLimit: "hour";r=0;t=12 + Retry-After: 3`, 429, 3*s)
	f(`429 + RateLimit: "hour";r=4;t=12`, 429, 12*s)
	f("429 + X-RateLimit-Reset: 30", 429, 30*s)
	f("403 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 30", 403, 30*s)
	f("403 + X-RateLimit-Remaining: 1 + X-RateLimit-Reset: 30", 403, 0)
	f("429", 429, 1*s)
}

// Nothing is sent for longer than an answer asks, however many pauses follow.
func TestTransportIsRefusedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429", "429", "429", "", "429", "")
		c := u.client(httplimit.TransportConfig{})
		for _, want := range []int{429, 429, 429, 200, 429, 200} {
			ask(t, c, want)
		}
		u.arrived(0, 1*s, 3*s, 7*s, 7*s, 8*s)
	})
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429")
		c := u.client(httplimit.TransportConfig{MaxWait: time.Hour})
		for range 12 {
			ask(t, c, 429)
		}
		times := u.times()
		if last := times[11] - times[10]; last != 64*s {
			t.Errorf("the longest pause is %v", last)
		}
	})
}

// Whoever wants no pause is kept back by nothing, however many ask at once.
func TestTransportListensToNobodyWhereToldSo(t *testing.T) {
	for _, answer := range []string{"429 + Retry-After: 3600", "429", "200 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 3600"} {
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, answer)
			u.takes = 500 * ms
			c := u.client(httplimit.TransportConfig{MaxPause: 1})
			many(t, c, 1, "https://api.example/")
			many(t, c, 50, "https://api.example/")
			u.arrived(append(durations(1, 0), durations(50, 500*ms)...)...)
		})
	}
}

func TestTransportSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 90", "")
		c := u.client(httplimit.TransportConfig{})
		ask(t, c, 429)
		e := ask(t, c, 0)
		if e == nil || !e.RetryAt.Equal(u.begun.Add(90*s)) || e.Limit != nil ||
			!strings.Contains(e.Error(), "the far side wants no more for 1m30s; that is longer than MaxWait") {
			t.Fatalf("%v", e)
		}
		time.Sleep(time.Until(e.RetryAt))
		ask(t, c, 200)
		u.arrived(0, 90*s)
	})
}

// many asks n times at once, and gives how many were answered so.
func many(t *testing.T, c *http.Client, n int, url string) map[int]int {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range n {
		all.Go(func() {
			res, err := c.Get(url)
			status := 0
			if err == nil {
				status = res.StatusCode
				res.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	all.Wait()
	return got
}

// No more are sent than are left, those counted that are under way.
func TestTransportSharesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "200 + X-RateLimit-Remaining: 3 + X-RateLimit-Reset: 30", "200")
		u.takes = 50 * ms
		c := u.client(httplimit.TransportConfig{})
		ask(t, c, 200)
		if got := many(t, c, 20, "https://api.example/"); got[200] != 20 {
			t.Errorf("%v", got)
		}
		// Three at once; thirty seconds after the first answer one goes first, and
		// the others once it is answered.
		want := append(durations(1, 0), durations(3, 50*ms)...)
		want = append(want, durations(1, 30*s+50*ms)...)
		want = append(want, durations(16, 30*s+100*ms)...)
		u.arrived(want...)
	})
}

// What a longer window has said holds when a shorter one is over.
func TestTransportKeepsWindowsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, `200 + RateLimit: "second";r=4;t=1, "hour";r=5;t=3600`, "200")
		c := u.client(httplimit.TransportConfig{})
		ask(t, c, 200)
		time.Sleep(2 * s)
		if got := many(t, c, 100, "https://api.example/"); got[200] != 5 || got[0] != 95 {
			t.Errorf("%v, want the 5 that are left for an hour", got)
		}
	})
}

func durations(n int, d time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

// A window as many APIs have it: it is never asked for more than it has, though
// nobody is told beforehand, and answers come in any order.
func TestTransportIsNeverRefusedByAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &window{begun: time.Now(), size: 10, period: 60 * s}
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: w, MaxWait: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		c := &http.Client{Transport: tr}
		ask(t, c, 200)
		if got := many(t, c, 99, "https://api.example/"); got[200] != 99 || w.refused > 0 {
			t.Errorf("%v, %d refused", got, w.refused)
		}
		if took := time.Since(w.begun); took > 11*60*s {
			t.Errorf("100 requests took %v", took)
		}
	})
}

// window is a far side that lets size requests pass in each period. Every third
// answer takes its time.
type window struct {
	begun  time.Time
	size   int
	period time.Duration

	mu      sync.Mutex
	ends    time.Duration // of the window, since it began to serve
	count   int
	total   int
	refused int
}

func (w *window) RoundTrip(r *http.Request) (*http.Response, error) {
	status, header, slow := w.decide()
	time.Sleep(slow)
	return &http.Response{StatusCode: status, Header: header, Body: http.NoBody, Request: r}, nil
}

func (w *window) decide() (status int, h http.Header, slow time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone := time.Since(w.begun)
	for w.ends <= gone {
		w.ends, w.count = w.ends+w.period, 0
	}
	w.total++
	w.count++
	status = http.StatusOK
	if w.count > w.size {
		w.refused++
		status = http.StatusTooManyRequests
	}
	rest := w.ends - gone
	h = http.Header{}
	h.Set("RateLimit", fmt.Sprintf(`"w";r=%d;t=%d`, max(0, w.size-w.count), (rest+s-1)/s))
	return status, h, time.Duration(w.total%3) * 70 * ms
}

// Retries. A refusal is asked again when it may be, and only where that is safe.
func TestTransportSendsAgain(t *testing.T) {
	const refusal = "429 + Retry-After: 2"
	f := func(retries int, want int, method string, body any, answers []string, times ...time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			u := newUpstream(t, answers...)
			c := u.client(httplimit.TransportConfig{Retries: retries})
			var reader io.Reader
			switch b := body.(type) {
			case string:
				reader = strings.NewReader(b) // net/http knows how to get it again
			case io.Reader:
				reader = b
			}
			r, err := http.NewRequestWithContext(t.Context(), strings.Fields(method)[0], "https://api.example/", reader)
			if err != nil {
				t.Fatal(err)
			}
			if _, key, ok := strings.Cut(method, " "); ok {
				r.Header.Set(key, "1")
			}
			do(t, c, want, r)
			u.arrived(times...)
			for _, sent := range u.sent {
				if text, ok := body.(string); ok && sent.body != text {
					t.Errorf("the body was %q, want %q", sent.body, text)
				}
			}
			if u.open != 0 || u.unread != 0 {
				t.Errorf("%d answers were left open, %d bytes unread", u.open, u.unread)
			}
		})
	}
	twice := []string{refusal, refusal, ""}
	f(0, 429, "GET", nil, twice, 0)
	f(1, 429, "GET", nil, twice, 0, 2*s)
	f(2, 200, "GET", nil, twice, 0, 2*s, 4*s)
	f(9, 200, "GET", nil, twice, 0, 2*s, 4*s)
	f(2, 200, "PUT", "body", twice, 0, 2*s, 4*s)
	f(2, 200, "DELETE", nil, twice, 0, 2*s, 4*s)
	f(2, 200, "GET", http.NoBody, twice, 0, 2*s, 4*s)
	f(2, 429, "POST", "body", twice, 0)
	f(2, 429, "PATCH", nil, twice, 0)
	f(2, 200, "POST Idempotency-Key", "body", twice, 0, 2*s, 4*s)
	f(2, 200, "POST X-Idempotency-Key", nil, twice, 0, 2*s, 4*s)
	f(2, 429, "PUT", struct{ io.Reader }{strings.NewReader("once")}, twice, 0) // nobody can get it again
	f(2, 200, "GET", nil, []string{"503 + Retry-After: 2", ""}, 0, 2*s)
	f(2, 503, "GET", nil, []string{"503", ""}, 0) // no refusal: it says nothing of coming back
	f(2, 200, "GET", nil, []string{"403 + X-RateLimit-Remaining: 0 + X-RateLimit-Reset: 3", ""}, 0, 3*s)
	f(2, 403, "GET", nil, []string{"403", ""}, 0)
	f(2, 200, "GET", nil, []string{"429", "429", ""}, 0, 1*s, 3*s)
	f(2, 429, "GET", nil, []string{"429 + Retry-After: 61", ""}, 0) // longer than MaxWait: told at once
	f(2, 429, "GET", nil, []string{"429 + Retry-After: 40", "429 + Retry-After: 40", ""}, 0, 40*s)
}

// A request that is sent again is one more under the limit of one's own.
func TestTransportChargesEachSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 2", "")
		c := u.client(httplimit.TransportConfig{Limiter: limiting(t, "1 per 10s"), Retries: 1})
		ask(t, c, 200)
		u.arrived(0, 10*s)
	})
}

// A body that cannot be had again leaves the refusal as the answer.
func TestTransportBodyThatCannotBeHadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUpstream(t, "429 + Retry-After: 2", "")
		c := u.client(httplimit.TransportConfig{Retries: 1})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://api.example/", strings.NewReader("x"))
		r.GetBody = func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }
		do(t, c, 429, r)
		u.arrived(0)
	})
}

// The answer's body that nobody gets may be endless.
func TestTransportDoesNotReadForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		endless := &endlessBody{}
		first := true
		base := tripper(func(r *http.Request) (*http.Response, error) {
			res := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"1"}}, Body: endless, Request: r}
			if !first {
				res.StatusCode, res.Body = 200, http.NoBody
			}
			first = false
			return res, nil
		})
		tr, err := httplimit.NewTransport(httplimit.TransportConfig{Base: base, Retries: 1})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, &http.Client{Transport: tr}, 200)
		if !endless.closed || endless.read > 64<<10 {
			t.Errorf("%d bytes read, closed: %t", endless.read, endless.closed)
		}
	})
}

type endlessBody struct {
	read   int
	closed bool
}

func (b *endlessBody) Read(p []byte) (int, error) {
	b.read += len(p)
	return len(p), nil
}

func (b *endlessBody) Close() error {
	b.closed = true
	return nil
}
