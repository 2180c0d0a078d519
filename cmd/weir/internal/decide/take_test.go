package decide_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/memstore"
)

func TestTake(t *testing.T) {
	g := rigged(t, nil)
	const ask = `{"key":"user:42","limit":"5/s burst 5","cost":1}`
	g.answers("/v1/take", ask, 200, `{"allowed":true,"limit":"take/1s","count":5,"capacity":5,"remaining":4,"granted":1,`+
		`"retry_after_ms":0,"reset_after_ms":200,"decided_at":1796022366123456,"mode":"exact"}`)
	g.answers("/v1/take", `{"key":"user:42","limit":"5/s burst 5","cost":4}`, 200, `{"allowed":true,"limit":"take/1s","count":5,"capacity":5,"remaining":0,"granted":4,`+
		`"retry_after_ms":0,"reset_after_ms":1000,"decided_at":1796022366123456,"mode":"exact"}`)
	g.clock.Advance(19_999)
	g.answers("/v1/take", ask, 200, `{"allowed":false,"limit":"take/1s","count":5,"capacity":5,"remaining":0,"granted":0,`+
		`"retry_after_ms":181,"reset_after_ms":981,"decided_at":1796022366143455,"mode":"exact"}`)
	// Other numbers of the same period are the same state; another key is not.
	g.answers("/v1/take", `{"key":"user:42","limit":"10/s burst 5"}`, 200, `{"allowed":false,"limit":"take/1s","count":10,"capacity":5,"remaining":0,"granted":0,`+
		`"retry_after_ms":91,"reset_after_ms":491,"decided_at":1796022366143455,"mode":"exact"}`)
	g.answers("/v1/take", `{"key":"user:43","limit":"5/s burst 5","peek":true,"cost":5}`, 200, `{"allowed":true,"limit":"take/1s","count":5,"capacity":5,"remaining":5,"granted":5,`+
		`"retry_after_ms":0,"reset_after_ms":0,"decided_at":1796022366143455,"mode":"exact"}`)
	g.answers("/v1/take", `{"key":"user:43","limit":"5/s burst 5","cost":6}`, 200, `{"allowed":false,"limit":"take/1s","count":5,"capacity":5,"remaining":5,"granted":0,`+
		`"never":true,"reset_after_ms":0,"decided_at":1796022366143455,"mode":"exact"}`)
	if g.took != 6 {
		t.Errorf("%d takes were told, want 6", g.took)
	}
}

// What a leaky bucket lets pass is told how long to wait.
func TestTakeTellsTheDelay(t *testing.T) {
	g := rigged(t, nil)
	const ask = `{"key":"k","limit":"3 per 10ms leaky-bucket wait 4ms"}`
	g.answers("/v1/take", ask, 200, `{"allowed":true,"limit":"take/10ms","count":3,"capacity":2,"remaining":1,"granted":1,`+
		`"retry_after_ms":0,"reset_after_ms":4,"decided_at":1796022366123456,"mode":"exact"}`)
	g.answers("/v1/take", `{"key":"k","limit":"3 per 10ms leaky-bucket wait 4ms","peek":true}`, 200, `{"allowed":true,"limit":"take/10ms","count":3,"capacity":2,"remaining":1,"granted":1,`+
		`"retry_after_ms":0,"delay_ms":4,"reset_after_ms":4,"decided_at":1796022366123456,"mode":"exact"}`)
	g.answers("/v1/take", ask, 200, `{"allowed":true,"limit":"take/10ms","count":3,"capacity":2,"remaining":0,"granted":1,`+
		`"retry_after_ms":0,"delay_ms":4,"reset_after_ms":7,"decided_at":1796022366123456,"mode":"exact"}`)
	g.answers("/v1/take", ask, 200, `{"allowed":false,"limit":"take/10ms","count":3,"capacity":2,"remaining":0,"granted":0,`+
		`"retry_after_ms":3,"reset_after_ms":7,"decided_at":1796022366123456,"mode":"exact"}`)
	g.refuses("/v1/take", `{"key":"k","limit":"3/s leaky-bucket"}`, 400, "nothing bounds its queue")
}

