package socket_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// rawPair returns connections of each network to look at, and the peer of each.
var rawPairs = map[string]func(testing.TB) (c, peer net.Conn){
	"tcp":        func(t testing.TB) (net.Conn, net.Conn) { return pair(t) },
	"unix":       func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unix") },
	"unixpacket": func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unixpacket") },
	"unixgram":   func(t testing.TB) (net.Conn, net.Conn) { return unixPair(t, "unixgram") },
}

func rawOf(t testing.TB, c any) syscall.RawConn {
	raw := testenv.Must(c.(syscall.Conn).SyscallConn())
	return raw
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
// between; deadline and Close end it; an ordinary read afterwards misses
// nothing.
func TestRawConn(t *testing.T) {
	for name, pair := range rawPairs {
		for _, p := range testrun.Places {
			t.Run(name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := pair(t)
				raw := rawOf(t, c)
				var got []byte
				var reads atomic.Int64
				reader := p.Go(func() {
					for range 2 {
						if err := raw.Read(recv(&got)); err != nil {
							t.Error(err)
						}
						reads.Add(1)
					}
				})
				for i, msg := range []string{"one", "two"} {
					reader.UntilParked(t, coroutine.ReasonRead)
					peer.Write([]byte(msg))
					testenv.Until(t, "the message", func() bool { return reads.Load() > int64(i) })
				}
				reader.Wait(t)
				if string(got) != "onetwo" {
					t.Errorf("read %q", got)
				}
				reader = p.Go(func() {
					b := make([]byte, 10)
					if n, err := c.Read(b); string(b[:n]) != "three" || err != nil {
						t.Errorf("%q, %v", b[:n], err)
					}
				})
				reader.UntilParked(t, coroutine.ReasonRead)
				peer.Write([]byte("three"))
				reader.Wait(t)

				c.SetReadDeadline(time.Now().Add(time.Millisecond))
				var op *net.OpError
				if err := raw.Read(recv(&got)); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "raw-read" {
					t.Errorf("Read under a deadline: %v", err)
				}
				c.SetReadDeadline(time.Time{})
				calls := 0
				if err := rawOf(t, peer).Write(func(fd uintptr) bool { calls++; return calls > 1 }); err != nil || calls != 2 {
					t.Errorf("Write: %v after %d calls", err, calls)
				}
				peer.SetWriteDeadline(time.Now().Add(time.Millisecond))
				if err := rawOf(t, peer).Write(func(uintptr) bool { return false }); !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "raw-write" {
					t.Errorf("Write under a deadline: %v", err)
				}
				reader = p.Go(func() {
					if err := raw.Read(recv(&got)); !errors.Is(err, net.ErrClosed) {
						t.Errorf("Read during Close: %v", err)
					}
				})
				reader.UntilParked(t, coroutine.ReasonRead)
				c.Close()
				reader.Wait(t)
				if err := raw.Control(func(uintptr) { t.Error("called after Close") }); !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "raw-control" {
					t.Errorf("Control after Close: %v", err)
				}
			})
		}
	}
}

// TestRawConnPanics: a function that panics leaves the connection usable, and
// one that closes the connection does not lose the fd.
func TestRawConnPanics(t *testing.T) {
	start(t, 1)
	c, peer := unixPair(t, "unix")
	for _, use := range []func(syscall.RawConn) error{
		func(r syscall.RawConn) error { return r.Read(func(uintptr) bool { panic("as asked") }) },
		func(r syscall.RawConn) error { return r.Write(func(uintptr) bool { panic("as asked") }) },
		func(r syscall.RawConn) error { return r.Control(func(uintptr) { panic("as asked") }) },
	} {
		func() {
			defer func() {
				if recover() != "as asked" {
					t.Error("no panic came through")
				}
			}()
			use(rawOf(t, c))
		}()
	}
	peer.Write([]byte("x"))
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("a Read afterwards: %d, %v", n, err)
	}
	if err := rawOf(t, c).Read(func(fd uintptr) bool {
		c.Close()
		_, err := unix.FcntlInt(fd, unix.F_GETFD, 0)
		if err != nil {
			t.Errorf("the fd was closed under the function: %v", err)
		}
		return true
	}); err != nil {
		t.Error(err)
	}
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
		if f.Name() != want {
			t.Errorf("it is named %q, want %q", f.Name(), want)
		}
		fd := f.Fd()
		if flags, _ := unix.FcntlInt(fd, unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
			t.Error("it is not closed on exec")
		}
		if flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0); flags&unix.O_NONBLOCK == 0 {
			t.Error("Fd made it blocking")
		}
		c.Close()
		peer.Write([]byte("hello"))
		b := make([]byte, 10)
		f.SetReadDeadline(time.Now().Add(limit))
		if n, err := f.Read(b); string(b[:n]) != "hello" || err != nil {
			t.Errorf("%s: %q, %v", name, b[:n], err)
		}
		if _, err := c.(interface{ File() (*os.File, error) }).File(); !errors.Is(err, net.ErrClosed) || !strings.HasPrefix(err.Error(), "file "+name) {
			t.Errorf("File after Close: %v", err)
		}
	}
	l := listen(t)
	if err := rawOf(t, l).Read(func(uintptr) bool { return true }); err != syscall.EINVAL {
		t.Errorf("a listener's raw Read: %v", err)
	}
	if err := rawOf(t, l).Control(func(fd uintptr) {
		if v, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ACCEPTCONN); v != 1 || err != nil {
			t.Error(v, err)
		}
	}); err != nil {
		t.Error(err)
	}
}

// TestSharedListener: a listener whose socket somebody else has too, and has
// made blocking, neither blocks its thread nor loses connections.
func TestSharedListener(t *testing.T) {
	start(t, 1)
	l := listen(t)
	f := testenv.Closing(t, testenv.Must(l.File()))
	accepting := testrun.First.Go(func() {
		for range 3 {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
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

// TestSharedFDLeavesEpoll: a socket of which there are duplicates is gone from
// epoll once it is closed: it can be adopted under the same fd number again and
// again, and what comes for the duplicate wakes nobody.
func TestSharedFDLeavesEpoll(t *testing.T) {
	start(t, 1)
	c, peer := unixPair(t, "unix")
	f := testenv.Closing(t, testenv.Must(c.File()))
	c.Close()
	before := testenv.Files()
	for range 20 {
		again := testenv.Must(socket.FileConn(f))
		reader := testrun.First.Go(func() {
			b := make([]byte, 10)
			if n, err := again.Read(b); string(b[:n]) != "x" || err != nil {
				t.Errorf("%q, %v", b[:n], err)
			}
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		peer.Write([]byte("x"))
		reader.Wait(t)
		again.Close()
	}
	if n := testenv.Files(); n > before {
		t.Errorf("%d fds, before %d", n, before)
	}
}
