package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weirhq/weir"
	"github.com/weirhq/weir/cmd/weir/internal/doctest"
)

// timed is a session whose clock turns when it is waited for.
type timed struct {
	*session

	now   time.Duration
	out   bytes.Buffer // what was written, each piece behind its time
	calls int          // of programs
}

func newTimed(stdin io.Reader) *timed {
	t := &timed{session: newSession()}
	t.Stdin, t.Stdout = stdin, t
	t.Elapsed = func() time.Duration { return t.now }
	t.Every = func(d time.Duration) (<-chan time.Time, func()) {
		t.now += d
		ticks := make(chan time.Time, 1)
		ticks <- time.Time{}
		return ticks, func() {}
	}
	t.Run = t.run
	return t
}

func (t *timed) Write(p []byte) (int, error) {
	fmt.Fprintf(&t.out, "%v %s", t.now, p)
	return len(p), nil
}

// run plays programs: `slow` takes three seconds, `false` fails each time, `once`
// the second time, `missing` is not there, `gone` writes to whom nobody reads, and
// all of them say how they were called.
func (t *timed) run(_ context.Context, stdout, _ io.Writer, name string, args ...string) error {
	t.calls++
	switch name {
	case "missing":
		return &exec.Error{Name: name, Err: exec.ErrNotFound}
	case "gone":
		return syscall.EPIPE
	}
	fmt.Fprintln(stdout, strings.Join(append([]string{name}, args...), " "))
	switch {
	case name == "slow":
		t.now += 3 * time.Second
	case name == "false", name == "once" && t.calls == 2:
		return played(7)
	}
	return nil
}

// played is how a program has ended that is played.
type played int

func (p played) Error() string { return "exit status " + strconv.Itoa(int(p)) }
func (p played) ExitCode() int { return int(p) }

func timedCmd(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 2 && args[2] == "weir", "timed CODE FILE weir ARGS…")
	t := newTimed(strings.NewReader(ts.ReadFile(args[1])))
	got := run(args[3:], &t.Env)
	_, err := ts.Stdout().Write(t.out.Bytes())
	ts.Check(err)
	_, err = ts.Stderr().Write(t.stderr.Bytes())
	ts.Check(err)
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s\n%s%s", got, args[0], &t.out, &t.stderr)
	}
}

