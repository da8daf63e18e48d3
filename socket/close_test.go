package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/blocking"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// TestCloseParked: an fd that is only waited for is closed at once, and its
// number may be given away before the waiter has run. The waiter does not touch
// the number any more.
func TestCloseParked(t *testing.T) {
	startLocked(t, 1)
	c, _ := withPeer(t)
	reader := testrun.First.Park(t, coroutine.ReasonRead, func() {
		for range 3 {
			testenv.Gives(t, 0, net.ErrClosed)(c.Read(make([]byte, 10)))
		}
	})
	release := hog(t, 0) // so that the reader cannot return
	fd, before := c.FD(), sockinfo.OpenCount()
	c.Close()
	testenv.Equal(t, sockinfo.OpenCount(), before-1)
	again := false
	for range 10 {
		a, b := netPair(t)
		for _, x := range [][2]*net.TCPConn{{a, b}, {b, a}} {
			again = again || rawFD(x[0]) == fd
			x[1].Write([]byte("not yours"))
		}
	}
	testenv.True(t, again, "the fd's number was not given away, so this shows nothing")
	release()
	reader.Wait(t)
	testenv.Equal(t, sockinfo.OpenCount(), before-1)
}

// TestCloseFreesFDLast: while an operation is in the middle of using the fd,
// its number is not given to anything else.
func TestCloseFreesFDLast(t *testing.T) {
	inPlaces(t, func(t *testing.T, closer testrun.Place) {
		c, _ := withPeer(t)
		inside, leave := make(chan struct{}), make(chan struct{})
		user := testrun.Goroutine.Go(func() {
			rawOf(t, c).Control(func(uintptr) {
				close(inside)
				<-leave
			})
		})
		// a user that is parked does not hide one that is not
		reader := testrun.First.Park(t, coroutine.ReasonRead, func() { c.Read(make([]byte, 1)) })
		testenv.Await(t, inside, "the user")
		fd, before := c.FD(), sockinfo.OpenCount()
		closer.Do(t, func() { c.Close() }) // a goroutine's waits a while
		reader.Wait(t)
		for range 10 {
			a, b := netPair(t)
			testenv.True(t, rawFD(a) != fd && rawFD(b) != fd,
				"fd %d is in use again while it is used", fd)
		}
		testenv.Equal(t, sockinfo.OpenCount(), before)
		close(leave)
		user.Wait(t)
		testenv.Equal(t, sockinfo.OpenCount(), before-1, "sockets after the last user has gone")
	})
}

// TestCloseWaits: when Close returns the fd is closed, also when a coroutine of
// any Processor, the caller's own among them, was using it: its port is free.
func TestCloseWaits(t *testing.T) {
	for _, user := range testrun.Places {
		inPlacesOf(t, "used in "+user.Name, func(t *testing.T, closer testrun.Place) {
			for range 20 {
				l := testenv.Must(listenTCP("tcp", testenv.OwnHost()+":0"))
				k := user.Go(func() { testenv.Fails(t, testenv.Err(l.Accept()), net.ErrClosed) })
				k.UntilParked(t, coroutine.ReasonAccept)
				closer.Do(t, func() {
					l.Close()
					testenv.Equal(t, sockinfo.OpenCount(), 0)
					testenv.NoError(t, shut(conet.Listen("tcp", l.Addr().String())))
				})
				k.Wait(t)
			}
		})
	}
}

// TestCloseDoesNotHang: Close does not wait for a coroutine that cannot return
// because its thread waits for the closer.
func TestCloseDoesNotHang(t *testing.T) {
	start(t, 1)
	a, _ := withPeer(t)
	k := testrun.First.Park(t, coroutine.ReasonRead, func() { a.Read(make([]byte, 1)) })
	testrun.First.Do(t, func() {
		done := make(chan struct{})
		go func() {
			a.Close()
			close(done)
		}()
		<-done
	})
	k.Wait(t)
}

