package doctest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fifoEnv names the FIFO that the commands of a process hold open which stands for
// a test that is killed.
const fifoEnv = "DOCTEST_FIFO"

func TestMain(m *testing.M) {
	if fifo := os.Getenv(fifoEnv); fifo != "" {
		if err := leave(fifo); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {} // until it is killed
	}
	os.Exit(m.Run())
}

// leave has a shell run a command in the background and one in the foreground, and
// ends neither.
func leave(fifo string) error {
	dir := filepath.Dir(fifo)
	s, err := open(context.Background(), dir, dir, os.Environ())
	if err != nil {
		return err
	}
	_, err = s.begin(fmt.Sprintf("(echo begun; sleep 1000) >%[1]s & (echo begun; sleep 1000) >%[1]s", fifo))
	return err
}

// A test that is killed leaves nothing behind.
func TestProcessAKilledTestLeavesNothing(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0) // waits for no writer
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := held.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	killed := exec.Command(os.Args[0])
	killed.Env, killed.Stderr = append(os.Environ(), fifoEnv+"="+fifo), os.Stderr
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	both := within(patience)(func() bool {
		b := make([]byte, 64)
		n, _ := held.Read(b) // EOF as long as nobody writes
		said.Write(b[:n])
		return strings.Count(said.String(), "begun") == 2
	})
	if err := killed.Process.Kill(); err != nil || !both {
		t.Errorf("%v; its commands say %q", err, &said)
	}
	_ = killed.Wait() // that it was killed is known
	if _, err := io.ReadAll(held); err != nil {
		t.Errorf("its commands go on: %v", err)
	}
}