// Who is blocked is told so: by what begins the block and while it lasts, not by a cost
// that never passes, and not when it is over.
func TestTakeTellsOfBlocks(t *testing.T) {
	g := rigged(t, nil)
	ask := func(cost int) string { return fmt.Sprintf(`{"key":"k","limit":"1/s block 2s","cost":%d}`, cost) }
	of := func(blocked string, retry int, at weir.Micros) string {
		return fmt.Sprintf(`{"allowed":false,"limit":"take/1s","count":1,"capacity":1,"remaining":0,"granted":0,`+
			`"retry_after_ms":%d,%s"reset_after_ms":%d,"decided_at":%d,"mode":"exact"}`, retry, blocked, retry, at)
	}
	g.post("/v1/take", ask(1))
	g.answers("/v1/take", ask(1), 200, of(`"blocked":true,`, 2000, start))
	g.clock.Advance(1_999_999)
	g.answers("/v1/take", ask(1), 200, of(`"blocked":true,`, 1, start+1_999_999))
	g.refuses("/v1/take", ask(2), 200, `"never":true,"reset_after_ms"`)
	g.clock.Advance(1)
	g.refuses("/v1/take", ask(1), 200, `"allowed":true`, `"retry_after_ms":0,"reset_after_ms"`)
}

// Nobody could say when what was taken is over.
func TestTakeOfSlots(t *testing.T) {
	g := rigged(t, nil)
	for _, limit := range []string{"5 concurrent", "5 concurrent lease 10s"} {
		g.refuses("/v1/take", `{"key":"k","limit":"`+limit+`"}`, 400, `"errors":[{"field":"limit"`, "it counts requests in flight, and only the proxy knows when they are over", `write a rate, as in \"10/min\"`)
	}
	if g.took != 0 {
		t.Errorf("%d takes were told", g.took)
	}
}

func TestTakeOfWhatCountsNothing(t *testing.T) {
	g := rigged(t, failing{err: weir.ErrClosed})
	g.answers("/v1/take", `{"key":"k","limit":"unlimited"}`, 200, `{"allowed":true,"limit":"take/unlimited","mode":"exact"}`)
	g.answers("/v1/take", `{"key":"k","limit":"deny","peek":false}`, 200, `{"allowed":false,"limit":"take/deny","never":true,"mode":"exact"}`)
}

