package doctest

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within waits for what comes soon, or does not.
func within(d time.Duration) func(func() bool) bool {
	return func(holds func() bool) bool {
		ticks, end := time.NewTicker(time.Millisecond), time.NewTimer(d)
		defer ticks.Stop()
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
}

const patience = 20 * time.Second

// try runs a page in a folder of its own.
func try(t *testing.T, patience time.Duration, text string) (*Runner, error) {
	t.Helper()
	p, err := Parse("a.md", page(text))
	if err != nil {
		t.Fatal(err)
	}
	ports, err := Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Dir: t.TempDir(), Home: t.TempDir(), Path: "/bin", Ports: ports, Within: within(patience)}
	return r, r.Run(t.Context(), p)
}

func TestProcessPagesThatAreTrue(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if _, err := try(t, patience, text); err != nil {
			t.Errorf("%s\n%v", text, err)
		}
	}
	f("'''console\n$ echo hello\nhello\n'''\n")
	f("'''console\n$ name=x; cd /\n'''\nand\n'''console\n$ echo $name in $PWD\nx in /\n$ cd \"$OLDPWD\"\n'''\n")
	f("'''console\n$ mkdir here && cd here\n'''\n'''yaml\n# file: a.yaml\n'''\n'''console\n$ cd ..; cat here/a.yaml\n# file: a.yaml\n'''\n")
	f("'''console\n$ (exit 3)\n$ echo $?\n3\n'''\n")
	f("'''console\n$ echo one \\\n    two; echo three >&2\none two\nthree\n'''\n")
	f("'''yaml\n# file: in/a.yaml\nport: :8000\n'''\n'''console\n$ cat in/a.yaml\n# file: in/a.yaml\nport: :8000\n'''\n")
	f("'''console\n$ (until test -e there; do :; done; echo found >log) & echo begun\nbegun\n$ touch there\n$ cat log\nfound\n'''\n")
}

// A page that is not true fails, and says what is.
func TestProcessPagesThatAreNot(t *testing.T) {
	f := func(text string, wants ...string) {
		t.Helper()
		_, err := try(t, 300*time.Millisecond, text)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s\n%v, want %q", text, err, want)
			}
		}
	}
	f("'''console\n$ true\n$ echo hello\ngoodbye\n'''\n", "a.md:3: $ echo hello", "    goodbye", "    hello")
	f("'''console\n$ echo hello\n'''\n", "(nothing)")
	f("'''console\n$ echo oh; false\noh\n'''\n", "a.md:2: $ echo oh; false: exit code 1", "    oh")
	f("'''console\n$ true\n$ echo $?\n1\n'''\n", "a.md:3")
	f("'''console\n$ exit\n'''\n", "it ended the shell")
	f("'''console\n$ echo '\n'''\n", "it does not end")
	f("'''console\n$ grep x nowhere\nx\n'''\n", "No such file")
	f("'''console\n$ until test -e never; do read -t 0.01 <> <(:); done &\n'''\n", "it does not answer on any port")
	f("'''yaml\n# file: ../a.yaml\n'''\n'''console\n$ true\n'''\n", "a.md:2: file ../a.yaml: it lies elsewhere")
	f("'''console\n$ cd /\n'''\n'''yaml\n# file: a.yaml\n'''\n", "a.md:5: file a.yaml: it lies elsewhere")
}

// A page that leaves something to the next one fails, and says what.
func TestProcessPagesThatLeaveSomething(t *testing.T) {
	f := func(command, want string) {
		t.Helper()
		_, err := try(t, 300*time.Millisecond, "'''console\n$ "+command+"\n'''\n")
		if err == nil || !strings.Contains(err.Error(), "a.md: the page does not leave the shell as it was") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", command, err, want)
		}
	}
	f("(while :; do read -t 0.01 <> <(:); done) & :", "Running")
	f("cd /", "\n    /")
	f("export TOKEN=x", `TOKEN="x"`)
	f("unset TZ", "(nothing)")
}

// What a page starts ends with it, even if it does not say so.
func TestProcessPagesLeaveNothing(t *testing.T) {
	r, err := try(t, 3*time.Second, "'''console\n$ (trap 'echo ended >>log; exit' TERM; echo $BASHPID >pid; while :; do read -t 0.01 <> <(:); done) & :\n$ until test -s pid; do :; done\n'''\n")
	if err == nil || strings.Contains(err.Error(), "does not end") {
		t.Fatal(err)
	}
	log, err := os.ReadFile(r.Dir + "/log")
	if err != nil || string(log) != "ended\n" {
		t.Errorf("%q, %v", log, err)
	}
	if _, err := os.Stat(r.Dir + "/.curlrc"); err == nil {
		t.Error("the page's folder holds what is not the page's")
	}
}

// What does not end when it is asked to is made to, and is a failure.
func TestProcessPagesThatHoldOn(t *testing.T) {
	r, err := try(t, 300*time.Millisecond, "'''console\n$ (trap '' TERM; echo $BASHPID >pid; while :; do read -t 0.01 <> <(:); done) & :\n$ until test -s pid; do :; done\n'''\n")
	if err == nil || !strings.Contains(err.Error(), "what the page started does not end") {
		t.Fatalf("%v", err)
	}
	if _, err := os.ReadFile(r.Dir + "/pid"); err != nil {
		t.Fatal(err)
	}
}

func TestProcessAPageEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p, err := Parse("a.md", page("'''console\n$ true\n'''\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Dir: t.TempDir(), Home: t.TempDir(), Path: "/bin", Ports: Ports{}, Within: within(patience)}
	if err := r.Run(ctx, p); err == nil || errors.Is(err, syscall.ESRCH) {
		t.Errorf("%v", err)
	}
}
