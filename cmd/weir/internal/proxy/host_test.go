package proxy_test

import (
	"net/http"
	"testing"
)

// What is decided for a host is what the upstream is told, and a host that is read
// in several ways is refused.
func TestHosts(t *testing.T) {
	seen := make(chan string, 10)
	r := newRig(t, plan{upstream: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Host })})
	f := func(head string, status int) {
		t.Helper()
		before := len(r.script.asked())
		res, _ := r.send(head + "Connection: close\n\n")
		if res.StatusCode != status {
			t.Errorf("%q: %d, want %d", head, res.StatusCode, status)
			return
		}
		asked := r.script.asked()
		if status != http.StatusOK {
			if len(asked) != before {
				t.Errorf("%q was decided", head)
			}
			return
		}
		if got, decided := <-seen, asked[len(asked)-1].Host; got != decided || decided == "" {
			t.Errorf("%q: decided for %q, sent to %q", head, decided, got)
		}
	}
	for _, host := range []string{"api.example", "API.example.:80", "localhost", "a_b.example", "192.0.2.1:80", "[2001:db8::1]", "[::1]:80", "xn--bcher-kva.example"} {
		f("GET /h HTTP/1.1\nHost: "+host+"\n", 200)
	}
	f("GET /h HTTP/1.0\n", 200) // without a host it is the upstream's own
	f("GET /h HTTP/1.1\nHost:\n", 200)
	for _, host := range []string{"api.example..", "a..b", ".example", "[api.example]", "[::1%eth0]", "api%2eexample", "api.example:x", "a,b", "[::1]x", "a:1:2"} {
		f("GET /h HTTP/1.1\nHost: "+host+"\n", 400)
	}
}
