package daemon_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask asks the http listener, and gives the answer's status and body.
func (r *rig) ask(path, body string) string {
	r.Helper()
	res, err := http.Post(r.log.url("http")+path, "application/json", strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		r.Error(err)
	}
	return res.Status + " " + string(got)
}

// request is what a proxy would be sent, as the http listener is told of it.
const request = `{"method":"GET","host":"h","path":"/api","ip":"127.0.0.1"}`

// TestRequestsInFlight holds slots in the proxy, through a reload as well, and leaves
// them out where nobody knows when a request is over.
func TestRequestsInFlight(t *testing.T) {
	u := newUpstream(t)
	rules := func(limit string) string {
		return "version: 1\nlisten: {proxy: '127.0.0.1:0', http: '127.0.0.1:0', ops: '127.0.0.1:0'}\nupstream: " + u.URL +
			"\nrules:\n  - {name: api, match: /api, limits: [" + limit + ", 100/h]}\n  - {name: other, match: /other, limit: 5/s}\n"
	}
	r := newRig(t, rules("2 concurrent"))
	r.begin(r.config())
	log := r.log.String()
	if n := strings.Count(log, `the rule counts requests in flight: only the proxy does that","rule":"api","listener":"http"`); n != 1 || strings.Contains(log, `"rule":"other"`) {
		t.Errorf("named %d times:\n%s", n, log)
	}
	api := r.log.url("proxy") + "/api"
	first, second := u.inFlight(t, api), u.inFlight(t, api)
	r.want(429, `api/slots`, api)
	for _, asked := range []struct{ path, body, want string }{
		{"/v1/check", request, `200 OK {"allowed":true`},
		{"/v1/check", request, `"policies":[{"rule":"api","limit":"api/1h"`},
		{"/v1/explain", request, `"text":"2 concurrent","cost":1,"allowed":false`},
		{"/v1/take", `{"key":"k","limit":"5 concurrent"}`, "it counts requests in flight, and only the proxy knows when they are over"},
		{"/v1/take", `{"key":"k","limit":"5 concurrent"}`, "400 Bad Request"},
	} {
		if got := r.ask(asked.path, asked.body); !strings.Contains(got, asked.want) {
			t.Errorf("%s %s: %s, want %s", asked.path, asked.body, got, asked.want)
		}
	}

	r.write("weir.yaml", rules("1 concurrent"))
	r.tick(2)
	u.release <- struct{}{}
	var last <-chan answer
	select { // whichever of the two it is
	case a := <-first:
		last = second
		served(t, a)
	case a := <-second:
		last = first
		served(t, a)
	}
	r.want(429, `api/slots`, api)
	u.release <- struct{}{}
	served(t, <-last)
	if !within(func() bool {
		return strings.Contains(r.ask("/v1/explain", request), `"text":"1 concurrent","cost":1,"allowed":true`)
	}) {
		t.Errorf("slots are held on: %s", r.ask("/v1/explain", request))
	}
}

func served(t *testing.T, a answer) {
	t.Helper()
	if a.status != 200 || a.body != "served" || a.err != nil {
		t.Errorf("%+v", a)
	}
}
