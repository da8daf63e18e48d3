package testenv

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// ClosedPort returns an address on which nothing listens until the test's end.
// A socket that is bound and does not listen keeps the port, for both IP
// versions where there are two: another process could take a port that is
// merely free.
func ClosedPort(t testing.TB) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
		if err = unix.Bind(fd, &unix.SockaddrInet6{}); err != nil {
			unix.Close(fd)
		}
	}
	if err != nil { // no IPv6 here
		fd = bound(t, [4]byte{})
	} else {
		t.Cleanup(func() { unix.Close(fd) })
	}
	return fmt.Sprint("127.0.0.1:", portOf(t, fd))
}

// OwnHost returns a loopback IPv4 address that no other process's tests use. It
// is for ports that a test binds by number. At 127.0.0.1 the kernel could give
// such a port to another process in between, and one of the two could not
// listen.
func OwnHost() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d", 128+pid>>16, pid>>8&0xff, pid&0xff)
}

// SocketPath returns a path for a Unix socket, in a folder that exists until
// the test's end. A path in t.TempDir, which includes the test's name, can be
// too long for a socket.
func SocketPath(t testing.TB, name string) string {
	dir := SocketDir()
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, name)
}

// SocketDir makes a folder for Unix sockets. It ignores TMPDIR if that leaves
// fewer than 40 of a path's 107 bytes for the socket's name.
func SocketDir() string {
	dir := Must(os.MkdirTemp("", "netco"))
	if len(dir) > 107-40 {
		os.Remove(dir)
		dir = Must(os.MkdirTemp("/tmp", "netco"))
	}
	return dir
}

// Deaf returns the address of a listener whose queue is full until the test's
// end, and its fd: the kernel drops all further connects.
func Deaf(t testing.TB) (address string, fd int) {
	t.Helper()
	fd = bound(t, [4]byte{127, 0, 0, 1})
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprint("127.0.0.1:", portOf(t, fd))
	FillQueue(t, fd, address)
	return address, fd
}

// FillQueue makes the one connection that a listener with a backlog of 0 can
// queue. The dialer is connected before the listener has queued it, so
// FillQueue waits for that: until then the next connection would be accepted
// too.
func FillQueue(t testing.TB, fd int, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	Until(t, "the connection to be in the queue", func() bool {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			t.Fatal(err)
		}
		return info.Unacked > 0 // of a listener: the length of its queue
	})
}

func bound(t testing.TB, at [4]byte) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: at}); err != nil {
		t.Fatal(err)
	}
	return fd
}

func portOf(t testing.TB, fd int) int {
	t.Helper()
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	if v4, ok := at.(*unix.SockaddrInet4); ok {
		return v4.Port
	}
	return at.(*unix.SockaddrInet6).Port
}
