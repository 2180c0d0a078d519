package header

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

func TestWriteAllowed(t *testing.T) {
	same(t, written(writer(t, Config{}), allowed(t)), `
Ratelimit: "create-job";r=4;t=1
Ratelimit-Policy: "create-job";q=5;w=1
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4
X-Ratelimit-Reset: 1`)
}

func TestWriteRefused(t *testing.T) {
	same(t, written(writer(t, Config{}), refused(t)), `
Ratelimit: "create-job";r=0;t=1
Ratelimit-Policy: "create-job";q=5;w=1
Retry-After: 1
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 1`)
}

func TestWriteThreeLimits(t *testing.T) {
	same(t, written(writer(t, Config{}), threeLimits(t)), `
Ratelimit: "api/1s";r=19;t=2, "api/1h";r=731;t=2632, "api/1d";r=3000;t=40000
Ratelimit-Policy: "api/1s";q=10;w=1;weir-burst=20, "api/1h";q=1000;w=3600, "api/1d";q=5000;w=86400
X-Ratelimit-Limit: 5000
X-Ratelimit-Remaining: 3000
X-Ratelimit-Reset: 40000`)
}

// Sixteen limits of the longest names outgrow the buffer on the stack.
func TestWriteManyLimits(t *testing.T) {
	var legs []leg
	for i := range weir.MaxTakes {
		name := "a-rule-with-a-name-of-full-lengt" + "/" + "a-slot-with-a-name-of-full-leng" + string(rune('a'+i))
		legs = append(legs, leg{limit: name, text: "5/s burst 50", d: weir.Decision{Allowed: true, Remaining: 49}})
	}
	h := make(http.Header)
	writer(t, Config{}).Write(h, decide(t, legs...))
	for _, key := range []string{keyRateLimit, keyPolicy} {
		items, err := sfList(h[key])
		if err != nil || len(items) != weir.MaxTakes || items[15].value != legs[15].limit {
			t.Errorf("%s: %v, %v", key, items, err)
		}
	}
}

// Of slots X-RateLimit tells nothing: who reads it would wait for what his own request
// frees when it is answered.
func TestWriteSlots(t *testing.T) {
	slots := leg{limit: "exports/slots", text: "2 concurrent", d: weir.Decision{Allowed: true, Remaining: 0, ResetAfter: 60 * second}}
	same(t, written(writer(t, Config{}), decide(t, slots)), `
Ratelimit: "exports/slots";r=0
Ratelimit-Policy: "exports/slots";q=2;qu="concurrent-requests"`)

	minute := leg{limit: "exports/1m", text: "50/min", d: weir.Decision{Allowed: true, Remaining: 30, ResetAfter: 24 * second}}
	hour := leg{limit: "exports/1h", text: "100/h fixed-window", d: weir.Decision{Allowed: true, Remaining: 40, ResetAfter: 900 * second}}
	want := `
X-Ratelimit-Limit: 100
X-Ratelimit-Remaining: 40
X-Ratelimit-Reset: 900`
	no := Config{NoRateLimit: true}
	same(t, written(writer(t, no), decide(t, slots, minute, hour)), want)
	same(t, written(writer(t, no), decide(t, hour, minute, slots)), want)
	slots.d = weir.Decision{RetryAfter: 60 * second, ResetAfter: 60 * second}
	same(t, written(writer(t, no), decide(t, minute, slots, hour)), "Retry-After: 60"+want)
	slots.d = weir.Decision{Allowed: true, Remaining: 1, ResetAfter: 60 * second}
	same(t, written(writer(t, no), decide(t, slots, hour, minute)), want) // they have more left than the hour
	minute.d.Remaining = 10
	same(t, written(writer(t, no), decide(t, slots, hour, minute)), `
X-Ratelimit-Limit: 50
X-Ratelimit-Remaining: 10
X-Ratelimit-Reset: 24`)
}

