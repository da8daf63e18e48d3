package net_test

import (
	stdnet "net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/net"
)

// TestFileFd: the difference from package net that the documentation names. A
// file of a connection or listener of this package stays non-blocking when its
// Fd method is called, and with it the socket; the standard's makes both
// blocking.
func TestFileFd(t *testing.T) {
	testrun.Start(t, 1)
	type filer interface {
		Close() error
		File() (*os.File, error)
	}
	must := func(c any, err error) filer {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		f := c.(filer)
		t.Cleanup(func() { f.Close() })
		return f
	}
	udp := must(net.ListenPacket("udp", "127.0.0.1:0"))
	dir := filepath.Dir(testenv.SocketPath(t, ""))
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name         string
		ours, theirs filer
	}{
		{"TCPListener", must(net.Listen("tcp", "127.0.0.1:0")),
			must(stdnet.Listen("tcp", "127.0.0.1:0"))},
		{"UnixListener", must(net.Listen("unix", at("a"))), must(stdnet.Listen("unix", at("b")))},
		{"UDPConn", udp, must(stdnet.ListenPacket("udp", "127.0.0.1:0"))},
		{"UDPConn with a peer", must(net.Dial("udp", udp.(net.PacketConn).LocalAddr().String())),
			must(stdnet.Dial("udp", "127.0.0.1:9"))},
		{"TCPConn", must(net.Dial("tcp", listening(t))), must(stdnet.Dial("tcp", listening(t)))},
		{"UnixConn", must(net.Dial("unix", at("a"))), must(stdnet.Dial("unix", at("b")))},
	} {
		if !nonblockingAfterFd(t, c.ours) {
			t.Errorf("%s: File().Fd() made it blocking", c.name)
		}
		if nonblockingAfterFd(t, c.theirs) {
			t.Errorf(
				"%s: the standard's stays non-blocking too: there is no difference to document",
				c.name)
		}
	}
}

// listening returns the address of a listener that lets its queue fill.
func listening(t *testing.T) string {
	t.Helper()
	l, err := stdnet.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// nonblockingAfterFd reports whether the file of c is non-blocking after its Fd
// method was called. The mode is c's own, too.
func nonblockingAfterFd(t *testing.T, c interface{ File() (*os.File, error) }) bool {
	t.Helper()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	return flags&syscall.O_NONBLOCK != 0
}
