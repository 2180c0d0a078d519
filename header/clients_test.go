package header

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
)

// What clients in use make of the fields. Each function is the part of the
// client that reads them.

// waits are refusals of all lengths.
func waits() []weir.Micros {
	return []weir.Micros{0, 1, 180_000, 999_999, second, second + 1, 59_999_999, 3600 * second, 86_400*second + 1, 1 << 52}
}

// eachRefusal runs f on the fields of 429 and 503 answers, with jitter and
// without.
func eachRefusal(t *testing.T, c Config, f func(status int, h http.Header, wait weir.Micros)) {
	t.Helper()
	for _, jitter := range []time.Duration{0, 700 * time.Millisecond, time.Hour} {
		c.Jitter = jitter
		w := writer(t, c)
		for _, wait := range waits() {
			rec := httptest.NewRecorder()
			w.Refuse(rec, ask(http.MethodGet), decide(t, leg{limit: "api", text: "5/s", d: weir.Decision{RetryAfter: wait, ResetAfter: wait + 800_000}}))
			f(rec.Code, rec.Header(), wait)
		}
		rec := httptest.NewRecorder()
		w.Refuse(rec, ask(http.MethodGet), failed(weir.ByFault, weir.ErrUnknown))
		f(rec.Code, rec.Header(), 0)
	}
}

// urllib3 raises InvalidHeader on a fraction.
func TestClientUrllib3(t *testing.T) {
	whole := regexp.MustCompile(`^\s*[0-9]+\s*$`)
	eachRefusal(t, Config{}, func(_ int, h http.Header, _ weir.Micros) {
		if got := h.Get("Retry-After"); !whole.MatchString(got) {
			t.Errorf("Retry-After: %q", got)
		}
	})
}

// go-retryablehttp reads seconds as an int64 with 429 and 503, and falls back
// to its own backoff on anything else but a date.
func TestClientGoRetryableHTTP(t *testing.T) {
	eachRefusal(t, Config{}, func(status int, h http.Header, wait weir.Micros) {
		got, err := strconv.ParseInt(h.Get("Retry-After"), 10, 64)
		if status != 429 && status != 503 || err != nil || got < 1 || weir.Micros(got)*second < wait {
			t.Errorf("%d, wait %d µs: %d, %v", status, wait, got, err)
		}
	})
}

// client-go reads Retry-After with Atoi and knows no dates.
func TestClientKubernetes(t *testing.T) {
	eachRefusal(t, Config{}, func(status int, h http.Header, _ weir.Micros) {
		got, err := strconv.Atoi(h.Get("Retry-After"))
		if status != 429 && status < 500 || err != nil || got < 1 {
			t.Errorf("%d: %d, %v", status, got, err)
		}
	})
}

// openai-node reads one number, before anything else is tried.
func TestClientOpenAI(t *testing.T) {
	eachRefusal(t, Config{}, func(_ int, h http.Header, _ weir.Micros) {
		if got, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err != nil || got < 1 || len(h.Values("Retry-After")) != 1 {
			t.Errorf("Retry-After: %v, %v", h.Values("Retry-After"), err)
		}
	})
}

// octokit waits for X-RateLimit-Reset, an instant, when nothing remains.
func TestClientOctokit(t *testing.T) {
	eachRefusal(t, Config{EpochReset: true}, func(status int, h http.Header, wait weir.Micros) {
		if status != 429 {
			return
		}
		reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
		if err != nil || h.Get("X-RateLimit-Remaining") != "0" || weir.Micros(reset)*second < now+wait {
			t.Errorf("reset %d, remaining %s, %v; now %d, wait %d", reset, h.Get("X-RateLimit-Remaining"), err, now, wait)
		}
	})
}

// ky takes Retry-After first; of X-RateLimit-Reset, numbers since 2024 are
// instants and others spans.
func TestClientKy(t *testing.T) {
	const since2024 = 1_704_067_200
	for _, epoch := range []bool{false, true} {
		eachRefusal(t, Config{EpochReset: epoch}, func(status int, h http.Header, wait weir.Micros) {
			if status != 429 || wait >= since2024*second { // more than fifty years
				return
			}
			reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64)
			if err != nil || reset >= since2024 != epoch {
				t.Errorf("epoch %v: reset %d, %v", epoch, reset, err)
			}
		})
	}
}

// ratelimit-header-parser looks at RateLimit first, and reads X-RateLimit where
// there is none. A reset with letters is a date, one above a billion an
// instant.
func TestClientRatelimitHeaderParser(t *testing.T) {
	parse := func(h http.Header) (limit, remaining, reset string) {
		if v := h.Get("ratelimit"); v != "" {
			find := func(name string) string {
				m := regexp.MustCompile(name + `\s*=\s*(\d+)`).FindStringSubmatch(v)
				return strings.Join(m, " ")
			}
			return find("limit"), find("remaining"), find("reset")
		}
		return h.Get("x-ratelimit-limit"), h.Get("x-ratelimit-remaining"), h.Get("x-ratelimit-reset")
	}
	f := func(c Config, limit, remaining, reset string) {
		t.Helper()
		h := make(http.Header)
		writer(t, c).Write(h, allowed(t))
		if l, m, s := parse(h); l != limit || m != remaining || s != reset {
			t.Errorf("got %q, %q, %q, want %s, %s, %s", l, m, s, limit, remaining, reset)
		}
	}
	f(Config{NoRateLimit: true}, "5", "4", "1")
	f(Config{NoRateLimit: true, EpochReset: true}, "5", "4", "1796025967")
	f(Config{}, "", "", "") // as the package comment warns
}

// No field is a date or a fraction, whoever reads it.
func TestNoDatesAndNoFractions(t *testing.T) {
	eachRefusal(t, Config{Debug: true}, func(_ int, h http.Header, _ weir.Micros) {
		for _, key := range []string{keyLimit, keyRemaining, keyReset, keyRetryAfter, keyDecided} {
			for _, v := range h[key] {
				if strings.Trim(v, digit) != "" {
					t.Errorf("%s: %s", key, v)
				}
			}
		}
	})
}
