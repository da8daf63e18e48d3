package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/goruntime"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// errnos are the errors of system calls, in order.
type errnos = map[sysx.Op][]syscall.Errno

// callCounts counts system calls by kind.
type callCounts [32]atomic.Int64

func (c *callCounts) String() (s string) {
	for op := range c {
		if n := c[op].Load(); n > 0 {
			s += fmt.Sprintf("call %d: %d; ", op, n)
		}
	}
	return s
}

// sum is how many there were of some kinds, or of all.
func (c *callCounts) sum(kinds ...sysx.Op) (n uint64) {
	for op := range c {
		if len(kinds) == 0 || slices.Contains(kinds, sysx.Op(op)) {
			n += uint64(c[op].Load())
		}
	}
	return n
}

// script is an Injector.
type script struct {
	first map[sysx.Op][]syscall.Errno // what the first calls fail with
	every map[sysx.Op]syscall.Errno   // each second call fails so
	limit map[sysx.Op]int             // most bytes or events per call

	called              callCounts
	interrupted, denied callCounts // those that were made to fail so
}

func (s *script) install(t *testing.T) (remove func()) {
	remove = sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		n := int(s.called[op].Add(1)) - 1
		errno := s.every[op]
		if n%2 != 0 {
			errno = 0
		}
		if errs := s.first[op]; n < len(errs) {
			errno = errs[n]
		}
		switch errno {
		case 0:
		case unix.EINTR:
			s.interrupted[op].Add(1)
		case unix.EAGAIN:
			s.denied[op].Add(1)
		}
		if errno != 0 {
			return asked, errno
		}
		if l := s.limit[op]; l > 0 && asked > l {
			asked = l
		}
		return asked, 0
	})
	t.Cleanup(remove)
	return remove
}

func repeat(n int, errno syscall.Errno) []syscall.Errno {
	all := make([]syscall.Errno, n)
	for i := range all {
		all[i] = errno
	}
	return all
}

// untilReadable waits until there is something to read or to accept.
func untilReadable(t testing.TB, fd int) {
	t.Helper()
	testenv.Until(t, "something to read", func() bool {
		return testenv.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100) == 1
	})
}

// TestAcceptFaults: errors of one connection are skipped, a want of memory or
// fds is waited out, and the listener stays. What is an error of the listener
// is returned.
func TestAcceptFaults(t *testing.T) {
	for _, errno := range []syscall.Errno{
		unix.ECONNABORTED, unix.EPROTO, unix.EPERM, unix.ENETDOWN, unix.EHOSTUNREACH,
		unix.ENOBUFS, unix.ENOMEM, unix.EMFILE, unix.ENFILE,
	} {
		inPlacesOf(t, unix.ErrnoName(errno), func(t *testing.T, p testrun.Place) {
			l := listen(t)
			peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
			untilReadable(t, rawFD(l)) // so that each try is answered at once
			s := &script{first: errnos{sysx.Accept: repeat(3, errno)}}
			defer s.install(t)()
			p.Do(t, func() {
				c := testenv.Must(l.AcceptTCP())
				testenv.Equal(t, c.RemoteAddr().String(), peer.LocalAddr().String())
				c.Close()
			})
			testenv.Equal(t, s.called[sysx.Accept].Load(), 4)
		})
	}
	t.Run("EINVAL", func(t *testing.T) {
		start(t, 1)
		l := listen(t)
		defer (&script{first: errnos{sysx.Accept: {unix.EINVAL}}}).install(t)()
		failsIn(t, "accept", testenv.Err(l.Accept()), unix.EINVAL)
	})
}

