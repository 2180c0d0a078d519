package decide_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/header"
)

func TestCheck(t *testing.T) {
	g := rigged(t, nil)
	ask := func(cost int) string {
		return fmt.Sprintf(`{"method":"POST","host":"api.example","path":"/api/v1/jobs","headers":{"X-Api-Key":["k"]},"ip":"203.0.113.7","cost":%d}`, cost)
	}
	g.answers("/v1/check", ask(5), 200, `{"allowed":true,"status":200,"binding":"create-job","retry_after_ms":0,"decided_at":1796022366123456,`+
		`"headers":{"Ratelimit":"\"create-job\";r=0;t=1","Ratelimit-Policy":"\"create-job\";q=5;w=1","X-Ratelimit-Limit":"5","X-Ratelimit-Remaining":"0","X-Ratelimit-Reset":"1"},`+
		`"policies":[`+
		`{"rule":"create-job","limit":"create-job","shadow":false,"allowed":true,"count":5,"capacity":5,"remaining":0,"retry_after_ms":0,"reset_after_ms":1000,"mode":"exact"},`+
		`{"rule":"trial","limit":"trial/1d","shadow":true,"allowed":false,"count":1,"capacity":1,"remaining":1,"never":true,"reset_after_ms":0,"mode":"exact"}]}`)
	g.clock.Advance(19_999)
	g.answers("/v1/check", ask(1), 200, `{"allowed":false,"status":429,"binding":"create-job","retry_after_ms":181,"decided_at":1796022366143455,`+
		`"headers":{"Cache-Control":"no-store","Ratelimit":"\"create-job\";r=0;t=1","Ratelimit-Policy":"\"create-job\";q=5;w=1","Retry-After":"1","X-Ratelimit-Limit":"5","X-Ratelimit-Remaining":"0","X-Ratelimit-Reset":"1"},`+
		`"policies":[`+
		`{"rule":"create-job","limit":"create-job","shadow":false,"allowed":false,"count":5,"capacity":5,"remaining":0,"retry_after_ms":181,"reset_after_ms":981,"mode":"exact"},`+
		`{"rule":"trial","limit":"trial/1d","shadow":true,"allowed":true,"count":1,"capacity":1,"remaining":1,"retry_after_ms":0,"reset_after_ms":0,"mode":"exact"}]}`)
	g.refuses("/v1/check", ask(6), 200, `"status":422,"binding":"create-job","never":true,"decided_at"`)
}

// Who is let in later is told when; the shadow's delay is its own.
func TestCheckTellsTheDelay(t *testing.T) {
	g := rigged(t, nil)
	g.limits = [...]*weir.Limit{weir.MustLimit("create-job", "7/s leaky-bucket queue 1"), weir.MustLimit("trial/1s", "1/s leaky-bucket wait 1s")}
	const ask = `{"method":"POST","path":"/api/v1/jobs","ip":"203.0.113.7"}`
	g.post("/v1/check", ask)
	g.answers("/v1/check", ask, 200, `{"allowed":true,"status":200,"binding":"create-job","retry_after_ms":0,"delay_ms":143,"decided_at":1796022366123456,`+
		`"headers":{"Ratelimit":"\"create-job\";r=0;t=1","Ratelimit-Policy":"\"create-job\";q=7;w=1;weir-burst=2","X-Ratelimit-Limit":"2","X-Ratelimit-Remaining":"0","X-Ratelimit-Reset":"1"},`+
		`"policies":[`+
		`{"rule":"create-job","limit":"create-job","shadow":false,"allowed":true,"count":7,"capacity":2,"remaining":0,"retry_after_ms":0,"delay_ms":143,"reset_after_ms":286,"mode":"exact"},`+
		`{"rule":"trial","limit":"trial/1s","shadow":true,"allowed":true,"count":1,"capacity":2,"remaining":0,"retry_after_ms":0,"delay_ms":1000,"reset_after_ms":2000,"mode":"exact"}]}`)
}

// A block is told of by the limit whose it is, and of the whole by the one that decides:
// a shadow's is its own.
func TestCheckTellsOfBlocks(t *testing.T) {
	const ask = `{"method":"POST","path":"/api/v1/jobs","ip":"203.0.113.7"}`
	f := func(first, second, binding string, whole, parts string) {
		t.Helper()
		g := rigged(t, nil)
		g.limits = [...]*weir.Limit{weir.MustLimit("create-job", first), weir.MustLimit("trial", second)}
		g.post("/v1/check", ask)
		g.refuses("/v1/check", ask, 200, `"binding":"create-job","retry_after_ms":`+binding+whole+`,"decided_at"`,
			`"limit":"create-job","shadow":false`, `"limit":"trial","shadow":true,"allowed":false,"count":1,"capacity":1,"remaining":0,"retry_after_ms":`+parts+`,"reset_after_ms"`)
	}
	f("1/s block 2s", "1/s", "2000", `,"blocked":true`, "1000")
	f("1/s", "1/s block 2s", "1000", "", `2000,"blocked":true`)
}

