//go:build unix

package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readerGone reports whether nobody reads any more what is written to a stream. Of
// one that is no file that is not known: false.
func readerGone(stream any) bool {
	file, ok := stream.(syscall.Conn)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}} // errors are told without being asked for
		n, err := unix.Poll(poll, 0)
		gone = n == 1 && err == nil && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone && err == nil
}
