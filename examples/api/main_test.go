package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"
)

// started runs the command on a free port and gives its address. When the test
// ends it is stopped, which must be no error.
func started(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), in, io.Discard)
		in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url, _, ok := strings.Cut(strings.TrimPrefix(line, "listening on "), ";")
	if !ok {
		t.Fatalf("printed %q", line)
	}
	return url
}

// send makes one request of its own and gives the answer with its body.
func send(t *testing.T, method, url string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

// The promise of the README: five pass, the sixth is refused and told all.
func TestFivePassAndTheSixthIsRefused(t *testing.T) {
	url := started(t, "-debug", "-limit", "5/min burst 5") // slower than the default, so that no pause in the test refills it
	for i := range 5 {
		res, body := send(t, http.MethodPost, url+"/api/v1/jobs?n=1", nil)
		if res.StatusCode != http.StatusOK || body != `{"job":"1","state":"accepted"}`+"\n" {
			t.Fatalf("answer %d: %s, %s", i+1, res.Status, body)
		}
		for _, name := range []string{"RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Weir-Decided"} {
			if len(res.Header.Values(name)) != 1 {
				t.Errorf("answer %d: %s: %q", i+1, name, res.Header.Values(name))
			}
		}
		if res.Header.Get("Retry-After") != "" {
			t.Errorf("answer %d has Retry-After", i+1)
		}
	}
	res, body := send(t, http.MethodPost, url+"/api/v1/jobs?n=6", nil)
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, `"violated-policies":["create-job"]`) {
		t.Fatalf("the sixth answer: %s, %s", res.Status, body)
	}
	want := map[string]string{
		"RateLimit-Policy": `"create-job";q=5;w=60`, "X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0",
		"Cache-Control": "no-store", "Content-Type": "application/problem+json",
	}
	for name, value := range want {
		if got := res.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if retry := res.Header.Get("Retry-After"); res.Header.Get("RateLimit") != `"create-job";r=0;t=`+retry {
		t.Errorf("RateLimit: %q, Retry-After: %q", res.Header.Get("RateLimit"), retry)
	}
}

func TestOtherRoutesAreFree(t *testing.T) {
	url := started(t, "-limit", "1/day")
	for range 10 {
		for _, request := range [][2]string{{"GET", "/api/v1/jobs"}, {"POST", "/"}, {"GET", "/x"}} {
			if res, _ := send(t, request[0], url+request[1], nil); res.StatusCode != http.StatusOK || res.Header.Get("RateLimit") != "" {
				t.Fatalf("%s: %s, RateLimit %q", request, res.Status, res.Header.Get("RateLimit"))
			}
		}
	}
}

func TestForwardedForIsBelievedOfTrustedProxiesAlone(t *testing.T) {
	f := func(second int, args ...string) {
		t.Helper()
		url := started(t, append(args, "-limit", "1/day")...) + "/api/v1/jobs"
		for i, want := range []int{http.StatusOK, second} {
			caller := http.Header{"X-Forwarded-For": {"203.0.113." + string(rune('1'+i))}}
			if res, _ := send(t, http.MethodPost, url, caller); res.StatusCode != want {
				t.Errorf("%v: answer %d: %s, want %d", args, i+1, res.Status, want)
			}
		}
	}
	f(http.StatusTooManyRequests)
	f(http.StatusTooManyRequests, "-trust", "10.0.0.0/8")
	f(http.StatusOK, "-trust", "127.0.0.0/8")
	f(http.StatusTooManyRequests, "-trust", "127.0.0.0/8", "-prefix", "24")
}

func TestWrongCommandLines(t *testing.T) {
	f := func(want error, says string, args ...string) {
		t.Helper()
		var stderr strings.Builder
		err := run(t.Context(), args, io.Discard, &stderr)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.Contains(stderr.String()+err.Error(), says) {
			t.Errorf("%q: %v, %s", args, err, stderr.String())
		}
	}
	f(flag.ErrHelp, "-limit", "-h")
	f(errUsage, "takes no arguments", "serve")
	f(errUsage, "nonsense", "-nonsense")
	f(errUsage, "prefix", "-trust", "10.0.0.0")
	f(nil, `Limits[0] "5/x"`, "-limit", "5/x")
	f(nil, "trusts everyone", "-trust", "0.0.0.0/0")
	f(nil, "-match", "-match", "POST")
	f(nil, "listen", "-addr", "127.0.0.1:-1")
}
