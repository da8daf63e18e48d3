package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netco-go/netco"
	"github.com/netco-go/netco/coroutine"
	"github.com/netco-go/netco/internal/sockinfo"
	"github.com/netco-go/netco/internal/sysx"
	"github.com/netco-go/netco/internal/testenv"
	"github.com/netco-go/netco/internal/testrun"
	"github.com/netco-go/netco/socket"
)

// tooMuch is more than fits into any buffers.
var tooMuch = make([]byte, 64<<20)

var (
	past   = time.Unix(1, 0)
	future = time.Now().Add(100 * time.Hour)
)

// wait is an operation that cannot succeed until release is called.
type wait struct {
	do      func() error
	set     func(time.Time) error // its deadline
	close   func() error
	release func()
	again   func() // undoes release; nil if it cannot be undone
	alone   bool   // a second one does not queue behind it
}

// waitOp is an operation that waits for an fd, and the name that its errors
// have.
type waitOp struct {
	name    string
	op      string // empty: not looked at
	network string
	reason  coroutine.Reason
	make    func(t *testing.T) wait
}

// waitOps are the rows of the tables of waits; the tests are the columns.
var waitOps = func() (ops []waitOp) {
	reader := func(network, name string, read func(c net.Conn) error) {
		ops = append(ops, waitOp{network + " " + name, "read", network, coroutine.ReasonRead,
			waitToRead(network, read)})
	}
	for _, network := range []string{"tcp", "unix", "unixpacket", "unixgram", "udp"} {
		reader(network, "Read", readOne)
		reader(network, "WaitReadable", func(c net.Conn) error {
			err := c.(interface{ WaitReadable() error }).WaitReadable()
			return errors.Join(err, readIf(err == nil, c))
		})
	}
	for _, network := range []string{"unix", "unixpacket", "unixgram"} {
		reader(network, "ReadFrom", func(c net.Conn) error {
			return err3(c.(net.PacketConn).ReadFrom(make([]byte, 10)))
		})
		reader(network, "ReadMsgUnix", func(c net.Conn) error {
			_, _, _, _, err := c.(*socket.UnixConn).ReadMsgUnix(make([]byte, 10), make([]byte, 100))
			return err
		})
	}
	for _, r := range udpReads {
		reader("udp", r.name, func(c net.Conn) error {
			n, _, err := r.read(c.(udpConn), make([]byte, 10))
			if (n > 0) != (err == nil) {
				return fmt.Errorf("%d bytes and %w", n, err)
			}
			return err
		})
	}
	for _, network := range []string{"tcp", "unix", "unixpacket", "unixgram"} {
		ops = append(ops, waitOp{network + " RawConn.Read", "raw-read", network,
			coroutine.ReasonRead, waitToRead(network, func(c net.Conn) error {
				raw := testenv.Must(c.(syscall.Conn).SyscallConn())
				return raw.Read(recv(new([]byte)))
			})})
	}
	return append(append(ops, waitWriters...), otherWaits...)
}()

func readOne(c net.Conn) error { return testenv.Err(c.Read(make([]byte, 10))) }

func readIf(ready bool, c net.Conn) error {
	if !ready {
		return nil
	}
	return readOne(c)
}

// waitToRead reads from a connection that has been read empty, which waits
// without another look.
func waitToRead(network string, read func(c net.Conn) error) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		c, peer := endsOf(t, network)
		send := func() { peer.Write([]byte("x")) }
		send()
		testenv.OK(t, readOne(c))
		return wait{do: func() error { return read(c) }, set: c.SetReadDeadline, close: c.Close,
			release: send, again: func() {}}
	}
}

// endsOf returns two ends of this package's, the second of which can write to
// the first.
func endsOf(t testing.TB, network string) (c, peer net.Conn) {
	switch network {
	case "tcp":
		return pair(t)
	case "udp":
		to := listenUDP(t, loopback4)
		c := dialTo(t, to)
		return c, udpPeer{to, c.LocalAddr()}
	}
	return unixPair(t, network)
}

// udpPeer writes to one address.
type udpPeer struct {
	*socket.UDPConn
	to net.Addr
}

func (p udpPeer) Write(b []byte) (int, error) { return p.WriteTo(b, p.to) }