// Limits under which nobody can wait are a misuse.
func TestPaceRefusesLimits(t *testing.T) {
	for text, want := range map[string]string{
		"10/s": "", "5/min leaky-bucket queue 3": "", "deny": "nothing would ever pass",
		"5 concurrent": "one runs at a time anyway", "10/s block 5m": "leave block out",
	} {
		spec, err := weir.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		switch err := unpaced(spec); {
		case want == "" && err != nil, want != "" && (err == nil || codeOf(err) != exitUsage || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The one key that there is has room, whatever the limit.
func TestPaceHasRoomForAnyLimit(t *testing.T) {
	for _, text := range []string{
		"10/s", "447/s sliding-log", "1000/min sliding-log", "4095/s sliding-log", "1/s sliding-log overdraft 4095", "4095/s overdraft 4095 sliding-log",
		"4503599627370495 per 1d fixed-window", "1/month calendar Europe/Berlin", "5/s sliding-window", "5/min leaky-bucket wait 1d", "unlimited",
	} {
		s := newTimed(strings.NewReader("line\n"))
		if code := run([]string{"pace", text}, &s.Env); code != exitOK || s.out.String() != "0s line\n" {
			t.Errorf("%s: exit code %d, %q, %s", text, code, &s.out, &s.stderr)
		}
	}
}

// A line of any length costs one unit and is passed on as it is, in pieces that fit
// into the memory of one.
func TestPaceLongLines(t *testing.T) {
	var in, out bytes.Buffer
	for i := range 4 {
		in.WriteString(strings.Repeat(strconv.Itoa(i), i*pieceSize+i))
		if i < 3 {
			in.WriteByte('\n')
		}
	}
	want := in.String()
	s := newTimed(iotest.OneByteReader(&in))
	longest := 0
	s.Stdout = writer(func(p []byte) (int, error) {
		longest = max(longest, len(p))
		return out.Write(p)
	})
	s.wantRun(t, exitOK, "pace", "1/s burst 1")
	if out.String() != want {
		t.Error("the lines were changed")
	}
	if s.now != 3*time.Second || longest > pieceSize {
		t.Errorf("four lines took %v, in pieces of up to %d bytes", s.now, longest)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// No memory is kept of a line without end.
func TestAllocationsOfAnEndlessLine(t *testing.T) {
	const size = 64 << 20
	s := newTimed(io.LimitReader(zeros{}, size))
	written := 0
	s.Stdout = writer(func(p []byte) (int, error) {
		written += len(p)
		return len(p), nil
	})
	s.wantRun(t, exitOK, "pace", "1/h")
	if written != size {
		t.Errorf("%d bytes were written", written)
	}
	if n := testing.AllocsPerRun(1, func() {
		s.Stdin = io.LimitReader(zeros{}, size)
		s.wantRun(t, exitOK, "pace", "1/h")
	}); n > 20_000 {
		t.Errorf("%.0f allocations for 1024 pieces", n)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// What goes wrong with the streams: an input that breaks off has passed what came
// before; a reader that has had enough is no failure; one that fails is.
func TestPaceStreams(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("the disk is gone")))
	s := newTimed(broken)
	s.wantRun(t, exitFailure, "pace", "1/s")
	if got := s.out.String(); got != "0s a\n1s b" && got != "0s a\n0s b" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(s.stderr.String(), "weir: standard input: the disk is gone") {
		t.Errorf("%q", &s.stderr)
	}
	s = newTimed(strings.NewReader("a\nb\n"))
	s.Stdout = writer(func([]byte) (int, error) { return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE} })
	s.wantRun(t, exitOK, "pace", "1/s")
	if s.stderr.Len() > 0 {
		t.Errorf("%q", &s.stderr)
	}
	s = newTimed(strings.NewReader("a\nb\n"))
	s.Stdout = fullWriter{}
	s.wantRun(t, exitFailure, "pace", "1/s")
}

// held is a session whose clock stands, so that whoever waits for it waits.
func held(stdin io.Reader) (s *session, waits chan time.Duration) {
	s, waits = newSession(), make(chan time.Duration)
	s.Stdin = stdin
	s.Elapsed = func() time.Duration { return 0 }
	s.Every = func(d time.Duration) (<-chan time.Time, func()) {
		waits <- d
		return nil, func() {}
	}
	return s, waits
}

// wantEnd runs pace beside the test, which does what, and wants it to be
// interrupted.
func (s *session) wantEnd(t *testing.T, what func(), args ...string) {
	t.Helper()
	ended := make(chan int)
	go func() { ended <- run(args, &s.Env) }()
	what()
	if got := <-ended; got != exitInterrupted {
		t.Errorf("%d, want %d\n%s", got, exitInterrupted, &s.stderr)
	}
	if s.stderr.Len() > 0 {
		t.Errorf("%q", &s.stderr)
	}
}

func TestPaceIsInterrupted(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		// While it waits for a turn, and again while nobody takes what was written.
		s, waits := held(strings.NewReader("a\nb\nc\n"))
		s.wantEnd(t, func() {
			if d := <-waits; d != 30*time.Minute {
				t.Errorf("it waits for %v", d)
			}
			s.signals <- syscall.SIGPIPE // means nothing by itself
			s.signals <- signal
			<-waits // for whoever might not read: nobody
		}, "pace", "2/h burst 1")
		if s.stdout.String() != "a\n" {
			t.Errorf("%q: b had no turn yet", &s.stdout)
		}

		// While it waits for a line.
		in, feed := io.Pipe()
		s, waits = held(in)
		read := make(chan struct{})
		s.Stdout = writer(func(p []byte) (int, error) {
			close(read)
			return len(p), nil
		})
		s.wantEnd(t, func() {
			_, _ = io.WriteString(feed, "a\nhalf of")
			<-read
			s.signals <- signal
			<-waits
		}, "pace", "10/s")
		feed.Close()
	}
}

// A reader that stands still keeps it for a second, and no longer.
func TestPaceIsInterruptedWhileNobodyReads(t *testing.T) {
	s := newSession()
	s.Stdin = strings.NewReader("a\n")
	stalled, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	s.Stdout = writer(func(p []byte) (int, error) {
		close(stalled)
		<-end
		return len(p), nil
	})
	s.Every = func(d time.Duration) (<-chan time.Time, func()) {
		if d != stallTime {
			t.Errorf("it waits for %v", d)
		}
		ticks := make(chan time.Time, 1)
		ticks <- time.Time{}
		return ticks, func() {}
	}
	s.wantEnd(t, func() {
		<-stalled
		s.signals <- os.Interrupt
	}, "pace", "10/s")
}

// A line that was begun is passed on to its end, and nothing after it.
func TestPaceFinishesALine(t *testing.T) {
	line := strings.Repeat("x", 3*pieceSize) + "\n"
	in, feed := io.Pipe()
	s, waits := held(in)
	begun := make(chan struct{})
	var once sync.Once
	var out bytes.Buffer
	s.Stdout = writer(func(p []byte) (int, error) {
		defer once.Do(func() { close(begun) })
		return out.Write(p)
	})
	s.wantEnd(t, func() {
		go func() {
			defer feed.Close()
			_, _ = io.WriteString(feed, line[:pieceSize])
			<-waits
			_, _ = io.WriteString(feed, line[pieceSize:]+"next\n")
		}()
		<-begun
		s.signals <- syscall.SIGTERM
	}, "pace", "10/s")
	in.Close()
	if out.String() != line {
		t.Errorf("%d bytes of a line of %d", out.Len(), len(line))
	}
}

// One whose rest does not come keeps it for a second, and no longer.
func TestPaceWaitsForTheRestOfALine(t *testing.T) {
	in, feed := io.Pipe()
	s := newSession()
	s.Stdin = in
	begun := make(chan struct{})
	s.Stdout = writer(func(p []byte) (int, error) {
		close(begun)
		return len(p), nil
	})
	s.Every = func(d time.Duration) (<-chan time.Time, func()) {
		if d != stallTime {
			t.Errorf("it waits for %v", d)
		}
		ticks := make(chan time.Time, 1)
		ticks <- time.Time{}
		return ticks, func() {}
	}
	s.wantEnd(t, func() {
		_, _ = io.WriteString(feed, strings.Repeat("x", pieceSize))
		<-begun
		s.signals <- os.Interrupt
	}, "pace", "10/s")
	feed.Close()
}

// A command that runs is told, and waited for.
func TestPaceInterruptsACommand(t *testing.T) {
	s := newSession()
	s.Every = nil // nothing is waited for but the command
	running := make(chan struct{})
	var told sync.WaitGroup
	told.Add(1)
	s.Run = func(ctx context.Context, _, _ io.Writer, _ string, _ ...string) error {
		close(running)
		<-ctx.Done()
		told.Done()
		return played(143)
	}
	s.wantEnd(t, func() {
		<-running
		s.signals <- syscall.SIGTERM
		told.Wait()
	}, "pace", "10/s", "-k", "--", "sleep", "1000")
}

// TestProcessPace is the program itself: signals, pipes and commands that are real.
func TestProcessPace(t *testing.T) {
	program := build(t)
	begin := func(args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
		t.Helper()
		cmd = exec.Command(program, append([]string{"pace"}, args...)...)
		doctest.EndWithTest(cmd, syscall.SIGKILL)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, in, bufio.NewReader(stdout)
	}
	ends := func(cmd *exec.Cmd, code int) {
		t.Helper()
		end := time.AfterFunc(testPatience, func() { _ = cmd.Process.Kill() })
		defer end.Stop()
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("%v: %v, want %d", cmd.Args, cmd.ProcessState, code)
		}
	}
	says := func(out *bufio.Reader, want string) {
		t.Helper()
		if got, err := out.ReadString('\n'); got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, in, out := begin("1/h")
		_, _ = io.WriteString(in, "a\nb\n")
		says(out, "a\n")
		_ = cmd.Process.Signal(signal)
		says(out, "")
		ends(cmd, exitInterrupted)
	}

	cmd, in, out := begin("1000/s")
	_, _ = io.WriteString(in, "a\nb")
	says(out, "a\n")
	in.Close()
	says(out, "b")
	ends(cmd, exitOK)

	// A line that was begun is passed on to its end.
	cmd, in, out = begin("1000/s")
	half := strings.Repeat("x", pieceSize)
	go func() { _, _ = io.WriteString(in, half) }()
	if _, err := out.Peek(1); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_, _ = io.WriteString(in, "the rest\n")
	says(out, half+"the rest\n")
	ends(cmd, exitInterrupted)

	// A command that is asked to end, and says so.
	cmd, _, out = begin("1000/s", "--", "sh", "-c", "trap 'echo asked; exit 0' TERM; echo runs; while :; do sleep 0.01; done")
	says(out, "runs\n")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	says(out, "asked\n")
	ends(cmd, exitInterrupted)

	// One that a terminal has told by itself.
	cmd, _, _ = begin("1000/s", "-k", "--", "sh", "-c", "kill -INT $$; sleep 1000")
	ends(cmd, exitInterrupted)
}
