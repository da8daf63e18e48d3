package socket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
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
	"github.com/netco-go/netco/processor"
	"github.com/netco-go/netco/socket"
)

// TestEcho sends messages of all sizes from every kind of place to every other
// and compares what comes back.
func TestEcho(t *testing.T) {
	for _, server := range testrun.Places {
		for _, client := range testrun.Places {
			t.Run(client.Name+" to "+server.Name, func(t *testing.T) {
				start(t, 2)
				a, b := pair(t)
				s := server.Go(func() { echo(b) })
				c := client.Go(func() {
					defer a.Close()
					for _, size := range []int{0, 1, 64, 128<<10 + 1, 1 << 20} {
						if err := roundTrip(client, a, size); err != nil {
							t.Errorf("%d bytes: %v", size, err)
							return
						}
					}
				})
				c.Wait(t)
				s.Wait(t)
			})
		}
	}
}

// roundTrip sends size bytes, a writer beside the reader, and reads them back.
func roundTrip(p testrun.Place, c *socket.TCPConn, size int) error {
	wrote := make(chan error, 1)
	p.Run(func() {
		n, err := c.Write(pattern(size))
		if err == nil && n != size {
			err = fmt.Errorf("Write returned %d without an error", n)
		}
		wrote <- err
	})
	got := make([]byte, size)
	if n, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("read %d: %w", n, err)
	}
	if d := differs(got, 0); d != "" {
		return fmt.Errorf("%s", d)
	}
	for {
		select {
		// It was all read, so this is not long in coming, but on this thread it
		// needs a turn.
		case err := <-wrote:
			return err
		default:
			yield()
		}
	}
}

// TestEchoPipelined writes a thousand messages before it reads the first
// answer.
func TestEchoPipelined(t *testing.T) {
	const messages, size = 1000, 64
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		a, b := pair(t)
		s := p.Go(func() { echo(b) })
		c := p.Go(func() {
			defer a.Close()
			for i := range messages {
				if _, err := a.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Errorf("message %d: %v", i, err)
					return
				}
			}
			got := make([]byte, size)
			for i := range messages {
				if _, err := io.ReadFull(a, got); err != nil {
					t.Errorf("answer %d: %v", i, err)
					return
				}
				if !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, size)) {
					t.Errorf("answer %d is %x", i, got)
					return
				}
			}
		})
		c.Wait(t)
		s.Wait(t)
	})
}

// TestEmptyReadAndWrite: neither takes nor sends anything, nor waits.
func TestEmptyReadAndWrite(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		p.Do(t, func() {
			for range 100 {
				if n, err := c.Read(nil); n != 0 || err != nil {
					t.Errorf("Read(nil) with nothing to read: %d, %v", n, err)
				}
				if n, err := c.Write(nil); n != 0 || err != nil {
					t.Errorf("Write(nil): %d, %v", n, err)
				}
			}
		})
		testenv.Must(peer.Write([]byte("x")))
		p.Do(t, func() {
			testenv.NoError(t, c.WaitReadable())
			if n, err := c.Read(nil); n != 0 || err != nil {
				t.Errorf("Read(nil) with a byte to read: %d, %v", n, err)
			}
			var b [8]byte
			if n, err := c.Read(b[:]); n != 1 || err != nil || b[0] != 'x' {
				t.Errorf("Read: %d, %v, %q", n, err, b[:n])
			}
		})
		c.Close()
		if rest, err := io.ReadAll(peer); err != nil || len(rest) != 0 {
			t.Errorf("the peer read %q, %v, want nothing", rest, err)
		}
	})
}

// TestFINInTheEdgeOfItsData: data and FIN arrive before the Processor looks, so
// epoll reports both in one event. Whoever skips the read after a short one,
// since the socket was emptied, then waits for an edge that has been already: a
// trap that prototypes fell into. The reader must get the data and then io.EOF.
func TestFINInTheEdgeOfItsData(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for _, parked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/parked=%v", p.Name, parked), func(t *testing.T) {
				startLocked(t, 1)
				c, peer := withPeer(t)
				read := func() {
					got, err := io.ReadAll(c)
					if string(got) != "last words" || err != nil {
						t.Errorf("read %q, %v", got, err)
					}
				}
				var reader *testrun.Task
				release := func() {}
				if parked {
					reader = p.Go(read)
					reader.UntilParked(t, coroutine.ReasonRead)
					release = hog(t, 0)
				}
				testenv.Must(peer.Write([]byte("last words")))
				testenv.OK(t, peer.CloseWrite())
				testenv.Until(t, "the FIN", func() bool {
					return tcpState(t, c.FD()) == tcpCloseWait
				})
				release()
				if !parked {
					reader = p.Go(read)
				}
				reader.Wait(t)
			})
		}
	}
}

