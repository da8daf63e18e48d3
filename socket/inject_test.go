package socket_test

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// script is an Injector.
type script struct {
	first  map[sysx.Op][]syscall.Errno // what the first calls fail with
	every  map[sysx.Op]syscall.Errno   // each second call fails so
	limit  map[sysx.Op]int             // most bytes or events per call
	called [16]atomic.Int64
}

func (s *script) install(t *testing.T) (remove func()) {
	remove = sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
		n := int(s.called[op].Add(1)) - 1
		if errs := s.first[op]; n < len(errs) {
			return asked, errs[n]
		}
		if errno := s.every[op]; errno != 0 && n%2 == 0 {
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

// TestEchoUnderFaults: under each fault the kernel might show, and some that it
// shows rarely, connections are made and no byte is lost, doubled or swapped.
func TestEchoUnderFaults(t *testing.T) {
	type (
		ops    = map[sysx.Op]syscall.Errno
		limits = map[sysx.Op]int
	)
	for _, c := range []struct {
		name  string
		size  int
		every ops
		limit limits
	}{
		{"one byte per call", 4 << 10, nil, limits{sysx.Recv: 1, sysx.Send: 1}},
		{"short reads", 128 << 10, nil, limits{sysx.Recv: 777}},
		{"short writes", 128 << 10, nil, limits{sysx.Send: 777}},
		{"one event per wait", 128 << 10, nil, limits{sysx.EpollWait: 1}},
		{"interrupted reads and writes", 128 << 10, ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR}, nil},
		{"interrupted accept and epoll_wait", 128 << 10, ops{sysx.Accept: unix.EINTR, sysx.EpollWait: unix.EINTR}, nil},
		{"all at once", 4 << 10,
			ops{sysx.Recv: unix.EINTR, sysx.Send: unix.EINTR, sysx.EpollWait: unix.EINTR, sysx.Accept: unix.ECONNABORTED},
			limits{sysx.Recv: 1, sysx.Send: 3, sysx.EpollWait: 1}},
	} {
		for _, p := range testrun.Places {
			t.Run(c.name+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				remove := (&script{every: c.every, limit: c.limit}).install(t)
				defer remove()
				a, b := pair(t)
				s := p.Go(func() { echo(b) })
				p.Do(t, func() {
					if err := roundTrip(p, a, c.size); err != nil {
						t.Error(err)
					}
					a.Close()
				})
				s.Wait(t)
			})
		}
	}
}

// untilReadable waits until there is something to read or to accept.
func untilReadable(t testing.TB, fd int) {
	t.Helper()
	testenv.Until(t, "something to read", func() bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
		return n == 1
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
		for _, p := range testrun.Places {
			t.Run(unix.ErrnoName(errno)+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				l := listen(t)
				peer := testenv.Closing(t, testenv.Must(net.Dial("tcp", l.Addr().String())))
				untilReadable(t, rawFD(l)) // so that each try is answered at once
				s := &script{first: map[sysx.Op][]syscall.Errno{sysx.Accept: repeat(3, errno)}}
				defer s.install(t)()
				p.Do(t, func() {
					c, err := l.AcceptTCP()
					if err != nil {
						t.Error(err)
						return
					}
					if c.RemoteAddr().String() != peer.LocalAddr().String() {
						t.Errorf("accepted %v", c.RemoteAddr())
					}
					c.Close()
				})
				if n := s.called[sysx.Accept].Load(); n != 4 {
					t.Errorf("%d tries to accept, want 4", n)
				}
			})
		}
	}
	t.Run("EINVAL", func(t *testing.T) {
		start(t, 1)
		l := listen(t)
		defer (&script{first: map[sysx.Op][]syscall.Errno{sysx.Accept: {unix.EINVAL}}}).install(t)()
		_, err := l.Accept()
		var op *net.OpError
		if !errors.Is(err, unix.EINVAL) || !errors.As(err, &op) || op.Op != "accept" {
			t.Errorf("Accept: %v", err)
		}
	})
}

// TestIOFaults: errors of reads and writes are returned as net returns them,
// and the connection can still be used and closed.
func TestIOFaults(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ECONNRESET, unix.ETIMEDOUT, unix.EHOSTUNREACH, unix.ENOBUFS, unix.EPIPE} {
		for _, p := range testrun.Places {
			t.Run(unix.ErrnoName(errno)+"/"+p.Name, func(t *testing.T) {
				start(t, 2)
				c, peer := withPeer(t)
				peer.Write([]byte("later"))
				p.Do(t, func() {
					defer c.Close()
					defer (&script{first: map[sysx.Op][]syscall.Errno{sysx.Recv: {errno}, sysx.Send: {errno}}}).install(t)()
					var op *net.OpError
					n, err := c.Read(make([]byte, 10))
					if n != 0 || !errors.Is(err, errno) || !errors.As(err, &op) || op.Op != "read" || op.Timeout() != (errno == unix.ETIMEDOUT) {
						t.Errorf("Read: %d, %v", n, err)
					}
					n, err = c.Write(make([]byte, 10))
					if n != 0 || !errors.Is(err, errno) || !errors.As(err, &op) || op.Op != "write" {
						t.Errorf("Write: %d, %v", n, err)
					}
					if n, err = c.Read(make([]byte, 10)); n != 5 || err != nil {
						t.Errorf("the next Read: %d, %v", n, err)
					}
					if n, err = c.Write([]byte("x")); n != 1 || err != nil {
						t.Errorf("the next Write: %d, %v", n, err)
					}
				})
			})
		}
	}
}

