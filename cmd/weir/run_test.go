package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// session is an Env of its own, with files that are in memory.
type session struct {
	Env

	stdout, stderr bytes.Buffer
	files          map[string]string
	signals        chan os.Signal
}

func newSession() *session {
	s := &session{files: map[string]string{}, signals: make(chan os.Signal)}
	s.Env = Env{
		Stdin:  strings.NewReader(""),
		Stdout: &s.stdout,
		Stderr: &s.stderr,
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := s.files[name]; ok {
				return []byte(text), nil
			}
			return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		},
		Exists:     func(name string) bool { return s.files[name] != "" },
		Now:        func() time.Time { return time.Unix(1_800_000_000, 0) },
		Every:      func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} },
		IsTerminal: func(any) bool { return false },
		Signals:    func(...os.Signal) (<-chan os.Signal, func()) { return s.signals, func() {} },
		BuildInfo:  func() (*debug.BuildInfo, bool) { return nil, false },
	}
	return s
}

// wantRun runs a line, and checks the exit code.
func (s *session) wantRun(t *testing.T, code int, args ...string) {
	t.Helper()
	s.stdout.Reset()
	s.stderr.Reset()
	if got := run(args, &s.Env); got != code {
		t.Errorf("weir %s: %d, want %d\n%s%s", strings.Join(args, " "), got, code, &s.stdout, &s.stderr)
	}
}

func TestVersion(t *testing.T) {
	s := newSession()
	here := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	f := func(info *debug.BuildInfo, text, json string) {
		t.Helper()
		s.BuildInfo = func() (*debug.BuildInfo, bool) { return info, info != nil }
		s.wantRun(t, exitOK, "version")
		if got, want := s.stdout.String(), "weir "+text+" "+here+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		s.wantRun(t, exitOK, "version", "--json")
		want := fmt.Sprintf("{\n%s  \"go\": %q,\n  \"os\": %q,\n  \"arch\": %q\n}\n", json, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		if got := s.stdout.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(nil, "devel", "  \"version\": \"devel\",\n")
	f(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel", "  \"version\": \"devel\",\n")
	f(&debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
			{Key: "vcs.time", Value: "2026-11-30T10:00:00Z"},
			{Key: "vcs.modified", Value: "true"},
			{Key: "CGO_ENABLED", Value: "0"},
		},
	}, "v1.2.3 (0123456789ab, modified)", `  "version": "v1.2.3",
  "revision": "0123456789abcdef0123456789abcdef01234567",
  "time": "2026-11-30T10:00:00Z",
  "modified": true,
`)
}

// TestProcessLinkedVersion builds as a container does, which sees no repository.
func TestProcessLinkedVersion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "weir")
	const flags = "-X main.linkedVersion=v1.2.3 -X main.linkedRevision=0123456789abcdef"
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program, "--version").Output()
	if want := "weir v1.2.3 (0123456789ab) go"; err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	docker, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"-X main.linkedVersion=", "-X main.linkedRevision="} {
		if !strings.Contains(string(docker), name) {
			t.Errorf("deploy/Dockerfile does not link %s", name)
		}
	}
}

func TestColor(t *testing.T) {
	s := newSession()
	s.files["bad.yaml"] = "version: 1\nruels: []\n"
	f := func(terminal, colored bool, environ ...string) {
		t.Helper()
		s.IsTerminal = func(stream any) bool { return terminal && (stream == s.Stdout || stream == s.Stderr) }
		s.Environ = environ
		for _, command := range []string{"check", "serve"} {
			s.wantRun(t, exitInvalid, command, "bad.yaml")
			if got := strings.Contains(s.stdout.String()+s.stderr.String(), "\x1b["); got != colored {
				t.Errorf("%s on a terminal (%v) with %q: colour %v, want %v", command, terminal, environ, got, colored)
			}
		}
	}
	f(true, true)
	f(true, true, "TERM=xterm")
	f(true, false, "TERM=dumb")
	f(true, false, "NO_COLOR=1")
	f(false, false)
	s.IsTerminal = func(any) bool { return true }
	s.Environ = nil
	s.wantRun(t, exitInvalid, "check", "--json", "bad.yaml")
	if strings.Contains(s.stdout.String(), "\x1b[") {
		t.Error("JSON is coloured")
	}
}

