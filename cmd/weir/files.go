package main

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readRegular reads a file as os.ReadFile does, but nothing else than a regular
// file, and no more than a rules file may have: a pipe would wait for a writer,
// and a device has no end, while the daemon has signals to act on.
func readRegular(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer would not open
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() { // reading a folder fails by itself
		return nil, fmt.Errorf("%s: it is no regular file; write - to read standard input", name)
	}
	return io.ReadAll(io.LimitReader(f, mostBytes+1))
}
