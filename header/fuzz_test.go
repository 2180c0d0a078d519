package header

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weirhq/weir"
)

// FuzzFields writes outcomes with any numbers, also ones that no store gives,
// and reads the fields back as RFC 9651 has it.
func FuzzFields(f *testing.F) {
	f.Add(int64(5), int64(1_000_000), int64(5), uint8(0), int64(1), true, false, int64(4), int64(0), int64(200_000), uint8(0))
	f.Add(int64(7), int64(500_000), int64(7), uint8(0), int64(1), false, false, int64(0), int64(180_000), int64(980_000), uint8(2))
	f.Add(int64(1000), int64(86_400_000_000), int64(0), uint8(1), int64(9), true, false, int64(0), int64(0), int64(0), uint8(4))
	f.Add(int64(9), int64(0), int64(0), uint8(2), int64(0), true, false, int64(9), int64(0), int64(0), uint8(0))
	f.Add(int64(1), int64(1<<51-1), int64(1), uint8(0), int64(-1), false, true, int64(1<<63-1), int64(-1<<63), int64(1<<63-1), uint8(255))
	f.Add(int64(1<<52-1), int64(1), int64(1), uint8(1), int64(3), false, false, int64(-1<<63), int64(1<<63-1), int64(-1<<63), uint8(6))
	f.Fuzz(func(t *testing.T, count, period, burst int64, kind uint8, cost int64, allowed, never bool, remaining, retry, reset int64, mode uint8) {
		l, err := fuzzedLimit(count, period, burst, kind)
		if err != nil {
			return
		}
		d := weir.Decision{
			Allowed: allowed, Never: never && !allowed, Remaining: remaining,
			RetryAfter: weir.Micros(retry), ResetAfter: weir.Micros(reset), Mode: weir.Mode(mode),
		}
		o := &weir.Outcome{Allowed: allowed, Never: d.Never, RetryAfter: max(0, d.RetryAfter), Stamp: weir.Stamp{Now: weir.Micros(retry)}}
		for _, fill := range []*weir.Limit{l, weir.MustLimit("other", "9/min")} {
			o.Takes = append(o.Takes, weir.Take{Limit: fill, Cost: cost})
			o.Decisions = append(o.Decisions, d)
		}
		for _, c := range []Config{{}, {EpochReset: true, Jitter: time.Second, Debug: true}} {
			h := make(http.Header)
			writer(t, c).Write(h, o)
			checkFields(t, h, o)
		}
	})
}

// fuzzedLimit builds a limit of one of the kinds there are.
func fuzzedLimit(count, period, burst int64, kind uint8) (*weir.Limit, error) {
	s := weir.Spec{Count: count, Burst: burst, Period: time.Duration(period) * time.Microsecond}
	switch kind % 3 {
	case 1:
		s.Algorithm, s.Burst = weir.FixedWindow, 0
	case 2:
		s = weir.Spec{Algorithm: weir.FixedWindow, Count: count, Month: true, Zone: "UTC"}
	}
	return weir.NewLimit("fuzzed/1x", s)
}

func checkFields(t *testing.T, h http.Header, o *weir.Outcome) {
	t.Helper()
	states, err := sfList(h[keyRateLimit])
	if err != nil || len(states) != 2 {
		t.Fatalf("RateLimit: %v, %v", states, err)
	}
	policies, err := sfList(h[keyPolicy])
	if err != nil || len(policies) != 2 {
		t.Fatalf("RateLimit-Policy: %v, %v", policies, err)
	}
	for i := range states {
		name := o.Takes[i].Limit.Name()
		if states[i].value != name || policies[i].value != name {
			t.Fatalf("%v and %v, want %s", states[i].value, policies[i].value, name)
		}
		checkPolicy(t, policies[i].parameters, o.Takes[i].Limit)
		checkState(t, states[i].parameters, o, i, h.Get("Retry-After"))
	}
	for _, key := range []string{keyLimit, keyRemaining, keyReset, keyRetryAfter, keyDecided} {
		for _, v := range h[key] {
			if n, err := strconv.ParseInt(v, 10, 64); err != nil || n < 0 || len(h[key]) != 1 {
				t.Fatalf("%s: %q", key, h[key])
			}
		}
	}
}

// ranged reads an integer parameter within least and what a field may hold.
func ranged(t *testing.T, p map[string]any, key string, least int64) (v int64, stated bool) {
	t.Helper()
	raw, stated := p[key]
	if !stated {
		return 0, false
	}
	v, ok := raw.(int64)
	if !ok || v < least || v > maxInteger {
		t.Fatalf("%s=%v in %v", key, raw, p)
	}
	return v, true
}