// TestFINAfterShortRead is the same trap the other way round: the short read
// comes first, the FIN alone after it.
func TestFINAfterShortRead(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			testenv.Must(peer.Write([]byte("data")))
			reader := p.Go(func() {
				var buf [64]byte
				if n, err := c.Read(buf[:]); n != 4 || err != nil {
					t.Errorf("first read: %d, %v", n, err)
				}
				if n, err := c.Read(buf[:]); n != 0 || err != io.EOF {
					t.Errorf("second read: %d, %v, want 0, EOF", n, err)
				}
				if n, err := c.Read(buf[:]); n != 0 || err != io.EOF {
					t.Errorf("third read: %d, %v, want 0, EOF again", n, err)
				}
			})
			reader.UntilParked(t, coroutine.ReasonRead)
			testenv.OK(t, peer.CloseWrite())
			reader.Wait(t)
		})
	}
}

// outcome is what a sequence of operations on a connection gave, in a form in
// which two can be compared.
func outcome(n int, err error) string {
	var op *net.OpError
	var sys *os.SyscallError
	switch {
	case err == nil:
		return fmt.Sprintf("%d", n)
	case errors.As(err, &op) && errors.As(err, &sys):
		return fmt.Sprintf("%d %s: %v timeout=%v", n, op.Op, sys, op.Timeout())
	case errors.As(err, &op):
		return fmt.Sprintf("%d %s: %v timeout=%v", n, op.Op, op.Err, op.Timeout())
	}
	return fmt.Sprintf("%d %v", n, err)
}

// TestResetLikeNet: a peer sends data, then resets. Reads and writes return
// what they return on net's connections, in the same order. C++ netco reported
// success.
func TestResetLikeNet(t *testing.T) {
	for _, unread := range []int{0, 1000} {
		want := reset(t, unread, func(t *testing.T) (net.Conn, func() int, *net.TCPConn) {
			c, peer := netPair(t)
			raw := testenv.Must(c.SyscallConn())
			return c, func() (state int) {
				raw.Control(func(fd uintptr) { state = tcpState(t, int(fd)) })
				return state
			}, peer
		}, testrun.Place{Name: "net", Run: testrun.Goroutine.Run})
		for _, p := range testrun.Places {
			t.Run(fmt.Sprintf("%s/%d unread", p.Name, unread), func(t *testing.T) {
				start(t, 2)
				got := reset(t, unread, func(t *testing.T) (net.Conn, func() int, *net.TCPConn) {
					c, peer := withPeer(t)
					return c, func() int { return tcpState(t, c.FD()) }, peer
				}, p)
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got  %q\nwant %q, as net", got, want)
				}
			})
		}
	}
}

func reset(t *testing.T, unread int, connect func(*testing.T) (net.Conn, func() int, *net.TCPConn),
	p testrun.Place) (got []string) {
	c, state, peer := connect(t)
	testenv.Must(peer.Write(pattern(unread)))
	peer.SetLinger(0)
	peer.Close()
	testenv.Until(t, "the reset", func() bool { return state() == tcpClose })
	p.Do(t, func() {
		buf := make([]byte, 4096)
		for range 3 {
			got = append(got, outcome(c.Read(buf)))
		}
		for range 2 {
			got = append(got, outcome(c.Write(buf)))
		}
	})
	return got
}

// TestResetWakes: reader and writer that are parked when the reset comes get
// ECONNRESET, or what the other of the two left of it.
func TestResetWakes(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		errs := make(chan error, 2)
		reader := p.Go(func() {
			_, err := c.Read(make([]byte, 1))
			errs <- err
		})
		writer := p.Go(func() {
			_, err := c.Write(tooMuch)
			errs <- err
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		writer.UntilParked(t, coroutine.ReasonWrite)
		peer.SetLinger(0)
		peer.Close()
		reset := 0
		for range 2 {
			switch err := testenv.Await(t, errs, "the reset"); {
			case errors.Is(err, unix.ECONNRESET):
				reset++
			case err == io.EOF || errors.Is(err, unix.EPIPE):
			default:
				t.Errorf("got %v", err)
			}
		}
		if reset == 0 {
			t.Error("neither was told of the reset")
		}
	})
}

