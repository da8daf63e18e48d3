package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	conet "github.com/netco-go/netco/net"
	"github.com/netco-go/netco/socket"
)

// roundTrip sends size bytes, a writer beside the reader, and reads them back.
func roundTrip(p testrun.Place, c *socket.TCPConn, size int) error {
	var wrote error
	writer := p.Go(func() {
		n, err := c.Write(pattern(size))
		if wrote = err; err == nil && n != size {
			wrote = fmt.Errorf("Write returned %d without an error", n)
		}
	})
	got := make([]byte, size)
	if n, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("read %d: %w", n, err)
	}
	if d := differs(got, 0); d != "" {
		return errors.New(d)
	}
	for !writer.Over() { // on this thread it needs a turn
		netco.Yield()
	}
	return wrote
}

// inOneEdge runs read on a connection whose reader waits, and on one whose
// reader has not begun: all that send sends arrives before the Processor looks,
// so epoll reports it in one event.
func inOneEdge(t *testing.T, read func(*testing.T, *socket.TCPConn),
	send func(*testing.T, *socket.TCPConn, *net.TCPConn)) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		t.Run(p.Name+"/parked", func(t *testing.T) {
			startLocked(t, 1)
			c, peer := withPeer(t)
			reader := p.Park(t, coroutine.ReasonRead, func() { read(t, c) })
			release := hog(t, 0)
			send(t, c, peer)
			release()
			reader.Wait(t)
		})
		t.Run(p.Name+"/fresh", func(t *testing.T) {
			startLocked(t, 1)
			c, peer := withPeer(t)
			send(t, c, peer)
			p.Do(t, func() { read(t, c) })
		})
	}
}

// resetBy resets the connection from its other end.
func resetBy(peer *net.TCPConn) {
	peer.SetLinger(0)
	peer.Close()
}

// TestResetWakes: reader and writer that are parked when the reset comes get
// ECONNRESET, or what the other of the two left of it.
func TestResetWakes(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		var read, wrote error
		reader := p.Go(func() { read = testenv.Err(c.Read(make([]byte, 1))) })
		writer := p.Go(func() { wrote = testenv.Err(c.Write(tooMuch)) })
		reader.UntilParked(t, coroutine.ReasonRead)
		writer.UntilParked(t, coroutine.ReasonWrite)
		resetBy(peer)
		testrun.WaitAll(t, reader, writer)
		if !errors.Is(read, unix.ECONNRESET) {
			testenv.Fails(t, read, io.EOF, "read")
			testenv.Fails(t, wrote, unix.ECONNRESET, "write")
		} else if !errors.Is(wrote, unix.ECONNRESET) {
			testenv.Fails(t, wrote, unix.EPIPE, "write")
		}
	})
}

// readsAll checks that r gives so many bytes of the pattern and then its end.
func readsAll(t *testing.T, r io.Reader, total int) {
	t.Helper()
	got, err := io.ReadAll(r)
	if d := differs(got, 0); len(got) != total || err != nil || d != "" {
		t.Errorf("read %d of %d, %v %s", len(got), total, err, d)
	}
}

// TestHalfClose: 4 MiB after a FIN in the other direction, both ways, and a
// Close right behind 4 MiB. gnet, netpoll and nbio lose data here.
func TestHalfClose(t *testing.T) {
	const total = 4 << 20
	for _, p := range testrun.Places {
		t.Run("theirs first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			testenv.OK(t, peer.CloseWrite())
			k := p.Go(func() {
				defer c.Close()
				testenv.Gives(t, 0, io.EOF)(c.Read(make([]byte, 10)))
				testenv.Gives(t, total, nil)(c.Write(pattern(total)))
			})
			readsAll(t, peer, total)
			k.Wait(t)
		})
		t.Run("ours first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			k := p.Go(func() {
				testenv.NoError(t, testenv.Err(io.WriteString(c, "question")))
				testenv.NoError(t, c.CloseWrite())
				readsAll(t, c, total)
				testenv.Fails(t, testenv.Err(io.WriteString(c, "x")), unix.EPIPE, "after it")
			})
			testenv.Gives(t, "question", nil)(testenv.AsText(io.ReadAll(peer)))
			testenv.Gives(t, total, nil)(peer.Write(pattern(total)))
			peer.Close()
			k.Wait(t)
		})
	}
}

