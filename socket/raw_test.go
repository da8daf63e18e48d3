package socket_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

func rawSocket(t testing.TB, domain, typ, proto int) *socket.Socket {
	t.Helper()
	return testenv.Closing(t, testenv.Must(socket.NewSocket(domain, typ, proto)))
}

// TestSocketTCP: all the calls of a server and a client, with addresses,
// options and the end.
func TestSocketTCP(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		l := rawSocket(t, unix.AF_INET, unix.SOCK_STREAM, 0)
		testenv.OK(t, errors.Join(l.SetsockoptInt(unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			l.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
			l.WaitReadable(), l.Listen(10)))
		at := testenv.Must(l.Getsockname())
		server := p.Park(t, coroutine.ReasonRead, func() {
			c, peer, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			testenv.True(t, peer.(*unix.SockaddrInet4).Addr == [4]byte{127, 0, 0, 1},
				"the peer is %v", peer)
			testenv.NoError(t, c.WaitReadable())
			got, err := io.ReadAll(c)
			if d := differs(got, 0); len(got) != 1<<20 || d != "" || err != nil {
				t.Errorf("%d bytes, %v, %s", len(got), err, d)
			}
			c.Write([]byte("done"))
		})
		c := rawSocket(t, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		p.Do(t, func() {
			testenv.NoError(t, c.Connect(at))
			if peer, err := c.Getpeername(); err != nil ||
				peer.(*unix.SockaddrInet4).Port != at.(*unix.SockaddrInet4).Port {
				t.Error(peer, err)
			}
			testenv.Gives(t, 1<<20, nil)(c.Write(pattern(1 << 20)))
			testenv.NoError(t, c.Shutdown(unix.SHUT_WR))
			b := make([]byte, 10)
			if n, _, _, _, err := c.Recvmsg(b, nil, 0); string(b[:n]) != "done" || err != nil {
				t.Errorf("%q, %v", b[:n], err)
			}
			testenv.Gives(t, 0, io.EOF, "at the end")(c.Read(b))
			testenv.Gives(t, unix.SOCK_STREAM, nil)(c.GetsockoptInt(unix.SOL_SOCKET, unix.SO_TYPE))
		})
		server.Wait(t)
	})
}

// TestSocketNetlink asks the kernel for its interfaces, which package net
// cannot.
func TestSocketNetlink(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		s, err := socket.NewSocket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
		if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPERM) ||
			errors.Is(err, unix.EACCES) {
			t.Skip("no netlink here: ", err)
		} else if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		testenv.OK(t, s.Bind(&unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		reader := p.Park(t, coroutine.ReasonRead, func() {
			found := false
			for {
				b := make([]byte, 1<<20)
				n, _, _, from, err := s.Recvmsg(b, nil, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if _, ok := from.(*unix.SockaddrNetlink); !ok {
					t.Errorf("it came from %T", from)
				}
				msgs := testenv.Must(syscall.ParseNetlinkMessage(b[:n]))
				for _, m := range msgs {
					found = found || m.Header.Type == unix.RTM_NEWLINK
					if m.Header.Type == unix.NLMSG_DONE {
						testenv.True(t, found, "no interface")
						return
					}
				}
			}
		})
		request := make([]byte, 17+3) // nlmsghdr and rtgenmsg
		request[0], request[4], request[5], request[6], request[7] = byte(len(request)),
			unix.RTM_GETLINK, 0, unix.NLM_F_REQUEST, unix.NLM_F_DUMP>>8
		testenv.Gives(t, len(request), nil)(s.Sendmsg(request, nil,
			&unix.SockaddrNetlink{Family: unix.AF_NETLINK}, 0))
		reader.Wait(t)
	})
}