// waitWriters wait for room; writers to streams have more to write than fits.
var waitWriters = func() (ops []waitOp) {
	writer := func(network, name, op string, make func(t *testing.T) wait) {
		ops = append(ops, waitOp{network + " " + name, op, network, coroutine.ReasonWrite, make})
	}
	much := tooMuch[:2<<20]
	for _, network := range []string{"tcp", "unix"} {
		writer(network, "Write", "write", waitToWrite(network, func(c net.Conn) error {
			n, err := c.Write(much)
			if (n == len(much)) != (err == nil) {
				return fmt.Errorf("%d bytes and %w", n, err)
			}
			return err
		}))
		writer(network, "Buffers", "writev", waitToWrite(network, func(c net.Conn) error {
			return testenv.Err((&socket.Buffers{much[:100], much}).WriteTo(c))
		}))
	}
	writer("unixgram", "Write", "write", waitToSend("unixgram", writeOne))
	writer("unixpacket", "Write", "write", waitToSend("unixpacket", writeOne))
	writer("unixpacket", "WriteMsgUnix", "write", waitToSend("unixpacket", func(c net.Conn) error {
		return err3(c.(*socket.UnixConn).WriteMsgUnix([]byte("x"), nil, nil))
	}))
	writer("udp", "Write", "write", waitForMadeUpRoom(func(c *socket.UDPConn) error {
		return writeOne(c)
	}))
	writer("udp", "WriteMsgUDP", "write", waitForMadeUpRoom(func(c *socket.UDPConn) error {
		return err3(c.WriteMsgUDP([]byte("x"), nil, nil))
	}))
	writer("udp", "WriteBatch", "write", waitForMadeUpRoom(func(c *socket.UDPConn) error {
		n, err := c.WriteBatch([]socket.Message{{Buf: []byte("x")}, {Buf: []byte("y")}})
		if (n == 2) != (err == nil) || n == 1 {
			return fmt.Errorf("%d datagrams and %w", n, err)
		}
		return err
	}))
	writer("tcp", "RawConn.Write", "raw-write", func(t *testing.T) wait {
		c, peer := pair(t)
		var ready atomic.Bool
		return wait{
			do: func() error {
				return rawOf(t, c).Write(func(uintptr) bool { return ready.Load() })
			},
			set:   c.SetWriteDeadline,
			close: c.Close,
			// any event of epoll reports everything
			release: func() { ready.Store(true); peer.Write([]byte("x")) },
			again:   func() { ready.Store(false) },
		}
	})
	return ops
}()

func writeOne(c net.Conn) error { return testenv.Err(c.Write([]byte("x"))) }

// waitToWrite writes to a stream whose peer does not read.
func waitToWrite(network string, write func(c net.Conn) error) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		peer, c := endsOf(t, network)
		testenv.OK(t, errors.Join(c.(diffEnd).SetWriteBuffer(diffBuffer),
			peer.(diffEnd).SetReadBuffer(diffBuffer)))
		return wait{do: func() error { return write(c) }, set: c.SetWriteDeadline, close: c.Close,
			release: func() { go io.Copy(io.Discard, struct{ io.Reader }{peer}) }}
	}
}

// waitToSend sends a packet to a socket whose queue is full.
func waitToSend(network string, write func(c net.Conn) error) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		peer, c := endsOf(t, network)
		fd, at := rawFD(c.(syscall.Conn)), rawFD(peer.(syscall.Conn))
		fill := func() {
			for unix.Sendto(fd, make([]byte, 1000), unix.MSG_DONTWAIT, nil) == nil {
			}
		}
		fill()
		return wait{do: func() error { return write(c) }, set: c.SetWriteDeadline, close: c.Close,
			release: func() {
				for {
					_, _, err := unix.Recvfrom(at, make([]byte, 1), unix.MSG_DONTWAIT)
					if err != nil {
						return
					}
				}
			}, again: fill}
	}
}