// TestIOFaults: errors of reads and writes are returned as net returns them,
// and the connection can still be used and closed.
func TestIOFaults(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ECONNRESET, unix.ETIMEDOUT, unix.EHOSTUNREACH,
		unix.ENOBUFS, unix.EPIPE} {
		inPlacesOf(t, unix.ErrnoName(errno), func(t *testing.T, p testrun.Place) {
			c, peer := withPeer(t)
			peer.Write([]byte("later"))
			s := &script{first: errnos{sysx.Recv: {errno}, sysx.Send: {errno}}}
			p.Do(t, func() {
				defer c.Close()
				defer s.install(t)()
				n, err := c.Read(make([]byte, 10))
				failsIn(t, "read", err, errno)
				testenv.Equal(t, n, 0)
				testenv.Equal(t, isTimeout(err), errno == unix.ETIMEDOUT)
				n, err = c.Write(make([]byte, 10))
				failsIn(t, "write", err, errno)
				testenv.Equal(t, n, 0)
				testenv.Gives(t, 5, nil)(c.Read(make([]byte, 10)))
				testenv.Gives(t, 1, nil)(c.Write([]byte("x")))
			})
		})
	}
}

// TestEpollFull: the fd cannot be registered (fs.epoll.max_user_watches). The
// operation that would wait returns that; one that need not wait succeeds; and
// once there is room again all is well.
func TestEpollFull(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		l := listen(t)
		remove := (&script{first: errnos{sysx.EpollCtl: repeat(1000, unix.ENOSPC)}}).install(t)
		p.Do(t, func() {
			failsIn(t, "read", testenv.Err(c.Read(make([]byte, 10))), unix.ENOSPC)
			failsIn(t, "accept", testenv.Err(l.Accept()), unix.ENOSPC)
			failsIn(t, "dial", shut(dialTCP("tcp", l.Addr().String())), unix.ENOSPC)
			testenv.Gives(t, 1, nil)(c.Write([]byte("x")))
			for _, r := range udpReads {
				u := listenUDP(t, loopback4)
				failsIn(t, "read", err3(r.read(u, make([]byte, 10))), unix.ENOSPC)
				testenv.Must(u.WriteToUDP([]byte("x"), udpAddr(u)))
				untilReadable(t, u.FD())
				if n, _, err := r.read(u, make([]byte, 10)); r.name == "ReadBatch" && n != 1 {
					t.Errorf("what is there: %d, %v", n, err) // it looks before it waits
				}
			}
		})
		testenv.Until(t, "the goroutine poller's end, with no fd", func() bool {
			return !strings.Contains(string(testenv.Stacks()), "goroutinePoller")
		})
		remove()
		reader := p.Park(t, coroutine.ReasonRead, func() { expect(t, c, "hello") })
		peer.Write([]byte("hello"))
		reader.Wait(t)
	})
}

// storm is an Injector that does at random what the kernel may do at any time:
// it interrupts, moves less than it was asked to, reports fewer events than
// there are, and refuses connections that have ended and those for which there
// is no fd.
type storm struct {
	seed  uint64
	calls [64]atomic.Uint64 // by Op
}

func (s *storm) install(t *testing.T) (remove func()) {
	remove = sysx.Inject(s.inject)
	t.Cleanup(remove)
	return remove
}

func (s *storm) inject(op sysx.Op, _, asked int) (int, syscall.Errno) {
	rnd := rand.New(rand.NewPCG(s.seed, s.calls[op].Add(1)<<8|uint64(op)))
	switch op {
	case sysx.Recv, sysx.Send, sysx.Sendv:
		if rnd.IntN(4) == 0 {
			return asked, unix.EINTR
		}
		if rnd.IntN(2) == 0 {
			return 1 + rnd.IntN(asked+1), 0
		}
	case sysx.EpollWait:
		if rnd.IntN(4) == 0 {
			return asked, unix.EINTR
		}
		return 1 + rnd.IntN(3), 0
	case sysx.Accept:
		return asked, []syscall.Errno{0, 0, 0, unix.EINTR, unix.ECONNABORTED, unix.EPROTO,
			unix.EHOSTUNREACH, unix.EMFILE, unix.ENFILE,
			unix.ENOBUFS}[rnd.IntN(10)]
	}
	return asked, 0
}

