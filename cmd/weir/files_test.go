package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	plain, link, pipe := filepath.Join(dir, "plain"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.WriteFile(plain, []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(plain, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{plain, link} {
		if b, err := readRegular(name); err != nil || string(b) != "version: 1\n" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{pipe, "/dev/zero"} {
		if _, err := readRegular(name); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "absent")} {
		if _, err := readRegular(name); err == nil {
			t.Errorf("%s was read", name)
		}
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, mostBytes+10), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := readRegular(large); err != nil || len(b) != mostBytes+1 {
		t.Errorf("%d bytes of a large file, %v", len(b), err)
	}
}