// waitForMadeUpRoom needs a UDP socket without room. There is none on loopback,
// where a datagram leaves the sender's buffer at once, so it is made up; the
// edge when there is room again is that of a datagram that comes in.
func waitForMadeUpRoom(write func(c *socket.UDPConn) error) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		c, peer := endsOf(t, "udp")
		udp := c.(*socket.UDPConn)
		var full atomic.Bool
		full.Store(true)
		t.Cleanup(sysx.Inject(func(op sysx.Op, fd, asked int) (int, syscall.Errno) {
			if op == sysx.Send && fd == udp.FD() && full.Load() {
				return 0, unix.EAGAIN
			}
			return asked, 0
		}))
		return wait{do: func() error { return write(udp) }, set: c.SetWriteDeadline, close: c.Close,
			release: func() {
				full.Store(false)
				testenv.Must(peer.Write([]byte("x")))
			}}
	}
}

// otherWaits are the waits of listeners, files and Sockets, and of types that
// are built on connections.
var otherWaits = []waitOp{
	{"tcp Accept", "accept", "tcp", coroutine.ReasonAccept, waitToAccept("tcp")},
	{"unix Accept", "accept", "unix", coroutine.ReasonAccept, waitToAccept("unix")},
	{"unixpacket Accept", "accept", "unixpacket", coroutine.ReasonAccept,
		waitToAccept("unixpacket")},
	{"tcp Accept at its limit", "accept", "tcp", coroutine.ReasonAccept, waitForPlace("tcp")},
	{"unix Accept at its limit", "accept", "unix", coroutine.ReasonAccept, waitForPlace("unix")},
	{"tcp io.Copy", "", "tcp", coroutine.ReasonRead, func(t *testing.T) wait {
		src, peer := pair(t)
		dst, _ := pair(t)
		return wait{do: func() error { return testenv.Err(io.Copy(dst, src)) },
			set: src.SetReadDeadline, close: src.Close, release: func() { peer.CloseWrite() }}
	}},
	{"tcp Buffered.ReadByte", "read", "tcp", coroutine.ReasonRead, func(t *testing.T) wait {
		c, peer := pair(t)
		b := socket.NewBuffered(c)
		return wait{do: func() error { return testenv.Err(b.ReadByte()) }, set: b.SetReadDeadline,
			close: b.Close, release: func() { peer.Write([]byte("x")) }, again: func() {},
			alone: true}
	}},
	{"File.Read", "read", "", coroutine.ReasonRead, func(t *testing.T) wait {
		r, w := filePipe(t)
		return wait{do: func() error { return testenv.Err(r.Read(make([]byte, 1))) },
			set: r.SetReadDeadline, close: r.Close, release: func() { w.Write([]byte("x")) },
			again: func() {}}
	}},
	{"File RawConn.Read", "", "", coroutine.ReasonRead, func(t *testing.T) wait {
		r, w := filePipe(t)
		raw := rawOf(t, r)
		return wait{do: func() error {
			return raw.Read(func(fd uintptr) bool {
				return testenv.Err(unix.Read(int(fd), make([]byte, 1))) != unix.EAGAIN
			})
		}, set: r.SetReadDeadline, close: r.Close, release: func() { w.Write([]byte("x")) },
			again: func() {}}
	}},
	{"File.Write", "write", "", coroutine.ReasonWrite, func(t *testing.T) wait {
		r, w := filePipe(t)
		return wait{do: func() error { return testenv.Err(w.Write(tooMuch[:1<<20])) },
			set: w.SetWriteDeadline, close: w.Close, release: func() { go io.Copy(io.Discard, r) }}
	}},
	{"Socket.Read", "read", "socket", coroutine.ReasonRead, waitOfSocket(
		func(x *socket.Socket) error { return testenv.Err(x.Read(make([]byte, 1))) })},
	{"Socket.Recvmsg", "read", "socket", coroutine.ReasonRead, waitOfSocket(
		func(x *socket.Socket) error {
			_, _, _, _, err := x.Recvmsg(make([]byte, 1), nil, 0)
			return err
		})},
	{"Socket.WaitReadable", "read", "socket", coroutine.ReasonRead, waitOfSocket(
		func(x *socket.Socket) error {
			if err := x.WaitReadable(); err != nil {
				return err
			}
			return testenv.Err(x.Read(make([]byte, 1)))
		})},
	{"Socket.Accept", "accept", "socket", coroutine.ReasonRead, func(t *testing.T) wait {
		l := rawSocket(t, unix.AF_INET, unix.SOCK_STREAM, 0)
		testenv.OK(t, errors.Join(l.Bind(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
			l.Listen(10)))
		at := testenv.Must(l.Getsockname())
		return wait{do: func() error {
			c, _, err := l.Accept()
			return shut(c, err)
		}, set: l.SetReadDeadline, close: l.Close, release: func() {
			testenv.OK(t, rawSocket(t, unix.AF_INET, unix.SOCK_STREAM, 0).Connect(at))
		}, again: func() {}}
	}},
}

func waitToAccept(network string) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		l := listenAny(t, network)
		return wait{do: func() error { return shut(l.Accept()) }, set: l.(deadliner).SetDeadline,
			close: l.Close, release: func() {
				if c, err := net.Dial(network, l.Addr().String()); err == nil {
					t.Cleanup(func() { c.Close() })
				}
			}, again: func() {}}
	}
}

