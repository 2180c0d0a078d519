package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/doctest"
)

// patience is how long a test waits for what has to come: far longer than it
// takes, for a machine that has other things to do.
const testPatience = 30 * time.Second

// within waits until something holds, by asking again and again.
func within(d time.Duration, holds func() bool) bool {
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for !holds() {
		select {
		case <-ticks.C:
		case <-end.C:
			return holds()
		}
	}
	return true
}

// process is a `weir serve` of its own, with its log in JSON.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has, and its log is whole

	mu   sync.Mutex
	log  strings.Builder
	urls map[string]string // of its listeners, by name
}

// start starts a program as `weir serve --log-format json` and does not wait.
func start(program, dir string, env []string, args ...string) (*process, error) {
	p := &process{
		cmd:   exec.Command(program, append([]string{"serve", "--log-format", "json"}, args...)...),
		ended: make(chan struct{}),
		urls:  map[string]string{},
	}
	p.cmd.Dir, p.cmd.Env = dir, env
	doctest.EndWithTest(p.cmd, syscall.SIGKILL)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stderr)
	return p, nil
}

// longestLine is more than a line of the log has, even one with a stack.
const longestLine = 16 << 20

// read takes the log in until the process has ended.
func (p *process) read(stderr io.Reader) {
	defer close(p.ended)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		p.line(lines.Text())
	}
	_ = p.cmd.Wait() // its code is looked at by those who wait
}

func (p *process) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log.WriteString(text + "\n")
	var record struct {
		Msg, Listener, Address string
		TLS                    bool
	}
	if json.Unmarshal([]byte(text), &record) == nil && record.Msg == "listening" {
		scheme := "http"
		if record.TLS {
			scheme = "https"
		}
		p.urls[record.Listener] = scheme + "://" + strings.Replace(record.Address, "[::]", "127.0.0.1", 1)
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) url(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.urls[name]
}

// ready waits until the process serves, or says why it does not.
func (p *process) ready() error {
	answered := func() bool {
		ops := p.url("ops")
		if ops == "" {
			return p.hasEnded()
		}
		res, err := http.Get(ops + "/readyz")
		if err != nil {
			return p.hasEnded()
		}
		res.Body.Close()
		return res.StatusCode == http.StatusOK
	}
	switch {
	case !within(testPatience, answered):
		return fmt.Errorf("not ready after %v:\n%s", testPatience, p.text())
	case p.hasEnded():
		return fmt.Errorf("ended with %d instead of serving:\n%s", p.cmd.ProcessState.ExitCode(), p.text())
	}
	return nil
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// says waits until the log matches.
func (p *process) says(pattern string) error {
	expr, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	if !within(testPatience, func() bool { return expr.MatchString(p.text()) || p.hasEnded() }) || !expr.MatchString(p.text()) {
		return fmt.Errorf("the log does not say %q:\n%s", pattern, p.text())
	}
	return nil
}

// ends waits for the end, which must be with this code.
func (p *process) ends(code int) error {
	if !within(testPatience, p.hasEnded) {
		return fmt.Errorf("it goes on:\n%s", p.text())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("ended with %d (%v), want %d:\n%s", got, p.cmd.ProcessState, code, p.text())
	}
	return nil
}

// kill ends what a test leaves behind.
func (p *process) kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return
	}
	<-p.ended
}

// testProcess is a built binary in a folder of its own, with the test's files.
type testProcess struct {
	*testing.T
	*process
}

// build makes the binary as it is shipped, without the race detector; once for all
// tests.
func build(t *testing.T) string {
	t.Helper()
	name, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// built lies among testscript's own programs, which are removed at the end.
var built = sync.OnceValues(func() (string, error) {
	beside, err := exec.LookPath("weir")
	if err != nil {
		return "", err
	}
	name := filepath.Join(filepath.Dir(beside), "weir-as-shipped")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return name, nil
})

// serving starts a binary and waits until it is ready.
func serving(t *testing.T, program, dir string, env []string, args ...string) *testProcess {
	t.Helper()
	p, err := start(program, dir, append(os.Environ(), env...), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	if err := p.ready(); err != nil {
		t.Fatal(err)
	}
	return &testProcess{t, p}
}

func (p *testProcess) signal(s os.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

func (p *testProcess) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}