// TestStorm: in a storm nothing is lost, doubled or swapped: by connections
// that have a coroutine or goroutine each, and by those of a Server, over TCP
// and Unix sockets.
func TestStorm(t *testing.T) {
	total := 60 << 10
	if goruntime.RaceEnabled {
		total = 15 << 10
	}
	seed := testenv.Seed(t)
	for _, network := range []string{"tcp", "unix"} {
		for _, server := range []string{"tasks", "Server"} {
			t.Run(network+"/"+server, func(t *testing.T) {
				start(t, 2)
				before := testenv.Files()
				remove := (&storm{seed: seed}).install(t)
				l := listenAny(t, network)
				var stop func()
				if server == "Server" {
					stop = serveAny(t, l, echoOnce)
				} else {
					stop = echoAny(t, l)
				}
				var clients []*testrun.Task
				for i := range 9 {
					rnd := rand.New(rand.NewPCG(seed, uint64(i)))
					clients = append(clients, place(i).Go(func() {
						if err := stormClient(network, l.Addr().String(), rnd, total); err != nil {
							t.Errorf("client %d: %v", i, err)
						}
					}))
				}
				testrun.WaitAll(t, clients...)
				remove()
				stop()
				testenv.Until(t, "all fds to be closed", func() bool {
					return testenv.Files() <= before
				})
			})
		}
	}
}

// listenAny listens on a network's loopback.
func listenAny(t *testing.T, network string) net.Listener {
	t.Helper()
	address := "127.0.0.1:0"
	if network != "tcp" {
		address = abstractName()
	}
	return testenv.Closing(t, testenv.Must(conet.Listen(network, address)))
}

// serveAny serves l with a Server until stop is called, by when each connection
// has been closed once.
func serveAny(t *testing.T, l net.Listener, handle func(*socket.ServerConn) error) (stop func()) {
	var opened, closed atomic.Int32
	s := &socket.Server{
		Handle: handle,
		Opened: func(*socket.ServerConn) error { opened.Add(1); return nil },
		Closed: func(_ *socket.ServerConn, err error) {
			closed.Add(1)
			testenv.True(t, err == io.EOF || errors.Is(err, socket.ErrServerClosed) ||
				errors.Is(err, net.ErrClosed), "a connection was ended by %v", err)
		},
	}
	k := testrun.First.Go(func() { s.Serve(l) })
	return func() {
		s.Close()
		k.Wait(t)
		testenv.Until(t, "all connections to be closed", func() bool {
			return opened.Load() == closed.Load()
		})
	}
}

// echoAny echoes on connections of l, each in another place.
func echoAny(t *testing.T, l net.Listener) (stop func()) {
	k := testrun.Second.Go(func() {
		i := 0
		acceptAll(t, l, func(c net.Conn) {
			i++
			place(i).Run(func() {
				defer c.Close()
				var err error
				for buf := make([]byte, 4<<10); err == nil; {
					var n int
					if n, err = c.Read(buf); n > 0 {
						testenv.Gives(t, n, nil, "echo")(c.Write(buf[:n]))
					}
				}
				testenv.Fails(t, err, io.EOF, "echo")
			})
		})
	})
	return func() {
		l.Close()
		k.Wait(t)
	}
}

