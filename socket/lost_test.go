package socket_test

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// collected collects garbage until a condition holds.
func collected(t *testing.T, what string, ok func() bool) {
	t.Helper()
	testenv.Until(t, what, func() bool {
		runtime.GC()
		return ok()
	})
}

// lostKinds make something with an fd, and all that it takes to wait for it.
// What make returns besides is kept for as long as the test needs it.
var lostKinds = []struct {
	name string
	make func(t *testing.T) (lost any, keep any)
}{
	{"TCPConn, dialled", func(t *testing.T) (any, any) {
		l := listen(t)
		c, err := socket.Dial("tcp", l.Addr().String())
		fatalIf(t, err)
		return c, l
	}},
	{"TCPConn, accepted", func(t *testing.T) (any, any) {
		l := listen(t)
		peer, err := net.Dial("tcp", l.Addr().String())
		fatalIf(t, err)
		c, err := l.Accept()
		fatalIf(t, err)
		l.Close()
		return c, peer
	}},
	{"TCPListener", func(t *testing.T) (any, any) {
		l, err := socket.Listen("tcp", "127.0.0.1:0")
		fatalIf(t, err)
		return l, nil
	}},
	{"UDPConn", func(t *testing.T) (any, any) {
		c, err := socket.ListenPacket("udp", "127.0.0.1:0")
		fatalIf(t, err)
		return c, nil
	}},
	{"UDPConn, dialled", func(t *testing.T) (any, any) {
		c, err := socket.Dial("udp", "127.0.0.1:9")
		fatalIf(t, err)
		return c, nil
	}},
	{"UnixListener", func(t *testing.T) (any, any) {
		l, err := socket.Listen("unix", unixName(t, "s"))
		fatalIf(t, err)
		return l, nil
	}},
	{"UnixConn, dialled", func(t *testing.T) (any, any) {
		l := listenUnix(t, "unix")
		c, err := socket.Dial("unix", l.Addr().String())
		fatalIf(t, err)
		return c, l
	}},
	{"UnixConn, accepted", func(t *testing.T) (any, any) {
		l := listenUnix(t, "unixpacket")
		peer, err := net.Dial("unixpacket", l.Addr().String())
		fatalIf(t, err)
		c, err := l.Accept()
		fatalIf(t, err)
		l.Close()
		return c, peer
	}},
	{"UnixConn, unixgram", func(t *testing.T) (any, any) {
		c, err := socket.ListenPacket("unixgram", unixName(t, "g"))
		fatalIf(t, err)
		return c, nil
	}},
	{"FileConn", func(t *testing.T) (any, any) {
		theirs, _ := netPair(t)
		f, err := theirs.File()
		fatalIf(t, err)
		defer f.Close()
		c, err := socket.FileConn(f)
		fatalIf(t, err)
		return c, theirs
	}},
	{"File", func(t *testing.T) (any, any) {
		r, w, err := os.Pipe()
		fatalIf(t, err)
		defer r.Close()
		f, err := socket.NewFile(r)
		fatalIf(t, err)
		return f, w
	}},
	{"Socket", func(t *testing.T) (any, any) {
		x, err := socket.NewSocket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		fatalIf(t, err)
		fatalIf(t, x.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
		return x, nil
	}},
}

func fatalIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await1 waits for something to read, until a deadline: so it is registered.
func await1(t *testing.T, x any) {
	x.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(time.Microsecond))
	var err error
	switch x := x.(type) {
	case net.Listener:
		_, err = x.Accept()
	case net.PacketConn:
		_, _, err = x.ReadFrom(make([]byte, 1))
	case io.Reader:
		_, err = x.Read(make([]byte, 1))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%T: %v", x, err)
	}
}