// TestCloseInOnce: both ends of a connection's life may close it by one
// sync.Once, or with one mutex held, also on one Processor: Close must not park
// for an operation of a coroutine whose next step is that Once.
func TestCloseInOnce(t *testing.T) {
	address := echoNet(t)
	start(t, 1)
	testrun.First.Do(t, func() {
		c := testenv.Must(netco.Dial("tcp", address))
		var once sync.Once
		closeIt := func() { once.Do(func() { c.Close() }) }
		reader := testenv.Must(netco.GoWith(netco.Spawn{Local: true, Fn: func() {
			c.Read(make([]byte, 1))
			closeIt()
		}}))
		netco.Yield() // the reader parks
		closeIt()
		reader.Join()
	})
}

// forHours is a time to linger that no test waits for.
const forHours = 10_000

// lingerFor sets SO_LINGER behind netco's back, on the fd.
func lingerFor(c syscall.RawConn, sec int32) (err error) {
	cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER,
			&unix.Linger{Onoff: 1, Linger: sec})
	})
	return errors.Join(cerr, err)
}

// unsent writes to c until the kernel takes no more for the peer, which does
// not read, and returns how many bytes it took.
func unsent(t *testing.T, c net.Conn) (n int) {
	t.Helper()
	c.SetWriteDeadline(time.Now().Add(time.Millisecond))
	for {
		some, err := c.Write(make([]byte, 64<<10))
		n += some
		if err != nil {
			return n
		}
	}
}

// readsRest reads the rest of the stream and checks its length.
func readsRest(t *testing.T, peer *net.TCPConn, want int) {
	t.Helper()
	n, err := io.Copy(io.Discard, peer)
	testenv.True(t, int(n) == want && err == nil, "the peer got %d bytes, %v; want %d", n, err,
		want)
}

// lingerAccepted prepares a listener of lc, connects to it, and returns the
// accepted connection and its peer.
func lingerAccepted(t *testing.T, lc socket.ListenConfig,
	prepare func(l *socket.TCPListener)) (net.Conn, *net.TCPConn) {
	l := testenv.Must(lc.Listen(context.Background(), "tcp", "127.0.0.1:0"))
	defer l.Close()
	prepare(l.(*socket.TCPListener))
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	return testenv.Closing(t, testenv.Must(l.Accept())), peer.(*net.TCPConn)
}

func lingerByHand(_, _ string, c syscall.RawConn) error { return lingerFor(c, forHours) }

// lingering are all ways to get a connection that lingers, with its peer.
var lingering = map[string]func(t *testing.T) (net.Conn, *net.TCPConn){
	"SetLinger": func(t *testing.T) (net.Conn, *net.TCPConn) {
		c, peer := withPeer(t)
		testenv.OK(t, c.SetLinger(forHours))
		return c, peer
	},
	"SyscallConn": func(t *testing.T) (net.Conn, *net.TCPConn) {
		c, peer := withPeer(t)
		testenv.OK(t, lingerFor(rawOf(t, c), forHours))
		return c, peer
	},
	"inherited": func(t *testing.T) (net.Conn, *net.TCPConn) {
		return lingerAccepted(t, socket.ListenConfig{Control: lingerByHand},
			func(*socket.TCPListener) {})
	},
	"inherited later": func(t *testing.T) (net.Conn, *net.TCPConn) {
		return lingerAccepted(t, socket.ListenConfig{}, func(l *socket.TCPListener) {
			testenv.OK(t, lingerFor(rawOf(t, l), forHours))
		})
	},
	"Dialer.Control": func(t *testing.T) (net.Conn, *net.TCPConn) {
		l := testenv.Closing(t, testenv.Must(net.Listen("tcp", "127.0.0.1:0")))
		d := socket.Dialer{Control: lingerByHand}
		c := testenv.Closing(t, testenv.Must(d.Dial("tcp", l.Addr().String())))
		return c, testenv.Closing(t, testenv.Must(l.Accept())).(*net.TCPConn)
	},
	"FileConn": func(t *testing.T) (net.Conn, *net.TCPConn) {
		theirs, peer := netPair(t)
		theirs.SetLinger(forHours)
		f := testenv.Must(theirs.File())
		c := testenv.Closing(t, testenv.Must(conet.FileConn(f)))
		f.Close()
		theirs.Close()
		return c, peer
	},
}