// stormClient sends the pattern in pieces and takes each back.
func stormClient(network, address string, rnd *rand.Rand, total int) error {
	conn, err := conet.Dial(network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := conn.(diffEnd)
	buf := make([]byte, 8<<10)
	for at := 0; at < total; {
		p := buf[:min(1+rnd.IntN(len(buf)), total-at)]
		fill(p, at)
		how := diffWriters[rnd.IntN(2)]
		if n, err := how.do(c, p); err != nil || n != len(p) {
			return fmt.Errorf("at %d: %s of %d: %d, %w", at, how.name, len(p), n, err)
		}
		clear(p)
		if n, err := io.ReadFull(c, p); err != nil || differs(p, at) != "" {
			return fmt.Errorf("at %d read %d of %d: %w, %s", at, n, len(p), err, differs(p, at))
		}
		at += len(p)
	}
	if err := c.CloseWrite(); err != nil {
		return err
	}
	if n, err := c.Read(buf); n != 0 || err != io.EOF {
		return fmt.Errorf("at the end: %d, %w", n, err)
	}
	return nil
}

// The edge-triggered scheme must never miss the edge that follows a true
// EAGAIN, however soon it comes. So these Injectors give EAGAIN and make it
// untrue before the caller has it. The kernel never gives an EAGAIN that is
// untrue from the start; a later edge makes up for such a one
// (TestWaitFalseAlarms, TestFalseFull).

// between installs an Injector for one kind of call on one fd; fd -1 is any.
func between(t *testing.T, op sysx.Op, fd int,
	do func(asked int) (int, syscall.Errno)) (remove func()) {
	remove = sysx.Inject(func(o sysx.Op, at, asked int) (int, syscall.Errno) {
		if o != op || fd >= 0 && at != fd {
			return asked, 0
		}
		return do(asked)
	})
	t.Cleanup(remove)
	return remove
}

// everyPair runs a test for TCP and Unix connections in all places. peer is the
// other end's fd.
func everyPair(t *testing.T, f func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int)) {
	for _, network := range []string{"tcp", "unix"} {
		inPlacesOf(t, network, func(t *testing.T, p testrun.Place) {
			c, peer := netcoPair(t, network)
			f(t, p, c, diffFD(c), diffFD(peer))
		})
	}
}

// netcoPair returns the ends of a connection, the accepted one first, which is
// not registered with epoll yet.
func netcoPair(t *testing.T, network string) (a, b diffEnd) {
	w := &diffWorld{t: t, name: "netco", ours: true}
	t.Cleanup(w.close)
	testenv.OK(t, w.connect(network))
	return w.ends[1], w.ends[0]
}

// byteAfterEAGAIN sends one byte of the pattern to fd by each call, and then
// the end of the stream, and has the call find nothing.
func byteAfterEAGAIN(fd, peer, total int) func(asked int) (int, syscall.Errno) {
	sent, msg := 0, pattern(total)
	return func(asked int) (int, syscall.Errno) {
		if queuedOr0(fd) > 0 || sent == total {
			return asked, 0
		}
		unix.Write(peer, msg[sent:sent+1])
		if sent++; sent == total {
			unix.Shutdown(peer, unix.SHUT_WR)
		}
		return asked, unix.EAGAIN
	}
}

// TestDataAfterEAGAIN: each byte comes right behind an EAGAIN.
func TestDataAfterEAGAIN(t *testing.T) {
	const total = 300
	everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
		defer between(t, sysx.Recv, fd, byteAfterEAGAIN(fd, peer, total))()
		p.Do(t, func() {
			// A read that fills its buffer does not show that there is no more,
			// so the next read asks.
			testenv.Gives(t, string(pattern(total)), nil)(
				testenv.AsText(io.ReadAll(iotest.OneByteReader(c))))
		})
	})
}

func queuedOr0(fd int) int {
	n, _ := unix.IoctlGetInt(fd, unix.TIOCINQ)
	return n
}

// TestRoomAfterEAGAIN: the peer takes everything right behind each EAGAIN of a
// write.
func TestRoomAfterEAGAIN(t *testing.T) {
	total := 3 << 20
	everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
		var got []byte
		buf := make([]byte, 256<<10)
		take := func() {
			for {
				n, _, err := unix.Recvfrom(peer, buf, unix.MSG_DONTWAIT)
				if n <= 0 || err != nil {
					return
				}
				got = append(got, buf[:n]...)
			}
		}
		full := 0
		remove := between(t, sysx.Send, fd, func(asked int) (int, syscall.Errno) {
			// poll also has the kernel note that a call waits
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if testenv.Poll(ready, 0) > 0 {
				return asked, 0
			}
			full++
			take()
			return asked, unix.EAGAIN
		})
		p.Do(t, func() {
			testenv.Gives(t, total, nil)(c.Write(pattern(total)))
			c.CloseWrite()
		})
		remove()
		testenv.Until(t, "all bytes", func() bool { take(); return len(got) >= total })
		if d := differs(got, 0); len(got) != total || d != "" || full == 0 {
			t.Errorf("%d bytes of %d, %d times full: %s", len(got), total, full, d)
		}
	})
}