// TestBufferOutlivesProcessor: a buffer may be used and released after the
// Scheduler it came from has ended.
func TestBufferOutlivesProcessor(t *testing.T) {
	testrun.Start(t, 1)
	var b *socket.Buffer
	testrun.First.Go(func() { b = socket.AcquireBuffer() }).Wait(t)
	testrun.Force(t)
	b.Bytes()[0] = 1
	b.Release()
}

// TestUrgentData: a read stops in front of a byte sent with MSG_OOB, so it is
// short although there is more behind. Whoever takes that for a socket read
// empty waits for an edge that does not come.
func TestUrgentData(t *testing.T) {
	inOneEdge(t, func(t *testing.T, c *socket.TCPConn) {
		got := make([]byte, len("beforeaf"))
		_, err := io.ReadFull(c, got)
		testenv.Gives(t, "beforeaf", nil)(string(got), err)
	}, func(t *testing.T, c *socket.TCPConn, peer *net.TCPConn) {
		testenv.Must(peer.Write([]byte("before")))
		sendOOB(t, peer)
		testenv.Must(peer.Write([]byte("after")))
		// How much is counted in front of the urgent byte differs; that all has
		// come shows in the window.
		testenv.Until(t, "the data", func() bool { return received(t, c) >= len("before!after") })
	})
}

// received returns how many bytes the kernel has had from the peer.
func received(t *testing.T, c *socket.TCPConn) int {
	t.Helper()
	info := testenv.Must(unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO))
	return int(info.Bytes_received)
}

// sendOOB sends one byte with MSG_OOB.
func sendOOB(t *testing.T, peer *net.TCPConn) {
	t.Helper()
	raw := testenv.Must(peer.SyscallConn())
	raw.Control(func(fd uintptr) {
		testenv.NoError(t, unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil))
	})
}

// sendUrgent sends one byte with MSG_OOB from peer to c, and returns when c's
// kernel side has it.
func sendUrgent(t *testing.T, c *socket.TCPConn, peer *net.TCPConn) {
	t.Helper()
	want := received(t, c) + 1
	sendOOB(t, peer)
	testenv.Until(t, "the urgent byte", func() bool { return received(t, c) >= want })
}

// polled returns when the first Processor has looked for events and acted on
// them.
func polled(t testing.TB) { testrun.First.Go(func() { coroutine.YieldTurn() }).Wait(t) }

// staysParked checks that no event that has come wakes k, which waits to read.
func staysParked(t *testing.T, k *testrun.Task) {
	t.Helper()
	polled(t)
	if !k.Parked(coroutine.ReasonRead) {
		t.Fatal("the wait has ended")
	}
}

// TestUrgentWakesNone: urgent data marked the connection as hung up, for
// good, and every wait for something to read returned at once: loops of
// WaitReadable and Read, and Buffered's, spun without ever letting the
// Processor go.
func TestUrgentWakesNone(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for name, wait := range map[string]func(c *socket.TCPConn, b *socket.Buffered){
			"WaitReadable":      func(c *socket.TCPConn, _ *socket.Buffered) { c.WaitReadable() },
			"Buffered.ReadByte": func(_ *socket.TCPConn, b *socket.Buffered) { b.ReadByte() },
			"Buffered.WaitReadable": func(_ *socket.TCPConn, b *socket.Buffered) {
				b.WaitReadable()
			},
			"Buffered.Read, direct": func(_ *socket.TCPConn, b *socket.Buffered) {
				b.Read(make([]byte, 64<<10))
			},
		} {
			t.Run(p.Name+"/"+name, func(t *testing.T) {
				start(t, 1)
				c, peer := withPeer(t)
				b := socket.NewBuffered(c)
				for _, f := range []func(){
					func() { b.ReadByte() }, // it is registered by this one
					func() { wait(c, b) },
				} {
					k := p.Go(f)
					k.UntilParked(t, coroutine.ReasonRead)
					sendUrgent(t, c, peer)
					staysParked(t, k)
					peer.Write([]byte("x"))
					k.Wait(t)
				}
			})
		}
	}
}

// TestUrgentIsIdle: a Server's connection on which nothing but urgent data came
// was given to Handle, whose Read then waited without IdleTimeout, for ever.
func TestUrgentIsIdle(t *testing.T) {
	for _, early := range []bool{true, false} {
		t.Run(fmt.Sprint("before it is idle ", early), func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			s := &socket.Server{IdleTimeout: 50 * time.Millisecond,
				Handle: func(c *socket.ServerConn) error { return readOne(c) }}
			ended := reportEnds(s)
			if early {
				s.Opened = func(*socket.ServerConn) error { // it has been registered
					sendUrgent(t, c, peer)
					coroutine.YieldTurn()
					return nil
				}
			}
			testenv.OK(t, s.ServeConn(c, nil))
			if !early {
				sendOOB(t, peer)
			}
			testenv.Fails(t, testenv.Await(t, ended, "IdleTimeout"), os.ErrDeadlineExceeded)
		})
	}
}