// TestHalfClose: 8 MiB after a FIN in the other direction, both ways, and a
// Close right behind 8 MiB. gnet, netpoll and nbio lose data here.
func TestHalfClose(t *testing.T) {
	const total = 8 << 20
	for _, p := range testrun.Places {
		t.Run("theirs first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			testenv.OK(t, peer.CloseWrite())
			k := p.Go(func() {
				defer c.Close()
				if n, err := c.Read(make([]byte, 10)); n != 0 || err != io.EOF {
					t.Errorf("read %d, %v, want 0, EOF", n, err)
				}
				if n, err := c.Write(pattern(total)); n != total || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			})
			got, err := io.ReadAll(peer)
			if d := differs(got, 0); len(got) != total || err != nil || d != "" {
				t.Errorf("the peer read %d of %d, %v %s", len(got), total, err, d)
			}
			k.Wait(t)
		})
		t.Run("ours first/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			k := p.Go(func() {
				if _, err := c.Write([]byte("question")); err != nil {
					t.Error(err)
				}
				testenv.NoError(t, c.CloseWrite())
				got, err := io.ReadAll(c)
				if d := differs(got, 0); len(got) != total || err != nil || d != "" {
					t.Errorf("read %d of %d, %v %s", len(got), total, err, d)
				}
				if _, err := c.Write([]byte("x")); !errors.Is(err, unix.EPIPE) {
					t.Errorf("a write after CloseWrite: %v, want EPIPE", err)
				}
			})
			if q, err := io.ReadAll(peer); string(q) != "question" || err != nil {
				t.Errorf("the peer read %q, %v", q, err)
			}
			if _, err := peer.Write(pattern(total)); err != nil {
				t.Error(err)
			}
			peer.Close()
			k.Wait(t)
		})
	}
}

// TestCloseRead: a reader that waits gets io.EOF, and so do later ones; writing
// goes on.
func TestCloseRead(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		reader := p.Go(func() {
			for range 2 {
				if n, err := c.Read(make([]byte, 10)); n != 0 || err != io.EOF {
					t.Errorf("read %d, %v, want 0, EOF", n, err)
				}
			}
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		testenv.OK(t, c.CloseRead())
		reader.Wait(t)
		p.Do(t, func() {
			if _, err := c.Write([]byte("still here")); err != nil {
				t.Error(err)
			}
			c.Close()
		})
		if got, err := io.ReadAll(peer); string(got) != "still here" || err != nil {
			t.Errorf("the peer read %q, %v", got, err)
		}
	})
}

// TestWaitReadableWaits: on a connection that was just made, and on one that
// has been read empty, it returns when data, the end of the stream or a reset
// comes and not before. It takes nothing. Close, deadlines and shutdown have
// tests of their own.
func TestWaitReadableWaits(t *testing.T) {
	for _, p := range testrun.Places {
		for _, used := range []bool{false, true} {
			for _, then := range []string{"data", "FIN", "reset"} {
				t.Run(fmt.Sprintf("%s/used=%v/%s", p.Name, used, then), func(t *testing.T) {
					start(t, 2)
					c, peer := withPeer(t)
					k := p.Go(func() {
						if used {
							peer.Write([]byte("x"))
							untilReadable(t, c.FD()) // so that it is WaitReadable that waits
							if n, err := c.Read(make([]byte, 10)); n != 1 || err != nil {
								t.Error(n, err)
							}
						}
						if err := c.WaitReadable(); err != nil && then != "reset" {
							t.Errorf("WaitReadable: %v", err)
						}
					})
					k.UntilParked(t, coroutine.ReasonRead)
					switch then {
					case "data":
						peer.Write([]byte("hello"))
					case "FIN":
						peer.CloseWrite()
					case "reset":
						peer.SetLinger(0)
						peer.Close()
					}
					k.Wait(t)
					if then == "data" {
						if n := queued(t, c.FD()); n != 5 {
							t.Errorf("%d bytes left to read, want 5", n)
						}
					}
					p.Do(t, func() {
						b := make([]byte, 10)
						n, err := c.Read(b)
						if got := outcome(n, err); got != map[string]string{
							"data": "5", "FIN": "0 EOF",
							"reset": "0 read: read: connection reset by peer timeout=false",
						}[then] {
							t.Errorf("the read after it: %s", got)
						}
					})
				})
			}
		}
	}
}

