package sysx_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
)

// packetCalls are the ways to send a packet, and to receive one.
var packetCalls = map[string]struct {
	send, recv func(fd int, p []byte) (int, syscall.Errno)
}{
	"TryPacket": {sysx.TrySendPacket, sysx.TryRecvPacket},
	"TryMsg": {func(fd int, p []byte) (int, syscall.Errno) {
		return sysx.TrySendMsg(fd, p, nil, nil)
	}, func(fd int, p []byte) (int, syscall.Errno) {
		var from sysx.UnixName
		n, oobn, flags, errno := sysx.TryRecvMsg(fd, p, nil, &from)
		if oobn != 0 || flags&unix.MSG_TRUNC != 0 {
			errno = unix.EBADMSG
		}
		return n, errno
	}},
	"msg": {func(fd int, p []byte) (int, syscall.Errno) {
		return sysx.Sendmsg(fd, p, nil, nil, 0)
	}, func(fd int, p []byte) (int, syscall.Errno) {
		n, _, _, _, errno := sysx.Recvmsg(fd, p, nil, 0)
		return n, errno
	}},
}

// TestPackets: a packet larger than MaxIO goes and comes as a whole, whatever
// an Injector's limit; one that the kernel does not take is an error and not
// cut off.
func TestPackets(t *testing.T) {
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0))
	a, b := fds[0], fds[1]
	defer unix.Close(a)
	defer unix.Close(b)
	interrupted := 0
	defer sysx.Inject(func(sysx.Op, int, int) (int, syscall.Errno) {
		interrupted++
		return 1, []syscall.Errno{unix.EINTR, 0}[interrupted%2]
	})()
	buf := make([]byte, 1<<20)
	for name, c := range packetCalls {
		for _, n := range []int{0, 1, sysx.MaxIO, sysx.MaxIO + 1, 180_000} {
			msg := bytes.Repeat([]byte{byte(n)}, n)
			testenv.Gives(t, n, done, name, "sent")(c.send(a, msg))
			if r, errno := c.recv(b, buf); errno != 0 || !bytes.Equal(buf[:r], msg) {
				t.Errorf("%s: received %d of %d, %v", name, r, n, errno)
			}
		}
		testenv.Gives(t, 0, unix.EMSGSIZE, name, "16 MiB")(c.send(a, make([]byte, 16<<20)))
		// The sockets are blocking ones. The calls do not block.
		testenv.Fails(t, testenv.Err(c.recv(b, buf)), unix.EAGAIN, name, "nothing received")
	}
	for errno := syscall.Errno(0); errno != unix.EAGAIN; {
		if _, errno = sysx.TrySendMsg(a, buf[:100_000], nil, nil); errno != 0 &&
			errno != unix.EAGAIN {
			t.Fatal(errno)
		}
	}
	for name, c := range packetCalls {
		testenv.Fails(t, testenv.Err(c.send(a, buf[:100_000])), unix.EAGAIN, name,
			"sent without room")
	}
}

// TestUnixName: a name goes into the kernel and comes back as package net would
// write it.
func TestUnixName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range []struct {
		name, back string
		errno      syscall.Errno
	}{
		{"path", "path", 0},
		{"cut\x00here", "cut", 0},
		{strings.Repeat("x", 107), strings.Repeat("x", 107), 0},
		{strings.Repeat("x", 108), "", unix.EINVAL},
		{"@netco-sysx", "@netco-sysx", 0},
		{"\x00netco-sysx-nul", "@netco-sysx-nul", 0},
		{"@netco\x00cut", "@netco", 0},
		{"@" + strings.Repeat("x", 107), "@" + strings.Repeat("x", 107), 0},
		{"@" + strings.Repeat("x", 108), "", unix.EINVAL},
	} {
		var a, b sysx.UnixName
		if errno := a.Set(c.name); errno != c.errno {
			t.Errorf("Set(%q): %v, want %v", c.name, errno, c.errno)
		}
		if c.errno != 0 {
			continue
		}
		fd := testenv.Must(sysx.NewSocket(unix.AF_UNIX, unix.SOCK_DGRAM, 0))
		if errno := b.PeerName(fd); errno != unix.ENOTCONN || b.Name() != "" {
			t.Errorf("the peer of a new socket: %v, %q", errno, b.Name())
		}
		if errno := b.LocalName(fd); errno != 0 || b.Name() != "@" {
			t.Errorf("the name of a new socket: %v, %q", errno, b.Name())
		}
		testenv.Equal(t, sysx.BindUnix(fd, &a), 0, c.name, "bind")
		testenv.Equal(t, sysx.ConnectUnix(fd, &a), 0, c.name, "connect")
		if errno := b.LocalName(fd); errno != 0 || b.Name() != c.back {
			t.Errorf("%q: LocalName: %v, %q, want %q", c.name, errno, b.Name(), c.back)
		}
		if errno := b.PeerName(fd); errno != 0 || b.Name() != c.back {
			t.Errorf("%q: PeerName: %v, %q, want %q", c.name, errno, b.Name(), c.back)
		}
		var from sysx.UnixName
		sysx.TrySendPacket(fd, []byte("x"))
		if _, _, _, errno := sysx.TryRecvMsg(fd, make([]byte, 1), nil, &from); errno != 0 ||
			from.Name() != c.back {
			t.Errorf("%q: TryRecvMsg: %v, %q, want %q", c.name, errno, from.Name(), c.back)
		}
		sysx.CloseFD(fd)
	}
}