func TestWriteFamilies(t *testing.T) {
	f := func(c Config, want string) {
		t.Helper()
		same(t, written(writer(t, c), allowed(t)), want)
	}
	f(Config{NoRateLimit: true}, `
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4
X-Ratelimit-Reset: 1`)
	f(Config{NoLegacy: true, Debug: true}, `
Ratelimit: "create-job";r=4;t=1
Ratelimit-Policy: "create-job";q=5;w=1
X-Weir-Decided: 1796025966123456`)
	f(Config{NoRateLimit: true, NoLegacy: true}, "")
	// 1796025966.123456 + 0.2 s, rounded up.
	f(Config{NoRateLimit: true, EpochReset: true}, `
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4
X-Ratelimit-Reset: 1796025967`)
}

func TestWriteNothing(t *testing.T) {
	f := func(name string, o *weir.Outcome, want string) {
		t.Helper()
		same(t, written(writer(t, Config{Debug: true}), o), want)
	}
	pass := new(weir.Outcome)
	pass.Pass()
	f("pass", pass, "")
	f("zero", new(weir.Outcome), "Retry-After: 1") // refused, and empty
	f("deny", failed(weir.ByDeny, nil), "")
	f("open", &weir.Outcome{Cause: weir.ByFault, Allowed: true, Binding: -1}, "")
	f("undecided", &weir.Outcome{Binding: -1, Takes: allowed(t).Takes, Decisions: make([]weir.Decision, 1)}, "Retry-After: 1")
	cause := allowed(t)
	cause.Cause, cause.Stamp = weir.ByFault, weir.Stamp{}
	f("decided by no limit", cause, "")
	f("takes without decisions", &weir.Outcome{Allowed: true, Takes: allowed(t).Takes}, "")

	pass.Stamp.Now = now // asked, and then no rule of it counted
	f("pass with a stamp", pass, "X-Weir-Decided: 1796025966123456")
}

// What only advises, or stands alone, cannot refuse the call and is not told.
func TestWriteLeavesShadowOut(t *testing.T) {
	o := decide(t,
		leg{limit: "trial", text: "1/s", join: weir.Advise, d: weir.Decision{RetryAfter: 900_000}},
		leg{limit: "create-job", text: "5/s", d: weir.Decision{Allowed: true, Remaining: 4, ResetAfter: 200_000}},
		leg{limit: "other", text: "1/s", join: weir.Alone, d: weir.Decision{RetryAfter: 900_000}},
	)
	want := written(writer(t, Config{}), allowed(t))
	same(t, written(writer(t, Config{}), o), want)

	alone := decide(t, leg{limit: "trial", text: "1/s", join: weir.Advise, d: weir.Decision{Allowed: true}})
	same(t, written(writer(t, Config{}), alone), "")
}

// One limit under two keys is one member: the one that binds more.
func TestWriteNamesALimitOnce(t *testing.T) {
	f := func(a, b weir.Decision, want string) {
		t.Helper()
		for _, legs := range [][2]weir.Decision{{a, b}, {b, a}} {
			o := decide(t, leg{limit: "api", text: "9/min", d: legs[0]}, leg{limit: "api", text: "9/min", d: legs[1]})
			h := make(http.Header)
			writer(t, Config{}).Write(h, o)
			if got := h.Get("RateLimit"); got != want || h.Get("RateLimit-Policy") != `"api";q=9;w=60` {
				t.Errorf("got %s, %s, want %s", got, h.Get("RateLimit-Policy"), want)
			}
		}
	}
	f(weir.Decision{Allowed: true, Remaining: 3}, weir.Decision{Allowed: true, Remaining: 6}, `"api";r=3;t=20`)
	f(weir.Decision{Allowed: true, Remaining: 1}, weir.Decision{RetryAfter: second}, `"api";r=0;t=1`)
	f(weir.Decision{RetryAfter: 2 * second}, weir.Decision{RetryAfter: second}, `"api";r=0;t=2`)
	f(weir.Decision{RetryAfter: 2 * second}, weir.Decision{Never: true, Remaining: 3}, `"api";r=3;t=20`)
	f(weir.Decision{Allowed: true, Remaining: 3}, weir.Decision{Allowed: true, Remaining: 3}, `"api";r=3;t=20`)
}