// TestUrgentAndBuffers: under BufferMemory a reader that is woken for nothing
// has a buffer while it waits in Read, and few of those starve everybody who
// waits for one.
func TestUrgentAndBuffers(t *testing.T) {
	startWith(t, netco.Options{Processors: 1, BufferMemory: 16 << 10, BufferSize: 16 << 10})
	c, peer := withPeer(t)
	reader := testrun.First.Park(t, coroutine.ReasonRead, func() {
		for c.WaitReadable() == nil {
			b := socket.AcquireBuffer()
			_, err := c.Read(b.Bytes())
			b.Release()
			if err != nil {
				return
			}
		}
	})
	sendUrgent(t, c, peer)
	peer.Write([]byte("x")) // wakes it with the mark set
	testenv.Until(t, "the byte to be read", func() bool { return queued(t, c.FD()) == 0 })
	polled(t)
	other := testrun.First.Go(func() { socket.AcquireBuffer().Release() })
	other.Wait(t)
	testenv.True(t, !reader.Over(), "the reader has ended")
	peer.Close()
	reader.Wait(t)
}

// TestHangupBeforeConnect: a TCP socket that is waited for before it is
// connected is hung up in epoll's eyes. Connected, it is not, but every wait
// for something to read returned at once.
func TestHangupBeforeConnect(t *testing.T) {
	start(t, 1)
	l := listen(t)
	x := testenv.Closing(t, testenv.Must(socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0)))
	at := l.Addr().(*net.TCPAddr)
	testrun.First.Do(t, func() {
		x.WaitReadable() // the hang-up
		testenv.NoError(t,
			x.Connect(&unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}))
		x.SetReadDeadline(time.Now().Add(time.Millisecond))
		for err := error(nil); err == nil; {
			_, err = x.Read(make([]byte, 1)) // EAGAIN, and what edges there are
		}
		x.SetReadDeadline(time.Time{})
	})
	k := testrun.First.Park(t, coroutine.ReasonRead, func() { x.WaitReadable() })
	staysParked(t, k)
	x.Close()
	k.Wait(t)
}

// TestMoveUrgentAtEnd: a splice in front of urgent data behind which the peer
// has closed its side says that the stream has ended, and what came between was
// lost.
func TestMoveUrgentAtEnd(t *testing.T) {
	startLocked(t, 1)
	src, peer := withPeer(t)
	dst, down := withPeer(t)
	var s moveOps
	defer s.install(t)()
	k := testrun.First.Park(t, coroutine.ReasonRead, func() {
		io.Copy(dst, src)
		dst.Close()
	})
	got := make(chan []byte, 1)
	go func() {
		p, err := io.ReadAll(down)
		testenv.NoError(t, err)
		got <- p
	}()
	// First the copy is made to splice, then all comes at once.
	bulk := pattern(1 << 20)
	peer.Write(bulk)
	testenv.Until(t, "the copy to splice", func() bool {
		return s.splices() > 0 && queued(t, src.FD()) == 0
	})
	release := hog(t, 0)
	already := received(t, src)
	want := append(bulk, pattern(64<<10)...)
	peer.Write(want[len(bulk):])
	sendUrgent(t, src, peer)
	peer.Write([]byte("after"))
	peer.CloseWrite()
	want = append(want, "after"...)
	testenv.Until(t, "the end", func() bool {
		return received(t, src) >= already+64<<10+len("!after") &&
			tcpState(t, src.FD()) == tcpCloseWait
	})
	release()
	k.Wait(t)
	if p := testenv.Await(t, got, "the end"); !bytes.Equal(p, want) {
		t.Errorf("%d bytes arrived of %d", len(p), len(want))
	}
}

// count counts the calls of one kind until the test ends.
func count(t *testing.T, of sysx.Op) *atomic.Int64 {
	var n atomic.Int64
	t.Cleanup(sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		if op == of {
			n.Add(1)
		}
		return asked, 0
	}))
	return &n
}

