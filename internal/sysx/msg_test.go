package sysx_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
)

// TestPackets: a packet larger than MaxIO goes and comes as a whole, whatever
// an Injector's limit; one that the kernel does not take is an error and not
// cut off.
func TestPackets(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := fds[0], fds[1]
	defer unix.Close(a)
	defer unix.Close(b)
	interrupted := 0
	defer sysx.Inject(func(sysx.Op, int, int) (int, syscall.Errno) {
		interrupted++
		return 1, []syscall.Errno{unix.EINTR, 0}[interrupted%2]
	})()
	var from sysx.UnixName
	buf := make([]byte, 1<<20)
	for _, n := range []int{0, 1, sysx.MaxIO, sysx.MaxIO + 1, 180_000} {
		msg := bytes.Repeat([]byte{byte(n)}, n)
		if w, errno := sysx.TrySendPacket(a, msg); w != n || errno != 0 {
			t.Errorf("TrySendPacket of %d: %d, %v", n, w, errno)
		}
		if r, errno := sysx.TryRecvPacket(b, buf); !bytes.Equal(buf[:r], msg) || errno != 0 {
			t.Errorf("TryRecvPacket of %d: %d, %v", n, r, errno)
		}
		if w, errno := sysx.TrySendMsg(a, msg, nil, nil); w != n || errno != 0 {
			t.Errorf("TrySendMsg of %d: %d, %v", n, w, errno)
		}
		if r, oobn, flags, errno := sysx.TryRecvMsg(b, buf, nil, &from); !bytes.Equal(buf[:r],
			msg) || oobn != 0 || flags&unix.MSG_TRUNC != 0 || errno != 0 {
			t.Errorf("TryRecvMsg of %d: %d, %d, %#x, %v", n, r, oobn, flags, errno)
		}
		if w, errno := sysx.Sendmsg(a, msg, nil, nil, 0); w != n || errno != 0 {
			t.Errorf("Sendmsg of %d: %d, %v", n, w, errno)
		}
		if r, _, _, _, errno := sysx.Recvmsg(b, buf, nil, 0); !bytes.Equal(buf[:r], msg) ||
			errno != 0 {
			t.Errorf("Recvmsg of %d: %d, %v", n, r, errno)
		}
	}
	big := make([]byte, 16<<20)
	if n, errno := sysx.TrySendPacket(a, big); n != 0 || errno != unix.EMSGSIZE {
		t.Errorf("TrySendPacket of 16 MiB: %d, %v", n, errno)
	}
	if n, errno := sysx.TrySendMsg(a, big, nil, nil); n != 0 || errno != unix.EMSGSIZE {
		t.Errorf("TrySendMsg of 16 MiB: %d, %v", n, errno)
	}
	// The sockets are blocking ones. The calls do not block.
	if _, errno := sysx.TryRecvPacket(b, buf); errno != unix.EAGAIN {
		t.Errorf("TryRecvPacket of nothing: %v", errno)
	}
	if _, _, _, errno := sysx.TryRecvMsg(b, buf, nil, &from); errno != unix.EAGAIN {
		t.Errorf("TryRecvMsg of nothing: %v", errno)
	}
	if _, _, _, _, errno := sysx.Recvmsg(b, buf, nil, 0); errno != unix.EAGAIN {
		t.Errorf("Recvmsg of nothing: %v", errno)
	}
	for errno := syscall.Errno(0); errno != unix.EAGAIN; {
		if _, errno = sysx.TrySendMsg(a, buf[:100_000], nil, nil); errno != 0 &&
			errno != unix.EAGAIN {
			t.Fatal(errno)
		}
	}
	if _, errno := sysx.Sendmsg(a, buf[:100_000], nil, nil, 0); errno != unix.EAGAIN {
		t.Errorf("Sendmsg without room: %v", errno)
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
		fd, err := sysx.NewSocket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		if errno := b.PeerName(fd); errno != unix.ENOTCONN || b.Name() != "" {
			t.Errorf("the peer of a new socket: %v, %q", errno, b.Name())
		}
		if errno := b.LocalName(fd); errno != 0 || b.Name() != "@" {
			t.Errorf("the name of a new socket: %v, %q", errno, b.Name())
		}
		if errno := sysx.BindUnix(fd, &a); errno != 0 {
			t.Errorf("%q: bind: %v", c.name, errno)
		}
		if errno := sysx.ConnectUnix(fd, &a); errno != 0 {
			t.Errorf("%q: connect: %v", c.name, errno)
		}
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
