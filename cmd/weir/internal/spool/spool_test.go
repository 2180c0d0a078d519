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
	w.Close("end\n", time.Minute, time.After)
	w.Close("again\n", time.Minute, time.After)
	if _, err := io.WriteString(w, "late\n"); err != nil || b.String() != "one\ntwo\nthree\nend\n" {
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

// TestNobodyReads ends all the same. Whoever reads after that finds every line, or
// how many he does not find, and the last of all.
func TestNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalled{gone: make(chan struct{})}
		w := spool.New(s, note)
		line := strings.Repeat("x", 100) + "\n"
		for range 10_000 {
			if _, err := io.WriteString(w, line); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // so that the first is with the reader, and the others wait
		}
		w.Close("end\n", time.Second, time.After) // comes back
		if s.Len() > 0 {
			t.Fatal("the reader does not stand still")
		}
		close(s.gone)
		synctest.Wait()
		if got, want := s.String(), strings.Repeat(line, 4097)+"5903 lost\nend\n"; got != want {
			t.Errorf("%d lines were kept, and the end is %q", strings.Count(got, line), got[max(0, len(got)-200):])
		}
	})
}

func TestWhatIsLostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalled{gone: make(chan struct{})}
		w := spool.New(s, note)
		for range 5000 {
			_, _ = io.WriteString(w, "x\n")
			synctest.Wait()
		}
		close(s.gone)
		synctest.Wait()
		_, _ = io.WriteString(w, "last\n")
		w.Close("", time.Second, time.After)
		if want := strings.Repeat("x\n", 4097) + "903 lost\nlast\n"; s.String() != want {
			t.Errorf("the end is %q", s.String()[max(0, s.Len()-200):])
		}
	})
}
