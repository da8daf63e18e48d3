package socket_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// sendUrgent sends one byte with MSG_OOB from peer to c, and returns when c's
// kernel side has it.
func sendUrgent(t *testing.T, c *socket.TCPConn, peer *net.TCPConn) {
	t.Helper()
	want := received(t, c) + 1
	raw := testenv.Must(peer.SyscallConn())
	raw.Control(func(fd uintptr) {
		if err := unix.Sendto(int(fd), []byte("!"), unix.MSG_OOB, nil); err != nil {
			t.Error(err)
		}
	})
	testenv.Until(t, "the urgent byte", func() bool { return received(t, c) >= want })
}

// polled returns when the first Processor has looked for events and acted on
// them.
func polled(t testing.TB) { testrun.First.Go(func() { coroutine.YieldTurn() }).Wait(t) }

// TestUrgentWakesNobody: urgent data marked the connection as hung up, for
// good, and every wait for something to read returned at once: loops of
// WaitReadable and Read, and Buffered's, spun without ever letting the
// Processor go.
func TestUrgentWakesNobody(t *testing.T) {
	for _, p := range []testrun.Place{testrun.First, testrun.Goroutine} {
		for name, wait := range map[string]func(c *socket.TCPConn, b *socket.Buffered){
			"WaitReadable":          func(c *socket.TCPConn, _ *socket.Buffered) { c.WaitReadable() },
			"Buffered.ReadByte":     func(_ *socket.TCPConn, b *socket.Buffered) { b.ReadByte() },
			"Buffered.WaitReadable": func(_ *socket.TCPConn, b *socket.Buffered) { b.WaitReadable() },
			"Buffered.Read, direct": func(_ *socket.TCPConn, b *socket.Buffered) { b.Read(make([]byte, 64<<10)) },
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
			if err := testenv.Await(t, ended, "IdleTimeout"); !errors.Is(err, os.ErrDeadlineExceeded) {
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
		if err := x.Connect(&unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}); err != nil {
			t.Error(err)
		}
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
	testenv.Until(t, "the copy to splice", func() bool { return s.splices() > 0 && queued(t, src.FD()) == 0 })
	release := hog(t, 0)
	already := received(t, src)
	want := append(bulk, pattern(64<<10)...)
	peer.Write(want[len(bulk):])
	sendUrgent(t, src, peer)
	peer.Write([]byte("after"))
	peer.CloseWrite()
	want = append(want, "after"...)
	testenv.Until(t, "the end", func() bool {
		return received(t, src) >= already+64<<10+len("!after") && tcpState(t, src.FD()) == tcpCloseWait
	})
	release()
	k.Wait(t)
	if p := testenv.Await(t, got, "the end"); !bytes.Equal(p, want) {
		t.Errorf("%d bytes arrived of %d", len(p), len(want))
	}
}