// waitForPlace accepts from a listener whose limit is reached.
func waitForPlace(network string) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		l := limitedOn(t, network, 1)
		dialLimited(t, l)
		dialLimited(t, l)
		first := testenv.Closing(t, testenv.Must(l.Accept()))
		return wait{do: func() error { return shut(l.Accept()) }, set: l.(deadliner).SetDeadline,
			close: l.Close, release: func() { first.Close() }}
	}
}

func waitOfSocket(do func(x *socket.Socket) error) func(t *testing.T) wait {
	return func(t *testing.T) wait {
		x, peer := socketPair(t, unix.SOCK_DGRAM)
		return wait{do: func() error { return do(x) }, set: x.SetReadDeadline, close: x.Close,
			release: func() { peer.Write([]byte("x")) }, again: func() {}}
	}
}

type deadliner interface{ SetDeadline(time.Time) error }

// timedOut and closed check that err is what net, or os, returns for an
// operation that a deadline or a Close has ended.
func (o waitOp) timedOut(t *testing.T, err error) {
	t.Helper()
	o.ended(t, o.op, err, os.ErrDeadlineExceeded)
}

func (o waitOp) closed(t *testing.T, err error) {
	t.Helper()
	o.ended(t, o.op, err, o.closedBy())
}

func (o waitOp) closedBy() error {
	if o.network == "" {
		return os.ErrClosed
	}
	return net.ErrClosed
}

func (o waitOp) ended(t *testing.T, op string, err, want error) {
	t.Helper()
	var (
		e *net.OpError
		p *fs.PathError
	)
	good := op == "" || errors.As(err, &e) && e.Op == op && e.Net == o.network &&
		(e.Addr != nil || e.Source != nil || o.network == "socket") || o.network == "" &&
		errors.As(err, &p) && p.Op == op && p.Path != ""
	if !good || !errors.Is(err, want) || isTimeout(err) != (want == os.ErrDeadlineExceeded) {
		t.Errorf("%s: %#v (%v), want %v", o.name, err, err, want)
	}
	for _, other := range []error{net.ErrClosed, os.ErrDeadlineExceeded, netco.ErrShutdown} {
		testenv.True(t, other == want || !errors.Is(err, other), "%s: %v looks like %v", o.name,
			err, other)
	}
}

// onWait is a test of one operation in one place.
type onWait = func(t *testing.T, p testrun.Place, o waitOp, w wait)

// forWaits runs f for each operation, in the places in turn, with two
// Processors.
func forWaits(t *testing.T, places []testrun.Place, f onWait) {
	t.Helper()
	start(t, 2)
	eachWait(t, places, func(t *testing.T, p testrun.Place, o waitOp) { f(t, p, o, o.make(t)) })
}

// forWaitsAlone is forWaits for an f that ends the Scheduler.
func forWaitsAlone(t *testing.T, places []testrun.Place, f onWait) {
	t.Helper()
	eachWait(t, places, func(t *testing.T, p testrun.Place, o waitOp) {
		t.Cleanup(func() { untilOpen(t, 0) }) // when all is closed
		testrun.Start(t, 2)
		f(t, p, o, o.make(t))
	})
}

// eachWait gives an operation another place in each test.
func eachWait(t *testing.T, places []testrun.Place,
	f func(t *testing.T, p testrun.Place, o waitOp)) {
	t.Helper()
	for i, o := range waitOps {
		for _, p := range inTurn(i+len(t.Name()), places) {
			t.Run(o.name+"/"+p.Name, func(t *testing.T) { f(t, p, o) })
		}
	}
}

