package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/doctest"
)

const oneRule = `version: 1
listen: {proxy: '127.0.0.1:0', ops: '127.0.0.1:0'}
upstream: demo
rules:
  - {name: jobs, match: POST /jobs, limit: 5/h}
`

// TestProcessSignals is the life of a daemon: it starts, loads again, drains and
// ends with 0.
func TestProcessSignals(t *testing.T) {
	program, dir := build(t), t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "weir.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(oneRule)
	p := serving(t, program, dir, nil, "--watch=false", "weir.yaml")
	wantStatus(t, "POST", p.url("proxy")+"/jobs", 200, "X-Ratelimit-Limit: 5\n")

	write(strings.ReplaceAll(oneRule, "5/h", "7/h"))
	p.signal(syscall.SIGHUP)
	p.must(p.says(`"the rules were reloaded".*"why":"SIGHUP"`))
	wantStatus(t, "POST", p.url("proxy")+"/jobs", 200, "X-Ratelimit-Limit: 7\n")

	write("version: 2\n")
	p.signal(syscall.SIGHUP)
	p.must(p.says(`"the rules were not reloaded`))
	wantStatus(t, "POST", p.url("proxy")+"/jobs", 200, "X-Ratelimit-Limit: 7\n")

	p.signal(syscall.SIGTERM)
	p.must(p.ends(exitOK))
}

// TestProcessSecondSignal ends at once a daemon that would drain for an hour.
func TestProcessSecondSignal(t *testing.T) {
	program, dir := build(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "weir.yaml"), []byte(oneRule), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serving(t, program, dir, nil, "--drain-delay", "1h", "weir.yaml")
	p.signal(syscall.SIGINT)
	p.must(p.says(`"msg":"ending","signal":"interrupt"`))
	wantStatus(t, "GET", p.url("ops")+"/readyz", 503, "draining")
	p.signal(syscall.SIGINT)
	p.must(p.ends(exitInterrupted))
}

// TestProcessFileSwitch turns enforcement off in a process whose rules file is no
// longer there.
func TestProcessFileSwitch(t *testing.T) {
	program, dir := build(t), t.TempDir()
	file, position := filepath.Join(dir, "weir.yaml"), filepath.Join(dir, "switch")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(oneRule, "5/h", "deny")), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serving(t, program, dir, []string{"WEIR_SWITCH_FILE=" + position}, file)
	wantStatus(t, "POST", p.url("proxy")+"/jobs", 403, "")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(position, []byte("off"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(p.says(`"the switch was turned".*"to":"off"`))
	wantStatus(t, "POST", p.url("proxy")+"/jobs", 200, "")
}

// wantStatus sends a request, and checks status and a part of the answer.
func wantStatus(t *testing.T, method, url string, status int, part string) {
	t.Helper()
	answer, got, err := send(method, url)
	if err != nil || got != status || !strings.Contains(answer, part) {
		t.Errorf("%s %s: %v, %s; want %d %q", method, url, err, answer, status, part)
	}
}

// TestProcessQuickstart does what examples/quickstart.yaml says, but on free ports.
func TestProcessQuickstart(t *testing.T) {
	var stderr text
	cmd := exec.Command("go", "run", "./cmd/weir", "serve", "examples/quickstart.yaml")
	cmd.Dir, cmd.Stderr = "../..", &stderr
	cmd.Env = append(os.Environ(), "WEIR_LISTEN_PROXY=:0", "WEIR_LISTEN_OPS=127.0.0.1:0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run and what it runs, as a terminal has them
	doctest.EndWithTest(cmd, syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	invitation := regexp.MustCompile(`proxy  try: curl -i -X POST 'http://(localhost:\d+)/api/v1/jobs\?n=\[1-6\]'\n`)
	invited := func() bool { return invitation.MatchString(stderr.String()) || len(ended) > 0 }
	if !within(2*testPatience, invited) || len(ended) > 0 {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		t.Fatalf("not serving (%v):\n%s", <-ended, &stderr)
	}
	address := invitation.FindStringSubmatch(stderr.String())[1]
	for n := 1; n <= 6; n++ {
		status, part := 200, "X-Ratelimit-Remaining: "+strconv.Itoa(5-n)+"\n"
		if n == 6 {
			status, part = 429, "Retry-After: 1\n"
		}
		wantStatus(t, "POST", "http://"+address+"/api/v1/jobs?n="+strconv.Itoa(n), status, part)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	<-ended // with 1, whatever weir ends with: that is how go run takes an interrupt
	for _, want := range []string{"msg=ending signal=interrupt", "file=examples/quickstart.yaml"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("not said: %s\n%s", want, &stderr)
		}
	}
}

// A line that is longer than most does not end the reading of a log.
func TestProcessLongLine(t *testing.T) {
	p := &process{cmd: &exec.Cmd{}, ended: make(chan struct{})}
	p.read(strings.NewReader(strings.Repeat("x", 1<<20) + "\nthe next\n"))
	if !strings.HasSuffix(p.text(), "\nthe next\n") {
		t.Errorf("the log ends after %d bytes", len(p.text()))
	}
}

// text is what a process writes, while it writes.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}