// TestSocketFlags: with MSG_DONTWAIT a call says EAGAIN, MSG_PEEK takes
// nothing, and to find an error queue empty does not make a later Read wait for
// what is there already.
func TestSocketFlags(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := rawSocket(t, unix.AF_INET, unix.SOCK_DGRAM, 0), rawSocket(t, unix.AF_INET,
			unix.SOCK_DGRAM, 0)
		testenv.OK(t, a.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		at := testenv.Must(a.Getsockname())
		testenv.OK(t, b.Connect(at))
		buf := make([]byte, 100)
		var op *net.OpError
		if _, _, _, _, err := a.Recvmsg(buf, nil, unix.MSG_DONTWAIT); !errors.Is(err,
			unix.EAGAIN) || !errors.As(err, &op) || op.Op != "read" {
			t.Errorf("MSG_DONTWAIT: %v", err)
		}
		reader := p.Park(t, coroutine.ReasonRead, func() {
			a.SetReadDeadline(time.Now().Add(limit))
			testenv.NoError(t, a.WaitReadable())
			if _, _, _, _, err := a.Recvmsg(buf, nil,
				unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
				t.Errorf("MSG_ERRQUEUE: %v", err)
			}
			if n, _, _, from, err := a.Recvmsg(buf, nil, unix.MSG_PEEK); string(buf[:n]) != "one" ||
				from == nil || err != nil {
				t.Errorf("MSG_PEEK: %q, %v, %v", buf[:n], from, err)
			}
			for _, want := range []string{"one", "", "two"} {
				readsText(t, a, want)
			}
			if _, _, got, _, err := a.Recvmsg(buf[:1], nil, 0); got&unix.MSG_TRUNC == 0 ||
				err != nil {
				t.Errorf("a short buffer: flags %#x, %v", got, err)
			}
		})
		for _, msg := range []string{"one", "", "two", "three"} {
			testenv.Gives(t, len(msg), nil)(b.Write([]byte(msg)))
		}
		reader.Wait(t)
	})
}

// TestSocketErrors: a deadline ends Connect, and a closed Socket says so;
// nothing stays open. Bad arguments are in TestBadInputOwn.
func TestSocketErrors(t *testing.T) {
	start(t, 2)
	deaf := sockaddr(t, first(testenv.Deaf(t)))
	before := testenv.Files()
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) { socketClosed(t, p) })
	}
	t.Run("deaf listener", func(t *testing.T) {
		c := rawSocket(t, unix.AF_INET, unix.SOCK_STREAM, 0)
		c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
		testenv.Fails(t, c.Connect(deaf), os.ErrDeadlineExceeded)
	})
	// fewer, if a collection has closed the lost sockets of an earlier test
	testenv.Until(t, "the fds", func() bool { return testenv.Files() <= before })
}

func first[A, B any](a A, _ B) A { return a }

// sockaddr is an address of IPv4 as system calls take it.
func sockaddr(t *testing.T, address string) *unix.SockaddrInet4 {
	t.Helper()
	at := testenv.Must(net.ResolveTCPAddr("tcp4", address))
	return &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}
}

func socketClosed(t *testing.T, p testrun.Place) {
	x := rawSocket(t, unix.AF_INET, unix.SOCK_DGRAM, 0)
	testenv.OK(t, x.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	x.Close()
	_, _, accept := x.Accept()
	for name, err := range map[string]error{
		"Close": x.Close(), "Bind": x.Bind(&unix.SockaddrInet4{}), "Listen": x.Listen(1),
		"Connect": x.Connect(&unix.SockaddrInet4{}), "Accept": accept,
		"Sendmsg":       testenv.Err(x.Sendmsg(nil, nil, nil, 0)),
		"GetsockoptInt": testenv.Err(x.GetsockoptInt(0, 0)),
		"Shutdown":      x.Shutdown(0), "SetDeadline": x.SetDeadline(time.Time{}),
		"Read": testenv.Err(x.Read(nil)),
	} {
		testenv.Fails(t, err, net.ErrClosed, "after Close", name)
	}
}

// TestAdoptSocket: the Socket owns the fd, which becomes non-blocking and
// closed on exec. A Socket that listens accepts.
func TestAdoptSocket(t *testing.T) {
	start(t, 1)
	fds := testenv.Must(unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0))
	defer unix.Close(fds[1])
	x := testenv.Must(socket.AdoptSocket(fds[0]))
	reader := testrun.First.Park(t, coroutine.ReasonRead, func() { readsText(t, x, "hello") })
	unix.Write(fds[1], []byte("hello"))
	reader.Wait(t)
	rawOf(t, x).Control(func(fd uintptr) {
		flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0)
		cloexec, _ := unix.FcntlInt(fd, unix.F_GETFD, 0)
		testenv.True(t, int(fd) == fds[0] && flags&unix.O_NONBLOCK != 0 &&
			cloexec&unix.FD_CLOEXEC != 0, "fd %d, flags %#x, %#x", fd, flags, cloexec)
	})
	x.Close()
	if _, err := unix.Write(fds[1], []byte("x")); err != unix.EPIPE {
		t.Errorf("a write to the other end after Close: %v", err)
	}
}

// rawPair returns connections of each network to look at, and the peer of each.
var rawPairs = map[string]func(testing.TB) (c, peer net.Conn){
	"tcp":        func(t testing.TB) (net.Conn, net.Conn) { return pair(t) },
	"unix":       func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unix") },
	"unixpacket": func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unixpacket") },
	"unixgram":   func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unixgram") },
}

