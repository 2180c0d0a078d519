package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/daemon"
	"github.com/weirhq/weir/policy"
)

// mostBytes bounds what is read of one file, also behind a compression: a rules
// file of ten thousand rules has some two megabytes.
const mostBytes = 8 << 20

// source finds the rules file of a command's arguments and says how to read it.
// The one that was taken without being named is told on standard error.
func (e *Env) source(args []string) (policy.Source, error) {
	name, err := e.findRules(args)
	if err != nil {
		return policy.Source{}, err
	}
	s := policy.Source{Name: name, ReadFile: e.readFile, Environ: e.Environ, Fits: daemon.Fits, Daemon: true}
	if name == "-" {
		if s.Stdin, err = e.readStdin(); err != nil {
			return policy.Source{}, err
		}
	}
	return s, nil
}

// findRules is the file that was named, or the first that there is. The variable
// counts as a name: what it says is taken, even where there is no such file.
func (e *Env) findRules(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	looked := []string{"$WEIR_CONFIG (not set)"}
	if name := e.Getenv("WEIR_CONFIG"); name != "" {
		fmt.Fprintf(e.Stderr, "weir: rules from %s (WEIR_CONFIG)\n", name)
		return name, nil
	}
	for _, name := range e.usualPlaces() {
		if e.Exists(name) {
			fmt.Fprintf(e.Stderr, "weir: rules from %s\n", name)
			return name, nil
		}
		looked = append(looked, name)
	}
	return "", usagef("no rules file: name one, or put it where it is looked for:\n  %s", strings.Join(looked, "\n  "))
}

func (e *Env) usualPlaces() []string {
	places := []string{"./weir.yaml"}
	config := e.Getenv("XDG_CONFIG_HOME")
	if home := e.Getenv("HOME"); config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	if config != "" {
		places = append(places, filepath.Join(config, "weir", "weir.yaml"))
	}
	return append(places, "/etc/weir/weir.yaml")
}

// readFile reads a file; one whose name ends in .gz is unpacked.
func (e *Env) readFile(name string) ([]byte, error) {
	b, err := e.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".gz") {
		return unpack(name, b)
	}
	return b, bounded(name, len(b))
}

// readStdin reads standard input, which has no name to go by: what begins as
// gzip does is unpacked.
func (e *Env) readStdin() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(e.Stdin, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return unpack("standard input", b)
	}
	return b, bounded("standard input", len(b))
}

func unpack(name string, packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: it is no gzip", name)
	}
	b, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, bounded(name, len(b))
}

func bounded(name string, size int) error {
	if size > mostBytes {
		return fmt.Errorf("%s: more than %d MiB: no rules file is that large", name, mostBytes>>20)
	}
	return nil
}

// invalid prints what is wrong with a file and is the error for it.
func (e *Env) invalid(found policy.Diagnostics) error {
	if err := found.Print(e.Stderr, e.color(e.Stderr)); err != nil {
		return err
	}
	return exits(exitInvalid, fmt.Errorf("the rules cannot be used"))
}