// TestWaitReleased: an operation gets what it waits for, over and over.
func TestWaitReleased(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		for range 3 {
			k := p.Park(t, o.reason, func() { testenv.Fails(t, w.do(), nil, o.name) })
			w.release()
			if k.Wait(t); w.again == nil {
				return
			}
			w.again()
		}
	})
}

// TestWaitDeadline: a deadline that has passed ends an operation before it
// begins, a deadline to come ends it then and not before, and a deadline that
// another thread moves to the present ends it while it waits. A deadline that
// has passed does so also when the operation could succeed, as with net; once
// it is taken back all is well.
func TestWaitDeadline(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		p.Do(t, func() {
			testenv.NoError(t, w.set(past))
			o.timedOut(t, w.do())
			for range 2 {
				at := time.Now().Add(time.Millisecond)
				w.set(at)
				o.timedOut(t, w.do())
				if early := time.Until(at); early > 0 {
					t.Errorf("%s ended %v before its deadline", o.name, early)
				}
			}
		})
		for _, first := range []time.Time{{}, future} {
			for _, then := range []time.Duration{-time.Hour, time.Millisecond} {
				w.set(first)
				k := p.Park(t, o.reason, func() { o.timedOut(t, w.do()) })
				w.set(future)
				k.UntilParked(t, o.reason)
				w.set(time.Now().Add(then))
				k.Wait(t)
			}
		}
		w.set(past)
		w.release()
		p.Do(t, func() {
			for range 3 {
				o.timedOut(t, w.do())
			}
			at := time.Now().Add(time.Millisecond)
			w.set(at) // and passes while nothing waits
			testenv.Until(t, "the deadline", func() bool { return time.Now().After(at) })
			o.timedOut(t, w.do())
			w.set(time.Time{})
			testenv.Fails(t, w.do(), nil, o.name, "after its deadline was taken back")
		})
	})
}

// TestWaitDeadlineMovedLater: while an operation waits its deadline is moved
// far away, or removed. The old deadline passes, which a second operation with
// a deadline just behind it shows, and ends nothing.
func TestWaitDeadlineMovedLater(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		for _, then := range []time.Time{future, {}} {
			var (
				k    *testrun.Task
				err  error
				near time.Time
			)
			// until this machine is fast enough to move it in time
			for d := time.Millisecond; ; d *= 2 {
				near = time.Now().Add(d)
				w.set(near)
				k = p.Go(func() { err = w.do() })
				testenv.Until(t, "the task to park", func() bool {
					return k.Parked(o.reason) || k.Over()
				})
				w.set(then)
				if time.Now().Before(near) {
					break
				}
				if d > limit {
					t.Fatal("a deadline was never moved before it had passed")
				}
				w.set(past)
				k.Wait(t)
			}
			witness, _ := withPeer(t)
			witness.SetReadDeadline(near.Add(time.Microsecond))
			p.Do(t, func() { testenv.Fails(t, readOne(witness), os.ErrDeadlineExceeded) })
			witness.Close()
			w.release()
			k.Wait(t)
			testenv.Fails(t, err, nil, o.name, "whose deadline was moved")
			if w.again == nil {
				return
			}
			w.again()
		}
	})
}

// TestWaitClosed closes the sockets of all waits, from each kind of place in
// turn. Close ends the operation that waits and the one queued behind it.
func TestWaitClosed(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		for i, closer := range inTurn(len(o.name)+len(p.Name), testrun.Places) {
			if i > 0 {
				w = o.make(t)
			}
			before := sockinfo.OpenCount()
			tasks := []*testrun.Task{p.Go(func() { o.closed(t, w.do()) })}
			tasks[0].UntilParked(t, o.reason)
			if !w.alone {
				queued := closer.Park(t, coroutine.ReasonLock, func() { o.closed(t, w.do()) })
				tasks = append(tasks, queued)
			}
			closer.Do(t, func() {
				testenv.NoError(t, w.close())
				o.ended(t, "close", w.close(), o.closedBy())
			})
			testrun.WaitAll(t, tasks...)
			o.closed(t, w.do()) // and the next one too
			testenv.Fails(t, w.set(future), o.closedBy(), o.name, "its deadline")
			testenv.Equal(t, sockinfo.OpenCount(), before-1)
		}
	})
}