func rawOf(t testing.TB, c any) syscall.RawConn {
	return testenv.Must(c.(syscall.Conn).SyscallConn())
}

// recv is a function for RawConn.Read.
func recv(into *[]byte) func(uintptr) bool {
	return func(fd uintptr) bool {
		b := make([]byte, 100)
		n, _, err := unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
		if err == unix.EAGAIN {
			return false
		}
		*into = append(*into, b[:max(n, 0)]...)
		return true
	}
}

// TestRawConn: Read calls its function until it returns true and parks in
// between; an ordinary read afterwards misses nothing. The ends of a raw Read
// are in the tables of waits.
func TestRawConn(t *testing.T) {
	for name, pair := range rawPairs {
		inPlacesOf(t, name, func(t *testing.T, p testrun.Place) {
			c, peer := pair(t)
			rawConnReads(t, p, c, peer)
			rawConnEnds(t, c, peer)
		})
	}
}

func rawConnReads(t *testing.T, p testrun.Place, c, peer net.Conn) {
	var got []byte
	var reads atomic.Int64
	reader := p.Go(func() {
		for range 2 {
			testenv.NoError(t, rawOf(t, c).Read(recv(&got)))
			reads.Add(1)
		}
	})
	for i, msg := range []string{"one", "two"} {
		reader.UntilParked(t, coroutine.ReasonRead)
		peer.Write([]byte(msg))
		testenv.Until(t, "the message", func() bool { return reads.Load() > int64(i) })
	}
	reader.Wait(t)
	testenv.Equal(t, string(got), "onetwo")
	reader = p.Park(t, coroutine.ReasonRead, func() { readsText(t, c, "three") })
	peer.Write([]byte("three"))
	reader.Wait(t)
}

func rawConnEnds(t *testing.T, c, peer net.Conn) {
	calls := 0
	testenv.Fails(t, rawOf(t, peer).Write(func(uintptr) bool { calls++; return calls > 1 }), nil)
	testenv.Equal(t, calls, 2, "calls")
	c.Close()
	failsIn(t, "raw-control", rawOf(t, c).Control(func(uintptr) { t.Error("called after Close") }),
		net.ErrClosed)
}

// TestRawConnPanics: a function that panics leaves no lock behind: the
// connection can be used.
func TestRawConnPanics(t *testing.T) {
	type rawEnd interface {
		io.ReadWriter
		syscall.Conn
	}
	boom := func(uintptr) bool { panic("as asked") }
	for name, open := range map[string]func(t *testing.T) (r, w rawEnd){
		"connection": func(t *testing.T) (r, w rawEnd) { return unixPair(t, "unix") },
		"file":       func(t *testing.T) (r, w rawEnd) { return filePipe(t) },
	} {
		inPlacesOf(t, name, func(t *testing.T, p testrun.Place) {
			r, w := open(t)
			p.Do(t, func() {
				for _, c := range []rawEnd{r, w} {
					raw := rawOf(t, c)
					testenv.Panics(t, "as asked", func() { raw.Read(boom) })
					testenv.Panics(t, "as asked", func() { raw.Write(boom) })
					testenv.Panics(t, "as asked", func() { raw.Control(func(uintptr) { boom(0) }) })
				}
				testenv.NoError(t, testenv.Err(w.Write([]byte("x"))))
				readsText(t, r, "x")
			})
		})
	}
	start(t, 1)
	c, _ := unixPair(t, "unix")
	testenv.NoError(t, rawOf(t, c).Write(func(fd uintptr) bool {
		c.Close()
		testenv.Fails(t, testenv.Err(unix.FcntlInt(fd, unix.F_GETFD, 0)), nil,
			"the fd was closed under the function")
		return true
	}))
}

