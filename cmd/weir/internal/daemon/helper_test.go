package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/policy"
)

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// within waits until something holds, by asking again and again.
func within(holds func() bool) bool {
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	end := time.NewTimer(patience)
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

// record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// url finds where a listener listens.
func (r *record) url(name string) string {
	for line := range strings.Lines(r.String()) {
		var said struct {
			Msg, Listener, Address string
			TLS                    bool
		}
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "listening" && said.Listener == name {
			if said.TLS {
				return "https://" + said.Address
			}
			return "http://" + said.Address
		}
	}
	return ""
}

// rig is a daemon that runs in the test's process.
type rig struct {
	*testing.T

	dir     string
	log     record
	welcome record
	signals chan os.Signal
	ticks   chan time.Time
	done    chan error
}

// newRig prepares a daemon of these rules, which stand in weir.yaml.
func newRig(t *testing.T, rules string) *rig {
	r := &rig{T: t, dir: t.TempDir(), signals: make(chan os.Signal), ticks: make(chan time.Time), done: make(chan error, 1)}
	r.write("weir.yaml", rules)
	return r
}

func (r *rig) config() daemon.Config {
	return daemon.Config{
		Source:       policy.Source{Name: filepath.Join(r.dir, "weir.yaml"), ReadFile: os.ReadFile},
		Watch:        true,
		DrainTimeout: time.Minute,
		Log:          slog.New(slog.NewJSONHandler(&r.log, nil)),
		Welcome:      &r.welcome,
		Signals:      r.signals,
		Now:          time.Now,
		Every:        func(time.Duration) (<-chan time.Time, func()) { return r.ticks, func() {} },
	}
}

// begin runs the daemon until the test ends, and waits until it serves.
func (r *rig) begin(c daemon.Config) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- daemon.Run(ctx, c)
	}()
	r.Cleanup(func() { cancel(); <-ended })
	if !within(func() bool { return strings.Contains(r.log.String(), "weir serves") || len(r.done) > 0 }) || len(r.done) > 0 {
		r.Fatalf("it does not serve: %v\n%s", <-r.done, &r.log)
	}
}

func (r *rig) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// tick lets the daemon look at its files so many times, and waits until it has.
func (r *rig) tick(times int) {
	r.Helper()
	for range times + 1 { // the last is taken when the one before has been dealt with
		select {
		case r.ticks <- time.Time{}:
		case <-time.After(patience):
			r.Fatalf("nobody looks at the files\n%s", &r.log)
		}
	}
}

func (r *rig) term() { r.signal(syscall.SIGTERM) }

// signal sends a signal, and waits until it is taken.
func (r *rig) signal(s os.Signal) {
	r.Helper()
	select {
	case r.signals <- s:
	case <-time.After(patience):
		r.Fatalf("nobody takes %v\n%s", s, &r.log)
	}
}

// ends waits for the end of Run.
func (r *rig) ends() error {
	r.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		r.Fatalf("it goes on\n%s", &r.log)
		return nil
	}
}

// get asks on a connection of its own.
func get(url string, fields ...string) (status int, body string, err error) {
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// want asks, and checks the answer's status and that it holds a text.
func (r *rig) want(status int, text, url string, fields ...string) {
	r.Helper()
	got, body, err := get(url, fields...)
	if err != nil || got != status || !strings.Contains(body, text) {
		r.Errorf("%s: %d %q %v, want %d %q", url, got, body, err, status, text)
	}
}

// upstream answers each request when it is told to.
type upstream struct {
	*httptest.Server

	arrived, release chan struct{}
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{arrived: make(chan struct{}), release: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case u.arrived <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		select {
		case <-u.release:
			fmt.Fprint(w, "served")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// answer is what a request in flight came to.
type answer struct {
	status int
	body   string
	err    error
}

// inFlight sends a request and returns when the upstream has it.
func (u *upstream) inFlight(t *testing.T, url string) <-chan answer {
	t.Helper()
	got := make(chan answer, 1)
	go func() {
		status, body, err := get(url)
		got <- answer{status, body, err}
	}()
	select {
	case <-u.arrived:
	case a := <-got:
		t.Fatalf("answered before the upstream has it: %+v", a)
	case <-time.After(patience):
		t.Fatal("the upstream is not asked")
	}
	return got
}