// TestWaitReadableAtOnce: with data or the end of the stream there, it returns
// without waiting, as often as it is asked.
func TestWaitReadableAtOnce(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		peer.Write([]byte("hello"))
		peer.CloseWrite()
		p.Do(t, func() {
			b := make([]byte, 2)
			for _, want := range []string{"he", "ll", "o"} {
				for range 3 {
					testenv.NoError(t, c.WaitReadable())
				}
				if n, err := c.Read(b); string(b[:n]) != want || err != nil {
					t.Errorf("read %q, %v, want %q", b[:n], err, want)
				}
			}
			for range 3 {
				testenv.NoError(t, c.WaitReadable())
				if _, err := c.Read(b); err != io.EOF {
					t.Errorf("read: %v", err)
				}
			}
		})
	})
}

// TestCallsPerRequest: a request that comes whole costs one read and one write.
// Reading on until EAGAIN, or reading to find out whether there is anything,
// would make it two reads.
func TestCallsPerRequest(t *testing.T) {
	const requests = 500
	for _, borrow := range []bool{false, true} {
		t.Run(fmt.Sprintf("WaitReadable=%v", borrow), func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			server := testrun.First.Go(func() {
				if !borrow {
					echo(c)
					return
				}
				for answerBorrowed(c) == nil {
				}
			})
			server.UntilParked(t, coroutine.ReasonRead)
			reads, b := count(t, sysx.Recv), make([]byte, 64)
			for range requests {
				server.UntilParked(t, coroutine.ReasonRead)
				testenv.Must(peer.Write(b))
				testenv.Must(io.ReadFull(peer, b))
			}
			if n := reads.Load(); n > requests+requests/20 {
				t.Errorf("%d reads for %d requests", n, requests)
			}
			peer.Close()
			server.Wait(t)
		})
	}
}

// TestBuffers: the one given back last is lent first; two lent at once are two;
// one released on another Processor, or after its own has ended, does no harm.
func TestBuffers(t *testing.T) {
	start(t, 2)
	var far *socket.Buffer
	testrun.First.Do(t, func() {
		a, b := socket.AcquireBuffer(), socket.AcquireBuffer()
		if len(a.Bytes()) != 16<<10 || len(b.Bytes()) != 16<<10 {
			t.Errorf("buffers of %d and %d bytes", len(a.Bytes()), len(b.Bytes()))
		}
		if &a.Bytes()[0] == &b.Bytes()[0] {
			t.Error("one buffer was lent twice")
		}
		b.Release()
		a.Release()
		c := socket.AcquireBuffer()
		if c != a {
			t.Error("the buffer given back last is not the one lent next")
		}
		far = c
	})
	testrun.Second.Do(t, func() {
		own := socket.AcquireBuffer()
		own.Release()
		far.Release()
		if next := socket.AcquireBuffer(); next != own {
			t.Error("another Processor's buffer went into this one's pool, or this one's was lost")
		} else {
			next.Release()
		}
	})
	testrun.First.Do(t, func() {
		a, b, c := socket.AcquireBuffer(), socket.AcquireBuffer(), socket.AcquireBuffer()
		if a == b || b == c || a == c {
			t.Error("one buffer was lent twice")
		}
		far = a
	})
	stray := socket.AcquireBuffer()
	testrun.First.Go(stray.Release).Wait(t)
	far.Release()
}

// TestBufferOutlivesProcessor: a buffer may be used and released after the
// Scheduler it came from has ended.
func TestBufferOutlivesProcessor(t *testing.T) {
	startAlone(t, 1)
	var b *socket.Buffer
	testrun.First.Go(func() { b = socket.AcquireBuffer() }).Wait(t)
	force(t)
	b.Bytes()[0] = 1
	b.Release()
}

// TestUrgentData: a read stops in front of a byte sent with MSG_OOB, so it is
// short although there is more behind. Whoever takes that for a socket read
// empty waits for an edge that does not come.
func TestUrgentData(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for _, parked := range []bool{true, false} {
			name := p.Name + "/fresh"
			if parked {
				name = p.Name + "/parked"
			}
			t.Run(name, func(t *testing.T) {
				startLocked(t, 1)
				c, peer := withPeer(t)
				read := func() {
					got := make([]byte, 8)
					if n, err := io.ReadFull(c, got); string(got) != "beforeaf" || err != nil {
						t.Errorf("read %q, %v", got[:n], err)
					}
				}
				var reader *testrun.Task
				release := func() {}
				if parked {
					reader = p.Go(read)
					reader.UntilParked(t, coroutine.ReasonRead)
					release = hog(t, 0)
				}
				raw := testenv.Must(peer.SyscallConn())
				raw.Control(func(fd uintptr) {
					for _, m := range []struct {
						text  string
						flags int
					}{{"before", 0}, {"!", unix.MSG_OOB}, {"after", 0}} {
						testenv.NoError(t, unix.Sendto(int(fd), []byte(m.text), m.flags, nil))
					}
				})
				// How much is counted in front of the urgent byte differs; that
				// all has come shows in the window.
				testenv.Until(t, "the data", func() bool {
					return received(t, c) >= len("before!after")
				})
				release()
				if !parked {
					reader = p.Go(read)
				}
				reader.Wait(t)
			})
		}
	}
}