// TestLost: what the program has lost without a Close is closed by the garbage
// collector, as with net, be its fd registered or not. The slab of a Processor
// referred to each whole connection, and there was no cleanup: 50 of 50 fds
// stayed.
func TestLost(t *testing.T) {
	const each = 4
	for _, k := range lostKinds {
		for _, p := range testrun.Places {
			t.Run(k.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				var keep []any
				before := socket.Open()
				lose := func(registered bool) {
					p.Do(t, func() {
						x, kept := k.make(t)
						keep = append(keep, kept)
						if registered {
							await1(t, x)
						}
					})
				}
				for i := range each {
					lose(i%2 == 0)
				}
				kept := 0 // listeners of this package's
				for _, x := range keep {
					switch x.(type) {
					case *socket.TCPListener, *socket.UnixListener:
						kept++
					}
				}
				collected(t, "the lost to be closed", func() bool { return socket.Open() <= before+kept })
				if n := socket.Open(); n != before+kept {
					t.Errorf("%d are open, want %d: what is kept was closed", n, before+kept)
				}
				runtime.KeepAlive(keep)
			})
		}
	}
}

// TestLostPeer: the peer of a lost connection learns of its end, and a lost
// connection gives back its place under a limit.
func TestLostPeer(t *testing.T) {
	start(t, 2)
	for _, wrap := range []func(net.Listener) net.Listener{
		func(l net.Listener) net.Listener { return l },
		func(l net.Listener) net.Listener { return outer{Listener: l} },
	} {
		for _, foreign := range []bool{false, true} {
			var l net.Listener
			var err error
			if foreign {
				l, err = net.Listen("tcp", "127.0.0.1:0")
			} else {
				l, err = socket.Listen("tcp", "127.0.0.1:0")
			}
			fatalIf(t, err)
			l = socket.LimitListener(wrap(l), 1)
			for range 3 { // each needs the place of the one before
				peer := dialNet(t, l.Addr().String())
				accepted := make(chan error, 1)
				go func() {
					_, err := l.Accept()
					accepted <- err
				}()
				collected(t, "a place", func() bool { return len(accepted) > 0 })
				fatalIf(t, <-accepted)
				gone := make(chan error, 1)
				go func() {
					_, err := peer.Read(make([]byte, 1))
					gone <- err
				}()
				collected(t, "the peer's end of the stream", func() bool { return len(gone) > 0 })
				if err := <-gone; err != io.EOF {
					t.Error(err)
				}
			}
			l.Close()
		}
	}
}

// TestWaitedForIsNotLost: whoever waits keeps what it waits for, although
// nothing else refers to that.
func TestWaitedForIsNotLost(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			type wait struct {
				make   func() (wait func() error)
				reason coroutine.Reason
			}
			waits := map[string]wait{}
			var mu sync.Mutex
			var wake []func() // under mu
			onWake := func(f func()) {
				mu.Lock()
				defer mu.Unlock()
				wake = append(wake, f)
			}
			reads := map[string]func(*socket.TCPConn) error{
				"Read":         func(c *socket.TCPConn) error { _, err := c.Read(make([]byte, 1)); return err },
				"WaitReadable": func(c *socket.TCPConn) error { return c.WaitReadable() },
				"WriteTo":      func(c *socket.TCPConn) error { _, err := c.WriteTo(io.Discard); return err },
				"Buffered": func(c *socket.TCPConn) error {
					_, err := socket.NewBuffered(c).ReadByte()
					return err
				},
				"RawConn": func(c *socket.TCPConn) error {
					raw, err := c.SyscallConn()
					if err != nil {
						return err
					}
					var failed error
					err = raw.Read(func(fd uintptr) bool {
						_, failed = unix.Read(int(fd), make([]byte, 1))
						return failed != unix.EAGAIN
					})
					return errors.Join(err, failed)
				},
			}
			for name, read := range reads {
				waits[name] = wait{func() func() error {
					l := listen(t)
					peer := dialNet(t, l.Addr().String())
					c, err := l.AcceptTCP()
					fatalIf(t, err)
					l.Close()
					onWake(func() { peer.Write([]byte("x")); peer.CloseWrite() })
					return func() error { return read(c) }
				}, coroutine.ReasonRead}
			}
			waits["Accept"] = wait{func() func() error {
				l, err := socket.Listen("tcp", "127.0.0.1:0")
				fatalIf(t, err)
				address := l.Addr().String()
				onWake(func() { dialNet(t, address) })
				return func() error {
					c, err := l.Accept()
					if err == nil {
						c.Close()
					}
					return err
				}
			}, coroutine.ReasonAccept}
			waits["Write"] = wait{func() func() error {
				l := listen(t)
				peer := dialNet(t, l.Addr().String())
				c, err := l.AcceptTCP()
				fatalIf(t, err)
				l.Close()
				onWake(func() { go io.Copy(io.Discard, peer) })
				return func() error { _, err := c.Write(make([]byte, 32<<20)); return err }
			}, coroutine.ReasonWrite}
			waits["File"] = wait{func() func() error {
				r, w, err := os.Pipe()
				fatalIf(t, err)
				f, err := socket.NewFile(r)
				fatalIf(t, err)
				r.Close()
				onWake(func() { w.Write([]byte("x")); w.Close() })
				return func() error { _, err := f.Read(make([]byte, 1)); return err }
			}, coroutine.ReasonRead}
			var tasks []*testrun.Task
			for name, w := range waits {
				k := p.Go(func() {
					if err := w.make()(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
				k.UntilParked(t, w.reason)
				tasks = append(tasks, k)
			}
			for range 3 {
				runtime.GC()
			}
			mu.Lock()
			for _, f := range wake {
				f()
			}
			mu.Unlock()
			testrun.WaitAll(t, tasks...)
			collected(t, "all to be closed", func() bool { return socket.Open() == 0 })
		})
	}
}

