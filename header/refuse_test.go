package header

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weirhq/weir"
)

// answer prints a whole refusal: status line, fields in order, body.
func answer(w *Writer, r *http.Request, o *weir.Outcome) string {
	rec := httptest.NewRecorder()
	w.Refuse(rec, r, o)
	return fmt.Sprintf("%d %s\n%s\n%s", rec.Code, http.StatusText(rec.Code), lines(rec.Result().Header), rec.Body)
}

func TestRefused(t *testing.T) {
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), refused(t)), `
429 Too Many Requests
Cache-Control: no-store
Content-Length: 194
Content-Type: application/problem+json
Ratelimit: "create-job";r=0;t=1
Ratelimit-Policy: "create-job";q=5;w=1
Retry-After: 1
Vary: Accept
X-Content-Type-Options: nosniff
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 1

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"create-job allows 5/s; retry in 1 s","violated-policies":["create-job"]}`)
}

// Two limits refuse, a third would not have; a fourth only advises.
func TestRefusedByTwo(t *testing.T) {
	o := decide(t,
		leg{limit: "api/1s", text: "10/s burst 20", d: weir.Decision{RetryAfter: 80_000, ResetAfter: 1_980_000}},
		leg{limit: "api/1h", text: "1000/h", d: weir.Decision{Allowed: true, Remaining: 500, ResetAfter: 1800 * second}},
		leg{limit: "trial", text: "1/day", join: weir.Advise, d: weir.Decision{RetryAfter: 86_400 * second}},
		leg{limit: "api/1d", text: "5000/day calendar Europe/Berlin", d: weir.Decision{RetryAfter: 11_200_000, ResetAfter: 11_200_000}},
	)
	c := Config{Debug: true, EpochReset: true}
	same(t, answer(writer(t, c), ask(http.MethodGet, "Origin", "https://app.example"), o), `
429 Too Many Requests
Access-Control-Expose-Headers: Retry-After, RateLimit, RateLimit-Policy, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Weir-Decided
Cache-Control: no-store
Content-Length: 224
Content-Type: application/problem+json
Ratelimit: "api/1s";r=0;t=1, "api/1h";r=500;t=1800, "api/1d";r=0;t=12
Ratelimit-Policy: "api/1s";q=10;w=1;weir-burst=20, "api/1h";q=1000;w=3600, "api/1d";q=5000;w=86400
Retry-After: 12
Vary: Accept
X-Content-Type-Options: nosniff
X-Ratelimit-Limit: 5000
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: 1796025978
X-Weir-Decided: 1796025966123456

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"api/1d allows 5000/day calendar Europe/Berlin; retry in 12 s","violated-policies":["api/1s","api/1d"]}`)
}

func TestRefusedForEver(t *testing.T) {
	o := decide(t, leg{limit: "create-job", text: "5/s", cost: 7, d: weir.Decision{Never: true, Remaining: 5}})
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), o), `
422 Unprocessable Entity
Cache-Control: no-store
Content-Length: 200
Content-Type: application/problem+json
Ratelimit: "create-job";r=5;t=1
Ratelimit-Policy: "create-job";q=5;w=1
Vary: Accept
X-Content-Type-Options: nosniff
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 5
X-Ratelimit-Reset: 0

{"type":"about:blank","title":"Unprocessable Entity","status":422,"detail":"the cost is above the most that create-job ever lets through, 5; waiting does not help","violated-policies":["create-job"]}`)
}

func TestDenied(t *testing.T) {
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), failed(weir.ByDeny, nil)), `
403 Forbidden
Cache-Control: no-store
Content-Length: 101
Content-Type: application/problem+json
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Forbidden","status":403,"detail":"such requests are not let through"}`)
}

// The text of a store's error is nobody's business outside.
func TestFault(t *testing.T) {
	o := failed(weir.ByFault, errors.New("dial tcp 10.0.0.3:6379: connection refused"))
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), o), `
503 Service Unavailable
Cache-Control: no-store
Content-Length: 214
Content-Type: application/problem+json
Retry-After: 3
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"it could not be decided whether the request may pass; retry in 3 s"}`)
}

