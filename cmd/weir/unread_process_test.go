package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/doctest"
)

// fullPipe is one in which no line has room.
func fullPipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	for {
		_ = write.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		if _, err := write.Write(make([]byte, 4096)); err != nil {
			return read, write
		}
	}
}

// unread is a `weir serve` whose log nobody reads, found by a socket: the log would
// say where else it listens.
type unread struct {
	*testing.T

	client *http.Client
	cmd    *exec.Cmd
	ended  chan error
}

// unheard starts one with these rules, and waits until it serves.
func unheard(t *testing.T, rules string, env []string, args ...string) (u *unread, reader *os.File) {
	t.Helper()
	dir := t.TempDir()
	rules = strings.ReplaceAll(rules, "proxy: '127.0.0.1:0', ops: '127.0.0.1:0'", "proxy: 'unix:"+dir+"/p', ops: 'unix:"+dir+"/o'")
	file := filepath.Join(dir, "weir.yaml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write := fullPipe(t)
	u = &unread{T: t, ended: make(chan error, 1)}
	u.cmd = exec.Command(build(t), append([]string{"serve", "--log-format", "json", "--log-level", "debug", file}, args...)...)
	u.cmd.Env, u.cmd.Stderr = append(os.Environ(), env...), write
	doctest.EndWithTest(u.cmd, syscall.SIGKILL)
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	go func() { u.ended <- u.cmd.Wait() }()
	t.Cleanup(func() { _ = u.cmd.Process.Kill() })
	u.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", dir+"/p")
	}}}
	if !within(testPatience, func() bool { return u.ask() != 0 }) {
		t.Fatal("it does not serve")
	}
	return u, read
}

// ask gives the status of an answer, 0 where there is none.
func (u *unread) ask() int {
	req, err := http.NewRequestWithContext(u.Context(), http.MethodPost, "http://weir/jobs", http.NoBody)
	if err != nil {
		return 0
	}
	req.Header.Set("X-Forwarded-For", "192.0.2.7")
	res, err := u.client.Do(req)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

// term sends SIGTERM, and checks the exit code: -1 is no end.
func (u *unread) term(code int) {
	u.Helper()
	if err := u.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		u.Fatal(err)
	}
	if !within(testPatience, func() bool { return len(u.ended) > 0 }) {
		u.Fatalf("after %v SIGTERM has not ended it", testPatience)
	}
	if <-u.ended; u.cmd.ProcessState.ExitCode() != code {
		u.Errorf("ended with %v, want %d", u.cmd.ProcessState, code)
	}
}

// TestProcessLogIsNotRead goes on when nobody reads the log, and when its reader
// has gone: requests are answered, the switch turns, and SIGTERM ends it.
func TestProcessLogIsNotRead(t *testing.T) {
	position := filepath.Join(t.TempDir(), "switch")
	rules := strings.ReplaceAll(oneRule, "5/h", "deny") + "client_ip: {trusted_proxies: [127.0.0.1], header: X-Forwarded-For, unix: trust}\n"
	u, read := unheard(t, rules, []string{"WEIR_SWITCH_FILE=" + position})
	for range 200 {
		if got := u.ask(); got != http.StatusForbidden {
			t.Fatalf("a refusal waits for its log: %d", got)
		}
	}
	if err := os.WriteFile(position, []byte("off"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !within(testPatience, func() bool { return u.ask() == http.StatusOK }) {
		t.Fatal("the switch does not turn")
	}
	read.Close() // whoever reads is gone
	if u.ask() != http.StatusOK {
		t.Fatal("it went with its reader")
	}
	u.term(exitOK)
}

// TestProcessLastWordIsNotRead has something to say at its end, to nobody: a
// request is in flight for longer than draining may take.
func TestProcessLastWordIsNotRead(t *testing.T) {
	var calls atomic.Int64
	arrived := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 { // the first is to see whether it serves
			close(arrived)
			<-r.Context().Done()
		}
	}))
	t.Cleanup(upstream.Close)
	rules := oneRule + "client_ip: {trusted_proxies: [127.0.0.1], header: X-Forwarded-For, unix: trust}\n"
	u, _ := unheard(t, rules, []string{"WEIR_UPSTREAM=" + upstream.URL}, "--drain-timeout", "100ms")
	go u.ask()
	select {
	case <-arrived:
	case <-time.After(testPatience):
		t.Fatal("the upstream is not asked")
	}
	u.term(exitFailure)
}
