package socket_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// What is asked of the edge-triggered scheme, and can be tested: EAGAIN that
// was true when it was given is followed by an edge when it ceases to be, and
// that is never missed, however soon it comes. So these Injectors give EAGAIN
// and, before the caller has it, make it untrue. An EAGAIN that was never true
// is something the kernel does not do; a later edge makes up for it
// (TestFalseAlarms, TestFalseFull).

// between installs an Injector for one kind of call on one fd; fd -1 is any.
func between(t *testing.T, op sysx.Op, fd int, do func(asked int) (int, syscall.Errno)) (remove func()) {
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
		for _, p := range testrun.Places {
			t.Run(network+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := netcoPair(t, network)
				f(t, p, c, socket.FDOf(c.(socket.Stream)), socket.FDOf(peer.(socket.Stream)))
			})
		}
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

// TestDataAfterEAGAIN: each byte comes right behind an EAGAIN.
func TestDataAfterEAGAIN(t *testing.T) {
	const total = 300
	everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
		sent, msg := 0, pattern(total)
		defer between(t, sysx.Recv, fd, func(asked int) (int, syscall.Errno) {
			if k := queuedOr0(fd); k > 0 || sent == total {
				return asked, 0
			}
			unix.Write(peer, msg[sent:sent+1])
			if sent++; sent == total {
				unix.Shutdown(peer, unix.SHUT_WR)
			}
			return asked, unix.EAGAIN
		})()
		p.Do(t, func() {
			// A read that is filled does not tell that there is no more, so the
			// next one asks.
			got, err := io.ReadAll(iotest.OneByteReader(c))
			if len(got) != total || err != nil || differs(got, 0) != "" {
				t.Errorf("%d bytes, %v, %s", len(got), err, differs(got, 0))
			}
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
			// that also has the kernel note that somebody waits
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if n, _ := unix.Poll(ready, 0); n > 0 {
				return asked, 0
			}
			full++
			take()
			return asked, unix.EAGAIN
		})
		p.Do(t, func() {
			if n, err := c.Write(pattern(total)); n != total || err != nil {
				t.Errorf("%d, %v", n, err)
			}
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
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
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
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				c.Close()
			}
		})
		if len(clients) != conns {
			t.Errorf("%d clients", len(clients))
		}
	})
}

// TestRequestAfterEAGAIN: a request comes just when a Server has found its
// connection idle.
func TestRequestAfterEAGAIN(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			start(t, 2)
			a, b := netcoPair(t, network)
			fd, peer := socket.FDOf(a.(socket.Stream)), socket.FDOf(b.(socket.Stream))
			const total = 300
			sent, msg := 1, pattern(total)
			unix.Write(peer, msg[:1])
			defer between(t, sysx.PollFDs, -1, func(asked int) (int, syscall.Errno) {
				if queuedOr0(fd) > 0 || sent == total {
					return asked, 0
				}
				unix.Write(peer, msg[sent:sent+1])
				if sent++; sent == total {
					unix.Shutdown(peer, unix.SHUT_WR)
				}
				return asked, unix.EAGAIN
			})()
			var got []byte // by one Handle at a time
			ended := make(chan error, 2)
			s := &socket.Server{
				Handle: func(c *socket.ServerConn) error {
					var one [1]byte // so it never finds the socket empty itself
					n, err := c.Read(one[:])
					got = append(got, one[:n]...)
					return err
				},
				Closed: func(_ *socket.ServerConn, err error) { ended <- err },
			}
			testrun.First.Do(t, func() {
				if err := s.ServeConn(a.(socket.Stream)); err != nil {
					t.Error(err)
				}
			})
			if err := testenv.Await(t, ended, "the connection's end"); err != io.EOF || len(got) != total || differs(got, 0) != "" {
				t.Errorf("%v after %d bytes, %s", err, len(got), differs(got, 0))
			}
		})
	}
}

// TestConnectedBeforeItWaits: connect says that it goes on, or was interrupted,
// and before the caller waits it has come to its end, good or bad.
func TestConnectedBeforeItWaits(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.EINPROGRESS, unix.EINTR, unix.EALREADY} {
		for _, good := range []bool{true, false} {
			for _, p := range testrun.Places {
				t.Run(fmt.Sprint(unix.ErrnoName(errno), good, p.Name), func(t *testing.T) {
					start(t, 2)
					l := listen(t)
					to := netip.MustParseAddrPort(l.Addr().String())
					if !good {
						to = netip.MustParseAddrPort(testenv.ClosedPort(t))
					}
					fds := testenv.Files()
					defer sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
						if op != sysx.Connect {
							return asked, 0
						}
						unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
						return asked, errno
					})()
					p.Do(t, func() {
						c, err := dialTCP("tcp", to.String())
						if !good {
							_, want := net.Dial("tcp", to.String())
							same(t, "Dial", err, want)
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						if _, err := c.Write([]byte("x")); err != nil || c.RemoteAddr().String() != to.String() {
							t.Errorf("%v, %v", c.RemoteAddr(), err)
						}
						c.Close()
					})
					testenv.Until(t, "its fds to be closed", func() bool { return testenv.Files() <= fds })
				})
			}
		}
	}
}

// TestFalseFull: a write is told over and over that there is no room when there
// is, which the kernel does not do. Any event of the fd makes up for it: here
// bytes that the peer sends.
func TestFalseFull(t *testing.T) {
	everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
		const lies = 20
		var told atomic.Int32
		defer between(t, sysx.Send, fd, func(asked int) (int, syscall.Errno) {
			if told.Add(1) <= lies {
				return asked, unix.EAGAIN
			}
			return asked, 0
		})()
		k := p.Go(func() {
			if n, err := c.Write([]byte("hello")); n != 5 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		})
		for !k.Over() {
			before := told.Load()
			testenv.Must(unix.Write(peer, []byte{0}))
			testenv.Until(t, "another try", func() bool { return told.Load() > before || k.Over() })
		}
		if n := told.Load(); n > 2*lies {
			t.Errorf("%d tries for %d lies", n, lies)
		}
	})
}

// TestFirstWaitEdges: what an fd waits for comes just before it is registered
// with epoll.
func TestFirstWaitEdges(t *testing.T) {
	for name, come := range map[string]func(peer int){
		"data":    func(peer int) { unix.Write(peer, []byte("data")) },
		"the end": func(peer int) { unix.Shutdown(peer, unix.SHUT_WR) },
	} {
		t.Run(name, func(t *testing.T) {
			everyPair(t, func(t *testing.T, p testrun.Place, c diffEnd, fd, peer int) {
				defer between(t, sysx.EpollCtl, fd, func(asked int) (int, syscall.Errno) {
					come(peer)
					return asked, 0
				})()
				p.Do(t, func() {
					n, err := c.Read(make([]byte, 10))
					if name == "data" && (n != 4 || err != nil) || name != "data" && err != io.EOF {
						t.Errorf("Read: %d, %v", n, err)
					}
				})
			})
		})
	}
}