func TestMissing(t *testing.T) {
	o := failed(weir.ByMissing, &weir.FieldError{Field: "X-Api-Key", Value: "k-secret", Problem: "it is missing", Remedy: "send the key of your account"})
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), o), `
400 Bad Request
Cache-Control: no-store
Content-Length: 124
Content-Type: application/problem+json
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Bad Request","status":400,"detail":"X-Api-Key: it is missing; send the key of your account"}`)
}

func TestUnauthorized(t *testing.T) {
	o := failed(weir.ByMissing, fmt.Errorf("rule api: %w", Unauthorized(`Basic realm="api"`, nil)))
	same(t, answer(writer(t, Config{}), ask(http.MethodPost), o), `
401 Unauthorized
Cache-Control: no-store
Content-Length: 126
Content-Type: application/problem+json
Vary: Accept
Www-Authenticate: Basic realm="api"
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Unauthorized","status":401,"detail":"the request lacks the credentials that it is counted by"}`)
}

func TestPlainText(t *testing.T) {
	same(t, answer(writer(t, Config{NoRateLimit: true, NoLegacy: true}), ask(http.MethodPost, "Accept", "text/html"), refused(t)), `
429 Too Many Requests
Cache-Control: no-store
Content-Length: 52
Content-Type: text/plain; charset=utf-8
Retry-After: 1
Vary: Accept
X-Content-Type-Options: nosniff

Quota Exceeded: create-job allows 5/s; retry in 1 s`)
}

func TestHead(t *testing.T) {
	same(t, answer(writer(t, Config{NoRateLimit: true, NoLegacy: true}), ask(http.MethodHead), refused(t)), `
429 Too Many Requests
Cache-Control: no-store
Content-Length: 194
Content-Type: application/problem+json
Retry-After: 1
Vary: Accept
X-Content-Type-Options: nosniff`)
}

