package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"weir": main})
}

// TestScript runs testdata/script: whole command lines, and daemons. Beside
// testscript's own commands there are
//
//	exits CODE PROGRAM ARGS…   runs it, and checks the exit code
//	serve ARGS…                starts weir serve, waits until it is ready, and
//	                           sets $PROXY, $HTTP and $OPS to its listeners' URLs
//	says PATTERN               waits until the daemon's log matches
//	signal HUP|TERM|INT        sends it
//	ends CODE                  waits until the daemon has ended with this code;
//	                           its log is standard error then
//	http STATUS METHOD URL [NAME:VALUE…] [=BODY]
//	                           sends a request, and checks the status; the answer
//	                           is standard output then
//	until STATUS METHOD URL    sends it again and again, until the status is this
//	timed CODE FILE ARGS…      runs weir with FILE as standard input and a clock that
//	                           turns when it is waited for; each line of standard
//	                           output begins with the time at which it was written.
//	                           Programs are played: see timed.run
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("WEIR_UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			e.Values[running{}] = new(script)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exitsCmd,
			"serve":  serveCmd,
			"says":   saysCmd,
			"signal": signalCmd,
			"ends":   endsCmd,
			"http":   httpCmd,
			"until":  untilCmd,
			"timed":  timedCmd,
		},
	})
}

// script is what a script has running.
type script struct{ daemon *process }

// running is the key of it.
type running struct{}

// daemonOf is a script's daemon.
func daemonOf(ts *testscript.TestScript) *process {
	s := ts.Value(running{}).(*script)
	if s.daemon == nil {
		ts.Fatalf("no daemon was started")
	}
	return s.daemon
}

// usage stops a script that uses a command otherwise than it is.
func usage(ts *testscript.TestScript, ok bool, how string) {
	if !ok {
		ts.Fatalf("usage: %s", how)
	}
}

func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "exits CODE PROGRAM ARGS…")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func serveCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg, "serve ARGS…")
	s := ts.Value(running{}).(*script)
	var env []string
	for _, name := range []string{"PATH", "HOME", "WEIR_SWITCH_FILE", "WEIR_CONFIG", "XDG_CONFIG_HOME", "WEIR_ENFORCE", "TOKEN", "WORK"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	p, err := start("weir", ts.MkAbs("."), env, args...)
	ts.Check(err)
	ts.Defer(p.kill)
	ts.Check(p.ready())
	s.daemon = p
	for _, name := range []string{"proxy", "http", "ops"} {
		ts.Setenv(strings.ToUpper(name), p.url(name))
	}
}

func saysCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "says PATTERN")
	ts.Check(daemonOf(ts).says(args[0]))
}

func signalCmd(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}
	usage(ts, !neg && len(args) == 1 && signals[args[0]] != nil, "signal HUP|TERM|INT")
	ts.Check(daemonOf(ts).cmd.Process.Signal(signals[args[0]]))
}

func endsCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "ends CODE")
	code, err := strconv.Atoi(args[0])
	ts.Check(err)
	p := daemonOf(ts)
	ts.Check(p.ends(code))
	_, err = io.WriteString(ts.Stderr(), p.text())
	ts.Check(err)
}

func httpCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 2, "http STATUS METHOD URL [NAME:VALUE…] [=BODY]")
	answer, status, err := send(args[1], args[2], args[3:]...)
	ts.Check(err)
	_, err = io.WriteString(ts.Stdout(), answer)
	ts.Check(err)
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("%s %s: want %s, got\n%s", args[1], args[2], args[0], answer)
	}
}

func untilCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "until STATUS METHOD URL")
	last := ""
	if !within(testPatience, func() bool {
		answer, status, err := send(args[1], args[2])
		last = fmt.Sprint(answer, err)
		return err == nil && strconv.Itoa(status) == args[0]
	}) {
		ts.Fatalf("%s %s: want %s, and it is still\n%s", args[1], args[2], args[0], last)
	}
}

// send sends a request on a connection of its own, and gives the answer as text:
// status, fields in the order of their names, body.
func send(method, url string, more ...string) (answer string, status int, err error) {
	var body io.Reader = http.NoBody
	header := http.Header{}
	for _, m := range more {
		if text, ok := strings.CutPrefix(m, "="); ok {
			body = strings.NewReader(text)
			continue
		}
		name, value, _ := strings.Cut(m, ":")
		header.Add(name, value)
	}
	r, err := http.NewRequest(method, url, body)
	if err != nil {
		return "", 0, err
	}
	r.Header, r.Host = header, header.Get("Host")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: testPatience}
	res, err := client.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	var b bytes.Buffer
	fmt.Fprintln(&b, res.Status)
	var fields []string
	for name, values := range res.Header {
		for _, v := range values {
			fields = append(fields, name+": "+v)
		}
	}
	slices.Sort(fields)
	fmt.Fprintf(&b, "%s\n\n", strings.Join(fields, "\n"))
	_, err = b.ReadFrom(res.Body)
	return b.String(), res.StatusCode, err
}
