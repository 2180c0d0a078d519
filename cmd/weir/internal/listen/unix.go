package listen

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// socketMode lets the owner and the group connect.
const socketMode = 0o660

// bindUnix listens on a socket's path. Until its mode is set, right after it
// was made, the process's umask decides who may connect.
func bindUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, socketMode); err != nil {
		_ = l.Close() // the other error is the news
		return nil, err
	}
	return l, nil
}

// removeStale removes a socket file on which nobody listens any more. Any other
// file is somebody's.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("listen unix %s: a file that is no socket stands there; remove it or name another path", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close() // nothing was sent
		return fmt.Errorf("listen unix %s: %w: another process listens on it", path, syscall.EADDRINUSE)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("listen unix %s: cannot tell whether another process listens on it: %w", path, err)
	}
	return os.Remove(path)
}