// Refusals that no limit made.
func TestCheckWithoutTakes(t *testing.T) {
	g := rigged(t, nil)
	f := func(decide func(*weir.Request, *weir.Outcome), want string) {
		t.Helper()
		g.engine.decide = decide
		g.answers("/v1/check", `{"method":"GET","path":"/"}`, 200, want)
	}
	refuse := func(c weir.Cause, rule string, err error) func(*weir.Request, *weir.Outcome) {
		return func(_ *weir.Request, o *weir.Outcome) {
			o.Refuse(c, err)
			o.Rule = rule
		}
	}
	f(func(_ *weir.Request, o *weir.Outcome) { o.Pass() },
		`{"allowed":true,"status":200,"retry_after_ms":0,"headers":{},"policies":[]}`)
	f(refuse(weir.ByDeny, "vault", nil),
		`{"allowed":false,"status":403,"binding":"vault","reason":"deny","detail":"such requests are not let through","never":true,"headers":{"Cache-Control":"no-store"},"policies":[]}`)
	f(refuse(weir.ByMissing, "api", header.Unauthorized("Bearer", nil)),
		`{"allowed":false,"status":401,"binding":"api","reason":"missing","detail":"the request lacks the credentials that it is counted by","never":true,"headers":{"Cache-Control":"no-store","Www-Authenticate":"Bearer"},"policies":[]}`)
	f(refuse(weir.ByRequest, "", weir.Invalid("path", "/secret", "it can be read in two ways", "send it in its plain form")),
		`{"allowed":false,"status":400,"reason":"request","detail":"path: it can be read in two ways; send it in its plain form","never":true,"headers":{"Cache-Control":"no-store"},"policies":[]}`)
	f(refuse(weir.ByRequest, "", errors.New("ambiguous /secret")),
		`{"allowed":false,"status":400,"reason":"request","detail":"the request cannot be judged as it stands","never":true,"headers":{"Cache-Control":"no-store"},"policies":[]}`)

	g.engine.decide = refuse(weir.ByFault, "api", weir.ErrUnknown)
	w := g.post("/v1/check", `{"method":"GET","path":"/"}`)
	jittered := false
	for s := 1; s <= 3; s++ {
		jittered = jittered || strings.TrimSpace(w.Body.String()) == fmt.Sprintf(`{"allowed":false,"status":503,"binding":"api","reason":"fault",`+
			`"detail":"it could not be decided whether the request may pass; retry in %[1]d s","retry_after_ms":%[1]d000,`+
			`"headers":{"Cache-Control":"no-store","Retry-After":"%[1]d"},"policies":[]}`, s)
	}
	if !jittered {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// A rule's own words for the refused.
	g.engine.decide = func(r *weir.Request, o *weir.Outcome) {
		o.Refuse(weir.ByDeny, nil)
		o.Refusal = &weir.Refusal{Status: 404, Detail: "there is no such page"}
	}
	g.refuses("/v1/check", `{"method":"GET","path":"/"}`, 200, `"allowed":false,"status":404,"reason":"deny","detail":"there is no such page"`)
	g.refuses("/v1/check", `{"method":"HEAD","path":"/"}`, 200, `"detail":"there is no such page"`)
}

func TestWhatTheEngineIsAsked(t *testing.T) {
	g := rigged(t, nil)
	f := func(body string, want weir.Request) {
		t.Helper()
		for _, path := range []string{"/v1/check", "/v1/explain"} {
			if w := g.post(path, body); w.Code != 200 {
				t.Fatalf("%s: %d %s", body, w.Code, w.Body)
			}
			if diff := cmp.Diff(want, *g.engine.asked, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("%s: %s", body, diff)
			}
		}
	}
	f(`{"method":"GET","path":"/"}`, weir.Request{Method: "GET", Path: "/"})
	f(`{"method":"BREW","host":"API.example:80","path":"/a%2Fb/é?x=1&y=%20","ip":"::ffff:203.0.113.7"}`, weir.Request{
		Method: "BREW", Host: "API.example:80", Path: "/a%2Fb/é", Query: "x=1&y=%20", Addr: netip.MustParseAddr("203.0.113.7"),
	})
	f(`{"method":"GET","path":"/","query":"q=1","headers":{"x-api-KEY":"k","Cookie":[" a=1","b=2\t"],"X-Empty":""},"cost":3,"ip":"2001:db8::1"}`, weir.Request{
		Method: "GET", Path: "/", Query: "q=1", Cost: 3, Addr: netip.MustParseAddr("2001:db8::1"),
		Header: map[string][]string{"X-Api-Key": {"k"}, "Cookie": {"a=1", "b=2"}, "X-Empty": {""}},
	})
	f(`{"method":"GET","path":"/?"}`, weir.Request{Method: "GET", Path: "/"})
	f(`{"method":"GET","path":"/?a?b"}`, weir.Request{Method: "GET", Path: "/", Query: "a?b"})
}

func TestCheckRefusesWhatItCannotRead(t *testing.T) {
	g := rigged(t, nil)
	f := func(more string, parts ...string) {
		t.Helper()
		for _, path := range []string{"/v1/check", "/v1/explain"} {
			g.refuses(path, `{`+more+`}`, 400, parts...)
		}
	}
	ok := func(more string, parts ...string) {
		t.Helper()
		f(`"method":"GET","path":"/",`+more, parts...)
	}
	f(``, `method: it is missing; write one, as in GET (and 1 more: see errors)`, `"field":"path","detail":"it is missing"`)
	f(`"method":"","path":""`, `method: it is empty`, `"field":"path","detail":"it is empty"`)
	f(`"method":"G T","path":"/"`, `method: it is no token of HTTP`)
	f(`"method":"GET\r\n","path":"/"`, `method: it is no token of HTTP`)
	f(`"method":"GÉT","path":"/"`, `method: it is no token of HTTP`)
	f(`"method":"`+strings.Repeat("G", 65)+`","path":"/"`, `method: it has 65 bytes`)
	f(`"method":"GET","path":"jobs"`, `path: it does not begin with a slash; write the path alone`)
	f(`"method":"GET","path":"http://api.example/"`, `path: it does not begin with a slash`)
	f(`"method":"GET","path":"/a b"`, `path: it holds what no request line does; escape it, as in %20 for a space`)
	f(`"method":"GET","path":"/a\u0000"`, `path: it holds`)
	f(`"method":"GET","path":"/?a b"`, `query: it holds`)
	f(`"method":"GET","path":"/?a","query":"b"`, `query: the path has one already; write it in one place`)
	f(`"method":"GET","path":7`, `path: it must be a text, not a number`)
	ok(`"query":"?a"`, `query: it begins with a question mark; leave that out`)
	ok(`"query":"a\n"`, `query: it holds`)
	ok(`"host":"a b"`, `host: it is no host`)
	ok(`"host":"http://a"`, `host: it is no host`)
	ok(`"host":"`+strings.Repeat("h", 321)+`"`, `host: it is no host`)
	ok(`"ip":"203.0.113.7:80"`, `ip: it is no address; write it without port, brackets and prefix`)
	ok(`"ip":"203.0.113.0/24"`, `ip: it is no address`)
	ok(`"ip":""`, `ip: it is no address`)
	ok(`"ip":"010.0.0.1"`, `ip: it is no address`)
	ok(`"ip":"fe80::1%eth0"`, `ip: an address with a zone`)
	ok(`"headers":[]`, `headers: it must be an object, not a list`)
	ok(`"headers":{"X":1}`, `headers.X: it must be a text or a list of texts, not a number`)
	ok(`"headers":{"X":null}`, `headers.X: it must be a text or a list of texts, not null`)
	ok(`"headers":{"X":[]}`, `headers.X: it has no value; leave it out`)
	ok(`"headers":{"X":["a",1,null]}`, `headers.X[1]: it must be a text, not a number`, `headers.X[2]`)
	ok(`"headers":{"X":[["a"]]}`, `body: it is nested too deeply`)
	ok(`"headers":{"X Y":"a"}`, `headers.X Y: no header has such a name`)
	ok(`"headers":{"":"a"}`, `no header has such a name`)
	ok(`"headers":{":path":"a"}`, `no header has such a name`)
	ok(`"headers":{"X":"a\nb"}`, `headers.X: it holds a control character`)
	ok(`"headers":{"X":"a\u0000"}`, `headers.X: it holds a control character`)
	ok(`"headers":{"X":"a","X":"b"}`, `headers.X: it stands there twice`)
	ok(`"headers":{"x-a":"a","X-A":"b"}`, `headers.X-A: it stands there in another case as well; write all its values in one list`)
	ok(`"headers":{"host":"a"}`, `headers.host: the host is no header here; write it in the field host`)
	ok(`"headers":{"X":["`+strings.Repeat(`a","`, 256)+`a"]}`, `headers: there are 257 lines; send at most 256`)
	ok(`"header":{}`, `header: there is no such field; did you mean headers?`)
}

func TestExplain(t *testing.T) {
	g := rigged(t, nil)
	w := g.post("/v1/explain", `{"method":"GET","path":"/a","ip":"203.0.113.7","cost":6}`)
	for _, part := range []string{`"method":"GET"`, `"path":"/a"`, `"allowed":false`, `"rules":[]`, `"status":422`, `"headers":{"Cache-Control":"no-store",`} {
		if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%d %s lacks %s", w.Code, w.Body, part)
		}
	}
}
