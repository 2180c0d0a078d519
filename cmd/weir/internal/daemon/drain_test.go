package daemon_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
)

const open = "version: 1\nlisten: {proxy: '127.0.0.1:0', ops: '127.0.0.1:0'}\nupstream: "

// TestReadinessGoesFirst drains for an hour: the balancer is told to look
// elsewhere, and who comes all the same is served.
func TestReadinessGoesFirst(t *testing.T) {
	r := newRig(t, open+"demo\n")
	c := r.config()
	c.DrainDelay = time.Hour
	r.begin(c)
	r.want(200, `{"ready":true}`, r.log.url("ops")+"/readyz")
	r.term()
	if !within(func() bool { status, _, _ := get(r.log.url("ops") + "/readyz"); return status == 503 }) {
		t.Error("still ready")
	}
	r.want(503, `{"ready":false,"reasons":["draining"]}`, r.log.url("ops")+"/readyz")
	r.want(200, "", r.log.url("ops")+"/healthz")
	r.want(200, "weir demo", r.log.url("proxy"))
	r.signal(syscall.SIGHUP) // is nothing now
	r.want(200, "weir demo", r.log.url("proxy"))
	r.term()
	if err := r.ends(); !errors.Is(err, daemon.ErrCut) {
		t.Errorf("after a second signal: %v", err)
	}
}

// TestInFlight has a request in flight that ends as if nothing were, while
// nobody new is let in and operators are still answered.
func TestInFlight(t *testing.T) {
	u := newUpstream(t)
	r := newRig(t, open+u.URL+"\n")
	r.begin(r.config())
	got := u.inFlight(t, r.log.url("proxy"))
	r.term()
	if !within(func() bool { return !listens(r.log.url("proxy")) }) {
		t.Error("new connections are let in")
	}
	r.want(503, "draining", r.log.url("ops")+"/readyz")
	if len(r.done) > 0 {
		t.Fatalf("it has not waited: %v", <-r.done)
	}
	u.release <- struct{}{}
	if a := <-got; a.err != nil || a.status != http.StatusOK || a.body != "served" {
		t.Errorf("in flight: %+v", a)
	}
	if err := r.ends(); err != nil {
		t.Error(err)
	}
	if listens(r.log.url("ops")) {
		t.Error("operators are still answered")
	}
}

func TestDrainTimeout(t *testing.T) {
	u := newUpstream(t)
	r := newRig(t, open+u.URL+"\n")
	c := r.config()
	c.DrainTimeout = 50 * time.Millisecond
	r.begin(c)
	got := u.inFlight(t, r.log.url("proxy"))
	r.term()
	if err := r.ends(); err == nil || !strings.Contains(err.Error(), "cut off") || errors.Is(err, daemon.ErrCut) {
		t.Errorf("%v", err)
	}
	if a := <-got; a.err == nil {
		t.Errorf("answered all the same: %+v", a)
	}
}

func TestSecondSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		u := newUpstream(t)
		r := newRig(t, open+u.URL+"\n")
		r.begin(r.config())
		got := u.inFlight(t, r.log.url("proxy"))
		r.signal(s)
		r.signal(s)
		if err := r.ends(); !errors.Is(err, daemon.ErrCut) {
			t.Errorf("after a second %v: %v", s, err)
		}
		if a := <-got; a.err == nil {
			t.Errorf("answered all the same: %+v", a)
		}
	}
}

// TestNothingIsLeft counts goroutines before and after.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(t, open+"demo\nrules: [{name: all, limit: 5/s}]\n")
	go func() { r.done <- daemon.Run(ctx, r.config()) }()
	if !within(func() bool { return strings.Contains(r.log.String(), "weir serves") }) {
		t.Fatal(&r.log)
	}
	for range 10 {
		r.want(200, "ready", r.log.url("ops")+"/readyz")
		if _, _, err := get(r.log.url("proxy")); err != nil {
			t.Error(err)
		}
	}
	cancel() // as good as a signal
	if err := r.ends(); err != nil {
		t.Error(err)
	}
	if !within(func() bool { return runtime.NumGoroutine() <= before }) {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
	}
}

// listens reports whether a listener takes connections.
func listens(url string) bool {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// TestDrainingIsTended turns the switch during the drain's delay, and has refusals
// left out that nobody would tell of but the end.
func TestDrainingIsTended(t *testing.T) {
	r := newRig(t, open+"demo\nrules: [{name: closed, match: GET /closed, limit: deny}]\n")
	c := r.config()
	c.DrainDelay, c.SwitchFile = time.Hour, filepath.Join(r.dir, "switch")
	now := time.Now()
	c.Now = func() time.Time { return now } // one second that does not end
	r.begin(c)
	r.term()
	closed := r.log.url("proxy") + "/closed"
	for range 12 {
		r.want(403, "", closed)
	}
	r.tick(1)
	if n := strings.Count(r.log.String(), `"msg":"refusals left out","rule":"closed","left_out":2`); n != 1 {
		t.Errorf("told %d times of what a tick should tell:\n%s", n, &r.log)
	}
	for range 3 {
		r.want(403, "", closed)
	}
	r.write("switch", "off")
	r.tick(1)
	r.want(200, "", closed)
	r.write("switch", "on")
	r.tick(1)
	r.want(403, "", closed)
	r.term()
	if err := r.ends(); !errors.Is(err, daemon.ErrCut) {
		t.Error(err)
	}
	if !strings.HasSuffix(strings.TrimSpace(r.log.String()), `"msg":"refusals left out","rule":"closed","left_out":1}`) {
		t.Errorf("the last refusal is lost:\n%s", &r.log)
	}
}

// TestWhoWaitsIsSentAway ends a daemon in which a request waits for an hour: it is
// answered, and nobody waits for it.
func TestWhoWaitsIsSentAway(t *testing.T) {
	r := newRig(t, open+"demo\nrules: [{name: all, limit: 1/h leaky-bucket queue 5}]\n")
	r.begin(r.config())
	r.want(200, "weir demo", r.log.url("proxy"))
	got := make(chan int, 1)
	go func() {
		status, _, _ := get(r.log.url("proxy"))
		got <- status
	}()
	waits := func() bool {
		_, text, _ := get(r.log.url("ops") + "/metrics")
		return strings.Contains(text, "\nweir_proxy_waiting 1\n")
	}
	if !within(waits) {
		t.Fatal("nobody waits")
	}
	r.term()
	if err := r.ends(); err != nil {
		t.Error(err)
	}
	if status := <-got; status != http.StatusTooManyRequests {
		t.Errorf("who waited was answered %d", status)
	}
}
