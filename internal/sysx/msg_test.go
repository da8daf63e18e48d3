package sysx_test

import (
	"bytes"
	"net/netip"
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
	"TryPacket": {func(fd int, p []byte) (int, syscall.Errno) {
		return sysx.TrySendPacket(fd, p, nil)
	}, func(fd int, p []byte) (int, syscall.Errno) {
		return sysx.TryRecvPacket(fd, p, nil)
	}},
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
		sa := &syscall.SockaddrUnix{Name: c.name}
		testenv.Fails(t, syscall.Bind(fd, sa), nil, c.name, "bind")
		testenv.Fails(t, syscall.Connect(fd, sa), nil, c.name, "connect")
		if errno := b.LocalName(fd); errno != 0 || b.Name() != c.back {
			t.Errorf("%q: LocalName: %v, %q, want %q", c.name, errno, b.Name(), c.back)
		}
		if errno := b.PeerName(fd); errno != 0 || b.Name() != c.back {
			t.Errorf("%q: PeerName: %v, %q, want %q", c.name, errno, b.Name(), c.back)
		}
		var from sysx.UnixName
		testenv.Gives(t, 1, done, c.name)(sysx.TrySendMsg(fd, []byte("x"), nil, &a))
		if _, _, _, errno := sysx.TryRecvMsg(fd, make([]byte, 1), nil, &from); errno != 0 ||
			from.Name() != c.back {
			t.Errorf("%q: TryRecvMsg: %v, %q, want %q", c.name, errno, from.Name(), c.back)
		}
		sysx.CloseFD(fd)
	}
}

// datagramSocket makes a bound socket of IPv4.
func datagramSocket(t *testing.T) (fd int, at sysx.RawAddr) {
	t.Helper()
	fd = testenv.Must(sysx.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0))
	t.Cleanup(func() { unix.Close(fd) })
	testenv.MustOK(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	if errno := at.LocalAddr(fd); errno != 0 {
		t.Fatal(errno)
	}
	return fd, at
}

func port(a *sysx.RawAddr) netip.AddrPort {
	ap, _ := a.AddrPort()
	return ap
}

// TestRawAddr: what is set comes back.
func TestRawAddr(t *testing.T) {
	for _, want := range []struct {
		addr string
		zone uint32
	}{{"127.0.0.1:0", 0}, {"1.2.3.4:65535", 0}, {"[::1]:258", 0}, {"[fe80::1]:1", 7},
		{"[::ffff:1.2.3.4]:80", 0}} {
		ap := netip.MustParseAddrPort(want.addr)
		var a sysx.RawAddr
		if ap.Addr().Is4() {
			a.Set4(ap.Addr().As4(), ap.Port())
		} else {
			a.Set6(ap.Addr().As16(), ap.Port(), want.zone)
		}
		if got, zone := a.AddrPort(); got != ap || zone != want.zone || a.Is6() == ap.Addr().Is4() {
			t.Errorf("%s, zone %d: got %v, %d", want.addr, want.zone, got, zone)
		}
	}
}

// TestDatagrams: what each outcome of the calls for one looks like.
func TestDatagrams(t *testing.T) {
	a, from := datagramSocket(t)
	b, to := datagramSocket(t)
	buf := make([]byte, 10)
	var who sysx.RawAddr
	testenv.Fails(t, testenv.Err(sysx.TryRecvPacket(b, buf, &who)), unix.EAGAIN, "nothing there")
	if _, _, _, errno := sysx.TryRecvDatagram(b, buf, nil, &who); errno != unix.EAGAIN {
		t.Errorf("nothing there: %v", errno)
	}
	for _, payload := range []string{"", "hello", "more than ten bytes"} {
		want := payload[:min(len(payload), len(buf))]
		testenv.Gives(t, len(payload), done)(sysx.TrySendPacket(a, []byte(payload), &to))
		arrive(t, b, 1)
		n, errno := sysx.TryRecvPacket(b, buf, &who)
		if string(buf[:n]) != want || errno != 0 || port(&who) != port(&from) {
			t.Errorf("%q from %v, %v", buf[:n], port(&who), errno)
		}
		testenv.Gives(t, len(payload), done)(sysx.TrySendDatagram(a, []byte(payload), nil, &to))
		arrive(t, b, 1)
		n, oobn, flags, errno := sysx.TryRecvDatagram(b, buf, nil, &who)
		if string(buf[:n]) != want || oobn != 0 || errno != 0 || port(&who) != port(&from) ||
			(flags == unix.MSG_TRUNC) != (want != payload) {
			t.Errorf("%q from %v, flags %#x, %v", buf[:n], port(&who), flags, errno)
		}
	}
	testenv.Gives(t, 0, unix.EMSGSIZE, "too large")(sysx.TrySendPacket(a, make([]byte, 1<<16), &to))
	testenv.Fails(t, testenv.Err(sysx.TrySendDatagram(a, nil, nil, nil)), unix.EDESTADDRREQ,
		"without a peer")
	testenv.OK(t, sysx.StartConnect(a, &unix.SockaddrInet4{Port: int(port(&to).Port()),
		Addr: [4]byte{127, 0, 0, 1}}))
	testenv.Gives(t, 1, done)(sysx.TrySendDatagram(a, []byte("x"), nil, nil))
}

