package socket_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
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

// A differential run does the same operations to two connections, one of
// package net and one of this package, and compares what each operation
// returned and what the kernel then says of the connection.

// diffEnd is what the stream connections of both packages have.
type diffEnd interface {
	net.Conn
	syscall.Conn
	CloseRead() error
	CloseWrite() error
	File() (*os.File, error)
	SetReadBuffer(bytes int) error
	SetWriteBuffer(bytes int) error
}

// diffTCP is what those over TCP have besides.
type diffTCP interface {
	SetLinger(sec int) error
	SetNoDelay(noDelay bool) error
	SetKeepAlive(keepAlive bool) error
	SetKeepAlivePeriod(d time.Duration) error
	SetKeepAliveConfig(config net.KeepAliveConfig) error
}

// diffWorld is one connection, both of its ends.
type diffWorld struct {
	t    testing.TB
	name string
	ours bool
	ends [2]diffEnd
	fds  [2]int            // not to be used once the end is closed
	hide *strings.Replacer // what differs from one connection to the next

	sent [2]int          // where each end's writer is in its stream
	got  [2]atomic.Int64 // where its reader is
}

// diffBuffer is the size of the kernel's buffers, so that filling them takes
// little.
const diffBuffer = 64 << 10

// newDiffWorlds makes a connection of each package.
func newDiffWorlds(t testing.TB, network string) (theirs, ours *diffWorld) {
	t.Helper()
	theirs, ours = &diffWorld{t: t, name: "net"}, &diffWorld{t: t, name: "netco", ours: true}
	for _, w := range []*diffWorld{theirs, ours} {
		if err := w.connect(network); err != nil {
			w.close()
			theirs.close()
			t.Fatal(err)
		}
	}
	return theirs, ours
}

func (w *diffWorld) close() {
	for _, c := range w.ends {
		if c != nil {
			c.Close()
		}
	}
}

func (w *diffWorld) connect(network string) error {
	address := "127.0.0.1:0"
	if network == "unix" {
		dir, err := os.MkdirTemp("", "netco")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		address = dir + "/s"
	}
	listen, dial := net.Listen, net.Dial
	if w.ours {
		listen, dial = socket.Listen, socket.Dial
	}
	l, err := listen(network, address)
	if err != nil {
		return err
	}
	defer l.Close()
	a, err := dial(network, l.Addr().String())
	if err != nil {
		return err
	}
	w.ends[0] = a.(diffEnd)
	b, err := l.Accept()
	if err != nil {
		return err
	}
	w.ends[1] = b.(diffEnd)
	if network == "tcp" {
		w.hide = strings.NewReplacer(a.LocalAddr().String(), "A", b.LocalAddr().String(), "B")
	} else {
		w.hide = strings.NewReplacer(address, "PATH")
	}
	for i, c := range w.ends {
		w.fds[i] = diffFD(c)
		if err := errors.Join(c.SetReadBuffer(diffBuffer), c.SetWriteBuffer(diffBuffer)); err != nil {
			return err
		}
	}
	return nil
}

func diffFD(c diffEnd) (fd int) {
	if s, ok := c.(socket.Stream); ok {
		return socket.FDOf(s)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	raw.Control(func(x uintptr) { fd = int(x) })
	return fd
}

// begin runs f in a place; that of net's is an ordinary goroutine.
func (w *diffWorld) begin(p testrun.Place, f func()) *testrun.Task {
	if !w.ours {
		p = testrun.Goroutine
	}
	return p.Go(f)
}

// do runs f in a place to its end.
func (w *diffWorld) do(p testrun.Place, f func()) {
	w.t.Helper()
	w.begin(p, f).Wait(w.t)
}

// settleIn lets a task get to where it waits. A coroutine is watched; no
// outcome depends on whether a goroutine got there.
func (w *diffWorld) settleIn(k *testrun.Task) {
	w.t.Helper()
	testenv.Await(w.t, k.Started, "the task to start")
	if k.Co == nil {
		for range 10 {
			runtime.Gosched()
		}
		return
	}
	testenv.Until(w.t, "the task to wait or end", func() bool {
		return k.Over() || k.Co.State() == coroutine.Waiting
	})
}

// kernel is what the kernel says of an end.
type kernel struct {
	queued int   // bytes to be read
	events int16 // poll's
}

func (k kernel) String() string {
	return fmt.Sprintf("%d bytes to read, events %#x", k.queued, k.events)
}

// readable reports whether a read would not wait.
func (k kernel) readable() bool {
	return k.events&(unix.POLLIN|unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
}

// ask asks the kernel about an end that is open.
func (w *diffWorld) ask(e int) (k kernel) {
	w.t.Helper()
	k.queued = queued(w.t, w.fds[e])
	p := []unix.PollFd{{Fd: int32(w.fds[e]), Events: unix.POLLIN | unix.POLLOUT | unix.POLLRDHUP | unix.POLLPRI}}
	if _, err := unix.Poll(p, 0); err != nil {
		w.t.Fatal(err)
	}
	k.events = p[0].Revents
	return k
}

// write writes the next n bytes of an end's stream.
func (w *diffWorld) write(e, n int, do func(c diffEnd, p []byte) (int, error)) (done int, err error) {
	p := make([]byte, n)
	fill(p, w.sent[e])
	done, err = do(w.ends[e], p)
	w.sent[e] += done
	return done, err
}

// received checks bytes that an end has read and tells what is wrong with them.
func (w *diffWorld) received(e int, p []byte) string {
	return differs(p, int(w.got[e].Add(int64(len(p))))-len(p))
}

// tellError describes an error in full: its text, each type in its chain, and
// what callers ask of it.
func (w *diffWorld) tellError(err error) string {
	if err == nil {
		return "nil"
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v;", err)
	for x := err; x != nil; x = errors.Unwrap(x) {
		fmt.Fprintf(&b, " %T", x)
		switch x := x.(type) {
		case *net.OpError:
			fmt.Fprintf(&b, "(%s %s %T %v %T %v)", x.Op, x.Net, x.Source, x.Source, x.Addr, x.Addr)
		case *os.SyscallError:
			fmt.Fprintf(&b, "(%s)", x.Syscall)
		case syscall.Errno:
			fmt.Fprintf(&b, "(%d)", int(x))
		}
	}
	var ne interface { // net.Error, whose Temporary is old but still asked
		Timeout() bool
		Temporary() bool
	}
	if errors.As(err, &ne) {
		fmt.Fprintf(&b, " timeout=%v temporary=%v", ne.Timeout(), ne.Temporary())
	}
	fmt.Fprintf(&b, " closed=%v deadline=%v", errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded))
	return w.hide.Replace(b.String())
}