// TestCloseDoesNotLinger: close(2) of a socket with SO_LINGER waits until the
// peer has everything, however non-blocking it is, and held up the whole
// Processor.
func TestCloseDoesNotLinger(t *testing.T) {
	for name, make := range lingering {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			c, peer := make(t)
			n := unsent(t, c)
			testrun.First.Do(t, func() { c.Close() })
			readsRest(t, peer, n)
		})
	}
	t.Run("Socket", closeDoesNotLingerSocket)
	t.Run("Server", closeDoesNotLingerServer)
	t.Run("the end by force", closeDoesNotLingerTheEndByForce)
}

func closeDoesNotLingerSocket(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	f := testenv.Closing(t, testenv.Must(c.File()))
	fd := testenv.Must(unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0))
	x := testenv.Must(socket.AdoptSocket(fd))
	raw, _ := x.SyscallConn()
	lingerFor(raw, forHours)
	n := unsent(t, c)
	f.Close()
	c.Close()
	testrun.First.Go(func() { x.Close() }).Wait(t)
	readsRest(t, peer, n)
}

func closeDoesNotLingerTheEndByForce(t *testing.T) {
	testenv.OK(t, netco.Start(netco.Options{Processors: 1}))
	c, peer := withPeer(t)
	c.SetLinger(forHours)
	n := unsent(t, c)
	c.SetDeadline(time.Time{})
	k := testrun.First.Park(t, coroutine.ReasonRead, func() {
		defer c.Close()
		c.Read(make([]byte, 1))
	})
	testrun.Force(t)
	k.Wait(t)
	readsRest(t, peer, n)
}

func closeDoesNotLingerServer(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	c.SetLinger(forHours)
	n := unsent(t, c)
	s := &socket.Server{Handle: func(c *socket.ServerConn) error {
		c.Read(make([]byte, 1)) // what is unread would make it a reset
		return io.ErrUnexpectedEOF
	}}
	closed := reportEnds(s)
	peer.Write([]byte("x"))
	testenv.OK(t, s.ServeConn(c, nil))
	testenv.Await(t, closed, "the connection to be closed")
	polled(t)
	readsRest(t, peer, n)
}

// TestUnixBesideBlocking: neither Listen on a Unix socket nor its Close waits
// behind the program's own blocking calls. With a full pool whose calls wait
// for a client of that very socket both never returned.
func TestUnixBesideBlocking(t *testing.T) {
	start(t, 2)
	defer blocking.Default().SetLimit(blocking.Default().Stats().Limit)
	testenv.OK(t, blocking.Default().SetLimit(1))
	begun, let := make(chan struct{}), make(chan struct{})
	user := testrun.Second.Go(func() {
		blocking.Do(context.Background(), func() {
			close(begun)
			<-let
		})
	})
	testenv.Await(t, begun, "the user's call")
	testrun.First.Do(t, func() {
		for _, network := range []string{"unix", "unixpacket"} {
			path := testenv.SocketPath(t, "s")
			testenv.NoError(t, shut(conet.Listen(network, path)))
			testenv.True(t, !exists(path), "%s: the file is still there after Close", network)
		}
		testenv.NoError(t, shut(conet.ListenPacket("unixgram", testenv.SocketPath(t, "g"))))
	})
	close(let)
	user.Wait(t)
}