func checkPolicy(t *testing.T, p map[string]any, l *weir.Limit) {
	t.Helper()
	q, ok := ranged(t, p, "q", 1)
	w, exact := ranged(t, p, "w", 1)
	burst, other := ranged(t, p, "weir-burst", 1)
	s := l.Spec()
	switch {
	case !ok:
		t.Fatalf("no q in %v", p)
	case exact && product(q, s.Period.Microseconds()).Cmp(product(s.Count, w, second)) != 0:
		t.Fatalf("%s is no %v", s, p)
	case !exact && q != clamp(s.Count):
		t.Fatalf("%s is no %v", s, p)
	case other && burst != clamp(l.Capacity()) || !other && q != clamp(l.Capacity()):
		t.Fatalf("a capacity of %d in %v", l.Capacity(), p)
	}
}

func checkState(t *testing.T, p map[string]any, o *weir.Outcome, i int, retry string) {
	t.Helper()
	r, ok := ranged(t, p, "r", 0)
	window, stated := ranged(t, p, "t", 1)
	l, d := o.Takes[i].Limit, o.Decisions[i]
	switch {
	case !ok || r != clamp(d.Remaining):
		t.Fatalf("%d remaining in %v", d.Remaining, p)
	case !stated && !l.Spec().Month:
		t.Fatalf("no t in %v of %s", p, l)
	}
	if s := l.Spec(); d.Allowed && s.Algorithm == weir.TokenBucket && r <= l.Capacity() &&
		product(r, s.Period.Microseconds()).Cmp(product(window, s.Count, second)) > 0 {
		t.Fatalf("%v is faster than %s", p, l)
	}
	switch at, err := strconv.ParseInt(retry, 10, 64); {
	case o.Allowed || o.Never:
		if retry != "" {
			t.Fatalf("Retry-After: %s", retry)
		}
	case err != nil || at < max(1, window):
		t.Fatalf("Retry-After: %s with %v, %v", retry, p, err)
	}
	if m, ok := p["weir-mode"]; ok == (d.Mode == weir.Exact || d.Mode == weir.Leased) || ok && m != sfToken(d.Mode.String()) {
		t.Fatalf("mode %s in %v", d.Mode, p)
	}
}

// FuzzProblem reads every body back as JSON.
func FuzzProblem(f *testing.F) {
	f.Add("about:blank", "Quota Exceeded", "5/s; retry in 1 s", 429)
	f.Add("", "", "", 0)
	f.Add(`"\`, "\x00\x1f\x7f\u2028", "\xff\xfe \ud7ff 💧", 599)
	f.Fuzz(func(t *testing.T, kind, title, detail string, status int) {
		c := Config{Problem: func(_ *http.Request, _ *weir.Outcome, p *Problem) { *p = Problem{kind, title, status, detail} }}
		w, o := writer(t, c), refused(t)
		rec := httptest.NewRecorder()
		w.Refuse(rec, ask(http.MethodGet), o)
		var got struct {
			Type, Title, Detail string
			Status              int
			Violated            []string `json:"violated-policies"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v in %s", err, rec.Body)
		}
		plain := func(s, otherwise string) string {
			if s == "" {
				return otherwise
			}
			return strings.ToValidUTF8(replaceEach(s), "")
		}
		if got.Status != rec.Code || got.Type != plain(kind, "about:blank") || got.Detail != plain(detail, "") ||
			title != "" && got.Title != plain(title, "") || got.Title == "" || !slices.Equal(got.Violated, []string{"create-job"}) {
			t.Fatalf("got %+v of %q, %q, %q, %d", got, kind, title, detail, status)
		}
		if n := rec.Header().Get("Content-Length"); n != strconv.Itoa(rec.Body.Len()) {
			t.Fatalf("Content-Length: %s for %d bytes", n, rec.Body.Len())
		}

		rec = httptest.NewRecorder()
		w.Refuse(rec, ask(http.MethodGet, "Accept", "text/plain"), o)
		if line := rec.Body.String(); strings.IndexFunc(line, func(r rune) bool { return r < ' ' }) != len(line)-1 {
			t.Fatalf("more than a line: %q", line)
		}
	})
}

// replaceEach puts U+FFFD in the place of each byte that is no UTF-8.
func replaceEach(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// FuzzAccept: any field is read without harm, and what is appended to exclude
// JSON, excludes it.
func FuzzAccept(f *testing.F) {
	f.Add("text/html, */*;q=0.8")
	f.Add(`application/json;profile="a,b;q=0"`)
	f.Add(`"`)
	f.Add("*/*;q=0")
	f.Fuzz(func(t *testing.T, accept string) {
		takesJSON([]string{accept})
		if !takesJSON([]string{accept, "application/problem+json"}) {
			t.Errorf("%q: problem+json is asked for on a line of its own", accept)
		}
	})
}