// TestSlowReader: 8 MiB for a peer that takes a little at a time and makes
// pauses. All of it arrives, the writer is parked during the pauses and does
// not try over and over, and nothing buffers what it cannot send.
func TestSlowReader(t *testing.T) {
	const total, bite = 8 << 20, 64 << 10
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		c.SetWriteBuffer(256 << 10)
		peer.SetReadBuffer(256 << 10)
		msg := pattern(total)
		sends := count(t, sysx.Send)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		writer := p.Go(func() { testenv.Gives(t, total, nil)(c.Write(msg)) })
		writer.UntilParked(t, coroutine.ReasonWrite)
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc - before.TotalAlloc); p.Name != "goroutine" &&
			grown > 1<<20 {
			t.Errorf("%d bytes allocated for a write of %d that is under way", grown, total)
		}
		got := make([]byte, bite)
		for at := 0; at < total; at += bite {
			// a pause: what was read makes the writer go on until it is stuck
			// again
			if at%(16*bite) == 0 && at < total/2 {
				writer.UntilParked(t, coroutine.ReasonWrite)
				tried := sends.Load()
				for range 100 {
					testrun.First.Do(t, netco.Yield)
				}
				// The kernel may still move something to the peer's side, but
				// not once for every turn.
				if again := sends.Load(); again > tried+50 {
					t.Errorf("%d tries to send in 100 turns without a read", again-tried)
				}
			}
			testenv.Must(io.ReadFull(peer, got))
			if d := differs(got, at); d != "" {
				t.Fatal(d)
			}
		}
		writer.Wait(t)
		if n := sends.Load(); n > 2*total/4096 {
			t.Errorf("%d calls to send %d bytes", n, total)
		}
	})
}

// TestManyAcceptors: three accept as fast as they can, until Close, and each
// connection goes to exactly one.
func TestManyAcceptors(t *testing.T) {
	for _, at := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", ""}, {"unix", "@"},
		{"unixpacket", ""}, {"unixpacket", "@"}} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			start(t, 2)
			address := at[1]
			if at[0] != "tcp" {
				address += testenv.SocketPath(t, "s")
			}
			l := testenv.Closing(t, testenv.Must(conet.Listen(at[0], address)))
			if name := l.Addr().String(); at[0] != "tcp" && (name != address ||
				l.Addr().Network() != at[0] || exists(name) == (at[1] == "@")) {
				t.Errorf("it listens on %v", l.Addr())
			}
			manyAccept(t, l)
		})
	}
}

func manyAccept(t *testing.T, l net.Listener) {
	const conns = 200
	var accepted atomic.Int64
	var tasks []*testrun.Task
	for _, p := range testrun.Places {
		tasks = append(tasks, p.Go(func() {
			acceptAll(t, l, func(c net.Conn) {
				accepted.Add(1)
				c.Write([]byte("hello"))
				c.Close()
			})
		}))
	}
	var peers []net.Conn
	for range conns {
		peer := testenv.Closing(t, testenv.Must(net.Dial(l.Addr().Network(), l.Addr().String())))
		peer.SetDeadline(time.Now().Add(limit))
		peers = append(peers, peer)
	}
	for _, peer := range peers {
		testenv.Gives(t, "hello", nil)(testenv.AsText(io.ReadAll(peer)))
	}
	l.Close()
	testrun.WaitAll(t, tasks...)
	testenv.Equal(t, accepted.Load(), conns, "accepted")
}

// TestReaderBesideWriter: both are parked on one connection; what the peer then
// does wakes the one it concerns, first one, then the other. C++ netco lost
// one.
func TestReaderBesideWriter(t *testing.T) {
	const total = 2 << 20
	for _, r := range testrun.Places {
		for _, readerFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/reader first=%v", r.Name, readerFirst), func(t *testing.T) {
				inPlaces(t, func(t *testing.T, w testrun.Place) {
					c, peer := withPeer(t)
					c.SetWriteBuffer(256 << 10)
					peer.SetReadBuffer(256 << 10)
					reader := r.Go(func() { expect(t, c, "x") })
					writer := w.Go(func() { testenv.Gives(t, total, nil)(c.Write(pattern(total))) })
					reader.UntilParked(t, coroutine.ReasonRead)
					writer.UntilParked(t, coroutine.ReasonWrite)
					steps := []func(){func() {
						testenv.Gives(t, 1, nil)(peer.Write([]byte("x")))
						reader.Wait(t)
					}, func() {
						expect(t, peer, string(pattern(total)))
						writer.Wait(t)
					}}
					if !readerFirst {
						slices.Reverse(steps)
					}
					steps[0]()
					steps[1]()
				})
			})
		}
	}
}