// received returns how many bytes the kernel has had from the peer.
func received(t *testing.T, c *socket.TCPConn) int {
	t.Helper()
	info := testenv.Must(unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO))
	return int(info.Bytes_received)
}

// sendUrgent sends one byte with MSG_OOB from peer to c, and returns when c's
// kernel side has it.
func sendUrgent(t *testing.T, c *socket.TCPConn, peer *net.TCPConn) {
	t.Helper()
	want := received(t, c) + 1
	raw := testenv.Must(peer.SyscallConn())
	raw.Control(func(fd uintptr) {
		testenv.NoError(t, unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil))
	})
	testenv.Until(t, "the urgent byte", func() bool { return received(t, c) >= want })
}

// polled returns when the first Processor has looked for events and acted on
// them.
func polled(t testing.TB) { testrun.First.Go(func() { coroutine.YieldTurn() }).Wait(t) }

// TestUrgentWakesNone: urgent data marked the connection as hung up, for
// good, and every wait for something to read returned at once: loops of
// WaitReadable and Read, and Buffered's, spun without ever letting the
// Processor go.
func TestUrgentWakesNone(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for name, wait := range map[string]func(c *socket.TCPConn, b *socket.Buffered){
			"WaitReadable": func(c *socket.TCPConn, _ *socket.Buffered) {
				c.WaitReadable()
			},
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
				k := p.Go(func() { b.ReadByte() })
				k.UntilParked(t, coroutine.ReasonRead) // it is registered
				sendUrgent(t, c, peer)
				polled(t)
				if !k.Parked(coroutine.ReasonRead) {
					t.Fatal("urgent data has woken the reader")
				}
				peer.Write([]byte("x"))
				k.Wait(t)

				k = p.Go(func() { wait(c, b) })
				k.UntilParked(t, coroutine.ReasonRead)
				sendUrgent(t, c, peer)
				polled(t)
				if !k.Parked(coroutine.ReasonRead) {
					t.Error("urgent data has woken the reader")
				}
				peer.Write([]byte("y"))
				k.Wait(t)
			})
		}
	}
}

// TestUrgentIsIdle: a Server's connection on which nothing but urgent data came
// was given to Handle, whose Read then waited without IdleTimeout, for ever.
func TestUrgentIsIdle(t *testing.T) {
	for _, when := range []string{"before it is idle", "while it is idle"} {
		t.Run(when, func(t *testing.T) {
			start(t, 1)
			c, peer := withPeer(t)
			ended := make(chan error, 1)
			s := &socket.Server{
				Handle: func(c *socket.ServerConn) error {
					var p [1]byte
					_, err := c.Read(p[:])
					return err
				},
				Closed:      func(_ *socket.ServerConn, err error) { ended <- err },
				IdleTimeout: 50 * time.Millisecond,
			}
			if when == "before it is idle" {
				s.Opened = func(*socket.ServerConn) error { // it has been registered
					sendUrgent(t, c, peer)
					coroutine.YieldTurn()
					return nil
				}
			}
			testenv.OK(t, s.ServeConn(c))
			if s.Opened == nil {
				sendUrgent(t, c, peer)
			}
			if err := testenv.Await(t, ended, "IdleTimeout"); !errors.Is(err,
				os.ErrDeadlineExceeded) {
				t.Errorf("it was closed with %v, want IdleTimeout's error", err)
			}
		})
	}
}

// TestUrgentAndBuffers: under BufferMemory a reader that is woken for nothing
// has a buffer while it waits in Read, and few of those starve everybody who
// waits for one.
func TestUrgentAndBuffers(t *testing.T) {
	startWith(t, netco.Options{Processors: 1, BufferMemory: 16 << 10, BufferSize: 16 << 10})
	c, peer := withPeer(t)
	reader := testrun.First.Go(func() {
		for c.WaitReadable() == nil {
			b := socket.AcquireBuffer()
			_, err := c.Read(b.Bytes())
			b.Release()
			if err != nil {
				return
			}
		}
	})
	reader.UntilParked(t, coroutine.ReasonRead)
	sendUrgent(t, c, peer)
	peer.Write([]byte("x")) // wakes it with the mark set
	testenv.Until(t, "the byte to be read", func() bool { return queued(t, c.FD()) == 0 })
	polled(t)
	other := testrun.First.Go(func() { socket.AcquireBuffer().Release() })
	other.Wait(t)
	if reader.Over() {
		t.Error("the reader has ended")
	}
	peer.Close()
	reader.Wait(t)
}