// TestBounded reads no more than a rules file can have, however it is packed.
func TestBounded(t *testing.T) {
	huge := strings.Repeat("#", mostBytes+1)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, huge); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSession()
	s.files["plain.yaml"], s.files["packed.yaml.gz"] = huge, packed.String()
	s.files["torn.yaml.gz"] = packed.String()[:packed.Len()-9]
	f := func(want string, code int, args ...string) {
		t.Helper()
		s.wantRun(t, code, args...)
		if got := s.stdout.String() + s.stderr.String(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f("no rules file is that large", exitInvalid, "check", "plain.yaml")
	f("no rules file is that large", exitInvalid, "check", "packed.yaml.gz")
	f("EOF", exitInvalid, "check", "torn.yaml.gz")
	s.files["plain.yaml.gz"] = "version: 1\n"
	f("plain.yaml.gz: it is no gzip", exitInvalid, "check", "plain.yaml.gz")
	s.Stdin = strings.NewReader(huge)
	f("no rules file is that large", exitFailure, "check", "-")
	s.Stdin = &packed
	f("no rules file is that large", exitFailure, "check", "-")
}

// TestInterrupt ends a command that waits for a daemon.
func TestInterrupt(t *testing.T) {
	arrived := make(chan struct{}, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the client leaves
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer silent.Close()
	for _, line := range [][]string{
		{"take", "user:42", "5/h", "--server", silent.URL},
		{"explain", "GET /", "--ip", "203.0.113.7", "--server", silent.URL},
	} {
		s := newSession()
		go func() {
			<-arrived
			s.signals <- os.Interrupt
		}()
		s.wantRun(t, exitInterrupted, line...)
	}
}

// TestWriteErrors has a standard output that is full: a result that nobody gets
// is no success.
func TestWriteErrors(t *testing.T) {
	s := newSession()
	s.files["weir.yaml"] = "version: 1\nrules: [{name: all, limit: 5/s}]\n"
	s.Stdout = fullWriter{}
	for _, line := range [][]string{
		{"version"},
		{"version", "--json"},
		{"--version"},
		{"check", "weir.yaml"},
		{"check", "-v", "weir.yaml"},
		{"check", "--json", "weir.yaml"},
		{"explain", "weir.yaml", "GET /"},
		{"explain", "weir.yaml", "GET /", "--json"},
		{"completion", "fish"},
	} {
		s.wantRun(t, exitFailure, line...)
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestGetenv(t *testing.T) {
	e := &Env{Environ: []string{"A=1", "AB=2", "A=3", "EMPTY=", "EQUALS=a=b"}}
	for name, want := range map[string]string{"A": "3", "AB": "2", "EMPTY": "", "NONE": "", "EQUALS": "a=b"} {
		if got := e.Getenv(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestCommandLinePage holds docs/cli.md against the commands: every command and
// flag stands there in its section, and every exit code.
func TestCommandLinePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, e := range exitCodes {
		if row := fmt.Sprintf("| %d | %s |\n", e.code, e.meaning); !strings.Contains(page, row) {
			t.Errorf("docs/cli.md does not say %q", row)
		}
	}
	for _, cmd := range newRootCmd(&newSession().Env).Commands() {
		if !cmd.Runnable() || cmd.Name() == "help" {
			continue
		}
		_, section, ok := strings.Cut(page, "\n## weir "+cmd.Name()+"\n")
		if !ok {
			t.Errorf("docs/cli.md has no section about %s", cmd.Name())
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		checkDocumented(t, cmd, section)
	}
}

func checkDocumented(t *testing.T, cmd *cobra.Command, section string) {
	t.Helper()
	for _, m := range flagName.FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		if m[1] != "help" && !strings.Contains(section, "--"+m[1]) {
			t.Errorf("docs/cli.md does not name --%s of %s", m[1], cmd.Name())
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `.*?--([a-z-]+)").FindAllStringSubmatch(section, -1) {
		if cmd.Flags().Lookup(m[1]) == nil {
			t.Errorf("docs/cli.md names --%s, which %s has not", m[1], cmd.Name())
		}
	}
}
