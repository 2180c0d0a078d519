package proxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// errStalled is why a request is cancelled whose body the upstream has ceased to
// read. No timeout of the transport covers that time, nor does anyone notice
// then that the client has left.
var errStalled = errors.New("proxy: the upstream does not read the request's body")

// An answer is a http.ResponseWriter with a deadline around each write. Between
// two writes there is none: HTTP/2 resets a stream whose deadline passes even
// when nothing waits to be written.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	written int // since the last flush
}

// unsent is how much net/http keeps in its buffers at the least before it writes
// to a connection or a stream. What fits needs no deadline, which over HTTP/2
// takes as long as all the rest of writing a short answer.
const unsent = 2 << 10

func (a *answer) begin(w http.ResponseWriter, timeout time.Duration) {
	*a = answer{ResponseWriter: w, control: http.NewResponseController(w), timeout: timeout}
}

// arm sets the deadline. A writer that knows none, one of a test, needs none.
func (a *answer) arm() { _ = a.control.SetWriteDeadline(time.Now().Add(a.timeout)) }

func (a *answer) disarm() { _ = a.control.SetWriteDeadline(time.Time{}) }

// Write writes p within the time.
func (a *answer) Write(p []byte) (int, error) {
	if a.written += len(p); a.written <= unsent {
		return a.ResponseWriter.Write(p)
	}
	a.arm()
	defer a.disarm()
	return a.ResponseWriter.Write(p)
}

// WriteHeader writes the header; an informational one goes out at once.
func (a *answer) WriteHeader(status int) {
	if status >= 200 {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.arm()
	defer a.disarm()
	a.ResponseWriter.WriteHeader(status)
}

// FlushError sends what is buffered within the time.
func (a *answer) FlushError() error {
	a.written = 0
	a.arm()
	defer a.disarm()
	return a.control.Flush()
}

// Flush is FlushError for those who do not ask.
func (a *answer) Flush() { _ = a.FlushError() }

// Unwrap lets http.ResponseController reach what stands behind.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// last sets the deadline for what net/http writes after the handler. It clears
// it by itself. On a stream that the client has reset nothing is written, and
// a deadline would only keep it in memory.
func (a *answer) last(r *http.Request) {
	if r.ProtoMajor == 1 || r.Context().Err() == nil {
		a.arm()
	}
}

// drainWithin bounds the wait for a body that the handler leaves unread.
func (a *answer) drainWithin(timeout time.Duration) {
	_ = a.control.SetReadDeadline(time.Now().Add(timeout))
}

// newBody gives in a deadline for each read, and calls stall when the upstream
// lets wait pass between two of them.
func newBody(in io.ReadCloser, control *http.ResponseController, timeout, wait time.Duration, stall func()) *body {
	b := &body{ReadCloser: in, control: control, timeout: timeout, wait: wait}
	b.idle.L = &b.mu
	b.stalled = time.AfterFunc(wait, stall)
	return b
}

// The states of a body.
type progress uint8

const (
	reading progress = iota
	whole            // read to its end
	late             // the client let a read wait too long
	broken           // torn off, or not what HTTP allows
)

// A body is a request's, with a deadline around each read. The transport may
// read it on a goroutine that outlives the handler; after detach it reads no
// more and touches no deadline, since the connection serves other requests then.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	timeout time.Duration
	between bool        // the deadline is lifted between reads: HTTP/2 keeps its effect
	atEnd   func()      // called before the end is reported
	stalled *time.Timer // runs between two reads, until the upstream answers
	wait    time.Duration

	mu       sync.Mutex
	idle     sync.Cond // on mu: no read waits
	state    progress
	pending  bool // a read waits
	answered bool // the upstream has answered
	detached bool
	deadline time.Time
}

// Read reads within the time.
func (b *body) Read(p []byte) (int, error) {
	if err := b.arm(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.atEnd()
	}
	b.note(err)
	return n, err
}

// arm sets the deadline. What has been read to its end is not read again: that
// would start a deadline that nobody lifts.
func (b *body) arm() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == whole:
		return io.EOF
	case b.detached:
		return http.ErrBodyReadAfterClose
	}
	b.stalled.Stop()
	b.deadline, b.pending = time.Now().Add(b.timeout), true
	_ = b.control.SetReadDeadline(b.deadline)
	return nil
}

// note keeps what a read has shown. Over HTTP/1 a deadline that has passed
// between two reads does no harm, and at the end of the body net/http lifts it
// to watch the connection.
func (b *body) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = false
	b.idle.Broadcast()
	switch {
	case err == nil:
		if !b.answered && !b.detached {
			b.stalled.Reset(b.wait)
		}
	case errors.Is(err, io.EOF):
		b.state = whole
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.state = late
	default:
		b.state = broken
	}
	if b.between && !b.detached {
		_ = b.control.SetReadDeadline(time.Time{})
	}
}

// progress is how far the body has been read. net/http cancels a request whose
// body fails before the read returns, so a deadline that has passed says it
// first.
func (b *body) progress() progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == reading && b.pending && !time.Now().Before(b.deadline) {
		return late
	}
	return b.state
}

// hasAnswer notes that the upstream has answered: whether it reads on is its own
// affair.
func (b *body) hasAnswer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answered = true
	b.stalled.Stop()
}

// detach ends the body's say over the connection. Over HTTP/1 a read that waits
// is ended first: when net/http does that itself, it lifts the deadline and then
// reads on, for as long as the client likes.
func (b *body) detach() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.detached = true
	b.stalled.Stop()
	if b.between || !b.pending || b.control.SetReadDeadline(time.Unix(0, 1)) != nil {
		return
	}
	for b.pending {
		b.idle.Wait()
	}
}