// TestFile: the duplicate lives on when the connection is closed, is closed on
// exec, is named as net names it, and stays non-blocking whatever is done to
// it.
func TestFile(t *testing.T) {
	start(t, 1)
	for name, pair := range rawPairs {
		c, peer := pair(t)
		f := testenv.Closing(t, testenv.Must(c.(interface{ File() (*os.File, error) }).File()))
		want := name + ":" + c.LocalAddr().String() + "->"
		if c.RemoteAddr() != nil {
			want += c.RemoteAddr().String()
		}
		testenv.Equal(t, f.Name(), want, "it is named")
		fd := f.Fd()
		if flags, _ := unix.FcntlInt(fd, unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
			t.Error("it is not closed on exec")
		}
		if flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0); flags&unix.O_NONBLOCK == 0 {
			t.Error("Fd made it blocking")
		}
		c.Close()
		peer.Write([]byte("hello"))
		f.SetReadDeadline(time.Now().Add(limit))
		readsText(t, f, "hello", name)
		if _, err := c.(interface{ File() (*os.File, error) }).File(); !errors.Is(err,
			net.ErrClosed) || !strings.HasPrefix(err.Error(), "file "+name) {
			t.Errorf("File after Close: %v", err)
		}
	}
	l := listen(t)
	if err := rawOf(t, l).Read(func(uintptr) bool { return true }); err != syscall.EINVAL {
		t.Errorf("a listener's raw Read: %v", err)
	}
	if err := rawOf(t, l).Control(func(fd uintptr) {
		testenv.Gives(t, 1, nil)(unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN))
	}); err != nil {
		t.Error(err)
	}
}

// TestSharedListener: a listener whose socket another process shares, and has
// made blocking, neither blocks its thread nor loses connections.
func TestSharedListener(t *testing.T) {
	start(t, 1)
	l := listen(t)
	f := testenv.Closing(t, testenv.Must(l.File()))
	accepting := testrun.First.Go(func() {
		for range 3 {
			c := testenv.Must(l.Accept())
			c.Close()
		}
	})
	for range 3 {
		accepting.UntilParked(t, coroutine.ReasonAccept)
		unix.SetNonblock(int(f.Fd()), false)
		c := testenv.Must(net.Dial("tcp", l.Addr().String()))
		if _, err := c.Read(make([]byte, 1)); err != io.EOF {
			t.Error(err)
		}
		c.Close()
		testrun.First.Go(func() {}).Wait(t) // its Processor runs
	}
	accepting.Wait(t)
}

// TestSharedFDLeavesEpoll: an fd that has duplicates is gone from epoll once it
// is closed: the next socket with its number can be waited for, again and
// again, and an event of the duplicate wakes nothing.
func TestSharedFDLeavesEpoll(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (again func() (io.ReadCloser, int),
		peer io.Writer){
		"connection": func(t *testing.T) (func() (io.ReadCloser, int), io.Writer) {
			c, peer := unixPair(t, "unix")
			f := sharing(t, c)
			c.Close()
			return func() (io.ReadCloser, int) {
				c := testenv.Must(conet.FileConn(f))
				return c, diffFD(c.(diffEnd))
			}, peer
		},
		"file": func(t *testing.T) (func() (io.ReadCloser, int), io.Writer) {
			r, w := pipeOfOS(t)
			return func() (io.ReadCloser, int) {
				f := testenv.Must(socket.NewFile(r))
				return f, int(f.Fd())
			}, w
		},
	} {
		inPlacesOf(t, name, func(t *testing.T, p testrun.Place) {
			again, peer := open(t)
			before, seen, twice := testenv.Files(), map[int]bool{}, false
			for range 20 {
				c, fd := again()
				twice = twice || seen[fd]
				seen[fd] = true
				reader := p.Park(t, coroutine.ReasonRead, func() { readsText(t, c, "x") })
				peer.Write([]byte("x"))
				reader.Wait(t)
				c.Close()
			}
			testenv.True(t, twice, "no number came twice")
			testenv.Until(t, "the fds", func() bool { return testenv.Files() <= before })
		})
	}
}

// block makes an open file description blocking by another fd of it, as a
// co-owner may, a child process perhaps.
func block(t *testing.T, other *os.File) {
	t.Helper()
	raw := testenv.Must(other.SyscallConn())
	raw.Control(func(fd uintptr) { testenv.NoError(t, unix.SetNonblock(int(fd), false)) })
}

// sharing returns another fd of c's socket.
func sharing(t *testing.T, c interface{ File() (*os.File, error) }) *os.File {
	t.Helper()
	return testenv.Closing(t, testenv.Must(c.File()))
}

