package spool_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/spool"
)

func note(lost int) string { return fmt.Sprintf("%d lost\n", lost) }

func TestLinesArriveInOrder(t *testing.T) {
	var b bytes.Buffer
	w := spool.New(&b, note)
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		if n, err := io.WriteString(w, line); n != len(line) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	w.Close(time.Minute, time.After)
	w.Close(time.Minute, time.After)
	if _, err := io.WriteString(w, "late\n"); err != nil || b.String() != "one\ntwo\nthree\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// stalled is a reader who stands still until he is let go.
type stalled struct {
	bytes.Buffer
	gone chan struct{}
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.gone
	return s.Buffer.Write(p)
}

func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalled{gone: make(chan struct{})}
		w := spool.New(s, note)
		line := strings.Repeat("x", 100) + "\n"
		for range 10_000 {
			if _, err := io.WriteString(w, line); err != nil {
				t.Fatal(err)
			}
		}
		w.Close(time.Second, time.After) // comes back
		close(s.gone)
		synctest.Wait()
		if n := strings.Count(s.String(), "\n"); n < 4096 || n > 4098 {
			t.Errorf("%d lines were kept", n)
		}
	})
}

func TestWhatIsLostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalled{gone: make(chan struct{})}
		w := spool.New(s, note)
		for range 5000 {
			_, _ = io.WriteString(w, "x\n")
		}
		close(s.gone)
		synctest.Wait()
		_, _ = io.WriteString(w, "last\n")
		w.Close(time.Second, time.After)
		if !strings.Contains(s.String(), " lost\nlast\n") {
			t.Errorf("the end is %q", s.String()[max(0, s.Len()-200):])
		}
	})
}