// TestServedIsNotLost: the connections of a Server that nothing refers to any
// more, its listener being closed, are served on, while they are idle and hold
// no coroutine.
func TestServedIsNotLost(t *testing.T) {
	start(t, 2)
	l := listen(t)
	ended := make(chan error, 10)
	k := testrun.First.Go(func() {
		s := &socket.Server{Handle: echoOnce, Closed: func(_ *socket.ServerConn, err error) { ended <- err }}
		s.Serve(l)
	})
	var peers []*net.TCPConn
	for range 4 {
		c := dialNet(t, l.Addr().String())
		exchange(t, c, "hello")
		peers = append(peers, c)
	}
	l.Close()
	k.Wait(t)
	testenv.Until(t, "all to be idle", func() bool { return live(t) == 0 })
	for range 3 {
		runtime.GC()
	}
	for _, c := range peers {
		exchange(t, c, "again")
		c.Close()
		if err := testenv.Await(t, ended, "its end"); err != io.EOF {
			t.Error(err)
		}
	}
}

// TestLostDetached: a connection that Detach took from a Server may be lost as
// any other.
func TestLostDetached(t *testing.T) {
	start(t, 2)
	address, _ := serving(t, &socket.Server{Handle: func(c *socket.ServerConn) error { c.Detach(); return nil }})
	peer := dialNet(t, address)
	peer.Write([]byte("x"))
	peer.CloseWrite()
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, peer)
		gone <- err
	}()
	collected(t, "the peer's end of the stream", func() bool { return len(gone) > 0 })
	// it has not read what was sent
	if err := <-gone; err != nil && !errors.Is(err, unix.ECONNRESET) {
		t.Error(err)
	}
}

// TestLostAndInspected: Inspect looks at sockets while they are collected.
func TestLostAndInspected(t *testing.T) {
	start(t, 1)
	fds := testenv.Files()
	s, err := netco.Default()
	fatalIf(t, err)
	for range 20 {
		testrun.First.Do(t, func() {
			for range 10 {
				c, err := socket.ListenPacket("udp", "127.0.0.1:0")
				fatalIf(t, err)
				await1(t, c)
			}
		})
		collecting := make(chan struct{})
		go func() {
			runtime.GC()
			close(collecting)
		}()
		for over := false; !over; {
			select {
			case <-collecting:
				over = true
			default:
			}
			socket.Inspect(s.Processors()[0], func(info socket.Info) bool {
				if info.Network != "udp" || info.Local == nil {
					t.Errorf("%+v", info)
				}
				return true
			})
		}
	}
	collected(t, "all to be closed", func() bool { return socket.Open() == 0 })
	testenv.Until(t, "the fds", func() bool { return testenv.Files() <= fds })
}