// TestErrorIsNoLastingMark: an error that a read has taken, here of a closed
// port, leaves nothing to read. After it every wait for something to read
// returned at once.
func TestErrorIsNoLastingMark(t *testing.T) {
	start(t, 1)
	gone := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
	conn := testenv.Closing(t, testenv.Must(socket.Dial("udp", gone.LocalAddr().String())))
	c := conn.(*socket.UDPConn)
	k := testrun.First.Go(func() { c.Read(make([]byte, 1)) })
	k.UntilParked(t, coroutine.ReasonRead)
	gone.Close()
	c.Write([]byte("x"))
	k.Wait(t) // connection refused
	k = testrun.First.Go(func() { c.WaitReadable() })
	k.UntilParked(t, coroutine.ReasonRead)
	polled(t)
	if !k.Parked(coroutine.ReasonRead) {
		t.Error("the wait has ended")
	}
	c.Close()
	k.Wait(t)
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
	k := testrun.First.Go(func() { x.WaitReadable() })
	k.UntilParked(t, coroutine.ReasonRead)
	polled(t)
	if !k.Parked(coroutine.ReasonRead) {
		t.Error("the wait has ended")
	}
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
	k := testrun.First.Go(func() {
		io.Copy(dst, src)
		dst.Close()
	})
	k.UntilParked(t, coroutine.ReasonRead)
	got := make(chan []byte, 1)
	go func() {
		p, err := io.ReadAll(down)
		if err != nil {
			t.Error(err)
		}
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
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			c.SetWriteBuffer(256 << 10)
			peer.SetReadBuffer(256 << 10)
			msg := pattern(total)
			sends := count(t, sysx.Send)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			writer := p.Go(func() {
				if n, err := c.Write(msg); n != total || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			})
			writer.UntilParked(t, coroutine.ReasonWrite)
			runtime.ReadMemStats(&after)
			if grown := int64(after.TotalAlloc - before.TotalAlloc); p.Name != "goroutine" &&
				grown > 1<<20 {
				t.Errorf("%d bytes allocated for a write of %d that is under way", grown, total)
			}
			got := make([]byte, bite)
			for at := 0; at < total; at += bite {
				// a pause: what was read makes the writer go on until it is
				// stuck again
				if at%(16*bite) == 0 && at < total/2 {
					writer.UntilParked(t, coroutine.ReasonWrite)
					tried := sends.Load()
					for range 100 {
						testrun.First.Do(t, netco.Yield)
					}
					// The kernel may still move something to the peer's side,
					// but not once for every turn.
					if again := sends.Load(); again > tried+50 {
						t.Errorf("%d tries to send in 100 turns while the peer read nothing",
							again-tried)
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
}

// TestPeerNeverReads: the write ends at its deadline and returns how much the
// kernel took, which is what the peer finds.
func TestPeerNeverReads(t *testing.T) {
	const total = 64 << 20
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			wrote := 0
			p.Do(t, func() {
				defer c.Close()
				msg := pattern(total)
				var err error
				// one that has passed before the write begins shows nothing
				for d := 20 * time.Millisecond; wrote == 0 && d < limit; d *= 4 {
					c.SetWriteDeadline(time.Now().Add(d))
					wrote, err = c.Write(msg)
					checkTimeout(t, "write", err)
				}
				if wrote <= 0 || wrote >= total {
					t.Errorf("wrote %d", wrote)
				}
			})
			got, err := io.ReadAll(peer)
			if d := differs(got, 0); err != nil || len(got) != wrote || d != "" {
				t.Errorf("the peer read %d, %v %s, Write returned %d", len(got), err, d, wrote)
			}
		})
	}
}

// TestNoneStarves: beside a coroutine whose socket always has something to
// read, two others of the same Processor play ping pong through the kernel,
// over a Unix stream, where what is sent is there at once. Everything that
// happens is in one thread, so the count of round trips says how often the busy
// one let the others run and the Processor looked for events.
func TestNoneStarves(t *testing.T) {
	for _, c := range []struct{ size, total, least int }{
		{1, 100 << 10, 200}, // many small reads
		{128 << 10, 256 << 20, 50},
	} {
		t.Run(fmt.Sprintf("reads of %d", c.size), func(t *testing.T) {
			start(t, 1)
			hose, source := withPeer(t)
			ping, pong := unixPair(t, "unix")
			testrun.First.Go(func() { echo(pong) })
			trips, stop := 0, false
			pinger := testrun.First.Go(func() {
				defer ping.Close()
				for b := make([]byte, 1); !stop; trips++ {
					ping.Write(b)
					if _, err := io.ReadFull(ping, b); err != nil {
						t.Error(err)
						return
					}
				}
			})
			pinger.UntilParked(t, coroutine.ReasonRead)
			feeder := testrun.Goroutine.Go(func() {
				for left, chunk := c.total, make([]byte, 256<<10); left > 0; {
					n, err := source.Write(chunk[:min(left, len(chunk))])
					if err != nil {
						return
					}
					left -= n
				}
			})
			testenv.Until(t, "a stock to read", func() bool {
				return queued(t, hose.FD()) >= min(c.total, 64<<10)
			})
			testrun.First.Do(t, func() {
				defer func() { stop = true }()
				began := trips
				for left, buf := c.total, make([]byte, c.size); left > 0; {
					n, err := hose.Read(buf)
					if err != nil {
						t.Error(err)
						return
					}
					left -= n
				}
				if n := trips - began; n < c.least {
					t.Errorf("%d round trips beside %d bytes in reads of %d, want at least %d", n,
						c.total, c.size, c.least)
				} else {
					t.Logf("%d round trips", n)
				}
			})
			feeder.Wait(t)
			pinger.Wait(t)
		})
	}
}

// TestWriterLetsOthersRun: the same beside a coroutine that always can write.
func TestWriterLetsOthersRun(t *testing.T) {
	const size, writes, least = 16, 50_000, 100
	start(t, 1)
	hose, sink := withPeer(t)
	hose.SetWriteBuffer(4 << 20)
	drain := testrun.Goroutine.Go(func() { io.Copy(io.Discard, sink) })
	ping, pong := unixPair(t, "unix")
	testrun.First.Go(func() { echo(pong) })
	trips, stop := 0, false
	pinger := testrun.First.Go(func() {
		defer ping.Close()
		for b := make([]byte, 1); !stop; trips++ {
			ping.Write(b)
			if _, err := io.ReadFull(ping, b); err != nil {
				t.Error(err)
				return
			}
		}
	})
	pinger.UntilParked(t, coroutine.ReasonRead)
	testrun.First.Do(t, func() {
		defer func() { stop = true }()
		msg := make([]byte, size)
		for range writes {
			if _, err := hose.Write(msg); err != nil {
				t.Error(err)
				return
			}
		}
		if trips < least {
			t.Errorf("%d round trips beside %d writes, want at least %d", trips, writes, least)
		}
	})
	pinger.Wait(t)
	hose.Close()
	drain.Wait(t)
}

// others is a coroutine of the first Processor that is always ready, and how
// often it has had its turn.
type others struct {
	turns int // owner: the first Processor
	stop  bool
	t     *testrun.Task
}

func startOthers(t *testing.T) *others {
	x := new(others)
	begun := make(chan struct{})
	x.t = testrun.First.Go(func() {
		close(begun)
		for ; !x.stop; x.turns++ {
			netco.Yield()
		}
	})
	testenv.Await(t, begun, "the other coroutine")
	return x
}

// overtime keeps the Processor until its turn has lasted so many times as long
// as it should.
func overtime(times int64) {
	for processor.TurnAge() < times*processor.TurnLimit {
	}
}

// turnOverAtOperationCases are the cases of TestTurnOverAtOperation.
var turnOverAtOperationCases = map[string]func(t *testing.T) (op func() error){
	"Read": func(t *testing.T) func() error {
		c, peer := withPeer(t)
		peer.Write(make([]byte, 1000))
		testenv.Until(t, "the data", func() bool { return queued(t, c.FD()) == 1000 })
		return func() error { _, err := c.Read(make([]byte, 10)); return err }
	},
	"Write": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		return func() error { _, err := c.Write(make([]byte, 10)); return err }
	},
	"WriteBuffers": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		return func() error { _, err := c.WriteBuffers(&net.Buffers{make([]byte, 10)}); return err }
	},
	"File.Read": func(t *testing.T) func() error {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		w.Write(make([]byte, 1000))
		f := testenv.Closing(t, testenv.Must(socket.NewFile(r)))
		return func() error { _, err := f.Read(make([]byte, 10)); return err }
	},
	"datagrams": func(t *testing.T) func() error {
		l := testenv.Must(net.ListenPacket("udp", "127.0.0.1:0"))
		c := testenv.Must(socket.Dial("udp", l.LocalAddr().String()))
		t.Cleanup(func() { c.Close(); l.Close() })
		return func() error { _, err := c.Write(make([]byte, 10)); return err }
	},
	"Poll": func(t *testing.T) func() error {
		c, _ := withPeer(t)
		return func() error {
			_, err := socket.Poll([]socket.PollFd{{Fd: int32(c.FD()), Events: unix.POLLOUT}}, -1)
			return err
		}
	},
}