func TestWriteBesideAnother(t *testing.T) {
	h := http.Header{
		"Ratelimit":             {`"upstream";r=1;t=1`},
		"Ratelimit-Policy":      {`"upstream";q=2;w=1`},
		"X-Ratelimit-Limit":     {"2", "2, 2;w=1"},
		"X-Ratelimit-Remaining": {"1"},
		"X-Ratelimit-Used":      {"1"},
	}
	writer(t, Config{}).Write(h, allowed(t))
	same(t, lines(h), `
Ratelimit: "upstream";r=1;t=1
Ratelimit: "create-job";r=4;t=1
Ratelimit-Policy: "upstream";q=2;w=1
Ratelimit-Policy: "create-job";q=5;w=1
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4
X-Ratelimit-Reset: 1
X-Ratelimit-Used: 1`)
	if items, err := sfList(h["Ratelimit"]); err != nil || len(items) != 2 {
		t.Errorf("read as %v, %v", items, err)
	}
}

func TestEpochResetIsNotInThePast(t *testing.T) {
	o := decide(t, leg{limit: "create-job", text: "5/s", d: weir.Decision{Allowed: true, Remaining: 4, ResetAfter: -5 * second}})
	same(t, written(writer(t, Config{NoRateLimit: true, EpochReset: true}), o), `
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4
X-Ratelimit-Reset: 1796025967`)
}

func TestEpochResetWithoutATime(t *testing.T) {
	o := allowed(t)
	o.Stamp = weir.Stamp{}
	same(t, written(writer(t, Config{NoRateLimit: true, EpochReset: true}), o), `
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 4`)
}

func TestExpose(t *testing.T) {
	f := func(c Config, want string, fields ...string) {
		t.Helper()
		h := make(http.Header)
		writer(t, c).Expose(h, ask(http.MethodGet, fields...))
		same(t, lines(h), want)
	}
	const origin = "https://app.example"
	f(Config{}, "")
	f(Config{NoExpose: true}, "", "Origin", origin)
	f(Config{}, "Access-Control-Expose-Headers: Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset", "Origin", origin)
	f(Config{NoRateLimit: true, NoLegacy: true, Debug: true}, "Access-Control-Expose-Headers: Retry-After, X-Weir-Decided", "Origin", "null")

	h := http.Header{keyExpose: {"X-Request-Id"}}
	writer(t, Config{NoRateLimit: true, NoLegacy: true}).Expose(h, ask(http.MethodGet, "Origin", origin))
	same(t, lines(h), "Access-Control-Expose-Headers: X-Request-Id\nAccess-Control-Expose-Headers: Retry-After")
}

func TestRetryAfter(t *testing.T) {
	f := func(jitter time.Duration, wait weir.Micros, want string) {
		t.Helper()
		o := decide(t, leg{limit: "api", text: "5/s", d: weir.Decision{RetryAfter: wait}})
		h := make(http.Header)
		w := writer(t, Config{Jitter: jitter}) // draws the most
		w.Write(h, o)
		if got := h.Get("Retry-After"); got != want {
			t.Errorf("at most: got %s, want %s", got, want)
		}
		w.random = func(int64) int64 { return 0 }
		least, plain := make(http.Header), make(http.Header)
		w.Write(least, o)
		writer(t, Config{}).Write(plain, o)
		same(t, lines(least), lines(plain))
	}
	f(0, 1, "1")
	f(0, 999_999, "1")
	f(0, 1_000_000, "1")
	f(0, 1_000_001, "2")
	f(0, 86_400*second, "86400")
	f(800*time.Millisecond, 180_000, "1")
	f(800*time.Millisecond, 200_001, "2")
	f(5*time.Second, 180_000, "6")
	f(time.Hour, 1<<62, "4611686022028") // no overflow
	f(time.Hour, 1<<63-1, "9223372036855")
	f(0, 0, "1")
}