// TestBatchCalls: a batch of one size and then another, and what it forgets.
func TestBatchCalls(t *testing.T) {
	a, from := datagramSocket(t)
	b, to := datagramSocket(t)
	var out, in sysx.Batch
	for _, n := range []int{3, 1, 20} {
		out.Reset(n, 0)
		for i := range n {
			*out.Addr(i) = to
			out.Set(i, []byte{byte(n), byte(i)}[:1+i%2], nil, true)
		}
		half := n / 2
		if sent, errno := out.Send(a, half); sent != n-half || errno != 0 {
			t.Fatal(sent, errno)
		}
		room := in.Reset(n, 100)
		testenv.Equal(t, len(room), 100, "bytes for control messages")
		bufs := make([][2]byte, n)
		for i := range n {
			in.Set(i, bufs[i][:], nil, true)
		}
		arrive(t, b, n-half)
		got, short, errno := in.Recv(b)
		if got != n-half || short != (half > 0) || errno != 0 {
			t.Errorf("%d of %d, %v, %v", got, n-half, short, errno)
		}
		for i := range got {
			size, oobn, flags := in.Result(i)
			want := byte(half + i)
			if size != 1+(half+i)%2 || oobn != 0 || flags != 0 || bufs[i][0] != byte(n) ||
				size == 2 && bufs[i][1] != want || port(in.Addr(i)) != port(&from) {
				t.Errorf("datagram %d: %d, %d, %#x, %v from %v", i, size, oobn, flags, bufs[i],
					port(in.Addr(i)))
			}
		}
		out.Forget()
		in.Forget()
		if _, _, errno := in.Recv(b); errno != unix.EAGAIN {
			t.Errorf("nothing there: %v", errno)
		}
		// What was forgotten is not read: the payload is at no address now.
		testenv.Gives(t, 0, unix.EFAULT, "a forgotten batch")(out.Send(a, half))
	}
}

// TestDatagramInjection: interrupted calls are repeated, other errors returned,
// and a batch can be made smaller.
func TestDatagramInjection(t *testing.T) {
	a, _ := datagramSocket(t)
	b, to := datagramSocket(t)
	var who sysx.RawAddr
	var batch sysx.Batch
	buf := make([]byte, 10)
	set := func() {
		batch.Reset(4, 0)
		for i := range 4 {
			*batch.Addr(i) = to
			batch.Set(i, buf, nil, true)
		}
	}
	calls := map[string]func() error{
		"TrySendPacket": func() error { return testenv.Err(sysx.TrySendPacket(a, buf, &to)) },
		"TrySendDatagram": func() error {
			return testenv.Err(sysx.TrySendDatagram(a, buf, nil, &to))
		},
		"Batch.Send":    func() error { set(); return testenv.Err(batch.Send(a, 0)) },
		"TryRecvPacket": func() error { return testenv.Err(sysx.TryRecvPacket(b, buf, &who)) },
		"TryRecvDatagram": func() error {
			_, _, _, errno := sysx.TryRecvDatagram(b, buf, nil, &who)
			return errno
		},
		"Batch.Recv": func() error { set(); _, _, errno := batch.Recv(b); return errno },
	}
	for name, call := range calls {
		n := 0
		remove := sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
			if n++; n < 4 {
				return asked, unix.EINTR
			}
			return asked, unix.ENOBUFS
		})
		if errno := call(); errno != unix.ENOBUFS || n != 4 {
			t.Errorf("%s: %v after %d", name, errno, n)
		}
		remove()
	}
	defer sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) { return 2, 0 })()
	set()
	testenv.Gives(t, 2, done, "two of three")(batch.Send(a, 1))
	testenv.Gives(t, 2, done, "two of three")(batch.Send(a, 1))
	set()
	arrive(t, b, 4)
	if n, short, errno := batch.Recv(b); n != 2 || short || errno != 0 {
		t.Errorf("two of four, which are there: %d, %v, %v", n, short, errno)
	}
}