// TestEpollFull: the fd cannot be registered (fs.epoll.max_user_watches). The
// operation that would wait returns that; one that need not wait succeeds; and
// once there is room again all is well.
func TestEpollFull(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		l := listen(t)
		remove := (&script{first: map[sysx.Op][]syscall.Errno{sysx.EpollCtl: repeat(1000, unix.ENOSPC)}}).install(t)
		p.Do(t, func() {
			var op *net.OpError
			n, err := c.Read(make([]byte, 10))
			if n != 0 || !errors.Is(err, unix.ENOSPC) || !errors.As(err, &op) || op.Op != "read" {
				t.Errorf("Read: %d, %v", n, err)
			}
			if _, err := l.Accept(); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("Accept: %v", err)
			}
			if a, err := dialTCP("tcp", l.Addr().String()); !errors.Is(err, unix.ENOSPC) {
				t.Errorf("Dial: %v, %v", a, err)
			}
			if n, err := c.Write([]byte("x")); n != 1 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		})
		remove()
		reader := p.Go(func() {
			b := make([]byte, 10)
			if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
				t.Errorf("Read: %q, %v", b[:n], err)
			}
		})
		reader.UntilParked(t, coroutine.ReasonRead)
		peer.Write([]byte("hello"))
		reader.Wait(t)
	})
}

// TestDialFaults: what keeps a socket from being made or connected is returned
// as by net, and leaves no fd.
func TestDialFaults(t *testing.T) {
	start(t, 2)
	l := listen(t)
	for _, c := range []struct {
		op    sysx.Op
		errno syscall.Errno
		call  string
	}{
		{sysx.Socket, unix.EMFILE, "socket"},
		{sysx.Socket, unix.ENOBUFS, "socket"},
		{sysx.Connect, unix.EADDRNOTAVAIL, "connect"},
		{sysx.Connect, unix.ENETUNREACH, "connect"},
	} {
		for _, p := range testrun.Places {
			p.Do(t, func() {
				// EADDRNOTAVAIL is tried three times
				defer (&script{first: map[sysx.Op][]syscall.Errno{c.op: repeat(3, c.errno)}}).install(t)()
				before := socket.Open()
				conn, err := dialTCP("tcp", l.Addr().String())
				if want := "dial tcp " + l.Addr().String() + ": " + c.call + ": " + c.errno.Error(); conn != nil || err == nil || err.Error() != want {
					t.Errorf("%s: %v, want %s", p.Name, err, want)
				}
				if n := socket.Open(); n != before {
					t.Errorf("%d sockets open, before %d", n, before)
				}
			})
		}
	}
}

// TestFalseAlarms: reads and accepts that find nothing although they were told
// that there is something, over and over. Each goes back to waiting and misses
// nothing of what comes later.
func TestFalseAlarms(t *testing.T) {
	for _, p := range testrun.Places {
		t.Run(p.Name, func(t *testing.T) {
			start(t, 2)
			c, peer := withPeer(t)
			s := &script{every: map[sysx.Op]syscall.Errno{sysx.Recv: unix.EAGAIN}}
			remove := s.install(t)
			defer remove()
			const bytes = 100
			var got atomic.Int64
			reader := p.Go(func() {
				var b [16]byte
				for {
					n, err := c.Read(b[:])
					if d := differs(b[:n], int(got.Load())); d != "" {
						t.Error(d)
						return
					}
					got.Add(int64(n))
					if err != nil {
						if err != io.EOF || got.Load() != bytes {
							t.Errorf("after %d of %d: %v", got.Load(), bytes, err)
						}
						return
					}
				}
			})
			msg := pattern(bytes)
			reader.UntilParked(t, coroutine.ReasonRead)
			for i := range bytes {
				if i == bytes-1 {
					remove() // the last must not be denied: nothing comes after the FIN
				}
				tried := s.called[sysx.Recv].Load()
				testenv.Must(peer.Write(msg[i : i+1]))
				testenv.Until(t, "a read", func() bool {
					return i == bytes-1 || got.Load() > int64(i) || s.called[sysx.Recv].Load() > tried
				})
			}
			peer.CloseWrite()
			reader.Wait(t)
		})
	}
}

// TestFirstWriteWouldBlock: EAGAIN for a socket that has not been registered
// yet. Registering tells that it is writable.
func TestFirstWriteWouldBlock(t *testing.T) {
	inPlaces(t, func(t *testing.T, p testrun.Place) {
		c, peer := withPeer(t)
		defer (&script{first: map[sysx.Op][]syscall.Errno{sysx.Send: {unix.EAGAIN}}}).install(t)()
		p.Do(t, func() {
			if n, err := c.Write([]byte("hello")); n != 5 || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
			c.Close()
		})
		if got, err := io.ReadAll(peer); string(got) != "hello" || err != nil {
			t.Errorf("the peer read %q, %v", got, err)
		}
	})
}