// Retry-After ends no earlier than the window of any limit that refused, even
// where the outcome says less than its decisions.
func TestRetryAfterCoversEveryRefusal(t *testing.T) {
	o := decide(t,
		leg{limit: "api/1s", text: "5/s", d: weir.Decision{RetryAfter: 180_000}},
		leg{limit: "api/1h", text: "100/h", d: weir.Decision{RetryAfter: 11_000_001, ResetAfter: 3600 * second}},
		leg{limit: "trial", text: "1/h", join: weir.Advise, d: weir.Decision{RetryAfter: 50 * second}},
		leg{limit: "api/1d", text: "900/day", d: weir.Decision{Allowed: true, Remaining: 800}},
	)
	o.RetryAfter = 0
	h := make(http.Header)
	writer(t, Config{NoLegacy: true}).Write(h, o)
	same(t, lines(h), `
Ratelimit: "api/1s";r=0;t=1, "api/1h";r=0;t=12, "api/1d";r=800;t=76800
Ratelimit-Policy: "api/1s";q=5;w=1, "api/1h";q=100;w=3600, "api/1d";q=900;w=86400
Retry-After: 12`)
}

// Callers that a fault has turned away together come back apart.
func TestRetryAfterOfAFault(t *testing.T) {
	f := func(jitter time.Duration, o *weir.Outcome, least, most int64) {
		t.Helper()
		w := writer(t, Config{Jitter: jitter})
		if got := w.retryAfter(o); got != most {
			t.Errorf("got at most %d, want %d", got, most)
		}
		w.random = func(int64) int64 { return 0 }
		if got := w.retryAfter(o); got != least {
			t.Errorf("got at least %d, want %d", got, least)
		}
	}
	o := failed(weir.ByFault, errors.New("connection refused"))
	f(0, o, 1, 3)
	f(500*time.Millisecond, o, 1, 3)
	f(10*time.Second, o, 1, 11)
	o.RetryAfter = 5 * second // the decider knows better
	f(0, o, 6, 8)

	w, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.RetryAfter = 0
	seen := map[int64]int{}
	for range 3000 {
		seen[w.retryAfter(o)]++
	}
	if len(seen) != 3 || seen[1] < 500 || seen[2] < 500 || seen[3] < 500 {
		t.Errorf("got %v, want 1, 2 and 3 about as often", seen)
	}
}

func TestNewRefuses(t *testing.T) {
	f := func(jitter time.Duration, want string) {
		t.Helper()
		w, err := New(Config{Jitter: jitter})
		switch {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (w != nil || !errors.Is(err, weir.ErrInvalid) || err.Error() != want):
			t.Errorf("got %v, want %s", err, want)
		}
	}
	f(0, "")
	f(time.Microsecond, "")
	f(time.Hour, "")
	f(-time.Second, "weir: header Jitter -1s: it is added to a wait and cannot be negative; write 0 for none")
	f(1500, "weir: header Jitter 1.5µs: time is whole microseconds")
	f(time.Hour+time.Microsecond, "weir: header Jitter 1h0m0.000001s: it says nothing about when to come back; write at most 1h0m0s")
	f(-1, "weir: header Jitter -1ns: it is added to a wait and cannot be negative; write 0 for none\nweir: header Jitter -1ns: time is whole microseconds")
	f(-1<<63, "weir: header Jitter -2562047h47m16.854775808s: it is added to a wait and cannot be negative; write 0 for none\nweir: header Jitter -2562047h47m16.854775808s: time is whole microseconds")
	f(1<<63-1, "weir: header Jitter 2562047h47m16.854775807s: it says nothing about when to come back; write at most 1h0m0s\nweir: header Jitter 2562047h47m16.854775807s: time is whole microseconds")
}
