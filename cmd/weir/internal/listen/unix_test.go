package listen_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/listen"
)

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weir.sock")
	c := listen.Config{Address: "unix:" + path}

	// A dead process has left its socket.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	l := open(t, c)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o660 || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	serve(t, l, ok)
	conn := dial(t, l)
	send(t, conn, "GET /x HTTP/1.1\nHost: h\n\n")
	if _, text := answer(t, conn); text != "/x" {
		t.Errorf("got %q", text)
	}

	// A living one keeps it.
	if _, err := listen.Open(t.Context(), c); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("the socket of the living: %v", err)
	}
	other := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(other, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen.Open(t.Context(), listen.Config{Address: "unix:" + other}); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file: %v", err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "precious" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