// TestTurnOverAtOperation: a coroutine that computes between operations which
// find something at once kept its Processor for 32 of them, however long they
// were apart. The next operation after the turn is over lets others run.
func TestTurnOverAtOperation(t *testing.T) {
	for name, prepare := range turnOverAtOperationCases {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			op := prepare(t)
			x := startOthers(t)
			testrun.First.Do(t, func() {
				defer func() { x.stop = true }()
				for i := range 5 {
					overtime(1)
					before := x.turns
					testenv.NoError(t, op())
					// The first operation after a wait does not look, nor does
					// one that follows a yield.
					if i > 0 && x.turns == before {
						overtime(1)
						testenv.NoError(t, op())
						if x.turns == before {
							t.Errorf("operation %d has not let others run", i)
						}
					}
				}
			})
			x.t.Wait(t)
		})
	}
}

// TestTurnOverInBuffer: requests that are served from a Buffered make no system
// call, and 16 KiB of small ones kept the Processor for as long as they take.
func TestTurnOverInBuffer(t *testing.T) {
	const size = 4000
	for name, c := range map[string]struct {
		calls int // until it looks at the clock
		read  func(b *socket.Buffered) error
	}{
		"Read": {8, func(b *socket.Buffered) error {
			_, err := b.Read(make([]byte, 1))
			return err
		}},
		"ReadByte": {64, func(b *socket.Buffered) error { _, err := b.ReadByte(); return err }},
		"Peek":     {8, func(b *socket.Buffered) error { _, err := b.Peek(1); return err }},
		"Discard":  {8, func(b *socket.Buffered) error { _, err := b.Discard(1); return err }},
		"ReadSlice": {8, func(b *socket.Buffered) error {
			_, err := b.ReadSlice('\n')
			return err
		}},
		"ReadLine": {8, func(b *socket.Buffered) error { _, err := b.ReadLine(); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, 1)
			conn, peer := withPeer(t)
			peer.Write(bytes.Repeat([]byte("\n"), size))
			b := socket.NewBuffered(conn)
			x := startOthers(t)
			testrun.First.Do(t, func() {
				defer func() { x.stop = true }()
				if _, err := b.Peek(size); err != nil {
					t.Error(err)
				}
				calls := func(most int) {
					t.Helper()
					for before, n := x.turns, 0; x.turns == before; n++ {
						if n == most {
							t.Errorf("%d reads have not let others run", n)
							return
						}
						testenv.NoError(t, c.read(b))
					}
				}
				overtime(2)
				calls(2 * c.calls)
				for range 3 { // it was far too late, and looks more often
					overtime(2)
					calls(8)
				}
			})
			x.t.Wait(t)
		})
	}
}

// TestTurnOverBetweenHandles: a Handle that takes its requests from elsewhere
// than the socket lets others run all the same, between two calls for one
// connection.
func TestTurnOverBetweenHandles(t *testing.T) {
	start(t, 1)
	c, peer := withPeer(t)
	x := startOthers(t)
	calls, before := 0, 0
	ended := make(chan struct{})
	s := &socket.Server{
		Handle: func(c *socket.ServerConn) error {
			if calls++; calls > 1 && x.turns == before {
				t.Errorf("call %d: others have not run since the last one", calls)
			}
			if calls == 5 {
				return net.ErrClosed
			}
			overtime(1)
			before = x.turns
			return nil
		},
		Closed: func(*socket.ServerConn, error) { x.stop = true; close(ended) },
	}
	peer.Write([]byte("x"))
	testenv.OK(t, s.ServeConn(c))
	testenv.Await(t, ended, "the connection to end")
	x.t.Wait(t)
}