// Whatever period a text has, the limit has a name.
func TestTakeNamesByThePeriod(t *testing.T) {
	g := rigged(t, nil)
	f := func(limit, want string) {
		t.Helper()
		w := g.post("/v1/take", fmt.Sprintf(`{"key":"k","limit":%q}`, limit))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"limit":"`+want+`"`) {
			t.Errorf("%s: %d %s, want %s", limit, w.Code, w.Body, want)
		}
	}
	f("5/s", "take/1s")
	f("100 per 10µs", "take/10us")
	f("3 per 1h30m", "take/1h30m")
	f("7 per 1.5s", "take/1s500ms")
	f("20/min burst 3", "take/1m")
	f("200/day fixed-window", "take/1d")
	f("10/month calendar Europe/Berlin", "take/1mo")
	f("10/week calendar UTC", "take/7d")
}

func TestTakeRefusesWhatItCannotRead(t *testing.T) {
	g := rigged(t, nil)
	f := func(body string, parts ...string) {
		t.Helper()
		g.refuses("/v1/take", body, 400, parts...)
	}
	f(``, `body: it is empty; send a JSON object`)
	f("  \n", `it is empty`)
	f(`{`, `it is not JSON: unexpected end of JSON input, at byte 1`)
	f(`{"key":"k","limit":"5/s"} x`, `after top-level value`)
	f(`{"key":"k","limit":"5/s"}{}`, `after top-level value`)
	f(`[]`, `it must be an object, not a list`)
	f(`null`, `it must be an object, not null`)
	f(`"key"`, `not a text`)
	f(`{"key":"k","limit":"5/s",}`, `it is not JSON`)
	f(`{'key':'k'}`, `it is not JSON`)
	f("{\"key\":\"\xff\",\"limit\":\"5/s\"}", `it is not UTF-8`)
	f(`{"key":"\ud800","limit":"5/s"}`, `the escape at byte 8 is half a character`)
	f(`{"key":"\udc00\ud800","limit":"5/s"}`, `byte 8`)
	f(`{"key":"\ud800\u0041","limit":"5/s"}`, `byte 8`)
	f(`{"key":"\\\ud800","limit":"5/s"}`, `byte 10`)
	f(`{"key":{"a":{"b":[1]}},"limit":"5/s"}`, `it is nested too deeply; there are at most 3 levels`)
	f(strings.Repeat("[", 20_000), `it is not JSON`)

	f(`{}`, `"detail":"key: it is missing; name who is counted, as in user:42 (and 1 more: see errors)"`,
		`{"field":"limit","detail":"it is missing","remedy":"write a limit, as in \"5/s burst 20\""}`)
	f(`{"key":"k","limit":"5/s","kost":1}`, `kost: there is no such field; did you mean cost?`)
	f(`{"key":"k","limit":"5/s","window":1}`, `the fields are key, limit, cost, peek`)
	f(`{"key":"k","key":"j","limit":"5/s"}`, `key: it stands there twice; write it once`)
	f(`{"key":"k","limit":"5/s","Key":"k"}`, `Key: there is no such field`)
	f(`{"key":"","limit":"5/s"}`, `key: it is empty`)
	f(`{"key":42,"limit":"5/s"}`, `key: it must be a text, not a number`)
	f(`{"key":null,"limit":"5/s"}`, `key: it is null; leave it out, or give a text`)
	f(`{"key":"`+strings.Repeat("k", 4097)+`","limit":"5/s"}`, `it has 4097 bytes; write at most 4096`)
	f(`{"key":"k","limit":"`+strings.Repeat("5", 257)+`"}`, `limit: it has 257 bytes`)
	f(`{"key":"k","limit":"5/m"}`, `limit: period m: minutes or months?`)
	f(`{"key":"k","limit":"0/s"}`, `limit: count 0`, `deny`)
	f(`{"key":"k","limit":"3 concurrent"}`, `limit: `, `only the proxy knows`)
	f(`{"key":"k","limit":"5/s","peek":"yes"}`, `peek: it must be true or false, not a text`)
	f(`{"key":"k","limit":"5/s","peek":1}`, `peek: it must be true or false, not a number`)
	// All at once.
	f(`{"limit":"5/m","cost":-1,"pek":true}`, `"field":"key"`, `"field":"limit"`, `"field":"cost"`, `did you mean peek?`)
	if g.took != 0 {
		t.Errorf("%d takes", g.took)
	}
}

func TestCosts(t *testing.T) {
	g := rigged(t, nil)
	f := func(cost string, status int, part string) {
		t.Helper()
		g.refuses("/v1/take", `{"key":"k","limit":"5/s","cost":`+cost+`}`, status, part)
		g.refuses("/v1/check", `{"method":"GET","path":"/","cost":`+cost+`}`, status)
		g.refuses("/v1/explain", `{"method":"GET","path":"/","cost":`+cost+`}`, status)
	}
	f("1", 200, `"granted":1`)
	f("4503599627370495", 200, `"never":true`)
	f("0", 400, "nothing costs 0; leave it out for the usual cost")
	f("-0", 400, "it cannot be below 0")
	f("-1", 400, "it cannot be below 0")
	f("-9223372036854775809", 400, "it cannot be below 0")
	f("1.5", 400, "it is not a whole number in digits")
	f("1.0", 400, "it is not a whole number in digits")
	f("1e3", 400, "it is not a whole number in digits")
	f("1E3", 400, "write a whole number from 1 to 4503599627370495, in digits alone")
	f("4503599627370496", 400, "it is too large")
	f("9223372036854775808", 400, "it is too large")
	f(strings.Repeat("9", 1000), 400, "it is too large")
	f(`"1"`, 400, "it must be a number, not a text")
	f("true", 400, "it must be a number, not true or false")
	f("null", 400, "it is null")
	f("NaN", 400, "it is not JSON")
	f("01", 400, "it is not JSON")
}

// Two keys are one only if they are the same bytes.
func TestKeysAreApart(t *testing.T) {
	g := rigged(t, nil)
	keys := []string{`k`, `K`, `k `, `k\u0000`, `k\n`, `\ufffd`, `\ud83d\ude00`, `a\\\"b`, `é`, `e\u0301`, `\\ud800`, `\/`}
	for _, k := range keys {
		w := g.post("/v1/take", `{"key":"`+k+`","limit":"1/day"}`)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"allowed":true`) {
			t.Errorf("%s: %d %s", k, w.Code, w.Body)
		}
	}
	if w := g.post("/v1/take", `{"key":"\u006b","limit":"1/day"}`); !strings.Contains(w.Body.String(), `"allowed":false`) {
		t.Errorf("an escape makes another key: %s", w.Body)
	}
}

func TestAStoreThatFails(t *testing.T) {
	f := func(err error, status int, want string) {
		t.Helper()
		g := rigged(t, failing{err: err})
		g.answers("/v1/take", `{"key":"secret","limit":"5/s"}`, status, want)
		if g.took != 1 {
			t.Errorf("%v: %d takes told", err, g.took)
		}
	}
	problem := func(detail, retryable string) string {
		return `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"` + detail + `","retryable":` + retryable + `}`
	}
	f(weir.ErrNotApplied, 503, problem("not applied: nothing was charged, and the same may be sent again", "true"))
	f(&weir.StateError{Limit: "take/1s", Err: errors.New("torn")}, 503,
		problem("state of limit take/1s: torn; Reset heals it: nothing was charged, and the same may be sent again", "true"))
	f(weir.ErrUnknown, 503, problem("the store could not say whether it has charged (unknown): to send the same again may charge twice", "false"))
	f(errors.New("boom at 10.0.0.1"), 503, problem("the store could not say whether it has charged (other): to send the same again may charge twice", "false"))
	f(fmt.Errorf("%w: no slots", weir.ErrUnsupported), 400, `{"type":"about:blank","title":"Bad Request","status":400,"detail":"not supported: no slots"}`)
	f(fmt.Errorf("%w: %s", weir.ErrNotApplied, strings.Repeat("x", 1000)), 503,
		problem("not applied: "+strings.Repeat("x", 287)+"…: nothing was charged, and the same may be sent again", "true"))
}

// A caller who brings more limits than the store has room for is told that.
func TestTooManyLimits(t *testing.T) {
	m, err := memstore.New(memstore.Config{MaxKeys: 64, Now: func() weir.Micros { return start }})
	if err != nil {
		t.Fatal(err)
	}
	g := rigged(t, m)
	for i := range 200 {
		w := g.post("/v1/take", fmt.Sprintf(`{"key":"k%d","limit":"1 per %ds burst 1"}`, i, i+1))
		if w.Code == http.StatusServiceUnavailable {
			const problem, remedy = " is one more than the table has room for: ", "; raise memory.max_keys in the daemon's rules file, or ask under fewer limits: nothing was charged"
			if !strings.Contains(w.Body.String(), problem) || !strings.Contains(w.Body.String(), remedy) || w.Header().Get("Retry-After") != "1" {
				t.Errorf("%v %s", w.Header(), w.Body)
			}
			return
		}
	}
	t.Error("200 limits found room in a store of 64 keys")
}

func TestAPanicIsAnAnswer(t *testing.T) {
	g := rigged(t, failing{panic: "of user:42"})
	g.engine.decide = func(*weir.Request, *weir.Outcome) { panic(errors.New("of user:42")) }
	const want = `{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"a defect of weir: its log has more"}`
	g.answers("/v1/take", `{"key":"user:42","limit":"5/s"}`, 500, want)
	g.answers("/v1/check", `{"method":"GET","path":"/"}`, 500, want)
	g.answers("/v1/explain", `{"method":"GET","path":"/"}`, 500, want)
	if log := g.log.String(); strings.Count(log, "panic in a decision") != 3 || strings.Contains(log, "user:42") || !strings.Contains(log, "helper_test.go") {
		t.Errorf("the log: %s", log)
	}
}