// TestConnectionAfterEAGAIN: each connection comes right behind an EAGAIN of
// accept.
func TestConnectionAfterEAGAIN(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		l := listen(t)
		to := netip.MustParseAddrPort(l.Addr().String())
		var clients []int
		defer func() {
			for _, fd := range clients {
				unix.Close(fd)
			}
		}()
		const conns = 50
		waiting := false
		defer between(t, sysx.Accept, -1, func(asked int) (int, syscall.Errno) {
			if waiting {
				waiting = false
				return asked, 0
			}
			fd, err := unix.Socket(unix.AF_INET,
				unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return asked, 0
			}
			clients = append(clients, fd)
			unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
			waiting = true
			return asked, unix.EAGAIN
		})()
		p.Do(t, func() {
			for range conns {
				c := testenv.Must(l.Accept())
				c.Close()
			}
		})
		testenv.Equal(t, len(clients), conns)
	})
}

// TestRequestAfterEAGAIN: a request comes just when a Server has found its
// connection idle.
func TestRequestAfterEAGAIN(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			start(t, 2)
			a, b := netcoPair(t, network)
			fd, peer := diffFD(a), diffFD(b)
			const total = 300
			send := byteAfterEAGAIN(fd, peer, total)
			send(0)
			defer between(t, sysx.PollFDs, -1, send)()
			var got []byte // by one Handle at a time
			s := &socket.Server{Handle: func(c *socket.ServerConn) error {
				var one [1]byte // so it never finds the socket empty itself
				n, err := c.Read(one[:])
				got = append(got, one[:n]...)
				return err
			}}
			ended := reportEnds(s)
			testrun.First.Do(t, func() { testenv.NoError(t, s.ServeConn(a.(socket.Stream), nil)) })
			testenv.Fails(t, testenv.Await(t, ended, "the connection's end"), io.EOF)
			testenv.Equal(t, string(got), string(pattern(total)))
		})
	}
}

// TestConnectedBeforeItWaits: connect says that it goes on, or is interrupted,
// and has ended, well or badly, before the caller waits.
func TestConnectedBeforeItWaits(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.EINPROGRESS, unix.EINTR, unix.EALREADY} {
		for _, good := range []bool{true, false} {
			t.Run(fmt.Sprint(unix.ErrnoName(errno), good), func(t *testing.T) {
				inPlaces(t, func(t *testing.T, p testrun.Place) {
					to := netip.MustParseAddrPort(testenv.ClosedPort(t))
					if good {
						to = netip.MustParseAddrPort(listen(t).Addr().String())
					}
					fds := testenv.Files()
					defer sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
						if op != sysx.Connect {
							return asked, 0
						}
						unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(),
							Port: int(to.Port())})
						return asked, errno
					})()
					p.Do(t, func() {
						c, err := dialTCP("tcp", to.String())
						if !good {
							same(t, "Dial", err, shut(net.Dial("tcp", to.String())))
							return
						}
						testenv.MustOK(err)
						testenv.Gives(t, 1, nil)(c.Write([]byte("x")))
						testenv.Equal(t, c.RemoteAddr().String(), to.String())
						c.Close()
					})
					testenv.Until(t, "its fds to be closed", func() bool {
						return testenv.Files() <= fds
					})
				})
			})
		}
	}
}

