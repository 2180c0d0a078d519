package proxy_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/listen"
	"github.com/weirhq/weir/cmd/weir/internal/proxy"
	"github.com/weirhq/weir/header"
)

func TestRefusal(t *testing.T) {
	upstream, came := seen()
	r := newRig(t, plan{upstream: upstream, decide: refuse})
	res, text := r.do(http.MethodGet, nil)
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, `"violated-policies":["create-job"]`) {
		t.Errorf("%s: %s", res.Status, text)
	}
	field(t, res.Header, "Retry-After", "1")
	field(t, res.Header, "Cache-Control", "no-store")
	if _, text = r.do(http.MethodHead, nil); text != "" {
		t.Errorf("HEAD has a body: %s", text)
	}
	if len(came) > 0 {
		t.Error("the upstream was asked")
	}
}

// A client that asks before it sends its body is answered without one.
func TestRefusalBeforeContinue(t *testing.T) {
	r := newRig(t, plan{decide: refuse})
	res, _ := r.send("POST / HTTP/1.1\nHost: h\nContent-Length: 1000\nExpect: 100-continue\n\n")
	if res.StatusCode != http.StatusTooManyRequests || !res.Close {
		t.Errorf("%s, close %t", res.Status, res.Close)
	}
}

// A body that is announced and does not come holds the connection no longer
// than Drain; a short one that comes leaves it in use.
func TestRefusalLeavesBody(t *testing.T) {
	p := plan{decide: refuse}
	p.config.Timeouts.Drain = 20 * time.Millisecond
	r := newRig(t, p)
	for _, test := range []struct {
		announce string
		close    bool
	}{
		{"Content-Length: 4\n\nbody", false},
		{"Content-Length: 4\n\nbo", true},
		{"Content-Length: 65537\n\n", true},
		{"Content-Length: 1000000000\n\n", true},
		{"Transfer-Encoding: chunked\n\n", true},
	} {
		c := r.dial()
		write(t, c, "POST / HTTP/1.1\nHost: h\n"+test.announce)
		from := bufio.NewReader(c)
		res, _ := answerOf(t, from, http.MethodPost)
		if res.StatusCode != http.StatusTooManyRequests || res.Close != test.close {
			t.Errorf("%q: %s, close %t", test.announce, res.Status, res.Close)
		}
		if !test.close {
			write(t, c, "GET / HTTP/1.1\nHost: h\n\n")
			answerOf(t, from, http.MethodGet)
		} else if _, err := from.ReadByte(); err == nil || os.IsTimeout(err) {
			t.Errorf("%q: the connection goes on", test.announce)
		}
	}
}

func TestRefusalOfGRPC(t *testing.T) {
	server, client := certified(t)
	fault := func(c weir.Cause, err error) func(*weir.Request, *weir.Outcome) {
		return func(_ *weir.Request, o *weir.Outcome) { o.Refuse(c, err) }
	}
	never := func(_ *weir.Request, o *weir.Outcome) { decided(o, weir.Decision{Never: true}) }
	blocked := func(_ *weir.Request, o *weir.Outcome) { decided(o, weir.Decision{Blocked: true, RetryAfter: 9000}) }
	for _, test := range []struct {
		name, kind, want, code, pushback string
		decide                           func(*weir.Request, *weir.Outcome)
	}{
		{"limit", "application/grpc", "application/grpc", "8", "181", refuse},
		{"never", "application/grpc+proto", "application/grpc", "8", "-1", never},
		{"blocked", "application/grpc", "application/grpc", "8", "9", blocked},
		{"deny", "application/grpc", "application/grpc", "7", "", fault(weir.ByDeny, nil)},
		{"missing", "application/grpc;x", "application/grpc", "3", "", fault(weir.ByMissing, io.EOF)},
		{"credentials", "Application/GRPC", "application/grpc", "16", "", fault(weir.ByMissing, header.Unauthorized("", nil))},
		{"fault", "application/grpc-web+proto", "application/grpc-web", "14", "", fault(weir.ByFault, io.EOF)},
		{"text", "application/grpc-web-text", "application/grpc-web-text", "8", "181", refuse},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, plan{decide: test.decide, listen: listen.Config{TLS: server}})
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/s/m", strings.NewReader("....."))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", test.kind)
			res, text := roundTrip(t, &http.Transport{TLSClientConfig: client, ForceAttemptHTTP2: true}, req)
			if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 || text != "" || len(res.Trailer) > 0 {
				t.Errorf("%s %s %q", res.Proto, res.Status, text)
			}
			field(t, res.Header, "Content-Type", test.want)
			field(t, res.Header, "Grpc-Status", test.code)
			field(t, res.Header, "Grpc-Retry-Pushback-Ms", test.pushback)
			if test.name == "blocked" {
				field(t, res.Header, "Grpc-Message", "quota exceeded and blocked: create-job allows 5/s")
			}
			if test.pushback == "181" {
				field(t, res.Header, "Grpc-Message", "quota exceeded: create-job allows 5/s")
				field(t, res.Header, "RateLimit", `"create-job";r=0;t=1`)
			}
		})
	}
	r := newRig(t, plan{decide: refuse})
	for _, kind := range []string{"application/grpcx", "application/json", "application/gr"} {
		if res, _ := r.do(http.MethodPost, nil, "Content-Type: "+kind); res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: %s", kind, res.Status)
		}
	}
}

// S24: a header of too many or too long fields costs no decision.
func TestLargeHeaders(t *testing.T) {
	r := newRig(t, plan{})
	for name, lines := range map[string]string{
		"1 MiB":      "X-Large: " + strings.Repeat("x", 1<<20) + "\n",
		"10,000":     strings.Repeat("a:\n", 10_000),
		"257 alike":  strings.Repeat("A: b\n", 257),
		"1e5 crumbs": "Cookie: " + strings.Repeat("a=b;", 100_000) + "\n",
	} {
		c := r.dial()
		go func() {
			_, _ = io.WriteString(c, strings.ReplaceAll("GET / HTTP/1.1\nHost: h\n"+lines+"\n", "\n", "\r\n"))
		}()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %v %v", name, res, err)
		}
	}
	if n := len(r.script.asked()); n > 0 {
		t.Errorf("decided %d", n)
	}
	if res, _ := r.send("GET / HTTP/1.1\nHost: h\n" + strings.Repeat("A: b\n", 256) + "\n"); res.StatusCode != http.StatusOK {
		t.Errorf("256 fields: %s", res.Status)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	_, err := proxy.NewSettings(proxy.Options{Strip: []string{"X_Plan", "X-Plan"}})
	for _, part := range []string{"Decider", "Header", "upstream", "X_Plan"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
	_, err = proxy.New(proxy.Config{Timeouts: proxy.Timeouts{Drain: -1}})
	for _, part := range []string{"Settings", "Drain"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not named: %v", part, err)
		}
	}
}
