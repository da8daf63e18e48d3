package socket_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// callCounts counts system calls by kind.
type callCounts [64]atomic.Int64

func (c *callCounts) inject(op sysx.Op, _, asked int) (int, syscall.Errno) {
	c[op].Add(1)
	return asked, 0
}

func (c *callCounts) String() (s string) {
	for op := range c {
		if n := c[op].Load(); n > 0 {
			s += fmt.Sprintf("call %d: %d; ", op, n)
		}
	}
	return s
}

func (c *callCounts) sum() (n int64) {
	for op := range c {
		n += c[op].Load()
	}
	return n
}

// TestWaitsMakeNoCalls: whatever waits, after a storm and after errors, makes
// no system calls: readers of open, half closed and hung up connections (the
// kernel tells of a hang-up only once), writers without room, acceptors,
// connections that are being made, those of a Server. Wakes of one do not make
// the others look.
func TestWaitsMakeNoCalls(t *testing.T) {
	start(t, 2)
	remove := (&storm{seed: diffSeed(t)}).install(t)
	var tasks []*testrun.Task
	waitFor := func(p testrun.Place, reason coroutine.Reason, f func()) {
		k := p.Go(f)
		tasks = append(tasks, k)
		k.UntilParked(t, reason)
	}
	var ends []diffEnd
	for i := range 12 {
		p := testrun.Places[i%len(testrun.Places)]
		c, peer := netcoPair(t, []string{"tcp", "unix"}[i/3%2])
		ends = append(ends, c, peer)
		switch {
		case i < 3:
			waitFor(p, coroutine.ReasonRead, func() { c.Read(make([]byte, 10)) })
		case i < 6:
			waitFor(p, coroutine.ReasonRead, func() { c.(socket.Stream).WaitReadable() })
		case i < 9: // what there is to be read is no matter to a writer, nor is a peer that has ended its side
			peer.Write([]byte("unread"))
			peer.CloseWrite()
			waitFor(p, coroutine.ReasonWrite, func() { c.Write(make([]byte, 8<<20)) })
		default:
			c.SetReadDeadline(future)
			waitFor(p, coroutine.ReasonRead, func() { io.Copy(io.Discard, c) })
		}
	}
	l := listen(t)
	waitFor(testrun.First, coroutine.ReasonAccept, func() { l.Accept() })
	u := listenAny(t, "unix")
	waitFor(testrun.Second, coroutine.ReasonAccept, func() { u.Accept() })
	nobody, _ := testenv.Deaf(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waitFor(testrun.Second, coroutine.ReasonConnect, func() { socket.DialContext(ctx, "tcp", nobody) })
	address, _ := serving(t, &socket.Server{Handle: echoOnce, IdleTimeout: time.Hour})
	for range 20 {
		c := dialNet(t, address)
		exchange(t, c, "hello")
	}
	remove()
	// Now one connection is busy while the others wait.
	busy, peer := netcoPair(t, "tcp")
	echoed := testrun.First.Go(func() { io.Copy(busy, busy) })
	fd := socket.FDOf(busy.(socket.Stream))
	var others callCounts
	removeOthers := sysx.Inject(func(op sysx.Op, at, asked int) (int, syscall.Errno) {
		if at != fd && op != sysx.EpollWait && op != sysx.EpollCtl {
			others.inject(op, at, asked)
		}
		return asked, 0
	})
	w := testrun.Second.Go(func() {
		for range 200 {
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(peer, make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}
	})
	w.Wait(t)
	removeOthers()
	if n := others.sum(); n > 200*5 { // peer's own are some
		t.Errorf("200 round trips of one connection: others made %s", others.String())
	}
	var counts callCounts
	defer sysx.Inject(counts.inject)()
	settled := counts.sum()
	testenv.Until(t, "rest", func() bool { // until a while passes without a call
		time.Sleep(50 * time.Millisecond)
		before := settled
		settled = counts.sum()
		return settled == before
	})
	polls := counts[sysx.EpollWait].Load()
	time.Sleep(300 * time.Millisecond) // what is looked at
	// The kernel may find a little room for the writers yet, and a Processor
	// that an event has woken polls for up to 50 µs before it sleeps again. One
	// that never sleeps would poll a million times.
	polls = counts[sysx.EpollWait].Load() - polls
	if n := counts.sum() - settled - polls; n > 50 || polls > 10_000 {
		t.Errorf("%d calls and %d polls while all wait: %s", n, polls, counts.String())
	}
	cancel()
	for _, c := range ends {
		c.Close()
	}
	l.Close()
	u.Close()
	peer.Close()
	echoed.Wait(t)
	busy.Close()
	testrun.WaitAll(t, tasks...)
}

// TestErrorPathsLeaveNoFD: each call that can fail while something is opened,
// in each way, returns net's error and leaves as many fds as there were.
func TestErrorPathsLeaveNoFD(t *testing.T) {
	start(t, 2)
	l, u := listen(t), listenAny(t, "unix")
	netL, err := net.Listen("unix", unixName(t, "theirs")) // and with it Go's poller
	if err != nil {
		t.Fatal(err)
	}
	defer netL.Close()
	dial := func(network, address string) func() error {
		return func() error {
			c, err := socket.Dial(network, address)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	type call struct {
		name, want string // %v is the errno
		op         sysx.Op
		do         func() error
	}
	tcpAt, unixAt := l.Addr().String(), u.Addr().String()
	calls := []call{
		{"TCP socket", "dial tcp " + tcpAt + ": socket: %v", sysx.Socket, dial("tcp", tcpAt)},
		{"TCP connect", "dial tcp " + tcpAt + ": connect: %v", sysx.Connect, dial("tcp", tcpAt)},
		{"TCP register", "dial tcp " + tcpAt + ": epoll_ctl: %v", sysx.EpollCtl, dial("tcp", tcpAt)},
		{"UDP socket", "dial udp 127.0.0.1:9: socket: %v", sysx.Socket, dial("udp", "127.0.0.1:9")},
		{"UDP connect", "dial udp 127.0.0.1:9: connect: %v", sysx.Connect, dial("udp", "127.0.0.1:9")},
		{"Unix socket", "dial unix " + unixAt + ": socket: %v", sysx.Socket, dial("unix", unixAt)},
		{"Unix connect", "dial unix " + unixAt + ": connect: %v", sysx.Connect, dial("unix", unixAt)},
		{"NewSocket", "socket socket: socket: %v", sysx.Socket, func() error {
			_, err := socket.NewSocket(unix.AF_INET, unix.SOCK_STREAM, 0)
			return err
		}},
	}
	for _, errno := range []syscall.Errno{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ENOSPC, unix.EACCES, unix.EPERM} {
		everywhere(t, func(p testrun.Place) {
			for _, c := range calls {
				fds, open := testenv.Files(), socket.Open()
				inject, _ := nth(c.op, 0, 1, errno)
				remove := sysx.Inject(inject)
				err := c.do()
				remove()
				if want := fmt.Sprintf(c.want, errno); err == nil || err.Error() != want {
					t.Errorf("%s, %s: %v, want %s", p.Name, c.name, err, want)
				}
				if f, n := testenv.Files(), socket.Open(); f > fds || n != open {
					t.Errorf("%s, %s, %v: %d fds and %d sockets, before %d and %d", p.Name, c.name, errno, f, n, fds, open)
				}
				for range 2 { // the next connects; the fault was returned once
					if c.op != sysx.Socket || c.name != "NewSocket" {
						if err := c.do(); err != nil {
							t.Errorf("%s, %s, the next: %v", p.Name, c.name, err)
						}
					}
				}
				drainAccepts(l, u)
			}
		})
	}
}

// drainAccepts closes what is in the listeners' queues.
func drainAccepts(all ...net.Listener) {
	for _, l := range all {
		raw, _ := l.(syscall.Conn).SyscallConn()
		raw.Control(func(fd uintptr) {
			for {
				c, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC)
				if err != nil {
					return
				}
				unix.Close(c)
			}
		})
	}
}