// TestFalseFull: a write hears over and over that there is no room when there
// is, which the kernel does not do. Any event of the fd makes up for it: here
// bytes that the peer sends.
func TestFalseFull(t *testing.T) {
	everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
		const lies = 20
		var lied atomic.Int32
		defer between(t, sysx.Send, fd, func(asked int) (int, syscall.Errno) {
			if lied.Add(1) <= lies {
				return asked, unix.EAGAIN
			}
			return asked, 0
		})()
		k := p.Go(func() { testenv.Gives(t, 5, nil)(c.Write([]byte("hello"))) })
		for !k.Over() {
			before := lied.Load()
			testenv.Must(unix.Write(peer, []byte{0}))
			testenv.Until(t, "another try", func() bool { return lied.Load() > before || k.Over() })
		}
		if n := lied.Load(); n > 2*lies {
			t.Errorf("%d tries for %d lies", n, lies)
		}
	})
}

// TestFirstWaitEdges: the event that a caller is about to wait for comes just
// before the fd is registered with epoll.
func TestFirstWaitEdges(t *testing.T) {
	for name, c := range map[string]struct {
		come func(peer int)
		n    int
		err  error
	}{
		"data":    {func(peer int) { unix.Write(peer, []byte("data")) }, 4, nil},
		"the end": {func(peer int) { unix.Shutdown(peer, unix.SHUT_WR) }, 0, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			everyPair(t, func(t *testing.T, p testrun.Place, end diffEnd, fd, peer int) {
				defer between(t, sysx.EpollCtl, fd, func(asked int) (int, syscall.Errno) {
					c.come(peer)
					return asked, 0
				})()
				p.Do(t, func() { testenv.Gives(t, c.n, c.err)(end.Read(make([]byte, 10))) })
			})
		})
	}
}

// waitInAllWays makes a task for each kind of wait, on sockets that are open,
// half closed and hung up, and returns when all wait. end ends them.
func waitInAllWays(t *testing.T) (end func()) {
	var tasks []*testrun.Task
	waitFor := func(p testrun.Place, reason coroutine.Reason, f func()) {
		k := p.Go(f)
		tasks = append(tasks, k)
		k.UntilParked(t, reason)
	}
	var ends []io.Closer
	for i := range 12 {
		p := place(i)
		c, peer := netcoPair(t, []string{"tcp", "unix"}[i/3%2])
		ends = append(ends, c, peer)
		switch {
		case i < 3:
			waitFor(p, coroutine.ReasonRead, func() { c.Read(make([]byte, 10)) })
		case i < 6:
			waitFor(p, coroutine.ReasonRead, func() { c.(socket.Stream).WaitReadable() })
		// A writer waits whatever there is to read, and also when the peer has
		// ended its side.
		case i < 9:
			peer.Write([]byte("unread"))
			peer.CloseWrite()
			waitFor(p, coroutine.ReasonWrite, func() { c.Write(make([]byte, 8<<20)) })
		default:
			c.SetReadDeadline(future)
			waitFor(p, coroutine.ReasonRead, func() { io.Copy(io.Discard, c) })
		}
	}
	l, u := listen(t), listenAny(t, "unix")
	waitFor(testrun.First, coroutine.ReasonAccept, func() { l.Accept() })
	waitFor(testrun.Second, coroutine.ReasonAccept, func() { u.Accept() })
	deaf, _ := testenv.Deaf(t)
	ctx, cancel := context.WithCancel(context.Background())
	waitFor(testrun.Second, coroutine.ReasonConnect, func() {
		new(socket.Dialer).DialContext(ctx, "tcp", deaf)
	})
	address, _ := serving(t, &socket.Server{Handle: echoOnce, IdleTimeout: time.Hour})
	for range 20 {
		exchange(t, dialNet(t, address), "hello")
	}
	return func() {
		cancel()
		for _, c := range append(ends, l, u) {
			c.Close()
		}
		testrun.WaitAll(t, tasks...)
	}
}