// TestSharedMadeBlocking: splice and sendfile go by O_NONBLOCK of the
// description. Sharing it and taking the flag away once stopped the whole
// process: the thread stood in a system call that Go knew nothing of. So did
// other calls that have no flag of their own, for a Processor at least.
func TestSharedMadeBlocking(t *testing.T) {
	t.Run("splice in", sharedMadeBlockingSpliceIn)
	t.Run("splice out", func(t *testing.T) {
		start(t, 1)
		src, peer := withPeer(t)
		dst, down := withPeer(t)
		other := sharing(t, dst)
		var s moveOps
		defer s.install(t)()
		k := testrun.First.Park(t, coroutine.ReasonRead, func() { io.Copy(dst, src) })
		block(t, other)
		go func() {
			peer.Write(make([]byte, 16<<20))
			peer.Close()
		}()
		k.UntilParked(t, coroutine.ReasonWrite)
		testenv.True(t, s.splices() != 0, "nothing was spliced")
		go io.Copy(io.Discard, down)
		k.Wait(t)
	})
	t.Run("sendfile", func(t *testing.T) {
		start(t, 1)
		c, peer := withPeer(t)
		other := sharing(t, c)
		f := testenv.Closing(t, testenv.Must(os.Create(filepath.Join(t.TempDir(), "big"))))
		testenv.OK(t, f.Truncate(16<<20))
		block(t, other)
		k := testrun.First.Park(t, coroutine.ReasonWrite, func() { c.ReadFrom(f) })
		go io.Copy(io.Discard, peer)
		k.Wait(t)
	})
	t.Run("File", sharedMadeBlockingFile)
	t.Run("SyscallConn", sharedMadeBlockingSyscallConn)
	t.Run("connect", func(t *testing.T) {
		start(t, 1)
		fd := testenv.Must(unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))
		x := testenv.Must(socket.AdoptSocket(fd))
		dup := testenv.Must(unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0))
		other := os.NewFile(uintptr(dup), "other")
		defer other.Close()
		address, _ := testenv.Deaf(t)
		at := sockaddr(t, address)
		block(t, other)
		k := testrun.First.Park(t, coroutine.ReasonConnect, func() { x.Connect(at) })
		x.Close()
		k.Wait(t)
	})
}

func sharedMadeBlockingSpliceIn(t *testing.T) {
	start(t, 1)
	src, peer := withPeer(t)
	dst, down := withPeer(t)
	other := sharing(t, src)
	var s moveOps
	defer s.install(t)()
	k := testrun.First.Go(func() { io.Copy(dst, src) })
	go io.Copy(io.Discard, down)
	peer.Write(make([]byte, 1<<20))
	testenv.Until(t, "the copy to splice all", func() bool {
		return s.splices() > 0 && queued(t, src.FD()) == 0
	})
	k.UntilParked(t, coroutine.ReasonRead)
	block(t, other)
	peer.Write(make([]byte, 64<<10))
	testenv.Until(t, "the data to be taken", func() bool { return queued(t, src.FD()) == 0 })
	polled(t)
	k.UntilParked(t, coroutine.ReasonRead)
	peer.Close()
	k.Wait(t)
}

func sharedMadeBlockingSyscallConn(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	other := sharing(t, c)
	raw := testenv.Must(c.SyscallConn())
	block(t, other)
	k := testrun.First.Park(t, coroutine.ReasonRead, func() {
		raw.Read(func(fd uintptr) bool {
			_, err := unix.Read(int(fd), make([]byte, 1))
			return err != unix.EAGAIN
		})
	})
	peer.Write([]byte("x"))
	k.Wait(t)
	block(t, other)
	k = testrun.First.Park(t, coroutine.ReasonWrite, func() {
		raw.Write(func(fd uintptr) bool {
			_, err := unix.Write(int(fd), make([]byte, 64<<10))
			return err != nil && err != unix.EAGAIN
		})
	})
	peer.SetLinger(0)
	peer.Close()
	k.Wait(t)
}

func sharedMadeBlockingFile(t *testing.T) {
	start(t, 1)
	r, w := pipeOfOS(t) // as a standard input that a child has, too
	in := testenv.Closing(t, testenv.Must(socket.NewFile(r)))
	out := testenv.Closing(t, testenv.Must(socket.NewFile(w)))
	block(t, r)
	k := testrun.First.Park(t, coroutine.ReasonRead, func() { in.Read(make([]byte, 1)) })
	raw, _ := in.SyscallConn()
	out.Write([]byte("x"))
	k.Wait(t)

	block(t, r)
	k = testrun.First.Park(t, coroutine.ReasonRead, func() {
		raw.Read(func(fd uintptr) bool {
			_, err := unix.Read(int(fd), make([]byte, 1))
			return err != unix.EAGAIN
		})
	})
	out.Write([]byte("x"))
	k.Wait(t)

	block(t, w)
	k = testrun.First.Park(t, coroutine.ReasonWrite, func() { out.Write(make([]byte, 1<<20)) })
	go func() {
		for b := make([]byte, 64<<10); ; {
			if _, err := in.Read(b); err != nil {
				return
			}
		}
	}()
	k.Wait(t)
}
