package spool

import (
	"io"
	"sync"
	"time"
)

// room is how many lines may wait: some seconds of a busy log.
const room = 4096

// A Writer hands lines on to another writer, which may be slow, stand still or
// fail. It comes from [New] and is safe for concurrent use.
type Writer struct {
	to    io.Writer
	note  func(lost int) string
	lines chan []byte
	done  chan struct{} // closed when all that waited has been written

	mu     sync.Mutex
	lost   int    // lines that found no room, since one was last told of
	last   string // what Close was given
	closed bool   // and nothing above changes any more
}

// New makes a Writer, which has a goroutine until it is closed. note is the line,
// with its end, that tells how many others were left out.
func New(to io.Writer, note func(lost int) string) *Writer {
	w := &Writer{to: to, note: note, lines: make(chan []byte, room), done: make(chan struct{})}
	go w.run()
	return w
}

// Write takes one line, never waits and never fails: a line for which there is no
// room is left out. How many were is told in front of the next one that finds
// room.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return len(line), nil
	}
	var text []byte // the caller keeps his
	if w.lost > 0 {
		text = append(text, w.note(w.lost)...)
	}
	text = append(text, line...)
	select {
	case w.lines <- text:
		w.lost = 0
	default:
		w.lost++
	}
	return len(line), nil
}

// run writes until it is closed: then how many lines were left out, which no
// further one tells of, and the last of all.
func (w *Writer) run() {
	defer close(w.done)
	for line := range w.lines {
		w.write(line)
	}
	if w.lost > 0 {
		w.write([]byte(w.note(w.lost)))
	}
	if w.last != "" {
		w.write([]byte(w.last))
	}
}

func (w *Writer) write(text []byte) {
	_, _ = w.to.Write(text) // a log that cannot be written has nobody to be told of it
}

// Close writes what waits and behind it last, which needs no room and may be many
// lines or none, for as long as patience is not over, and takes no more. A second
// Close has no last to add. after is time.After.
func (w *Writer) Close(last string, patience time.Duration, after func(time.Duration) <-chan time.Time) {
	w.mu.Lock()
	if !w.closed {
		w.closed, w.last = true, last
		close(w.lines)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
	case <-after(patience):
	}
}
