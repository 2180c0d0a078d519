package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// pieceSize is the most that is held of a line: longer ones come in pieces.
const pieceSize = 64 << 10

// errLongLine comes with a piece of a line that is not its last.
var errLongLine = errors.New("the line goes on")

// lineReader reads lines, in a goroutine of its own: a read of a terminal or a pipe
// cannot be interrupted, but whoever waits for it can be.
type lineReader struct {
	wanted chan struct{} // another piece is
	pieces chan piece    // of 1, so that nobody waits for who has left
}

type piece struct {
	text []byte
	err  error
}

func newLineReader(r io.Reader) *lineReader {
	l := &lineReader{wanted: make(chan struct{}), pieces: make(chan piece, 1)}
	go l.read(bufio.NewReaderSize(r, pieceSize))
	return l
}

// read reads a piece for each that is wanted. Its bytes are good until the next is.
func (l *lineReader) read(r *bufio.Reader) {
	for range l.wanted {
		text, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			err = errLongLine
		case err != nil && !errors.Is(err, io.EOF):
			err = fmt.Errorf("standard input: %w", err)
		}
		l.pieces <- piece{text, err}
	}
}

// next gives a line with its newline, or a piece of a long one with errLongLine.
// The last line may come with io.EOF. The bytes are good until the next call.
func (l *lineReader) next(ctx context.Context) ([]byte, error) {
	select {
	case l.wanted <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case p := <-l.pieces:
		return p.text, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop ends the goroutine, once its read has returned.
func (l *lineReader) stop() { close(l.wanted) }