// TestWaitsMakeNoCalls: a wait makes no system calls, after a storm and after
// errors either: readers of open, half closed and hung up connections (the
// kernel reports a hang-up only once), writers without room, acceptors,
// connections that are being made, those of a Server. Wakes of one do not make
// the others look.
func TestWaitsMakeNoCalls(t *testing.T) {
	start(t, 2)
	remove := (&storm{seed: testenv.Seed(t)}).install(t)
	end := waitInAllWays(t)
	remove()
	// Now one connection is busy while the others wait.
	busy, peer := netcoPair(t, "tcp")
	echoed := testrun.First.Go(func() { io.Copy(busy, busy) })
	fd := diffFD(busy)
	var others callCounts
	removeOthers := sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
		if at != fd && op != sysx.EpollWait && op != sysx.EpollCtl {
			others[op].Add(1)
		}
		return asked, 0
	})
	testrun.Second.Do(t, func() {
		for range 200 {
			testenv.NoError(t, answered(peer, "x"))
		}
	})
	removeOthers()
	if n := others.sum(); n > 200*5 { // peer's own are some
		t.Errorf("200 round trips of one connection: others made %s", others.String())
	}
	var calls script
	defer calls.install(t)()
	counts := &calls.called
	settled := counts.sum()
	testenv.Until(t, "rest", func() bool { // until a while passes without a call
		time.Sleep(50 * time.Millisecond)
		before := settled
		settled = counts.sum()
		return settled == before
	})
	polls := counts.sum(sysx.EpollWait)
	time.Sleep(300 * time.Millisecond) // what is looked at
	// The kernel may find a little room for the writers yet, and a Processor
	// that an event has woken polls for up to 50 µs before it sleeps again. One
	// that never sleeps would poll a million times.
	polls = counts.sum(sysx.EpollWait) - polls
	if n := counts.sum() - settled - polls; n > 50 || polls > 10_000 {
		t.Errorf("%d calls and %d polls while all wait: %s", n, polls, counts.String())
	}
	end()
	peer.Close()
	echoed.Wait(t)
	busy.Close()
}

// TestErrorPathsLeaveNoFD: each call that can fail while something is opened,
// in each way, returns net's error and leaves as many fds as there were.
func TestErrorPathsLeaveNoFD(t *testing.T) {
	start(t, 2)
	l := listen(t)
	type call struct {
		op   sysx.Op
		do   func() error
		want string // %v is the errno
	}
	calls := []call{{sysx.Socket, func() error {
		return shut(socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0))
	}, "socket socket: socket: %v"}}
	for op, name := range map[sysx.Op]string{sysx.Socket: "socket", sysx.Connect: "connect",
		sysx.EpollCtl: "epoll_ctl"} {
		calls = append(calls, call{op, func() error {
			return shut(conet.Dial("tcp", l.Addr().String()))
		}, fmt.Sprintf("dial tcp %s: %s: ", l.Addr(), name) + "%v"})
	}
	for i, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM,
		unix.ENOSPC, unix.EACCES, unix.EPERM, unix.EADDRNOTAVAIL, unix.ENETUNREACH,
		unix.ECONNREFUSED} {
		place(i).Do(t, func() {
			p := place(i)
			for _, c := range calls {
				fds, open := testenv.Files(), sockinfo.OpenCount()
				// EADDRNOTAVAIL is tried three times
				inject, _ := nth(c.op, 0, 3, errno)
				remove := sysx.Inject(inject)
				err := c.do()
				remove()
				testenv.Equal(t, fmt.Sprint(err), fmt.Sprintf(c.want, errno), p.Name)
				// The C library opens a file now and then for a new thread.
				testenv.Until(t, fmt.Sprintf("%s, %v: as many fds as before", p.Name, err),
					func() bool { return testenv.Files() <= fds && sockinfo.OpenCount() == open })
				testenv.Fails(t, c.do(), nil, p.Name, "the next")
			}
		})
	}
}