// TestWaitFalseAlarms: an operation that is woken and finds nothing waits on,
// however often, and misses nothing that comes.
func TestWaitFalseAlarms(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		if w.again == nil || o.reason == coroutine.ReasonWrite ||
			strings.Contains(o.name, "RawConn") {
			return // it is not released twice, or calls the kernel itself
		}
		k := p.Park(t, o.reason, func() { testenv.Fails(t, w.do(), nil, o.name) })
		var tries atomic.Int64
		remove := sysx.Inject(func(op sysx.Op, _, asked int) (int, syscall.Errno) {
			if op != sysx.Recv && op != sysx.Accept && op != sysx.FileRead {
				return asked, 0
			}
			tries.Add(1)
			return asked, unix.EAGAIN
		})
		t.Cleanup(remove)
		for i := range int64(10) {
			w.release()
			testenv.Until(t, "a try", func() bool { return tries.Load() > i })
			k.UntilParked(t, o.reason)
		}
		remove()
		w.release()
		k.Wait(t)
	})
}

// TestWaitInOrder: an operation that is queued behind another has its turn when
// the first has succeeded, and not before. C++ netco lost one of two.
func TestWaitInOrder(t *testing.T) {
	forWaits(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		if w.alone || w.again == nil || o.reason == coroutine.ReasonWrite ||
			strings.HasSuffix(o.name, "WaitReadable") {
			return // there is room for both, or they are two operations each
		}
		for _, second := range inTurn(len(o.name), testrun.Places) {
			a := p.Park(t, o.reason, func() { testenv.Fails(t, w.do(), nil, o.name) })
			b := second.Go(func() { testenv.Fails(t, w.do(), nil, o.name) })
			b.UntilParked(t, coroutine.ReasonLock)
			w.release()
			a.Wait(t)
			b.UntilParked(t, o.reason)
			w.release()
			b.Wait(t)
		}
	})
}

// TestWaitStopped: a coroutine that is stopped while it waits gets ErrShutdown,
// then and later; the next waiter for the same socket is not touched, and the
// socket is closed as ever.
func TestWaitStopped(t *testing.T) {
	forWaits(t, testrun.Coroutines, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		k := p.Park(t, o.reason, func() {
			for range 2 {
				testenv.Fails(t, w.do(), netco.ErrShutdown)
			}
		})
		k.Co.Handle().Stop()
		k.Wait(t)
		next := testrun.First.Park(t, o.reason, func() { o.closed(t, w.do()) })
		testenv.NoError(t, w.close())
		next.Wait(t)
	})
}

// TestWaitForcedEnd: the end by force makes every wait return ErrShutdown, on
// coroutines and goroutines, and the sockets can be closed. A Scheduler without
// coroutines ends in order.
func TestWaitForcedEnd(t *testing.T) {
	forWaitsAlone(t, testrun.Places, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		k := p.Park(t, o.reason, func() { testenv.Fails(t, w.do(), netco.ErrShutdown) })
		if p.Name == testrun.Goroutine.Name {
			testenv.NoError(t, netco.Shutdown(context.Background()))
		} else {
			testrun.Force(t)
		}
		k.Wait(t)
		testenv.Fails(t, w.do(), netco.ErrShutdown, "afterwards")
		testenv.NoError(t, w.close())
		o.closed(t, w.do())
	})
}

// TestWaitDraining: an orderly end stops Accept at once, and lets a coroutine
// go on with everything else.
func TestWaitDraining(t *testing.T) {
	forWaitsAlone(t, testrun.Coroutines, func(t *testing.T, p testrun.Place, o waitOp, w wait) {
		want := error(nil)
		if o.op == "accept" {
			want = netco.ErrShutdown
		}
		k := p.Park(t, o.reason, func() { testenv.Fails(t, w.do(), want, o.name) })
		ended := make(chan error, 1)
		go func() { ended <- netco.Shutdown(context.Background()) }()
		testenv.Until(t, "the end to begin", func() bool {
			return testenv.Err(netco.Go(func() {})) != nil
		})
		if want == nil {
			testenv.Equal(t, k.Over(), false)
			w.release()
		}
		k.Wait(t)
		testenv.NoError(t, testenv.Await(t, ended, "the end"))
	})
}
