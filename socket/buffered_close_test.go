package socket_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// TestBufferedWriteError: the read that had to send returns the error, as do
// all later writes; reads go on.
func TestBufferedWriteError(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		sent := make(chan struct{})
		k := p.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("lost")
			remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.Send: {unix.EPIPE}}}).install(t)
			_, err := b.ReadLine()
			var op *net.OpError
			if !errors.Is(err, unix.EPIPE) || !errors.As(err, &op) || op.Op != "write" {
				t.Errorf("the read: %v", err)
			}
			remove()
			close(sent)
			if line, err := b.ReadLine(); string(line) != "hello" || err != nil {
				t.Errorf("the next read: %q, %v", line, err)
			}
			for what, err2 := range map[string]error{
				"Write": second(b.Write([]byte("x"))), "WriteString": second(b.WriteString("x")),
				"WriteByte": b.WriteByte('x'), "Flush": b.Flush(), "CloseWrite": b.CloseWrite(),
			} {
				if err2 != err {
					t.Errorf("%s: %v, want the same error again", what, err2)
				}
			}
			if n := cap(b.AvailableBuffer()); n != 0 {
				t.Errorf("AvailableBuffer has room for %d", n)
			}
			if _, w := b.Holds(); w {
				t.Error("holds a buffer")
			}
		})
		testenv.Await(t, sent, "the error")
		peer.Write([]byte("hello\n"))
		k.Wait(t)
		if got, err := io.ReadAll(peer); len(got) != 0 || err != nil {
			t.Errorf("the peer read %q, %v", got, err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestBufferedWriteDeadline: a read that has to send waits for room no longer
// than the write deadline allows.
func TestBufferedWriteDeadline(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, _ := withPeer(t)
		fillSocket(t, c)
		p.Do(t, func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("answer")
			b.SetWriteDeadline(time.Now().Add(time.Millisecond))
			var op *net.OpError
			if _, err := b.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "write" {
				t.Errorf("the read: %v", err)
			}
			b.SetWriteDeadline(time.Time{})
			if err := b.Flush(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after that: %v", err)
			}
		})
	})
}

// fillSocket writes until the socket takes no more, and will not: what is on
// its way to the peer makes room when it has arrived.
func fillSocket(t testing.TB, c *socket.TCPConn) {
	t.Helper()
	buf := make([]byte, 64<<10)
	testenv.Until(t, "a socket that is full", func() bool {
		info := testenv.Must(unix.GetsockoptTCPInfo(c.FD(), unix.IPPROTO_TCP, unix.TCP_INFO))
		_, errno := sysx.TrySend(c.FD(), buf)
		if errno != 0 && errno != unix.EAGAIN {
			t.Fatal(errno)
		}
		return errno == unix.EAGAIN && info.Unacked == 0
	})
}

// TestBufferedClose: Close sends what there is room for, never waits, and says
// if that was not all.
func TestBufferedClose(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run("sends/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				b.Write(pattern(10_000))
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if err := b.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the second: %v", err)
				}
				if _, err := b.WriteString("x"); !errors.Is(err, net.ErrClosed) {
					t.Errorf("WriteString: %v", err)
				}
				if err := b.Flush(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Flush: %v", err)
				}
				if _, err := b.ReadByte(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("ReadByte: %v", err)
				}
				if r, w := b.Holds(); r || w {
					t.Errorf("holds buffers: %v, %v", r, w)
				}
			})
			if got, err := io.ReadAll(peer); err != nil || len(got) != 10_000 || differs(got, 0) != "" {
				t.Errorf("the peer read %d, %v", len(got), err)
			}
		})
		t.Run("no room/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, _ := withPeer(t)
			fillSocket(t, c)
			p.Do(t, func() {
				b := socket.NewBuffered(c)
				b.Write(pattern(10_000))
				var op *net.OpError
				if err := b.Close(); !errors.Is(err, io.ErrShortWrite) || !errors.As(err, &op) || op.Op != "close" {
					t.Errorf("Close: %v", err)
				}
				if _, w := b.Holds(); w {
					t.Error("holds a buffer")
				}
				if n := socket.Open(); n != 0 {
					t.Errorf("%d sockets open", n)
				}
			})
		})
		t.Run("ends others/"+p.Name, func(t *testing.T) {
			start(t, 2)
			c, _ := withPeer(t)
			b := socket.NewBuffered(c)
			closed := func(what string, f func() error) *testrun.Task {
				return p.Go(func() {
					if err := f(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("%s: %v", what, err)
					}
				})
			}
			reader := closed("the reader", func() error { return second(b.ReadByte()) })
			reader.UntilParked(t, coroutine.ReasonRead)
			writer := closed("the writer", func() error { return second(b.Write(tooMuch)) })
			writer.UntilParked(t, coroutine.ReasonWrite)
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			reader.Wait(t)
			writer.Wait(t)
		})
	}
}

// TestBufferedShutdown: a forced end wakes a reader that waits, and one that
// waits to send.
func TestBufferedShutdown(t *testing.T) {
	for _, full := range []bool{false, true} {
		startAlone(t, 2)
		c, _ := withPeer(t)
		if full {
			fillSocket(t, c)
		}
		k := testrun.First.Go(func() {
			b := socket.NewBuffered(c)
			defer b.Close()
			b.WriteString("x")
			if _, err := b.ReadByte(); !errors.Is(err, netco.ErrShutdown) {
				t.Errorf("full %v: %v", full, err)
			}
		})
		reason := coroutine.ReasonRead
		if full {
			reason = coroutine.ReasonWrite
		}
		k.UntilParked(t, reason)
		force(t)
		k.Wait(t)
		noneOpen(t)
		netco.Shutdown(context.Background())
	}
}