// What outcomes without a limit say.
func TestDetail(t *testing.T) {
	f := func(o *weir.Outcome, want string) {
		t.Helper()
		if got := detail(o, Status(o), 7); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(failed(weir.ByLimits, nil), "too many requests; retry in 7 s")
	f(&weir.Outcome{Never: true, Binding: -1}, "the cost is above what can ever pass; waiting does not help")
	for _, blocked := range []bool{false, true} {
		o := decide(t, leg{limit: "login", text: "5/min block 10m", d: weir.Decision{Blocked: blocked, RetryAfter: 7 * second}})
		f(o, "login allows 5/min block 10m"+map[bool]string{true: "; you went beyond that and are blocked"}[blocked]+"; retry in 7 s")
	}
	f(failed(weir.ByMissing, nil), "the request lacks what it is counted by")
	f(failed(weir.ByRequest, errors.New("secret")), "the request cannot be judged as it stands")
	f(failed(weir.ByRequest, &weir.FieldError{Field: "cost", Value: "x", Problem: "no number"}), "cost: no number")
}

func TestStatus(t *testing.T) {
	f := func(o *weir.Outcome, want int) {
		t.Helper()
		if got := Status(o); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	f(allowed(t), 0)
	f(&weir.Outcome{Allowed: true, Cause: weir.ByFault}, 0)
	f(refused(t), 429)
	f(&weir.Outcome{Never: true}, 422)
	f(failed(weir.ByDeny, nil), 403)
	f(failed(weir.ByFault, weir.ErrUnknown), 503)
	f(failed(weir.ByMissing, nil), 400)
	f(failed(weir.ByMissing, errors.New("no X-Api-Key")), 400)
	f(failed(weir.ByMissing, Unauthorized("", nil)), 401)
	f(failed(weir.ByMissing, foreign{errors.New("token expired")}), 401)
	f(failed(weir.ByRequest, Unauthorized("", nil)), 400)
	f(failed(weir.ByRequest, errors.New("no number")), 400)
	f(failed(weir.ByNothing, nil), 403)
	f(failed(weir.Cause(99), nil), 403)
	f(told(refused(t), 404, ""), 404)
	f(told(failed(weir.ByDeny, nil), 599, ""), 599)
	f(told(failed(weir.ByFault, nil), 400, ""), 400)
	f(told(allowed(t), 404, ""), 0)
	for _, status := range []int{-1, 0, 200, 399, 600, 1000} {
		f(told(refused(t), status, "no"), 429)
	}
}

// told is an outcome whose rule has words of its own.
func told(o *weir.Outcome, status int, detail string) *weir.Outcome {
	o.Refusal = &weir.Refusal{Status: status, Detail: detail}
	return o
}

// What a rule wants its callers told changes the words, and not the wait.
func TestRefusedInTheRulesWords(t *testing.T) {
	f := func(o *weir.Outcome, want string) {
		t.Helper()
		same(t, answer(writer(t, Config{NoLegacy: true}), ask(http.MethodPost), o), want)
	}
	f(told(refused(t), 403, "five a second are enough"), `
403 Forbidden
Cache-Control: no-store
Content-Length: 183
Content-Type: application/problem+json
Ratelimit: "create-job";r=0;t=1
Ratelimit-Policy: "create-job";q=5;w=1
Retry-After: 1
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":403,"detail":"five a second are enough","violated-policies":["create-job"]}`)
	f(told(refused(t), 503, ""), `
503 Service Unavailable
Cache-Control: no-store
Content-Length: 194
Content-Type: application/problem+json
Ratelimit: "create-job";r=0;t=1
Ratelimit-Policy: "create-job";q=5;w=1
Retry-After: 1
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":503,"detail":"create-job allows 5/s; retry in 1 s","violated-policies":["create-job"]}`)
	f(told(failed(weir.ByDeny, nil), 429, "not here"), `
429 Too Many Requests
Cache-Control: no-store
Content-Length: 84
Content-Type: application/problem+json
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"not here"}`)
	f(told(failed(weir.ByFault, weir.ErrUnknown), 500, ""), `
500 Internal Server Error
Cache-Control: no-store
Content-Length: 214
Content-Type: application/problem+json
Retry-After: 3
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":500,"detail":"it could not be decided whether the request may pass; retry in 3 s"}`)
	f(told(failed(weir.ByDeny, nil), 401, ""), `
401 Unauthorized
Cache-Control: no-store
Content-Length: 104
Content-Type: application/problem+json
Vary: Accept
Www-Authenticate: Bearer
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Unauthorized","status":401,"detail":"such requests are not let through"}`)
	f(told(failed(weir.ByMissing, Unauthorized("", nil)), 404, "no such page"), `
404 Not Found
Cache-Control: no-store
Content-Length: 80
Content-Type: application/problem+json
Vary: Accept
X-Content-Type-Options: nosniff

{"type":"about:blank","title":"Not Found","status":404,"detail":"no such page"}`)
}

// The application's hook has the last word.
func TestProblemHookSeesTheRulesWords(t *testing.T) {
	c := Config{Problem: func(_ *http.Request, _ *weir.Outcome, p *Problem) {
		if p.Status != 403 || p.Detail != "no" {
			t.Errorf("the hook saw %+v", *p)
		}
		p.Status = 200 // no status of a refusal
	}}
	if got := answer(writer(t, c), ask(http.MethodGet), told(refused(t), 403, "no")); !strings.HasPrefix(got, "403 ") {
		t.Errorf("got:\n%s", got)
	}
}

// foreign asks for credentials without knowing this package.
type foreign struct{ error }

func (foreign) Challenge() string { return `DPoP algs="ES256"` }

func TestChallenge(t *testing.T) {
	f := func(err error, want string) {
		t.Helper()
		rec := httptest.NewRecorder()
		writer(t, Config{}).Refuse(rec, ask(http.MethodGet), failed(weir.ByMissing, err))
		if got := rec.Header().Get("WWW-Authenticate"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(nil, "")
	f(Unauthorized("", nil), "Bearer")
	f(Unauthorized("Bearer realm=api", nil), "Bearer realm=api")
	f(foreign{errors.New("x")}, `DPoP algs="ES256"`)

	inner := errors.New("no token")
	err := Unauthorized("", inner)
	if !errors.Is(err, inner) || err.Error() != "weir: credentials are missing: no token" {
		t.Errorf("got %v", err)
	}
	if got := Unauthorized("", nil).Error(); got != "weir: credentials are missing" {
		t.Errorf("got %s", got)
	}
}

// An outcome that is allowed, refused all the same.
func TestRefuseOfAnAllowedOutcome(t *testing.T) {
	got := answer(writer(t, Config{NoLegacy: true}), ask(http.MethodGet), allowed(t))
	for _, want := range []string{"403 Forbidden", `Ratelimit: "create-job";r=4;t=1`, `"status":403,"detail":"such requests are not let through"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("got:\n%s\nwant %s", got, want)
		}
	}
}

// A rule of its own may say another status and another detail.
func TestProblemHook(t *testing.T) {
	f := func(hook func(p *Problem), want ...string) {
		t.Helper()
		c := Config{NoRateLimit: true, NoLegacy: true}
		c.Problem = func(r *http.Request, o *weir.Outcome, p *Problem) {
			if r.URL.Path != "/api/v1/jobs" || o.Limit().Name() != "create-job" || p.Status != 429 {
				t.Errorf("asked with %s, %s, %d", r.URL.Path, o.Limit().Name(), p.Status)
			}
			hook(p)
		}
		got := answer(writer(t, c), ask(http.MethodGet), refused(t))
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("got:\n%s\nwant %s", got, w)
			}
		}
	}
	f(func(*Problem) {}, "429 Too", `"title":"Quota Exceeded","status":429,"detail":"create-job allows 5/s; retry in 1 s"`)
	f(func(p *Problem) { p.Detail = `slow "down"` }, `"detail":"slow \"down\"","violated`)
	f(func(p *Problem) { p.Detail = "" }, `"status":429,"violated-policies":["create-job"]}`)
	f(func(p *Problem) { *p = Problem{Status: 413} }, "413 Request", `{"type":"about:blank","title":"Request Entity Too Large","status":413,`)
	f(func(p *Problem) { p.Status = 401 }, "401 Unauthorized", "Www-Authenticate: Bearer\n")
	f(func(p *Problem) { p.Status, p.Title = 499, "" }, `"title":"Refused","status":499,`)
	for _, status := range []int{-1, 0, 99, 200, 399, 600, 1000} {
		f(func(p *Problem) { p.Status = status }, "429 Too", `"status":429`)
	}
}

func TestPlainTextIsOneLine(t *testing.T) {
	c := Config{Problem: func(_ *http.Request, _ *weir.Outcome, p *Problem) { p.Title, p.Detail = "a\nb", "c\r\nd\x7f" }}
	rec := httptest.NewRecorder()
	writer(t, c).Refuse(rec, ask(http.MethodGet, "Accept", "text/plain"), refused(t))
	if got, want := rec.Body.String(), "a b: c  d \n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestVary(t *testing.T) {
	f := func(want string, before ...string) {
		t.Helper()
		rec := httptest.NewRecorder()
		if len(before) > 0 {
			rec.Header()["Vary"] = before
		}
		writer(t, Config{}).Refuse(rec, ask(http.MethodGet), refused(t))
		if got := strings.Join(rec.Header()["Vary"], " | "); got != want {
			t.Errorf("%q: got %s, want %s", before, got, want)
		}
	}
	f("Accept")
	f("Origin | Accept", "Origin")
	f("Origin, accept", "Origin, accept")
	f("Origin | Cookie , ACCEPT", "Origin", "Cookie , ACCEPT")
	f("*", "*")
	f("Accept-Encoding | Accept", "Accept-Encoding")
}

// Where a middleware further out encodes the body, a length would be wrong.
func TestNoLengthOfAnEncodedBody(t *testing.T) {
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Encoding", "gzip")
	rec.Header().Set("Content-Length", "7")
	writer(t, Config{}).Refuse(rec, ask(http.MethodGet), refused(t))
	if got := rec.Header().Values("Content-Length"); len(got) != 0 {
		t.Errorf("got %q, want none", got)
	}
}

// On the wire: the lengths are right, HEAD has no body, and the connection can
// be used again.
func TestOnTheWire(t *testing.T) {
	w := writer(t, Config{})
	o := refused(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.Refuse(rw, r, o) }))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	back := bufio.NewReader(conn)
	for _, method := range []string{"GET", "HEAD", "POST", "GET"} {
		fmt.Fprintf(conn, "%s / HTTP/1.1\r\nHost: api.example\r\n\r\n", method)
		res, err := http.ReadResponse(back, &http.Request{Method: method})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 429 || res.ContentLength != 194 || res.Header.Get("RateLimit") != `"create-job";r=0;t=1` {
			t.Errorf("%s: %v, %v", method, err, res)
		}
		if want := map[bool]int{true: 0, false: 194}[method == "HEAD"]; len(body) != want {
			t.Errorf("%s: a body of %d bytes, want %d", method, len(body), want)
		}
	}
}