// TestUnixCloseStopped: a coroutine that is ended by force and closes its
// listener on the way out removes the file. The file stayed: the blocking call
// that removes it was refused, since the coroutine could not wait for it.
func TestUnixCloseStopped(t *testing.T) {
	start(t, 1)
	path := testenv.SocketPath(t, "s")
	l := testenv.Must(conet.Listen("unix", path))
	k := testrun.First.Park(t, coroutine.ReasonAccept, func() {
		defer l.Close()
		testenv.Fails(t, testenv.Err(l.Accept()), netco.ErrShutdown)
	})
	k.Co.Handle().Stop()
	k.Wait(t)
	testenv.True(t, !exists(path), "the file is still there")
	testenv.Fails(t, l.Close(), net.ErrClosed, "a second Close")
}

// TestCloseNil: Close of a nil listener is an error, as net's. (Of a nil
// connection it panics there, too.)
func TestCloseNil(t *testing.T) {
	testenv.Equal(t, (*socket.TCPListener)(nil).Close(), (*net.TCPListener)(nil).Close())
	testenv.Equal(t, (*socket.UnixListener)(nil).Close(), (*net.UnixListener)(nil).Close())
}

// TestDeadlineAgainstTimer moves a deadline back and forth from another thread
// while the timer of the one before fires, so that the two wakers meet. Under
// the race detector this also checks that a late waker does not touch the
// waiter's next park.
func TestDeadlineAgainstTimer(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		stop := make(chan struct{})
		mover := testrun.Goroutine.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					c.SetReadDeadline(time.Now().Add(time.Duration(i%50) * time.Microsecond))
				}
			}
		})
		p.Do(t, func() {
			for range 2000 {
				_, err := c.Read(make([]byte, 1))
				failsIn(t, "read", err, os.ErrDeadlineExceeded)
			}
		})
		close(stop)
		mover.Wait(t)
	})
}

// TestStopConnect: a connect that is not answered ends, one to an address and
// one to a name of two families; nothing stays open.
func TestStopConnect(t *testing.T) {
	testrun.Start(t, 2)
	free := 0
	testenv.Until(t, "a port that nobody else takes", func() bool {
		l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))
		free = l.Addr().(*net.TCPAddr).Port
		l.Close()
		return behave(t, unix.AF_INET, free, ignores)
	})
	deaf := twoFaced(t, ignores, ignores)
	s := serveNames(t, both)
	for address, reason := range map[string]coroutine.Reason{
		fmt.Sprintf("127.0.0.1:%d", free): coroutine.ReasonConnect,
		"both.test.:" + deaf:              coroutine.ReasonBlocking,
	} {
		before := testenv.Files()
		k := testrun.First.Park(t, reason, func() {
			d := socket.Dialer{Resolver: s.resolver()}
			testenv.Fails(t, testenv.Err(d.Dial("tcp", address)), netco.ErrShutdown, address)
		})
		k.Co.Handle().Stop()
		k.Wait(t)
		testenv.Until(t, "the sockets to be closed", func() bool {
			return testenv.Files() <= before
		})
	}
}

// TestStopServed: a connection whose coroutine is stopped while it waits for
// another's Read is closed: nothing would serve it.
func TestStopServed(t *testing.T) {
	testrun.Start(t, 2)
	l := listen(t)
	handler := make(chan *coroutine.Coroutine, 1)
	var reader atomic.Pointer[coroutine.Coroutine]
	s := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			c.Read(make([]byte, 1))
			netco.Go(func() {
				reader.Store(coroutine.Current())
				c.Read(make([]byte, 1))
			})
			for co := reader.Load(); co == nil ||
				co.Reason() != coroutine.ReasonRead; co = reader.Load() {
				netco.Yield()
			}
			handler <- coroutine.Current()
			return nil
		},
	}
	closed := reportEnds(s)
	served := testrun.First.Go(func() { s.Serve(l) })
	peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
	peer.Write([]byte("x"))
	co := testenv.Await(t, handler, "the handler")
	testenv.Until(t, "it to wait", func() bool {
		return co.State() == coroutine.Waiting && co.Reason() == coroutine.ReasonLock
	})
	co.Handle().Stop()
	testenv.Fails(t, testenv.Await(t, closed, "Closed"), netco.ErrShutdown)
	s.Close()
	served.Wait(t)
	untilOpen(t, 0)
}
